//! Why an inspection ended early.

use crate::certify::CertifyError;
use crate::detect::DetectError;
use crate::model::{FetchError, ModelError};
use crate::retrieval::RetrievalError;

/// A failure of the run as a whole; a bad record never is one.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The index.
    #[error(transparent)]
    Retrieval(#[from] RetrievalError),
    /// The calibration.
    #[error(transparent)]
    Certify(#[from] CertifyError),
    /// The model could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A head.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// A head that cannot be read from its file.
    #[error("cannot read the head {path}: {source}; --heads names a folder written by `ragscope train`")]
    Head {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
}
