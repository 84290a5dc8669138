//! What the files beside an encoder's weights say.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use tokenizers::{Tokenizer, TruncationParams};

use super::{EncoderError, Pooling};
use crate::disk::{LONGEST_SETTINGS, read_regular_text};

/// `config.json` of a BERT encoder, as far as it changes numbers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct BertConfig {
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) intermediate_size: usize,
    pub(super) vocab_size: usize,
    pub(super) max_position_embeddings: usize,
    #[serde(default = "usual_epsilon")]
    pub(super) layer_norm_eps: f32,
}

const fn usual_epsilon() -> f32 {
    1e-12
}

/// All of it.
pub(super) struct Described {
    pub(super) config: BertConfig,
    pub(super) tokenizer: Tokenizer,
    pub(super) pooling: Pooling,
    pub(super) longest: usize,
}

pub(super) fn read(directory: &Path) -> Result<Described, EncoderError> {
    for missing in ["config.json", "tokenizer.json", "model.safetensors"] {
        if !directory.join(missing).is_file() {
            return Err(EncoderError::Incomplete { path: directory.to_owned(), missing });
        }
    }
    let config = config(&directory.join("config.json"))?;
    let longest = longest(directory, &config)?;
    let path = directory.join("tokenizer.json");
    let broken = |reason: String| EncoderError::Broken { path: path.clone(), reason };
    let mut tokenizer = Tokenizer::from_file(&path).map_err(|error| broken(error.to_string()))?;
    tokenizer
        .with_truncation(Some(TruncationParams { max_length: longest, ..TruncationParams::default() }))
        .map_err(|error| broken(error.to_string()))?;
    tokenizer.with_padding(None);
    // `[SEP]` in a document is five ordinary characters.
    tokenizer.set_encode_special_tokens(true);
    Ok(Described { pooling: pooling(directory)?, config, tokenizer, longest })
}

/// A JSON file; `None` where there is none.
fn json(path: &Path) -> Result<Option<Value>, EncoderError> {
    let text = match read_regular_text(path, LONGEST_SETTINGS) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(EncoderError::Read { path: path.to_owned(), source }),
    };
    let broken =
        |error: serde_json::Error| EncoderError::Broken { path: path.to_owned(), reason: error.to_string() };
    serde_json::from_str(&text).map(Some).map_err(broken)
}

fn config(path: &Path) -> Result<BertConfig, EncoderError> {
    let value = json(path)?.unwrap_or_default();
    let expect = |what: &str, expected: &str, usual: &str| {
        let found = value.get(what).and_then(Value::as_str).unwrap_or(usual);
        if found == expected {
            return Ok(());
        }
        Err(EncoderError::Unsupported {
            path: path.to_owned(),
            what: what.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
        })
    };
    expect("model_type", "bert", "nothing")?;
    expect("hidden_act", "gelu", "gelu")?;
    expect("position_embedding_type", "absolute", "absolute")?;
    let config: BertConfig = serde_json::from_value(value)
        .map_err(|error| EncoderError::Broken { path: path.to_owned(), reason: error.to_string() })?;
    let heads = config.num_attention_heads;
    if heads == 0 || config.hidden_size == 0 || !config.hidden_size.is_multiple_of(heads) {
        return Err(EncoderError::Unsupported {
            path: path.to_owned(),
            what: "num_attention_heads".to_owned(),
            expected: format!("a divisor of the hidden size {}", config.hidden_size),
            found: heads.to_string(),
        });
    }
    Ok(config)
}

/// `max_seq_length` of `sentence-transformers`, else as many as there are positions; never more than these.
fn longest(directory: &Path, config: &BertConfig) -> Result<usize, EncoderError> {
    let path = directory.join("sentence_bert_config.json");
    let said = json(&path)?.and_then(|value| value.get("max_seq_length").and_then(Value::as_u64));
    let longest = said.and_then(|said| usize::try_from(said).ok()).unwrap_or(usize::MAX);
    let longest = longest.min(config.max_position_embeddings);
    if longest < 3 {
        return Err(EncoderError::Unsupported {
            path,
            what: "max_seq_length".to_owned(),
            expected: "room for at least one word piece between [CLS] and [SEP]".to_owned(),
            found: longest.to_string(),
        });
    }
    Ok(longest)
}

/// The pooling of `modules.json`; without one the mean, as most encoders.
fn pooling(directory: &Path) -> Result<Pooling, EncoderError> {
    let path = directory.join("modules.json");
    let Some(modules) = json(&path)? else { return Ok(Pooling::Mean) };
    let mut pooling = Pooling::Mean;
    for (number, module) in modules.as_array().into_iter().flatten().enumerate() {
        let kind = module.get("type").and_then(Value::as_str).unwrap_or_default();
        let kind = kind.rsplit('.').next().unwrap_or_default();
        match (number, kind) {
            (0, "Transformer") | (_, "Normalize") => {}
            (_, "Pooling") => {
                let folder = module.get("path").and_then(Value::as_str).unwrap_or("1_Pooling");
                // A path that leaves the directory is none of an encoder's.
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if !folder.chars().all(plain) {
                    return Err(unknown_module(&path, folder));
                }
                pooling = pooling_of(&directory.join(folder).join("config.json"))?;
            }
            (_, other) => return Err(unknown_module(&path, other)),
        }
    }
    Ok(pooling)
}

fn unknown_module(path: &Path, found: &str) -> EncoderError {
    EncoderError::Unsupported {
        path: path.to_owned(),
        what: "module".to_owned(),
        expected: "Transformer, Pooling and Normalize".to_owned(),
        found: found.to_owned(),
    }
}

fn pooling_of(path: &Path) -> Result<Pooling, EncoderError> {
    let value = json(path)?.unwrap_or_default();
    let on: Vec<&str> = value
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| name.starts_with("pooling_mode_") && value.as_bool() == Some(true))
        .map(|(name, _)| name.trim_start_matches("pooling_mode_"))
        .collect();
    match on[..] {
        ["mean_tokens"] => Ok(Pooling::Mean),
        ["cls_token"] => Ok(Pooling::First),
        _ => Err(EncoderError::Unsupported {
            path: path.to_owned(),
            what: "pooling".to_owned(),
            expected: "mean_tokens or cls_token".to_owned(),
            found: if on.is_empty() { "none".to_owned() } else { on.join(", ") },
        }),
    }
}
