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
    /// The run was stopped before that; what was sent before stands.
    Stopped,
    /// News of an answer that someone asked for, by the row of its record.
    Answer {
        /// The row that the request named.
        row: usize,
        /// What happened.
        news: AnswerNews,
    },
    /// The run ended early; what was sent before stands.
    Failed(String),
}

/// What happens to an answer on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerNews {
    /// What is being done now, in plain words.
    Stage(String),
    /// The next piece of the answer, in whole characters.
    Piece(String),
    /// It is written and read; its evidence was sent.
    Done,
    /// There is no answer, or it was not read, and why; the evidence that was sent says so too.
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
