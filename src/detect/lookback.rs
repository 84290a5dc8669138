//! Look-back ratios: how much each head looks at the chunks, compared with the answer so far.
//!
//! DRAG (arXiv 2605.05244) eq. 7 to 9. A(x) is the MEAN attention over the tokens of segment x in the row
//! that predicts the token; "output" is the answer read so far, so A(output) = 0 for the first token.
//! The paper prints a factor K in eq. 8, which contradicts its own claim of values in [0, 1]; the factor
//! is 1 here, and cancels in the per-sample scaling before the classifier.

use crate::reading::Trace;

use super::DetectError;

/// Floor of the mass under the logarithm: what f16 features and f32 attention can still tell from 0.
const MASS_FLOOR: f32 = 1e-6;

/// Look-back ratios of one answer, reduced for display.
#[derive(Debug, Clone, PartialEq)]
pub struct LookbackSummary {
    /// Mean over answer tokens of the chunk-wise ratio (eq. 9), [L, H, K]. The mean weighted by chunk
    /// length is at most 1; a short chunk that draws all the attention can exceed 1.
    pub by_head: Vec<f32>,
    /// Mean over answer tokens of the full-context ratio, [L, H], in [0, 1].
    pub context_by_head: Vec<f32>,
    /// Mean over layers and heads of the attention mass on each chunk, [T, K], in [0, 1].
    pub by_token: Vec<f32>,
}

/// All reductions that are shown.
pub fn lookback_summary(trace: &Trace) -> Result<LookbackSummary, DetectError> {
    Ok(LookbackSummary {
        by_head: mean_chunk_ratios(trace)?,
        context_by_head: mean_context_ratios(trace)?,
        by_token: chunk_mass_by_token(trace)?,
    })
}

/// Chunk-wise ratios of every token (DRAG eq. 8 with factor 1), [T, L, H, K].
///
/// The context of the denominator is the chunk tokens only: instructions, template and question are
/// left out. A chunk without tokens has ratio 0.
pub fn chunk_ratios(trace: &Trace) -> Result<Vec<f32>, DetectError> {
    check(trace)?;
    let lookback = &trace.lookback;
    let chunks = lookback.chunk_tokens.len();
    let context_tokens: usize = lookback.chunk_tokens.iter().sum();
    let mut ratios = vec![0.0; lookback.chunk_mass.len()];
    if chunks == 0 || context_tokens == 0 {
        return Ok(ratios);
    }
    let per_token = trace.layers * trace.heads;
    let masses = lookback.chunk_mass.chunks_exact(chunks).zip(&lookback.prompt_mass);
    for (row, ((mass, &prompt), out)) in masses.zip(ratios.chunks_exact_mut(chunks)).enumerate() {
        let context = mass.iter().sum::<f32>() / context_tokens as f32;
        let denominator = context + mean_output(prompt, row / per_token);
        if denominator > 0.0 {
            for ((ratio, &mass), &tokens) in out.iter_mut().zip(mass).zip(&lookback.chunk_tokens) {
                if tokens > 0 {
                    *ratio = mass / tokens as f32 / denominator;
                }
            }
        }
    }
    Ok(ratios)
}

/// Full-context ratios of every token, [T, L, H], in [0, 1]: A(prompt) / (A(prompt) + A(output)) with the
/// whole prompt as context, as in Lookback Lens (arXiv 2407.07071).
pub fn context_ratios(trace: &Trace) -> Result<Vec<f32>, DetectError> {
    check(trace)?;
    let per_token = (trace.layers * trace.heads).max(1);
    let prompt_tokens = trace.lookback.prompt_tokens.max(1) as f32;
    let ratio = |(row, &prompt): (usize, &f32)| {
        let context = prompt.max(0.0) / prompt_tokens;
        let denominator = context + mean_output(prompt, row / per_token);
        if denominator > 0.0 { context / denominator } else { 0.0 }
    };
    Ok(trace.lookback.prompt_mass.iter().enumerate().map(ratio).collect())
}

/// Natural logarithm of the attention mass on all chunks together, [T, L, H], floored at 1e-6.
pub fn log_chunk_mass(trace: &Trace) -> Result<Vec<f32>, DetectError> {
    check(trace)?;
    let chunks = trace.lookback.chunk_tokens.len();
    if chunks == 0 {
        return Ok(vec![MASS_FLOOR.ln(); trace.lookback.prompt_mass.len()]);
    }
    let masses = trace.lookback.chunk_mass.chunks_exact(chunks);
    Ok(masses.map(|mass| mass.iter().sum::<f32>().max(MASS_FLOOR).ln()).collect())
}

/// DRAG eq. 9: mean over the answer tokens of the chunk-wise ratio, [L, H, K].
pub fn mean_chunk_ratios(trace: &Trace) -> Result<Vec<f32>, DetectError> {
    mean_over_tokens(&chunk_ratios(trace)?, trace.token_ids.len())
}

/// Mean over the answer tokens of the full-context ratio, [L, H].
pub fn mean_context_ratios(trace: &Trace) -> Result<Vec<f32>, DetectError> {
    mean_over_tokens(&context_ratios(trace)?, trace.token_ids.len())
}

/// Mean over layers and heads of the attention mass on each chunk, [T, K].
pub fn chunk_mass_by_token(trace: &Trace) -> Result<Vec<f32>, DetectError> {
    check(trace)?;
    let chunks = trace.lookback.chunk_tokens.len();
    let per_token = trace.layers * trace.heads;
    let mut by_token = Vec::with_capacity(trace.token_ids.len() * chunks);
    if chunks > 0 && per_token > 0 {
        for token in trace.lookback.chunk_mass.chunks_exact(per_token * chunks) {
            by_token.extend(mean_over_tokens(token, per_token)?);
        }
    }
    Ok(by_token)
}

/// The chunk-wise vector of an answer before scaling: `blocks` blocks of L*H in rank order, chunks that
/// are missing are zeros, chunks beyond `blocks` are left out. `means`: [L, H, K] of [`mean_chunk_ratios`].
#[must_use]
pub fn chunk_blocks(means: &[f32], chunks: usize, blocks: usize) -> Vec<f32> {
    let heads = means.len().checked_div(chunks).unwrap_or(0);
    let mut vector = Vec::with_capacity(heads * blocks);
    for chunk in 0..blocks.min(chunks) {
        vector.extend(means.iter().skip(chunk).step_by(chunks));
    }
    vector.resize(heads * blocks, 0.0);
    vector
}

/// Scales a sample's vector to [0, 1] by its own minimum and maximum; a constant vector becomes zeros.
pub fn scale_by_own_range(vector: &mut [f32]) {
    let low = vector.iter().copied().fold(f32::INFINITY, f32::min);
    let high = vector.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let range = high - low;
    for value in vector {
        *value = if range > 0.0 && range.is_finite() { (*value - low) / range } else { 0.0 };
    }
}

/// Mean attention per answer token already read, at step `token` (from 0, so `token` of them are read).
fn mean_output(prompt_mass: f32, token: usize) -> f32 {
    if token == 0 { 0.0 } else { (1.0 - prompt_mass).max(0.0) / token as f32 }
}

fn mean_over_tokens(rows: &[f32], tokens: usize) -> Result<Vec<f32>, DetectError> {
    if tokens == 0 {
        return Err(DetectError::EmptyAnswer);
    }
    let width = rows.len() / tokens;
    let mut sums = vec![0.0_f64; width];
    if width > 0 {
        for row in rows.chunks_exact(width) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += f64::from(value);
            }
        }
    }
    Ok(sums.into_iter().map(|sum| (sum / tokens as f64) as f32).collect())
}

/// Refuses a trace whose look-back arrays do not have the size its shape promises.
fn check(trace: &Trace) -> Result<(), DetectError> {
    let lookback = &trace.lookback;
    let rows = trace.token_ids.len() * trace.layers * trace.heads;
    for (field, expected, found) in [
        ("lookback.prompt_mass", rows, lookback.prompt_mass.len()),
        ("lookback.chunk_mass", rows * lookback.chunk_tokens.len(), lookback.chunk_mass.len()),
    ] {
        if expected != found {
            return Err(DetectError::TraceShape { field, expected, found });
        }
    }
    let bad = lookback.prompt_mass.iter().position(|mass| !mass.is_finite());
    let bad = bad.map(|at| at / (trace.layers * trace.heads));
    let bad = bad.or_else(|| {
        let at = lookback.chunk_mass.iter().position(|mass| !mass.is_finite())?;
        Some(at / (trace.layers * trace.heads * lookback.chunk_tokens.len()))
    });
    bad.map_or(Ok(()), |token| Err(DetectError::NotFinite { what: "attention mass".to_owned(), token }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::synthetic::{Planted, trace};

    #[test]
    fn ratios_follow_equation_8_by_hand() {
        // Two chunks of 2 and 4 tokens in a prompt of 10; one layer, one head, two tokens.
        let mut trace = trace(&Planted { tokens: 2, layers: 1, heads: 1, chunks: 2, ..Planted::default() });
        trace.lookback.chunk_tokens = vec![2, 4];
        trace.lookback.prompt_tokens = 10;
        trace.lookback.chunk_mass = vec![0.4, 0.2, 0.2, 0.1];
        trace.lookback.prompt_mass = vec![1.0, 0.7];
        let close = |found: &[f32], wanted: &[f32]| {
            assert_eq!(found.len(), wanted.len());
            for (a, b) in found.iter().zip(wanted) {
                assert!((a - b).abs() < 1e-6, "{found:?} for {wanted:?}");
            }
        };
        // Step 1: A = .2, .05; context .6/6 = .1; output 0. Step 2: A = .1, .025; context .05; output .3.
        close(&chunk_ratios(&trace).unwrap(), &[2.0, 0.5, 0.1 / 0.35, 0.025 / 0.35]);
        close(&context_ratios(&trace).unwrap(), &[1.0, 0.07 / 0.37]);
        close(&mean_context_ratios(&trace).unwrap(), &[f32::midpoint(1.0, 0.07 / 0.37)]);
        close(&chunk_mass_by_token(&trace).unwrap(), &[0.4, 0.2, 0.2, 0.1]);
        close(&log_chunk_mass(&trace).unwrap(), &[0.6_f32.ln(), 0.3_f32.ln()]);
    }

    #[test]
    fn full_context_ratios_and_weighted_chunk_ratios_lie_between_zero_and_one() {
        let trace = trace(&Planted { tokens: 30, layers: 3, heads: 4, chunks: 3, ..Planted::default() });
        assert!(context_ratios(&trace).unwrap().iter().all(|ratio| (0.0..=1.0).contains(ratio)));
        let tokens = &trace.lookback.chunk_tokens;
        let all = tokens.iter().sum::<usize>() as f32;
        for row in chunk_ratios(&trace).unwrap().chunks_exact(3) {
            let weighted: f32 = row.iter().zip(tokens).map(|(ratio, &n)| ratio * n as f32 / all).sum();
            assert!((0.0..=1.0 + 1e-5).contains(&weighted), "the chunk-only context ratio is {weighted}");
        }
        let summary = lookback_summary(&trace).unwrap();
        assert_eq!((summary.by_head.len(), summary.context_by_head.len()), (3 * 4 * 3, 12));
        assert_eq!(summary.by_token.len(), 30 * 3);
        assert!(summary.by_token.chunks_exact(3).all(|token| token.iter().sum::<f32>() <= 1.0 + 1e-5));
    }

    #[test]
    fn masses_of_prompt_and_answer_sum_to_one() {
        let trace = trace(&Planted { tokens: 9, ..Planted::default() });
        let chunks = trace.lookback.chunk_tokens.len();
        let masses = trace.lookback.chunk_mass.chunks_exact(chunks).zip(&trace.lookback.prompt_mass);
        for (row, (chunk, &prompt)) in masses.enumerate() {
            let token = row / (trace.layers * trace.heads);
            let output = mean_output(prompt, token) * token as f32;
            let rest = prompt - chunk.iter().sum::<f32>();
            assert!((chunk.iter().sum::<f32>() + rest + output - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn missing_chunks_are_zero_blocks_in_rank_order() {
        let means = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(chunk_blocks(&means, 2, 3), [1.0, 3.0, 2.0, 4.0, 0.0, 0.0]);
        assert_eq!(chunk_blocks(&means, 2, 1), [1.0, 3.0]);
        assert!(chunk_blocks(&[], 0, 3).is_empty());
    }

    #[test]
    fn every_sample_is_scaled_by_its_own_range() {
        let mut vector = [1.0, 3.0, 2.0];
        scale_by_own_range(&mut vector);
        assert_eq!(vector, [0.0, 1.0, 0.5]);
        let mut constant = [0.4, 0.4];
        scale_by_own_range(&mut constant);
        assert_eq!(constant, [0.0, 0.0]);
        scale_by_own_range(&mut []);
    }

    #[test]
    fn a_trace_of_the_wrong_size_is_refused_with_both_sizes() {
        let mut trace = trace(&Planted::default());
        trace.lookback.prompt_mass.pop();
        let message = context_ratios(&trace).unwrap_err().to_string();
        assert!(message.contains("lookback.prompt_mass"), "{message}");
        trace.lookback.prompt_mass.push(f32::NAN);
        assert!(matches!(context_ratios(&trace), Err(DetectError::NotFinite { .. })));
    }

    #[test]
    fn an_answer_without_tokens_has_no_ratio() {
        let trace = trace(&Planted { tokens: 0, ..Planted::default() });
        assert!(matches!(mean_context_ratios(&trace), Err(DetectError::EmptyAnswer)));
    }
}
