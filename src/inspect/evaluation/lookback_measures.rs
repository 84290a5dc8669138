//! Answer factuality from look-back ratios: DRAG block 2 under grouped cross-validation.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::detect::{AnswerFeatures, DetectError, LogisticRegression, LogisticSettings, scale_by_own_range};
use crate::metrics::{Measure, auroc, expected_calibration_error, ranking};

use super::cross_validation::Folds;
use super::token_measures::{Ground, estimate};
use super::{EvaluationError, EvaluationSettings, FeatureStore, LookbackRow};

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
    pub(super) fn load(store: &FeatureStore, features: AnswerFeatures) -> Result<Self, EvaluationError> {
        let mut values = store.load_answers(features)?;
        let width = features.width(store.header().model.shape);
        values.chunks_exact_mut(width.max(1)).for_each(scale_by_own_range);
        let labels = store.answers().iter().map(|answer| !answer.labelled.inconsistent).collect();
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

    /// The C of the grid with the highest AUROC over held-out folds of `answers`, the smaller on a tie;
    /// the paper's when no fold has both classes.
    ///
    /// AUROC is averaged over the held-out folds: probabilities of different models are not on one scale.
    pub(super) fn tune(
        &self,
        answers: &[usize],
        fold_of: &[usize],
        grid: &[f64],
    ) -> Result<f64, DetectError> {
        if let [only] = grid {
            return Ok(*only);
        }
        let mut inner: Vec<usize> = answers.iter().map(|&answer| fold_of[answer]).collect();
        inner.sort_unstable();
        inner.dedup();
        let tasks: Vec<(usize, usize)> =
            (0..grid.len()).flat_map(|c| inner.iter().map(move |&fold| (c, fold))).collect();
        let found: Vec<(usize, Option<f64>)> = tasks
            .into_par_iter()
            .map(|(c, fold)| {
                let (held_out, train): (Vec<usize>, Vec<usize>) =
                    answers.iter().partition(|&&answer| fold_of[answer] == fold);
                let model = match self.fit(&train, grid[c]) {
                    Ok(model) => model,
                    // A fold without one of the classes says nothing about C.
                    Err(DetectError::OneClass { .. }) => return Ok((c, None)),
                    Err(error) => return Err(error),
                };
                let scores: Vec<f64> = held_out.iter().map(|&a| model.probability(self.row(a))).collect();
                let labels: Vec<bool> = held_out.iter().map(|&a| self.labels[a]).collect();
                Ok((c, auroc(&labels, &scores).value()))
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

/// One row: `tuned` chooses C inside the training folds, else it is the paper's.
pub(super) fn lookback_row(
    store: &FeatureStore,
    ground: &Ground<'_>,
    folds: &Folds,
    features: AnswerFeatures,
    tuned: bool,
    settings: &EvaluationSettings,
) -> Result<LookbackRow, EvaluationError> {
    let vectors = AnswerVectors::load(store, features)?;
    let mut scores = vec![0.0; vectors.labels.len()];
    let mut chosen = Vec::with_capacity(folds.count);
    for fold in 0..folds.count {
        let (held_out, train): (Vec<usize>, Vec<usize>) =
            (0..scores.len()).partition(|&answer| folds.of_answer[answer] == fold);
        let c = if tuned { vectors.tune(&train, &folds.of_answer, &settings.lookback_c)? } else { PAPER_C };
        let model = vectors.fit(&train, c)?;
        chosen.push(c);
        for answer in held_out {
            scores[answer] = model.probability(vectors.row(answer));
        }
    }
    let by_generator: BTreeMap<_, _> = ground
        .generators
        .iter()
        .map(|(generator, members)| {
            let labels: Vec<bool> = members.iter().map(|&member| vectors.labels[member]).collect();
            let own: Vec<f64> = members.iter().map(|&member| scores[member]).collect();
            (generator.clone(), ranking(&labels, &own))
        })
        .collect();
    let consistent = vectors.labels.iter().filter(|&&label| label).count();
    Ok(LookbackRow {
        name: row_name(features, tuned),
        answers: estimate(&vectors.labels, &scores, &ground.source_of, settings),
        chance: Measure::ratio(consistent as f64, vectors.labels.len() as f64, "no answers"),
        calibration_error: expected_calibration_error(&vectors.labels, &scores),
        c: chosen,
        by_generator,
    })
}

/// Name in the table.
pub(super) fn row_name(features: AnswerFeatures, tuned: bool) -> String {
    let ratios = match features {
        AnswerFeatures::ChunkWise { blocks } => format!("look-back CW, {blocks} chunks"),
        AnswerFeatures::FullContext => "look-back FC".to_owned(),
    };
    format!("{ratios}, {}", if tuned { "C tuned" } else { "C = 1" })
}
