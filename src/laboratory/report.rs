//! The result of an evaluation.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::certify::highlighting::{CurveRow, HeldOut, Population};
use crate::metrics::{Interval, Measure, Ranking, SpanOverlap};

use super::{ComparisonRow, EvaluationSettings, GroupMatrix, ProtocolKind};

/// All figures of one evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationReport {
    /// Name and hash of the model that read the answers.
    pub model: String,
    /// Name of the data that are judged.
    pub data: String,
    /// Their hash.
    pub data_hash: String,
    /// Who trained, who chose, who is judged.
    pub protocol: ProtocolKind,
    /// Answers judged.
    pub answers: usize,
    /// Sources they belong to: what the intervals resample.
    pub sources: usize,
    /// Tokens of all answers.
    pub tokens: usize,
    /// Positive tokens.
    pub positive_tokens: usize,
    /// Inconsistent answers.
    pub inconsistent_answers: usize,
    /// Average precision by chance over tokens: the share of positives. AUROC by chance is 1/2.
    pub chance_tokens: Measure,
    /// The same over answers.
    pub chance_answers: Measure,
    /// One row per method that could be evaluated.
    pub rows: Vec<MethodRow>,
    /// Answer factuality from look-back ratios; positive = consistent.
    pub lookback: Vec<LookbackRow>,
    /// Look-back ratios trained on one group and tested on another.
    pub groups: Vec<GroupMatrix>,
    /// What certified highlighting promises and keeps, row by row, on scores of models that had not seen the answers.
    pub highlighting: Vec<HighlightingRow>,
    /// Rows against each other.
    pub comparisons: Vec<ComparisonRow>,
    /// Pictures of the rows that were to be drawn: file name and SVG.
    #[serde(skip)]
    pub curves: Vec<(String, String)>,
    /// What could not be evaluated, and why.
    pub skipped: Vec<SkippedRow>,
    /// The settings in force.
    pub settings: EvaluationSettings,
}

/// A ranking measure of tokens or answers with 95 % intervals over sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankingEstimate {
    /// Average precision.
    pub average_precision: Interval,
    /// AUROC.
    pub auroc: Interval,
}

/// The figures of one token method. `raw` is before, `smoothed` after label-persistence smoothing, with
/// the same persistence for every method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodRow {
    /// Name in the table.
    pub name: String,
    /// All tokens pooled.
    pub tokens_raw: RankingEstimate,
    /// All tokens pooled.
    pub tokens_smoothed: RankingEstimate,
    /// Max over raw tokens (for NLL the mean of -ln p); positive = inconsistent.
    pub answers_raw: RankingEstimate,
    /// Max over tokens smoothed with the answer's persistence; positive = inconsistent.
    pub answers_smoothed: RankingEstimate,
    /// Expected calibration error of raw token scores.
    pub calibration_error_raw: Measure,
    /// Expected calibration error of smoothed token scores.
    pub calibration_error_smoothed: Measure,
    /// Flagged spans against labelled spans.
    pub spans: SpanFigures,
    /// The same method on the answers of each generator, smoothed.
    pub by_generator: BTreeMap<String, GeneratorFigures>,
}

/// Character overlap of flagged and labelled spans at thresholds chosen on other answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpanFigures {
    /// Characters flagged, labelled and both.
    pub overlap: SpanOverlap,
    /// Share of flagged characters that are labelled.
    pub precision: Measure,
    /// Share of labelled characters that are flagged.
    pub recall: Measure,
    /// Harmonic mean.
    pub f1: Measure,
    /// The thresholds: one for each fold, best on the out-of-fold scores of the other folds; or the one that is best
    /// on dev, or on out-of-fold scores of the training data.
    pub thresholds: Vec<f64>,
}

/// Figures of one slice of the answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GeneratorFigures {
    /// Answers in the slice.
    pub answers: usize,
    /// All its tokens pooled, smoothed.
    pub tokens: Ranking,
    /// Its answers; positive as in the row.
    pub answer_level: Ranking,
}

/// Answer factuality from look-back ratios with one kind of features and one choice of C.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LookbackRow {
    /// Name in the table.
    pub name: String,
    /// Positive = consistent.
    pub answers: RankingEstimate,
    /// Share of consistent answers: average precision by chance.
    pub chance: Measure,
    /// Expected calibration error of the probabilities.
    pub calibration_error: Measure,
    /// C used in each training.
    pub c: Vec<f64>,
    /// The same on the answers of each generator.
    pub by_generator: BTreeMap<String, Ranking>,
}

/// Certified highlighting with the smoothed scores of one method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HighlightingRow {
    /// Name of the method.
    pub name: String,
    /// Whose missed share is bounded.
    pub population: Population,
    /// Sources that the promise rests on.
    pub sources: usize,
    /// One for each beta.
    pub levels: Vec<HighlightingLevel>,
}

/// What one beta asks for and what came of it on held-out sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HighlightingLevel {
    /// Bound on the expected missed share.
    pub beta: f64,
    /// The threshold of all sources together and its price; `None` where they are too few.
    pub controlled: Option<CurveRow>,
    /// Random halves by source.
    pub held_out: HeldOut,
}

/// A row that could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedRow {
    /// Name in the table.
    pub name: String,
    /// Why.
    pub reason: String,
}
