//! Attention in one fused pass that keeps what detectors need and nothing else.
//!
//! For each key/value head and each block of rows: Q·Kᵀ over the keys those rows may see, softmax in place,
//! and, while a row is in the cache, its sums over segments and its weights among the new tokens; then the
//! product with V. The largest buffer is one block of rows of one group of heads; heads x tokens x tokens is
//! never held. The keys of a shared prefix are a piece of their own, read where they lie.

use std::ops::Range;

use rayon::prelude::*;

use super::DecoderError;
use super::lanes;
use super::product::{Matrix, product};

/// Rows of one product: enough for the kernel to reach its speed, few enough to stay in the cache.
const PRODUCT_ROWS: usize = 192;

/// Keys and values of some tokens in one block, after rotation.
#[derive(Debug)]
pub(crate) struct KeyValues {
    /// [`kv_heads`, tokens, D]
    pub keys: Matrix,
    /// [`kv_heads`, tokens, D]
    pub values: Matrix,
    pub tokens: usize,
}

/// One layer's attention to compute.
pub(crate) struct AttentionInput<'a> {
    /// Rotated and divided by √D: [`kv_heads`, rows, group, D].
    pub queries: &'a Matrix,
    pub prefix: &'a KeyValues,
    pub new: &'a KeyValues,
    pub heads: usize,
    pub kv_heads: usize,
}

/// What to keep of the weights of one layer.
pub(crate) struct WeightRequest<'a> {
    pub segments: &'a [Range<usize>],
    pub among_new: bool,
    pub full: bool,
}

/// Result of one layer.
pub(crate) struct AttentionOutput {
    /// Input of the output projection, [rows, heads * D].
    pub context: Vec<f32>,
    /// [rows, heads, segments]
    pub segment_mass: Vec<f32>,
    /// [rows, rows], mean over heads; empty unless asked for.
    pub among_new: Vec<f32>,
    /// [heads, rows, tokens]; empty unless asked for.
    pub full: Vec<f32>,
}

/// How attention is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttentionKernel {
    /// One fused pass over blocks of rows; the fast one.
    #[default]
    Fused,
    /// Separate tensor operations that hold all weights; slow, the yardstick of the other.
    Plain,
}

/// A block of rows of one key/value head.
struct Part {
    kv_head: usize,
    rows: Range<usize>,
    context: Vec<f32>,
    segment_mass: Vec<f32>,
    among_new: Vec<f32>,
    full: Vec<f32>,
}

/// The fused pass. `None` where a weight is not finite.
pub(crate) fn fused(
    input: &AttentionInput,
    request: &WeightRequest,
) -> Result<Option<AttentionOutput>, DecoderError> {
    let rows = input.new.tokens;
    let group = input.heads / input.kv_heads;
    let block = (PRODUCT_ROWS / group).max(1);
    let starts = || (0..rows).step_by(block);
    let tasks: Vec<_> = (0..input.kv_heads).flat_map(|h| starts().map(move |start| (h, start))).collect();
    let parts: Vec<Option<Part>> = tasks
        .into_par_iter()
        .map(|(kv_head, start)| attend(input, request, kv_head, start..(start + block).min(rows)))
        .collect::<Result<_, _>>()?;
    let Some(parts) = parts.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    Ok(Some(assemble(input, request, &parts)))
}

fn attend(
    input: &AttentionInput,
    request: &WeightRequest,
    kv_head: usize,
    rows: Range<usize>,
) -> Result<Option<Part>, DecoderError> {
    let (prefix, new) = (input.prefix, input.new);
    let group = input.heads / input.kv_heads;
    let count = rows.len() * group;
    // The last row of the block sees the most; for the others the rest is zeroed below.
    let seen = rows.end;
    let queries = input.queries.view_rows((kv_head * new.tokens + rows.start) * group, count);
    let mut old = match prefix.tokens {
        0 => Vec::new(),
        n => product(queries, prefix.keys.view_rows(kv_head * n, n).transposed())?,
    };
    let mut fresh = product(queries, new.keys.view_rows(kv_head * new.tokens, seen).transposed())?;

    let segments = request.segments.len();
    let mut segment_mass = Vec::with_capacity(count * segments);
    let mut among_new = vec![0f32; if request.among_new { rows.len() * seen } else { 0 }];
    let mut full = Vec::new();
    let mut scales = Vec::with_capacity(count);
    for index in 0..count {
        let local = index / group;
        let visible = rows.start + local + 1;
        let old = &mut old[index * prefix.tokens..][..prefix.tokens];
        let (fresh, unseen) = fresh[index * seen..][..seen].split_at_mut(visible);
        unseen.fill(0.0);
        let largest = lanes::maximum(old).max(lanes::maximum(fresh));
        let total = lanes::exp_in_place(old, largest) + lanes::exp_in_place(fresh, largest);
        if !total.is_finite() {
            return Ok(None);
        }
        let scale = 1.0 / total;
        scales.push(scale);
        for segment in request.segments {
            let in_old = segment.start.min(prefix.tokens)..segment.end.min(prefix.tokens);
            let start = segment.start.saturating_sub(prefix.tokens).min(visible);
            let end = segment.end.saturating_sub(prefix.tokens).min(visible);
            segment_mass.push((lanes::sum(&old[in_old]) + lanes::sum(&fresh[start..end])) * scale);
        }
        if request.among_new {
            let sums = &mut among_new[local * seen..][..visible];
            sums.iter_mut().zip(fresh.iter()).for_each(|(sum, weight)| *sum += weight * scale);
        }
        if request.full {
            full.extend(old.iter().chain(fresh.iter()).map(|weight| weight * scale));
            full.resize((index + 1) * (prefix.tokens + new.tokens), 0.0);
        }
    }

    let weights = Matrix::new(fresh, count, seen);
    let mut context = product(weights.view(), new.values.view_rows(kv_head * new.tokens, seen))?;
    if prefix.tokens > 0 {
        let weights = Matrix::new(old, count, prefix.tokens);
        let part = product(weights.view(), prefix.values.view_rows(kv_head * prefix.tokens, prefix.tokens))?;
        context.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    let width = new.values.cols();
    for (row, scale) in context.chunks_exact_mut(width).zip(scales) {
        row.iter_mut().for_each(|x| *x *= scale);
    }
    Ok(Some(Part { kv_head, rows, context, segment_mass, among_new, full }))
}

fn assemble(input: &AttentionInput, request: &WeightRequest, parts: &[Part]) -> AttentionOutput {
    let rows = input.new.tokens;
    let tokens = input.prefix.tokens + rows;
    let (heads, group) = (input.heads, input.heads / input.kv_heads);
    let width = input.new.values.cols();
    let segments = request.segments.len();
    let mut output = AttentionOutput {
        context: vec![0.0; rows * heads * width],
        segment_mass: vec![0.0; rows * heads * segments],
        among_new: vec![0.0; if request.among_new { rows * rows } else { 0 }],
        full: vec![0.0; if request.full { heads * rows * tokens } else { 0 }],
    };
    let share = 1.0 / heads as f32;
    for part in parts {
        let first_head = part.kv_head * group;
        for (local, row) in part.rows.clone().enumerate() {
            // The heads of a group lie side by side in every result but the full one.
            let place = row * heads + first_head;
            output.context[place * width..][..group * width]
                .copy_from_slice(&part.context[local * group * width..][..group * width]);
            output.segment_mass[place * segments..][..group * segments]
                .copy_from_slice(&part.segment_mass[local * group * segments..][..group * segments]);
            if request.among_new {
                let seen = part.rows.end;
                let sums = &mut output.among_new[row * rows..][..seen];
                let weights = &part.among_new[local * seen..][..seen];
                sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight * share);
            }
            if request.full {
                for member in 0..group {
                    output.full[((first_head + member) * rows + row) * tokens..][..tokens]
                        .copy_from_slice(&part.full[(local * group + member) * tokens..][..tokens]);
                }
            }
        }
    }
    output
}
