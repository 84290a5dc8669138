//! One block at work: norm, projections and rotation before attention, and what follows it.

use rayon::prelude::*;

use super::attention::{self, AttentionInput, AttentionKernel, AttentionOutput, KeyValues, WeightRequest};
use super::elementwise::{add, add_bias, all_finite, gated, rms_norm, rms_norm_row};
use super::product::{Matrix, project};
use super::rope::RopeTable;
use super::weights::BlockWeights;
use super::{DecoderError, ModelConfig, attention_plain};

/// Rows that go through the feed-forward layer together; bounds its buffers for long prompts.
const FEED_FORWARD_ROWS: usize = 1024;

/// A block and what it needs of its decoder.
pub(crate) struct Block<'a> {
    /// From 0.
    pub index: usize,
    pub config: &'a ModelConfig,
    pub weights: &'a BlockWeights,
    pub kernel: AttentionKernel,
}

impl Block<'_> {
    fn not_finite(&self, what: &str) -> DecoderError {
        DecoderError::NotFinite { place: format!("block {}, {what},", self.index + 1) }
    }

    /// Norm, packed projection and rotation: queries [`kv_heads`, rows, group, D], scaled, and the keys and
    /// values of the rows.
    pub(crate) fn queries_keys_values(
        &self,
        hidden: &[f32],
        rope: &RopeTable,
    ) -> Result<(Matrix, KeyValues), DecoderError> {
        let ModelConfig { hidden_size, kv_heads, head_dim, norm_eps, .. } = *self.config;
        let rows = hidden.len() / hidden_size;
        let group = self.config.group();
        let normed = rms_norm(hidden, &self.weights.attention_norm, norm_eps);
        let normed = Matrix::new(normed, rows, hidden_size);
        let mut packed = project(normed.view(), &self.weights.query_key_value)?;
        if let Some(bias) = &self.weights.query_key_value_bias {
            add_bias(&mut packed, bias);
        }
        if !all_finite(&packed) {
            return Err(self.not_finite("queries, keys and values"));
        }
        let width = self.weights.query_key_value.rows();
        let key_start = self.config.heads * head_dim;
        let value_start = key_start + kv_heads * head_dim;
        let scale = 1.0 / self.config.query_scalar.sqrt();
        let (query_norm, key_norm) = self.weights.head_norms.as_ref().map(|(q, k)| (&**q, &**k)).unzip();
        let mut queries = vec![0f32; rows * key_start];
        let mut keys = vec![0f32; rows * kv_heads * head_dim];
        let mut values = vec![0f32; rows * kv_heads * head_dim];
        let heads = queries.par_chunks_mut(rows * group * head_dim);
        let heads =
            heads.zip(keys.par_chunks_mut(rows * head_dim)).zip(values.par_chunks_mut(rows * head_dim));
        heads.enumerate().for_each(|(kv_head, ((queries, keys), values))| {
            let mut normed = vec![0f32; head_dim];
            let mut turn = |row: usize, head: &[f32], norm: Option<&[f32]>, scale: f32, out: &mut [f32]| {
                if let Some(weight) = norm {
                    rms_norm_row(head, weight, norm_eps, &mut normed);
                    rope.rotate(row, &normed, scale, out);
                } else {
                    rope.rotate(row, head, scale, out);
                }
            };
            for (row, packed) in packed.chunks_exact(width).enumerate() {
                for member in 0..group {
                    let from = &packed[(kv_head * group + member) * head_dim..][..head_dim];
                    let to = &mut queries[(row * group + member) * head_dim..][..head_dim];
                    turn(row, from, query_norm, scale, to);
                }
                let to = row * head_dim..(row + 1) * head_dim;
                let from = kv_head * head_dim;
                turn(row, &packed[key_start + from..][..head_dim], key_norm, 1.0, &mut keys[to.clone()]);
                values[to].copy_from_slice(&packed[value_start + from..][..head_dim]);
            }
        });
        let key_values = KeyValues {
            keys: Matrix::new(keys, kv_heads * rows, head_dim),
            values: Matrix::new(values, kv_heads * rows, head_dim),
            tokens: rows,
        };
        Ok((Matrix::new(queries, self.config.heads * rows, head_dim), key_values))
    }

    /// Attention of the new tokens over those of the prefix and themselves, within the block's window.
    pub(crate) fn attend(
        &self,
        queries: &Matrix,
        prefix: &KeyValues,
        new: &KeyValues,
        request: &WeightRequest,
    ) -> Result<AttentionOutput, DecoderError> {
        let ModelConfig { heads, kv_heads, .. } = *self.config;
        let window = self.config.windows.get(self.index).copied().flatten();
        let input = AttentionInput { queries, prefix, new, heads, kv_heads, window };
        let output = match self.kernel {
            AttentionKernel::Fused => attention::fused(&input, request)?,
            AttentionKernel::Plain => Some(attention_plain::plain(&input, request)?),
        };
        output.ok_or_else(|| self.not_finite("attention weights"))
    }

    /// Output projection and feed-forward layer, both added to the residual stream.
    pub(crate) fn finish(&self, hidden: &mut [f32], context: Vec<f32>) -> Result<(), DecoderError> {
        let ModelConfig { hidden_size, intermediate_size, norm_eps, architecture, .. } = *self.config;
        let weights = self.weights;
        let after = |result: Vec<f32>, norm: &Option<Vec<f32>>| match norm {
            Some(weight) => rms_norm(&result, weight, norm_eps),
            None => result,
        };
        let rows = hidden.len() / hidden_size;
        let context = Matrix::new(context, rows, weights.attention_output.cols());
        let attended = project(context.view(), &weights.attention_output)?;
        add(hidden, &after(attended, &weights.attention_post_norm));
        for hidden in hidden.chunks_mut(FEED_FORWARD_ROWS * hidden_size) {
            let rows = hidden.len() / hidden_size;
            let normed = rms_norm(hidden, &weights.feed_forward_norm, norm_eps);
            let gate_up = project(Matrix::new(normed, rows, hidden_size).view(), &weights.gate_up)?;
            let gated = gated(&gate_up, intermediate_size, architecture.activation());
            let fed = project(Matrix::new(gated, rows, intermediate_size).view(), &weights.down)?;
            add(hidden, &after(fed, &weights.feed_forward_post_norm));
        }
        if !all_finite(hidden) {
            return Err(DecoderError::NotFinite {
                place: format!("the state after block {}", self.index + 1),
            });
        }
        Ok(())
    }
}
