//! The instrumented decoder: reads tokens and keeps what a [`CaptureRequest`] asks for.

mod sequence;
mod summary;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::attention::{AttentionKernel, AttentionOutput, KeyValues, WeightRequest};
use super::block::Block;
use super::capture::block_of;
use super::elementwise::{all_finite, rms_norm};
use super::next_token::predict;
use super::product::Matrix;
use super::rope::RopeTable;
use super::weights::{GgufWeights, SafetensorsWeights, Weights};
use super::{Capture, CaptureRequest, DecoderError, ModelConfig, StateLayer, config};

pub use sequence::Sequence;
pub use summary::{MemoryEstimate, ModelSummary, StoredAs};

/// A decoder in f32 on the CPU. Reading needs no mutable access: one decoder serves many threads.
pub struct Decoder {
    config: ModelConfig,
    weights: Weights,
    inverse_frequencies: Vec<f32>,
    /// Those of the blocks with a window, where they differ.
    local_frequencies: Option<Vec<f32>>,
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
        let mut source = SafetensorsWeights::open(path, config.architecture)?;
        let weights = Weights::load(&mut source, &config)?;
        Ok(Self::new(config, weights))
    }

    fn new(config: ModelConfig, weights: Weights) -> Self {
        let inverse_frequencies = config.rope.inverse_frequencies(config.head_dim);
        let local = config.local_rope.as_ref();
        let local_frequencies = local.map(|rope| rope.inverse_frequencies(config.head_dim));
        let kernel = AttentionKernel::default();
        Self { config, weights, inverse_frequencies, local_frequencies, kernel, identity: Arc::new(()) }
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
            let ropes = self.rotations(0, ids.len());
            let mut hidden = self.embed(ids);
            for (block, before) in self.blocks().zip(&nothing) {
                let index = block.index;
                let (queries, new) = block.queries_keys_values(&hidden, ropes.of(index))?;
                // Nothing after the keys and values of the last block is used by a continuation.
                if index + 1 < self.config.layers {
                    let request = WeightRequest { segments: &[], among_new: false, full: false };
                    let attention = block.attend(&queries, before, &new, &request)?;
                    block.finish(&mut hidden, attention.context)?;
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
        let ropes = self.rotations(prefix.tokens, rows);
        let mut hidden = self.embed(ids);
        for (block, before) in self.blocks().zip(prefix.layers.iter()) {
            let index = block.index;
            let (queries, new) = block.queries_keys_values(&hidden, ropes.of(index))?;
            let wanted = |layer: &StateLayer| block_of(*layer, layers) == index;
            let weight_request = WeightRequest {
                segments: &request.segments,
                among_new: request.attention_among_new.iter().any(wanted),
                full: request.full_attention,
            };
            let attention = block.attend(&queries, before, &new, &weight_request)?;
            capture.keep_attention(index, &attention, request);
            block.finish(&mut hidden, attention.context)?;
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

    fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        let (config, kernel) = (&self.config, self.kernel);
        let weights = self.weights.blocks.iter().enumerate();
        weights.map(move |(index, weights)| Block { index, config, weights, kernel })
    }

    /// Rotations of a run of positions.
    fn rotations(&self, first: usize, positions: usize) -> Rotations<'_> {
        let table = |frequencies: &[f32]| RopeTable::new(frequencies, first, positions);
        Rotations {
            global: table(&self.inverse_frequencies),
            local: self.local_frequencies.as_deref().map(table),
            windows: &self.config.windows,
        }
    }

    /// Rows of the embedding table, scaled as the architecture asks, [rows, d].
    pub(super) fn embed(&self, ids: &[u32]) -> Vec<f32> {
        let width = self.config.hidden_size;
        let table = self.weights.embedding.values();
        let rows = ids.iter().flat_map(|id| &table[*id as usize * width..][..width]);
        let scale = self.config.embedding_scale();
        rows.map(|x| x * scale).collect()
    }
}

/// Tables of both rotations.
struct Rotations<'a> {
    global: RopeTable,
    local: Option<RopeTable>,
    windows: &'a [Option<usize>],
}

impl Rotations<'_> {
    /// The one of a block: see [`ModelConfig::rope_of`].
    fn of(&self, block: usize) -> &RopeTable {
        match (&self.local, self.windows.get(block)) {
            (Some(local), Some(Some(_))) => local,
            _ => &self.global,
        }
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
