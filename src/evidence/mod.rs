//! Evidence and decisions: the record on disk, and the pure function that turns it into findings.

mod findings;
mod record;
mod thresholds;

pub use findings::{Findings, FlaggedSpan};
pub use record::{
    ChunkEvidence, DetectorScores, Evidence, LabelledSpan, Lookback, Provenance, Reading, SCHEMA, Status,
};
pub use thresholds::Thresholds;
