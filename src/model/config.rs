//! The shape of a decoder, as its file describes it.
//!
//! Nothing unknown is taken for something known: an architecture, activation or rope type this crate does not
//! compute is an error that names the field.

mod architecture;
mod gguf;
mod hugging_face;
mod json_fields;
mod json_rope;

use std::path::Path;

use super::DecoderError;
use super::rope::{RopeConfig, RopeScaling};

pub(crate) use architecture::Activation;
pub use architecture::Architecture;
pub(crate) use gguf::{RopeTensors, from_metadata};
pub(crate) use hugging_face::from_json;

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
    /// Rotation in blocks that see everything, and in all others where `local_rope` is `None`.
    pub rope: RopeConfig,
    /// Rotation in blocks that see a window, where it differs.
    pub local_rope: Option<RopeConfig>,
    /// What each block sees, `[L]`: a token and the w - 1 tokens before it, or (`None`) all before it.
    pub windows: Vec<Option<usize>>,
    /// Attention scores are products of queries and keys divided by the square root of this: the width of a
    /// head, or what Gemma calls `query_pre_attn_scalar`.
    pub query_scalar: f32,
}

impl ModelConfig {
    /// Query heads that read the same key/value head.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// The rotation of a block, counted from 0.
    pub fn rope_of(&self, block: usize) -> &RopeConfig {
        match (&self.local_rope, self.windows.get(block)) {
            (Some(local), Some(Some(_))) => local,
            _ => &self.rope,
        }
    }

    /// What embeddings are multiplied with: √d in Gemma, else 1.
    pub(crate) fn embedding_scale(&self) -> f32 {
        if self.architecture == Architecture::Gemma3 { (self.hidden_size as f32).sqrt() } else { 1.0 }
    }

    /// What must hold between the numbers before any weight is read.
    fn validated(mut self, path: &Path) -> Result<Self, DecoderError> {
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
        for rope in [Some(&self.rope), self.local_rope.as_ref()].into_iter().flatten() {
            rope.validated(path)?;
        }
        if let RopeScaling::LongRope { original_context_length, .. } = self.rope.scaling {
            self.context_length = self.context_length.min(original_context_length);
        }
        Ok(self)
    }
}

/// Largest count a field may claim: products of three stay inside u64, and no real model comes near.
const LARGEST_COUNT: u64 = 1 << 20;

/// A count of at least one and at most [`LARGEST_COUNT`] (context: 2^30).
fn count(path: &Path, field: &str, value: Option<u64>, found: &str) -> Result<usize, DecoderError> {
    let long = ["context", "position", "window"].iter().any(|word| field.contains(word));
    let largest = if long { 1 << 30 } else { LARGEST_COUNT };
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
