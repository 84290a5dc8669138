//! What the highlighting really misses on sources it was not calibrated on.

use serde::{Deserialize, Serialize};

use super::answers::{AnswerLoss, Population, Sources, allowed_sum, largest_threshold, source_loss};
use crate::metrics::{Measure, Random};

/// Realised risk over random halves by source: calibrated on one half, measured on the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// Halves drawn.
    pub halves: usize,
    /// Sources in a calibration half.
    pub calibration_sources: usize,
    /// Mean over halves of the missed share, averaged over the sources of the other half.
    pub missed: Measure,
    /// Standard deviation over halves / sqrt(halves): the error of drawing halves (Monte Carlo), not that
    /// of having only these sources.
    pub standard_error: Measure,
    /// The missed share averaged only over answers with unsupported tokens of the other half.
    pub missed_of_unsupported: Measure,
}

/// Draws `halves` random halves by source.
#[must_use]
pub fn held_out(
    answers: &[AnswerLoss],
    population: Population,
    beta: f64,
    halves: usize,
    seed: u64,
) -> HeldOut {
    let sources = Sources::of(answers, population);
    let n = sources.units.len();
    let calibration_sources = n / 2;
    let absent = |reason: &str| HeldOut {
        halves,
        calibration_sources,
        missed: Measure::undefined(reason),
        standard_error: Measure::undefined(reason),
        missed_of_unsupported: Measure::undefined(reason),
    };
    if n < 2 {
        return absent("fewer than two sources");
    }
    let allowed = allowed_sum(beta, calibration_sources);
    if allowed < 0.0 {
        return absent("infeasible for half the sources");
    }
    let jumps = sources.jumps();
    let (mut missed, mut of_unsupported) = (Vec::with_capacity(halves), Vec::with_capacity(halves));
    for half in 0..halves {
        let mut order: Vec<usize> = (0..n).collect();
        Random::for_task(seed, half as u64).shuffle(&mut order);
        let (calibration, test) = order.split_at(calibration_sources);
        let mut chosen = vec![false; n];
        for &source in calibration {
            chosen[source] = true;
        }
        let Some(threshold) = largest_threshold(&jumps, allowed, |source| chosen[source]) else { continue };
        let losses = test.iter().map(|&source| source_loss(&sources.units[source], threshold));
        missed.push(losses.sum::<f64>() / test.len() as f64);
        let shares: Vec<f64> = test
            .iter()
            .flat_map(|&source| &sources.units[source])
            .filter(|answer| !answer.is_clean())
            .map(|answer| answer.missed_share(threshold))
            .collect();
        if !shares.is_empty() {
            of_unsupported.push(shares.iter().sum::<f64>() / shares.len() as f64);
        }
    }
    let mean = |values: &[f64]| {
        Measure::ratio(values.iter().sum(), values.len() as f64, "no half could be measured")
    };
    let standard_error = match mean(&missed) {
        Measure::Value(centre) if missed.len() > 1 => {
            let squares: f64 = missed.iter().map(|value| (value - centre).powi(2)).sum();
            Measure::of((squares / (missed.len() - 1) as f64 / missed.len() as f64).sqrt())
        }
        _ => Measure::undefined("fewer than two halves"),
    };
    HeldOut {
        halves,
        calibration_sources,
        missed: mean(&missed),
        standard_error,
        missed_of_unsupported: mean(&of_unsupported),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::highlighting::HighlightingCurve;

    /// Sources differ in how hard they are, and answers to one source resemble each other.
    fn draw_source(random: &mut Random, name: usize) -> Vec<AnswerLoss> {
        let hardness = random.uniform();
        (0..=random.below(4))
            .map(|_| {
                let labels: Vec<bool> = (0..10).map(|_| random.uniform() < 0.3).collect();
                let scores: Vec<f64> = labels
                    .iter()
                    .map(|&label| {
                        let noise = random.uniform();
                        if label { (1.0 - hardness) * noise.sqrt() } else { 0.5 * noise }
                    })
                    .collect();
                AnswerLoss::new(name.to_string(), &scores, &labels).unwrap()
            })
            .collect()
    }

    #[test]
    fn the_risk_of_the_next_source_stays_below_beta_for_several_n_and_beta() {
        for (n, beta) in [(10, 0.1), (10, 0.3), (30, 0.05), (30, 0.2), (80, 0.1)] {
            for population in [Population::All, Population::Unsupported] {
                let mut random = Random::new(1000 + n as u64);
                let draws = 400;
                let mut losses = Vec::with_capacity(draws);
                for _ in 0..draws {
                    // n sources that the population admits: the promise is for a given n.
                    let mut calibration = Vec::new();
                    let mut name = 0;
                    while Sources::of(&calibration, population).units.len() < n {
                        calibration.extend(draw_source(&mut random, name));
                        name += 1;
                    }
                    let curve = HighlightingCurve::new(&calibration, population);
                    let threshold = curve.controlled(beta).unwrap().threshold;
                    let next = loop {
                        let next = draw_source(&mut random, name);
                        if !Sources::of(&next, population).units.is_empty() {
                            break next;
                        }
                    };
                    losses.push(source_loss(&Sources::of(&next, population).units[0], threshold));
                }
                let mean = losses.iter().sum::<f64>() / draws as f64;
                let variance = losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / draws as f64;
                let error = (variance / draws as f64).sqrt();
                assert!(mean <= beta + 3.0 * error, "n {n} beta {beta} {population:?}: {mean} +- {error}");
                assert!(mean >= beta - 2.0 / n as f64 - 4.0 * error, "trivially kept: {mean} for {beta}");
            }
        }
    }

    #[test]
    fn halves_keep_the_promise_and_are_the_same_for_the_same_seed() {
        let mut random = Random::new(5);
        let answers: Vec<AnswerLoss> = (0..120).flat_map(|name| draw_source(&mut random, name)).collect();
        let checked = held_out(&answers, Population::All, 0.2, 100, 42);
        assert_eq!(checked, held_out(&answers, Population::All, 0.2, 100, 42));
        assert_eq!(checked.calibration_sources, 60);
        let (missed, error) = (checked.missed.value().unwrap(), checked.standard_error.value().unwrap());
        assert!(missed <= 0.2 + 3.0 * error && missed > 0.12, "{missed} +- {error}");
        assert!(error > 0.0 && error < 0.02);
        assert!(checked.missed_of_unsupported.value().unwrap() >= missed - 1e-9);
    }

    #[test]
    fn too_few_sources_are_a_reason_not_a_number() {
        let mut random = Random::new(5);
        let answers: Vec<AnswerLoss> = (0..10).flat_map(|name| draw_source(&mut random, name)).collect();
        let checked = held_out(&answers, Population::All, 0.1, 100, 42);
        assert_eq!(checked.missed.reason(), Some("infeasible for half the sources"));
        let one = held_out(&answers[..1], Population::All, 0.9, 100, 42);
        assert_eq!(one.missed.reason(), Some("fewer than two sources"));
    }
}
