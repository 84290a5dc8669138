//! Reading the metadata of a GGUF file.

use std::collections::HashMap;
use std::path::Path;

use candle_core::quantized::gguf_file::Value;

use super::{Architecture, ModelConfig, count, shown};
use crate::model::DecoderError;
use crate::model::rope::{RopeConfig, RopeScaling};

/// What a GGUF Llama without `llama.rope.freq_base` means.
const LLAMA_THETA: f64 = 10_000.0;

/// The configuration in a GGUF file's metadata.
///
/// `vocab_size` is the number of rows of the embedding table (the metadata key is optional), `divisors` are
/// the values of `rope_freqs.weight` where the file has it.
pub(crate) fn from_metadata(
    metadata: &HashMap<String, Value>,
    vocab_size: usize,
    divisors: Option<Vec<f32>>,
    path: &Path,
) -> Result<ModelConfig, DecoderError> {
    let fields = Fields { path, metadata };
    let architecture = match fields.string("general.architecture") {
        Some("llama") => Architecture::Llama,
        _ => return Err(fields.wrong("general.architecture", "\"llama\"")),
    };
    if fields.unsigned("llama.expert_count").is_some_and(|n| n > 0) {
        return Err(fields.wrong("llama.expert_count", "0: mixtures of experts are not supported"));
    }
    if fields.present("llama.vocab_size") && fields.count("llama.vocab_size")? != vocab_size {
        return Err(fields.wrong("llama.vocab_size", &format!("{vocab_size}, the rows of token_embd.weight")));
    }
    let hidden_size = fields.count("llama.embedding_length")?;
    let heads = fields.count("llama.attention.head_count")?;
    let head_dim = if fields.present("llama.attention.key_length") {
        fields.count("llama.attention.key_length")?
    } else if hidden_size.is_multiple_of(heads) {
        hidden_size / heads
    } else {
        return Err(fields.wrong("llama.attention.head_count", "a divisor of the embedding length"));
    };
    for key in ["llama.attention.value_length", "llama.rope.dimension_count"] {
        if fields.present(key) && fields.count(key)? != head_dim {
            return Err(fields.wrong(key, &format!("{head_dim}, the width of a head")));
        }
    }
    let kv_heads = if fields.present("llama.attention.head_count_kv") {
        fields.count("llama.attention.head_count_kv")?
    } else {
        heads
    };
    ModelConfig {
        architecture,
        vocab_size,
        hidden_size,
        layers: fields.count("llama.block_count")?,
        heads,
        kv_heads,
        head_dim,
        intermediate_size: fields.count("llama.feed_forward_length")?,
        norm_eps: fields.positive("llama.attention.layer_norm_rms_epsilon")? as f32,
        context_length: fields.count("llama.context_length")?,
        rope: rope(&fields, divisors, head_dim)?,
    }
    .validated(path)
}

fn rope(fields: &Fields, divisors: Option<Vec<f32>>, head_dim: usize) -> Result<RopeConfig, DecoderError> {
    let theta = if fields.present("llama.rope.freq_base") {
        fields.positive("llama.rope.freq_base")?
    } else {
        LLAMA_THETA
    };
    let kind = "llama.rope.scaling.type";
    let named = match fields.string(kind) {
        None if fields.present(kind) => return Err(fields.wrong(kind, "a string")),
        // The key of files from before the type was stored.
        None if fields.present("llama.rope.scale_linear") => {
            RopeScaling::Linear { factor: fields.positive("llama.rope.scale_linear")? }
        }
        None | Some("none") => RopeScaling::None,
        Some("linear") => RopeScaling::Linear { factor: fields.positive("llama.rope.scaling.factor")? },
        Some(_) => return Err(fields.wrong(kind, "\"none\" or \"linear\"")),
    };
    let scaling = match (divisors, named) {
        (None, named) => named,
        (Some(divisors), RopeScaling::None) if divisors.len() == head_dim / 2 => {
            RopeScaling::Divisors(divisors)
        }
        (Some(_), RopeScaling::None) => {
            return Err(fields.wrong("rope_freqs.weight", &format!("{} values", head_dim / 2)));
        }
        (Some(_), _) => return Err(fields.wrong(kind, "\"none\" beside rope_freqs.weight")),
    };
    Ok(RopeConfig { theta, scaling })
}

struct Fields<'a> {
    path: &'a Path,
    metadata: &'a HashMap<String, Value>,
}

impl<'a> Fields<'a> {
    fn present(&self, key: &str) -> bool {
        self.metadata.contains_key(key)
    }

    fn string(&self, key: &str) -> Option<&'a str> {
        match self.metadata.get(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    fn unsigned(&self, key: &str) -> Option<u64> {
        let value = self.metadata.get(key)?;
        value.to_u64().ok().or_else(|| match *value {
            Value::I8(n) => u64::try_from(n).ok(),
            Value::I16(n) => u64::try_from(n).ok(),
            Value::I32(n) => u64::try_from(n).ok(),
            Value::I64(n) => u64::try_from(n).ok(),
            _ => None,
        })
    }

    fn count(&self, key: &str) -> Result<usize, DecoderError> {
        count(self.path, key, self.unsigned(key), &self.found(key))
    }

    fn positive(&self, key: &str) -> Result<f64, DecoderError> {
        let value = match self.metadata.get(key) {
            Some(Value::F32(x)) => Some(f64::from(*x)),
            Some(Value::F64(x)) => Some(*x),
            _ => self.unsigned(key).map(|n| n as f64),
        };
        value.filter(|x| *x > 0.0).ok_or_else(|| self.wrong(key, "a positive number"))
    }

    fn found(&self, key: &str) -> String {
        match self.metadata.get(key) {
            None => "nothing".to_owned(),
            Some(Value::Array(values)) => format!("an array of {}", values.len()),
            Some(Value::String(text)) => format!("\"{}\"", shown(text)),
            Some(value) => shown(&format!("{value:?}")),
        }
    }

    fn wrong(&self, key: &str, expected: &str) -> DecoderError {
        DecoderError::Field {
            path: self.path.to_owned(),
            field: key.to_owned(),
            expected: expected.to_owned(),
            found: self.found(key),
        }
    }
}
