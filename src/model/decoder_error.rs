//! Why a decoder could not be loaded or could not read.

use std::path::PathBuf;

use super::StateLayer;

/// Every way in which loading a decoder or reading with it fails.
///
/// Names that come from files are printed escaped, so they can be shown in a terminal.
#[derive(Debug, thiserror::Error)]
pub enum DecoderError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },

    #[error("{}: not a readable {format} file: {}; fetch the file again", path.display(), short(reason))]
    Container { path: PathBuf, format: &'static str, reason: String },

    #[error("{}: field \"{}\": expected {}, found {}", path.display(), short(field), short(expected), short(found))]
    Field { path: PathBuf, field: String, expected: String, found: String },

    #[error("{}: {} file(s) named by the index are missing: {}; fetch the whole model", directory.display(), names.len(), listed(names))]
    MissingFiles { directory: PathBuf, names: Vec<String> },

    #[error("{}: {} tensor(s) of the decoder are missing: {}", path.display(), counted(names), listed(names))]
    MissingTensors { path: PathBuf, names: Vec<String> },

    #[error(
        "{}: {} tensor(s) have no place in a {architecture} decoder and would be ignored: {}; \
         use a model of a supported architecture",
        path.display(), counted(names), listed(names)
    )]
    UnplacedTensors { path: PathBuf, architecture: &'static str, names: Vec<String> },

    #[error("{}: tensor \"{}\": expected shape {expected:?}, found {found:?}", path.display(), short(name))]
    Shape { path: PathBuf, name: String, expected: Vec<usize>, found: Vec<usize> },

    #[error("{}: tensor \"{}\": {}", path.display(), short(name), short(reason))]
    Tensor { path: PathBuf, name: String, reason: String },

    #[error("expected at least one token to read, got none")]
    NoTokens,

    #[error("sequence {} of {count}: {source}", index + 1)]
    Sequence { index: usize, count: usize, source: Box<DecoderError> },

    #[error("token {id} at position {position} is not in the vocabulary of {vocab_size} tokens")]
    UnknownToken { position: usize, id: u32, vocab_size: usize },

    #[error(
        "{prefix} tokens of the prefix and {new} new ones exceed the context of {context_length} tokens; \
         shorten the prompt or the answer"
    )]
    ContextExceeded { prefix: usize, new: usize, context_length: usize },

    #[error("segment {index} is {start}..{end}, expected a range inside the {tokens} tokens read")]
    Segment { index: usize, start: usize, end: usize, tokens: usize },

    #[error("{layer:?} does not exist: the blocks of this decoder count from 1 to {layers}")]
    UnknownLayer { layer: StateLayer, layers: usize },

    #[error("{signal} is kept by the CPU decoder alone; leave out --device and --dtype for what needs it")]
    NotOnDevice { signal: &'static str },

    #[error("the prefix was read by another decoder; read it again with this one")]
    ForeignPrefix,

    #[error(
        "the information contribution is measured against the states of the prefix, and this prefix kept none; \
         read it with its inputs"
    )]
    PrefixWithoutInputs,

    #[error(
        "expected two readings of the same rows, {expected} values each, found {found} in the other; d is {hidden_size}"
    )]
    States { expected: usize, found: usize, hidden_size: usize },

    #[error(
        "{place} holds a value that is not finite: the weights or the input are outside of what f32 can carry"
    )]
    NotFinite { place: String },

    #[error(
        "{device}: this build knows no such device; build one that does with \
         `cargo build --release --features {feature}`, or use --device cpu"
    )]
    NotBuilt { device: String, feature: &'static str },

    #[error(
        "{dtype} on the CPU: the CPU decoder computes in f32, half precision would be slower and less exact \
         there; use --dtype f32 or a GPU"
    )]
    CpuNumbers { dtype: &'static str },

    #[error(
        "{device} does not answer: {}; check the driver with `nvidia-smi`, or use --device cpu",
        short(reason)
    )]
    NoDevice { device: String, reason: String },

    #[error(
        "the device ran out of memory while {work}, also with the smallest blocks of rows ({}); use --dtype bf16, \
         fewer or shorter chunks, a smaller model, or --device cpu",
        short(reason)
    )]
    DeviceMemory { work: String, reason: String },

    #[error("tensor arithmetic failed: {0}")]
    Arithmetic(#[from] candle_core::Error),
}

/// Names that an error lists; of more it says only that there are more.
pub(super) const MOST_NAMED: usize = 64;

fn counted(names: &[String]) -> String {
    let more = if names.len() >= MOST_NAMED { " or more" } else { "" };
    format!("{}{more}", names.len())
}

/// Text of a file in a message: what acts on a terminal is escaped, what is long is cut.
fn short(text: &str) -> String {
    const MOST: usize = 300;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{}\"", short(name))).collect::<Vec<_>>().join(", ")
}
