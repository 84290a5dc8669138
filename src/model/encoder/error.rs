//! Why an encoder of sentences could not be opened or could not read.

use std::path::PathBuf;

use crate::model::DecoderError;
use crate::text::{quoted, visible_path};

/// Errors of the sentence encoder. Names that come from files are shown without control characters.
#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    #[error("cannot read {}: {source}", visible_path(path))]
    Read { path: PathBuf, source: std::io::Error },
    #[error(
        "{} holds no {missing}: expected the directory of a BERT encoder with config.json, tokenizer.json and \
         model.safetensors; `ragscope models fetch all-minilm-l6-v2` gets one",
        visible_path(path)
    )]
    Incomplete { path: PathBuf, missing: &'static str },
    #[error(
        "no encoder {}: expected a name of `ragscope models list` or a directory; `ragscope models fetch \
         all-minilm-l6-v2` gets the default one{}",
        quoted(name),
        detail(said)
    )]
    NotFound { name: String, said: String },
    #[error(
        "{}: {}: expected {expected}, found {}; this encoder cannot be used here",
        visible_path(path),
        quoted(what),
        quoted(found)
    )]
    Unsupported { path: PathBuf, what: String, expected: String, found: String },
    #[error("{}: {}", visible_path(path), quoted(reason))]
    Broken { path: PathBuf, reason: String },
    #[error("the encoder's tokenizer failed: {}", quoted(reason))]
    Tokenizer { reason: String },
    #[error(
        "word piece {id} is outside of the encoder's vocabulary of {vocabulary}; tokenizer and weights are of two models"
    )]
    UnknownPiece { id: u32, vocabulary: usize },
    #[error("the embedding of text {text} is not finite; the encoder's weights are unusable")]
    NotFinite { text: usize },
    #[error(transparent)]
    Arithmetic(#[from] DecoderError),
}

fn detail(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(" ({})", quoted(said)) }
}
