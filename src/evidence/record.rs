//! The evidence record: all that the model and the calibration say about one example, free of any
//! threshold. One JSON line; no model is needed to look at it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::certify::PValue;

/// Version of the record's layout. A reader refuses another major number.
pub const SCHEMA: &str = "ragscope-evidence/1";

/// Evidence about one example. All offsets are UTF-8 bytes, half open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Always [`SCHEMA`].
    pub schema: String,
    pub id: String,
    /// Number of the record in its file, from 0.
    pub row: usize,
    pub status: Status,
    /// Why `status` is not `ok`: what was expected, what came, what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was cut, skipped or converted on the way, in plain words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    pub question: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, String>,
    /// In rank order.
    pub chunks: Vec<ChunkEvidence>,
    /// Absent when the answer was not read (no answer, no model, an error).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
    /// Labelled unsupported spans; absent when nobody labelled the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold_spans: Option<Vec<LabelledSpan>>,
    pub provenance: Provenance,
}

/// How far an example got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Retrieved (or given) chunks, and the answer read.
    Ok,
    /// There is something to see, but a part is absent; `reason` says which and why.
    Partial,
    /// Nothing could be done with this record; `reason` says why.
    Error,
}

/// One retrieved chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChunkEvidence {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    pub text: String,
    /// Byte range in the document part it was cut from, where it was cut by ragscope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[usize; 2]>,
    /// The retriever's raw score; higher is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Conformal p-value; trusted iff it exceeds alpha.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<PValue>,
    /// Why there is no p-value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value_absent: Option<String>,
    /// Whether it comes from a document known to hold the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correct: Option<bool>,
    /// Tokens of it that the model read; fewer than it has when the prompt was too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_read: Option<usize>,
}

/// What the model said while reading the answer. T tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// Byte range of each answer token, `[T]`; tokens that share a character share a range.
    pub tokens: Vec<[usize; 2]>,
    /// Natural log probability of each token with references, `[T]`.
    pub log_prob_with: Vec<f32>,
    /// The same without references, `[T]`.
    pub log_prob_without: Vec<f32>,
    /// Raw token scores per detector, in [0, 1], higher = less supported; never smoothed.
    pub detectors: Vec<DetectorScores>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookback: Option<Lookback>,
    /// Probability that the whole answer is consistent, from look-back ratios (DRAG block 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factuality: Option<f64>,
    /// Why there is no factuality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factuality_absent: Option<String>,
}

/// Raw scores of one detector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DetectorScores {
    /// For example `cortex`.
    pub name: String,
    /// `[T]`
    pub raw: Vec<f32>,
}

/// Look-back ratios (DRAG eq. 8 and 9), reduced for display and reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lookback {
    pub layers: usize,
    pub heads: usize,
    /// Mean over answer tokens of the chunk-wise ratio, [L, H, K] row-major.
    pub by_head: Vec<f32>,
    /// Mean over answer tokens of the full-context ratio, [L, H] row-major.
    pub context_by_head: Vec<f32>,
    /// Mean over layers and heads of the attention mass on each chunk, [T, K] row-major: what share
    /// of its attention the model spent on chunk k when it predicted token t.
    pub by_token: Vec<f32>,
}

/// A labelled span of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelledSpan {
    pub start: usize,
    pub end: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// What made this line. Hashes are SHA-256 in hexadecimal, shortened to 16 digits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// `ragscope <version>`
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration_hash: Option<String>,
    /// The method settings in force (layer, prompt form, top K, ...), by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}
