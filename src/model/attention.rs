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
const PRODUCT_ROWS: usize = 288;

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
    /// A row sees itself and this many tokens less one before it; `None`: all before it.
    pub window: Option<usize>,
}

impl AttentionInput<'_> {
    /// The first token that a row sees, counted from the start of the prefix.
    pub(super) fn first_seen(&self, row: usize) -> usize {
        self.window.map_or(0, |window| (self.prefix.tokens + row + 1).saturating_sub(window))
    }
}

/// What to keep of the weights of one layer.
#[expect(clippy::struct_excessive_bools, reason = "each asks for one result")]
pub(crate) struct WeightRequest<'a> {
    pub segments: &'a [Range<usize>],
    pub among_new: bool,
    /// The weight of each row on itself, head by head.
    pub on_itself: bool,
    /// The weight of each row on every token, mean over heads.
    pub mean: bool,
    pub full: bool,
}

impl<'a> WeightRequest<'a> {
    /// Sums over segments alone.
    pub(super) fn of_segments(segments: &'a [Range<usize>]) -> Self {
        Self { segments, among_new: false, on_itself: false, mean: false, full: false }
    }
}

/// Result of one layer.
pub(crate) struct AttentionOutput {
    /// Input of the output projection, [rows, heads * D].
    pub context: Vec<f32>,
    /// [rows, heads, segments]
    pub segment_mass: Vec<f32>,
    /// [rows, rows], mean over heads; empty unless asked for.
    pub among_new: Vec<f32>,
    /// [rows, heads]; empty unless asked for.
    pub on_itself: Vec<f32>,
    /// [rows, tokens]; empty unless asked for.
    pub mean: Vec<f32>,
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
    /// [rows, group]
    on_itself: Vec<f32>,
    /// Sums over the heads of the group, [rows, tokens].
    mean: Vec<f32>,
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

fn attend<'a>(
    input: &AttentionInput<'a>,
    request: &WeightRequest,
    kv_head: usize,
    rows: Range<usize>,
) -> Result<Option<Part>, DecoderError> {
    let (prefix, new) = (input.prefix, input.new);
    let before = prefix.tokens;
    let group = input.heads / input.kv_heads;
    let count = rows.len() * group;
    // Keys that some row of the block sees. Its last row sees the latest, its first row the earliest; what is
    // not for a row is zeroed below.
    let first = input.first_seen(rows.start);
    let (old_first, new_first) = (first.min(before), first.saturating_sub(before));
    let (old_seen, new_seen) = (before - old_first, rows.end - new_first);
    let queries = input.queries.view_rows((kv_head * new.tokens + rows.start) * group, count);
    let old_rows = |matrix: &'a Matrix| matrix.view_rows(kv_head * before + old_first, old_seen);
    let new_rows = |matrix: &'a Matrix| matrix.view_rows(kv_head * new.tokens + new_first, new_seen);
    let mut old = match old_seen {
        0 => Vec::new(),
        _ => product(queries, old_rows(&prefix.keys).transposed())?,
    };
    let mut fresh = product(queries, new_rows(&new.keys).transposed())?;

    let segments = request.segments.len();
    let mut segment_mass = Vec::with_capacity(count * segments);
    let mut among_new = vec![0f32; if request.among_new { rows.len() * rows.end } else { 0 }];
    let tokens = before + new.tokens;
    let mut on_itself = Vec::with_capacity(if request.on_itself { count } else { 0 });
    let mut mean = vec![0f32; if request.mean { rows.len() * tokens } else { 0 }];
    let mut full = Vec::new();
    let mut scales = Vec::with_capacity(count);
    for index in 0..count {
        let local = index / group;
        let row = rows.start + local;
        // Places of the first and behind the last key of the row in both pieces.
        let start = input.first_seen(row);
        let old_start = start.min(before) - old_first;
        let new_start = start.saturating_sub(before) - new_first;
        let visible = row + 1 - new_first;
        let (out_of_window, old) = old[index * old_seen..][..old_seen].split_at_mut(old_start);
        out_of_window.fill(0.0);
        let (fresh, unseen) = fresh[index * new_seen..][..new_seen].split_at_mut(visible);
        unseen.fill(0.0);
        let (out_of_window, fresh) = fresh.split_at_mut(new_start);
        out_of_window.fill(0.0);
        let largest = lanes::maximum(old).max(lanes::maximum(fresh));
        let total = lanes::exp_in_place(old, largest) + lanes::exp_in_place(fresh, largest);
        if !total.is_finite() {
            return Ok(None);
        }
        let scale = 1.0 / total;
        scales.push(scale);
        // `old` holds the weights of the tokens `old_base..before`, `fresh` those of `new_base..=row`.
        let (old_base, new_base) = (old_first + old_start, before + new_first + new_start);
        for segment in request.segments {
            let within = |base: usize, length: usize| {
                let place = |token: usize| token.saturating_sub(base).min(length);
                place(segment.start)..place(segment.end)
            };
            let in_old = within(old_base, old.len());
            let in_fresh = within(new_base, fresh.len());
            segment_mass.push((lanes::sum(&old[in_old]) + lanes::sum(&fresh[in_fresh])) * scale);
        }
        if request.among_new {
            let sums = &mut among_new[local * rows.end..][new_base - before..=row];
            sums.iter_mut().zip(fresh.iter()).for_each(|(sum, weight)| *sum += weight * scale);
        }
        if request.on_itself {
            // The last token that a row sees is its own.
            on_itself.push(fresh.last().map_or(0.0, |weight| weight * scale));
        }
        if request.mean {
            let sums = &mut mean[local * tokens..][..tokens];
            sums[old_base..].iter_mut().zip(old.iter()).for_each(|(sum, weight)| *sum += weight * scale);
            sums[new_base..].iter_mut().zip(fresh.iter()).for_each(|(sum, weight)| *sum += weight * scale);
        }
        if request.full {
            full.resize(full.len() + old_base, 0.0);
            full.extend(old.iter().map(|weight| weight * scale));
            full.resize(index * tokens + new_base, 0.0);
            full.extend(fresh.iter().map(|weight| weight * scale));
            full.resize((index + 1) * tokens, 0.0);
        }
    }

    let weights = Matrix::new(fresh, count, new_seen);
    let mut context = product(weights.view(), new_rows(&new.values))?;
    if old_seen > 0 {
        let weights = Matrix::new(old, count, old_seen);
        let part = product(weights.view(), old_rows(&prefix.values))?;
        context.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    let width = new.values.cols();
    for (row, scale) in context.chunks_exact_mut(width).zip(scales) {
        for x in row {
            *x *= scale;
        }
    }
    Ok(Some(Part { kv_head, rows, context, segment_mass, among_new, on_itself, mean, full }))
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
        on_itself: vec![0.0; if request.on_itself { rows * heads } else { 0 }],
        mean: vec![0.0; if request.mean { rows * tokens } else { 0 }],
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
            if request.on_itself {
                output.on_itself[place..][..group].copy_from_slice(&part.on_itself[local * group..][..group]);
            }
            if request.mean {
                let sums = &mut output.mean[row * tokens..][..tokens];
                let weights = &part.mean[local * tokens..][..tokens];
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::attention_plain::plain;

    /// Numbers in -1..1 from a linear congruence, the same at every run.
    fn numbers(seed: u32, rows: usize, cols: usize) -> Matrix {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        Matrix::new((0..rows * cols).map(|_| next()).collect(), rows, cols)
    }

    fn key_values(seed: u32, kv_heads: usize, tokens: usize, width: usize) -> KeyValues {
        let matrix = |seed| numbers(seed, kv_heads * tokens, width);
        KeyValues { keys: matrix(seed), values: matrix(seed + 1), tokens }
    }

    fn assert_close(got: &[f32], want: &[f32]) {
        assert_eq!(got.len(), want.len());
        assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn blocks_of_rows_and_pieces_of_keys_join_to_what_plain_operations_give() {
        // More rows than one product takes, for groups that divide it and one that does not.
        let shapes = [(6, 2, 0, 200), (6, 2, 33, 200), (2, 2, 5, 300), (7, 1, 50, 90), (4, 2, 12, 1)];
        // No window, one token alone, less than the prefix, more than a block, more than all.
        let windows = [None, Some(1), Some(7), Some(120), Some(1000)];
        for ((heads, kv_heads, before, rows), window) in
            shapes.into_iter().flat_map(|shape| windows.map(|window| (shape, window)))
        {
            let width = 8;
            let queries = numbers(1, heads * rows, width);
            let prefix = key_values(2, kv_heads, before, width);
            let new = key_values(4, kv_heads, rows, width);
            let input =
                AttentionInput { queries: &queries, prefix: &prefix, new: &new, heads, kv_heads, window };
            let tokens = before + rows;
            let segments = [0..tokens, 0..before, tokens / 3..tokens / 2, before..tokens, 3..3];
            let request = WeightRequest {
                segments: &segments,
                among_new: true,
                on_itself: true,
                mean: true,
                full: true,
            };
            let got = fused(&input, &request).unwrap().unwrap();
            let want = plain(&input, &request).unwrap();
            assert_close(&got.context, &want.context);
            assert_close(&got.segment_mass, &want.segment_mass);
            assert_close(&got.among_new, &want.among_new);
            assert_close(&got.on_itself, &want.on_itself);
            assert_close(&got.mean, &want.mean);
            assert_close(&got.full, &want.full);
        }
    }

    #[test]
    fn a_token_outside_of_the_window_weighs_exactly_nothing() {
        let (before, rows, window) = (11, 30, 9);
        let queries = numbers(1, rows, 8);
        let (prefix, new) = (key_values(2, 1, before, 8), key_values(4, 1, rows, 8));
        let (heads, kv_heads, window) = (1, 1, Some(window));
        let input = AttentionInput { queries: &queries, prefix: &prefix, new: &new, heads, kv_heads, window };
        let tokens = before + rows;
        let each: Vec<_> = (0..tokens).map(|token| token..token + 1).collect();
        let request =
            WeightRequest { among_new: true, mean: true, full: true, ..WeightRequest::of_segments(&each) };
        let got = fused(&input, &request).unwrap().unwrap();
        for (row, token) in (0..rows).flat_map(|row| (0..tokens).map(move |token| (row, token))) {
            let position = before + row;
            let seen = token <= position && position < token + 9;
            let mass = got.segment_mass[row * tokens + token];
            assert_eq!(mass > 0.0, seen, "row {row}, token {token}: {mass}");
            assert_eq!(got.full[row * tokens + token] > 0.0, seen);
            assert_eq!(got.mean[row * tokens + token] > 0.0, seen);
            if token >= before {
                assert_eq!(got.among_new[row * rows + token - before] > 0.0, seen);
            }
        }
    }

    #[test]
    fn a_weight_that_is_not_finite_is_reported() {
        let queries = numbers(1, 4, 8);
        let (prefix, mut new) = (key_values(2, 1, 0, 8), key_values(4, 1, 4, 8));
        let mut keys = new.keys.values().to_vec();
        keys[9] = f32::NAN;
        new.keys = Matrix::new(keys, 4, 8);
        let input = AttentionInput {
            queries: &queries,
            prefix: &prefix,
            new: &new,
            heads: 1,
            kv_heads: 1,
            window: None,
        };
        let request = WeightRequest::of_segments(&[]);
        assert!(fused(&input, &request).unwrap().is_none());
    }
}
