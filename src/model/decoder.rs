//! The instrumented decoder: reads tokens and keeps what a [`CaptureRequest`](super::CaptureRequest) asks for.

mod extension;
#[cfg(test)]
mod extension_tests;

mod sequence;
mod summary;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::attention::{AttentionKernel, KeyValues, WeightRequest};
use super::block::Block;
use super::device::{DeviceEngine, KeysAndValues, Placement};
use super::product::Matrix;
use super::rope::{RopeConfig, RopeTable};
use super::weights::{GgufWeights, SafetensorsWeights, Weights};
use super::{DecoderError, ModelConfig, config};
use crate::disk::{LONGEST_SETTINGS, read_regular_text};

pub use sequence::Sequence;
pub use summary::{MemoryEstimate, ModelSummary, StoredAs};

/// A decoder: over slices in f32 on the CPU, or over tensors of a device. Reading needs no mutable access: one decoder serves many threads.
pub struct Decoder {
    config: ModelConfig,
    /// Empty where a device holds them.
    weights: Weights,
    /// Reads instead of the slices where there is one.
    pub(super) device: Option<DeviceEngine>,
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
    /// The same on a device; then `layers` is empty.
    on_device: Arc<[KeysAndValues]>,
    /// The state that enters each block, [tokens, d], where it was asked for.
    inputs: Option<Arc<[Vec<f32>]>>,
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
        let text = read_regular_text(&file, LONGEST_SETTINGS)
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
        Self {
            config,
            weights,
            device: None,
            inverse_frequencies,
            local_frequencies,
            kernel,
            identity: Arc::new(()),
        }
    }

    /// The same decoder where it is asked for: weights move to a device, the host keeps none.
    ///
    /// # Errors
    /// A device this build does not know, that does not answer, or whose memory is too small.
    pub fn placed(self, placement: Placement) -> Result<Self, DecoderError> {
        let Some((device, dtype)) = placement.resolve()? else { return Ok(self) };
        let engine = DeviceEngine::new(self.weights, device, dtype)?;
        // Prefixes read before mean nothing any more.
        Ok(Self { weights: Weights::moved_away(), device: Some(engine), identity: Arc::new(()), ..self })
    }

    #[cfg(test)]
    pub(super) fn device_mut(&mut self) -> Option<&mut DeviceEngine> {
        self.device.as_mut()
    }

    /// Where it computes and in which numbers, such as `cpu f32` or `cuda bf16`.
    pub fn placement(&self) -> String {
        self.device.as_ref().map_or_else(|| "cpu f32".to_owned(), DeviceEngine::description)
    }

    /// The same decoder with attention computed another way; on a device there is one way only.
    #[must_use]
    pub fn with_attention(self, kernel: AttentionKernel) -> Self {
        Self { kernel, ..self }
    }

    /// The same decoder with a shorter context; a longer one than the model's own it has not.
    #[must_use]
    pub fn reading_at_most(mut self, tokens: usize) -> Self {
        self.config.context_length = self.config.context_length.min(tokens);
        self
    }

    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Reads the start of a sequence once, for several continuations. No token at all is a valid prefix.
    ///
    /// # Errors
    /// An unknown token, too many tokens, or a state that is not finite.
    pub fn prefix(&self, ids: &[u32]) -> Result<Prefix, DecoderError> {
        self.read_prefix(ids, false)
    }

    /// [`Self::prefix`] that also keeps the state entering every block, which the information contribution of a
    /// continuation is measured against: tokens x d x L x 4 bytes more (55 MB for 800 tokens of the default model).
    ///
    /// # Errors
    /// Those of [`Self::prefix`].
    pub fn prefix_with_inputs(&self, ids: &[u32]) -> Result<Prefix, DecoderError> {
        self.read_prefix(ids, true)
    }

    fn read_prefix(&self, ids: &[u32], keep_inputs: bool) -> Result<Prefix, DecoderError> {
        self.check_tokens(0, ids)?;
        if let Some(device) = &self.device {
            let ropes = self.rotations(0, ids.len());
            let on_device = device.prefix(&self.config, ids, |block| ropes.of(block))?.into();
            let decoder = Arc::clone(&self.identity);
            return Ok(Prefix { layers: Arc::new([]), on_device, inputs: None, tokens: ids.len(), decoder });
        }
        let nothing = self.nothing();
        let mut layers = Vec::with_capacity(self.config.layers);
        let mut inputs: Vec<Vec<f32>> = Vec::new();
        if ids.is_empty() {
            layers = nothing;
            inputs = vec![Vec::new(); self.config.layers];
        } else {
            let ropes = self.rotations(0, ids.len());
            let mut hidden = self.embed(ids);
            for (block, before) in self.blocks().zip(&nothing) {
                let index = block.index;
                if keep_inputs {
                    inputs.push(hidden.clone());
                }
                let (queries, new) = block.queries_keys_values(&hidden, ropes.of(index))?;
                // Nothing after the keys and values of the last block is used by a continuation.
                if index + 1 < self.config.layers {
                    let request = WeightRequest::of_segments(&[]);
                    let attention = block.attend(&queries, before, &new, &request)?;
                    block.finish(&mut hidden, attention.context)?;
                }
                layers.push(new);
            }
        }
        let inputs = keep_inputs.then(|| inputs.into());
        let decoder = Arc::clone(&self.identity);
        Ok(Prefix { layers: layers.into(), on_device: Arc::new([]), inputs, tokens: ids.len(), decoder })
    }

    /// [V, d]
    pub(super) fn output_head(&self) -> &Matrix {
        self.weights.output.as_ref().unwrap_or(&self.weights.embedding)
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
        let table = |frequencies: &[f32], rope: &RopeConfig| {
            RopeTable::new(frequencies, rope.magnitude(), first, positions)
        };
        let local = self.local_frequencies.as_deref().zip(self.config.local_rope.as_ref());
        Rotations {
            global: table(&self.inverse_frequencies, &self.config.rope),
            local: local.map(|(frequencies, rope)| table(frequencies, rope)),
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

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("config", &self.config)
            .field("kernel", &self.kernel)
            .field("placement", &self.placement())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Prefix").field("tokens", &self.tokens).finish_non_exhaustive()
    }
}
