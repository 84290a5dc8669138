//! What can go wrong with a certificate.

use super::artefact::ARTEFACT_SCHEMA;
use super::highlighting::HIGHLIGHTING_SCHEMA;
use crate::text::quoted;

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
        "the calibration has schema {found:?}, expected {ARTEFACT_SCHEMA:?}; make it again with this version",
        found = quoted(.found)
    )]
    OtherSchema { found: String },
    #[error("the calibration is not readable: {reason}; make it again with `ragscope certify`", reason = quoted(.reason))]
    Unreadable { reason: String },
    #[error("{tokens} token scores and {labels} labels; every token of an answer needs one of each")]
    TokensAndLabels { tokens: usize, labels: usize },
    #[error("token {number} has the smoothed score {score}, expected one from 0 to 1")]
    TokenScore { number: usize, score: f64 },
    #[error("{reason}; calibrate on more sources or choose a larger beta")]
    NoHighlightingThreshold { reason: String },
    #[error(
        "the highlighting was not calibrated for these scores: {differences}; calibrate it on labelled answers \
         scored in the same way with `ragscope highlighting`"
    )]
    OtherHighlighting { differences: String },
    #[error(
        "the calibration of the highlighting has schema {found:?}, expected {HIGHLIGHTING_SCHEMA:?}; make it \
         again with this version",
        found = quoted(.found)
    )]
    OtherHighlightingSchema { found: String },
    #[error(
        "the calibration of the highlighting is not readable: {reason}; make it again with `ragscope highlighting`",
        reason = quoted(.reason)
    )]
    UnreadableHighlighting { reason: String },
}
