//! CORTEX features: what the references change in the hidden state of each answer token.
//!
//! CORTEX (arXiv 2606.31033) eq. 4 to 6.

use serde::{Deserialize, Serialize};

use crate::reading::{LayerStates, StateLayer, Trace};

use super::{DetectError, FeatureBlock};

/// Which CORTEX features a detector reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CortexSettings {
    /// The paper: the final layer; here after the final norm.
    pub layer: StateLayer,
    /// The paper: [D; c]. Without: D alone, its ablation.
    pub with_residual: bool,
    /// Whether the attention of eq. 5 is renormalised over the earlier answer tokens. The paper: no.
    pub renormalised: bool,
}

impl Default for CortexSettings {
    fn default() -> Self {
        Self { layer: StateLayer::FinalNorm, with_residual: true, renormalised: false }
    }
}

impl CortexSettings {
    /// The feature blocks in order: D, then c.
    #[must_use]
    pub fn blocks(self) -> Vec<FeatureBlock> {
        let mut blocks = vec![FeatureBlock::Difference { layer: self.layer }];
        if self.with_residual {
            blocks.push(FeatureBlock::Residual { layer: self.layer, renormalised: self.renormalised });
        }
        blocks
    }
}

/// Eq. 4: `D_i` = `h_i`(with references) - `h_i`(without), [T, d].
pub fn difference(trace: &Trace, layer: StateLayer) -> Result<Vec<f32>, DetectError> {
    let states = layer_states(trace, layer)?;
    Ok(states
        .with_references
        .iter()
        .zip(&states.without_references)
        .map(|(with, without)| with - without)
        .collect())
}

/// Eq. 6: `c_i` = `D_i` - `Dbar_i`, [T, d], so `c_1` = `D_1`.
///
/// Eq. 5: `Dbar_i` = sum over j < i of `alpha_ij` `D_j`, alpha = mean over heads of the attention from answer
/// token i (its own row) to the earlier answer token j, softmax over ALL keys; divided by their sum only
/// when `renormalised`.
pub fn residual(trace: &Trace, layer: StateLayer, renormalised: bool) -> Result<Vec<f32>, DetectError> {
    let attention = &layer_states(trace, layer)?.answer_attention;
    Ok(residual_by(&difference(trace, layer)?, attention, trace, renormalised))
}

/// Eq. 6 with the attention of eq. 5 averaged over the heads of ALL blocks, not of the one that made the state: [T, d].
///
/// The trace must hold the states of every block.
pub fn pooled_residual(trace: &Trace, layer: StateLayer) -> Result<Vec<f32>, DetectError> {
    let mut attention = vec![0.0_f32; trace.token_ids.len() * trace.token_ids.len()];
    let share = 1.0 / trace.layers.max(1) as f32;
    for block in 1..=trace.layers {
        let own = &layer_states(trace, StateLayer::Block(block))?.answer_attention;
        attention.iter_mut().zip(own).for_each(|(sum, weight)| *sum += weight * share);
    }
    Ok(residual_by(&difference(trace, layer)?, &attention, trace, false))
}

/// Eq. 6 for one matrix of attention, [T, T].
fn residual_by(differences: &[f32], attention: &[f32], trace: &Trace, renormalised: bool) -> Vec<f32> {
    let (tokens, width) = (trace.token_ids.len(), trace.hidden_size);
    let mut residuals = differences.to_vec();
    if tokens == 0 || width == 0 {
        return residuals;
    }
    let rows = residuals.chunks_exact_mut(width).zip(attention.chunks_exact(tokens));
    for (token, (residual, attention)) in rows.enumerate() {
        let weights = &attention[..token];
        let sum: f32 = weights.iter().sum();
        let scale = if renormalised && sum > 0.0 { 1.0 / sum } else { 1.0 };
        for (&weight, earlier) in weights.iter().zip(differences.chunks_exact(width)) {
            let weight = weight * scale;
            for (value, &difference) in residual.iter_mut().zip(earlier) {
                *value -= weight * difference;
            }
        }
    }
    residuals
}

/// The states of one layer, with their sizes checked.
pub(super) fn layer_states(trace: &Trace, layer: StateLayer) -> Result<&LayerStates, DetectError> {
    let Some(states) = trace.states.iter().find(|states| states.layer == layer) else {
        let kept: Vec<String> = trace.states.iter().map(|states| layer_name(states.layer)).collect();
        let kept = if kept.is_empty() { "none".to_owned() } else { kept.join(", ") };
        return Err(DetectError::MissingLayer { wanted: layer_name(layer), kept });
    };
    let tokens = trace.token_ids.len();
    for (field, expected, found) in [
        ("states.with_references", tokens * trace.hidden_size, states.with_references.len()),
        ("states.without_references", tokens * trace.hidden_size, states.without_references.len()),
        ("states.answer_attention", tokens * tokens, states.answer_attention.len()),
    ] {
        if expected != found {
            return Err(DetectError::TraceShape { field, expected, found });
        }
    }
    Ok(states)
}

/// Name of a layer in file names and tables: `final-norm`, `block-22`.
#[must_use]
pub fn layer_name(layer: StateLayer) -> String {
    match layer {
        StateLayer::FinalNorm => "final-norm".to_owned(),
        StateLayer::Block(number) => format!("block-{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::synthetic::{Planted, trace};

    /// Three tokens, two dimensions, one layer, with numbers that can be followed by hand.
    fn small() -> Trace {
        let mut trace = trace(&Planted { tokens: 3, hidden_size: 2, ..Planted::default() });
        trace.states = vec![LayerStates {
            layer: StateLayer::Block(1),
            with_references: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            without_references: vec![0.0, 0.0, 1.0, 1.0, 5.0, 4.0],
            answer_attention: vec![0.9, 0.0, 0.0, 0.5, 0.25, 0.0, 0.2, 0.3, 0.4],
        }];
        trace
    }

    fn close(found: &[f32], wanted: &[f32]) {
        assert_eq!(found.len(), wanted.len());
        for (a, b) in found.iter().zip(wanted) {
            assert!((a - b).abs() < 1e-6, "{found:?} for {wanted:?}");
        }
    }

    #[test]
    fn the_difference_is_with_references_minus_without() {
        close(&difference(&small(), StateLayer::Block(1)).unwrap(), &[1.0, 2.0, 2.0, 3.0, 0.0, 2.0]);
    }

    #[test]
    fn the_residual_takes_away_what_earlier_tokens_explain_and_never_the_token_itself() {
        // c_1 = D_1; c_2 = D_2 - .5 D_1; c_3 = D_3 - .2 D_1 - .3 D_2.
        close(&residual(&small(), StateLayer::Block(1), false).unwrap(), &[1.0, 2.0, 1.5, 2.0, -0.8, 0.7]);
    }

    #[test]
    fn renormalised_weights_sum_to_one_over_earlier_answer_tokens() {
        // c_2 = D_2 - D_1; c_3 = D_3 - .4 D_1 - .6 D_2.
        close(&residual(&small(), StateLayer::Block(1), true).unwrap(), &[1.0, 2.0, 1.0, 1.0, -1.6, -0.6]);
    }

    #[test]
    fn pooled_attention_is_the_mean_of_every_block_and_needs_them_all() {
        let mut trace = small();
        trace.layers = 2;
        let message = pooled_residual(&trace, StateLayer::Block(1)).unwrap_err().to_string();
        assert!(message.contains("block-2"), "{message}");
        let mut second = LayerStates { layer: StateLayer::Block(2), ..trace.states[0].clone() };
        second.answer_attention = vec![0.1, 0.0, 0.0, 0.1, 0.2, 0.0, 0.0, 0.1, 0.1];
        trace.states.push(second);
        // Means: (.3) for token 2, (.1, .2) for token 3: c_2 = D_2 - .3 D_1; c_3 = D_3 - .1 D_1 - .2 D_2.
        close(&pooled_residual(&trace, StateLayer::Block(1)).unwrap(), &[1.0, 2.0, 1.7, 2.4, -0.5, 1.2]);
    }

    #[test]
    fn a_layer_that_was_not_read_is_named_with_those_that_were() {
        let message = difference(&small(), StateLayer::Block(22)).unwrap_err().to_string();
        assert!(message.contains("block-22") && message.contains("block-1;"), "{message}");
    }

    #[test]
    fn states_of_the_wrong_size_are_refused() {
        let mut trace = small();
        trace.states[0].answer_attention.pop();
        assert!(matches!(
            residual(&trace, StateLayer::Block(1), false),
            Err(DetectError::TraceShape { expected: 9, found: 8, .. })
        ));
    }
}
