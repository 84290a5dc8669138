//! What can go wrong when an answer is scored or a head is trained.

use crate::text::quoted;

/// Errors of the detectors and their heads.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// The trace lacks the layer a detector reads.
    #[error(
        "the detector needs the hidden states of layer {wanted}, but this reading kept {kept}; \
         read the answer again and ask for that layer"
    )]
    MissingLayer {
        /// The layer asked for.
        wanted: String,
        /// The layers the trace has.
        kept: String,
    },
    /// A signal that the reading was not asked to keep.
    #[error("the reading kept no `{field}`; read the answer again with it")]
    NotKept {
        /// Its name in the trace.
        field: &'static str,
    },
    /// An array of the trace does not have the size its own description promises.
    #[error(
        "the reading's {field} has {found} values where its shape says {expected}; read the answer again"
    )]
    TraceShape {
        /// The field of the trace.
        field: &'static str,
        /// Values promised.
        expected: usize,
        /// Values found.
        found: usize,
    },
    /// There is no token to average over.
    #[error("the answer has no tokens, so it has no look-back ratios")]
    EmptyAnswer,
    /// A feature is not a number, so no score can be computed from it.
    #[error("{what} is not a finite number at token {token}; the model's reading of this answer is unusable")]
    NotFinite {
        /// Which feature.
        what: String,
        /// Token, from 0.
        token: usize,
    },
    /// A head was trained on another model.
    #[error(
        "this head was trained on the model {trained_on}, but the model in use is {in_use} ({difference} differs); \
         use that model, or train a head for this one"
    )]
    OtherModel {
        /// Name and hash on the head's card.
        trained_on: String,
        /// Name and hash in use.
        in_use: String,
        /// What differs: hash, hidden size, layers or heads, with both values.
        difference: String,
    },
    /// A trace has another shape than the model the head was made for.
    #[error("the head expects {expected}, the reading has {found}; it was made with another model")]
    OtherShape {
        /// Layers, heads and hidden size of the head.
        expected: String,
        /// Those of the trace.
        found: String,
    },
    /// The bytes are no head, or a broken one.
    #[error("this is not a usable head: {reason}; train it again or fetch it again", reason = quoted(.reason))]
    BrokenHead {
        /// What was expected and what came.
        reason: String,
    },
    /// Training needs examples of both classes.
    #[error(
        "training needs both classes, but of {rows} rows {positives} are positive; add labelled answers of the other class"
    )]
    OneClass {
        /// Rows given.
        rows: usize,
        /// Positive ones.
        positives: usize,
    },
    /// Features and labels do not belong together.
    #[error("{what}: expected {expected}, found {found}")]
    Mismatch {
        /// Which quantity.
        what: &'static str,
        /// Expected number.
        expected: usize,
        /// Number found.
        found: usize,
    },
    /// Feature rows cannot be read from disk.
    #[error("cannot read feature rows from {}: {source}; run the command again to check the store", path.display())]
    Rows {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A matrix product failed.
    #[error("a matrix product failed: {0}")]
    Tensor(#[from] candle_core::Error),
}
