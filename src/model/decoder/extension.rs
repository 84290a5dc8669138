//! Continuations of a prefix: one, or several that are multiplied together.

use std::ops::Range;
use std::sync::Arc;

use super::{Decoder, Prefix};
use crate::model::attention::{AttentionOutput, WeightRequest};
use crate::model::capture::block_of;
use crate::model::contribution::{LayerUpdate, contribution};
use crate::model::elementwise::{all_finite, rms_norm};
use crate::model::next_token::predict;
use crate::model::product::Matrix;
use crate::model::{Capture, CaptureRequest, DecoderError, StateLayer};

/// Rows of all sequences that go through a block together; bounds the buffers of a batch.
const BATCH_ROWS: usize = 2048;

impl Decoder {
    /// Reads `ids` after a prefix and keeps what is asked for. Row r of every result belongs to `ids[r]`.
    ///
    /// # Errors
    /// No or unknown tokens, more tokens than the context holds, a segment beyond the tokens, a layer beyond
    /// the depth, a prefix of another decoder, or a state that is not finite.
    pub fn extend(
        &self,
        prefix: &Prefix,
        ids: &[u32],
        request: &CaptureRequest,
    ) -> Result<Capture, DecoderError> {
        self.check_continuation(prefix, ids, request)?;
        let mut captures = self.read_together(prefix, &[ids], request)?;
        captures.pop().ok_or(DecoderError::NoTokens)
    }

    /// Reads several continuations of one prefix, each as [`Decoder::extend`] reads it: no sequence sees
    /// another. Their rows are stacked for everything but attention, so that each weight is read once for
    /// all. One capture per sequence, in order; none for no sequence.
    ///
    /// # Errors
    /// Those of [`Decoder::extend`]; what concerns one sequence is in [`DecoderError::Sequence`].
    pub fn extend_many(
        &self,
        prefix: &Prefix,
        sequences: &[&[u32]],
        request: &CaptureRequest,
    ) -> Result<Vec<Capture>, DecoderError> {
        let count = sequences.len();
        let of = |index: usize| {
            move |error: DecoderError| match error {
                DecoderError::ForeignPrefix => error,
                error => DecoderError::Sequence { index, count, source: Box::new(error) },
            }
        };
        for (index, ids) in sequences.iter().enumerate() {
            self.check_continuation(prefix, ids, request).map_err(of(index))?;
        }
        let mut captures = Vec::with_capacity(count);
        let lengths: Vec<usize> = sequences.iter().map(|ids| ids.len()).collect();
        for batch in batches(&lengths, BATCH_ROWS) {
            let together = &sequences[batch.clone()];
            match self.read_together(prefix, together, request) {
                Ok(read) => captures.extend(read),
                // A stack does not tell whose row it was: each alone does.
                Err(_) => {
                    for (index, ids) in batch.zip(together) {
                        let read = self.read_together(prefix, &[ids], request);
                        captures.extend(read.map_err(of(index))?);
                    }
                }
            }
        }
        Ok(captures)
    }

    fn check_continuation(
        &self,
        prefix: &Prefix,
        ids: &[u32],
        request: &CaptureRequest,
    ) -> Result<(), DecoderError> {
        if !Arc::ptr_eq(&prefix.decoder, &self.identity) {
            return Err(DecoderError::ForeignPrefix);
        }
        if ids.is_empty() {
            return Err(DecoderError::NoTokens);
        }
        self.check_tokens(prefix.tokens, ids)?;
        if request.information_contribution && prefix.inputs.is_none() && self.device.is_none() {
            return Err(DecoderError::PrefixWithoutInputs);
        }
        request.validated(prefix.tokens + ids.len(), &self.config)
    }

    /// One pass over the blocks for sequences that were checked.
    fn read_together(
        &self,
        prefix: &Prefix,
        sequences: &[&[u32]],
        request: &CaptureRequest,
    ) -> Result<Vec<Capture>, DecoderError> {
        if let Some(device) = &self.device {
            let longest = sequences.iter().map(|ids| ids.len()).max().unwrap_or(0);
            let ropes = self.rotations(prefix.tokens, longest);
            let before = (&*prefix.on_device, prefix.tokens);
            let rope_of = |block| ropes.of(block);
            let empty = |rows| self.empty_capture(rows, request);
            return device.read(&self.config, before, sequences, request, rope_of, empty);
        }
        let (layers, width) = (self.config.layers, self.config.hidden_size);
        let mut captures: Vec<Capture> =
            sequences.iter().map(|ids| self.empty_capture(ids.len(), request)).collect();
        let stacked = stacked_rows(sequences);
        let longest = sequences.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let ropes = self.rotations(prefix.tokens, longest);
        let mut hidden = self.embed(&sequences.concat());
        for (block, before) in self.blocks().zip(prefix.layers.iter()) {
            let index = block.index;
            let wanted = |layer: &StateLayer| block_of(*layer, layers) == index;
            let weight_request = WeightRequest {
                segments: &request.segments,
                among_new: request.attention_among_new.iter().any(wanted),
                on_itself: request.self_attention,
                mean: request.information_contribution,
                full: request.full_attention,
            };
            let packed = block.projected(&hidden)?;
            let input = if request.information_contribution { hidden.clone() } else { Vec::new() };
            let mut means = Vec::new();
            let mut context = Vec::new();
            for (capture, rows) in captures.iter_mut().zip(&stacked) {
                let packed = &packed[rows.start * block.packed_width()..rows.end * block.packed_width()];
                let (queries, new) = block.rotated_heads(packed, ropes.of(index));
                let attention = block.attend(&queries, before, &new, &weight_request)?;
                capture.keep_attention(index, &attention, request);
                append(&mut context, attention.context);
                means.push(attention.mean);
            }
            drop(packed);
            block.finish(&mut hidden, context)?;
            if let (true, Some(before)) = (request.information_contribution, &prefix.inputs) {
                for ((capture, rows), mean) in captures.iter_mut().zip(&stacked).zip(&means) {
                    let place = rows.start * width..rows.end * width;
                    let scores = contribution(&LayerUpdate {
                        attention: mean,
                        before: &before[index],
                        input: &input[place.clone()],
                        output: &hidden[place],
                        hidden_size: width,
                        window: self.config.windows.get(index).copied().flatten(),
                    });
                    for (row, score) in scores.into_iter().enumerate() {
                        capture.information_contribution[row * layers + index] = score;
                    }
                }
            }
            for (capture, rows) in captures.iter_mut().zip(&stacked) {
                let hidden = &hidden[rows.start * width..rows.end * width];
                capture.keep_states(StateLayer::Block(index + 1), hidden, request);
            }
        }
        let normed = rms_norm(&hidden, &self.weights.final_norm, self.config.norm_eps);
        if !all_finite(&normed) {
            return Err(DecoderError::NotFinite { place: "the state after the final norm".to_owned() });
        }
        for (capture, rows) in captures.iter_mut().zip(&stacked) {
            let normed = &normed[rows.start * width..rows.end * width];
            capture.keep_states(StateLayer::FinalNorm, normed, request);
        }
        self.predict_together(normed, sequences, request.logits, &mut captures)?;
        Ok(captures)
    }

    /// The output head on the rows of all sequences. The last row of a sequence predicts nothing that was
    /// read, so it is multiplied only where logits are kept.
    fn predict_together(
        &self,
        normed: Vec<f32>,
        sequences: &[&[u32]],
        logits: bool,
        captures: &mut [Capture],
    ) -> Result<(), DecoderError> {
        let width = self.config.hidden_size;
        let head = self.output_head();
        if let ([ids], [capture]) = (sequences, &mut *captures) {
            let states = Matrix::new(normed, ids.len(), width);
            let next = predict(&states, head, ids.get(1..).unwrap_or_default(), logits)?;
            (capture.log_prob, capture.entropy, capture.logits) = (next.log_prob, next.entropy, next.logits);
            return Ok(());
        }
        if logits {
            // All logits are for tests: one sequence after the other is good enough.
            for ((ids, rows), capture) in sequences.iter().zip(stacked_rows(sequences)).zip(captures) {
                let states = normed[rows.start * width..rows.end * width].to_vec();
                self.predict_together(states, &[ids], logits, std::slice::from_mut(capture))?;
            }
            return Ok(());
        }
        let mut states = normed;
        let mut kept = 0;
        let mut targets = Vec::with_capacity(states.len() / width);
        for (ids, rows) in sequences.iter().zip(stacked_rows(sequences)) {
            let scored = ids.get(1..).unwrap_or_default();
            states.copy_within(rows.start * width..(rows.start + scored.len()) * width, kept * width);
            kept += scored.len();
            targets.extend_from_slice(scored);
        }
        states.truncate(kept * width);
        let next = predict(&Matrix::new(states, kept, width), head, &targets, false)?;
        let (mut log_prob, mut entropy) = (next.log_prob.as_slice(), next.entropy.as_slice());
        for (ids, capture) in sequences.iter().zip(captures) {
            let scored = ids.len().saturating_sub(1);
            let (of_this, of_others) = log_prob.split_at(scored);
            (capture.log_prob, log_prob) = (of_this.to_vec(), of_others);
            let (of_this, of_others) = entropy.split_at(scored);
            (capture.entropy, entropy) = (of_this.to_vec(), of_others);
        }
        Ok(())
    }

    fn empty_capture(&self, rows: usize, request: &CaptureRequest) -> Capture {
        let (layers, heads, segments) = (self.config.layers, self.config.heads, request.segments.len());
        Capture {
            rows,
            layers,
            heads,
            hidden_size: self.config.hidden_size,
            segments,
            states: vec![Vec::new(); request.states.len()],
            attention_among_new: vec![Vec::new(); request.attention_among_new.len()],
            segment_mass: vec![0.0; rows * layers * heads * segments],
            self_attention: vec![0.0; if request.self_attention { rows * layers } else { 0 }],
            information_contribution: vec![
                0.0;
                if request.information_contribution { rows * layers } else { 0 }
            ],
            log_prob: Vec::new(),
            entropy: Vec::new(),
            logits: None,
            full_attention: request.full_attention.then(Vec::new),
        }
    }
}

/// Where each sequence lies among the rows of all.
fn stacked_rows(sequences: &[&[u32]]) -> Vec<Range<usize>> {
    let mut end = 0;
    let row_range = |ids: &&[u32]| {
        let start = end;
        end += ids.len();
        start..end
    };
    sequences.iter().map(row_range).collect()
}

/// Runs of sequences with at most `limit` rows together. A longer sequence is a run of its own.
fn batches(lengths: &[usize], limit: usize) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut rows = 0;
    for (index, length) in lengths.iter().enumerate() {
        match batches.last_mut() {
            Some(batch) if rows + length <= limit => {
                batch.end = index + 1;
                rows += length;
            }
            _ => {
                batches.push(index..index + 1);
                rows = *length;
            }
        }
    }
    batches
}

/// Moves where there is nothing yet: one sequence is never copied.
fn append(all: &mut Vec<f32>, next: Vec<f32>) {
    if all.is_empty() {
        *all = next;
    } else {
        all.extend(next);
    }
}

impl Capture {
    fn keep_attention(&mut self, index: usize, attention: &AttentionOutput, request: &CaptureRequest) {
        let width = self.heads * self.segments;
        if width > 0 {
            for (row, mass) in attention.segment_mass.chunks_exact(width).enumerate() {
                self.segment_mass[(row * self.layers + index) * width..][..width].copy_from_slice(mass);
            }
        }
        if request.self_attention {
            for (row, weights) in attention.on_itself.chunks_exact(self.heads).enumerate() {
                // A weight that underflowed stays a finite logarithm.
                let logarithms = weights.iter().map(|weight| weight.max(f32::MIN_POSITIVE).ln());
                self.self_attention[row * self.layers + index] = logarithms.sum();
            }
        }
        for (kept, layer) in self.attention_among_new.iter_mut().zip(&request.attention_among_new) {
            if block_of(*layer, self.layers) == index {
                kept.clone_from(&attention.among_new);
            }
        }
        if let Some(full) = &mut self.full_attention {
            full.extend_from_slice(&attention.full);
        }
    }

    fn keep_states(&mut self, made: StateLayer, hidden: &[f32], request: &CaptureRequest) {
        for (kept, layer) in self.states.iter_mut().zip(&request.states) {
            if *layer == made {
                kept.extend_from_slice(hidden);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_the_order_and_the_limit_and_lose_no_sequence() {
        assert!(batches(&[], 10).is_empty());
        assert_eq!(batches(&[4, 6, 1, 9, 30, 2, 3], 10), [0..2, 2..4, 4..5, 5..7]);
        assert_eq!(batches(&[10, 10], 10), [0..1, 1..2]);
        assert_eq!(batches(&[11, 1], 10), [0..1, 1..2]);
    }
}
