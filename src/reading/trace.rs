//! What one reading of an answer leaves behind: everything the detectors use.

use std::ops::Range;

use crate::model::StateLayer;

/// One answer read twice by the model, with its references and without.
///
/// T answer tokens, L layers, H heads, K chunks, d hidden size; all arrays row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Byte range of every answer token in the answer. Tokens that share a character share a range.
    pub token_ranges: Vec<Range<usize>>,
    pub token_ids: Vec<u32>,
    pub layers: usize,
    pub heads: usize,
    pub hidden_size: usize,
    /// Hidden states at the answer tokens, one entry per layer asked for.
    pub states: Vec<LayerStates>,
    /// log p(token | references, question, earlier tokens), natural logarithm, `[T]`.
    pub log_prob_with: Vec<f32>,
    /// The same without references, `[T]`.
    pub log_prob_without: Vec<f32>,
    /// Entropy of the next-token distribution that predicts the token, with references, nats, `[T]`.
    pub entropy_with: Vec<f32>,
    /// Kullback-Leibler divergence of the next-token distribution with references from the one without, in
    /// nats, for the row that predicts each token, `[T]`. Only when asked for.
    pub divergence: Option<Vec<f32>>,
    /// 1 where the token belongs to a word that occurs in the passages or is no content word, else 0, `[T]`.
    pub lexical_support: Vec<f32>,
    /// Sum over heads of the natural logarithm of the attention of each token's OWN row on itself, with
    /// references, [T, L] (LLM-Check). Only when asked for.
    pub self_attention: Option<Vec<f32>>,
    /// Information contribution of each layer to each token's OWN row, with references, [T, L] (ICR Probe).
    /// Only when asked for.
    pub information_contribution: Option<Vec<f32>>,
    /// The attention that flowed from the row that PREDICTS each token, in the pass with references.
    pub lookback: LookbackMass,
}

/// Hidden states of one layer for both passes, and the attention among answer tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerStates {
    pub layer: StateLayer,
    /// [T, d]
    pub with_references: Vec<f32>,
    /// [T, d]
    pub without_references: Vec<f32>,
    /// Mean over heads of the attention of the block that made this state, from each answer token's
    /// OWN row to the answer tokens up to itself: [T, T], lower triangle with diagonal. Softmax over
    /// all keys, not renormalised (CORTEX eq. 5).
    pub answer_attention: Vec<f32>,
}

/// Attention mass per segment for the rows that predict each answer token: row t is the position
/// before token t, so row 0 is the last prompt token.
#[derive(Debug, Clone, PartialEq)]
pub struct LookbackMass {
    /// Tokens of each chunk in the prompt, `[K]`.
    pub chunk_tokens: Vec<usize>,
    /// Tokens of the whole prompt, chunks included.
    pub prompt_tokens: usize,
    /// Summed attention on each chunk, [T, L, H, K].
    pub chunk_mass: Vec<f32>,
    /// Summed attention on the whole prompt, chunks included, [T, L, H]. The rest, 1 - prompt mass,
    /// lies on the answer tokens already read.
    pub prompt_mass: Vec<f32>,
}
