//! What the pipeline tells whoever watches it.

use super::certificate::CertificateSummary;
use crate::evidence::Evidence;

/// One message of a running inspection, in the order in which things happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What is being done now, in plain words, without a number.
    Stage(String),
    /// The examples that will come, in file order, before any evidence exists.
    Planned(Vec<Planned>),
    /// What certifies the chunks, as soon as it is known.
    Certified(Box<CertificateSummary>),
    /// Evidence of one row: first without a reading (chunks only), later with it. Replaces what was
    /// there for the same row.
    Evidence(Box<Evidence>),
    /// Rows whose evidence is complete.
    Progress {
        /// Rows complete.
        done: usize,
        /// Rows planned.
        total: usize,
        /// Seconds left, once there is something to estimate it from.
        seconds_left: Option<f64>,
    },
    /// Something the user should know that stopped nothing.
    Notice(String),
    /// All rows are complete.
    Finished,
    /// The run ended early; what was sent before stands.
    Failed(String),
}

/// A row that will be inspected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Number of the record in its file.
    pub row: usize,
    /// Id of the record.
    pub id: String,
    /// Its question.
    pub question: String,
}
