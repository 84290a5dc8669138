//! The output head: log-probability and entropy of the next token, without ever holding rows x vocabulary.

use rayon::prelude::*;

use super::DecoderError;
use super::lanes;
use super::product::{Matrix, product};

/// Vocabulary entries of one product. The tile of logits of a few hundred rows stays in the cache, and each
/// weight is read once.
const TILE: usize = 2048;
/// Rows of one product.
const ROWS: usize = 1024;

/// What the head says about the tokens that were read.
pub(crate) struct NextToken {
    /// Natural log-probability of each target.
    pub log_prob: Vec<f32>,
    /// Entropy of each distribution, nats.
    pub entropy: Vec<f32>,
    /// [rows, vocabulary] where asked for.
    pub logits: Option<Vec<f32>>,
}

/// Log-sum-exp and entropy in one pass over tiles: largest logit m, Σ e^(x-m) and Σ e^(x-m)(x-m).
#[derive(Clone, Copy)]
struct Running {
    largest: f32,
    total: f64,
    weighted: f64,
    target: f32,
}

impl Running {
    const START: Self = Self { largest: f32::NEG_INFINITY, total: 0.0, weighted: 0.0, target: f32::NAN };

    fn add(&mut self, tile: &[f32]) {
        let largest = lanes::maximum(tile).max(self.largest);
        if self.total > 0.0 {
            let shift = f64::from(self.largest) - f64::from(largest);
            let factor = shift.exp();
            self.weighted = factor * (self.weighted + self.total * shift);
            self.total *= factor;
        }
        let (total, weighted) = lanes::exp_moments(tile, largest);
        self.largest = largest;
        self.total += total;
        self.weighted += weighted;
    }

    fn log_prob(&self) -> f32 {
        (f64::from(self.target) - f64::from(self.largest) - self.total.ln()).min(0.0) as f32
    }

    fn entropy(&self) -> f32 {
        (self.total.ln() - self.weighted / self.total).max(0.0) as f32
    }

    fn finite(&self) -> bool {
        self.largest.is_finite() && self.total.is_finite() && self.weighted.is_finite()
    }
}

/// Scores row r of `states` (after the final norm, [rows, d]) against `targets[r]`, for as many rows as there
/// are targets; with `keep_logits` all rows are multiplied and kept.
pub(crate) fn predict(
    states: &Matrix,
    head: &Matrix,
    targets: &[u32],
    keep_logits: bool,
) -> Result<NextToken, DecoderError> {
    let vocabulary = head.rows();
    let rows = if keep_logits { states.rows() } else { targets.len() };
    let mut logits = keep_logits.then(|| vec![0f32; rows * vocabulary]);
    let mut running = vec![Running::START; rows];
    for first in (0..rows).step_by(ROWS) {
        let count = ROWS.min(rows - first);
        for start in (0..vocabulary).step_by(TILE) {
            let width = TILE.min(vocabulary - start);
            let tile = product(states.view_rows(first, count), head.view_rows(start, width).transposed())?;
            let running = &mut running[first..][..count];
            running.par_iter_mut().zip(tile.par_chunks(width)).enumerate().for_each(|(r, (running, row))| {
                running.add(row);
                let target = targets.get(first + r).map(|id| (*id as usize).wrapping_sub(start));
                if let Some(logit) = target.and_then(|place| row.get(place)) {
                    running.target = *logit;
                }
            });
            if let Some(logits) = &mut logits {
                for (r, row) in tile.chunks(width).enumerate() {
                    logits[(first + r) * vocabulary + start..][..width].copy_from_slice(row);
                }
            }
        }
    }
    if !running.iter().all(Running::finite) {
        return Err(DecoderError::NotFinite { place: "the output head".to_owned() });
    }
    let scored = &running[..targets.len()];
    Ok(NextToken {
        log_prob: scored.iter().map(Running::log_prob).collect(),
        entropy: scored.iter().map(Running::entropy).collect(),
        logits,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_of_the_vocabulary_add_up_to_the_whole_softmax() {
        let vocabulary = 2 * TILE + 77;
        let head: Vec<f32> = (0..2 * vocabulary).map(|i| ((i * 7919 % 1013) as f32 - 500.0) / 90.0).collect();
        let states = Matrix::new(vec![1.0, 0.5, -0.3, 2.0, 0.0, 0.0], 3, 2);
        let targets = [5, (2 * TILE + 3) as u32, 9];
        let got = predict(&states, &Matrix::new(head, vocabulary, 2), &targets, true).unwrap();
        let logits = got.logits.unwrap();
        for (r, target) in targets.iter().enumerate() {
            let row = &logits[r * vocabulary..][..vocabulary];
            let total: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
            let log_prob = |x: f32| f64::from(x) - total.ln();
            let entropy: f64 = row.iter().map(|x| -log_prob(*x) * log_prob(*x).exp()).sum();
            assert!((f64::from(got.log_prob[r]) - log_prob(row[*target as usize])).abs() < 1e-5);
            assert!((f64::from(got.entropy[r]) - entropy).abs() < 1e-5, "{} {entropy}", got.entropy[r]);
        }
        assert!((f64::from(got.entropy[2]) - (vocabulary as f64).ln()).abs() < 1e-5, "uniform");
    }

    #[test]
    fn infinite_logits_are_an_error_not_a_number() {
        let states = Matrix::new(vec![f32::MAX, f32::MAX], 1, 2);
        let head = Matrix::new(vec![2.0, 2.0, 0.0, 1.0], 2, 2);
        assert!(matches!(predict(&states, &head, &[0], false), Err(DecoderError::NotFinite { .. })));
    }
}
