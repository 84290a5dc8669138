//! Heads trained on all stored answers; what is chosen is chosen on out-of-fold scores.

use std::collections::BTreeMap;

use crate::detect::{
    AnswerFeatures, AnswerHead, AnswerHeadCard, FeatureBlock, Making, TokenHead, TokenHeadCard,
};
use crate::metrics::Measure;

use super::cross_validation::{Folds, LoadedFeatures, scores_by_fold};
use super::lookback_measures::{AnswerVectors, lookback_row};
use super::token_measures::{Ground, best_threshold, method_row};
use super::{EvaluationError, EvaluationSettings, FeatureStore, ScoreCache, TokenClassifier, TokenMethod};

/// Trains a token head on all answers.
///
/// Its threshold is the one with the highest span F1 on smoothed out-of-fold scores, and the card carries
/// the out-of-fold figures. `name`: of the detector, for example `cortex`.
pub fn train_token_head(
    store: &FeatureStore,
    folds: &[usize],
    name: &str,
    blocks: &[FeatureBlock],
    classifier: &TokenClassifier,
    settings: &EvaluationSettings,
    progress: &mut dyn FnMut(&str),
) -> Result<TokenHead, EvaluationError> {
    let folds = Folds::new(store, folds)?;
    let ground = Ground::new(store);
    let method = TokenMethod::Trained {
        name: name.to_owned(),
        blocks: blocks.to_vec(),
        classifier: classifier.clone(),
    };
    let scores =
        scores_by_fold(store, &folds, &ground.token_labels, &method, &mut ScoreCache::default(), progress)?;
    let row = method_row(name, &ground, &folds, &scores, None, settings);
    progress(&format!("{name}: all answers"));
    let loaded = LoadedFeatures::load(store, blocks)?;
    let features = loaded.rows()?;
    let all: Vec<usize> = (0..features.rows()).collect();
    let model = classifier.train(&features, &ground.token_labels, &all)?;
    let mut training = provenance(store, &folds);
    for (figure, measure) in [
        ("out_of_fold_token_average_precision", &row.tokens_smoothed.average_precision.estimate),
        ("out_of_fold_token_auroc", &row.tokens_smoothed.auroc.estimate),
        ("out_of_fold_answer_average_precision", &row.answers_smoothed.average_precision.estimate),
        ("out_of_fold_answer_auroc", &row.answers_smoothed.auroc.estimate),
        ("out_of_fold_span_f1", &row.spans.f1),
    ] {
        training.insert(figure.to_owned(), measure.to_string());
    }
    training.insert("classifier".to_owned(), json(classifier));
    let card = TokenHeadCard {
        kind: "token".to_owned(),
        name: name.to_owned(),
        model: store.header().model.clone(),
        blocks: blocks.to_vec(),
        threshold: best_threshold(&ground, &scores, settings.rho),
        rho: settings.rho,
        rho_answer: settings.rho_answer,
        making: Making::here(training),
    };
    Ok(TokenHead::new(card, model)?)
}

/// Trains an answer head on all answers with the given C, or with the one that grouped cross-validation
/// chooses from the settings' grid.
pub fn train_answer_head(
    store: &FeatureStore,
    folds: &[usize],
    name: &str,
    features: AnswerFeatures,
    c: Option<f64>,
    settings: &EvaluationSettings,
) -> Result<AnswerHead, EvaluationError> {
    let folds = Folds::new(store, folds)?;
    let vectors = AnswerVectors::load(store, features)?;
    let all: Vec<usize> = (0..store.answers().len()).collect();
    let chosen = match c {
        Some(c) => c,
        None => vectors.tune(&all, &folds.of_answer, &settings.lookback_c)?,
    };
    let model = vectors.fit(&all, chosen)?;
    // The figure belongs to the procedure: tuned inside the training folds when C is tuned.
    let own = EvaluationSettings {
        lookback_c: c.map_or(settings.lookback_c.clone(), |c| vec![c]),
        ..settings.clone()
    };
    let row = lookback_row(store, &Ground::new(store), &folds, features, true, &own)?;
    let mut training = provenance(store, &folds);
    let out_of_fold: &Measure = &row.answers.auroc.estimate;
    training.insert("out_of_fold_answer_auroc".to_owned(), out_of_fold.to_string());
    let card = AnswerHeadCard {
        kind: "answer".to_owned(),
        name: name.to_owned(),
        model: store.header().model.clone(),
        features,
        c: chosen,
        making: Making::here(training),
    };
    Ok(AnswerHead::new(card, model)?)
}

fn provenance(store: &FeatureStore, folds: &Folds) -> BTreeMap<String, String> {
    let mut training = store.header().settings.clone();
    training.insert("data_hash".to_owned(), store.header().data_hash.clone());
    training.insert("answers".to_owned(), store.answers().len().to_string());
    training.insert("tokens".to_owned(), store.token_count().to_string());
    training.insert("folds".to_owned(), folds.count.to_string());
    training
}

fn json(classifier: &TokenClassifier) -> String {
    serde_json::to_string(classifier).unwrap_or_else(|error| format!("cannot be written: {error}"))
}
