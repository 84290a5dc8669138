//! All rows of the comparison.

use serde::Serialize;

use crate::certify::highlighting::{AnswerLoss, HighlightingCurve, Population, held_out};
use crate::detect::{AnswerFeatures, DetectError, FeatureBlock, MlpSettings, layer_name};
use crate::metrics::{Measure, RESAMPLES};
use crate::reading::StateLayer;

use super::comparison::{StageScores, compare};
use super::cross_validation::{Folds, negative_log_likelihoods, scores_by_fold};
use super::lookback_measures::{lookback_row, row_name};
use super::temper::tempered;
use super::token_measures::{Ground, method_row};
use super::{
    Comparison, EvaluationError, EvaluationReport, FeatureStore, HighlightingLevel, HighlightingRow,
    ScoreCache, SkippedRow, Stage, StoreHeader, TokenMethod,
};
use super::{curves, llm_check};

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
    /// Names of the rows that are drawn, smoothed.
    pub curves: Vec<String>,
    /// Names of the rows whose smoothed scores are certified by risk control.
    pub certified: Vec<String>,
    /// Whether answer-level rows of other papers are added.
    pub published_answer_rows: bool,
    /// Rows to compare with each other.
    pub comparisons: Vec<Comparison>,
    /// Resamples of sources for the intervals.
    pub resamples: usize,
    /// Of the resamples.
    pub seed: u64,
}

impl EvaluationSettings {
    /// Every detector, the order that CORTEX reports, and the best rows against it.
    #[must_use]
    pub fn laboratory(header: &StoreHeader, mlp: &MlpSettings) -> Self {
        let methods = TokenMethod::laboratory(header, mlp);
        let deep = layer_name(StateLayer::Block((header.model.shape.layers * 3 / 4).max(1)));
        let last = layer_name(StateLayer::FinalNorm);
        let mut comparisons = Vec::new();
        for layer in [&last, &deep] {
            comparisons.push(Comparison::smoothed(&format!("D + c, {layer}"), &format!("D, {layer}")));
            comparisons.push(Comparison::of_smoothing(&format!("D + c, {layer}")));
        }
        let cortex =
            [format!("D + c, {last}"), format!("D + c, {deep}"), format!("D + c, {deep}, regularised")];
        for ours in ["log chunk mass + six scalars", "fusion", "fusion, four seeds", "the same, tempered"] {
            comparisons.extend(cortex.iter().map(|theirs| Comparison::smoothed(ours, theirs)));
        }
        comparisons.push(Comparison::smoothed("fusion", "log chunk mass + six scalars"));
        let curves =
            ["generator + position control", "NLL", "fusion", "the same, tempered"].map(str::to_owned);
        let curves = curves.into_iter().chain(cortex[..2].iter().cloned()).collect();
        let certified = vec![cortex[1].clone(), "fusion".to_owned(), "the same, tempered".to_owned()];
        Self {
            methods,
            comparisons,
            curves,
            certified,
            published_answer_rows: true,
            ..Self::standard(header)
        }
    }

    /// The standard rows for what a store keeps, with the paper's persistence values.
    #[must_use]
    pub fn standard(header: &StoreHeader) -> Self {
        Self {
            methods: TokenMethod::standard(header, &MlpSettings::default()),
            rho: 0.993,
            rho_answer: 0.93,
            lookback_c: vec![1e-3, 1e-2, 1e-1, 1.0, 10.0],
            comparisons: Vec::new(),
            published_answer_rows: false,
            curves: Vec::new(),
            certified: Vec::new(),
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
    cache: &mut ScoreCache,
    progress: &mut dyn FnMut(&str),
) -> Result<EvaluationReport, EvaluationError> {
    let folds = Folds::new(store, folds)?;
    let ground = Ground::new(store);
    let mut rows = Vec::new();
    let mut lookback = Vec::new();
    let mut staged: Vec<((String, Stage), StageScores)> = Vec::new();
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
        match scores_by_fold(store, &folds, &ground.token_labels, method, cache, progress) {
            Ok(mut scores) => {
                if matches!(method, TokenMethod::Ensemble { tempered: true, .. }) {
                    scores = tempered(&ground, &folds, &scores, settings.rho);
                }
                let answer_scores = match method {
                    TokenMethod::NegativeLogLikelihood => Some(mean_by_answer(store)?),
                    method if method.averages() => Some(mean_scores(&ground, &scores)),
                    _ => None,
                };
                for stage in [Stage::Raw, Stage::Smoothed] {
                    let asked = (method.name().to_owned(), stage);
                    let compared =
                        settings.comparisons.iter().any(|pair| pair.first == asked || pair.second == asked);
                    let named =
                        settings.curves.iter().chain(&settings.certified).any(|name| *name == asked.0);
                    let drawn = stage == Stage::Smoothed && named;
                    if compared || drawn {
                        staged.push((asked, stage_scores(&ground, &scores, stage, settings)));
                    }
                }
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
    for block in store.header().blocks.clone() {
        if let (FeatureBlock::State { layer }, true) = (block, settings.published_answer_rows) {
            let name = llm_check::row_name(layer);
            progress(&name);
            match llm_check::hidden_row(store, &ground, &folds, layer, settings) {
                Ok(row) => lookback.push(row),
                Err(error) => skip(name, error)?,
            }
        }
    }
    let shown: Vec<(String, Vec<f64>)> = staged
        .iter()
        .filter(|((name, stage), _)| *stage == Stage::Smoothed && settings.curves.contains(name))
        .map(|((name, _), scores)| (name.clone(), scores.tokens.clone()))
        .collect();
    let highlighting = staged
        .iter()
        .filter(|((name, stage), _)| *stage == Stage::Smoothed && settings.certified.contains(name))
        .flat_map(|((name, _), scores)| {
            [Population::All, Population::Unsupported]
                .map(|population| highlighting_row(name, &ground, &scores.tokens, population, settings))
        })
        .collect::<Result<_, _>>()?;
    let curves = if shown.is_empty() {
        Vec::new()
    } else {
        vec![
            ("precision-recall.svg".to_owned(), curves::precision_recall(&shown, &ground.token_labels)),
            ("reliability.svg".to_owned(), curves::reliability_curve(&shown, &ground.token_labels)),
        ]
    };
    let scores_of =
        |asked: &(String, Stage)| staged.iter().find(|(own, _)| own == asked).map(|(_, scores)| scores);
    let comparisons = settings
        .comparisons
        .iter()
        .filter_map(|pair| {
            Some(compare(pair, &ground, scores_of(&pair.first)?, scores_of(&pair.second)?, settings))
        })
        .collect();
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
        highlighting,
        comparisons,
        curves,
        skipped,
        settings: settings.clone(),
    })
}

/// Mean token score of each answer.
fn mean_scores(ground: &Ground<'_>, scores: &[f64]) -> Vec<f64> {
    let mean = |answer: &super::StoredAnswer| {
        let own = &scores[answer.tokens()];
        own.iter().sum::<f64>() / own.len().max(1) as f64
    };
    ground.answers.iter().map(mean).collect()
}

/// Levels of beta that are reported.
const BETAS: [f64; 4] = [0.05, 0.1, 0.2, 0.3];
/// Random halves by source for the held-out check.
const HALVES: usize = 100;

fn highlighting_row(
    name: &str,
    ground: &Ground<'_>,
    smoothed: &[f64],
    population: Population,
    settings: &EvaluationSettings,
) -> Result<HighlightingRow, EvaluationError> {
    let loss = |answer: &super::StoredAnswer| {
        let labels = &ground.token_labels[answer.tokens()];
        AnswerLoss::new(&answer.labelled.source, &smoothed[answer.tokens()], labels)
    };
    let answers: Vec<AnswerLoss> = ground.answers.iter().map(loss).collect::<Result<_, _>>()?;
    let curve = HighlightingCurve::new(&answers, population);
    let level = |&beta: &f64| HighlightingLevel {
        beta,
        controlled: curve.controlled(beta).copied(),
        held_out: held_out(&answers, population, beta, HALVES, settings.seed),
    };
    Ok(HighlightingRow {
        name: name.to_owned(),
        population,
        sources: curve.sources,
        levels: BETAS.iter().map(level).collect(),
    })
}

fn stage_scores(
    ground: &Ground<'_>,
    scores: &[f64],
    stage: Stage,
    settings: &EvaluationSettings,
) -> StageScores {
    match stage {
        Stage::Raw => StageScores { tokens: scores.to_vec(), answers: ground.highest(scores) },
        Stage::Smoothed => StageScores {
            tokens: ground.smoothed(scores, settings.rho),
            answers: ground.highest(&ground.smoothed(scores, settings.rho_answer)),
        },
    }
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
#[path = "laboratory_tests.rs"]
mod laboratory_tests;
#[cfg(test)]
#[path = "evaluate_tests.rs"]
mod tests;
