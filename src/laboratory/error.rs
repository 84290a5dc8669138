//! What can go wrong when features are cached or detectors evaluated.

use std::path::{Path, PathBuf};

use crate::detect::DetectError;
use crate::text::quoted;

/// Errors of the evaluation.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    /// Scores that cannot be certified.
    #[error(transparent)]
    Certify(#[from] crate::certify::CertifyError),
    /// A classifier that exists in comparisons alone.
    #[error("this classifier has no form as a head; train a perceptron or a logistic regression")]
    NoHead,
    /// A file of the feature store cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// For example `read`.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The store was made from another model, other data or with other settings.
    #[error(
        "the feature store {} is stale: {difference}; delete the folder, or name another one, and extract again",
        path.display()
    )]
    Stale {
        /// Folder of the store.
        path: PathBuf,
        /// What differs, with both values.
        difference: String,
    },
    /// Another process holds the store.
    #[error("the feature store {} is in use by another run; wait until it ends, or name another folder", path.display())]
    InUse {
        /// Folder of the store.
        path: PathBuf,
    },
    /// The store is damaged.
    #[error(
        "the feature store {} is damaged: {reason}; delete the folder and extract again", path.display(),
        reason = quoted(.reason)
    )]
    Damaged {
        /// Folder or file.
        path: PathBuf,
        /// What was expected and what came.
        reason: String,
    },
    /// A shard is damaged.
    #[error(
        "the shard {} is damaged: {reason}; delete this file and run the command again: its answers are read again",
        path.display(),
        reason = quoted(.reason)
    )]
    DamagedShard {
        /// Its file.
        path: PathBuf,
        /// What was expected and what came.
        reason: String,
    },
    /// An answer cannot be read, and the run was told to stop there.
    #[error("{reason}; `--on-error skip` leaves such answers out")]
    Unreadable {
        /// Its row and id, the feature with its layer, and what is wrong.
        reason: String,
    },
    /// Features are asked for before they are on disk.
    #[error("{answers} answers are not on disk yet; call `save` before features are read")]
    Unsaved {
        /// How many.
        answers: usize,
    },
    /// A training has one class only.
    #[error(
        "{training}: training needs both classes, but of {rows} training rows {positives} are positive; add labelled \
         answers of the other class, or take fewer folds"
    )]
    OneClass {
        /// Which, for example `fold 1 of 5`.
        training: String,
        /// Training rows.
        rows: usize,
        /// Positive ones.
        positives: usize,
    },
    /// An answer is stored already.
    #[error("the answer {key} is in the feature store already; ask `contains` before reading it again")]
    Duplicate {
        /// Its key.
        key: String,
    },
    /// A method needs features that were not stored.
    #[error("the feature store keeps no {wanted} (it keeps {kept}); extract again with that block")]
    MissingBlock {
        /// Name of the block.
        wanted: String,
        /// Names of those stored.
        kept: String,
    },
    /// Stores that cannot be used together.
    #[error("these data cannot be used together: {reason}")]
    Apart {
        /// What was expected and what came.
        reason: String,
    },
    /// The data set's own splits cannot be used.
    #[error(
        "the official splits cannot be used: {reason}; `--splits folds` cross-validates over all answers"
    )]
    Splits {
        /// What was expected and what came.
        reason: String,
    },
    /// Data that are tested on say too little.
    #[error("{data} cannot be tested on: {reason}")]
    Untestable {
        /// Name of the data.
        data: String,
        /// What was expected and what came.
        reason: String,
    },
    /// The fold numbers cannot be used.
    #[error("the folds cannot be used: {reason}")]
    Folds {
        /// What was expected and what came.
        reason: String,
    },
    /// A detector could not be trained or applied.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// Passages could not be retrieved for a question.
    #[error(transparent)]
    Retrieval(#[from] crate::retrieval::RetrievalError),
    /// The model.
    #[error(transparent)]
    Model(#[from] crate::model::ModelError),
}

impl EvaluationError {
    pub(super) fn damaged_shard(path: &Path, reason: String) -> Self {
        Self::DamagedShard { path: path.to_owned(), reason }
    }

    /// For `map_err` on file operations.
    pub(super) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }
}
