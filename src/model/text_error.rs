//! What can be wrong with the texts of a model: metadata, tokenizer, chat template, prompt.

use std::path::PathBuf;

use super::location::shown;
use crate::text::quoted;

/// Why a model's tokenizer, chat template or prompt cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelTextError {
    #[error("{at} cannot be read: {source}", at = shown(.path))]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "not a GGUF file that can be read: {reason} (byte {offset}); if it is a download, fetch it again and \
         compare its SHA-256"
    )]
    Gguf { offset: u64, reason: String },
    #[error("the GGUF field {field} is {found}; expected {expected}", found = quoted(.found))]
    Field { field: &'static str, found: String, expected: String },
    #[error(
        "{field} = \"{found}\" is not supported (supported: {supported}); give the model as a directory with \
         its tokenizer.json instead", found = quoted(.found)
    )]
    UnsupportedTokenizer { field: &'static str, found: String, supported: &'static str },
    #[error("the tokenizer cannot be built: {reason}", reason = quoted(.0))]
    Tokenizer(String),
    #[error("{at}: {reason}", at = shown(.path), reason = quoted(.reason))]
    File { path: PathBuf, reason: String },
    #[error("the model's chat template cannot be used: {reason}", reason = quoted(.0))]
    Template(String),
    #[error("the prompt's segments do not fit its text: {0}")]
    Segments(String),
}
