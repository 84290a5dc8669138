//! Answers as losses over thresholds, and the sources they belong to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::certify::CertifyError;

/// One labelled answer: what a threshold flags and misses in it.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerLoss {
    source: String,
    /// Smoothed scores of all tokens, ascending.
    tokens: Vec<f64>,
    /// Those of the unsupported tokens, ascending.
    unsupported: Vec<f64>,
}

impl AnswerLoss {
    /// `source`: what the answer answers from; answers to one source are not exchangeable. `scores`:
    /// smoothed token scores in [0, 1], `[T]`; `unsupported`: the label of each token, `[T]`.
    ///
    /// # Errors
    /// Different lengths, or a score outside [0, 1].
    pub fn new(
        source: impl Into<String>,
        scores: &[f64],
        unsupported: &[bool],
    ) -> Result<Self, CertifyError> {
        if scores.len() != unsupported.len() {
            return Err(CertifyError::TokensAndLabels { tokens: scores.len(), labels: unsupported.len() });
        }
        if let Some((number, &score)) =
            scores.iter().enumerate().find(|(_, score)| !(0.0..=1.0).contains(*score))
        {
            return Err(CertifyError::TokenScore { number, score });
        }
        let sorted = |mut values: Vec<f64>| {
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let labelled = scores.iter().zip(unsupported).filter(|(_, label)| **label).map(|(score, _)| *score);
        Ok(Self {
            source: source.into(),
            unsupported: sorted(labelled.collect()),
            tokens: sorted(scores.to_vec()),
        })
    }

    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Number of tokens T.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Whether no token is labelled unsupported.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.unsupported.is_empty()
    }

    /// loss(lambda): the share of the unsupported tokens whose score is below `threshold`; 0 when there
    /// are none. Never falls when the threshold rises, between 0 and 1.
    #[must_use]
    pub fn missed_share(&self, threshold: f64) -> f64 {
        if self.is_clean() {
            return 0.0;
        }
        let missed = self.unsupported.partition_point(|score| *score < threshold);
        missed as f64 / self.unsupported.len() as f64
    }

    /// Tokens with a score of at least `threshold`.
    #[must_use]
    pub fn flagged(&self, threshold: f64) -> usize {
        self.tokens.len() - self.tokens.partition_point(|score| *score < threshold)
    }

    /// The lowest threshold that flags nothing lies just above this; `None` without tokens.
    #[must_use]
    pub fn highest(&self) -> Option<f64> {
        self.tokens.last().copied()
    }
}

/// Which answers the loss of a source is averaged over, and so what is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Population {
    /// Every answer; one without unsupported tokens counts as nothing missed.
    #[default]
    All,
    /// Only answers with unsupported tokens: the stricter promise, from fewer sources.
    Unsupported,
}

impl Population {
    fn admits(self, answer: &AnswerLoss) -> bool {
        self == Self::All || !answer.is_clean()
    }
}

/// Answers grouped by source, in the order of the source names.
pub(super) struct Sources<'a> {
    pub(super) units: Vec<Vec<&'a AnswerLoss>>,
}

impl<'a> Sources<'a> {
    pub(super) fn of(answers: &'a [AnswerLoss], population: Population) -> Self {
        let mut by_source: BTreeMap<&str, Vec<&AnswerLoss>> = BTreeMap::new();
        for answer in answers.iter().filter(|answer| population.admits(answer)) {
            by_source.entry(&answer.source).or_default().push(answer);
        }
        Self { units: by_source.into_values().collect() }
    }

    /// The jumps of the summed loss: (score, weight, number of the source), ascending. The summed loss at
    /// lambda is the weight of all scores below lambda.
    pub(super) fn jumps(&self) -> Vec<(f64, f64, usize)> {
        let mut jumps = Vec::new();
        for (number, unit) in self.units.iter().enumerate() {
            for answer in unit {
                let weight = 1.0 / (unit.len() * answer.unsupported.len().max(1)) as f64;
                jumps.extend(answer.unsupported.iter().map(|&score| (score, weight, number)));
            }
        }
        jumps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        jumps
    }
}

/// Mean over the answers of one source.
pub(super) fn source_loss(unit: &[&AnswerLoss], threshold: f64) -> f64 {
    unit.iter().map(|answer| answer.missed_share(threshold)).sum::<f64>() / unit.len().max(1) as f64
}

/// The sum of losses that n sources may have: n/(n+1) mean + 1/(n+1) <= beta, solved for n mean. Negative
/// where no threshold can promise beta.
pub(in crate::certify) fn allowed_sum(beta: f64, sources: usize) -> f64 {
    // Shares such as 1/3 do not sum exactly; a promise is not refused for the last bits.
    const ROUNDING: f64 = 1e-11;
    beta * (sources as f64 + 1.0) - 1.0 + ROUNDING
}

/// The largest threshold whose summed loss over the chosen sources is within `allowed`: the score of the
/// first unsupported token that may not be missed, or 1. `None` when `allowed` is negative.
pub(super) fn largest_threshold(
    jumps: &[(f64, f64, usize)],
    allowed: f64,
    chosen: impl Fn(usize) -> bool,
) -> Option<f64> {
    if allowed < 0.0 {
        return None;
    }
    let mut missed = 0.0;
    for &(score, weight, _) in jumps.iter().filter(|(_, _, source)| chosen(*source)) {
        missed += weight;
        if missed > allowed {
            return Some(score);
        }
    }
    Some(1.0)
}
