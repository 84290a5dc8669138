//! A `TopK` sparse autoencoder over hidden states (`RAGLens`), and what its features say about a label.
//!
//! z = `TopK(ReLU`(W (x - b) + a)), x' = V z + b, trained on the mean squared error with Adam; the columns of V keep unit
//! length. The features with the most mutual information with the label, active or not, are what a detector reads.

use candle_core::{Device, Tensor};
use half::f16;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::metrics::Random;

use super::mlp::gather;
use super::{DetectError, FeatureRows, Standardisation};

/// How the autoencoder is built and trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SparseAutoencoderSettings {
    /// Features of the dictionary.
    pub dictionary: usize,
    /// Features that may be active for one token.
    pub active: usize,
    /// Passes over the training tokens.
    pub epochs: usize,
    /// Tokens per step.
    pub batch: usize,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// Of the initial weights and the order of tokens.
    pub seed: u64,
}

impl Default for SparseAutoencoderSettings {
    fn default() -> Self {
        Self { dictionary: 2048, active: 32, epochs: 2, batch: 2048, learning_rate: 1e-3, seed: 42 }
    }
}

/// A trained autoencoder, the part that encodes.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseAutoencoder {
    standardisation: Standardisation,
    /// W, [dictionary, d].
    encoder: Vec<f32>,
    /// a - W b, so that x needs no subtraction, `[dictionary]`.
    bias: Vec<f32>,
    width: usize,
    active: usize,
}

impl SparseAutoencoder {
    /// Trains on the chosen rows of `features`, [tokens, d].
    pub fn train(
        features: &FeatureRows<'_>,
        rows: &[usize],
        settings: &SparseAutoencoderSettings,
    ) -> Result<Self, DetectError> {
        let width = features.width();
        let standardisation = Standardisation::fit(features, rows)?;
        let mut random = Random::new(settings.seed);
        let mut weights = Weights::new(width, settings.dictionary, &mut random);
        let mut order = rows.to_vec();
        let mut step = 0;
        for _ in 0..settings.epochs {
            random.shuffle(&mut order);
            for batch in order.chunks(settings.batch.max(1)) {
                let x = gather(features, batch, Some(&standardisation))?;
                step += 1;
                weights.step(&x, batch.len(), settings, step)?;
            }
        }
        let bias = weights
            .encoder
            .values
            .chunks_exact(width.max(1))
            .zip(&weights.encoder_bias.values)
            .map(|(row, a)| a - row.iter().zip(&weights.centre.values).map(|(w, b)| w * b).sum::<f32>())
            .collect();
        Ok(Self { standardisation, encoder: weights.encoder.values, bias, width, active: settings.active })
    }

    /// Features of the dictionary.
    #[must_use]
    pub const fn dictionary(&self) -> usize {
        self.bias.len()
    }

    /// The chosen dictionary features of the chosen rows, [rows, chosen], in half precision: 1,000 features of 130,000
    /// tokens take 260 MB.
    pub fn encode(
        &self,
        features: &FeatureRows<'_>,
        rows: &[usize],
        chosen: &[usize],
    ) -> Result<Vec<f16>, DetectError> {
        let mut out = Vec::with_capacity(rows.len() * chosen.len());
        self.for_each_batch(features, rows, |codes| {
            for code in codes.chunks_exact(self.dictionary().max(1)) {
                out.extend(chosen.iter().map(|&feature| f16::from_f32(code[feature].min(f16::MAX.to_f32()))));
            }
        })?;
        Ok(out)
    }

    /// Mutual information, in nats, of "the feature is active" with the label over the chosen rows, `[dictionary]`.
    pub fn mutual_information(
        &self,
        features: &FeatureRows<'_>,
        labels: &[bool],
        rows: &[usize],
    ) -> Result<Vec<f64>, DetectError> {
        // [dictionary] times (active with label, active without).
        let mut counts = vec![[0_u64; 2]; self.dictionary()];
        let mut place = 0;
        self.for_each_batch(features, rows, |codes| {
            for code in codes.chunks_exact(self.dictionary().max(1)) {
                let column = usize::from(!labels[rows[place]]);
                place += 1;
                for (count, value) in counts.iter_mut().zip(code) {
                    count[column] += u64::from(*value > 0.0);
                }
            }
        })?;
        let positives = rows.iter().filter(|&&row| labels[row]).count() as u64;
        let negatives = rows.len() as u64 - positives;
        Ok(counts.into_iter().map(|active| mutual_information(active, [positives, negatives])).collect())
    }

    fn for_each_batch(
        &self,
        features: &FeatureRows<'_>,
        rows: &[usize],
        mut take: impl FnMut(&[f32]),
    ) -> Result<(), DetectError> {
        if features.width() != self.width {
            let (expected, found) = (self.width, features.width());
            return Err(DetectError::Mismatch { what: "features per token", expected, found });
        }
        let encoder =
            Tensor::from_slice(&self.encoder, (self.dictionary(), self.width), &Device::Cpu)?.t()?;
        for rows in rows.chunks(2048) {
            let x = gather(features, rows, Some(&self.standardisation))?;
            let x = Tensor::from_vec(x, (rows.len(), self.width), &Device::Cpu)?;
            let mut codes = x.matmul(&encoder)?.flatten_all()?.to_vec1::<f32>()?;
            keep_largest(&mut codes, &self.bias, self.active);
            take(&codes);
        }
        Ok(())
    }
}

/// Mutual information in nats of two binary variables: `active[label]` of `all[label]`.
fn mutual_information(active: [u64; 2], all: [u64; 2]) -> f64 {
    let total = (all[0] + all[1]) as f64;
    let term = |joint: u64, one: u64, other: u64| {
        if joint == 0 {
            0.0
        } else {
            joint as f64 / total * (joint as f64 * total / (one as f64 * other as f64)).ln()
        }
    };
    let on = active[0] + active[1];
    let off = all[0] + all[1] - on;
    let sum: f64 = (0..2)
        .map(|label| term(active[label], on, all[label]) + term(all[label] - active[label], off, all[label]))
        .sum();
    sum.max(0.0)
}

/// Adds the bias and keeps the `active` largest positive values of each row, the rest 0.
fn keep_largest(codes: &mut [f32], bias: &[f32], active: usize) {
    codes.par_chunks_mut(bias.len().max(1)).for_each(|row| {
        for (value, bias) in row.iter_mut().zip(bias) {
            *value = (*value + bias).max(0.0);
        }
        if active < row.len() {
            let mut order: Vec<f32> = row.to_vec();
            let (_, smallest, _) = order.select_nth_unstable_by(active, |a, b| b.total_cmp(a));
            let smallest = *smallest;
            row.iter_mut().filter(|value| **value <= smallest).for_each(|value| *value = 0.0);
        }
    });
}

/// A parameter with Adam's moments.
struct Parameter {
    values: Vec<f32>,
    mean: Vec<f32>,
    square: Vec<f32>,
}

impl Parameter {
    fn new(values: Vec<f32>) -> Self {
        let zeros = vec![0.0; values.len()];
        Self { values, mean: zeros.clone(), square: zeros }
    }

    fn step(&mut self, gradient: &[f32], rate: f64, step: i32) {
        const DECAY: [f64; 2] = [0.9, 0.999];
        let correction = DECAY.map(|decay| 1.0 - decay.powi(step));
        let (first, second) = (DECAY[0] as f32, DECAY[1] as f32);
        let scale = (rate / correction[0]) as f32;
        let square_scale = (1.0 / correction[1]) as f32;
        self.values
            .par_iter_mut()
            .zip(&mut self.mean)
            .zip(&mut self.square)
            .zip(gradient)
            .with_min_len(4096)
            .for_each(|(((value, mean), square), gradient)| {
                *mean = first * *mean + (1.0 - first) * gradient;
                *square = second * *square + (1.0 - second) * gradient * gradient;
                *value -= scale * *mean / ((*square * square_scale).sqrt() + 1e-8);
            });
    }
}

struct Weights {
    width: usize,
    /// W, [dictionary, d].
    encoder: Parameter,
    encoder_bias: Parameter,
    /// V', [dictionary, d], rows of unit length.
    decoder: Parameter,
    /// b
    centre: Parameter,
}

impl Weights {
    fn new(width: usize, dictionary: usize, random: &mut Random) -> Self {
        let mut decoder: Vec<f32> =
            (0..dictionary * width).map(|_| (2.0 * random.uniform() - 1.0) as f32).collect();
        to_unit_rows(&mut decoder, width);
        Self {
            width,
            encoder: Parameter::new(decoder.clone()),
            encoder_bias: Parameter::new(vec![0.0; dictionary]),
            decoder: Parameter::new(decoder),
            centre: Parameter::new(vec![0.0; width]),
        }
    }

    fn step(
        &mut self,
        x: &[f32],
        rows: usize,
        settings: &SparseAutoencoderSettings,
        step: i32,
    ) -> Result<(), DetectError> {
        let (width, dictionary) = (self.width, self.encoder_bias.values.len());
        let matrix = |values: Vec<f32>, rows: usize, columns: usize| {
            Tensor::from_vec(values, (rows, columns), &Device::Cpu)
        };
        let centred: Vec<f32> = x
            .chunks_exact(width)
            .flat_map(|row| row.iter().zip(&self.centre.values).map(|(x, b)| x - b))
            .collect();
        let centred = matrix(centred, rows, width)?;
        let encoder = Tensor::from_slice(&self.encoder.values, (dictionary, width), &Device::Cpu)?;
        let decoder = Tensor::from_slice(&self.decoder.values, (dictionary, width), &Device::Cpu)?;
        let mut codes = centred.matmul(&encoder.t()?)?.flatten_all()?.to_vec1::<f32>()?;
        keep_largest(&mut codes, &self.encoder_bias.values, settings.active);
        let code_matrix = matrix(codes.clone(), rows, dictionary)?;
        // The error of the reconstruction is also the gradient of half the mean squared error.
        let mut error = code_matrix.matmul(&decoder)?.flatten_all()?.to_vec1::<f32>()?;
        let target = centred.flatten_all()?.to_vec1::<f32>()?;
        let scale = 1.0 / rows as f32;
        error.iter_mut().zip(&target).for_each(|(error, x)| *error = (*error - x) * scale);
        let error = matrix(error, rows, width)?;
        let decoder_gradient = code_matrix.t()?.matmul(&error)?.flatten_all()?.to_vec1::<f32>()?;
        let mut upstream = error.matmul(&decoder.t()?)?.flatten_all()?.to_vec1::<f32>()?;
        upstream.par_iter_mut().zip(&codes).with_min_len(4096).for_each(|(gradient, code)| {
            if *code <= 0.0 {
                *gradient = 0.0;
            }
        });
        let mut bias_gradient = vec![0.0; dictionary];
        for row in upstream.chunks_exact(dictionary) {
            bias_gradient.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        let upstream = matrix(upstream, rows, dictionary)?;
        let encoder_gradient = upstream.t()?.matmul(&centred)?.flatten_all()?.to_vec1::<f32>()?;
        // b enters the reconstruction directly and every code through the encoder.
        let mut centre_gradient = vec![0.0; width];
        for row in error.flatten_all()?.to_vec1::<f32>()?.chunks_exact(width) {
            centre_gradient.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        for (row, bias) in self.encoder.values.chunks_exact(width).zip(&bias_gradient) {
            centre_gradient.iter_mut().zip(row).for_each(|(sum, weight)| *sum -= bias * weight);
        }
        let rate = settings.learning_rate;
        self.encoder.step(&encoder_gradient, rate, step);
        self.encoder_bias.step(&bias_gradient, rate, step);
        self.decoder.step(&decoder_gradient, rate, step);
        self.centre.step(&centre_gradient, rate, step);
        to_unit_rows(&mut self.decoder.values, width);
        Ok(())
    }
}

fn to_unit_rows(values: &mut [f32], width: usize) {
    values.par_chunks_mut(width.max(1)).for_each(|row| {
        let norm = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        if norm > 0.0 {
            for value in row {
                *value /= norm;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::BlockValues;

    /// Tokens that are sums of two of eight directions; the label is whether direction 3 is among them.
    fn planted() -> (Vec<f32>, Vec<bool>) {
        let mut random = Random::new(5);
        let mut directions: Vec<f32> = (0..8 * 16).map(|_| (2.0 * random.uniform() - 1.0) as f32).collect();
        to_unit_rows(&mut directions, 16);
        let mut values = Vec::new();
        let mut labels = Vec::new();
        for _ in 0..1500 {
            let (one, other) = (random.below(8), random.below(8));
            labels.push(one == 3 || other == 3);
            values.extend((0..16).map(|i| 3.0 * (directions[one * 16 + i] + directions[other * 16 + i])));
        }
        (values, labels)
    }

    fn settings() -> SparseAutoencoderSettings {
        SparseAutoencoderSettings {
            dictionary: 32,
            active: 3,
            epochs: 40,
            batch: 250,
            learning_rate: 5e-3,
            ..SparseAutoencoderSettings::default()
        }
    }

    #[test]
    fn some_feature_finds_the_planted_direction_and_training_is_deterministic() {
        let (values, labels) = planted();
        let features = FeatureRows::new(vec![(BlockValues::F32(&values), 16)]).unwrap();
        let rows: Vec<usize> = (0..1500).collect();
        let trained = SparseAutoencoder::train(&features, &rows, &settings()).unwrap();
        assert_eq!(trained, SparseAutoencoder::train(&features, &rows, &settings()).unwrap());
        let information = trained.mutual_information(&features, &labels, &rows).unwrap();
        let best = information.iter().copied().fold(0.0, f64::max);
        let share = labels.iter().filter(|&&label| label).count() as f64 / 1500.0;
        let entropy = -share * share.ln() - (1.0 - share) * (1.0 - share).ln();
        assert!(best > 0.5 * entropy, "{best} of {entropy}");
        let codes = trained.encode(&features, &rows[..10], &[0, 1, 2, 3]).unwrap();
        assert_eq!(codes.len(), 40);
    }

    #[test]
    fn mutual_information_by_hand() {
        assert!((mutual_information([10, 0], [10, 10]) - std::f64::consts::LN_2).abs() < 1e-12);
        assert_eq!(mutual_information([5, 5], [10, 10]), 0.0);
        assert_eq!(mutual_information([0, 0], [3, 9]), 0.0);
        let by_hand = 0.4 * (0.4 / (0.5 * 0.5_f64)).ln() * 2.0 + 0.1 * (0.1 / (0.5 * 0.5_f64)).ln() * 2.0;
        assert!((mutual_information([8, 2], [10, 10]) - by_hand).abs() < 1e-12);
    }

    #[test]
    fn only_the_largest_codes_stay() {
        let mut codes = vec![1.0, 5.0, -2.0, 3.0, 0.5, 0.0, 0.0, -1.0];
        keep_largest(&mut codes, &[0.0, 0.0, 0.0, 0.0], 2);
        assert_eq!(codes, [0.0, 5.0, 0.0, 3.0, 0.5, 0.0, 0.0, 0.0]);
    }
}
