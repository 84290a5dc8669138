//! Two rows against each other on the same resamples of sources.

use serde::Serialize;

use crate::metrics::{PairedDifference, RankingSample, paired_bootstrap};

use super::EvaluationSettings;
use super::ground::Ground;

/// Which scores of a row are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Raw,
    Smoothed,
}

/// Two rows whose difference is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Name of the row that is expected to be better.
    pub first: (String, Stage),
    /// The other.
    pub second: (String, Stage),
}

impl Comparison {
    /// Both smoothed.
    #[must_use]
    pub fn smoothed(first: &str, second: &str) -> Self {
        Self { first: (first.to_owned(), Stage::Smoothed), second: (second.to_owned(), Stage::Smoothed) }
    }

    /// The gain of smoothing one row.
    #[must_use]
    pub fn of_smoothing(name: &str) -> Self {
        Self { first: (name.to_owned(), Stage::Smoothed), second: (name.to_owned(), Stage::Raw) }
    }
}

/// A comparison made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonRow {
    /// What was compared.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Difference of the token average precision, first minus second.
    pub tokens: PairedDifference,
    /// Difference of the answer average precision.
    pub answers: PairedDifference,
}

/// Token and answer scores of one row at one stage.
pub(super) struct StageScores {
    pub(super) tokens: Vec<f64>,
    pub(super) answers: Vec<f64>,
}

pub(super) fn compare(
    comparison: &Comparison,
    ground: &Ground,
    first: &StageScores,
    second: &StageScores,
    settings: &EvaluationSettings,
) -> ComparisonRow {
    let difference = |labels: &[bool], groups: &[usize], first: &[f64], second: &[f64]| {
        let (one, other) =
            (RankingSample::new(labels, first, groups), RankingSample::new(labels, second, groups));
        paired_bootstrap(
            one.groups(),
            settings.resamples,
            settings.seed,
            |resample| one.average_precision_weighted(&resample.counts),
            |resample| other.average_precision_weighted(&resample.counts),
        )
    };
    ComparisonRow {
        comparison: comparison.clone(),
        tokens: difference(&ground.token_labels, ground.source_of_token(), &first.tokens, &second.tokens),
        answers: difference(&ground.inconsistent, &ground.source_of, &first.answers, &second.answers),
    }
}
