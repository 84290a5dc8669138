//! Families of decoders and what tells them apart.

/// Families of decoders this crate computes: all are pre-norm with `RMSNorm`, rotary positions in half-split
/// pairs, grouped queries and a gated feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Architecture {
    /// Llama 2 and 3, and what shares their form.
    Llama,
    /// Llama's form, every block with a sliding window where the model has one.
    Mistral,
    /// Qwen2 and 2.5: biases on queries, keys and values.
    Qwen2,
    /// `RMSNorm` over each head's queries and keys before rotation.
    Qwen3,
    /// Head norms, norms also after attention and feed-forward, windows and another rotation in most
    /// blocks, scaled embeddings, GELU.
    Gemma3,
    /// Llama's form, projections packed in the file.
    Phi3,
}

/// What gates the feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    /// x · σ(x)
    Silu,
    /// The tanh approximation of GELU.
    GeluTanh,
}

impl Architecture {
    pub fn name(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Mistral => "mistral",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
            Self::Gemma3 => "gemma3",
            Self::Phi3 => "phi3",
        }
    }

    /// Whether queries, keys and values have a bias.
    pub(crate) fn has_biases(self) -> bool {
        self == Self::Qwen2
    }

    /// Whether each head's queries and keys are normed before they are rotated.
    pub(crate) fn norms_heads(self) -> bool {
        matches!(self, Self::Qwen3 | Self::Gemma3)
    }

    /// Whether the results of attention and feed-forward layer are normed before they are added.
    pub(crate) fn norms_results(self) -> bool {
        self == Self::Gemma3
    }

    pub(crate) fn activation(self) -> Activation {
        if self == Self::Gemma3 { Activation::GeluTanh } else { Activation::Silu }
    }
}
