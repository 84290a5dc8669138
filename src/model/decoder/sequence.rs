//! A sequence that grows token by token, with keys and values of its own after a shared prefix.

use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;

use super::{Decoder, KeyValues, Prefix};
use crate::model::DecoderError;
use crate::model::device::GrowingKeys;
use crate::model::elementwise::{all_finite, rms_norm};
use crate::model::lanes;
use crate::model::product::{Matrix, project};

/// Tokens read one after another. What the prefix holds is shared and never copied; what is read later
/// belongs to the sequence and grows in place.
pub struct Sequence {
    prefix: Prefix,
    /// One entry per block and key/value head, [L, kv heads].
    heads: Vec<Vec<HeadCache>>,
    /// The same on a device.
    on_device: GrowingKeys,
    tokens: usize,
}

/// Keys and values of one head after the prefix, each [tokens, D].
#[derive(Default)]
struct HeadCache {
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Sequence {
    /// Tokens read, those of the prefix included.
    pub fn tokens(&self) -> usize {
        self.tokens
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Sequence").field("tokens", &self.tokens).finish_non_exhaustive()
    }
}

impl Decoder {
    /// Begins a sequence after a prefix. The prefix stays as it is and may begin others.
    ///
    /// # Errors
    /// A prefix of another decoder.
    pub fn start(&self, prefix: &Prefix) -> Result<Sequence, DecoderError> {
        if !Arc::ptr_eq(&prefix.decoder, &self.identity) {
            return Err(DecoderError::ForeignPrefix);
        }
        let block = || (0..self.config.kv_heads).map(|_| HeadCache::default()).collect();
        let heads = (0..self.config.layers).map(|_| block()).collect();
        let on_device = GrowingKeys::new(self.config.layers);
        Ok(Sequence { prefix: prefix.clone(), heads, on_device, tokens: prefix.tokens })
    }

    /// Reads one token and gives the logits of the next one, `[V]`. After an error the sequence must not be
    /// used any more.
    ///
    /// # Errors
    /// A sequence of another decoder, an unknown token, a full context, or a state that is not finite.
    pub fn step(&self, sequence: &mut Sequence, id: u32) -> Result<Vec<f32>, DecoderError> {
        if !Arc::ptr_eq(&sequence.prefix.decoder, &self.identity) {
            return Err(DecoderError::ForeignPrefix);
        }
        self.check_tokens(sequence.tokens, &[id])?;
        if let Some(device) = &self.device {
            let ropes = self.rotations(sequence.tokens, 1);
            let before = &sequence.prefix.on_device;
            let token = (id, sequence.tokens);
            let rope_of = |block| ropes.of(block);
            let logits = device.step(&self.config, before, &mut sequence.on_device, token, rope_of)?;
            sequence.tokens += 1;
            return Ok(logits);
        }
        // A step is hundreds of short parallel loops. From inside the pool each begins at once; from outside
        // each would wake a thread of the pool and wait for it, which costs more than the loops.
        let logits = rayon::scope(|_| self.read_one(sequence, id))?;
        sequence.tokens += 1;
        Ok(logits)
    }

    fn read_one(&self, sequence: &mut Sequence, id: u32) -> Result<Vec<f32>, DecoderError> {
        let ropes = self.rotations(sequence.tokens, 1);
        let mut hidden = self.embed(&[id]);
        for ((block, before), heads) in
            self.blocks().zip(sequence.prefix.layers.iter()).zip(&mut sequence.heads)
        {
            let (queries, new) = block.queries_keys_values(&hidden, ropes.of(block.index))?;
            let window = self.config.windows.get(block.index).copied().flatten();
            let first = window.map_or(0, |window| (sequence.tokens + 1).saturating_sub(window));
            let context = attend(&queries, before, &new, heads, first).ok_or_else(|| {
                DecoderError::NotFinite { place: format!("block {}, attention weights,", block.index + 1) }
            })?;
            block.finish(&mut hidden, context)?;
        }
        let normed = rms_norm(&hidden, &self.weights.final_norm, self.config.norm_eps);
        if !all_finite(&normed) {
            return Err(DecoderError::NotFinite { place: "the state after the final norm".to_owned() });
        }
        let head = self.weights.output.as_ref().unwrap_or(&self.weights.embedding);
        let logits = project(Matrix::new(normed, 1, self.config.hidden_size).view(), head)?;
        if !all_finite(&logits) {
            return Err(DecoderError::NotFinite { place: "the logits".to_owned() });
        }
        Ok(logits)
    }
}

/// Appends the new token's keys and values and attends from it to the tokens from `first` on: [heads * D].
/// `None` where a weight is not finite.
fn attend(
    queries: &Matrix,
    before: &KeyValues,
    new: &KeyValues,
    heads: &mut [HeadCache],
    first: usize,
) -> Option<Vec<f32>> {
    let width = queries.cols();
    let group = queries.rows() / heads.len();
    let old_first = first.min(before.tokens);
    let own_first = first.saturating_sub(before.tokens);
    let mut context = vec![0f32; queries.values().len()];
    let finite = context
        .par_chunks_mut(group * width)
        .zip(queries.values().par_chunks(group * width))
        .zip(heads)
        .enumerate()
        .map(|(kv_head, ((context, queries), own))| {
            let place = kv_head * width..(kv_head + 1) * width;
            own.keys.extend_from_slice(&new.keys.values()[place.clone()]);
            own.values.extend_from_slice(&new.values.values()[place]);
            let old = (kv_head * before.tokens + old_first) * width..(kv_head + 1) * before.tokens * width;
            let own_seen = own_first * width..;
            let keys = [&before.keys.values()[old.clone()], &own.keys[own_seen.clone()]];
            let values = [&before.values.values()[old], &own.values[own_seen]];
            let mut weights = Vec::with_capacity(keys.iter().map(|piece| piece.len() / width).sum());
            for (context, query) in context.chunks_exact_mut(width).zip(queries.chunks_exact(width)) {
                weights.clear();
                let all_keys = keys.iter().flat_map(|piece| piece.chunks_exact(width));
                weights.extend(all_keys.map(|key| lanes::dot(query, key)));
                let largest = lanes::maximum(&weights);
                let total = lanes::exp_in_place(&mut weights, largest);
                if !total.is_finite() {
                    return false;
                }
                let all_values = values.iter().flat_map(|piece| piece.chunks_exact(width));
                for (weight, value) in weights.iter().zip(all_values) {
                    context.iter_mut().zip(value).for_each(|(sum, x)| *sum += weight * x);
                }
                for x in context {
                    *x /= total;
                }
            }
            true
        })
        .reduce(|| true, |one, other| one && other);
    finite.then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::decoder_tests::{GOLDEN, assert_close, flat, folder, golden_ids, tensors};

    #[test]
    fn stepping_gives_the_reference_logits_after_any_prefix_in_every_architecture() {
        for name in GOLDEN {
            let decoder = Decoder::from_directory(&folder(name)).unwrap();
            let ids = golden_ids(name);
            let want = flat(&tensors(name, "reference.safetensors")["logits"]);
            for cut in [0, 1, 17, 39] {
                let mut sequence = decoder.start(&decoder.prefix(&ids[..cut]).unwrap()).unwrap();
                for (at, id) in ids.iter().enumerate().skip(cut) {
                    let logits = decoder.step(&mut sequence, *id).unwrap();
                    assert_close(&logits, &want[at * 96..][..96], 1e-4, &format!("{name}, {cut}, row {at}"));
                }
                assert_eq!(sequence.tokens(), ids.len());
            }
        }
    }

    #[test]
    fn two_sequences_after_one_prefix_do_not_disturb_each_other() {
        let decoder = Decoder::from_directory(&folder("llama")).unwrap();
        let ids = golden_ids("llama");
        let prefix = decoder.prefix(&ids[..10]).unwrap();
        let (mut one, mut other) = (decoder.start(&prefix).unwrap(), decoder.start(&prefix).unwrap());
        for id in &ids[10..15] {
            decoder.step(&mut other, (*id + 1) % 96).unwrap();
        }
        let want = flat(&tensors("llama", "reference.safetensors")["logits"]);
        let logits = decoder.step(&mut one, ids[10]).unwrap();
        assert_close(&logits, &want[10 * 96..][..96], 1e-4, "undisturbed");
    }

    #[test]
    fn foreign_sequences_unknown_tokens_and_a_full_context_are_refused() {
        let decoder = Decoder::from_directory(&folder("llama")).unwrap();
        let other = Decoder::from_directory(&folder("llama")).unwrap();
        let prefix = decoder.prefix(&[1]).unwrap();
        assert!(matches!(other.start(&prefix), Err(DecoderError::ForeignPrefix)));
        let mut sequence = decoder.start(&prefix).unwrap();
        assert!(matches!(other.step(&mut sequence, 1), Err(DecoderError::ForeignPrefix)));
        assert!(matches!(
            decoder.step(&mut sequence, 96),
            Err(DecoderError::UnknownToken { position: 1, id: 96, .. })
        ));
        let room = decoder.config().context_length;
        for _ in 1..room {
            decoder.step(&mut sequence, 3).unwrap();
        }
        assert!(matches!(decoder.step(&mut sequence, 3), Err(DecoderError::ContextExceeded { .. })));
        assert_eq!(sequence.tokens(), room);
    }
}
