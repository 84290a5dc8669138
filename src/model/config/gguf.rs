//! Reading the metadata of a GGUF file, as llama.cpp's converter writes it.

use std::collections::HashMap;
use std::path::Path;

use candle_core::quantized::gguf_file::Value;

use super::{Architecture, ModelConfig, count, shown};
use crate::model::DecoderError;
use crate::model::rope::{RopeConfig, RopeScaling, yarn_magnitude};

/// What a GGUF Llama without `llama.rope.freq_base` means.
const LLAMA_THETA: f64 = 10_000.0;
/// Gemma 3 without a key for it: base of the rotation in blocks with a window. The converter never writes it.
const GEMMA_LOCAL_THETA: f64 = 10_000.0;
/// Gemma 3: every sixth block sees everything. Not in the file either.
const GEMMA_PATTERN: usize = 6;
/// Blocks of Gemma 3 27B, the one size that divides scores by √(d / H) instead of √D.
const GEMMA_27B_LAYERS: usize = 62;

/// Tensors that belong to the rotation, where the file has them.
#[derive(Default)]
pub(crate) struct RopeTensors {
    /// `rope_freqs.weight`: Llama 3.
    pub divisors: Option<Vec<f32>>,
    /// `rope_factors_short.weight`: `LongRoPE` within the original context.
    pub short_factors: Option<Vec<f32>>,
}

/// The configuration in a GGUF file's metadata.
///
/// `vocab_size` is the number of rows of the embedding table (the metadata key is optional).
pub(crate) fn from_metadata(
    metadata: &HashMap<String, Value>,
    vocab_size: usize,
    tensors: RopeTensors,
    path: &Path,
) -> Result<ModelConfig, DecoderError> {
    let mut fields = Fields { path, metadata, prefix: "" };
    // Mistral's converter says llama.
    let architecture = match fields.string("general.architecture") {
        Some("llama") => Architecture::Llama,
        Some("qwen2") => Architecture::Qwen2,
        Some("qwen3") => Architecture::Qwen3,
        Some("gemma3") => Architecture::Gemma3,
        Some("phi3") => Architecture::Phi3,
        _ => {
            return Err(fields.wrong("general.architecture", "one of llama, qwen2, qwen3, gemma3 and phi3"));
        }
    };
    fields.prefix = architecture.name();
    if fields.unsigned(".expert_count").is_some_and(|n| n > 0) {
        return Err(fields.wrong(".expert_count", "0: mixtures of experts are not supported"));
    }
    for key in [".attn_logit_softcapping", ".final_logit_softcapping"] {
        if fields.present(key) {
            return Err(fields.wrong(key, &format!("no such field in a {} model", architecture.name())));
        }
    }
    if fields.present(".vocab_size") && fields.count(".vocab_size")? != vocab_size {
        return Err(fields.wrong(".vocab_size", &format!("{vocab_size}, the rows of token_embd.weight")));
    }
    let hidden_size = fields.count(".embedding_length")?;
    let layers = fields.count(".block_count")?;
    let heads = fields.count(".attention.head_count")?;
    let head_dim = if fields.present(".attention.key_length") {
        fields.count(".attention.key_length")?
    } else if hidden_size.is_multiple_of(heads) {
        hidden_size / heads
    } else {
        return Err(fields.wrong(".attention.head_count", "a divisor of the embedding length"));
    };
    for key in [".attention.value_length", ".rope.dimension_count"] {
        if fields.present(key) && fields.count(key)? != head_dim {
            return Err(fields.wrong(key, &format!("{head_dim}, the width of a head")));
        }
    }
    let kv_heads = if fields.present(".attention.head_count_kv") {
        fields.count(".attention.head_count_kv")?
    } else {
        heads
    };
    let query_scalar = if architecture == Architecture::Gemma3 && layers == GEMMA_27B_LAYERS {
        hidden_size / heads
    } else {
        head_dim
    };
    ModelConfig {
        architecture,
        vocab_size,
        hidden_size,
        layers,
        heads,
        kv_heads,
        head_dim,
        intermediate_size: fields.count(".feed_forward_length")?,
        norm_eps: fields.positive(".attention.layer_norm_rms_epsilon")? as f32,
        context_length: fields.count(".context_length")?,
        rope: rope(&fields, architecture, tensors, head_dim)?,
        local_rope: local_rope(&fields, architecture)?,
        windows: windows(&fields, architecture, layers)?,
        query_scalar: query_scalar as f32,
    }
    .validated(path)
}

/// What each block sees.
fn windows(
    fields: &Fields,
    architecture: Architecture,
    layers: usize,
) -> Result<Vec<Option<usize>>, DecoderError> {
    let (key, pattern_key) = (".attention.sliding_window", ".attention.sliding_window_pattern");
    // Some writers say 0 for no window.
    let window = match fields.unsigned(key) {
        Some(0) => None,
        _ if fields.present(key) => Some(fields.count(key)?),
        _ => None,
    };
    if architecture == Architecture::Gemma3 {
        let window = Some(window.ok_or_else(|| fields.wrong(key, "the window of the local layers"))?);
        let pattern = if fields.present(pattern_key) { fields.count(pattern_key)? } else { GEMMA_PATTERN };
        return Ok((1..=layers).map(|layer| window.filter(|_| !layer.is_multiple_of(pattern))).collect());
    }
    if fields.present(pattern_key) {
        return Err(fields.wrong(pattern_key, "no such field: which layers have a window is not known"));
    }
    if window.is_some() && matches!(architecture, Architecture::Qwen2 | Architecture::Qwen3) {
        return Err(fields.wrong(key, "no such field: which layers have a window is not known"));
    }
    Ok(vec![window; layers])
}

fn local_rope(fields: &Fields, architecture: Architecture) -> Result<Option<RopeConfig>, DecoderError> {
    if architecture != Architecture::Gemma3 {
        return Ok(None);
    }
    let key = ".rope.freq_base_swa";
    let theta = if fields.present(key) { fields.positive(key)? } else { GEMMA_LOCAL_THETA };
    Ok(Some(RopeConfig { theta, scaling: RopeScaling::None }))
}

fn rope(
    fields: &Fields,
    architecture: Architecture,
    tensors: RopeTensors,
    head_dim: usize,
) -> Result<RopeConfig, DecoderError> {
    let theta = if architecture == Architecture::Llama && !fields.present(".rope.freq_base") {
        LLAMA_THETA
    } else {
        fields.positive(".rope.freq_base")?
    };
    let kind = ".rope.scaling.type";
    let named = match fields.string(kind) {
        None if fields.present(kind) => return Err(fields.wrong(kind, "a string")),
        // The key of files from before the type was stored.
        None if fields.present(".rope.scale_linear") => {
            RopeScaling::Linear { factor: fields.positive(".rope.scale_linear")? }
        }
        None | Some("none") => RopeScaling::None,
        Some("linear") => RopeScaling::Linear { factor: fields.positive(".rope.scaling.factor")? },
        Some("yarn") => yarn(fields)?,
        // Converters write it beside the tensors or leave it out.
        Some("longrope") if tensors.short_factors.is_some() => RopeScaling::None,
        Some(_) => {
            let known = "\"none\", \"linear\", \"yarn\", or \"longrope\" with rope_factors_short.weight";
            return Err(fields.wrong(kind, known));
        }
    };
    let of_every_pair = |name: &str, values: Vec<f32>| {
        if values.len() == head_dim / 2 {
            return Ok(values);
        }
        Err(fields.wrong(name, &format!("{} values", head_dim / 2)))
    };
    let scaling = match (tensors.divisors, tensors.short_factors, named) {
        (None, None, named) => named,
        (Some(divisors), None, RopeScaling::None) => {
            RopeScaling::Divisors(of_every_pair("rope_freqs.weight", divisors)?)
        }
        (None, Some(factors), RopeScaling::None) => RopeScaling::LongRope {
            divisors: of_every_pair("rope_factors_short.weight", factors)?,
            original_context_length: fields.count(".rope.scaling.original_context_length")?,
            magnitude: fields.positive(".rope.scaling.attn_factor")?,
        },
        _ => return Err(fields.wrong(kind, "\"none\" beside one tensor of rotary divisors")),
    };
    Ok(RopeConfig { theta, scaling })
}

/// `YaRN` as llama.cpp reads it: the factor of the file comes on top of `0.1 ln(factor) + 1`.
fn yarn(fields: &Fields) -> Result<RopeScaling, DecoderError> {
    // Written for models that scale attention otherwise, none of which is known here.
    let multiplier = ".rope.scaling.yarn_log_multiplier";
    if fields.present(multiplier) {
        return Err(fields.wrong(multiplier, "no such field"));
    }
    let or = |key: &str, usual: f64| if fields.present(key) { fields.positive(key) } else { Ok(usual) };
    let factor = fields.positive(".rope.scaling.factor")?;
    Ok(RopeScaling::Yarn {
        factor,
        original_context_length: fields.count(".rope.scaling.original_context_length")? as f64,
        beta_fast: or(".rope.scaling.yarn_beta_fast", 32.0)?,
        beta_slow: or(".rope.scaling.yarn_beta_slow", 1.0)?,
        truncate: true,
        magnitude: or(".rope.scaling.attn_factor", 1.0)? * yarn_magnitude(factor, 1.0),
    })
}

struct Fields<'a> {
    path: &'a Path,
    metadata: &'a HashMap<String, Value>,
    /// The architecture, which keys that begin with a dot stand behind.
    prefix: &'static str,
}

impl<'a> Fields<'a> {
    fn full_key(&self, key: &str) -> String {
        let prefix = if key.starts_with('.') { self.prefix } else { "" };
        format!("{prefix}{key}")
    }

    fn value(&self, key: &str) -> Option<&'a Value> {
        self.metadata.get(&self.full_key(key))
    }

    fn present(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    fn string(&self, key: &str) -> Option<&'a str> {
        match self.value(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    fn unsigned(&self, key: &str) -> Option<u64> {
        let value = self.value(key)?;
        value.to_u64().ok().or_else(|| match *value {
            Value::I8(n) => u64::try_from(n).ok(),
            Value::I16(n) => u64::try_from(n).ok(),
            Value::I32(n) => u64::try_from(n).ok(),
            Value::I64(n) => u64::try_from(n).ok(),
            _ => None,
        })
    }

    fn count(&self, key: &str) -> Result<usize, DecoderError> {
        count(self.path, &self.full_key(key), self.unsigned(key), &self.found(key))
    }

    fn positive(&self, key: &str) -> Result<f64, DecoderError> {
        let value = match self.value(key) {
            Some(Value::F32(x)) => Some(f64::from(*x)),
            Some(Value::F64(x)) => Some(*x),
            _ => self.unsigned(key).map(|n| n as f64),
        };
        value.filter(|x| *x > 0.0).ok_or_else(|| self.wrong(key, "a positive number"))
    }

    fn found(&self, key: &str) -> String {
        match self.value(key) {
            None => "nothing".to_owned(),
            Some(Value::Array(values)) => format!("an array of {}", values.len()),
            Some(Value::String(text)) => format!("\"{}\"", shown(text)),
            Some(value) => shown(&format!("{value:?}")),
        }
    }

    fn wrong(&self, key: &str, expected: &str) -> DecoderError {
        DecoderError::Field {
            path: self.path.to_owned(),
            field: self.full_key(key),
            expected: expected.to_owned(),
            found: self.found(key),
        }
    }
}

#[cfg(test)]
#[path = "gguf_tests.rs"]
mod tests;
