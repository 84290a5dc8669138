//! What a model file says of the decoder inside, and what reading with it will cost, without loading it.

use std::collections::BTreeMap;
use std::path::Path;

use super::{GgufWeights, SafetensorsWeights, config};
use crate::disk::{LONGEST_SETTINGS, read_regular_text};
use crate::model::location::weight_files;
use crate::model::{DecoderError, ModelConfig, ModelLocation};

/// Bytes of a number that is read: everything is f32 once it is loaded.
const NUMBER: u64 = 4;
/// Rows that go through a feed-forward layer together.
const FEED_FORWARD_ROWS: u64 = 1024;

/// A decoder as its files describe it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSummary {
    pub config: ModelConfig,
    /// How the tensors are stored, most values first.
    pub stored: Vec<StoredAs>,
    /// Bytes of the weight files.
    pub file_bytes: u64,
}

/// Tensors of one storage type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAs {
    /// As GGML or safetensors call it: `Q4_1`, `BF16`.
    pub dtype: String,
    pub tensors: usize,
    /// Numbers in all of them.
    pub values: u64,
}

/// Bytes of memory for reading a number of tokens, roughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryEstimate {
    pub tokens: usize,
    /// All weights as f32.
    pub weights: u64,
    /// Keys and values of the tokens.
    pub cache: u64,
    /// States, projections and the feed-forward layer of one block at work.
    pub working: u64,
}

impl MemoryEstimate {
    pub fn total(&self) -> u64 {
        self.weights.saturating_add(self.cache).saturating_add(self.working)
    }
}

impl ModelSummary {
    /// Reads headers only.
    ///
    /// # Errors
    /// Names the field, tensor, file or length that is missing, unknown or wrong.
    pub fn of(location: &ModelLocation) -> Result<Self, DecoderError> {
        let path = location.path();
        let failed = |path: &Path, source| DecoderError::Read { path: path.to_owned(), source };
        if location.is_gguf() {
            let (weights, config) = GgufWeights::open(path)?;
            return Ok(Self { config, stored: grouped(weights.storage()), file_bytes: weights.file_bytes() });
        }
        let (config, stored, files) = {
            let file = path.join("config.json");
            let text = read_regular_text(&file, LONGEST_SETTINGS).map_err(|source| failed(&file, source))?;
            let config = config::from_json(&text, &file)?;
            let weights = SafetensorsWeights::open(path, config.architecture)?;
            let files = weight_files(path).map_err(|source| failed(path, source))?;
            (config, grouped(weights.storage()), files)
        };
        let mut file_bytes = 0;
        for file in &files {
            file_bytes += std::fs::metadata(file).map_err(|source| failed(file, source))?.len();
        }
        Ok(Self { config, stored, file_bytes })
    }

    /// Numbers in all tensors.
    pub fn parameters(&self) -> u64 {
        self.stored.iter().fold(0, |sum, stored| sum.saturating_add(stored.values))
    }

    /// What reading `tokens` tokens takes. What is kept for detectors comes on top and is small.
    pub fn memory(&self, tokens: usize) -> MemoryEstimate {
        let ModelConfig { layers, heads, kv_heads, head_dim, hidden_size, intermediate_size, .. } =
            self.config;
        let n = tokens as u64;
        let [layers, heads, kv_heads, head_dim, hidden, intermediate] =
            [layers, heads, kv_heads, head_dim, hidden_size, intermediate_size].map(|count| count as u64);
        let (queries, keys) = (heads * head_dim, kv_heads * head_dim);
        let attention = n.saturating_mul(2 * hidden + 2 * (queries + 2 * keys) + queries);
        let feed_forward = n.min(FEED_FORWARD_ROWS).saturating_mul(3 * intermediate + 2 * hidden);
        MemoryEstimate {
            tokens,
            weights: self.parameters().saturating_mul(NUMBER),
            cache: n.saturating_mul(layers * 2 * keys * NUMBER),
            working: attention.saturating_add(feed_forward).saturating_mul(NUMBER),
        }
    }
}

fn grouped(tensors: impl Iterator<Item = (String, u64)>) -> Vec<StoredAs> {
    let mut kinds: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for (dtype, values) in tensors {
        let kind = kinds.entry(dtype).or_default();
        kind.0 += 1;
        kind.1 = kind.1.saturating_add(values);
    }
    let mut stored: Vec<StoredAs> =
        kinds.into_iter().map(|(dtype, (tensors, values))| StoredAs { dtype, tensors, values }).collect();
    stored.sort_by_key(|kind| std::cmp::Reverse(kind.values));
    stored
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::decoder_tests::folder;
    use crate::model::small_model::real_model_path;

    #[test]
    fn a_directory_is_summed_up_from_its_headers() {
        let summary = ModelSummary::of(&ModelLocation::Directory(folder("llama"))).unwrap();
        assert_eq!((summary.config.layers, summary.config.heads, summary.config.kv_heads), (3, 4, 2));
        let [stored] = &summary.stored[..] else { panic!("one storage type: {:?}", summary.stored) };
        // Embedding and head of 96 x 32, three blocks, the last norm.
        let block = 2 * 32 + (4 + 2 + 2) * 8 * 32 + 32 * 32 + 3 * 48 * 32;
        let tied = stored.values == 96 * 32 + 3 * block + 32;
        assert!(tied || stored.values == 2 * 96 * 32 + 3 * block + 32, "{stored:?}");
        assert!(summary.file_bytes > stored.values);
    }

    #[test]
    fn memory_grows_with_the_tokens_and_begins_at_the_weights() {
        let summary = ModelSummary::of(&ModelLocation::Directory(folder("llama"))).unwrap();
        let (none, some) = (summary.memory(0), summary.memory(100));
        assert_eq!((none.total(), none.cache), (summary.parameters() * 4, 0));
        assert_eq!(some.cache, 3 * 2 * 16 * 100 * 4);
        assert_eq!(some.weights, none.weights);
        assert!(summary.memory(usize::MAX).total() > some.total());
    }

    #[test]
    fn the_default_model_is_what_its_makers_say() {
        let Some(path) = real_model_path("the_default_model_is_what_its_makers_say") else { return };
        let summary = ModelSummary::of(&ModelLocation::Gguf(path)).unwrap();
        let config = &summary.config;
        assert_eq!((config.layers, config.heads, config.kv_heads, config.hidden_size), (30, 9, 3, 576));
        assert_eq!((config.context_length, config.vocab_size), (8192, 49152));
        assert_eq!(summary.stored[0].dtype, "Q4_1");
        assert_eq!(summary.parameters(), 134_515_008);
    }
}
