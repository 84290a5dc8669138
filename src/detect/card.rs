//! Heads as files: safetensors with a card that names the model they belong to.

use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{DetectError, ModelShape};

/// Key of the card in the safetensors metadata.
const CARD_KEY: &str = "ragscope_head";

/// The model a head was trained on, or the one in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// For people.
    pub name: String,
    /// SHA-256 of the weights, in the form the model room prints.
    pub hash: String,
    /// Layers, heads, hidden size.
    pub shape: ModelShape,
    /// What the model is given. `None` on heads and stores of versions that did not record it: then the hash of the
    /// weights alone decides (a GGUF file holds its tokenizer and template; a directory does not).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextIdentity>,
}

/// What stands between a text and the ids that a model reads: another one makes other states of the same weights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextIdentity {
    /// Hash of the tokenizer.
    pub tokenizer: String,
    /// Hash of the chat template as it is rendered.
    pub template: String,
    /// Name and hash of the words around question and passages.
    pub prompt: String,
}

impl TextIdentity {
    /// What differs from `other`, both values named.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        [
            ("tokenizer", &self.tokenizer, &other.tokenizer),
            ("chat template", &self.template, &other.template),
            ("prompt form", &self.prompt, &other.prompt),
        ]
        .into_iter()
        .filter(|(_, own, other)| own != other)
        .map(|(what, own, other)| format!("{what} {own} against {other}"))
        .collect()
    }
}

impl ModelIdentity {
    /// Refuses a head of `self` for the model in use, naming all that differs.
    pub fn admits(&self, in_use: &Self) -> Result<(), DetectError> {
        let number = |what: &str, own: usize, other: usize| {
            (own != other).then(|| format!("{what} {own} against {other}"))
        };
        let (own, other) = (self.shape, in_use.shape);
        let text = match (&self.text, &in_use.text) {
            (Some(own), Some(other)) => own.differences(other),
            _ => Vec::new(),
        };
        let differences: Vec<String> = [
            number("hidden size", own.hidden_size, other.hidden_size),
            number("layers", own.layers, other.layers),
            number("heads", own.heads, other.heads),
            (self.hash != in_use.hash).then(|| format!("hash {} against {}", self.hash, in_use.hash)),
        ]
        .into_iter()
        .flatten()
        .chain(text)
        .collect();
        if differences.is_empty() {
            return Ok(());
        }
        Err(DetectError::OtherModel {
            trained_on: self.name.clone(),
            in_use: in_use.name.clone(),
            difference: differences.join(", "),
        })
    }
}

/// A tensor on its way into a head file.
pub(super) struct HeadTensor {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) data: TensorData,
}

/// Values of a tensor in the precision they are computed in.
pub(super) enum TensorData {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl HeadTensor {
    pub(super) fn f32(name: impl Into<String>, shape: Vec<usize>, values: &[f32]) -> Self {
        Self { name: name.into(), shape, data: TensorData::F32(values.to_vec()) }
    }

    pub(super) fn f64(name: impl Into<String>, shape: Vec<usize>, values: &[f64]) -> Self {
        Self { name: name.into(), shape, data: TensorData::F64(values.to_vec()) }
    }
}

/// The file of a head: the same bytes for the same head.
pub(super) fn write_head(card: &impl Serialize, tensors: &[HeadTensor]) -> Result<Vec<u8>, DetectError> {
    let broken = |reason: String| DetectError::BrokenHead { reason };
    let card = serde_json::to_string(card)
        .map_err(|error| broken(format!("its card cannot be written: {error}")))?;
    let bytes: Vec<(Dtype, Vec<u8>)> = tensors
        .iter()
        .map(|tensor| match &tensor.data {
            TensorData::F32(values) => (Dtype::F32, values.iter().flat_map(|v| v.to_le_bytes()).collect()),
            TensorData::F64(values) => (Dtype::F64, values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        })
        .collect();
    let mut views = Vec::with_capacity(tensors.len());
    for (tensor, (dtype, bytes)) in tensors.iter().zip(&bytes) {
        let view = TensorView::new(*dtype, tensor.shape.clone(), bytes)
            .map_err(|error| broken(format!("tensor {}: {error}", tensor.name)))?;
        views.push((tensor.name.as_str(), view));
    }
    let metadata = HashMap::from([(CARD_KEY.to_owned(), card)]);
    serialize(views, Some(metadata)).map_err(|error| broken(error.to_string()))
}

/// The card of a head file, without its weights.
pub(super) fn read_card<C: DeserializeOwned>(bytes: &[u8]) -> Result<C, DetectError> {
    let broken = |reason: String| DetectError::BrokenHead { reason };
    let (_, metadata) = SafeTensors::read_metadata(bytes)
        .map_err(|error| broken(format!("no safetensors file ({error})")))?;
    let card = metadata.metadata().as_ref().and_then(|entries| entries.get(CARD_KEY)).ok_or_else(|| {
        broken(format!(
            "a safetensors file without the metadata entry `{CARD_KEY}`: weights of something else"
        ))
    })?;
    serde_json::from_str(card).map_err(|error| broken(format!("its card does not parse: {error}")))
}

/// The tensors of a head file by name.
pub(super) struct HeadTensors<'a> {
    file: SafeTensors<'a>,
}

impl<'a> HeadTensors<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, DetectError> {
        let file = SafeTensors::deserialize(bytes)
            .map_err(|error| DetectError::BrokenHead { reason: error.to_string() })?;
        Ok(Self { file })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.file.tensor(name).is_ok()
    }

    /// A finite f32 tensor of exactly this shape.
    pub(super) fn f32(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, DetectError> {
        let (bytes, _) = self.bytes(name, Dtype::F32, Some(shape))?;
        let values: Vec<f32> =
            bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        Self::finite(name, values.iter().all(|value| value.is_finite()))?;
        Ok(values)
    }

    /// A finite f64 tensor of exactly this shape.
    pub(super) fn f64(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>, DetectError> {
        let (bytes, _) = self.bytes(name, Dtype::F64, Some(shape))?;
        let values: Vec<f64> = bytes
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
            .collect();
        Self::finite(name, values.iter().all(|value| value.is_finite()))?;
        Ok(values)
    }

    /// Shape of an f32 tensor.
    pub(super) fn shape(&self, name: &str) -> Result<Vec<usize>, DetectError> {
        Ok(self.bytes(name, Dtype::F32, None)?.1)
    }

    fn bytes(
        &self,
        name: &str,
        dtype: Dtype,
        shape: Option<&[usize]>,
    ) -> Result<(&'a [u8], Vec<usize>), DetectError> {
        let broken = |reason: String| DetectError::BrokenHead { reason };
        let tensor = self.file.tensor(name).map_err(|error| broken(format!("tensor {name}: {error}")))?;
        let wrong = tensor.dtype() != dtype || shape.is_some_and(|shape| tensor.shape() != shape);
        if wrong {
            let wanted = shape.map_or_else(String::new, |shape| format!(" {shape:?}"));
            let found = format!("{} {:?}", tensor.dtype(), tensor.shape());
            return Err(broken(format!("tensor {name}: expected {dtype}{wanted}, found {found}")));
        }
        Ok((tensor.data(), tensor.shape().to_vec()))
    }

    fn finite(name: &str, finite: bool) -> Result<(), DetectError> {
        if finite {
            Ok(())
        } else {
            let reason = format!("tensor {name} holds values that are not finite");
            Err(DetectError::BrokenHead { reason })
        }
    }
}

/// First 16 hexadecimal digits of the SHA-256 of a head's file.
pub(super) fn short_hash(bytes: &[u8]) -> String {
    crate::text::hexadecimal(&Sha256::digest(bytes)[..8])
}

/// What is written on every card about its making.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Making {
    /// `ragscope <version>`
    pub tool: String,
    /// Data set, seed, folds, counts and figures, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub training: BTreeMap<String, String>,
}

impl Making {
    /// By this version of the tool.
    #[must_use]
    pub fn here(training: BTreeMap<String, String>) -> Self {
        Self { tool: format!("ragscope {}", env!("CARGO_PKG_VERSION")), training }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(text: Option<TextIdentity>) -> ModelIdentity {
        let shape = ModelShape { layers: 2, heads: 2, hidden_size: 4 };
        ModelIdentity { name: "tiny".to_owned(), hash: "aa11".to_owned(), shape, text }
    }

    fn text() -> TextIdentity {
        TextIdentity { tokenizer: "t1".to_owned(), template: "c1".to_owned(), prompt: "p/1".to_owned() }
    }

    #[test]
    fn the_same_weights_with_another_tokenizer_template_or_prompt_are_another_model() {
        let own = identity(Some(text()));
        assert!(own.admits(&own).is_ok());
        for (other, words) in [
            (TextIdentity { tokenizer: "t2".to_owned(), ..text() }, "tokenizer t1 against t2"),
            (TextIdentity { template: "c2".to_owned(), ..text() }, "chat template c1 against c2"),
            (TextIdentity { prompt: "p/2".to_owned(), ..text() }, "prompt form p/1 against p/2"),
        ] {
            let message = own.admits(&identity(Some(other))).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn a_card_without_the_text_side_is_read_and_judged_by_the_weights_alone() {
        let old = r#"{"name":"tiny","hash":"aa11","shape":{"layers":2,"heads":2,"hidden_size":4}}"#;
        let read: ModelIdentity = serde_json::from_str(old).unwrap();
        assert_eq!(read, identity(None));
        assert_eq!(serde_json::to_string(&read).unwrap(), old, "what was not recorded is not written");
        assert!(read.admits(&identity(Some(text()))).is_ok());
        assert!(identity(Some(text())).admits(&read).is_ok());
    }
}
