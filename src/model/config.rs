//! The shape of a decoder, as its file describes it.
//!
//! Nothing unknown is taken for something known: an architecture, activation or rope type this crate does not
//! compute is an error that names the field.

mod gguf;
mod hugging_face;

use std::path::Path;

use super::DecoderError;
use super::rope::RopeConfig;

pub(crate) use gguf::from_metadata;
pub(crate) use hugging_face::from_json;

/// Families of decoders this crate computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Architecture {
    /// Pre-norm with `RMSNorm`, rotary positions in half-split pairs, grouped queries, `SwiGLU`, no biases.
    Llama,
}

impl Architecture {
    pub fn name(self) -> &'static str {
        match self {
            Self::Llama => "llama",
        }
    }
}

/// Everything about a decoder that is not a weight.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    pub architecture: Architecture,
    /// Rows of the embedding table.
    pub vocab_size: usize,
    /// Width d of a hidden state.
    pub hidden_size: usize,
    /// Blocks L.
    pub layers: usize,
    /// Query heads H of a block.
    pub heads: usize,
    /// Key/value heads; H is a multiple of them.
    pub kv_heads: usize,
    /// Width of a head, even.
    pub head_dim: usize,
    /// Width of the gated feed-forward layer.
    pub intermediate_size: usize,
    /// Added to the mean square in `RMSNorm`.
    pub norm_eps: f32,
    /// Most tokens one sequence may have.
    pub context_length: usize,
    pub rope: RopeConfig,
}

impl ModelConfig {
    /// Query heads that read the same key/value head.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// What must hold between the numbers before any weight is read.
    fn validated(self, path: &Path) -> Result<Self, DecoderError> {
        let wrong = |field: &str, expected: String, found: String| DecoderError::Field {
            path: path.to_owned(),
            field: field.to_owned(),
            expected,
            found,
        };
        if !self.heads.is_multiple_of(self.kv_heads) {
            return Err(wrong(
                "key/value heads",
                format!("a divisor of the {} attention heads", self.heads),
                self.kv_heads.to_string(),
            ));
        }
        if !self.head_dim.is_multiple_of(2) {
            return Err(wrong("head dimension", "an even number".to_owned(), self.head_dim.to_string()));
        }
        self.rope.validated(path)?;
        Ok(self)
    }
}

/// Largest count a field may claim: products of three stay inside u64, and no real model comes near.
const LARGEST_COUNT: u64 = 1 << 20;

/// A count of at least one and at most [`LARGEST_COUNT`] (context: 2^30).
fn count(path: &Path, field: &str, value: Option<u64>, found: &str) -> Result<usize, DecoderError> {
    let largest =
        if field.contains("context") || field.contains("position") { 1 << 30 } else { LARGEST_COUNT };
    value.filter(|n| (1..=largest).contains(n)).map(|n| n as usize).ok_or_else(|| DecoderError::Field {
        path: path.to_owned(),
        field: field.to_owned(),
        expected: format!("a whole number from 1 to {largest}"),
        found: shown(found),
    })
}

/// A value from a file, short and without control characters.
fn shown(value: &str) -> String {
    let short: String = value.chars().take(80).collect();
    let ellipsis = if short.len() < value.len() { "…" } else { "" };
    format!("{}{ellipsis}", short.escape_debug())
}
