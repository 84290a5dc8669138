//! Token features: named blocks computed from a trace, and rows assembled from blocks.

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::reading::{KeptSignals, StateLayer, Trace};

use super::{DetectError, Precision, StoredRows, cortex, lookback};

/// One block of token features; a detector reads one or several, side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FeatureBlock {
    /// D, eq. 4 of CORTEX: [T, d].
    Difference {
        /// Layer of the states.
        layer: StateLayer,
    },
    /// c, eq. 6 of CORTEX: [T, d].
    Residual {
        /// Layer of the states.
        layer: StateLayer,
        /// Whether the attention of eq. 5 is renormalised over the earlier answer tokens.
        renormalised: bool,
    },
    /// c with the attention of eq. 5 averaged over the heads of all blocks: [T, d].
    PooledResidual {
        /// Layer of the states.
        layer: StateLayer,
    },
    /// The hidden state with references (SAPLMA): [T, d].
    State {
        /// Layer of the states.
        layer: StateLayer,
    },
    /// Full-context look-back ratio of every head: [T, L * H].
    ContextRatio,
    /// Natural logarithm of the attention mass on all chunks, every head: [T, L * H].
    LogChunkMass,
    /// Mean of the full-context look-back ratio over the window of eight tokens around each one (Lookback Lens):
    /// [T, L * H].
    WindowedContextRatio,
    /// Negative log-likelihood with references, without, with minus without, and entropy: [T, 4].
    Likelihood,
    /// Divergence of the next-token distribution with references from the one without: [T, 1].
    Divergence,
    /// Whether the token's word occurs in the passages: [T, 1].
    LexicalSupport,
    /// Sum over heads of the log attention of each token on itself, every layer (LLM-Check): [T, L].
    SelfAttention,
    /// Information contribution of every layer (ICR Probe): [T, L].
    InformationContribution,
}

/// The layers whose hidden states these blocks need of a model of `depth` decoder blocks, each once, in order.
#[must_use]
pub fn layers_of(blocks: &[FeatureBlock], depth: usize) -> Vec<StateLayer> {
    let mut layers: Vec<StateLayer> = blocks.iter().filter_map(|block| block.layer()).collect();
    if blocks.iter().any(|block| matches!(block, FeatureBlock::PooledResidual { .. })) {
        layers.extend((1..=depth).map(StateLayer::Block));
    }
    layers.sort_unstable();
    layers.dedup();
    layers
}

/// What fixes the width of every block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelShape {
    /// Blocks of the decoder.
    pub layers: usize,
    /// Attention heads of a block.
    pub heads: usize,
    /// Width of the hidden state.
    pub hidden_size: usize,
}

impl ModelShape {
    /// The shape of the model that made a trace.
    #[must_use]
    pub const fn of(trace: &Trace) -> Self {
        Self { layers: trace.layers, heads: trace.heads, hidden_size: trace.hidden_size }
    }

    /// Refuses a trace of a model of another shape.
    pub fn check(self, trace: &Trace) -> Result<(), DetectError> {
        let found = Self::of(trace);
        if found == self {
            return Ok(());
        }
        Err(DetectError::OtherShape { expected: self.to_string(), found: found.to_string() })
    }
}

impl std::fmt::Display for ModelShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} layers, {} heads, hidden size {}", self.layers, self.heads, self.hidden_size)
    }
}

impl FeatureBlock {
    /// Values per token.
    #[must_use]
    pub const fn width(self, shape: ModelShape) -> usize {
        match self {
            Self::Difference { .. }
            | Self::Residual { .. }
            | Self::PooledResidual { .. }
            | Self::State { .. } => shape.hidden_size,
            Self::ContextRatio | Self::WindowedContextRatio | Self::LogChunkMass => {
                shape.layers * shape.heads
            }
            Self::Likelihood => 4,
            Self::Divergence | Self::LexicalSupport => 1,
            Self::SelfAttention | Self::InformationContribution => shape.layers,
        }
    }

    /// How a store keeps it: likelihoods and other scalars whole, so that ranks stay exact; what is wide by halves.
    #[must_use]
    pub const fn precision(self) -> Precision {
        match self {
            Self::Likelihood | Self::Divergence | Self::LexicalSupport => Precision::F32,
            _ => Precision::F16,
        }
    }

    /// The layer whose hidden states it is made of, if any.
    #[must_use]
    pub const fn layer(self) -> Option<StateLayer> {
        match self {
            Self::Difference { layer }
            | Self::Residual { layer, .. }
            | Self::PooledResidual { layer }
            | Self::State { layer } => Some(layer),
            _ => None,
        }
    }

    /// Name in file names and tables, for example `difference-block-22`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Difference { layer } => format!("difference-{}", cortex::layer_name(layer)),
            Self::Residual { layer, renormalised: false } => {
                format!("residual-{}", cortex::layer_name(layer))
            }
            Self::Residual { layer, renormalised: true } => {
                format!("residual-renormalised-{}", cortex::layer_name(layer))
            }
            Self::PooledResidual { layer } => format!("residual-pooled-{}", cortex::layer_name(layer)),
            Self::State { layer } => format!("state-{}", cortex::layer_name(layer)),
            Self::ContextRatio => "context-ratio".to_owned(),
            Self::WindowedContextRatio => "windowed-context-ratio".to_owned(),
            Self::LogChunkMass => "log-chunk-mass".to_owned(),
            Self::Likelihood => "likelihood".to_owned(),
            Self::Divergence => "divergence".to_owned(),
            Self::LexicalSupport => "lexical-support".to_owned(),
            Self::SelfAttention => "self-attention".to_owned(),
            Self::InformationContribution => "information-contribution".to_owned(),
        }
    }

    /// Computes the block, [T, width], every value finite.
    pub fn compute(self, trace: &Trace) -> Result<Vec<f32>, DetectError> {
        let values = match self {
            Self::Difference { layer } => cortex::difference(trace, layer)?,
            Self::Residual { layer, renormalised } => cortex::residual(trace, layer, renormalised)?,
            Self::PooledResidual { layer } => cortex::pooled_residual(trace, layer)?,
            Self::State { layer } => cortex::layer_states(trace, layer)?.with_references.clone(),
            Self::ContextRatio => lookback::context_ratios(trace)?,
            Self::LogChunkMass => lookback::log_chunk_mass(trace)?,
            Self::WindowedContextRatio => {
                let width = trace.layers * trace.heads;
                windowed(&lookback::context_ratios(trace)?, width)
            }
            Self::Likelihood => likelihood(trace)?,
            Self::Divergence => kept(trace.divergence.as_deref(), "divergence", trace, 1)?,
            Self::LexicalSupport => kept(Some(&trace.lexical_support), "lexical_support", trace, 1)?,
            Self::SelfAttention => {
                kept(trace.self_attention.as_deref(), "self_attention", trace, trace.layers)?
            }
            Self::InformationContribution => {
                let scores = trace.information_contribution.as_deref();
                kept(scores, "information_contribution", trace, trace.layers)?
            }
        };
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => {
                let token = at / self.width(ModelShape::of(trace)).max(1);
                Err(DetectError::NotFinite { what: self.name(), token })
            }
            None => Ok(values),
        }
    }
}

/// Tokens of a window of Lookback Lens.
const WINDOW: usize = 8;

/// Means over the rows `t - 3 ..= t + 4`, as far as they exist.
fn windowed(rows: &[f32], width: usize) -> Vec<f32> {
    let tokens = rows.len() / width.max(1);
    let mut means = Vec::with_capacity(rows.len());
    for token in 0..tokens {
        let window = token.saturating_sub(WINDOW / 2 - 1)..(token + WINDOW / 2 + 1).min(tokens);
        let count = window.len() as f32;
        means.extend(
            (0..width)
                .map(|column| window.clone().map(|row| rows[row * width + column]).sum::<f32>() / count),
        );
    }
    means
}

/// A signal of the trace, when it was kept and has the shape it should have.
fn kept(
    values: Option<&[f32]>,
    field: &'static str,
    trace: &Trace,
    width: usize,
) -> Result<Vec<f32>, DetectError> {
    let values = values.ok_or(DetectError::NotKept { field })?;
    let expected = trace.token_ids.len() * width;
    if values.len() != expected {
        return Err(DetectError::TraceShape { field, expected, found: values.len() });
    }
    Ok(values.to_vec())
}

/// What a reading has to keep for these blocks.
#[must_use]
pub fn signals_of(blocks: &[FeatureBlock]) -> KeptSignals {
    KeptSignals {
        divergence: blocks.contains(&FeatureBlock::Divergence),
        self_attention: blocks.contains(&FeatureBlock::SelfAttention),
        information_contribution: blocks.contains(&FeatureBlock::InformationContribution),
    }
}

fn likelihood(trace: &Trace) -> Result<Vec<f32>, DetectError> {
    let expected = trace.token_ids.len();
    for (field, values) in [
        ("log_prob_with", &trace.log_prob_with),
        ("log_prob_without", &trace.log_prob_without),
        ("entropy_with", &trace.entropy_with),
    ] {
        if values.len() != expected {
            return Err(DetectError::TraceShape { field, expected, found: values.len() });
        }
    }
    let pairs = trace.log_prob_with.iter().zip(&trace.log_prob_without).zip(&trace.entropy_with);
    Ok(pairs.flat_map(|((&with, &without), &entropy)| [-with, -without, without - with, entropy]).collect())
}

/// Feature values kept in memory at most, where nothing else is asked for: 1 GiB. What is larger is read
/// from disk as it is used.
pub const MEMORY_LIMIT: u64 = 1 << 30;

/// Values of one block, row-major, where they lie.
#[derive(Debug, Clone, Copy)]
pub enum BlockValues<'a> {
    /// Full precision.
    F32(&'a [f32]),
    /// Half precision, as a feature cache keeps them.
    F16(&'a [f16]),
    /// On disk.
    Stored(&'a StoredRows),
}

impl BlockValues<'_> {
    fn len(self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F16(values) => values.len(),
            Self::Stored(rows) => rows.rows() * rows.width(),
        }
    }
}

/// Token features without a copy: blocks side by side, one row a token, in memory or on disk.
#[derive(Debug, Clone)]
pub struct FeatureRows<'a> {
    blocks: Vec<(BlockValues<'a>, usize)>,
    rows: usize,
    width: usize,
    memory_limit: u64,
}

impl<'a> FeatureRows<'a> {
    /// Puts blocks side by side; each comes with its width, and all must have the same number of rows.
    pub fn new(blocks: Vec<(BlockValues<'a>, usize)>) -> Result<Self, DetectError> {
        let width = blocks.iter().map(|block| block.1).sum();
        let rows = blocks.first().map_or(0, |(values, width)| values.len() / (*width).max(1));
        for (values, width) in &blocks {
            let other_width = matches!(values, BlockValues::Stored(stored) if stored.width() != *width);
            if values.len() != rows * width || other_width {
                return Err(DetectError::Mismatch {
                    what: "values of a feature block",
                    expected: rows * width,
                    found: values.len(),
                });
            }
        }
        Ok(Self { blocks, rows, width, memory_limit: MEMORY_LIMIT })
    }

    /// Sets how many bytes of dense rows training may keep; beyond, it reads them again in every pass.
    #[must_use]
    pub const fn with_memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Whether so many rows may be kept as one dense matrix of f32.
    #[must_use]
    pub const fn may_be_dense(&self, rows: usize) -> bool {
        (rows as u64).saturating_mul(self.width as u64).saturating_mul(4) <= self.memory_limit
    }

    /// Number of tokens.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Values per token.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Refuses row numbers that are not there.
    pub(super) fn check_rows(&self, rows: &[usize]) -> Result<(), DetectError> {
        match rows.iter().max() {
            Some(&last) if last >= self.rows => Err(DetectError::Mismatch {
                what: "number of the last row",
                expected: self.rows,
                found: last,
            }),
            _ => Ok(()),
        }
    }

    /// Writes row `row` into `out`, which has [`Self::width`] values.
    ///
    /// Fails for a row that is not there, an `out` of another size, and when the disk fails.
    pub fn copy_row(&self, row: usize, out: &mut [f32]) -> Result<(), DetectError> {
        self.copy_rows(&[row], out)
    }

    /// Writes the chosen rows into `out`, [rows, [`Self::width`]] row-major, in the order asked for. From
    /// disk they are read in stored order, neighbours together, files in parallel.
    ///
    /// Fails for a row that is not there, an `out` of another size, and when the disk fails.
    pub fn copy_rows(&self, rows: &[usize], out: &mut [f32]) -> Result<(), DetectError> {
        self.check_rows(rows)?;
        if out.len() != rows.len() * self.width {
            let (expected, found) = (rows.len() * self.width, out.len());
            return Err(DetectError::Mismatch { what: "values of the chosen rows", expected, found });
        }
        if self.width == 0 {
            return Ok(());
        }
        out.par_chunks_mut(self.width)
            .zip(rows)
            .with_min_len(64)
            .for_each(|(out, &row)| self.copy_from_memory(row, out));
        let mut from = 0;
        for (values, width) in &self.blocks {
            if let BlockValues::Stored(stored) = values
                && *width > 0
            {
                let parts = out.chunks_exact_mut(self.width).map(|row| &mut row[from..from + width]);
                stored.copy(rows.iter().copied().zip(parts).collect())?;
            }
            from += width;
        }
        Ok(())
    }

    fn copy_from_memory(&self, row: usize, mut out: &mut [f32]) {
        for (values, width) in &self.blocks {
            let (part, rest) = out.split_at_mut(*width);
            let from = row * width..(row + 1) * width;
            match values {
                BlockValues::F32(values) => part.copy_from_slice(&values[from]),
                BlockValues::F16(values) => values[from].convert_to_f32_slice(part),
                BlockValues::Stored(_) => {}
            }
            out = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::synthetic::{Planted, trace};

    #[test]
    fn every_block_has_the_width_it_states() {
        let planted = Planted { tokens: 5, ..Planted::default() };
        let trace = trace(&planted);
        let shape = ModelShape::of(&trace);
        let layer = StateLayer::FinalNorm;
        for block in [
            FeatureBlock::Difference { layer },
            FeatureBlock::Residual { layer, renormalised: true },
            FeatureBlock::State { layer },
            FeatureBlock::ContextRatio,
            FeatureBlock::LogChunkMass,
            FeatureBlock::WindowedContextRatio,
            FeatureBlock::Likelihood,
            FeatureBlock::Divergence,
            FeatureBlock::LexicalSupport,
            FeatureBlock::SelfAttention,
            FeatureBlock::InformationContribution,
        ] {
            assert_eq!(block.compute(&trace).unwrap().len(), 5 * block.width(shape), "{}", block.name());
        }
    }

    #[test]
    fn the_window_is_three_tokens_back_and_four_ahead_as_far_as_they_exist() {
        // One column; the value is the number of the token.
        let rows: Vec<f32> = (0..10).map(|token| token as f32).collect();
        let means = windowed(&rows, 1);
        assert_eq!((means[0], means[3], means[9]), (2.0, 3.5, 7.5));
        assert_eq!(means.len(), 10);
        assert_eq!(windowed(&[1.0, 5.0], 2), [1.0, 5.0], "columns are not mixed");
        assert!(windowed(&[], 3).is_empty());
    }

    #[test]
    fn a_signal_that_was_not_kept_is_named_and_asked_for() {
        let blocks = [
            (FeatureBlock::Divergence, "divergence"),
            (FeatureBlock::SelfAttention, "self_attention"),
            (FeatureBlock::InformationContribution, "information_contribution"),
        ];
        let mut trace = trace(&Planted { tokens: 4, ..Planted::default() });
        (trace.divergence, trace.self_attention, trace.information_contribution) = (None, None, None);
        for (block, name) in blocks {
            let error = block.compute(&trace).unwrap_err();
            assert!(matches!(error, DetectError::NotKept { field } if field == name), "{error}");
            assert!(error.to_string().contains("read the answer again with it"), "{error}");
            let asked = signals_of(&[FeatureBlock::Likelihood, block]);
            let kept = [asked.divergence, asked.self_attention, asked.information_contribution];
            assert_eq!(kept.iter().filter(|kept| **kept).count(), 1, "{name}");
        }
        assert_eq!(
            signals_of(&[FeatureBlock::Likelihood, FeatureBlock::ContextRatio]),
            KeptSignals::default()
        );
    }

    #[test]
    fn a_signal_of_the_wrong_length_is_named_with_both_lengths() {
        let mut trace = trace(&Planted { tokens: 4, ..Planted::default() });
        trace.self_attention = Some(vec![0.0; 7]);
        trace.lexical_support.pop();
        let shape = |block: FeatureBlock| block.compute(&trace).unwrap_err();
        for (error, expected, found) in
            [(shape(FeatureBlock::SelfAttention), 8, 7), (shape(FeatureBlock::LexicalSupport), 4, 3)]
        {
            let DetectError::TraceShape { expected: wanted, found: came, .. } = error else {
                panic!("{error}")
            };
            assert_eq!((wanted, came), (expected, found));
        }
    }

    #[test]
    fn rows_put_blocks_side_by_side_whatever_their_precision() {
        let halves: Vec<f16> = [1.5, 2.5].map(f16::from_f32).to_vec();
        let rows = FeatureRows::new(vec![
            (BlockValues::F32(&[1.0, 2.0, 3.0, 4.0]), 2),
            (BlockValues::F16(&halves), 1),
        ])
        .unwrap();
        let mut row = [0.0; 3];
        rows.copy_row(1, &mut row).unwrap();
        assert_eq!((rows.rows(), row), (2, [3.0, 4.0, 2.5]));
    }

    #[test]
    fn blocks_of_different_length_are_refused() {
        let blocks = vec![(BlockValues::F32(&[1.0, 2.0]), 1), (BlockValues::F32(&[1.0]), 1)];
        assert!(matches!(FeatureRows::new(blocks), Err(DetectError::Mismatch { .. })));
    }

    #[test]
    fn a_feature_that_is_not_a_number_names_its_token() {
        let mut trace = trace(&Planted { tokens: 4, ..Planted::default() });
        trace.entropy_with[2] = f32::INFINITY;
        let error = FeatureBlock::Likelihood.compute(&trace).unwrap_err();
        assert!(matches!(error, DetectError::NotFinite { token: 2, .. }), "{error}");
        // And its layer, where it has one.
        let width = trace.hidden_size;
        trace.states[0].with_references[3 * width] = f32::NAN;
        let layer = StateLayer::Block(1);
        for block in [FeatureBlock::Difference { layer }, FeatureBlock::State { layer }] {
            let said = block.compute(&trace).unwrap_err().to_string();
            assert!(said.contains("block-1") && said.contains("token 3"), "{said}");
        }
    }
}
