//! What a reading is asked to keep, and what it kept.

use std::ops::Range;

use super::{DecoderError, ModelConfig, StateLayer};

/// What to keep of one reading. The default keeps log-probabilities and entropies alone.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each asks for one result")]
pub struct CaptureRequest {
    /// Token ranges, counted from the start of the prefix, whose summed attention is wanted in every layer and
    /// head. They may overlap and may be empty; none at all costs nothing.
    pub segments: Vec<Range<usize>>,
    /// Layers whose hidden states are wanted.
    pub states: Vec<StateLayer>,
    /// Layers for which the attention among the new tokens is wanted: that of the block that made the state
    /// (after the final norm: the last block).
    pub attention_among_new: Vec<StateLayer>,
    /// Keep how much each row attends to itself, in every layer.
    pub self_attention: bool,
    /// Keep the information contribution of every layer. The prefix must have been read by
    /// [`Decoder::prefix_with_inputs`](super::Decoder::prefix_with_inputs).
    pub information_contribution: bool,
    /// Keep all logits: rows x vocabulary numbers, meant for tests.
    pub logits: bool,
    /// Keep all attention weights: layers x heads x rows x tokens numbers, meant for tests.
    pub full_attention: bool,
}

/// What one reading left behind. R rows (new tokens), P prefix tokens, L layers, H heads, S segments,
/// d hidden size, V vocabulary; all arrays row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// R
    pub rows: usize,
    /// L
    pub layers: usize,
    /// H
    pub heads: usize,
    /// d
    pub hidden_size: usize,
    /// S
    pub segments: usize,
    /// One [R, d] for each layer asked for, in the order asked.
    pub states: Vec<Vec<f32>>,
    /// One [R, R] for each layer asked for: attention from each new token to the new tokens up to itself, mean
    /// over heads, softmax over ALL keys (a row sums to less than 1 where a prefix is); 0 above the diagonal.
    pub attention_among_new: Vec<Vec<f32>>,
    /// Summed attention on each segment, [R, L, H, S]. Keys after a row weigh nothing.
    pub segment_mass: Vec<f32>,
    /// Sum over heads of the natural logarithm of each row's attention to itself, [R, L] (LLM-Check, a row of its
    /// attention score); empty unless asked for.
    pub self_attention: Vec<f32>,
    /// Information contribution of each layer to each row, [R, L]; empty unless asked for. See
    /// the module `contribution`.
    pub information_contribution: Vec<f32>,
    /// Natural log p(ids[r + 1] | everything up to row r), [R - 1].
    pub log_prob: Vec<f32>,
    /// Entropy in nats of the distribution that predicts ids[r + 1], [R - 1].
    pub entropy: Vec<f32>,
    /// [R, V], only when asked for.
    pub logits: Option<Vec<f32>>,
    /// [L, H, R, P + R], only when asked for.
    pub full_attention: Option<Vec<f32>>,
}

impl CaptureRequest {
    /// Checks segments against the tokens read and layers against the depth.
    pub(crate) fn validated(&self, tokens: usize, config: &ModelConfig) -> Result<(), DecoderError> {
        for (index, segment) in self.segments.iter().enumerate() {
            if segment.start > segment.end || segment.end > tokens {
                let Range { start, end } = *segment;
                return Err(DecoderError::Segment { index, start, end, tokens });
            }
        }
        for &layer in self.states.iter().chain(&self.attention_among_new) {
            if let StateLayer::Block(block) = layer
                && !(1..=config.layers).contains(&block)
            {
                return Err(DecoderError::UnknownLayer { layer, layers: config.layers });
            }
        }
        Ok(())
    }
}

/// The block, counted from 0, that makes a state.
pub(crate) fn block_of(layer: StateLayer, layers: usize) -> usize {
    match layer {
        StateLayer::Block(block) => block - 1,
        StateLayer::FinalNorm => layers - 1,
    }
}
