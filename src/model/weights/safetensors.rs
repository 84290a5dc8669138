//! Weights in safetensors files beside a `config.json`: one file, or shards listed by an index.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use serde::Deserialize;

use super::{BlockTensor, ModelTensor, WeightSource};
use crate::disk::{LONGEST_SETTINGS, read_regular_text};
use crate::model::{Architecture, DecoderError};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// A header of fifty thousand tensors has 6 MB; the format would allow 100.
const LONGEST_HEADER: u64 = 32 << 20;

/// A directory of safetensors whose headers have been read.
pub(crate) struct SafetensorsWeights {
    directory: PathBuf,
    architecture: Architecture,
    files: Vec<(PathBuf, File)>,
    tensors: HashMap<String, Stored>,
}

struct Stored {
    file: usize,
    dtype: String,
    shape: Vec<usize>,
    start: u64,
    length: u64,
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl SafetensorsWeights {
    pub(crate) fn open(directory: &Path, architecture: Architecture) -> Result<Self, DecoderError> {
        let mut weights = Self {
            directory: directory.to_owned(),
            architecture,
            files: Vec::new(),
            tensors: HashMap::new(),
        };
        let index = directory.join(INDEX);
        if !index.exists() {
            weights.add(&directory.join(SINGLE))?;
            return Ok(weights);
        }
        let text = read_regular_text(&index, LONGEST_SETTINGS)
            .map_err(|source| DecoderError::Read { path: index.clone(), source })?;
        let map = serde_json::from_str::<Index>(&text)
            .map_err(|e| container(&index, "safetensors index", e.to_string()))?
            .weight_map;
        let names: BTreeSet<&String> = map.values().collect();
        if let Some(name) = names.iter().find(|n| Path::new(n).file_name() != Some(n.as_ref())) {
            let reason = format!("expected plain file names, found {name:?}");
            return Err(container(&index, "safetensors index", reason));
        }
        if let Some(name) = names.iter().find(|n| leads_out(directory, n)) {
            let reason = format!(
                "expected files of the model's own folder, found {name:?}, a link that leads out of it; put the \
                 file itself there"
            );
            return Err(container(&index, "safetensors index", reason));
        }
        let missing: Vec<String> =
            names.iter().filter(|n| !directory.join(n).is_file()).map(|n| (*n).clone()).collect();
        if !missing.is_empty() {
            return Err(DecoderError::MissingFiles { directory: directory.to_owned(), names: missing });
        }
        for name in names {
            weights.add(&directory.join(name))?;
        }
        let absent: Vec<String> = map.into_keys().filter(|n| !weights.tensors.contains_key(n)).collect();
        if !absent.is_empty() {
            return Err(DecoderError::MissingTensors { path: index, names: absent });
        }
        Ok(weights)
    }

    /// Storage type and number of values of every tensor.
    pub(crate) fn storage(&self) -> impl Iterator<Item = (String, u64)> {
        self.tensors.values().map(|stored| {
            let values = stored.shape.iter().fold(1u64, |count, side| count.saturating_mul(*side as u64));
            (stored.dtype.clone(), values)
        })
    }

    fn add(&mut self, path: &Path) -> Result<(), DecoderError> {
        let failed = |source| DecoderError::Read { path: path.to_owned(), source };
        let wrong = |reason: String| container(path, "safetensors", reason);
        let mut file = File::open(path).map_err(failed)?;
        let total = file.metadata().map_err(failed)?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(failed)?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST_HEADER || length > total.saturating_sub(8) {
            return Err(wrong(format!("a header of {length} bytes in a file of {total}")));
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(failed)?;
        // As text until each is known to be an entry: what else a header may hold takes no memory.
        let mut entries: HashMap<String, &serde_json::value::RawValue> =
            serde_json::from_slice(&header).map_err(|e| wrong(e.to_string()))?;
        entries.remove("__metadata__");
        let data = 8 + length;
        for (name, entry) in entries {
            let entry: Entry =
                serde_json::from_str(entry.get()).map_err(|e| wrong(format!("{name:?}: {e}")))?;
            let (start, end) = entry.data_offsets;
            if start > end || end > total - data {
                let room = total - data;
                return Err(wrong(format!(
                    "{name:?} lies at {start}..{end}, but the file holds {room} bytes of data"
                )));
            }
            let stored = Stored {
                file: self.files.len(),
                dtype: entry.dtype,
                shape: entry.shape,
                start: data + start,
                length: end - start,
            };
            if self.tensors.insert(name.clone(), stored).is_some() {
                return Err(wrong(format!("{name:?} is stored twice")));
            }
        }
        self.files.push((path.to_owned(), file));
        Ok(())
    }
}

/// Whether a file is a link to somewhere outside of the model's folder. In a cache of the hub a snapshot's
/// files are links to the blobs of the same repository.
fn leads_out(directory: &Path, name: &str) -> bool {
    let (Ok(home), Ok(target)) = (directory.canonicalize(), directory.join(name).canonicalize()) else {
        // What does not exist is told as missing.
        return false;
    };
    let blobs = home
        .parent()
        .filter(|parent| parent.file_name().is_some_and(|name| name == "snapshots"))
        .and_then(Path::parent)
        .map(|repository| repository.join("blobs"));
    !target.starts_with(&home) && !blobs.is_some_and(|blobs| target.starts_with(blobs))
}

fn container(path: &Path, format: &'static str, reason: String) -> DecoderError {
    DecoderError::Container { path: path.to_owned(), format, reason }
}

impl WeightSource for SafetensorsWeights {
    fn path(&self) -> &Path {
        &self.directory
    }

    fn name(&self, tensor: ModelTensor) -> String {
        match tensor {
            ModelTensor::Embedding => "model.embed_tokens.weight".to_owned(),
            ModelTensor::FinalNorm => "model.norm.weight".to_owned(),
            ModelTensor::Output => "lm_head.weight".to_owned(),
            ModelTensor::Block(layer, tensor) => {
                // Gemma's norm after attention has the name that others give the one before feed-forward.
                let feed_forward_norm = match self.architecture {
                    Architecture::Gemma3 => "pre_feedforward_layernorm.weight",
                    _ => "post_attention_layernorm.weight",
                };
                let part = match tensor {
                    BlockTensor::AttentionNorm => "input_layernorm.weight",
                    BlockTensor::Query => "self_attn.q_proj.weight",
                    BlockTensor::Key => "self_attn.k_proj.weight",
                    BlockTensor::Value => "self_attn.v_proj.weight",
                    BlockTensor::QueryBias => "self_attn.q_proj.bias",
                    BlockTensor::KeyBias => "self_attn.k_proj.bias",
                    BlockTensor::ValueBias => "self_attn.v_proj.bias",
                    BlockTensor::QueryKeyValue => "self_attn.qkv_proj.weight",
                    BlockTensor::QueryNorm => "self_attn.q_norm.weight",
                    BlockTensor::KeyNorm => "self_attn.k_norm.weight",
                    BlockTensor::AttentionOutput => "self_attn.o_proj.weight",
                    BlockTensor::AttentionPostNorm => "post_attention_layernorm.weight",
                    BlockTensor::FeedForwardNorm => feed_forward_norm,
                    BlockTensor::Gate => "mlp.gate_proj.weight",
                    BlockTensor::Up => "mlp.up_proj.weight",
                    BlockTensor::GateUp => "mlp.gate_up_proj.weight",
                    BlockTensor::Down => "mlp.down_proj.weight",
                    BlockTensor::FeedForwardPostNorm => "post_feedforward_layernorm.weight",
                };
                format!("model.layers.{layer}.{part}")
            }
        }
    }

    fn stored(&self) -> Vec<&str> {
        // Old checkpoints carry the rotary frequencies, which follow from the configuration.
        self.tensors.keys().map(String::as_str).filter(|n| !n.ends_with(".rotary_emb.inv_freq")).collect()
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|t| t.shape.as_slice())
    }

    fn check(&self, name: &str) -> Result<(), DecoderError> {
        let wrong = |path: &Path, reason| DecoderError::Tensor {
            path: path.to_owned(),
            name: name.to_owned(),
            reason,
        };
        let stored = self.tensors.get(name).ok_or_else(|| wrong(&self.directory, "is missing".to_owned()))?;
        let path = &self.files[stored.file].0;
        let size = match stored.dtype.as_str() {
            "F32" => 4,
            "F16" | "BF16" => 2,
            other => return Err(wrong(path, format!("expected F32, F16 or BF16, found {other:?}"))),
        };
        let length = stored.shape.iter().try_fold(size, |n: u64, side| n.checked_mul(*side as u64));
        if length != Some(stored.length) {
            let (shape, length) = (&stored.shape, stored.length);
            return Err(wrong(path, format!("{} of shape {shape:?} in {length} bytes", stored.dtype)));
        }
        Ok(())
    }

    fn bytes_of(&self, name: &str) -> Option<(usize, std::ops::Range<u64>)> {
        let stored = self.tensors.get(name)?;
        Some((stored.file, stored.start..stored.start + stored.length))
    }

    fn read(&mut self, tensor: ModelTensor, values: &mut Vec<f32>) -> Result<(), DecoderError> {
        let name = self.name(tensor);
        self.check(&name)?;
        let Some(stored) = self.tensors.get(&name) else { return Ok(()) };
        let (path, file) = &mut self.files[stored.file];
        let mut bytes = vec![0; stored.length as usize];
        file.seek(SeekFrom::Start(stored.start))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|source| DecoderError::Read { path: path.clone(), source })?;
        let start = values.len();
        match stored.dtype.as_str() {
            "F32" => values.extend(bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b))),
            "F16" => values.extend(bytes.as_chunks().0.iter().map(|b| f16::from_le_bytes(*b).to_f32())),
            _ => values.extend(bytes.as_chunks().0.iter().map(|b| bf16::from_le_bytes(*b).to_f32())),
        }
        // Gemma stores what its norms multiply with less one; GGUF files hold the sum.
        if self.architecture == Architecture::Gemma3 && tensor.is_norm() {
            values[start..].iter_mut().for_each(|weight| *weight += 1.0);
        }
        Ok(())
    }
}
