//! Heads trained on all stored answers; what is chosen is chosen on out-of-fold scores.

use std::collections::BTreeMap;

use crate::detect::{
    AnswerFeatures, AnswerHead, AnswerHeadCard, FeatureBlock, Making, TokenHead, TokenHeadCard,
};
use crate::metrics::Measure;

use super::ground::Grounds;
use super::lookback_measures::{AnswerVectors, lookback_row};
use super::scoring::token_scores;
use super::smoothed::Smoothed;
use super::token_measures::{best_threshold, method_row};
use super::{
    EvaluationError, EvaluationSettings, FeaturePool, LoadedFeatures, Protocol, ScoreCache, TokenClassifier,
    TokenMethod,
};

/// Trains a token head on all answers of the pool.
///
/// Its threshold is the one with the highest span F1 on smoothed out-of-fold scores of the main store (`folds`), and
/// the card carries the out-of-fold figures; answers of further stores are in every training and never judged.
/// `name`: of the detector, for example `cortex`.
pub fn train_token_head(
    pool: &FeaturePool<'_>,
    folds: &[usize],
    name: &str,
    blocks: &[FeatureBlock],
    classifier: &TokenClassifier,
    settings: &EvaluationSettings,
    progress: &mut dyn FnMut(&str),
) -> Result<TokenHead, EvaluationError> {
    let protocol = with_all_others(pool, Protocol::cross_validation(pool, folds)?);
    let grounds = Grounds::new(pool, &protocol);
    let method = TokenMethod::Trained {
        name: name.to_owned(),
        blocks: blocks.to_vec(),
        classifier: classifier.clone(),
    };
    let scores = token_scores(pool, &protocol, &grounds, &method, &mut ScoreCache::default(), progress)?;
    let after = Smoothed::symmetric(&grounds, &scores, settings);
    let row = method_row(name, &grounds, &scores, &after, None, settings);
    progress(&format!("{name}: all answers"));
    let loaded = LoadedFeatures::load(pool, blocks)?;
    let features = loaded.rows()?;
    let all: Vec<usize> = (0..features.rows()).collect();
    let model = classifier.train(&features, &pool.token_labels(), &all)?;
    let mut training = provenance(pool, &protocol);
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
        model: pool.header().model.clone(),
        blocks: blocks.to_vec(),
        threshold: best_threshold(&grounds.judged, &scores, settings.rho),
        rho: settings.rho,
        rho_answer: settings.rho_answer,
        making: Making::here(training),
    };
    Ok(TokenHead::new(card, model)?)
}

/// Trains an answer head on all answers of the pool with the given C, or with the one that grouped cross-validation
/// chooses from the settings' grid.
pub fn train_answer_head(
    pool: &FeaturePool<'_>,
    folds: &[usize],
    name: &str,
    features: AnswerFeatures,
    c: Option<f64>,
    settings: &EvaluationSettings,
) -> Result<AnswerHead, EvaluationError> {
    let protocol = with_all_others(pool, Protocol::cross_validation(pool, folds)?);
    let vectors = AnswerVectors::load(pool, features)?;
    let all: Vec<usize> = (0..pool.answers().len()).collect();
    let held_out = protocol.rounds.iter().map(|round| (round.train.clone(), round.scored.clone()));
    let chosen = match c {
        Some(c) => c,
        None => vectors.tune(&held_out.collect::<Vec<_>>(), &settings.lookback_c)?,
    };
    let model = vectors.fit(&all, chosen)?;
    // The figure belongs to the procedure: tuned inside the training folds when C is tuned.
    let own = EvaluationSettings {
        lookback_c: c.map_or(settings.lookback_c.clone(), |c| vec![c]),
        ..settings.clone()
    };
    let row = lookback_row(pool, &protocol, &Grounds::new(pool, &protocol), features, true, &own)?;
    let mut training = provenance(pool, &protocol);
    let out_of_fold: &Measure = &row.answers.auroc.estimate;
    training.insert("out_of_fold_answer_auroc".to_owned(), out_of_fold.to_string());
    let card = AnswerHeadCard {
        kind: "answer".to_owned(),
        name: name.to_owned(),
        model: pool.header().model.clone(),
        features,
        c: chosen,
        making: Making::here(training),
    };
    Ok(AnswerHead::new(card, model)?)
}

/// The protocol with the answers of every further store in its trainings.
fn with_all_others(pool: &FeaturePool<'_>, protocol: Protocol) -> Protocol {
    let others: Vec<usize> = (1..pool.stores()).flat_map(|store| pool.members(store)).collect();
    if others.is_empty() { protocol } else { protocol.with_more_training(&others) }
}

fn provenance(pool: &FeaturePool<'_>, protocol: &Protocol) -> BTreeMap<String, String> {
    let mut training = pool.header().settings.clone();
    training.insert("data_hash".to_owned(), pool.data_hash(0).to_owned());
    training.insert("answers".to_owned(), pool.answers().len().to_string());
    training.insert("tokens".to_owned(), pool.token_count().to_string());
    training.insert("folds".to_owned(), protocol.rounds.len().to_string());
    let others: Vec<String> = (1..pool.stores())
        .map(|store| {
            format!("{} ({}, {} answers)", pool.name(store), pool.data_hash(store), pool.members(store).len())
        })
        .collect();
    if !others.is_empty() {
        training.insert("also_trained_on".to_owned(), others.join(", "));
    }
    training
}

fn json(classifier: &TokenClassifier) -> String {
    serde_json::to_string(classifier).unwrap_or_else(|error| format!("cannot be written: {error}"))
}
