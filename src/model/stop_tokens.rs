//! The tokens that end an answer, from the model's own files.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use serde_json::Value as Json;

use super::gguf_metadata::GgufMetadata;
use super::text_error::ModelTextError;
use super::tokenizer::ModelTokenizer;
use crate::disk::{LONGEST_SETTINGS, read_regular_text};

/// Fields of a GGUF file that name such a token: end of sequence, of turn, of message.
const GGUF_FIELDS: [&str; 3] =
    ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];

/// Special tokens that end a turn in every model whose vocabulary has them. Files often name one of two.
const NAMES: [&str; 7] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|eom_id|>",
    "<|end|>",
    "<end_of_turn>",
];

/// Ids that end an answer. None at all is possible: then only the cap ends it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StopTokens(BTreeSet<u32>);

impl StopTokens {
    /// Those that the caller names.
    pub fn of(ids: impl IntoIterator<Item = u32>) -> Self {
        Self(ids.into_iter().collect())
    }

    /// From the end-of-sequence, end-of-turn and end-of-message ids of a GGUF file.
    pub fn from_gguf(metadata: &GgufMetadata, tokenizer: &ModelTokenizer) -> Self {
        let named = GGUF_FIELDS.iter().filter_map(|field| u32::try_from(metadata.unsigned(field)?).ok());
        Self(named.chain(by_name(tokenizer)).collect())
    }

    /// From `generation_config.json`, `config.json` (an id or a list of ids) and `tokenizer_config.json`
    /// (the token itself) of a directory in Hugging Face form. Files that are absent say nothing.
    pub fn from_directory(directory: &Path, tokenizer: &ModelTokenizer) -> Result<Self, ModelTextError> {
        let mut ids: BTreeSet<u32> = by_name(tokenizer).collect();
        for name in ["generation_config.json", "config.json"] {
            let path = directory.join(name);
            let config = json_if_there(&path)?;
            for (value, field) in [
                (&config["eos_token_id"], "eos_token_id"),
                (&config["text_config"]["eos_token_id"], "text_config.eos_token_id"),
            ] {
                ids.extend(ids_in(value).ok_or_else(|| ModelTextError::File {
                    path: path.clone(),
                    reason: format!("{field} is {value}; expected a token id, a list of token ids or null"),
                })?);
            }
        }
        let config = json_if_there(&directory.join("tokenizer_config.json"))?;
        let eos = &config["eos_token"];
        let eos = eos.as_str().or_else(|| eos["content"].as_str());
        ids.extend(eos.and_then(|token| tokenizer.id(token)));
        Ok(Self(ids))
    }

    /// Whether the answer ends before this token.
    pub fn contains(&self, id: u32) -> bool {
        self.0.contains(&id)
    }

    /// In ascending order.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

/// A word of the vocabulary that happens to read like one is no stop token: only special tokens are.
fn by_name(tokenizer: &ModelTokenizer) -> impl Iterator<Item = u32> + '_ {
    NAMES.iter().filter_map(|name| tokenizer.id(name)).filter(|id| tokenizer.is_structural(*id))
}

fn ids_in(value: &Json) -> Option<Vec<u32>> {
    let id = |value: &Json| value.as_u64().and_then(|id| u32::try_from(id).ok());
    match value {
        Json::Null => Some(Vec::new()),
        Json::Array(values) => values.iter().map(id).collect(),
        one => id(one).map(|id| vec![id]),
    }
}

fn json_if_there(path: &Path) -> Result<Json, ModelTextError> {
    match read_regular_text(path, LONGEST_SETTINGS) {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|error| ModelTextError::File { path: path.to_owned(), reason: error.to_string() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Json::Null),
        Err(source) => Err(ModelTextError::Io { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::small_model::{CHATML, metadata, small_model};
    use super::*;

    fn ids(tokens: &StopTokens) -> Vec<u32> {
        tokens.ids().collect()
    }

    #[test]
    fn a_gguf_file_names_its_end_of_sequence_turn_and_message() {
        let (tokenizer, _) = small_model(CHATML);
        let made = |eot: Option<u32>| {
            let writer = metadata(CHATML, &[], &[]);
            let writer = match eot {
                Some(id) => writer.number("tokenizer.ggml.eot_token_id", id),
                None => writer,
            };
            StopTokens::from_gguf(&writer.metadata(), &tokenizer)
        };
        // 0 and 2 are `<|endoftext|>` and `<|im_end|>`, both special there.
        assert_eq!(ids(&made(None)), [0, 2]);
        assert_eq!(ids(&made(Some(7))), [0, 2, 7]);
    }

    #[test]
    fn a_directory_names_an_id_a_list_or_a_token() {
        let folder = tempfile::tempdir().unwrap();
        let (tokenizer, _) = small_model(CHATML);
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let read = || ids(&StopTokens::from_directory(folder.path(), &tokenizer).unwrap());
        assert_eq!(read(), [0, 2]);
        write("config.json", r#"{"eos_token_id": null, "text_config": {"eos_token_id": 11}}"#);
        write("generation_config.json", r#"{"eos_token_id": [9, 8]}"#);
        write("tokenizer_config.json", r#"{"eos_token": {"content": "<|im_start|>"}}"#);
        assert_eq!(read(), [0, 1, 2, 8, 9, 11]);
        write("generation_config.json", r#"{"eos_token_id": 12}"#);
        assert_eq!(read(), [0, 1, 2, 11, 12]);
    }

    #[test]
    fn an_id_that_is_none_is_an_error_with_file_and_field() {
        let folder = tempfile::tempdir().unwrap();
        let (tokenizer, _) = small_model(CHATML);
        for bad in ["\"</s>\"", "-1", "[1, 2.5]", "4294967296"] {
            let text = format!("{{\"eos_token_id\": {bad}}}");
            std::fs::write(folder.path().join("generation_config.json"), text).unwrap();
            let error = StopTokens::from_directory(folder.path(), &tokenizer).unwrap_err().to_string();
            assert!(error.contains("generation_config.json") && error.contains("eos_token_id is"), "{error}");
        }
    }
}
