//! Made-up traces for tests, with a signal planted where it is wanted.

use crate::metrics::Random;
use crate::reading::{LayerStates, LookbackMass, StateLayer, Trace};

/// What a made-up trace looks like.
#[derive(Debug, Clone)]
pub(crate) struct Planted {
    pub(crate) tokens: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) hidden_size: usize,
    pub(crate) chunks: usize,
    /// Tokens whose difference of states and whose attention on the chunks are shifted.
    pub(crate) shifted: Vec<bool>,
    /// Size of that shift in units of the noise.
    pub(crate) strength: f32,
    pub(crate) seed: u64,
}

impl Default for Planted {
    fn default() -> Self {
        Self {
            tokens: 6,
            layers: 2,
            heads: 2,
            hidden_size: 4,
            chunks: 2,
            shifted: Vec::new(),
            strength: 0.0,
            seed: 1,
        }
    }
}

/// A trace of an answer that is `tokens` letters, divided by blanks: "a b c ...".
pub(crate) fn trace(planted: &Planted) -> Trace {
    let Planted { tokens, layers, heads, hidden_size, chunks, .. } = *planted;
    let mut random = Random::new(planted.seed);
    let mut noise = move || (0..4).map(|_| random.uniform() as f32 - 0.5).sum::<f32>();
    let shift = |token: usize| {
        if planted.shifted.get(token).copied().unwrap_or(false) { planted.strength } else { 0.0 }
    };
    let mut states = [StateLayer::Block(1), StateLayer::FinalNorm]
        .map(|layer| {
            let without_references: Vec<f32> = (0..tokens * hidden_size).map(|_| noise()).collect();
            let with_references = without_references
                .iter()
                .enumerate()
                .map(|(at, value)| {
                    value + noise() + if at % hidden_size == 0 { shift(at / hidden_size) } else { 0.0 }
                })
                .collect();
            let answer_attention = (0..tokens * tokens)
                .map(|at| if at % tokens <= at / tokens { 0.3 / (at / tokens + 1) as f32 } else { 0.0 })
                .collect();
            LayerStates { layer, with_references, without_references, answer_attention }
        })
        .to_vec();
    // The later blocks show what the last state shows.
    for block in 2..=layers {
        states.push(LayerStates { layer: StateLayer::Block(block), ..states[1].clone() });
    }
    let mut chunk_mass = Vec::new();
    let mut prompt_mass = Vec::new();
    for token in 0..tokens {
        for head in 0..layers * heads {
            // Every other head reacts: a shift of all heads alike would vanish in the per-answer scaling.
            let shift = if head % 2 == 0 { shift(token) } else { 0.0 };
            let prompt = 0.6 + 0.1 * noise() - 0.1 * shift;
            let prompt = if token == 0 { 1.0 } else { prompt.clamp(0.05, 0.95) };
            let share = (0.5 + 0.1 * noise() - 0.1 * shift).clamp(0.05, 0.95);
            for _ in 0..chunks {
                chunk_mass.push(prompt * share / chunks as f32);
            }
            prompt_mass.push(prompt);
        }
    }
    Trace {
        token_ranges: (0..tokens).map(|t| if t == 0 { 0..1 } else { 2 * t - 1..2 * t + 1 }).collect(),
        token_ids: (0..tokens as u32).collect(),
        layers,
        heads,
        hidden_size,
        states,
        log_prob_with: (0..tokens).map(|_| -1.0 - noise().abs()).collect(),
        log_prob_without: (0..tokens).map(|_| -2.0 - noise().abs()).collect(),
        entropy_with: (0..tokens).map(|_| 1.0 + noise().abs()).collect(),
        divergence: Some((0..tokens).map(|_| noise().abs()).collect()),
        lexical_support: (0..tokens).map(|token| f32::from(u8::from(shift(token) == 0.0))).collect(),
        self_attention: Some((0..tokens * layers).map(|_| -2.0 - noise().abs()).collect()),
        information_contribution: Some((0..tokens * layers).map(|_| 0.3 + 0.1 * noise()).collect()),
        lookback: LookbackMass {
            chunk_tokens: (0..chunks).map(|chunk| 5 + chunk).collect(),
            prompt_tokens: 12 + 6 * chunks,
            chunk_mass,
            prompt_mass,
        },
    }
}

/// The text that belongs to [`trace`].
pub(crate) fn answer(tokens: usize) -> String {
    vec!["a"; tokens].join(" ")
}
