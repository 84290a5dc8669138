//! The false-alarm mode: Learn-then-Test (arXiv 2110.01052) on clean answers.

use serde::{Deserialize, Serialize};
use statrs::function::beta::beta_reg;

use super::answers::AnswerLoss;
use crate::metrics::Random;

/// Log-odds of the strictest and loosest threshold tested, and the step between two. Fixed before any
/// score is seen, as the test needs.
const STRICTEST: f64 = 16.0;
const STEP: f64 = 0.05;
const STEPS: u32 = 640;

/// The threshold for one gamma.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FalseAlarmRow {
    /// P(a clean answer gets any flag) <= gamma ...
    pub gamma: f64,
    /// ... with confidence 1 - delta over the calibration.
    pub delta: f64,
    /// Clean answers tested, one a source.
    pub answers: usize,
    /// The loosest threshold that passed; absent when none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Of the tested answers, those flagged at this threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flagged: Option<usize>,
    /// Why there is no threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One clean answer of every source that has some, drawn at random: answers to one source are not
/// independent, and the binomial test needs trials that are.
#[must_use]
pub fn clean_answers(answers: &[AnswerLoss], seed: u64) -> Vec<&AnswerLoss> {
    let mut by_source: std::collections::BTreeMap<&str, Vec<&AnswerLoss>> = std::collections::BTreeMap::new();
    for answer in answers.iter().filter(|answer| answer.is_clean() && answer.tokens() > 0) {
        by_source.entry(answer.source()).or_default().push(answer);
    }
    let mut random = Random::new(seed);
    by_source.into_values().filter_map(|clean| clean.get(random.below(clean.len())).copied()).collect()
}

/// P(Binomial(trials, probability) <= successes): the exact p-value of "the true rate exceeds
/// `probability`". 1 without trials.
#[must_use]
pub fn binomial_p_value(successes: usize, trials: usize, probability: f64) -> f64 {
    if successes >= trials || probability <= 0.0 {
        return 1.0;
    }
    if probability >= 1.0 {
        return 0.0;
    }
    // The distribution function of the binomial is a regularised incomplete beta function.
    beta_reg((trials - successes) as f64, successes as f64 + 1.0, 1.0 - probability)
}

/// Tests thresholds from strict to loose, each at level `delta`, and stops at the first that fails
/// (fixed-sequence testing, which needs no correction for the number of tests).
#[must_use]
pub fn false_alarm_threshold(clean: &[&AnswerLoss], gamma: f64, delta: f64) -> FalseAlarmRow {
    let n = clean.len();
    let flagged_at = |threshold: f64| clean.iter().filter(|answer| answer.flagged(threshold) > 0).count();
    let mut passed = None;
    for step in 0..=STEPS {
        let threshold = 1.0 / (1.0 + (STEP * f64::from(step) - STRICTEST).exp());
        let flagged = flagged_at(threshold);
        if binomial_p_value(flagged, n, gamma) > delta {
            break;
        }
        passed = Some((threshold, flagged));
    }
    let reason = match passed {
        Some(_) => None,
        None if binomial_p_value(0, n, gamma) > delta => Some(match least_answers(gamma, delta) {
            Some(least) => format!("{n} sources with a clean answer, at least {least} are needed"),
            None => "no number of answers can show that".to_owned(),
        }),
        None => Some("even the strictest threshold flags too many clean answers".to_owned()),
    };
    FalseAlarmRow {
        gamma,
        delta,
        answers: n,
        threshold: passed.map(|(threshold, _)| threshold),
        flagged: passed.map(|(_, flagged)| flagged),
        reason,
    }
}

/// The least n with (1 - gamma)^n <= delta.
fn least_answers(gamma: f64, delta: f64) -> Option<u64> {
    let least = (delta.ln() / (-gamma).ln_1p()).ceil();
    (gamma > 0.0 && gamma < 1.0 && least.is_finite()).then_some(least as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(random: &mut Random, n: usize) -> Vec<AnswerLoss> {
        (0..n)
            .map(|source| AnswerLoss::new(source.to_string(), &[random.uniform(), 0.0], &[false; 2]).unwrap())
            .collect()
    }

    #[test]
    fn the_p_value_is_the_binomial_sum() {
        for (n, p) in [(1_usize, 0.3), (7, 0.1), (20, 0.25)] {
            let (mut term, mut sum) = ((1.0_f64 - p).powi(n as i32), 0.0);
            for k in 0..n {
                sum += term;
                assert!((binomial_p_value(k, n, p) - sum).abs() < 1e-12, "{k} of {n} at {p}");
                term *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
            }
            assert_eq!(binomial_p_value(n, n, p), 1.0);
        }
        assert_eq!(binomial_p_value(0, 0, 0.1), 1.0);
    }

    /// The highest score is uniform, so the true false-alarm rate at lambda is 1 - lambda.
    #[test]
    fn the_true_false_alarm_rate_exceeds_gamma_in_at_most_a_share_delta_of_calibrations() {
        let mut random = Random::new(99);
        for (n, gamma, delta) in [(60, 0.1, 0.1), (100, 0.2, 0.05), (200, 0.05, 0.2)] {
            let calibrations = 300;
            let (mut wrong, mut found) = (0, 0);
            for _ in 0..calibrations {
                let answers = clean(&mut random, n);
                let row = false_alarm_threshold(&answers.iter().collect::<Vec<_>>(), gamma, delta);
                if let Some(threshold) = row.threshold {
                    found += 1;
                    wrong += u32::from(1.0 - threshold > gamma);
                }
            }
            let rate = f64::from(wrong) / f64::from(calibrations);
            let error = (delta * (1.0 - delta) / f64::from(calibrations)).sqrt();
            assert!(rate <= delta + 3.0 * error, "n {n} gamma {gamma} delta {delta}: {rate}");
            assert!(found > calibrations / 2, "the test finds thresholds: {found}");
        }
    }

    #[test]
    fn too_few_clean_answers_are_said_with_the_number_needed() {
        let mut random = Random::new(1);
        let answers = clean(&mut random, 21);
        let row = false_alarm_threshold(&answers.iter().collect::<Vec<_>>(), 0.1, 0.1);
        assert_eq!(row.threshold, None);
        assert_eq!(row.reason.unwrap(), "21 sources with a clean answer, at least 22 are needed");
        let always: Vec<AnswerLoss> =
            (0..50).map(|source| AnswerLoss::new(source.to_string(), &[1.0], &[false]).unwrap()).collect();
        let row = false_alarm_threshold(&always.iter().collect::<Vec<_>>(), 0.1, 0.1);
        assert!(row.reason.unwrap().contains("strictest"));
    }

    #[test]
    fn one_clean_answer_a_source_is_tested() {
        let answer = |source: &str, label| AnswerLoss::new(source, &[0.5], &[label]).unwrap();
        let answers = [answer("a", false), answer("a", false), answer("b", true), answer("c", false)];
        let chosen = clean_answers(&answers, 42);
        assert_eq!(chosen.iter().map(|one| one.source()).collect::<Vec<_>>(), ["a", "c"]);
    }
}
