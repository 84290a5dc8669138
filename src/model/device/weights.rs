//! Weights moved to a device, block by block.

use candle_core::{DType, Device, Result, Tensor};

use crate::model::product::Matrix;
use crate::model::weights::{BlockWeights, Weights};

/// All weights on the device. Projections are of the chosen number type, norms and biases f32.
pub(super) struct DeviceWeights {
    /// [V, d]
    pub embedding: Tensor,
    /// [V, d]; the embedding where it serves as head.
    pub output: Tensor,
    pub final_norm: Tensor,
    pub blocks: Vec<DeviceBlock>,
}

/// One block's weights, projections as [out, in]: see [`BlockWeights`].
pub(super) struct DeviceBlock {
    pub attention_norm: Tensor,
    pub query_key_value: Tensor,
    pub query_key_value_bias: Option<Tensor>,
    pub head_norms: Option<(Tensor, Tensor)>,
    pub attention_output: Tensor,
    pub attention_post_norm: Option<Tensor>,
    pub feed_forward_norm: Tensor,
    pub gate_up: Tensor,
    pub down: Tensor,
    pub feed_forward_post_norm: Option<Tensor>,
}

impl DeviceWeights {
    /// Each block is freed on the host as soon as it is moved.
    pub(super) fn new(weights: Weights, device: &Device, dtype: DType) -> Result<Self> {
        let matrix = |matrix: Matrix| {
            let host = Tensor::from_slice(matrix.values(), (matrix.rows(), matrix.cols()), &Device::Cpu)?;
            drop(matrix);
            // Rounded on the host, so that the device never holds the wide copy.
            host.to_dtype(dtype)?.to_device(device)
        };
        let vector = |values: Vec<f32>| {
            let length = values.len();
            Tensor::from_vec(values, length, device)
        };
        let embedding = matrix(weights.embedding)?;
        let output = weights.output.map(matrix).transpose()?.unwrap_or_else(|| embedding.clone());
        let block = |weights: BlockWeights| -> Result<DeviceBlock> {
            let pair = |(query, key)| -> Result<(Tensor, Tensor)> { Ok((vector(query)?, vector(key)?)) };
            Ok(DeviceBlock {
                attention_norm: vector(weights.attention_norm)?,
                query_key_value: matrix(weights.query_key_value)?,
                query_key_value_bias: weights.query_key_value_bias.map(vector).transpose()?,
                head_norms: weights.head_norms.map(pair).transpose()?,
                attention_output: matrix(weights.attention_output)?,
                attention_post_norm: weights.attention_post_norm.map(vector).transpose()?,
                feed_forward_norm: vector(weights.feed_forward_norm)?,
                gate_up: matrix(weights.gate_up)?,
                down: matrix(weights.down)?,
                feed_forward_post_norm: weights.feed_forward_post_norm.map(vector).transpose()?,
            })
        };
        let blocks = weights.blocks.into_iter().map(block).collect::<Result<_>>()?;
        Ok(Self { embedding, output, final_norm: vector(weights.final_norm)?, blocks })
    }
}
