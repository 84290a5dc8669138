//! The decoder over tensors of a device: GPUs, and the CPU for checking that path.
//!
//! The same reading as the decoder over slices, by tensor operations that every candle device has. The residual
//! stream, norms, rotation and softmax are f32; projections, keys and values are of the chosen number type.
//! Nothing of heads x tokens x tokens is ever held: attention goes by blocks of rows.
//!
//! | files | hold |
//! |---|---|
//! | `placement` | `--device` and `--dtype`: what is asked for, and what answers |
//! | `weights` | weights moved to the device |
//! | `block`, `attention` | one block at work |
//! | `finite` | values that are not finite, found without waiting for the device at every step |
//! | `memory` | smaller blocks of rows where memory runs out |
//! | `reading`, `head`, `growing` | prefixes, captures, the output head, generation |

mod attention;
mod block;
mod finite;
mod growing;
mod head;
mod memory;
mod placement;
mod reading;
#[cfg(test)]
mod tests;
mod weights;

use candle_core::{DType, Device, Tensor};

use super::{DecoderError, ModelConfig};

pub(crate) use growing::GrowingKeys;
pub use placement::{DeviceChoice, NumberType, Placement, found_devices};
pub(crate) use reading::DeviceEngine;

/// Keys and values of some tokens in one block, after rotation: [`kv_heads`, tokens, D] each; `None`: no token.
pub(crate) type KeysAndValues = Option<(Tensor, Tensor)>;

/// `left` times `right` where the CPU knows no product of bf16: there in f32, rounded afterwards.
fn product(left: &Tensor, right: &Tensor) -> candle_core::Result<Tensor> {
    if left.dtype() == DType::BF16 && matches!(left.device(), Device::Cpu) {
        let wide = left.to_dtype(DType::F32)?.matmul(&right.to_dtype(DType::F32)?)?;
        return wide.to_dtype(DType::BF16);
    }
    left.matmul(right)
}

/// `RMSNorm` of f32 rows over their last dimension.
fn rms_norm(rows: &Tensor, weight: &Tensor, epsilon: f32) -> candle_core::Result<Tensor> {
    let mean = rows.sqr()?.mean_keepdim(candle_core::D::Minus1)?;
    // Squares that overflow would make a row of zeros: finite, and wrong. Infinity times zero is not a number.
    let mean = (&mean + (&mean * 0.0)?)?;
    rows.broadcast_div(&(mean + f64::from(epsilon))?.sqrt()?)?.broadcast_mul(weight)
}

/// What went wrong without the trace that candle appends.
fn reason(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Softmax of f32 rows over their last dimension.
fn softmax(rows: &Tensor) -> candle_core::Result<Tensor> {
    let last = candle_core::D::Minus1;
    let weights = rows.broadcast_sub(&rows.max_keepdim(last)?)?.exp()?;
    weights.broadcast_div(&weights.sum_keepdim(last)?)
}
