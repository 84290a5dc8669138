//! What only the caller knows about a report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a report says about itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// Heading of the report.
    pub title: String,
    /// The command line that makes the same report again; empty when there is none.
    pub command: String,
    /// `ragscope <version>`: the program that wrote the report (not the one that read the answers).
    pub generated_by: String,
    /// Date of the report, in the caller's words. `None` keeps equal reports equal byte for byte.
    #[serde(default)]
    pub date: Option<String>,
    /// The file of evidence; `None` while there was none, as in an inspection that was not stored.
    #[serde(default)]
    pub run: Option<RunFacts>,
    /// The calibration behind the p-values; `None` when no calibration was given.
    #[serde(default)]
    pub certificate: Option<CertificateFacts>,
    /// The calibration behind the token threshold; `None` when the threshold is a number that was chosen.
    #[serde(default)]
    pub highlighting: Option<HighlightingFacts>,
    /// Finished sentences that say exactly what is guaranteed at the report's thresholds, and what is
    /// not. They are shown word for word; none is added or inferred.
    #[serde(default)]
    pub guarantees: Vec<String>,
    /// Anything else a reader should know, in plain words.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The file of evidence that a report is about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunFacts {
    /// As it was named.
    pub file: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// The calibration of the highlighting and what it was asked for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HighlightingFacts {
    /// Share of unsupported tokens that may be missed in expectation.
    pub beta: f64,
    /// SHA-256 of the calibration file, in hexadecimal.
    pub sha256: String,
}

/// The calibration behind the chunks' p-values.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CertificateFacts {
    /// Number of calibration values.
    pub n: usize,
    /// Number of chunks retrieved for each question (top K).
    pub k: usize,
    /// How chunks of one question enter the calibration: `per-question` or `pooled`.
    pub mode: String,
    /// Share of calibration questions whose correct chunk was among the K retrieved.
    #[serde(default)]
    pub recall_at_k: Option<f64>,
    /// The calibration data, by name and hash.
    pub data: String,
    /// The verdict about the retriever on this data and its reasons, one sentence each.
    #[serde(default)]
    pub verdict: Vec<String>,
}
