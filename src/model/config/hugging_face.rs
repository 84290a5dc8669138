//! Reading `config.json`, with its old keys and its new ones.

use std::path::Path;

use serde_json::{Map, Value};

use super::json_fields::Fields;
use super::json_rope::rope;
use super::{Architecture, ModelConfig};
use crate::model::DecoderError;

const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";

/// The configuration in the text of a `config.json`; `path` names it in errors.
pub(crate) fn from_json(text: &str, path: &Path) -> Result<ModelConfig, DecoderError> {
    let map: Map<String, Value> = serde_json::from_str(text).map_err(|e| DecoderError::Container {
        path: path.to_owned(),
        format: "JSON",
        reason: e.to_string(),
    })?;
    let fields = Fields { path, prefix: String::new(), map: &map };
    let known = ["llama", "mistral", "qwen2", "qwen3", "gemma3_text", "phi3"];
    let architecture = match fields.one_of("model_type", None, &known)? {
        "llama" => Architecture::Llama,
        "mistral" => Architecture::Mistral,
        "qwen2" => Architecture::Qwen2,
        "qwen3" => Architecture::Qwen3,
        "gemma3_text" => Architecture::Gemma3,
        _ => Architecture::Phi3,
    };
    check_fixed_parts(&fields, architecture)?;
    let hidden_size = fields.count("hidden_size")?;
    let layers = fields.count("num_hidden_layers")?;
    let heads = fields.count("num_attention_heads")?;
    let head_dim = match fields.present("head_dim") {
        Some(_) => fields.count("head_dim")?,
        None if matches!(architecture, Architecture::Qwen3 | Architecture::Gemma3) => {
            return Err(fields.wrong("head_dim", "the width of a head, which does not follow from others"));
        }
        None if hidden_size.is_multiple_of(heads) => hidden_size / heads,
        None => {
            return Err(fields.wrong("num_attention_heads", "a divisor of hidden_size, or head_dim given"));
        }
    };
    let kv_heads = match fields.present("num_key_value_heads") {
        Some(_) => fields.count("num_key_value_heads")?,
        None => heads,
    };
    let query_scalar = if architecture == Architecture::Gemma3 {
        fields.positive("query_pre_attn_scalar")? as f32
    } else {
        head_dim as f32
    };
    let (rope, local_rope) = rope(&fields, architecture, head_dim)?;
    ModelConfig {
        architecture,
        vocab_size: fields.count("vocab_size")?,
        hidden_size,
        layers,
        heads,
        kv_heads,
        head_dim,
        intermediate_size: fields.count("intermediate_size")?,
        norm_eps: fields.positive("rms_norm_eps")? as f32,
        context_length: fields.count("max_position_embeddings")?,
        rope,
        local_rope,
        windows: windows(&fields, architecture, layers)?,
        query_scalar,
    }
    .validated(path)
}

/// Settings that the decoder knows in one form only.
fn check_fixed_parts(fields: &Fields, architecture: Architecture) -> Result<(), DecoderError> {
    let name = architecture.name();
    if architecture == Architecture::Gemma3 {
        // `hidden_act` is an older name of the same field in some files.
        let given = fields.present("hidden_activation").is_some();
        let field = if given { "hidden_activation" } else { "hidden_act" };
        fields.one_of(field, None, &["gelu_pytorch_tanh"])?;
    } else {
        fields.one_of("hidden_act", Some("silu"), &["silu"])?;
    }
    for field in ["attention_bias", "mlp_bias", "use_bidirectional_attention"] {
        if fields.present(field).is_some_and(|v| v != &Value::Bool(false)) {
            return Err(fields.wrong(field, &format!("false: {name} has no such thing here")));
        }
    }
    let absent =
        ["quantization_config", "num_local_experts", "attn_logit_softcapping", "final_logit_softcapping"];
    for field in absent {
        if fields.present(field).is_some() {
            return Err(fields.wrong(field, &format!("no such field in a {name} model")));
        }
    }
    Ok(())
}

/// What each block sees.
fn windows(
    fields: &Fields,
    architecture: Architecture,
    layers: usize,
) -> Result<Vec<Option<usize>>, DecoderError> {
    // A file may claim a million layers; weights are counted before that many are believed.
    let all = |window| Ok(vec![window; layers]);
    let given = |field| fields.present(field).map(|_| fields.count(field)).transpose();
    let kinds = layer_kinds(fields, layers)?;
    match architecture {
        Architecture::Llama => {
            if fields.present("sliding_window").is_some() {
                return Err(fields.wrong("sliding_window", "no such field in a llama model"));
            }
            uniform(fields, kinds.as_deref(), false)?;
            all(None)
        }
        Architecture::Mistral | Architecture::Phi3 => {
            // Mistral's published default is a window, so a missing field says nothing.
            if architecture == Architecture::Mistral && !fields.map.contains_key("sliding_window") {
                return Err(fields.wrong("sliding_window", "a number of tokens, or null for no window"));
            }
            let window = given("sliding_window")?;
            uniform(fields, kinds.as_deref(), window.is_some())?;
            all(window)
        }
        Architecture::Qwen2 | Architecture::Qwen3 => {
            if !fields.flag("use_sliding_window")? {
                uniform(fields, kinds.as_deref(), false)?;
                return all(None);
            }
            let window = Some(fields.count("sliding_window")?);
            if let Some(kinds) = kinds {
                return Ok(kinds.iter().map(|sliding| window.filter(|_| *sliding)).collect());
            }
            let whole = fields.present("max_window_layers").and_then(Value::as_u64).ok_or_else(|| {
                fields.wrong("max_window_layers", "the number of layers without a window, or layer_types")
            })?;
            Ok((0..layers).map(|layer| window.filter(|_| layer as u64 >= whole)).collect())
        }
        Architecture::Gemma3 => {
            let window = Some(fields.count("sliding_window")?);
            if let Some(kinds) = kinds {
                return Ok(kinds.iter().map(|sliding| window.filter(|_| *sliding)).collect());
            }
            let pattern = match given("_sliding_window_pattern")? {
                Some(pattern) => pattern,
                None if fields.present("sliding_window_pattern").is_some() => {
                    fields.count("sliding_window_pattern")?
                }
                None => return Err(fields.wrong("layer_types", "the type of each layer")),
            };
            Ok((1..=layers).map(|layer| window.filter(|_| !layer.is_multiple_of(pattern))).collect())
        }
    }
}

/// For each layer whether it has a window, from `layer_types`; `None` where the field is absent.
fn layer_kinds(fields: &Fields, layers: usize) -> Result<Option<Vec<bool>>, DecoderError> {
    let Some(value) = fields.present("layer_types") else { return Ok(None) };
    let kinds: Option<Vec<bool>> = value.as_array().filter(|kinds| kinds.len() == layers).and_then(|kinds| {
        let known = |kind: &Value| match kind.as_str() {
            Some(FULL) => Some(false),
            Some(SLIDING) => Some(true),
            _ => None,
        };
        kinds.iter().map(known).collect()
    });
    let expected = format!("{layers} times {FULL:?} or {SLIDING:?}");
    kinds.map(Some).ok_or_else(|| fields.wrong("layer_types", &expected))
}

/// Refuses `layer_types` that say something else than the rest of the file.
fn uniform(fields: &Fields, kinds: Option<&[bool]>, sliding: bool) -> Result<(), DecoderError> {
    if kinds.is_some_and(|kinds| kinds.iter().any(|kind| *kind != sliding)) {
        let kind = if sliding { SLIDING } else { FULL };
        return Err(fields.wrong("layer_types", &format!("{kind:?} alone, as the other fields say")));
    }
    Ok(())
}

#[cfg(test)]
#[path = "hugging_face_tests.rs"]
mod tests;
