//! All rows of the comparison.

use serde::Serialize;

use crate::certify::highlighting::{AnswerLoss, HighlightingCurve, Population, held_out};
use crate::detect::{AnswerFeatures, DetectError, FeatureBlock, MlpSettings, layer_name};
use crate::metrics::{Measure, RESAMPLES};
use crate::reading::StateLayer;

use super::comparison::{StageScores, compare};
use super::ground::{Ground, Grounds};
use super::lookback_measures::{lookback_row, row_name};
use super::scoring::{negative_log_likelihoods, token_scores};
use super::smoothed::Smoothed;
use super::temper::tempered;
use super::token_measures::method_row;
use super::{
    Comparison, EvaluationError, EvaluationReport, FeaturePool, HighlightingLevel, HighlightingRow,
    LookbackRow, Protocol, ProtocolKind, ScoreCache, SkippedRow, Stage, StoreHeader, TokenMethod,
};
use super::{curves, llm_check, lookback_groups};

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
    /// Whether there are rows of answer factuality from look-back ratios.
    pub lookback_rows: bool,
    /// Whether answer-level rows of other papers are added.
    pub published_answer_rows: bool,
    /// Whether look-back ratios are also trained on one group and tested on another.
    pub group_matrices: bool,
    /// Only rows whose name is or contains one of these; empty: all.
    pub only: Vec<String>,
    /// Data for further trainings: every trained row comes again with each.
    pub more_training: Vec<MoreTraining>,
    /// Rows to compare with each other.
    pub comparisons: Vec<Comparison>,
    /// Resamples of sources for the intervals.
    pub resamples: usize,
    /// Of the resamples.
    pub seed: u64,
}

/// Answers that are trained on beside those of the protocol, and never judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MoreTraining {
    /// Name of the data.
    pub name: String,
    /// Numbers of the stores of the pool that hold them.
    pub stores: Vec<usize>,
    /// How many answers.
    pub answers: usize,
}

impl MoreTraining {
    /// The data of some stores of the pool, `name` of them together.
    #[must_use]
    pub fn new(pool: &FeaturePool<'_>, name: &str, stores: &[usize]) -> Self {
        let answers = stores.iter().map(|&store| pool.members(store).len()).sum();
        Self { name: name.to_owned(), stores: stores.to_vec(), answers }
    }

    /// What the names of its rows end with.
    #[must_use]
    pub fn suffix(&self) -> String {
        format!(" + {}", self.name)
    }
}

impl EvaluationSettings {
    /// Whether rows of this name are wanted. A name given whole means its row alone.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        let is_whole = |part: &str| self.methods.iter().any(|method| method.name() == part);
        let meant = |part: &String| part == name || (name.contains(part.as_str()) && !is_whole(part));
        self.only.is_empty() || self.only.iter().any(meant)
    }

    /// Compares every row after more training with the row without it, and our own ones with the shipped detector.
    #[must_use]
    pub fn comparing_training(mut self, header: &StoreHeader) -> Self {
        let shipped = TokenMethod::shipped(header, &MlpSettings::default()).name().to_owned();
        self.comparisons.clear();
        let own: Vec<String> = self
            .methods
            .iter()
            .filter(|method| method.is_trained() && self.wants(method.name()))
            .map(|method| method.name().to_owned())
            .collect();
        for more in &self.more_training {
            let with = |name: &str| format!("{name}{}", more.suffix());
            let gains = own.iter().map(|name| Comparison::smoothed(&with(name), name));
            let leads = own.iter().filter(|name| **name != shipped);
            let leads = leads.map(|name| Comparison::smoothed(&with(name), &shipped));
            let pairs: Vec<Comparison> = gains.chain(leads).collect();
            self.comparisons.extend(pairs);
        }
        self
    }

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
        for ours in
            ["log chunk mass + six scalars", "fusion", "fusion, four seeds", "fusion and light, tempered"]
        {
            comparisons.extend(cortex.iter().map(|theirs| Comparison::smoothed(ours, theirs)));
        }
        comparisons.push(Comparison::smoothed("fusion", "log chunk mass + six scalars"));
        let curves = ["generator + position control", "NLL", "fusion", "fusion and light, tempered"]
            .map(str::to_owned);
        let curves = curves.into_iter().chain(cortex[..2].iter().cloned()).collect();
        let certified = vec![cortex[1].clone(), "fusion".to_owned(), "fusion and light, tempered".to_owned()];
        Self {
            methods,
            comparisons,
            curves,
            certified,
            published_answer_rows: true,
            group_matrices: true,
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
            lookback_rows: true,
            published_answer_rows: false,
            group_matrices: false,
            only: Vec::new(),
            more_training: Vec::new(),
            curves: Vec::new(),
            certified: Vec::new(),
            resamples: RESAMPLES,
            seed: 42,
        }
    }
}

/// Evaluates every method by a protocol.
///
/// A row that cannot be trained (one class in a training) is left out and named in `skipped`; `progress` is told
/// in plain words what is being done.
pub fn evaluate(
    pool: &FeaturePool<'_>,
    protocol: &Protocol,
    settings: &EvaluationSettings,
    cache: &mut ScoreCache,
    progress: &mut dyn FnMut(&str),
) -> Result<EvaluationReport, EvaluationError> {
    let grounds = Grounds::new(pool, protocol);
    let ground = &grounds.judged;
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
    let trainings = trainings(pool, protocol, settings);
    for (suffix, protocol) in &trainings {
        for method in &settings.methods {
            if !(settings.wants(method.name()) && (suffix.is_empty() || method.is_trained())) {
                continue;
            }
            let name = format!("{}{suffix}", method.name());
            let mut told = |step: &str| progress(&format!("{step}{suffix}"));
            let scores = match token_scores(pool, protocol, &grounds, method, cache, &mut told) {
                Ok(scores) if matches!(method, TokenMethod::Ensemble { tempered: true, .. }) => {
                    tempered(&grounds, &scores, settings.rho)
                }
                Ok(scores) => scores,
                Err(error) => {
                    skip(name, error)?;
                    continue;
                }
            };
            let answer_scores = match method {
                TokenMethod::NegativeLogLikelihood => {
                    let values = negative_log_likelihoods(pool, &grounds)?;
                    Some(ground.mean(&grounds.of_judged(&values)))
                }
                method if method.averages() => Some(ground.mean(&grounds.of_judged(&scores))),
                _ => None,
            };
            let after = match method {
                TokenMethod::FittedChain { .. } => Smoothed::fitted(pool, protocol, &grounds, &scores),
                _ => Smoothed::symmetric(&grounds, &scores, settings),
            };
            rows.push(method_row(&name, &grounds, &scores, &after, answer_scores, settings));
            let drawn = settings.curves.iter().chain(&settings.certified).any(|named| *named == name);
            for stage in [Stage::Raw, Stage::Smoothed] {
                let asked = (name.clone(), stage);
                let pairs = &settings.comparisons;
                let compared = pairs.iter().any(|pair| pair.first == asked || pair.second == asked);
                if compared || (drawn && stage == Stage::Smoothed) {
                    staged.push((asked, stage_scores(&grounds, &scores, &after, stage)));
                }
            }
        }
    }
    let chunk_wise = AnswerFeatures::ChunkWise { blocks: pool.header().chunk_blocks };
    for (suffix, protocol) in &trainings {
        for features in [chunk_wise, AnswerFeatures::FullContext] {
            for tuned in [false, true] {
                let name = row_name(features, tuned);
                // Tuning is the slowest of all rows; a comparison of trainings does without.
                let wanted = settings.lookback_rows && settings.wants(&name);
                if !wanted || (tuned && !suffix.is_empty()) {
                    continue;
                }
                let name = name + suffix;
                progress(&name);
                match lookback_row(pool, protocol, &grounds, features, tuned, settings) {
                    Ok(row) => lookback.push(LookbackRow { name, ..row }),
                    Err(error) => skip(name, error)?,
                }
            }
        }
    }
    for block in pool.header().blocks.clone() {
        if let (FeatureBlock::State { layer }, true) = (block, settings.published_answer_rows) {
            let name = llm_check::row_name(layer);
            if !settings.wants(&name) {
                continue;
            }
            progress(&name);
            match llm_check::hidden_row(pool, protocol, &grounds, layer, settings) {
                Ok(row) => lookback.push(row),
                Err(error) => skip(name, error)?,
            }
        }
    }
    let groups = if settings.group_matrices && settings.wants("look-back") {
        let by_data = matches!(protocol.kind(), ProtocolKind::Transfer { .. });
        lookback_groups::matrices(pool, by_data, settings, progress)?
    } else {
        Vec::new()
    };
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
                .map(|population| highlighting_row(name, ground, &scores.tokens, population, settings))
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
            Some(compare(pair, ground, scores_of(&pair.first)?, scores_of(&pair.second)?, settings))
        })
        .collect();
    let positive_tokens = ground.token_labels.iter().filter(|&&label| label).count();
    let inconsistent_answers = ground.inconsistent.iter().filter(|&&label| label).count();
    let (tokens, answers) = (ground.tokens(), ground.answers.len());
    let model = &pool.header().model;
    let judged = protocol.judged().first().map_or(0, |&answer| pool.store_of(answer));
    Ok(EvaluationReport {
        model: format!("{} ({})", model.name, model.hash),
        data: pool.name(judged),
        data_hash: pool.reading(judged),
        protocol: protocol.kind().clone(),
        answers,
        sources: ground.sources,
        tokens,
        positive_tokens,
        inconsistent_answers,
        chance_tokens: Measure::ratio(positive_tokens as f64, tokens as f64, "no tokens"),
        chance_answers: Measure::ratio(inconsistent_answers as f64, answers as f64, "no answers"),
        rows,
        lookback,
        groups,
        highlighting,
        comparisons,
        curves,
        skipped,
        settings: settings.clone(),
    })
}

/// The protocol as it is, then with each further training set; each with what the names of its rows end with.
fn trainings(
    pool: &FeaturePool<'_>,
    protocol: &Protocol,
    settings: &EvaluationSettings,
) -> Vec<(String, Protocol)> {
    let mut all = vec![(String::new(), protocol.clone())];
    for more in &settings.more_training {
        let answers: Vec<usize> = more.stores.iter().flat_map(|&store| pool.members(store)).collect();
        all.push((more.suffix(), protocol.with_more_training(&answers)));
    }
    all
}

/// Levels of beta that are reported.
const BETAS: [f64; 4] = [0.05, 0.1, 0.2, 0.3];
/// Random halves by source for the held-out check.
const HALVES: usize = 100;

fn highlighting_row(
    name: &str,
    ground: &Ground,
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

fn stage_scores(grounds: &Grounds, scores: &[f64], after: &Smoothed, stage: Stage) -> StageScores {
    match stage {
        Stage::Raw => {
            let tokens = grounds.of_judged(scores);
            StageScores { answers: grounds.judged.highest(&tokens), tokens }
        }
        Stage::Smoothed => {
            StageScores { tokens: grounds.of_judged(&after.tokens), answers: after.answers.clone() }
        }
    }
}

#[cfg(test)]
#[path = "laboratory_tests.rs"]
mod laboratory_tests;
#[cfg(test)]
#[path = "evaluate_tests.rs"]
mod tests;
