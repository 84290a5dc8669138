//! What follows from evidence under given thresholds.

use std::ops::Range;

use serde::Serialize;

/// The decisions about one example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// Per chunk, in rank order: trusted or not; `None` when the chunk has no p-value.
    pub trusted: Vec<Option<bool>>,
    /// Smoothed token scores of the chosen detector, `[T]`; empty when the answer was not read.
    pub smoothed: Vec<f64>,
    /// Flagged spans, in order, never overlapping.
    pub spans: Vec<FlaggedSpan>,
    /// Number of tokens whose smoothed score reaches the token threshold.
    pub flagged_tokens: usize,
    /// Max over tokens smoothed with the answer's rho; `None` when the answer was not read.
    pub answer_score: Option<f64>,
    /// Whether any span is flagged.
    pub flagged: bool,
    /// Whether the answer is called consistent; `None` when there is no factuality.
    pub consistent: Option<bool>,
}

/// A maximal run of flagged tokens, trimmed of blanks; gaps of white space or punctuation bridged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlaggedSpan {
    /// Bytes in the answer.
    pub range: Range<usize>,
    /// Tokens it covers.
    pub tokens: Range<usize>,
    /// The highest smoothed score inside.
    pub score: f64,
}
