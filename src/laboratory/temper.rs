//! Tempering: log-odds multiplied by a factor below 1 before smoothing, so that one confident token does not decide
//! for its neighbours.

use crate::metrics::average_precision;

use super::ground::Grounds;

/// Factors that are tried.
const FACTORS: [f64; 5] = [1.0, 0.7, 0.5, 0.35, 0.25];

/// Scores tempered by the factor with the highest smoothed average precision on the answers that the protocol chooses
/// on. Answers that are scored but not judged take the factor that was chosen on them.
pub(super) fn tempered(grounds: &Grounds, scores: &[f64], rho: f64) -> Vec<f64> {
    let ground = &grounds.scored;
    let candidates: Vec<Vec<f64>> =
        FACTORS.iter().map(|factor| scores.iter().map(|score| temper(*score, *factor)).collect()).collect();
    let smoothed: Vec<Vec<f64>> = candidates.iter().map(|scores| ground.smoothed(scores, rho)).collect();
    let tokens_of = |answers: &[usize]| -> Vec<usize> {
        answers.iter().flat_map(|&answer| ground.answers[answer].tokens()).collect()
    };
    let mut out = scores.to_vec();
    let mut done = vec![false; scores.len()];
    for (chosen_on, applied_to) in &grounds.choices {
        let seen = tokens_of(chosen_on);
        let labels: Vec<bool> = seen.iter().map(|&token| ground.token_labels[token]).collect();
        let mut best = (0, f64::NEG_INFINITY);
        for (number, smoothed) in smoothed.iter().enumerate() {
            let own: Vec<f64> = seen.iter().map(|&token| smoothed[token]).collect();
            let value = average_precision(&labels, &own).value().unwrap_or(f64::NEG_INFINITY);
            if value > best.1 {
                best = (number, value);
            }
        }
        for token in tokens_of(applied_to) {
            out[token] = candidates[best.0][token];
            done[token] = true;
        }
        for token in seen.into_iter().filter(|&token| !done[token]) {
            out[token] = candidates[best.0][token];
        }
    }
    out
}

fn temper(score: f64, factor: f64) -> f64 {
    let score = score.clamp(1e-6, 1.0 - 1e-6);
    1.0 / (1.0 + (-factor * (score / (1.0 - score)).ln()).exp())
}

#[cfg(test)]
mod tests {
    use super::temper;

    #[test]
    fn tempering_keeps_the_order_and_draws_towards_a_half() {
        assert!((temper(0.9, 1.0) - 0.9).abs() < 1e-12 && (temper(0.5, 0.3) - 0.5).abs() < 1e-12);
        assert!(temper(0.9, 0.5) < 0.9 && temper(0.9, 0.5) > temper(0.8, 0.5));
        assert!(temper(1.0, 0.5).is_finite() && temper(0.0, 0.5) > 0.0);
    }
}
