//! The trace that two captures of one answer give: with references and without.

use crate::model::{Capture, StateLayer, TokenizedText};

use super::trace::{LayerStates, LookbackMass, Trace};

/// What two captures say about one answer. Divergence and lexical support need more than captures: the reader adds
/// them.
pub(super) fn trace_of(
    layers: &[StateLayer],
    tokens: &TokenizedText,
    with: Capture,
    without: Capture,
    chunk_tokens: Vec<usize>,
    prompt_tokens: usize,
) -> Trace {
    let count = tokens.ids.len();
    Trace {
        token_ranges: tokens.ranges.clone(),
        token_ids: tokens.ids.clone(),
        layers: with.layers,
        heads: with.heads,
        hidden_size: with.hidden_size,
        states: layer_states(layers, &with, &without, count, with.hidden_size),
        lookback: lookback_mass(&with, count, with.layers * with.heads, chunk_tokens, prompt_tokens),
        divergence: None,
        lexical_support: Vec::new(),
        self_attention: own_rows(with.self_attention, with.layers),
        information_contribution: own_rows(with.information_contribution, with.layers),
        log_prob_with: with.log_prob,
        log_prob_without: without.log_prob,
        entropy_with: with.entropy,
    }
}

/// Values of the answer's own rows, [T, L]; the first row is the last prompt token's. `None` where nothing was asked.
fn own_rows(mut values: Vec<f32>, layers: usize) -> Option<Vec<f32>> {
    if values.is_empty() {
        return None;
    }
    values.drain(..layers);
    Some(values)
}

/// Rows of the capture begin at the last prompt token; states and attention begin at the first answer
/// token.
fn layer_states(
    layers: &[StateLayer],
    with: &Capture,
    without: &Capture,
    count: usize,
    hidden_size: usize,
) -> Vec<LayerStates> {
    let rows = count + 1;
    layers
        .iter()
        .enumerate()
        .map(|(index, layer)| LayerStates {
            layer: *layer,
            with_references: with.states[index][hidden_size..].to_vec(),
            without_references: without.states[index][hidden_size..].to_vec(),
            answer_attention: with.attention_among_new[index]
                .chunks_exact(rows)
                .skip(1)
                .flat_map(|row| row[1..].iter().copied())
                .collect(),
        })
        .collect()
}

/// Splits the captured masses [rows, L*H, K+1] into chunks and the whole prompt, for the rows that
/// predict an answer token (all but the last).
fn lookback_mass(
    with: &Capture,
    count: usize,
    heads_in_all: usize,
    chunk_tokens: Vec<usize>,
    prompt_tokens: usize,
) -> LookbackMass {
    let chunks = chunk_tokens.len();
    let cells = count * heads_in_all;
    let mut chunk_mass = Vec::with_capacity(cells * chunks);
    let mut prompt_mass = Vec::with_capacity(cells);
    for cell in with.segment_mass.chunks_exact(chunks + 1).take(cells) {
        chunk_mass.extend_from_slice(&cell[..chunks]);
        prompt_mass.push(cell[chunks]);
    }
    LookbackMass { chunk_tokens, prompt_tokens, chunk_mass, prompt_mass }
}
