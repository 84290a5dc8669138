//! Answer factuality from look-back ratios: DRAG block 2 by the rounds of a protocol.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::detect::{AnswerFeatures, DetectError, LogisticRegression, LogisticSettings, scale_by_own_range};
use crate::metrics::{Measure, auroc, expected_calibration_error, ranking};

use super::ground::{Ground, Grounds};
use super::protocol::Protocol;
use super::token_measures::estimate;
use super::{EvaluationError, EvaluationSettings, FeaturePool, LookbackRow};

/// The paper's penalty.
pub(super) const PAPER_C: f64 = 1.0;

/// Answer vectors as the classifier sees them.
pub(super) struct AnswerVectors {
    values: Vec<f32>,
    width: usize,
    /// Positive = consistent.
    labels: Vec<bool>,
}

impl AnswerVectors {
    /// Loads the vectors of all answers and scales each to its own range.
    pub(super) fn load(pool: &FeaturePool<'_>, features: AnswerFeatures) -> Result<Self, EvaluationError> {
        let mut values = pool.load_answers(features)?;
        let width = features.width(pool.header().model.shape);
        values.chunks_exact_mut(width.max(1)).for_each(scale_by_own_range);
        let labels = pool.answers().iter().map(|answer| !answer.labelled.inconsistent).collect();
        Ok(Self { values, width, labels })
    }

    fn row(&self, answer: usize) -> &[f32] {
        &self.values[answer * self.width..(answer + 1) * self.width]
    }

    pub(super) fn fit(&self, answers: &[usize], c: f64) -> Result<LogisticRegression, DetectError> {
        let dense: Vec<f32> = answers.iter().flat_map(|&answer| self.row(answer)).copied().collect();
        let labels: Vec<bool> = answers.iter().map(|&answer| self.labels[answer]).collect();
        LogisticRegression::fit(
            &dense,
            self.width,
            &labels,
            &LogisticSettings { c, ..LogisticSettings::default() },
        )
    }

    /// Probability that an answer is consistent.
    pub(super) fn probability(&self, model: &LogisticRegression, answer: usize) -> f64 {
        model.probability(self.row(answer))
    }

    /// Labels of some answers, true = consistent.
    pub(super) fn labels_of(&self, answers: &[usize]) -> Vec<bool> {
        answers.iter().map(|&answer| self.labels[answer]).collect()
    }

    /// The C of the grid with the highest AUROC over pairs of answers to train on and answers to look at, the smaller
    /// on a tie; the paper's when no pair has both classes.
    ///
    /// AUROC is averaged over the pairs: probabilities of different models are not on one scale.
    pub(super) fn tune(&self, pairs: &[(Vec<usize>, Vec<usize>)], grid: &[f64]) -> Result<f64, DetectError> {
        if let [only] = grid {
            return Ok(*only);
        }
        let tasks: Vec<(usize, usize)> =
            (0..grid.len()).flat_map(|c| (0..pairs.len()).map(move |pair| (c, pair))).collect();
        let found: Vec<(usize, Option<f64>)> = tasks
            .into_par_iter()
            .map(|(c, pair)| {
                let (train, held_out) = &pairs[pair];
                let model = match self.fit(train, grid[c]) {
                    Ok(model) => model,
                    // A pair without one of the classes says nothing about C.
                    Err(DetectError::OneClass { .. }) => return Ok((c, None)),
                    Err(error) => return Err(error),
                };
                let scores: Vec<f64> =
                    held_out.iter().map(|&answer| self.probability(&model, answer)).collect();
                Ok((c, auroc(&self.labels_of(held_out), &scores).value()))
            })
            .collect::<Result<_, DetectError>>()?;
        let mut best = (PAPER_C, f64::NEG_INFINITY);
        for (number, &c) in grid.iter().enumerate() {
            let values: Vec<f64> =
                found.iter().filter(|(own, _)| *own == number).filter_map(|(_, value)| *value).collect();
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            if !values.is_empty() && (mean > best.1 || (mean == best.1 && c < best.0)) {
                best = (c, mean);
            }
        }
        Ok(best.0)
    }
}

/// One row: `tuned` chooses C on the pairs of each round, else it is the paper's.
pub(super) fn lookback_row(
    pool: &FeaturePool<'_>,
    protocol: &Protocol,
    grounds: &Grounds,
    features: AnswerFeatures,
    tuned: bool,
    settings: &EvaluationSettings,
) -> Result<LookbackRow, EvaluationError> {
    let vectors = AnswerVectors::load(pool, features)?;
    let mut scores = vec![0.0; grounds.in_pool.len()];
    let mut chosen = Vec::with_capacity(protocol.rounds.len());
    for round in &protocol.rounds {
        let c = if tuned { vectors.tune(&round.tuning, &settings.lookback_c)? } else { PAPER_C };
        let model = vectors.fit(&round.train, c)?;
        chosen.push(c);
        for answer in &round.scored {
            if let Ok(place) = grounds.in_pool.binary_search(answer) {
                scores[place] = vectors.probability(&model, *answer);
            }
        }
    }
    Ok(answer_row(
        row_name(features, tuned),
        &grounds.judged,
        &grounds.answers_of_judged(&scores),
        chosen,
        settings,
    ))
}

/// The figures of one row of probabilities that answers are consistent.
pub(super) fn answer_row(
    name: String,
    ground: &Ground,
    probabilities: &[f64],
    c: Vec<f64>,
    settings: &EvaluationSettings,
) -> LookbackRow {
    let labels: Vec<bool> = ground.inconsistent.iter().map(|inconsistent| !inconsistent).collect();
    let by_generator: BTreeMap<_, _> = ground
        .generators
        .iter()
        .map(|(generator, members)| {
            let labels: Vec<bool> = members.iter().map(|&member| labels[member]).collect();
            let own: Vec<f64> = members.iter().map(|&member| probabilities[member]).collect();
            (generator.clone(), ranking(&labels, &own))
        })
        .collect();
    let consistent = labels.iter().filter(|&&label| label).count();
    LookbackRow {
        name,
        answers: estimate(&labels, probabilities, &ground.source_of, settings),
        chance: Measure::ratio(consistent as f64, labels.len() as f64, "no answers"),
        calibration_error: expected_calibration_error(&labels, probabilities),
        c,
        by_generator,
    }
}

/// Name in the table.
pub(super) fn row_name(features: AnswerFeatures, tuned: bool) -> String {
    let ratios = match features {
        AnswerFeatures::ChunkWise { blocks } => format!("look-back CW, {blocks} chunks"),
        AnswerFeatures::FullContext => "look-back FC".to_owned(),
    };
    format!("{ratios}, {}", if tuned { "C tuned" } else { "C = 1" })
}
