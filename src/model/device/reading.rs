//! Prefixes and captures on a device.

use std::ops::Range;

use candle_core::{D, DType, Device, Tensor};

use super::attention::{Attended, DeviceAttention, Kept};
use super::block::{BlockAtWork, Rotation};
use super::finite::FiniteChecks;
use super::head;
use super::memory::{MemoryBudget, is_out_of_memory};
use super::weights::DeviceWeights;
use super::{DecoderError, KeysAndValues, ModelConfig, rms_norm};
use crate::model::capture::block_of;
use crate::model::rope::RopeTable;
use crate::model::weights::Weights;
use crate::model::{Capture, CaptureRequest, StateLayer};

/// Rows whose divergence is computed at a time: two matrices of rows x vocabulary are held.
const DIVERGENCE_ROWS: usize = 128;

/// Weights on a device and how much may be held there at once.
pub(crate) struct DeviceEngine {
    pub(super) device: Device,
    pub(super) dtype: DType,
    pub(super) weights: DeviceWeights,
    pub(super) memory: MemoryBudget,
}

/// What one sequence leaves behind, on the device until the reading is over.
#[derive(Default)]
struct KeptTensors {
    mass: Vec<Tensor>,
    among_new: Vec<Option<Tensor>>,
    states: Vec<Option<Tensor>>,
    full: Vec<Tensor>,
}

impl DeviceEngine {
    pub(crate) fn new(weights: Weights, device: Device, dtype: DType) -> Result<Self, DecoderError> {
        let weights = DeviceWeights::new(weights, &device, dtype).map_err(|error| {
            if is_out_of_memory(&error) {
                let work = "loading the weights".to_owned();
                return DecoderError::DeviceMemory { work, reason: super::reason(&error) };
            }
            DecoderError::Arithmetic(error)
        })?;
        Ok(Self { device, dtype, weights, memory: MemoryBudget::default() })
    }

    /// Device and number type, for people.
    pub(crate) fn description(&self) -> String {
        let device = match self.device {
            Device::Cpu => "cpu:tensors",
            Device::Cuda(_) => "cuda",
            Device::Metal(_) => "metal",
        };
        format!("{device} {}", self.dtype.as_str())
    }

    pub(super) fn block<'a>(&'a self, config: &'a ModelConfig, index: usize) -> BlockAtWork<'a> {
        BlockAtWork { config, weights: &self.weights.blocks[index], dtype: self.dtype, memory: &self.memory }
    }

    /// Rows of the embedding table, scaled, [rows, d] in f32.
    pub(super) fn embed(&self, config: &ModelConfig, ids: &[u32]) -> candle_core::Result<Tensor> {
        let ids = Tensor::from_slice(ids, ids.len(), &self.device)?;
        let rows = self.weights.embedding.index_select(&ids, 0)?.to_dtype(DType::F32)?;
        rows * f64::from(config.embedding_scale())
    }

    pub(super) fn rotation(&self, table: &RopeTable) -> candle_core::Result<Rotation> {
        let (cos, sin, pairs) = table.values();
        let tensor = |values: &[f32]| {
            Tensor::from_slice(values, (values.len() / pairs.max(1), 1, pairs), &self.device)
        };
        Ok((tensor(cos)?, tensor(sin)?))
    }

    /// Keys and values of the first tokens of a sequence; `ropes` gives the table of each block.
    pub(crate) fn prefix<'r>(
        &self,
        config: &ModelConfig,
        ids: &[u32],
        ropes: impl Fn(usize) -> &'r RopeTable,
    ) -> Result<Vec<KeysAndValues>, DecoderError> {
        if ids.is_empty() {
            return Ok(vec![None; config.layers]);
        }
        self.memory.run(ids.len(), || {
            let mut checks = FiniteChecks::default();
            let mut hidden = self.embed(config, ids)?;
            let mut layers = Vec::with_capacity(config.layers);
            for index in 0..config.layers {
                let block = self.block(config, index);
                let packed = block.projected(&hidden)?;
                checks.look(format!("block {}, queries, keys and values,", index + 1), &packed)?;
                let [queries, keys, values] = block.rotated_heads(&packed, &self.rotation(ropes(index))?)?;
                drop(packed);
                // Nothing after the keys and values of the last block is used by a continuation.
                if index + 1 < config.layers {
                    let attention = DeviceAttention {
                        queries: &queries,
                        keys: &keys,
                        values: &values,
                        before: 0,
                        window: config.windows.get(index).copied().flatten(),
                        memory: &self.memory,
                    };
                    let kept = Kept { indicator: None, among_new: false, full: false, precise: false };
                    let context = attention.run(kept)?.context;
                    checks.look(format!("block {}, attention weights,", index + 1), &context)?;
                    hidden = block.finish(&hidden, &context)?;
                    checks.look(format!("the state after block {}", index + 1), &hidden)?;
                }
                layers.push(Some((keys, values)));
            }
            checks.finish()?;
            Ok(layers)
        })
    }

    /// See [`crate::model::Decoder::divergence`]: [R, d] states of both readings, few rows of logits at a time.
    pub(crate) fn divergence(
        &self,
        with: &[f32],
        without: &[f32],
        rows: usize,
    ) -> Result<Vec<f32>, DecoderError> {
        let width = with.len() / rows.max(1);
        let weights = &self.weights.output;
        let mut all = Vec::with_capacity(rows);
        for start in (0..rows).step_by(DIVERGENCE_ROWS) {
            let count = DIVERGENCE_ROWS.min(rows - start);
            let log_probabilities = |states: &[f32]| {
                let own = &states[start * width..(start + count) * width];
                let states = Tensor::from_slice(own, (count, width), &self.device)?;
                let logits = head::logits(&states, weights)?;
                let centred = logits.broadcast_sub(&logits.max_keepdim(D::Minus1)?)?;
                let total = centred.exp()?.sum_keepdim(D::Minus1)?.log()?;
                centred.broadcast_sub(&total)
            };
            let (one, other) = (log_probabilities(with)?, log_probabilities(without)?);
            let terms = (one.exp()? * (&one - &other)?)?;
            all.extend(terms.sum(D::Minus1)?.to_vec1::<f32>()?);
        }
        if !all.iter().all(|value| value.is_finite()) {
            return Err(DecoderError::NotFinite { place: "the output head".to_owned() });
        }
        Ok(all.into_iter().map(|value| value.max(0.0)).collect())
    }

    /// Continuations of a prefix read together; requests and tokens were checked.
    pub(crate) fn read<'r>(
        &self,
        config: &ModelConfig,
        prefix: (&[KeysAndValues], usize),
        sequences: &[&[u32]],
        request: &CaptureRequest,
        ropes: impl Fn(usize) -> &'r RopeTable,
        empty: impl Fn(usize) -> Capture,
    ) -> Result<Vec<Capture>, DecoderError> {
        let tokens = prefix.1 + sequences.iter().map(|ids| ids.len()).sum::<usize>();
        self.memory.run(tokens, || {
            let mut captures: Vec<Capture> = sequences.iter().map(|ids| empty(ids.len())).collect();
            self.read_once(config, prefix, sequences, request, &ropes, &mut captures)?;
            Ok(captures)
        })
    }

    fn read_once<'r>(
        &self,
        config: &ModelConfig,
        (layers, before): (&[KeysAndValues], usize),
        sequences: &[&[u32]],
        request: &CaptureRequest,
        ropes: &impl Fn(usize) -> &'r RopeTable,
        captures: &mut [Capture],
    ) -> Result<(), DecoderError> {
        // Named one by one: what is asked for in future has to be answered here.
        let CaptureRequest {
            segments,
            states,
            attention_among_new,
            self_attention,
            information_contribution,
            logits,
            full_attention,
        } = request;
        for (asked, signal) in
            [(*self_attention, "self-attention"), (*information_contribution, "information contribution")]
        {
            if asked {
                return Err(DecoderError::NotOnDevice { signal });
            }
        }
        let rows = stacked(sequences);
        let mut checks = FiniteChecks::default();
        let mut kept: Vec<KeptTensors> = sequences.iter().map(|_| KeptTensors::of(request)).collect();
        let indicators = sequences
            .iter()
            .map(|ids| self.indicator(segments, before + ids.len()))
            .collect::<candle_core::Result<Vec<_>>>()?;
        let mut hidden = self.embed(config, &sequences.concat())?;
        for (index, old) in layers.iter().enumerate() {
            let block = self.block(config, index);
            let packed = block.projected(&hidden)?;
            checks.look(format!("block {}, queries, keys and values,", index + 1), &packed)?;
            let (cos, sin) = self.rotation(ropes(index))?;
            let mut contexts = Vec::with_capacity(sequences.len());
            for ((rows, kept), indicator) in rows.iter().zip(&mut kept).zip(&indicators) {
                let packed = packed.narrow(0, rows.start, rows.len())?;
                let rotation = (cos.narrow(0, 0, rows.len())?, sin.narrow(0, 0, rows.len())?);
                let [queries, keys, values] = block.rotated_heads(&packed, &rotation)?;
                let (keys, values) = with_prefix(old, &keys, &values)?;
                let attention = DeviceAttention {
                    queries: &queries,
                    keys: &keys,
                    values: &values,
                    before,
                    window: config.windows.get(index).copied().flatten(),
                    memory: &self.memory,
                };
                let wanted = |layer: &StateLayer| block_of(*layer, config.layers) == index;
                let attended = attention.run(Kept {
                    indicator: indicator.as_ref(),
                    among_new: attention_among_new.iter().any(wanted),
                    full: *full_attention,
                    precise: true,
                })?;
                contexts.push(attended.context.clone());
                kept.attention(index, config.layers, attended, request);
            }
            let context = Tensor::cat(&contexts, 0)?;
            checks.look(format!("block {}, attention weights,", index + 1), &context)?;
            hidden = block.finish(&hidden, &context)?;
            checks.look(format!("the state after block {}", index + 1), &hidden)?;
            for (rows, kept) in rows.iter().zip(&mut kept) {
                kept.states(StateLayer::Block(index + 1), &hidden, rows, states)?;
            }
        }
        let normed = rms_norm(&hidden, &self.weights.final_norm, config.norm_eps)?;
        checks.look("the state after the final norm", &normed)?;
        let step = self.memory.rows(4 * config.vocab_size);
        let mut predictions = Vec::with_capacity(sequences.len());
        for ((ids, rows), kept) in sequences.iter().zip(&rows).zip(&mut kept) {
            kept.states(StateLayer::FinalNorm, &normed, rows, states)?;
            let own = normed.narrow(0, rows.start, rows.len())?;
            let targets = ids.get(1..).unwrap_or_default();
            let next = head::predict(&own, &self.weights.output, targets, *logits, step)?;
            for entropy in next.entropy.iter().chain(&next.logits) {
                checks.look("the output head", entropy)?;
            }
            predictions.push(next);
        }
        checks.finish()?;
        for ((kept, next), capture) in kept.into_iter().zip(predictions).zip(captures) {
            kept.fetch(capture)?;
            // Rounding may leave a certain token a hair above one.
            capture.log_prob = host(&next.log_prob, 0)?.into_iter().map(|x| x.min(0.0)).collect();
            capture.entropy = host(&next.entropy, 0)?.into_iter().map(|x| x.max(0.0)).collect();
            capture.logits = if *logits { Some(host(&next.logits, 0)?) } else { None };
        }
        Ok(())
    }

    /// Ones where a token lies in a segment: [tokens, S].
    fn indicator(&self, segments: &[Range<usize>], tokens: usize) -> candle_core::Result<Option<Tensor>> {
        if segments.is_empty() {
            return Ok(None);
        }
        let mut ones = vec![0f32; tokens * segments.len()];
        for (column, segment) in segments.iter().enumerate() {
            for token in segment.clone() {
                if let Some(one) = ones.get_mut(token * segments.len() + column) {
                    *one = 1.0;
                }
            }
        }
        Tensor::from_vec(ones, (tokens, segments.len()), &self.device).map(Some)
    }
}

impl KeptTensors {
    fn of(request: &CaptureRequest) -> Self {
        Self {
            among_new: vec![None; request.attention_among_new.len()],
            states: vec![None; request.states.len()],
            ..Self::default()
        }
    }

    fn attention(&mut self, index: usize, layers: usize, attended: Attended, request: &CaptureRequest) {
        self.mass.extend(attended.mass);
        self.full.extend(attended.full);
        for (kept, layer) in self.among_new.iter_mut().zip(&request.attention_among_new) {
            if block_of(*layer, layers) == index {
                kept.clone_from(&attended.among_new);
            }
        }
    }

    fn states(
        &mut self,
        made: StateLayer,
        hidden: &Tensor,
        rows: &Range<usize>,
        wanted: &[StateLayer],
    ) -> candle_core::Result<()> {
        for (kept, layer) in self.states.iter_mut().zip(wanted) {
            if *layer == made {
                *kept = Some(hidden.narrow(0, rows.start, rows.len())?);
            }
        }
        Ok(())
    }

    /// Copies everything to the host.
    fn fetch(self, capture: &mut Capture) -> candle_core::Result<()> {
        if !self.mass.is_empty() {
            // One [R, H, S] for each block to [R, L, H, S].
            capture.segment_mass = host(&[Tensor::stack(&self.mass, 1)?], 0)?;
        }
        for (kept, tensor) in capture.attention_among_new.iter_mut().zip(self.among_new) {
            *kept = host(tensor.as_slice(), 0)?;
        }
        for (kept, tensor) in capture.states.iter_mut().zip(self.states) {
            *kept = host(tensor.as_slice(), 0)?;
        }
        if let Some(full) = &mut capture.full_attention {
            *full = host(&self.full, 0)?;
        }
        Ok(())
    }
}

/// Where each sequence lies among the rows of all.
fn stacked(sequences: &[&[u32]]) -> Vec<Range<usize>> {
    let ends = sequences.iter().scan(0, |end, ids| {
        *end += ids.len();
        Some(*end - ids.len()..*end)
    });
    ends.collect()
}

/// Keys and values of the prefix, then those of the new tokens; the prefix itself is left as it is.
pub(super) fn with_prefix(
    old: &KeysAndValues,
    keys: &Tensor,
    values: &Tensor,
) -> candle_core::Result<(Tensor, Tensor)> {
    match old {
        None => Ok((keys.clone(), values.clone())),
        Some((old_keys, old_values)) => {
            Ok((Tensor::cat(&[old_keys, keys], 1)?, Tensor::cat(&[old_values, values], 1)?))
        }
    }
}

/// Tensors joined along a dimension, on the host, row-major.
pub(super) fn host(tensors: &[Tensor], dimension: usize) -> candle_core::Result<Vec<f32>> {
    match tensors {
        [] => Ok(Vec::new()),
        [one] => one.flatten_all()?.to_dtype(DType::F32)?.to_vec1(),
        several => Tensor::cat(several, dimension)?.flatten_all()?.to_dtype(DType::F32)?.to_vec1(),
    }
}
