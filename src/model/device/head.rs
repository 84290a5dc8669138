//! The output head on a device: log-probability and entropy by rows that fit the memory.

use candle_core::{D, DType, Result, Tensor};

use super::product;

/// What the head says of some rows, on the device.
pub(super) struct DevicePrediction {
    /// Natural log-probability of each target.
    pub log_prob: Vec<Tensor>,
    /// Entropy in nats.
    pub entropy: Vec<Tensor>,
    /// [rows, V] where kept.
    pub logits: Vec<Tensor>,
}

/// Logits of rows after the final norm, [rows, V] in f32.
pub(super) fn logits(normed: &Tensor, head: &Tensor) -> Result<Tensor> {
    product(&normed.to_dtype(head.dtype())?, &head.t()?)?.to_dtype(DType::F32)
}

/// Scores row r against `targets[r]`, `step` rows at a time. With `keep` all rows are multiplied and kept.
pub(super) fn predict(
    normed: &Tensor,
    head: &Tensor,
    targets: &[u32],
    keep: bool,
    step: usize,
) -> Result<DevicePrediction> {
    let rows = if keep { normed.dim(0)? } else { targets.len() };
    let mut prediction = DevicePrediction { log_prob: Vec::new(), entropy: Vec::new(), logits: Vec::new() };
    for start in (0..rows).step_by(step) {
        let count = step.min(rows - start);
        let logits = logits(&normed.narrow(0, start, count)?, head)?;
        let scored = count.min(targets.len().saturating_sub(start));
        if scored > 0 {
            let rows = logits.narrow(0, 0, scored)?;
            let centred = rows.broadcast_sub(&rows.max_keepdim(D::Minus1)?)?;
            let weights = centred.exp()?;
            let total = weights.sum_keepdim(D::Minus1)?;
            let log_total = total.log()?;
            let ids = Tensor::from_slice(&targets[start..start + scored], (scored, 1), normed.device())?;
            prediction.log_prob.push((centred.gather(&ids, 1)? - &log_total)?.flatten_all()?);
            let mean = (weights.mul(&centred)?.sum_keepdim(D::Minus1)? / total)?;
            prediction.entropy.push((log_total - mean)?.flatten_all()?);
        }
        if keep {
            prediction.logits.push(logits);
        }
    }
    Ok(prediction)
}
