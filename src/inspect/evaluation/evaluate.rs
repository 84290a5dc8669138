//! All rows of the comparison.

use serde::Serialize;

use crate::detect::{AnswerFeatures, DetectError, MlpSettings};
use crate::metrics::{Measure, RESAMPLES};

use super::cross_validation::{Folds, negative_log_likelihoods, scores_by_fold};
use super::lookback_measures::{lookback_row, row_name};
use super::token_measures::{Ground, method_row};
use super::{EvaluationError, EvaluationReport, FeatureStore, SkippedRow, StoreHeader, TokenMethod};

/// What is compared, and how.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationSettings {
    /// Rows of the token table.
    pub methods: Vec<TokenMethod>,
    /// Label persistence of token scores, the same for every row.
    pub rho: f64,
    /// Label persistence of the answer score.
    pub rho_answer: f64,
    /// Values of C that look-back regressions are tuned over.
    pub lookback_c: Vec<f64>,
    /// Resamples of sources for the intervals.
    pub resamples: usize,
    /// Of the resamples.
    pub seed: u64,
}

impl EvaluationSettings {
    /// The standard rows for what a store keeps, with the paper's persistence values.
    #[must_use]
    pub fn standard(header: &StoreHeader) -> Self {
        Self {
            methods: TokenMethod::standard(header, &MlpSettings::default()),
            rho: 0.993,
            rho_answer: 0.93,
            lookback_c: vec![1e-3, 1e-2, 1e-1, 1.0, 10.0],
            resamples: RESAMPLES,
            seed: 42,
        }
    }
}

/// Evaluates every method under grouped cross-validation.
///
/// `folds`: one number per stored answer, in store order; a source in two folds is refused. A row that
/// cannot be trained (one class in a training fold) is left out and named in `skipped`; `progress` is told
/// in plain words what is being done.
pub fn evaluate(
    store: &FeatureStore,
    folds: &[usize],
    settings: &EvaluationSettings,
    progress: &mut dyn FnMut(&str),
) -> Result<EvaluationReport, EvaluationError> {
    let folds = Folds::new(store, folds)?;
    let ground = Ground::new(store);
    let mut rows = Vec::new();
    let mut lookback = Vec::new();
    let mut skipped = Vec::new();
    let mut skip = |name: String, error: EvaluationError| match error {
        EvaluationError::Detect(DetectError::OneClass { .. })
        | EvaluationError::OneClass { .. }
        | EvaluationError::MissingBlock { .. } => {
            skipped.push(SkippedRow { name, reason: error.to_string() });
            Ok(())
        }
        error => Err(error),
    };
    for method in &settings.methods {
        match scores_by_fold(store, &folds, &ground.token_labels, method, progress) {
            Ok(scores) => {
                let answer_scores = match method {
                    TokenMethod::NegativeLogLikelihood => Some(mean_by_answer(store)?),
                    _ => None,
                };
                rows.push(method_row(method.name(), &ground, &folds, &scores, answer_scores, settings));
            }
            Err(error) => skip(method.name().to_owned(), error)?,
        }
    }
    let chunk_wise = AnswerFeatures::ChunkWise { blocks: store.header().chunk_blocks };
    for features in [chunk_wise, AnswerFeatures::FullContext] {
        for tuned in [false, true] {
            let name = row_name(features, tuned);
            progress(&name);
            match lookback_row(store, &ground, &folds, features, tuned, settings) {
                Ok(row) => lookback.push(row),
                Err(error) => skip(name, error)?,
            }
        }
    }
    let positive_tokens = ground.token_labels.iter().filter(|&&label| label).count();
    let inconsistent_answers = ground.inconsistent.iter().filter(|&&label| label).count();
    let (tokens, answers) = (ground.token_labels.len(), ground.answers.len());
    let model = &store.header().model;
    Ok(EvaluationReport {
        model: format!("{} ({})", model.name, model.hash),
        data_hash: store.header().data_hash.clone(),
        folds: folds.count,
        answers,
        sources: ground.sources,
        tokens,
        positive_tokens,
        inconsistent_answers,
        chance_tokens: Measure::ratio(positive_tokens as f64, tokens as f64, "no tokens"),
        chance_answers: Measure::ratio(inconsistent_answers as f64, answers as f64, "no answers"),
        rows,
        lookback,
        skipped,
        settings: settings.clone(),
    })
}

/// Mean negative log-likelihood of each answer.
fn mean_by_answer(store: &FeatureStore) -> Result<Vec<f64>, EvaluationError> {
    let values = negative_log_likelihoods(store)?;
    let mean = |answer: &super::StoredAnswer| {
        let own = &values[answer.tokens()];
        own.iter().sum::<f64>() / own.len().max(1) as f64
    };
    Ok(store.answers().iter().map(mean).collect())
}

#[cfg(test)]
#[path = "evaluate_tests.rs"]
mod tests;
