//! Attention by ordinary tensor operations: the yardstick the fused pass is held against.

use candle_core::{Device, Tensor};

use super::DecoderError;
use super::attention::{AttentionInput, AttentionOutput, WeightRequest};

/// The same result as the fused pass, all weights held at once.
pub(crate) fn plain(
    input: &AttentionInput,
    request: &WeightRequest,
) -> Result<AttentionOutput, DecoderError> {
    let device = Device::Cpu;
    let rows = input.new.tokens;
    let before = input.prefix.tokens;
    let tokens = before + rows;
    let (heads, kv_heads) = (input.heads, input.kv_heads);
    let group = heads / kv_heads;
    let width = input.queries.cols();

    let queries = Tensor::from_slice(input.queries.values(), (kv_heads, rows, group, width), &device)?
        .transpose(1, 2)?
        .reshape((heads, rows, width))?;
    let joined = |old: &[f32], new: &[f32]| -> candle_core::Result<Tensor> {
        let new = Tensor::from_slice(new, (kv_heads, rows, width), &device)?;
        let all = match before {
            0 => new,
            n => Tensor::cat(&[&Tensor::from_slice(old, (kv_heads, n, width), &device)?, &new], 1)?,
        };
        let grouped = all.unsqueeze(1)?.broadcast_as((kv_heads, group, tokens, width))?;
        grouped.contiguous()?.reshape((heads, tokens, width))
    };
    let keys = joined(input.prefix.keys.values(), input.new.keys.values())?;
    let values = joined(input.prefix.values.values(), input.new.values.values())?;

    let mask: Vec<f32> = (0..rows)
        .flat_map(|row| {
            let seen = input.first_seen(row)..=before + row;
            (0..tokens).map(move |key| if seen.contains(&key) { 0.0 } else { f32::NEG_INFINITY })
        })
        .collect();
    let mask = Tensor::from_vec(mask, (1, rows, tokens), &device)?;
    let scores = queries.matmul(&keys.t()?)?.broadcast_add(&mask)?;
    let weights = candle_nn::ops::softmax_last_dim(&scores)?;
    let context = weights.matmul(&values)?.transpose(0, 1)?.flatten_all()?.to_vec1()?;

    let mut masses = Vec::new();
    for segment in request.segments {
        let mass = match segment.len() {
            0 => Tensor::zeros((heads, rows), candle_core::DType::F32, &device)?,
            length => weights.narrow(2, segment.start, length)?.sum(2)?,
        };
        masses.push(mass);
    }
    let segment_mass = match masses.len() {
        0 => Vec::new(),
        _ => Tensor::stack(&masses, 2)?.transpose(0, 1)?.flatten_all()?.to_vec1()?,
    };
    let among_new = if request.among_new {
        weights.mean(0)?.narrow(1, before, rows)?.flatten_all()?.to_vec1()?
    } else {
        Vec::new()
    };
    let on_itself = if request.on_itself {
        let each: Vec<Tensor> = (0..rows)
            .map(|row| weights.narrow(1, row, 1)?.narrow(2, before + row, 1)?.flatten_all())
            .collect::<Result<_, _>>()?;
        Tensor::stack(&each, 0)?.flatten_all()?.to_vec1()?
    } else {
        Vec::new()
    };
    let mean = if request.mean { weights.mean(0)?.flatten_all()?.to_vec1()? } else { Vec::new() };
    let full = if request.full { weights.flatten_all()?.to_vec1()? } else { Vec::new() };
    Ok(AttentionOutput { context, segment_mass, among_new, on_itself, mean, full })
}
