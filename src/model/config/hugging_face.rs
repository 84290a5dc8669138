//! Reading `config.json`, with its old keys (`rope_theta`, `rope_scaling`) and its new ones
//! (`rope_parameters`).

use std::path::Path;

use serde_json::{Map, Value};

use super::{Architecture, ModelConfig, count, shown};
use crate::model::DecoderError;
use crate::model::rope::{RopeConfig, RopeScaling};

/// What a `LlamaConfig` without `rope_theta` means (Llama 1 and 2 were published so).
const LLAMA_THETA: f64 = 10_000.0;

/// The configuration in the text of a `config.json`; `path` names it in errors.
pub(crate) fn from_json(text: &str, path: &Path) -> Result<ModelConfig, DecoderError> {
    let map: Map<String, Value> = serde_json::from_str(text).map_err(|e| DecoderError::Container {
        path: path.to_owned(),
        format: "JSON",
        reason: e.to_string(),
    })?;
    let fields = Fields { path, prefix: "", map: &map };
    fields.one_of("model_type", Some(""), &["llama"])?;
    fields.one_of("hidden_act", Some("silu"), &["silu"])?;
    for field in ["attention_bias", "mlp_bias"] {
        if fields.present(field).is_some_and(|v| v != &Value::Bool(false)) {
            return Err(fields.wrong(field, "false: biases are not supported in llama"));
        }
    }
    for field in ["quantization_config", "sliding_window", "num_local_experts"] {
        if fields.present(field).is_some() {
            return Err(fields.wrong(field, "no such field in a llama model"));
        }
    }
    let hidden_size = fields.count("hidden_size")?;
    let heads = fields.count("num_attention_heads")?;
    let head_dim = match fields.present("head_dim") {
        Some(_) => fields.count("head_dim")?,
        None if hidden_size.is_multiple_of(heads) => hidden_size / heads,
        None => {
            return Err(fields.wrong("num_attention_heads", "a divisor of hidden_size, or head_dim given"));
        }
    };
    let kv_heads = match fields.present("num_key_value_heads") {
        Some(_) => fields.count("num_key_value_heads")?,
        None => heads,
    };
    ModelConfig {
        architecture: Architecture::Llama,
        vocab_size: fields.count("vocab_size")?,
        hidden_size,
        layers: fields.count("num_hidden_layers")?,
        heads,
        kv_heads,
        head_dim,
        intermediate_size: fields.count("intermediate_size")?,
        norm_eps: fields.positive("rms_norm_eps")? as f32,
        context_length: fields.count("max_position_embeddings")?,
        rope: rope(&fields)?,
    }
    .validated(path)
}

fn rope(fields: &Fields) -> Result<RopeConfig, DecoderError> {
    if fields.present("partial_rotary_factor").is_some_and(|v| v.as_f64() != Some(1.0)) {
        return Err(fields.wrong("partial_rotary_factor", "1: the whole head rotates"));
    }
    let outer_theta = match fields.present("rope_theta") {
        Some(_) => Some(fields.positive("rope_theta")?),
        None => None,
    };
    let name = if fields.present("rope_parameters").is_some() { "rope_parameters" } else { "rope_scaling" };
    let map = match fields.present(name) {
        None => {
            return Ok(RopeConfig { theta: outer_theta.unwrap_or(LLAMA_THETA), scaling: RopeScaling::None });
        }
        Some(Value::Object(map)) => map,
        Some(_) => return Err(fields.wrong(name, "an object")),
    };
    let inner = Fields { path: fields.path, prefix: name, map };
    let theta = match inner.present("rope_theta") {
        Some(_) => inner.positive("rope_theta")?,
        None => outer_theta.unwrap_or(LLAMA_THETA),
    };
    // `type` is the key of the oldest files.
    let key = if inner.present("rope_type").is_some() { "rope_type" } else { "type" };
    let scaling = match inner.one_of(key, None, &["default", "linear", "llama3"])? {
        "linear" => RopeScaling::Linear { factor: inner.positive("factor")? },
        "llama3" => RopeScaling::Llama3 {
            factor: inner.positive("factor")?,
            low_freq_factor: inner.positive("low_freq_factor")?,
            high_freq_factor: inner.positive("high_freq_factor")?,
            original_context_length: inner.positive("original_max_position_embeddings")?,
        },
        _ => RopeScaling::None,
    };
    Ok(RopeConfig { theta, scaling })
}

struct Fields<'a> {
    path: &'a Path,
    prefix: &'static str,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// The value; `null` counts as absent.
    fn present(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field).filter(|v| !v.is_null())
    }

    fn wrong(&self, field: &str, expected: &str) -> DecoderError {
        let dot = if self.prefix.is_empty() { "" } else { "." };
        DecoderError::Field {
            path: self.path.to_owned(),
            field: format!("{}{dot}{field}", self.prefix),
            expected: expected.to_owned(),
            found: self.found(field),
        }
    }

    fn found(&self, field: &str) -> String {
        self.present(field).map_or_else(|| "nothing".to_owned(), |v| shown(&v.to_string()))
    }

    fn count(&self, field: &str) -> Result<usize, DecoderError> {
        count(self.path, field, self.present(field).and_then(Value::as_u64), &self.found(field))
    }

    fn positive(&self, field: &str) -> Result<f64, DecoderError> {
        let value = self.present(field).and_then(Value::as_f64).filter(|x| *x > 0.0);
        value.ok_or_else(|| self.wrong(field, "a positive number"))
    }

    /// The string value, which must be one of `known`; `absent` stands for a missing field where one may miss.
    fn one_of(
        &self,
        field: &str,
        absent: Option<&'static str>,
        known: &[&'static str],
    ) -> Result<&'static str, DecoderError> {
        let value = match self.present(field) {
            Some(value) => value.as_str(),
            None => absent,
        };
        let found = known.iter().find(|k| Some(**k) == value);
        found.copied().ok_or_else(|| self.wrong(field, &format!("one of {known:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LLAMA_3_2: &str = r#"{"model_type":"llama","architectures":["LlamaForCausalLM"],"vocab_size":128256,
        "hidden_size":2048,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":64,
        "intermediate_size":8192,"rms_norm_eps":1e-05,"max_position_embeddings":131072,"hidden_act":"silu",
        "torch_dtype":"bfloat16","rope_theta":500000.0,"rope_scaling":{"factor":32.0,"high_freq_factor":4.0,
        "low_freq_factor":1.0,"original_max_position_embeddings":8192,"rope_type":"llama3"}}"#;

    fn read(text: &str) -> Result<ModelConfig, DecoderError> {
        from_json(text, Path::new("config.json"))
    }

    fn edited(edit: impl Fn(&mut Map<String, Value>)) -> String {
        let mut map: Map<String, Value> = serde_json::from_str(LLAMA_3_2).unwrap();
        edit(&mut map);
        Value::Object(map).to_string()
    }

    #[test]
    fn old_and_new_rope_keys_mean_the_same() {
        let old = read(LLAMA_3_2).unwrap();
        let new = read(&edited(|m| {
            let mut rope = m.remove("rope_scaling").unwrap();
            rope["rope_theta"] = m.remove("rope_theta").unwrap();
            m.insert("rope_parameters".into(), rope);
            let dtype = m.remove("torch_dtype").unwrap();
            m.insert("dtype".into(), dtype);
        }))
        .unwrap();
        assert_eq!(old, new);
        assert_eq!(old.group(), 4);
        assert_eq!(old.rope.theta, 500_000.0);
        assert!(matches!(old.rope.scaling, RopeScaling::Llama3 { factor: 32.0, .. }));
    }

    #[test]
    fn absent_and_null_fields_take_the_meaning_of_the_format() {
        let config = read(&edited(|m| {
            for key in ["head_dim", "num_key_value_heads", "rope_scaling"] {
                m.insert(key.into(), Value::Null);
            }
            m.remove("rope_theta");
        }))
        .unwrap();
        assert_eq!((config.head_dim, config.kv_heads), (64, 32));
        assert_eq!(config.rope, RopeConfig { theta: 10_000.0, scaling: RopeScaling::None });
    }

    #[test]
    fn what_is_not_computed_is_refused_by_name() {
        let cases: [(&str, Value); 12] = [
            ("model_type", "gpt2".into()),
            ("model_type", Value::Null),
            ("hidden_act", "gelu".into()),
            ("attention_bias", true.into()),
            ("quantization_config", serde_json::json!({"bits": 4})),
            ("num_hidden_layers", 0.into()),
            ("num_hidden_layers", serde_json::json!(-3)),
            ("hidden_size", serde_json::json!(1e30)),
            ("rms_norm_eps", Value::Null),
            ("rope_theta", "\u{1b}[2J".into()),
            ("partial_rotary_factor", serde_json::json!(0.5)),
            ("rope_scaling", serde_json::json!("yarn")),
        ];
        for (field, value) in cases {
            let error =
                read(&edited(|m| drop(m.insert(field.into(), value.clone())))).unwrap_err().to_string();
            assert!(error.contains(field), "{field}: {error}");
            assert!(!error.contains('\u{1b}'));
        }
        let error =
            read(&edited(|m| m["rope_scaling"]["rope_type"] = "yarn".into())).unwrap_err().to_string();
        assert!(error.contains("rope_scaling.rope_type") && error.contains("yarn"), "{error}");
        let error = read(&edited(|m| m["num_key_value_heads"] = 5.into())).unwrap_err().to_string();
        assert!(error.contains("divisor of the 32"), "{error}");
        assert!(read("[]").is_err() && read("{").is_err());
    }
}
