//! Token, answer and span figures of one method from its out-of-fold scores.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use crate::detect::{DisplayUnit, display_units, smooth, spans_of_units, unit_scores};
use crate::metrics::{RankingSample, SpanOverlap, bootstrap_intervals, expected_calibration_error, ranking};

use super::cross_validation::{Folds, all_token_labels};
use super::{
    EvaluationSettings, FeatureStore, GeneratorFigures, MethodRow, RankingEstimate, SpanFigures, StoredAnswer,
};

/// What all methods share: labels, sources, generators, display units.
pub(super) struct Ground<'a> {
    pub(super) answers: &'a [StoredAnswer],
    pub(super) token_labels: Vec<bool>,
    pub(super) inconsistent: Vec<bool>,
    /// Number of each answer's source, from 0.
    pub(super) source_of: Vec<usize>,
    pub(super) sources: usize,
    source_of_token: Vec<usize>,
    units: Vec<Vec<DisplayUnit>>,
    /// Answers of each generator.
    pub(super) generators: BTreeMap<String, Vec<usize>>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(store: &'a FeatureStore) -> Self {
        let answers = store.answers();
        let mut numbers = BTreeMap::new();
        let source_of: Vec<usize> = answers
            .iter()
            .map(|answer| {
                let next = numbers.len();
                *numbers.entry(answer.labelled.source.as_str()).or_insert(next)
            })
            .collect();
        let mut generators: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, answer) in answers.iter().enumerate() {
            if let Some(generator) = &answer.labelled.generator {
                generators.entry(generator.clone()).or_default().push(number);
            }
        }
        let with_length = answers.iter().zip(&source_of);
        Self {
            source_of_token: with_length
                .flat_map(|(answer, &source)| std::iter::repeat_n(source, answer.token_ranges.len()))
                .collect(),
            token_labels: all_token_labels(store),
            inconsistent: answers.iter().map(|answer| answer.labelled.inconsistent).collect(),
            sources: numbers.len(),
            units: answers
                .par_iter()
                .map(|answer| display_units(&answer.labelled.answer, &answer.token_ranges))
                .collect(),
            source_of,
            generators,
            answers,
        }
    }

    /// Smooths every answer on its own.
    pub(super) fn smoothed(&self, scores: &[f64], stay: f64) -> Vec<f64> {
        self.answers.iter().flat_map(|answer| smooth(&scores[answer.tokens()], stay)).collect()
    }

    /// Number of each token's source.
    pub(super) fn source_of_token(&self) -> &[usize] {
        &self.source_of_token
    }

    /// The highest score of each answer.
    pub(super) fn highest(&self, scores: &[f64]) -> Vec<f64> {
        let highest = |answer: &StoredAnswer| scores[answer.tokens()].iter().copied().fold(0.0, f64::max);
        self.answers.iter().map(highest).collect()
    }
}

/// Average precision and AUROC with intervals from the same resamples of sources.
pub(super) fn estimate(
    labels: &[bool],
    scores: &[f64],
    source_of: &[usize],
    settings: &EvaluationSettings,
) -> RankingEstimate {
    let sample = RankingSample::new(labels, scores, source_of);
    let [average_precision, auroc] =
        bootstrap_intervals(sample.groups(), settings.resamples, settings.seed, |resample| {
            let measures = sample.measures_weighted(&resample.counts);
            [measures.average_precision, measures.auroc]
        });
    RankingEstimate { average_precision, auroc }
}

/// All figures of one method. `scores`: raw, one per token; `answer_scores`: raw answer scores where
/// they are not the highest token score.
pub(super) fn method_row(
    name: &str,
    ground: &Ground<'_>,
    folds: &Folds,
    scores: &[f64],
    answer_scores: Option<Vec<f64>>,
    settings: &EvaluationSettings,
) -> MethodRow {
    let smoothed = ground.smoothed(scores, settings.rho);
    let answers_raw = answer_scores.unwrap_or_else(|| ground.highest(scores));
    let answers_smoothed = ground.highest(&ground.smoothed(scores, settings.rho_answer));
    let tokens = |scores: &[f64]| estimate(&ground.token_labels, scores, &ground.source_of_token, settings);
    let answers = |scores: &[f64]| estimate(&ground.inconsistent, scores, &ground.source_of, settings);
    let by_generator = ground
        .generators
        .iter()
        .map(|(generator, members)| {
            let pick = |values: &[f64]| -> Vec<f64> {
                members.iter().flat_map(|&m| &values[ground.answers[m].tokens()]).copied().collect()
            };
            let labels: Vec<bool> = members
                .iter()
                .flat_map(|&m| &ground.token_labels[ground.answers[m].tokens()])
                .copied()
                .collect();
            let inconsistent: Vec<bool> = members.iter().map(|&m| ground.inconsistent[m]).collect();
            let highest: Vec<f64> = members.iter().map(|&m| answers_smoothed[m]).collect();
            let figures = GeneratorFigures {
                answers: members.len(),
                tokens: ranking(&labels, &pick(&smoothed)),
                answer_level: ranking(&inconsistent, &highest),
            };
            (generator.clone(), figures)
        })
        .collect();
    MethodRow {
        name: name.to_owned(),
        tokens_raw: tokens(scores),
        tokens_smoothed: tokens(&smoothed),
        answers_raw: answers(&answers_raw),
        answers_smoothed: answers(&answers_smoothed),
        calibration_error_raw: expected_calibration_error(&ground.token_labels, scores),
        calibration_error_smoothed: expected_calibration_error(&ground.token_labels, &smoothed),
        spans: span_figures(ground, folds, &smoothed),
        by_generator,
    }
}

/// Candidate thresholds, even in log-odds from -6 to 9, so that they do not depend on any data.
fn candidates() -> Vec<f64> {
    (-24..=36).map(|step| 1.0 / (1.0 + (-f64::from(step) / 4.0).exp())).collect()
}

/// Overlap of every answer at every candidate threshold, [answers][candidates].
fn overlaps(ground: &Ground<'_>, smoothed: &[f64], thresholds: &[f64]) -> Vec<Vec<SpanOverlap>> {
    ground
        .answers
        .par_iter()
        .zip(&ground.units)
        .map(|(answer, units)| {
            let scores = unit_scores(units, &smoothed[answer.tokens()]);
            let text = &answer.labelled.answer;
            let at = |&threshold: &f64| {
                let spans = spans_of_units(text, units, &scores, threshold);
                let predicted: Vec<Range<usize>> = spans.into_iter().map(|span| span.range).collect();
                let mut overlap = SpanOverlap::default();
                overlap.add(text, &predicted, &answer.labelled.gold_spans);
                overlap
            };
            thresholds.iter().map(at).collect()
        })
        .collect()
}

/// Number of the candidate with the highest pooled F1 over the chosen answers; the highest threshold
/// wins a tie, and 1/2 when there is no F1 at all.
fn best_candidate(thresholds: &[f64], answers: &[&Vec<SpanOverlap>]) -> usize {
    let mut best = (thresholds.partition_point(|&threshold| threshold < 0.5), -1.0);
    for number in 0..thresholds.len() {
        let mut pooled = SpanOverlap::default();
        for overlaps in answers {
            pooled.merge(overlaps[number]);
        }
        match pooled.f1().value() {
            Some(f1) if f1 >= best.1 && f1 > 0.0 => best = (number, f1),
            _ => {}
        }
    }
    best.0
}

/// Flags each fold at the threshold that is best on the out-of-fold scores of the other folds: scores of
/// training answers by the model trained on them would be far too confident.
fn span_figures(ground: &Ground<'_>, folds: &Folds, smoothed: &[f64]) -> SpanFigures {
    let candidates = candidates();
    let overlaps = overlaps(ground, smoothed, &candidates);
    let mut pooled = SpanOverlap::default();
    let mut thresholds = Vec::with_capacity(folds.count);
    for fold in 0..folds.count {
        let with_fold = overlaps.iter().zip(&folds.of_answer);
        let others = with_fold.clone().filter(|&(_, &own)| own != fold).map(|(overlaps, _)| overlaps);
        let number = best_candidate(&candidates, &others.collect::<Vec<_>>());
        thresholds.push(candidates[number]);
        for (overlaps, _) in with_fold.filter(|&(_, &own)| own == fold) {
            pooled.merge(overlaps[number]);
        }
    }
    SpanFigures {
        overlap: pooled,
        precision: pooled.precision(),
        recall: pooled.recall(),
        f1: pooled.f1(),
        thresholds,
    }
}

/// The threshold with the highest pooled span F1 over all answers, for a head that is shipped.
pub(super) fn best_threshold(ground: &Ground<'_>, scores: &[f64], rho: f64) -> f64 {
    let candidates = candidates();
    let overlaps = overlaps(ground, &ground.smoothed(scores, rho), &candidates);
    candidates[best_candidate(&candidates, &overlaps.iter().collect::<Vec<_>>())]
}
