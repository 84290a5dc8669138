//! Weights of a decoder as f32, out of a GGUF file or a directory of safetensors.
//!
//! A file is checked whole before anything large is read: every tensor the configuration asks for is there,
//! has the expected shape and lies inside the file, and no tensor is left over that would change the result.

mod gguf;
mod gguf_header;
mod safetensors;

use std::ops::Range;
use std::path::Path;

use super::decoder_error::MOST_NAMED;
use super::product::Matrix;
use super::{Architecture, DecoderError, ModelConfig};

pub(crate) use gguf::GgufWeights;
pub(crate) use safetensors::SafetensorsWeights;

/// A tensor of the decoder; blocks count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelTensor {
    Embedding,
    FinalNorm,
    /// Absent where the embedding serves as output head.
    Output,
    Block(usize, BlockTensor),
}

/// A tensor of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockTensor {
    AttentionNorm,
    Query,
    Key,
    Value,
    QueryBias,
    KeyBias,
    ValueBias,
    /// Query, key and value rows in one, as Phi-3 stores them.
    QueryKeyValue,
    /// Over the queries of one head.
    QueryNorm,
    /// Over the keys of one head.
    KeyNorm,
    AttentionOutput,
    /// Over the result of attention, before it is added.
    AttentionPostNorm,
    FeedForwardNorm,
    Gate,
    Up,
    /// Gate and up rows in one, as Phi-3 stores them.
    GateUp,
    Down,
    /// Over the result of the feed-forward layer, before it is added.
    FeedForwardPostNorm,
}

impl BlockTensor {
    fn is_norm(self) -> bool {
        use BlockTensor::{
            AttentionNorm, AttentionPostNorm, FeedForwardNorm, FeedForwardPostNorm, KeyNorm, QueryNorm,
        };
        matches!(
            self,
            AttentionNorm | AttentionPostNorm | FeedForwardNorm | FeedForwardPostNorm | KeyNorm | QueryNorm
        )
    }
}

/// Which tensors a block is read from, in the order of their rows in the packed matrices.
struct BlockParts {
    query_key_value: &'static [BlockTensor],
    bias: &'static [BlockTensor],
    gate_up: &'static [BlockTensor],
    head_norms: bool,
    result_norms: bool,
}

impl BlockParts {
    fn new(source: &dyn WeightSource, architecture: Architecture) -> Self {
        use BlockTensor::{
            Gate, GateUp, Key, KeyBias, Query, QueryBias, QueryKeyValue, Up, Value, ValueBias,
        };
        let packed = architecture == Architecture::Phi3;
        // Newer GGUF files of Phi-3 hold queries, keys and values apart.
        let apart = source.shape(&source.name(ModelTensor::Block(0, Query))).is_some();
        Self {
            query_key_value: if packed && !apart { &[QueryKeyValue] } else { &[Query, Key, Value] },
            bias: if architecture.has_biases() { &[QueryBias, KeyBias, ValueBias] } else { &[] },
            gate_up: if packed { &[GateUp] } else { &[Gate, Up] },
            head_norms: architecture.norms_heads(),
            result_norms: architecture.norms_results(),
        }
    }

    fn tensors(&self) -> Vec<BlockTensor> {
        let mut tensors = vec![BlockTensor::AttentionNorm];
        tensors.extend(self.query_key_value.iter().chain(self.bias));
        if self.head_norms {
            tensors.extend([BlockTensor::QueryNorm, BlockTensor::KeyNorm]);
        }
        tensors.extend([BlockTensor::AttentionOutput, BlockTensor::FeedForwardNorm]);
        tensors.extend(self.gate_up);
        tensors.push(BlockTensor::Down);
        if self.result_norms {
            tensors.extend([BlockTensor::AttentionPostNorm, BlockTensor::FeedForwardPostNorm]);
        }
        tensors
    }
}

impl ModelTensor {
    fn is_norm(self) -> bool {
        match self {
            Self::FinalNorm => true,
            Self::Block(_, tensor) => tensor.is_norm(),
            Self::Embedding | Self::Output => false,
        }
    }

    /// Rows and columns (a vector: its length) in Hugging Face's order.
    fn shape(self, config: &ModelConfig) -> Vec<usize> {
        let hidden = config.hidden_size;
        let queries = config.heads * config.head_dim;
        let keys = config.kv_heads * config.head_dim;
        match self {
            Self::Embedding | Self::Output => vec![config.vocab_size, hidden],
            Self::FinalNorm => vec![hidden],
            Self::Block(_, tensor) => match tensor {
                BlockTensor::AttentionNorm
                | BlockTensor::AttentionPostNorm
                | BlockTensor::FeedForwardNorm
                | BlockTensor::FeedForwardPostNorm => vec![hidden],
                BlockTensor::Query => vec![queries, hidden],
                BlockTensor::Key | BlockTensor::Value => vec![keys, hidden],
                BlockTensor::QueryBias => vec![queries],
                BlockTensor::KeyBias | BlockTensor::ValueBias => vec![keys],
                BlockTensor::QueryKeyValue => vec![queries + 2 * keys, hidden],
                BlockTensor::QueryNorm | BlockTensor::KeyNorm => vec![config.head_dim],
                BlockTensor::AttentionOutput => vec![hidden, queries],
                BlockTensor::Gate | BlockTensor::Up => vec![config.intermediate_size, hidden],
                BlockTensor::GateUp => vec![2 * config.intermediate_size, hidden],
                BlockTensor::Down => vec![hidden, config.intermediate_size],
            },
        }
    }
}

/// Where weights come from.
pub(crate) trait WeightSource {
    /// The file or directory, for errors.
    fn path(&self) -> &Path;
    /// What this source calls a tensor.
    fn name(&self, tensor: ModelTensor) -> String;
    /// Names of all tensors stored, without those known to carry nothing a decoder needs.
    fn stored(&self) -> Vec<&str>;
    /// The stored shape, rows first; `None` where the tensor is not stored.
    fn shape(&self, name: &str) -> Option<&[usize]>;
    /// Checks that a stored tensor has a known type and lies inside the file.
    fn check(&self, name: &str) -> Result<(), DecoderError>;
    /// Which file holds a stored tensor, and at which bytes; `None` where [`Self::check`] would fail.
    fn bytes_of(&self, name: &str) -> Option<(usize, Range<u64>)>;
    /// Appends the values of a stored tensor to `values`, in Hugging Face's order of rows.
    fn read(&mut self, tensor: ModelTensor, values: &mut Vec<f32>) -> Result<(), DecoderError>;
}

/// All weights, projections of the same input packed into one matrix.
pub(crate) struct Weights {
    /// [V, d]
    pub embedding: Matrix,
    /// [V, d]; `None` where the embedding is the head.
    pub output: Option<Matrix>,
    /// `[d]`
    pub final_norm: Vec<f32>,
    pub blocks: Vec<BlockWeights>,
}

/// The weights of one block, projections as [out, in].
pub(crate) struct BlockWeights {
    pub attention_norm: Vec<f32>,
    /// Query rows, then key rows, then value rows.
    pub query_key_value: Matrix,
    /// What is added to them, in the same order.
    pub query_key_value_bias: Option<Vec<f32>>,
    /// Weights over one head's queries and keys, `[D]` each.
    pub head_norms: Option<(Vec<f32>, Vec<f32>)>,
    pub attention_output: Matrix,
    pub attention_post_norm: Option<Vec<f32>>,
    pub feed_forward_norm: Vec<f32>,
    /// Gate rows, then up rows.
    pub gate_up: Matrix,
    pub down: Matrix,
    pub feed_forward_post_norm: Option<Vec<f32>>,
}

impl Weights {
    /// No weight at all: what a decoder holds on the host once its weights are on a device.
    pub(crate) fn moved_away() -> Self {
        let embedding = Matrix::new(Vec::new(), 0, 0);
        Self { embedding, output: None, final_norm: Vec::new(), blocks: Vec::new() }
    }

    pub(crate) fn load(source: &mut dyn WeightSource, config: &ModelConfig) -> Result<Self, DecoderError> {
        let parts = BlockParts::new(source, config.architecture);
        let tied = check_inventory(source, config, &parts)?;
        let (vocab, hidden) = (config.vocab_size, config.hidden_size);
        let embedding = Matrix::new(values(source, &[ModelTensor::Embedding])?, vocab, hidden);
        let output = if tied {
            None
        } else {
            Some(Matrix::new(values(source, &[ModelTensor::Output])?, vocab, hidden))
        };
        let final_norm = values(source, &[ModelTensor::FinalNorm])?;
        let blocks =
            (0..config.layers).map(|i| block(source, config, &parts, i)).collect::<Result<_, _>>()?;
        Ok(Self { embedding, output, final_norm, blocks })
    }
}

fn block(
    source: &mut dyn WeightSource,
    config: &ModelConfig,
    parts: &BlockParts,
    index: usize,
) -> Result<BlockWeights, DecoderError> {
    let mut read = |tensors: &[BlockTensor]| {
        let tensors: Vec<_> = tensors.iter().map(|t| ModelTensor::Block(index, *t)).collect();
        values(source, &tensors)
    };
    let (hidden, intermediate) = (config.hidden_size, config.intermediate_size);
    let queries = config.heads * config.head_dim;
    let packed = queries + 2 * config.kv_heads * config.head_dim;
    Ok(BlockWeights {
        attention_norm: read(&[BlockTensor::AttentionNorm])?,
        query_key_value: Matrix::new(read(parts.query_key_value)?, packed, hidden),
        query_key_value_bias: if parts.bias.is_empty() { None } else { Some(read(parts.bias)?) },
        head_norms: if parts.head_norms {
            Some((read(&[BlockTensor::QueryNorm])?, read(&[BlockTensor::KeyNorm])?))
        } else {
            None
        },
        attention_output: Matrix::new(read(&[BlockTensor::AttentionOutput])?, hidden, queries),
        attention_post_norm: if parts.result_norms {
            Some(read(&[BlockTensor::AttentionPostNorm])?)
        } else {
            None
        },
        feed_forward_norm: read(&[BlockTensor::FeedForwardNorm])?,
        gate_up: Matrix::new(read(parts.gate_up)?, 2 * intermediate, hidden),
        down: Matrix::new(read(&[BlockTensor::Down])?, hidden, intermediate),
        feed_forward_post_norm: if parts.result_norms {
            Some(read(&[BlockTensor::FeedForwardPostNorm])?)
        } else {
            None
        },
    })
}

/// The values of several tensors one after another; all must be finite.
fn values(source: &mut dyn WeightSource, tensors: &[ModelTensor]) -> Result<Vec<f32>, DecoderError> {
    let size = |t: &ModelTensor| source.shape(&source.name(*t)).map_or(0, |s| s.iter().product::<usize>());
    let mut values = Vec::with_capacity(tensors.iter().map(size).sum());
    for &tensor in tensors {
        let start = values.len();
        source.read(tensor, &mut values)?;
        if !super::lanes::all_finite(&values[start..]) {
            return Err(DecoderError::Tensor {
                path: source.path().to_owned(),
                name: source.name(tensor),
                reason: "holds a value that is not finite; fetch the model again".to_owned(),
            });
        }
    }
    Ok(values)
}

/// Refuses tensors that share bytes: a file of megabytes could claim a terabyte of weights that way.
fn check_apart(source: &dyn WeightSource, names: &[String]) -> Result<(), DecoderError> {
    let mut places: Vec<(usize, u64, u64, &str)> = names
        .iter()
        .filter_map(|name| {
            let (file, bytes) = source.bytes_of(name)?;
            Some((file, bytes.start, bytes.end, name.as_str()))
        })
        .filter(|(_, start, end, _)| start < end)
        .collect();
    places.sort_unstable();
    for pair in places.windows(2) {
        if let [(file, _, end, one), (other_file, start, _, other)] = pair
            && file == other_file
            && start < end
        {
            return Err(DecoderError::Tensor {
                path: source.path().to_owned(),
                name: (*other).to_owned(),
                reason: format!("expected bytes of its own, found those of {one}"),
            });
        }
    }
    Ok(())
}

/// Checks presence and shape of every tensor and that none is left over; says whether the output is tied.
fn check_inventory(
    source: &dyn WeightSource,
    config: &ModelConfig,
    parts: &BlockParts,
) -> Result<bool, DecoderError> {
    let stored = source.stored();
    // Before names are made up for each of a million layers that a lying header claims.
    if config.layers > stored.len() {
        return Err(DecoderError::Field {
            path: source.path().to_owned(),
            field: "layers".to_owned(),
            expected: format!("no more layers than the {} tensors stored", stored.len()),
            found: config.layers.to_string(),
        });
    }
    let tied = source.shape(&source.name(ModelTensor::Output)).is_none();
    let mut tensors = vec![ModelTensor::Embedding, ModelTensor::FinalNorm];
    tensors.extend((!tied).then_some(ModelTensor::Output));
    let of_block = parts.tensors();
    let blocks = (0..config.layers)
        .flat_map(|layer| of_block.iter().map(move |tensor| ModelTensor::Block(layer, *tensor)));
    let all = tensors.iter().copied().chain(blocks.clone()).map(|tensor| source.name(tensor));
    let missing: Vec<String> = all.filter(|name| source.shape(name).is_none()).take(MOST_NAMED).collect();
    if !missing.is_empty() {
        return Err(DecoderError::MissingTensors { path: source.path().to_owned(), names: missing });
    }
    tensors.extend(blocks);
    let names: Vec<String> = tensors.iter().map(|t| source.name(*t)).collect();
    for (tensor, name) in tensors.iter().zip(&names) {
        let expected = tensor.shape(config);
        let found = source.shape(name).unwrap_or_default();
        if found != expected {
            return Err(DecoderError::Shape {
                path: source.path().to_owned(),
                name: name.clone(),
                expected,
                found: found.to_owned(),
            });
        }
        source.check(name)?;
    }
    check_apart(source, &names)?;
    let placed: std::collections::HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut left: Vec<String> =
        stored.iter().filter(|n| !placed.contains(**n)).map(|n| (*n).to_owned()).collect();
    if !left.is_empty() {
        left.sort();
        left.truncate(MOST_NAMED);
        let architecture = config.architecture.name();
        return Err(DecoderError::UnplacedTensors {
            path: source.path().to_owned(),
            architecture,
            names: left,
        });
    }
    Ok(tied)
}
