//! One block at work on a device.

use candle_core::{D, DType, Result, Tensor};

use super::memory::MemoryBudget;
use super::weights::DeviceBlock;
use super::{ModelConfig, product, rms_norm};
use crate::model::config::Activation;

/// A block and what it needs of its decoder.
pub(super) struct BlockAtWork<'a> {
    pub config: &'a ModelConfig,
    pub weights: &'a DeviceBlock,
    pub dtype: DType,
    pub memory: &'a MemoryBudget,
}

/// Cosines and sines, [rows, 1, D / 2] each, f32.
pub(super) type Rotation = (Tensor, Tensor);

impl BlockAtWork<'_> {
    /// Norm and packed projection of any rows: [rows, queries + keys + values], f32.
    pub(super) fn projected(&self, hidden: &Tensor) -> Result<Tensor> {
        let normed = rms_norm(hidden, &self.weights.attention_norm, self.config.norm_eps)?;
        let packed = self.project(&normed, &self.weights.query_key_value)?;
        match &self.weights.query_key_value_bias {
            Some(bias) => packed.broadcast_add(bias),
            None => Ok(packed),
        }
    }

    /// Packed rows of one sequence taken apart and rotated: queries [`kv_heads`, rows, group, D] in f32, scaled;
    /// keys and values [`kv_heads`, rows, D] in the decoder's type.
    pub(super) fn rotated_heads(&self, packed: &Tensor, rotation: &Rotation) -> Result<[Tensor; 3]> {
        let ModelConfig { heads, kv_heads, head_dim, norm_eps, query_scalar, .. } = *self.config;
        let (rows, group) = (packed.dim(0)?, heads / kv_heads);
        let part = |first: usize, heads: usize| {
            packed
                .narrow(1, first * head_dim, heads * head_dim)?
                .contiguous()?
                .reshape((rows, heads, head_dim))
        };
        let (mut queries, mut keys) = (part(0, heads)?, part(heads, kv_heads)?);
        if let Some((query_norm, key_norm)) = &self.weights.head_norms {
            queries = rms_norm(&queries, query_norm, norm_eps)?;
            keys = rms_norm(&keys, key_norm, norm_eps)?;
        }
        let queries = (rotated(&queries, rotation)? * (1.0 / f64::from(query_scalar.sqrt())))?
            .reshape((rows, kv_heads, group, head_dim))?
            .transpose(0, 1)?
            .contiguous()?;
        let by_head = |x: &Tensor| x.transpose(0, 1)?.contiguous()?.to_dtype(self.dtype);
        Ok([queries, by_head(&rotated(&keys, rotation)?)?, by_head(&part(heads + kv_heads, kv_heads)?)?])
    }

    /// Output projection and feed-forward layer, both added to the residual stream.
    pub(super) fn finish(&self, hidden: &Tensor, context: &Tensor) -> Result<Tensor> {
        let ModelConfig { intermediate_size, norm_eps, architecture, .. } = *self.config;
        let weights = self.weights;
        let after = |result: Tensor, norm: &Option<Tensor>| match norm {
            Some(weight) => rms_norm(&result, weight, norm_eps),
            None => Ok(result),
        };
        let attended =
            after(self.project(context, &weights.attention_output)?, &weights.attention_post_norm)?;
        let hidden = (hidden + attended)?;
        let rows = hidden.dim(0)?;
        let step = self.memory.rows(3 * intermediate_size);
        let mut pieces = Vec::new();
        for start in (0..rows).step_by(step) {
            let hidden = hidden.narrow(0, start, step.min(rows - start))?;
            let normed = rms_norm(&hidden, &weights.feed_forward_norm, norm_eps)?;
            let gate_up = self.project(&normed, &weights.gate_up)?;
            let gate = gate_up.narrow(1, 0, intermediate_size)?;
            let up = gate_up.narrow(1, intermediate_size, intermediate_size)?;
            let gate = match architecture.activation() {
                Activation::Silu => gate.contiguous()?.silu()?,
                Activation::GeluTanh => gate.contiguous()?.gelu()?,
            };
            let fed = self.project(&(gate * up)?, &weights.down)?;
            pieces.push((hidden + after(fed, &weights.feed_forward_post_norm)?)?);
        }
        Tensor::cat(&pieces, 0)
    }

    /// f32 rows through a projection in the decoder's type, and back to f32.
    fn project(&self, rows: &Tensor, weight: &Tensor) -> Result<Tensor> {
        product(&rows.to_dtype(self.dtype)?, &weight.t()?)?.to_dtype(DType::F32)
    }
}

/// Pairs (i, i + D/2) of every head turned by their angle.
fn rotated(heads: &Tensor, (cos, sin): &Rotation) -> Result<Tensor> {
    let half = heads.dim(D::Minus1)? / 2;
    let (x, y) = (heads.narrow(D::Minus1, 0, half)?, heads.narrow(D::Minus1, half, half)?);
    let turned_x = (x.broadcast_mul(cos)? - y.broadcast_mul(sin)?)?;
    let turned_y = (y.broadcast_mul(cos)? + x.broadcast_mul(sin)?)?;
    Tensor::cat(&[turned_x, turned_y], D::Minus1)
}
