//! The instrumented decoder: reads tokens and keeps what a [`CaptureRequest`] asks for.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::attention::{self, AttentionInput, AttentionKernel, AttentionOutput, KeyValues, WeightRequest};
use super::capture::block_of;
use super::elementwise::{add, all_finite, rms_norm, swiglu};
use super::next_token::predict;
use super::product::{Matrix, project};
use super::rope::RopeTable;
use super::weights::{BlockWeights, GgufWeights, SafetensorsWeights, Weights};
use super::{Capture, CaptureRequest, DecoderError, ModelConfig, StateLayer, attention_plain, config};

/// Rows that go through the feed-forward layer together; bounds its buffers for long prompts.
const FEED_FORWARD_ROWS: usize = 1024;

/// A decoder in f32 on the CPU. Reading needs no mutable access: one decoder serves many threads.
pub struct Decoder {
    config: ModelConfig,
    weights: Weights,
    inverse_frequencies: Vec<f32>,
    kernel: AttentionKernel,
    /// Tells this decoder's prefixes from those of others.
    identity: Arc<()>,
}

/// Keys and values of tokens already read. Cloning shares them; reading after a prefix never changes it.
#[derive(Clone)]
pub struct Prefix {
    /// One entry per block.
    layers: Arc<[KeyValues]>,
    tokens: usize,
    decoder: Arc<()>,
}

impl Prefix {
    /// Tokens read.
    pub fn tokens(&self) -> usize {
        self.tokens
    }
}

impl Decoder {
    /// Loads a GGUF file, dequantised to f32.
    ///
    /// # Errors
    /// Names the field, tensor or length that is missing, unknown or wrong.
    pub fn from_gguf(path: &Path) -> Result<Self, DecoderError> {
        let (mut source, config) = GgufWeights::open(path)?;
        let weights = Weights::load(&mut source, &config)?;
        Ok(Self::new(config, weights))
    }

    /// Loads a directory with `config.json` and `model.safetensors`, or shards and their index.
    ///
    /// # Errors
    /// Names the field, tensor, file or length that is missing, unknown or wrong.
    pub fn from_directory(path: &Path) -> Result<Self, DecoderError> {
        let file = path.join("config.json");
        let text = std::fs::read_to_string(&file)
            .map_err(|source| DecoderError::Read { path: file.clone(), source })?;
        let config = config::from_json(&text, &file)?;
        let mut source = SafetensorsWeights::open(path)?;
        let weights = Weights::load(&mut source, &config)?;
        Ok(Self::new(config, weights))
    }

    fn new(config: ModelConfig, weights: Weights) -> Self {
        let inverse_frequencies = config.rope.inverse_frequencies(config.head_dim);
        let kernel = AttentionKernel::default();
        Self { config, weights, inverse_frequencies, kernel, identity: Arc::new(()) }
    }

    /// The same decoder with attention computed another way.
    #[must_use]
    pub fn with_attention(self, kernel: AttentionKernel) -> Self {
        Self { kernel, ..self }
    }

    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Reads the start of a sequence once, for several continuations. No token at all is a valid prefix.
    ///
    /// # Errors
    /// An unknown token, too many tokens, or a state that is not finite.
    pub fn prefix(&self, ids: &[u32]) -> Result<Prefix, DecoderError> {
        self.check_tokens(0, ids)?;
        let nothing = self.nothing();
        let mut layers = Vec::with_capacity(self.config.layers);
        if ids.is_empty() {
            layers = nothing;
        } else {
            let rope = RopeTable::new(&self.inverse_frequencies, 0, ids.len());
            let mut hidden = self.embed(ids);
            for (index, (block, before)) in self.weights.blocks.iter().zip(&nothing).enumerate() {
                let (queries, new) = self.queries_keys_values(index, block, &hidden, &rope)?;
                // Nothing after the keys and values of the last block is used by a continuation.
                if index + 1 < self.config.layers {
                    let request = WeightRequest { segments: &[], among_new: false, full: false };
                    let attention = self.attend(index, &queries, before, &new, &request)?;
                    self.finish_block(index, block, &mut hidden, attention.context)?;
                }
                layers.push(new);
            }
        }
        Ok(Prefix { layers: layers.into(), tokens: ids.len(), decoder: Arc::clone(&self.identity) })
    }

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
        if !Arc::ptr_eq(&prefix.decoder, &self.identity) {
            return Err(DecoderError::ForeignPrefix);
        }
        let Some(targets) = ids.get(1..) else { return Err(DecoderError::NoTokens) };
        self.check_tokens(prefix.tokens, ids)?;
        let (rows, layers) = (ids.len(), self.config.layers);
        request.validated(prefix.tokens + rows, &self.config)?;

        let (heads, segments) = (self.config.heads, request.segments.len());
        let mut capture = Capture {
            rows,
            layers,
            heads,
            hidden_size: self.config.hidden_size,
            segments,
            states: vec![Vec::new(); request.states.len()],
            attention_among_new: vec![Vec::new(); request.attention_among_new.len()],
            segment_mass: vec![0.0; rows * layers * heads * segments],
            log_prob: Vec::new(),
            entropy: Vec::new(),
            logits: None,
            full_attention: request.full_attention.then(Vec::new),
        };
        let rope = RopeTable::new(&self.inverse_frequencies, prefix.tokens, rows);
        let mut hidden = self.embed(ids);
        for (index, (block, before)) in self.weights.blocks.iter().zip(prefix.layers.iter()).enumerate() {
            let (queries, new) = self.queries_keys_values(index, block, &hidden, &rope)?;
            let wanted = |layer: &StateLayer| block_of(*layer, layers) == index;
            let weight_request = WeightRequest {
                segments: &request.segments,
                among_new: request.attention_among_new.iter().any(wanted),
                full: request.full_attention,
            };
            let attention = self.attend(index, &queries, before, &new, &weight_request)?;
            capture.keep_attention(index, &attention, request);
            self.finish_block(index, block, &mut hidden, attention.context)?;
            capture.keep_states(StateLayer::Block(index + 1), &hidden, request);
        }
        let normed = rms_norm(&hidden, &self.weights.final_norm, self.config.norm_eps);
        if !all_finite(&normed) {
            return Err(DecoderError::NotFinite { place: "the state after the final norm".to_owned() });
        }
        capture.keep_states(StateLayer::FinalNorm, &normed, request);
        let head = self.weights.output.as_ref().unwrap_or(&self.weights.embedding);
        let states = Matrix::new(normed, rows, self.config.hidden_size);
        let next = predict(&states, head, targets, request.logits)?;
        Ok(Capture { log_prob: next.log_prob, entropy: next.entropy, logits: next.logits, ..capture })
    }

    fn check_tokens(&self, before: usize, ids: &[u32]) -> Result<(), DecoderError> {
        let (context_length, vocab_size) = (self.config.context_length, self.config.vocab_size);
        if before + ids.len() > context_length {
            return Err(DecoderError::ContextExceeded { prefix: before, new: ids.len(), context_length });
        }
        match ids.iter().position(|id| *id as usize >= vocab_size) {
            Some(at) => Err(DecoderError::UnknownToken { position: before + at, id: ids[at], vocab_size }),
            None => Ok(()),
        }
    }

    /// Keys and values of no tokens, one entry per block.
    fn nothing(&self) -> Vec<KeyValues> {
        let empty = || Matrix::new(Vec::new(), 0, self.config.head_dim);
        (0..self.config.layers).map(|_| KeyValues { keys: empty(), values: empty(), tokens: 0 }).collect()
    }

    /// Rows of the embedding table, [rows, d].
    pub(super) fn embed(&self, ids: &[u32]) -> Vec<f32> {
        let width = self.config.hidden_size;
        let table = self.weights.embedding.values();
        ids.iter().flat_map(|id| &table[*id as usize * width..][..width]).copied().collect()
    }

    /// Norm, packed projection and rotation: queries [`kv_heads`, rows, group, D], divided by √D, and the keys
    /// and values of the rows.
    fn queries_keys_values(
        &self,
        index: usize,
        block: &BlockWeights,
        hidden: &[f32],
        rope: &RopeTable,
    ) -> Result<(Matrix, KeyValues), DecoderError> {
        let ModelConfig { hidden_size, kv_heads, head_dim, .. } = self.config;
        let rows = hidden.len() / hidden_size;
        let group = self.config.group();
        let normed =
            Matrix::new(rms_norm(hidden, &block.attention_norm, self.config.norm_eps), rows, hidden_size);
        let packed = project(normed.view(), &block.query_key_value)?;
        if !all_finite(&packed) {
            let place = format!("block {}, queries, keys and values,", index + 1);
            return Err(DecoderError::NotFinite { place });
        }
        let width = block.query_key_value.rows();
        let key_start = self.config.heads * head_dim;
        let value_start = key_start + kv_heads * head_dim;
        let scale = 1.0 / (head_dim as f32).sqrt();
        let mut queries = vec![0f32; rows * key_start];
        let mut keys = vec![0f32; rows * kv_heads * head_dim];
        let mut values = vec![0f32; rows * kv_heads * head_dim];
        let heads = queries.par_chunks_mut(rows * group * head_dim);
        let heads =
            heads.zip(keys.par_chunks_mut(rows * head_dim)).zip(values.par_chunks_mut(rows * head_dim));
        heads.enumerate().for_each(|(kv_head, ((queries, keys), values))| {
            for (row, packed) in packed.chunks_exact(width).enumerate() {
                for member in 0..group {
                    let from = &packed[(kv_head * group + member) * head_dim..][..head_dim];
                    let to = &mut queries[(row * group + member) * head_dim..][..head_dim];
                    rope.rotate(row, from, scale, to);
                }
                let to = row * head_dim..(row + 1) * head_dim;
                let from = kv_head * head_dim;
                rope.rotate(row, &packed[key_start + from..][..head_dim], 1.0, &mut keys[to.clone()]);
                values[to].copy_from_slice(&packed[value_start + from..][..head_dim]);
            }
        });
        let key_values = KeyValues {
            keys: Matrix::new(keys, kv_heads * rows, head_dim),
            values: Matrix::new(values, kv_heads * rows, head_dim),
            tokens: rows,
        };
        Ok((Matrix::new(queries, self.config.heads * rows, head_dim), key_values))
    }

    fn attend(
        &self,
        index: usize,
        queries: &Matrix,
        prefix: &KeyValues,
        new: &KeyValues,
        request: &WeightRequest,
    ) -> Result<AttentionOutput, DecoderError> {
        let ModelConfig { heads, kv_heads, .. } = self.config;
        let input = AttentionInput { queries, prefix, new, heads, kv_heads };
        let output = match self.kernel {
            AttentionKernel::Fused => attention::fused(&input, request)?,
            AttentionKernel::Plain => Some(attention_plain::plain(&input, request)?),
        };
        output.ok_or_else(|| DecoderError::NotFinite {
            place: format!("block {}, attention weights,", index + 1),
        })
    }

    /// Output projection and feed-forward layer, both added to the residual stream.
    fn finish_block(
        &self,
        index: usize,
        block: &BlockWeights,
        hidden: &mut [f32],
        context: Vec<f32>,
    ) -> Result<(), DecoderError> {
        let ModelConfig { hidden_size, intermediate_size, norm_eps, .. } = self.config;
        let rows = hidden.len() / hidden_size;
        let context = Matrix::new(context, rows, block.attention_output.cols());
        add(hidden, &project(context.view(), &block.attention_output)?);
        for hidden in hidden.chunks_mut(FEED_FORWARD_ROWS * hidden_size) {
            let rows = hidden.len() / hidden_size;
            let normed = Matrix::new(rms_norm(hidden, &block.feed_forward_norm, norm_eps), rows, hidden_size);
            let gate_up = project(normed.view(), &block.gate_up)?;
            let gated = Matrix::new(swiglu(&gate_up, intermediate_size), rows, intermediate_size);
            add(hidden, &project(gated.view(), &block.down)?);
        }
        if !all_finite(hidden) {
            return Err(DecoderError::NotFinite { place: format!("the state after block {}", index + 1) });
        }
        Ok(())
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

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("config", &self.config)
            .field("kernel", &self.kernel)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Prefix").field("tokens", &self.tokens).finish_non_exhaustive()
    }
}
