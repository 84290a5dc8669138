//! Token, answer and span figures of one method from its scores.

use std::ops::Range;

use rayon::prelude::*;

use crate::detect::{spans_of_units, unit_scores};
use crate::metrics::{RankingSample, SpanOverlap, bootstrap_intervals, expected_calibration_error, ranking};

use super::ground::{Ground, Grounds};
use super::smoothed::Smoothed;
use super::{EvaluationSettings, GeneratorFigures, MethodRow, RankingEstimate, SpanFigures};

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

/// All figures of one method on the judged answers. `scores`: raw, one per scored token, and `after` smoothing;
/// `answer_scores`: raw scores of the judged answers where they are not the highest token score.
pub(super) fn method_row(
    name: &str,
    grounds: &Grounds,
    scores: &[f64],
    after: &Smoothed,
    answer_scores: Option<Vec<f64>>,
    settings: &EvaluationSettings,
) -> MethodRow {
    let ground = &grounds.judged;
    let smoothed = grounds.of_judged(&after.tokens);
    let scores = &grounds.of_judged(scores);
    let answers_raw = answer_scores.unwrap_or_else(|| ground.highest(scores));
    let answers_smoothed = &after.answers;
    let tokens = |scores: &[f64]| estimate(&ground.token_labels, scores, ground.source_of_token(), settings);
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
        answers_smoothed: answers(answers_smoothed),
        calibration_error_raw: expected_calibration_error(&ground.token_labels, scores),
        calibration_error_smoothed: expected_calibration_error(&ground.token_labels, &smoothed),
        spans: span_figures(grounds, &after.tokens),
        by_generator,
    }
}

/// Candidate thresholds, even in log-odds from -6 to 9, so that they do not depend on any data.
fn candidates() -> Vec<f64> {
    (-24..=36).map(|step| 1.0 / (1.0 + (-f64::from(step) / 4.0).exp())).collect()
}

/// Overlap of every answer at every candidate threshold, [answers][candidates].
fn overlaps(ground: &Ground, smoothed: &[f64], thresholds: &[f64]) -> Vec<Vec<SpanOverlap>> {
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

/// Flags answers at the threshold that is best on the scores of those that the protocol chooses on, which are
/// scores of models that had not seen them: those of a model on its own training answers would be far too confident.
fn span_figures(grounds: &Grounds, smoothed: &[f64]) -> SpanFigures {
    let candidates = candidates();
    let overlaps = overlaps(&grounds.scored, smoothed, &candidates);
    let mut pooled = SpanOverlap::default();
    let mut thresholds = Vec::with_capacity(grounds.choices.len());
    for (chosen_on, applied_to) in &grounds.choices {
        let seen: Vec<&Vec<SpanOverlap>> = chosen_on.iter().map(|&answer| &overlaps[answer]).collect();
        let number = best_candidate(&candidates, &seen);
        thresholds.push(candidates[number]);
        for &answer in applied_to {
            pooled.merge(overlaps[answer][number]);
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
pub(super) fn best_threshold(ground: &Ground, scores: &[f64], rho: f64) -> f64 {
    let candidates = candidates();
    let overlaps = overlaps(ground, &ground.smoothed(scores, rho), &candidates);
    candidates[best_candidate(&candidates, &overlaps.iter().collect::<Vec<_>>())]
}
