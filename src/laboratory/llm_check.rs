//! LLM-Check on hidden states: the mean log eigenvalue of an answer's Gram matrix, an answer-level score.

use rayon::prelude::*;

use crate::detect::{FeatureBlock, LogisticRegression, LogisticSettings, layer_name};
use crate::reading::StateLayer;

use super::ground::Grounds;
use super::lookback_measures::answer_row;
use super::protocol::Protocol;
use super::{EvaluationError, EvaluationSettings, FeaturePool, LoadedFeatures, LookbackRow};

/// Added to the diagonal, as the paper does, so that the logarithm exists.
const RIDGE: f64 = 1e-3;

/// The row of one layer: which way the score points is learnt on the training answers.
pub(super) fn hidden_row(
    pool: &FeaturePool<'_>,
    protocol: &Protocol,
    grounds: &Grounds,
    layer: StateLayer,
    settings: &EvaluationSettings,
) -> Result<LookbackRow, EvaluationError> {
    let loaded = LoadedFeatures::load(pool, &[FeatureBlock::State { layer }])?;
    let features = loaded.rows()?;
    let width = features.width();
    let scores: Vec<f32> = pool
        .answers()
        .par_iter()
        .map(|answer| {
            let rows: Vec<usize> = answer.tokens().collect();
            let mut states = vec![0.0; rows.len() * width];
            features.copy_rows(&rows, &mut states)?;
            Ok(mean_log_eigenvalue(&states, width) as f32)
        })
        .collect::<Result<_, EvaluationError>>()?;
    let mut probabilities = vec![0.0; grounds.in_pool.len()];
    for round in &protocol.rounds {
        let own: Vec<f32> = round.train.iter().map(|&answer| scores[answer]).collect();
        let labels: Vec<bool> =
            round.train.iter().map(|&answer| !pool.answers()[answer].labelled.inconsistent).collect();
        let model = LogisticRegression::fit(&own, 1, &labels, &LogisticSettings::default())?;
        for answer in &round.scored {
            if let Ok(place) = grounds.in_pool.binary_search(answer) {
                probabilities[place] = model.probability(&[scores[*answer]]);
            }
        }
    }
    let probabilities = grounds.answers_of_judged(&probabilities);
    Ok(answer_row(
        row_name(layer),
        &grounds.judged,
        &probabilities,
        vec![1.0; protocol.rounds.len()],
        settings,
    ))
}

/// Name in the table.
pub(super) fn row_name(layer: StateLayer) -> String {
    format!("LLM-Check, hidden, {}", layer_name(layer))
}

/// (1/m) log det(Z' J Z + ridge) of the m states of an answer, each centred over its own d values.
fn mean_log_eigenvalue(states: &[f32], width: usize) -> f64 {
    let tokens = states.len() / width.max(1);
    let centred: Vec<f64> = states
        .chunks_exact(width.max(1))
        .flat_map(|state| {
            let mean = state.iter().map(|value| f64::from(*value)).sum::<f64>() / width as f64;
            state.iter().map(move |value| f64::from(*value) - mean)
        })
        .collect();
    let row = |token: usize| &centred[token * width..][..width];
    // Cholesky, the lower triangle row by row; the ridge keeps every pivot positive.
    let mut factor = vec![0.0; tokens * tokens];
    let mut log_determinant = 0.0;
    for i in 0..tokens {
        for j in 0..=i {
            let mut value: f64 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
            if i == j {
                value += RIDGE;
            }
            let (before_i, before_j) = (&factor[i * tokens..][..j], &factor[j * tokens..][..j]);
            value -= before_i.iter().zip(before_j).map(|(a, b)| a * b).sum::<f64>();
            factor[i * tokens + j] = if i == j {
                let pivot = value.max(RIDGE * 1e-6).sqrt();
                log_determinant += 2.0 * pivot.ln();
                pivot
            } else {
                value / factor[j * tokens + j]
            };
        }
    }
    if tokens == 0 { 0.0 } else { log_determinant / tokens as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_log_eigenvalue_of_two_states_by_hand() {
        // Centred: (-1, 1) and (-2, 2); Gram [[2, 4], [4, 8]], with the ridge det = 2.001 * 8.001 - 16.
        let got = mean_log_eigenvalue(&[1.0, 3.0, 0.0, 4.0], 2);
        assert!((got - (2.001_f64 * 8.001 - 16.0).ln() / 2.0).abs() < 1e-9);
        assert_eq!(mean_log_eigenvalue(&[], 2), 0.0);
    }
}
