//! What can go wrong with a certificate.

use super::artefact::ARTEFACT_SCHEMA;

/// Errors of the certify room.
#[derive(Debug, thiserror::Error)]
pub enum CertifyError {
    #[error(
        "not calibrated: there is no calibration value; calibrate on questions whose source document is known"
    )]
    NotCalibrated,
    #[error("score {number} is {score}, expected a finite number; look at the retriever that gave it")]
    ScoreNotFinite { number: usize, score: f64 },
    #[error("a chunk has no score, so it has no p-value")]
    NoScore,
    #[error("{values} calibration values, at most {maximum} can be counted; calibrate on a sample")]
    TooManyValues { values: usize, maximum: usize },
    #[error("no questions to diagnose; at least two with different sources are needed")]
    TooFewQuestions,
    #[error("K is 0, so nothing is retrieved; choose K of at least 1")]
    NoChunksAsked,
    #[error(
        "the calibration has schema {found:?}, expected {ARTEFACT_SCHEMA:?}; make it again with this version"
    )]
    OtherSchema { found: String },
    #[error("the calibration is not readable: {reason}; make it again with `ragscope calibrate`")]
    Unreadable { reason: String },
}
