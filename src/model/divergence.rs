//! Two next-token distributions compared, without holding either: the output head is multiplied tile by tile with
//! the states of both readings.

use rayon::prelude::*;

use super::product::{Matrix, product};
use super::{Decoder, DecoderError, lanes};

/// Vocabulary entries of one product.
const TILE: usize = 2048;
/// Rows of one product.
const ROWS: usize = 512;

/// Sums over tiles with the largest logit so far taken out.
#[derive(Clone, Copy)]
struct Running {
    largest: [f32; 2],
    total: [f64; 2],
    /// Sum of e^(a - largest a) (a - b).
    weighted: f64,
}

impl Running {
    const START: Self = Self { largest: [f32::NEG_INFINITY; 2], total: [0.0; 2], weighted: 0.0 };

    fn add(&mut self, with: &[f32], without: &[f32]) {
        for (side, tile) in [with, without].into_iter().enumerate() {
            let largest = lanes::maximum(tile).max(self.largest[side]);
            if self.total[side] > 0.0 {
                let factor = (f64::from(self.largest[side]) - f64::from(largest)).exp();
                self.total[side] *= factor;
                if side == 0 {
                    self.weighted *= factor;
                }
            }
            self.largest[side] = largest;
        }
        let [first, second] = self.largest;
        for (a, b) in with.iter().zip(without) {
            let weight = f64::from(lanes::exp(a - first));
            self.total[0] += weight;
            self.weighted += weight * (f64::from(*a) - f64::from(*b));
            self.total[1] += f64::from(lanes::exp(b - second));
        }
    }

    /// `sum p (ln p - ln q) = E_p[a - b] - lse(a) + lse(b)`.
    fn divergence(&self) -> f64 {
        let log_sum = |side: usize| f64::from(self.largest[side]) + self.total[side].ln();
        self.weighted / self.total[0] - log_sum(0) + log_sum(1)
    }
}

impl Decoder {
    /// Kullback-Leibler divergence, in nats, of the next-token distributions that two readings of the same tokens
    /// give: KL(with || without) for each row, `[R]`.
    ///
    /// `with`, `without`: states after the final norm, [R, d] each. Costs two products with the output head; holds
    /// two tiles of logits.
    ///
    /// # Errors
    /// States of another shape, or logits that are not finite.
    pub fn divergence(&self, with: &[f32], without: &[f32]) -> Result<Vec<f32>, DecoderError> {
        let width = self.config().hidden_size;
        let rows = with.len() / width;
        if with.len() != rows * width || without.len() != with.len() {
            return Err(DecoderError::States {
                expected: with.len(),
                found: without.len(),
                hidden_size: width,
            });
        }
        if let Some(device) = &self.device {
            return device.divergence(with, without, rows);
        }
        let head = self.output_head();
        let (with, without) =
            (Matrix::new(with.to_vec(), rows, width), Matrix::new(without.to_vec(), rows, width));
        let mut running = vec![Running::START; rows];
        for first in (0..rows).step_by(ROWS) {
            let count = ROWS.min(rows - first);
            for start in (0..head.rows()).step_by(TILE) {
                let tile = TILE.min(head.rows() - start);
                let columns = || head.view_rows(start, tile).transposed();
                let one = product(with.view_rows(first, count), columns())?;
                let other = product(without.view_rows(first, count), columns())?;
                running[first..][..count]
                    .par_iter_mut()
                    .zip(one.par_chunks(tile))
                    .zip(other.par_chunks(tile))
                    .for_each(|((running, one), other)| running.add(one, other));
            }
        }
        let divergence: Vec<f64> = running.iter().map(Running::divergence).collect();
        if !divergence.iter().all(|value| value.is_finite()) {
            return Err(DecoderError::NotFinite { place: "the output head".to_owned() });
        }
        // Rounding may fall a hair below what is never negative.
        Ok(divergence.into_iter().map(|value| value.max(0.0) as f32).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::decoder_tests::{GOLDEN, folder, golden_ids};
    use crate::model::{CaptureRequest, Decoder, StateLayer};

    #[test]
    fn the_divergence_is_that_of_the_logits_in_every_architecture() {
        for name in GOLDEN {
            let decoder = Decoder::from_directory(&folder(name)).unwrap();
            let ids = golden_ids(name);
            let request = CaptureRequest {
                states: vec![StateLayer::FinalNorm],
                logits: true,
                ..CaptureRequest::default()
            };
            let read = |before: &[u32]| {
                decoder.extend(&decoder.prefix(before).unwrap(), &ids[20..], &request).unwrap()
            };
            let (with, without) = (read(&ids[..20]), read(&ids[..3]));
            let got = decoder.divergence(&with.states[0], &without.states[0]).unwrap();
            let log_softmax = |row: &[f32]| -> Vec<f64> {
                let total: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
                row.iter().map(|x| f64::from(*x) - total.ln()).collect()
            };
            let (one, other) = (with.logits.unwrap(), without.logits.unwrap());
            for (row, got) in got.iter().enumerate() {
                let (p, q) = (log_softmax(&one[row * 96..][..96]), log_softmax(&other[row * 96..][..96]));
                let want: f64 = p.iter().zip(&q).map(|(p, q)| p.exp() * (p - q)).sum();
                assert!(
                    (f64::from(*got) - want).abs() < 1e-4 * (1.0 + want),
                    "{name}, row {row}: {got} {want}"
                );
            }
            assert!(
                decoder.divergence(&with.states[0], &with.states[0]).unwrap().iter().all(|kl| *kl < 1e-5)
            );
            assert!(decoder.divergence(&with.states[0], &without.states[0][32..]).is_err());
        }
    }
}
