//! Weights in a GGUF file or the parts of one, dequantised to f32.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use candle_core::Device;
use candle_core::quantized::GgmlDType;
use candle_core::quantized::ggml_file::qtensor_from_ggml;
use rayon::prelude::*;

use super::gguf_header::{GgufHeader, GgufTensor};
use super::{BlockTensor, ModelTensor, WeightSource};
use crate::model::config::RopeTensors;
use crate::model::gguf_split::split_name;
use crate::model::{Architecture, DecoderError, ModelConfig, config};

/// How many files hold the model; only in models of several.
const SPLIT_COUNT: &str = "split.count";

/// An open GGUF file whose header has been read.
struct Part {
    path: PathBuf,
    file: File,
    header: GgufHeader,
}

impl Part {
    fn open(path: &Path) -> Result<Self, DecoderError> {
        let file = File::open(path).map_err(|source| DecoderError::Read { path: path.to_owned(), source })?;
        let header = GgufHeader::read(path, &file)?;
        Ok(Self { path: path.to_owned(), file, header })
    }

    /// The number in a field; writers use several widths.
    fn number(&self, field: &str) -> Option<u64> {
        let value = self.header.metadata.get(field)?;
        value.to_u64().ok().or_else(|| value.to_i32().ok().and_then(|n| u64::try_from(n).ok()))
    }
}

/// A model in GGUF form.
pub(crate) struct GgufWeights {
    /// Never empty. The first holds the metadata.
    parts: Vec<Part>,
    /// Heads of queries and of keys, whose rows a file of a Llama stores interleaved.
    heads: usize,
    kv_heads: usize,
    interleaved: bool,
}

impl GgufWeights {
    pub(crate) fn open(path: &Path) -> Result<(Self, ModelConfig), DecoderError> {
        let mut weights = Self { parts: open_parts(path)?, heads: 1, kv_heads: 1, interleaved: false };
        let embedding = weights.name(ModelTensor::Embedding);
        let vocab_size = match weights.shape(&embedding) {
            Some([rows, _]) => *rows,
            _ => {
                return Err(DecoderError::MissingTensors { path: path.to_owned(), names: vec![embedding] });
            }
        };
        let values = |name: &str| -> Result<Option<Vec<f32>>, DecoderError> {
            let there = weights.tensor(name).is_some();
            there.then(|| Ok(weights.pieces(name)?.concat())).transpose()
        };
        let [divisors, short, long] = ROPE_TENSORS;
        let tensors = RopeTensors { divisors: values(divisors)?, short_factors: values(short)? };
        if tensors.short_factors.is_none() && weights.tensor(long).is_some() {
            return Err(weights.wrong(short, format!("is missing beside {long}")));
        }
        let metadata = &weights.parts[0].header.metadata;
        let config = config::from_metadata(metadata, vocab_size, tensors, path)?;
        weights.heads = config.heads;
        weights.kv_heads = config.kv_heads;
        weights.interleaved = config.architecture == Architecture::Llama;
        Ok((weights, config))
    }

    /// Storage type and number of values of every tensor.
    pub(crate) fn storage(&self) -> impl Iterator<Item = (String, u64)> {
        self.parts.iter().flat_map(|part| part.header.tensors.values()).map(|tensor| {
            let name = dtype(tensor.kind).map_or_else(
                || format!("GGML type {}", tensor.kind),
                |kind| format!("{kind:?}").replace('K', "_K"),
            );
            (name, tensor.shape.iter().fold(1u64, |count, side| count.saturating_mul(*side as u64)))
        })
    }

    /// Bytes of all parts.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.header.file_length).sum()
    }

    /// A stored tensor and the part that holds it.
    fn tensor(&self, name: &str) -> Option<(&Part, &GgufTensor)> {
        self.parts.iter().find_map(|part| Some((part, part.header.tensors.get(name)?)))
    }

    fn wrong(&self, name: &str, reason: String) -> DecoderError {
        let path = self.tensor(name).map_or(&self.parts[0].path, |(part, _)| &part.path);
        DecoderError::Tensor { path: path.clone(), name: name.to_owned(), reason }
    }

    /// The part, storage type, first byte in the file and number of bytes, compared with the file's length.
    fn place(&self, name: &str) -> Result<(&Part, GgmlDType, u64, usize), DecoderError> {
        let (part, tensor) = self.tensor(name).ok_or_else(|| self.wrong(name, "is missing".to_owned()))?;
        let kind = dtype(tensor.kind).ok_or_else(|| {
            let known = "F32, F16, BF16, Q4_0 to Q8_0 or Q2_K to Q6_K";
            self.wrong(
                name,
                format!("storage type {} of GGML is not supported, expected {known}", tensor.kind),
            )
        })?;
        let (row, block) = (*tensor.shape.last().unwrap_or(&1), kind.block_size());
        if !row.is_multiple_of(block) {
            return Err(self.wrong(name, format!("expected rows of whole blocks of {block}, found {row}")));
        }
        let elements = tensor.shape.iter().try_fold(1usize, |n, side| n.checked_mul(*side));
        let length = elements.and_then(|n| (n / block).checked_mul(kind.type_size()));
        let start = part.header.data_offset.checked_add(tensor.offset);
        if let (Some(start), Some(length)) = (start, length)
            && start.checked_add(length as u64).is_some_and(|end| end <= part.header.file_length)
        {
            return Ok((part, kind, start, length));
        }
        let (shape, offset, total) = (&tensor.shape, tensor.offset, part.header.file_length);
        Err(self.wrong(name, format!("{shape:?} at offset {offset} ends beyond the file of {total} bytes")))
    }

    /// The values of a tensor, in consecutive pieces.
    fn pieces(&self, name: &str) -> Result<Vec<Vec<f32>>, DecoderError> {
        let (part, kind, start, length) = self.place(name)?;
        let mut bytes = vec![0; length];
        let mut file = &part.file;
        file.seek(SeekFrom::Start(start))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|source| DecoderError::Read { path: part.path.clone(), source })?;
        // Blocks stand for themselves, so pieces of many blocks can be dequantised side by side.
        let piece = PIECE / kind.block_size() * kind.type_size();
        bytes
            .par_chunks(piece)
            .map(|bytes| {
                let elements = bytes.len() / kind.type_size() * kind.block_size();
                let quantised = qtensor_from_ggml(kind, bytes, vec![elements], &Device::Cpu)?;
                quantised.dequantize(&Device::Cpu)?.to_vec1::<f32>()
            })
            .collect::<Result<_, candle_core::Error>>()
            .map_err(|e| self.wrong(name, e.to_string()))
    }
}

/// The file, or all files of which it is the first.
fn open_parts(path: &Path) -> Result<Vec<Part>, DecoderError> {
    let first = Part::open(path)?;
    let count = first.number(SPLIT_COUNT).unwrap_or(1);
    if count <= 1 {
        return Ok(vec![first]);
    }
    let wrong = |path: &Path, field: &str, expected: String, found: String| DecoderError::Field {
        path: path.to_owned(),
        field: field.to_owned(),
        expected,
        found,
    };
    let names = split_name(path).filter(|names| names.files.len() as u64 == count && names.number == 1);
    let names = names.ok_or_else(|| {
        let expected = format!("the first file of {count}, called NAME-00001-of-{count:05}.gguf");
        wrong(path, SPLIT_COUNT, expected, format!("{:?}", file_name(path)))
    })?;
    let absent = names.files.iter().filter(|file| !file.is_file());
    let missing: Vec<String> = absent.map(|file| file_name(file)).collect();
    if !missing.is_empty() {
        let directory = path.parent().unwrap_or(Path::new("")).to_owned();
        return Err(DecoderError::MissingFiles { directory, names: missing });
    }
    let mut parts = vec![first];
    for (number, file) in names.files.iter().enumerate().skip(1) {
        let part = Part::open(file)?;
        if part.number("split.no") != Some(number as u64) {
            let found = part.number("split.no").map_or("nothing".to_owned(), |n| n.to_string());
            return Err(wrong(file, "split.no", number.to_string(), found));
        }
        let mut names = part.header.tensors.keys();
        let earlier = |name: &&String| parts.iter().any(|p: &Part| p.header.tensors.contains_key(*name));
        if let Some(name) = names.find(earlier) {
            let reason = "is stored in another part of the model too".to_owned();
            return Err(DecoderError::Tensor { path: file.clone(), name: name.clone(), reason });
        }
        parts.push(part);
    }
    Ok(parts)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Numbers dequantised by one task, a multiple of every block.
const PIECE: usize = 1 << 18;

/// One divisor per rotary frequency: of Llama 3 scaling, and of `LongRoPE` within and beyond the original
/// context. The last are never used: see [`RopeScaling::LongRope`](crate::model::RopeScaling).
const ROPE_TENSORS: [&str; 3] =
    ["rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"];

/// Storage types candle dequantises, by GGML's numbers.
fn dtype(kind: u32) -> Option<GgmlDType> {
    Some(match kind {
        0 => GgmlDType::F32,
        1 => GgmlDType::F16,
        2 => GgmlDType::Q4_0,
        3 => GgmlDType::Q4_1,
        6 => GgmlDType::Q5_0,
        7 => GgmlDType::Q5_1,
        8 => GgmlDType::Q8_0,
        10 => GgmlDType::Q2K,
        11 => GgmlDType::Q3K,
        12 => GgmlDType::Q4K,
        13 => GgmlDType::Q5K,
        14 => GgmlDType::Q6K,
        30 => GgmlDType::BF16,
        _ => return None,
    })
}

/// Undoes the interleaving of rotary pairs: in each head the file stores rows 0, D/2, 1, D/2 + 1, ...
fn undo_interleaving(values: &[f32], heads: usize, width: usize, out: &mut Vec<f32>) {
    let rows = values.len() / width.max(1);
    let head_dim = rows / heads.max(1);
    for head in 0..heads {
        for half in 0..2 {
            for pair in 0..head_dim / 2 {
                let row = head * head_dim + 2 * pair + half;
                out.extend_from_slice(&values[row * width..][..width]);
            }
        }
    }
}

impl WeightSource for GgufWeights {
    fn path(&self) -> &Path {
        &self.parts[0].path
    }

    fn name(&self, tensor: ModelTensor) -> String {
        match tensor {
            ModelTensor::Embedding => "token_embd.weight".to_owned(),
            ModelTensor::FinalNorm => "output_norm.weight".to_owned(),
            ModelTensor::Output => "output.weight".to_owned(),
            ModelTensor::Block(layer, tensor) => {
                let part = match tensor {
                    BlockTensor::AttentionNorm => "attn_norm.weight",
                    BlockTensor::Query => "attn_q.weight",
                    BlockTensor::Key => "attn_k.weight",
                    BlockTensor::Value => "attn_v.weight",
                    BlockTensor::QueryBias => "attn_q.bias",
                    BlockTensor::KeyBias => "attn_k.bias",
                    BlockTensor::ValueBias => "attn_v.bias",
                    BlockTensor::QueryKeyValue => "attn_qkv.weight",
                    BlockTensor::QueryNorm => "attn_q_norm.weight",
                    BlockTensor::KeyNorm => "attn_k_norm.weight",
                    BlockTensor::AttentionOutput => "attn_output.weight",
                    BlockTensor::AttentionPostNorm => "post_attention_norm.weight",
                    BlockTensor::FeedForwardNorm => "ffn_norm.weight",
                    BlockTensor::Gate => "ffn_gate.weight",
                    // Packed files call both together what others call the second.
                    BlockTensor::Up | BlockTensor::GateUp => "ffn_up.weight",
                    BlockTensor::Down => "ffn_down.weight",
                    BlockTensor::FeedForwardPostNorm => "post_ffw_norm.weight",
                };
                format!("blk.{layer}.{part}")
            }
        }
    }

    fn stored(&self) -> Vec<&str> {
        let names = self.parts.iter().flat_map(|part| part.header.tensors.keys());
        names.map(String::as_str).filter(|n| !ROPE_TENSORS.contains(n)).collect()
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensor(name).map(|(_, tensor)| tensor.shape.as_slice())
    }

    fn check(&self, name: &str) -> Result<(), DecoderError> {
        self.place(name).map(drop)
    }

    fn bytes_of(&self, name: &str) -> Option<(usize, std::ops::Range<u64>)> {
        let (part, _, start, length) = self.place(name).ok()?;
        let file = self.parts.iter().position(|one| std::ptr::eq(one, part))?;
        Some((file, start..start + length as u64))
    }

    fn read(&mut self, tensor: ModelTensor, values: &mut Vec<f32>) -> Result<(), DecoderError> {
        let name = self.name(tensor);
        let stored = self.pieces(&name)?;
        let width = self.shape(&name).and_then(<[usize]>::last).copied().unwrap_or(1);
        match tensor {
            ModelTensor::Block(_, BlockTensor::Query) if self.interleaved => {
                undo_interleaving(&stored.concat(), self.heads, width, values);
            }
            ModelTensor::Block(_, BlockTensor::Key) if self.interleaved => {
                undo_interleaving(&stored.concat(), self.kv_heads, width, values);
            }
            _ => stored.iter().for_each(|piece| values.extend_from_slice(piece)),
        }
        Ok(())
    }
}
