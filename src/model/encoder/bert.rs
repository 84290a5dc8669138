//! The BERT encoder (Devlin et al. 2019): every word piece sees every other one of its text.
//!
//! Sequences of different length share the matrix products without padding: their rows lie one after another, and
//! attention alone keeps them apart.

use std::path::Path;

use half::{bf16, f16};
use rayon::prelude::*;
use safetensors::{Dtype, SafeTensors};

use super::EncoderError;
use super::files::BertConfig;
use crate::model::elementwise::{add, add_bias};
use crate::model::lanes;
use crate::model::product::{Matrix, project};

pub(super) struct Bert {
    config: BertConfig,
    words: Vec<f32>,
    /// Position embeddings with the embedding of segment 0 added: there is no second segment here.
    positions: Vec<f32>,
    norm: Norm,
    blocks: Vec<Block>,
}

struct Block {
    query_key_value: Linear,
    attended: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    output_norm: Norm,
}

struct Linear {
    weight: Matrix,
    bias: Vec<f32>,
}

impl Linear {
    fn apply(&self, rows: &Matrix) -> Result<Vec<f32>, EncoderError> {
        let mut out = project(rows.view(), &self.weight)?;
        add_bias(&mut out, &self.bias);
        Ok(out)
    }
}

struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl Norm {
    /// (x - mean) / sqrt(variance + epsilon) * weight + bias, row by row, in place.
    fn apply(&self, rows: &mut [f32]) {
        let width = self.weight.len();
        rows.par_chunks_mut(width).with_min_len(64).for_each(|row| {
            let mean = lanes::sum(row) / width as f32;
            for x in &mut *row {
                *x -= mean;
            }
            let variance = lanes::sum_of_squares(row) / width as f32;
            let scale = 1.0 / (variance + self.epsilon).sqrt();
            for ((x, weight), bias) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
                *x = *x * scale * weight + bias;
            }
        });
    }
}

impl Bert {
    pub(super) fn read(bytes: &[u8], path: &Path, config: &BertConfig) -> Result<Self, EncoderError> {
        let weights = Weights::open(bytes, path)?;
        let (d, inner) = (config.hidden_size, config.intermediate_size);
        let norm = |name: &str| -> Result<Norm, EncoderError> {
            Ok(Norm {
                weight: weights.values(&format!("{name}.weight"), &[d])?,
                bias: weights.values(&format!("{name}.bias"), &[d])?,
                epsilon: config.layer_norm_eps,
            })
        };
        let linear = |names: &[String], inputs: usize, outputs: usize| -> Result<Linear, EncoderError> {
            let (mut weight, mut bias) = (Vec::new(), Vec::new());
            for name in names {
                weight.extend(weights.values(&format!("{name}.weight"), &[outputs, inputs])?);
                bias.extend(weights.values(&format!("{name}.bias"), &[outputs])?);
            }
            Ok(Linear { weight: Matrix::new(weight, names.len() * outputs, inputs), bias })
        };
        let mut positions =
            weights.values("embeddings.position_embeddings.weight", &[config.max_position_embeddings, d])?;
        let segments = weights.first_rows("embeddings.token_type_embeddings.weight", d)?;
        for row in positions.chunks_exact_mut(d) {
            row.iter_mut().zip(&segments).for_each(|(position, segment)| *position += segment);
        }
        let blocks = (0..config.num_hidden_layers)
            .map(|number| {
                let at = |name: &str| format!("encoder.layer.{number}.{name}");
                let attention = ["query", "key", "value"].map(|name| at(&format!("attention.self.{name}")));
                Ok(Block {
                    query_key_value: linear(&attention, d, d)?,
                    attended: linear(&[at("attention.output.dense")], d, d)?,
                    attention_norm: norm(&at("attention.output.LayerNorm"))?,
                    up: linear(&[at("intermediate.dense")], d, inner)?,
                    down: linear(&[at("output.dense")], inner, d)?,
                    output_norm: norm(&at("output.LayerNorm"))?,
                })
            })
            .collect::<Result<Vec<Block>, EncoderError>>()?;
        Ok(Self {
            words: weights.values("embeddings.word_embeddings.weight", &[config.vocab_size, d])?,
            positions,
            norm: norm("embeddings.LayerNorm")?,
            blocks,
            config: config.clone(),
        })
    }

    pub(super) fn width(&self) -> usize {
        self.config.hidden_size
    }

    /// Final states of all sequences, their rows one after another: `[sum of lengths, d]`.
    pub(super) fn states(&self, sequences: &[&[u32]]) -> Result<Vec<f32>, EncoderError> {
        let mut states = self.embedded(sequences)?;
        let d = self.width();
        let rows = states.len() / d;
        if rows == 0 {
            return Ok(states);
        }
        let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.len()).collect();
        for block in &self.blocks {
            let input = Matrix::new(states, rows, d);
            let mixed = self.attend(&block.query_key_value.apply(&input)?, &lengths);
            let mut attended = block.attended.apply(&Matrix::new(mixed, rows, d))?;
            add(&mut attended, input.values());
            block.attention_norm.apply(&mut attended);
            let attended = Matrix::new(attended, rows, d);
            let mut inner = block.up.apply(&attended)?;
            inner.par_chunks_mut(4096).for_each(|values| values.iter_mut().for_each(|x| *x = gelu(*x)));
            let inner = Matrix::new(inner, rows, self.config.intermediate_size);
            states = block.down.apply(&inner)?;
            add(&mut states, attended.values());
            block.output_norm.apply(&mut states);
        }
        Ok(states)
    }

    fn embedded(&self, sequences: &[&[u32]]) -> Result<Vec<f32>, EncoderError> {
        let d = self.width();
        let mut states =
            Vec::with_capacity(sequences.iter().map(|sequence| sequence.len()).sum::<usize>() * d);
        for sequence in sequences {
            for (&id, position) in sequence.iter().zip(self.positions.chunks_exact(d)) {
                let from = id as usize * d;
                let word = self
                    .words
                    .get(from..from + d)
                    .ok_or(EncoderError::UnknownPiece { id, vocabulary: self.config.vocab_size })?;
                states.extend(word.iter().zip(position).map(|(word, position)| word + position));
            }
        }
        self.norm.apply(&mut states);
        Ok(states)
    }

    /// Softmax attention inside every sequence. `rows`: query, key and value side by side, `[rows, 3 d]`.
    fn attend(&self, rows: &[f32], lengths: &[usize]) -> Vec<f32> {
        let d = self.width();
        let head = d / self.config.num_attention_heads;
        let scale = 1.0 / (head as f32).sqrt();
        let mut out = vec![0f32; rows.len() / 3];
        let mut tasks = Vec::with_capacity(lengths.len());
        let (mut free, mut from) = (&mut out[..], 0);
        for &length in lengths {
            let (own, rest) = free.split_at_mut(length * d);
            tasks.push((own, &rows[from * 3 * d..(from + length) * 3 * d]));
            free = rest;
            from += length;
        }
        tasks.into_par_iter().for_each(|(out, rows)| {
            let mut weights = vec![0f32; rows.len() / (3 * d)];
            for first in (0..d).step_by(head) {
                let part = |row: &[f32], kind: usize| -> std::ops::Range<usize> {
                    debug_assert_eq!(row.len(), 3 * d);
                    kind * d + first..kind * d + first + head
                };
                for (query, out) in rows.chunks_exact(3 * d).zip(out.chunks_exact_mut(d)) {
                    let query_part = &query[part(query, 0)];
                    for (weight, row) in weights.iter_mut().zip(rows.chunks_exact(3 * d)) {
                        *weight = lanes::dot(query_part, &row[part(row, 1)]) * scale;
                    }
                    let highest = lanes::maximum(&weights);
                    let total = lanes::exp_in_place(&mut weights, highest);
                    let out = &mut out[first..first + head];
                    for (weight, row) in weights.iter().zip(rows.chunks_exact(3 * d)) {
                        let share = weight / total;
                        out.iter_mut().zip(&row[part(row, 2)]).for_each(|(out, value)| *out += share * value);
                    }
                }
            }
        });
        out
    }
}

/// x Phi(x), with the error function of Abramowitz and Stegun 7.1.26 (absolute error below 1.5e-7).
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let polynomial =
        t * (0.254_829_6 + t * (-0.284_496_72 + t * (1.421_413_8 + t * (-1.453_152_1 + t * 1.061_405_4))));
    let erf = 1.0 - polynomial * lanes::exp(-z * z);
    0.5 * x * (1.0 + erf.copysign(x))
}

/// The tensors of an encoder, with or without the prefix `bert.`.
struct Weights<'a> {
    file: SafeTensors<'a>,
    prefix: &'static str,
    path: &'a Path,
}

impl<'a> Weights<'a> {
    fn open(bytes: &'a [u8], path: &'a Path) -> Result<Self, EncoderError> {
        let broken = |reason: String| EncoderError::Broken { path: path.to_owned(), reason };
        let file = SafeTensors::deserialize(bytes)
            .map_err(|error| broken(format!("not a readable safetensors file: {error}")))?;
        let prefix = if file.tensor("bert.embeddings.word_embeddings.weight").is_ok() { "bert." } else { "" };
        Ok(Self { file, prefix, path })
    }

    fn broken(&self, reason: String) -> EncoderError {
        EncoderError::Broken { path: self.path.to_owned(), reason }
    }

    fn tensor(&self, name: &str) -> Result<(Vec<f32>, Vec<usize>), EncoderError> {
        let name = format!("{}{name}", self.prefix);
        let tensor =
            self.file.tensor(&name).map_err(|error| self.broken(format!("tensor {name}: {error}")))?;
        let bytes = tensor.data();
        let values: Vec<f32> = match tensor.dtype() {
            Dtype::F32 => {
                bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
            }
            Dtype::F16 => bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
            Dtype::BF16 => {
                bytes.chunks_exact(2).map(|b| bf16::from_le_bytes([b[0], b[1]]).to_f32()).collect()
            }
            other => {
                return Err(self.broken(format!("tensor {name}: expected F32, F16 or BF16, found {other}")));
            }
        };
        if !lanes::all_finite(&values) {
            return Err(self.broken(format!("tensor {name} holds values that are not finite")));
        }
        Ok((values, tensor.shape().to_vec()))
    }

    fn values(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EncoderError> {
        let (values, found) = self.tensor(name)?;
        if found != shape {
            return Err(self.broken(format!(
                "tensor {name}: expected the shape {shape:?} of config.json, found {found:?}"
            )));
        }
        Ok(values)
    }

    /// The first row of a table whose number of rows does not matter.
    fn first_rows(&self, name: &str, width: usize) -> Result<Vec<f32>, EncoderError> {
        let (mut values, found) = self.tensor(name)?;
        if found.get(1) != Some(&width) || found[0] == 0 {
            return Err(
                self.broken(format!("tensor {name}: expected rows of {width} numbers, found {found:?}"))
            );
        }
        values.truncate(width);
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gelu_is_the_one_with_the_error_function() {
        for x in [-30.0f32, -6.0, -3.0, -1.0, -0.1, 0.0, 1e-4, 0.3, 1.0, 2.5, 6.0, 40.0] {
            let wide = f64::from(x);
            let exact = 0.5 * wide * (1.0 + statrs::function::erf::erf(wide / 2f64.sqrt()));
            assert!(
                (f64::from(gelu(x)) - exact).abs() < 1e-6 * (1.0 + wide.abs()),
                "{x}: {} {exact}",
                gelu(x)
            );
        }
    }
}
