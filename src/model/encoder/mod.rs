//! Sentence embeddings by a BERT encoder in the form of `sentence-transformers`: what dense retrieval compares.

mod bert;
mod error;
mod files;

use std::path::Path;

use tokenizers::Tokenizer;

use self::bert::Bert;
pub use self::error::EncoderError;
use super::cache::CacheDirectory;
use super::hash::remembered_sha256;
use crate::disk::read_regular;
use crate::text::visible_line;

/// Most bytes of weights: sentence encoders have some hundred megabytes.
const LARGEST_WEIGHTS: u64 = 8 << 30;

/// Word pieces that go through the encoder together: enough for whole matrix products, little memory.
const BATCH: usize = 4096;

/// How the states of a text's word pieces become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The state of the first one, `[CLS]`.
    First,
}

impl Pooling {
    /// In settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::First => "first token",
        }
    }
}

/// Texts as vectors of length 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Embeddings {
    /// `[texts, width]`, in the order of the texts.
    pub values: Vec<f32>,
    /// Texts that were longer than the encoder reads; their vectors stand for their beginning.
    pub cut: usize,
}

/// An encoder of sentences, on the CPU.
pub struct SentenceEncoder {
    bert: Bert,
    tokenizer: Tokenizer,
    pooling: Pooling,
    longest: usize,
    name: String,
    sha256: String,
}

impl SentenceEncoder {
    /// Opens a directory with `config.json`, `tokenizer.json`, `model.safetensors` and, where they are there, the files
    /// in which `sentence-transformers` says how to pool and how much to read.
    ///
    /// # Errors
    /// What is missing, or is of a kind that is not known here.
    pub fn open(directory: &Path, cache: &CacheDirectory) -> Result<Self, EncoderError> {
        let described = files::read(directory)?;
        let weights = directory.join("model.safetensors");
        let sha256 = remembered_sha256(&weights, cache)
            .map_err(|source| EncoderError::Read { path: weights.clone(), source })?;
        let bytes = read_regular(&weights, LARGEST_WEIGHTS)
            .map_err(|source| EncoderError::Read { path: weights.clone(), source })?;
        let name = directory
            .file_name()
            .map_or_else(|| "encoder".to_owned(), |name| visible_line(&name.to_string_lossy()).into_owned());
        Ok(Self {
            bert: Bert::read(&bytes, &weights, &described.config)?,
            tokenizer: described.tokenizer,
            pooling: described.pooling,
            longest: described.longest,
            name,
            sha256,
        })
    }

    /// Name of its directory.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first sixteen digits of the hash of its weights.
    #[must_use]
    pub fn short_hash(&self) -> &str {
        self.sha256.get(..16).unwrap_or(&self.sha256)
    }

    /// Numbers of an embedding.
    #[must_use]
    pub fn width(&self) -> usize {
        self.bert.width()
    }

    /// Word pieces of a text that are read at most, `[CLS]` and `[SEP]` counted.
    #[must_use]
    pub const fn longest(&self) -> usize {
        self.longest
    }

    /// How states become a vector.
    #[must_use]
    pub const fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// Embeds texts; `progress` hears how many are done. A text never becomes a special token, whatever it says.
    ///
    /// # Errors
    /// A text that cannot be tokenised, or states that are not finite.
    pub fn encode(
        &self,
        texts: &[&str],
        progress: &mut dyn FnMut(usize),
    ) -> Result<Embeddings, EncoderError> {
        let mut embeddings = Embeddings { values: vec![0.0; texts.len() * self.width()], cut: 0 };
        let mut pieces: Vec<(usize, Vec<u32>)> = Vec::with_capacity(texts.len());
        let mut done = 0;
        let mut waiting = 0;
        for (number, text) in texts.iter().enumerate() {
            let encoding = self
                .tokenizer
                .encode(*text, true)
                .map_err(|error| EncoderError::Tokenizer { reason: error.to_string() })?;
            embeddings.cut += usize::from(!encoding.get_overflowing().is_empty());
            let ids = encoding.get_ids().to_vec();
            if waiting + ids.len() > BATCH && !pieces.is_empty() {
                self.encode_batch(&pieces, &mut embeddings.values)?;
                done += pieces.len();
                progress(done);
                pieces.clear();
                waiting = 0;
            }
            waiting += ids.len();
            pieces.push((number, ids));
        }
        self.encode_batch(&pieces, &mut embeddings.values)?;
        progress(texts.len());
        Ok(embeddings)
    }

    fn encode_batch(&self, pieces: &[(usize, Vec<u32>)], values: &mut [f32]) -> Result<(), EncoderError> {
        let sequences: Vec<&[u32]> = pieces.iter().map(|(_, ids)| ids.as_slice()).collect();
        let states = self.bert.states(&sequences)?;
        let width = self.width();
        let mut from = 0;
        for (number, ids) in pieces {
            let rows = &states[from * width..(from + ids.len()) * width];
            from += ids.len();
            let pooled = match self.pooling {
                Pooling::First => rows.get(..width).map(<[f32]>::to_vec).unwrap_or_default(),
                Pooling::Mean => mean(rows, width),
            };
            let length = pooled.iter().map(|value| value * value).sum::<f32>().sqrt();
            if !length.is_finite() {
                return Err(EncoderError::NotFinite { text: *number });
            }
            let out = &mut values[number * width..(number + 1) * width];
            for (out, value) in out.iter_mut().zip(pooled) {
                // As torch's `normalize`: a vector of length 0 stays one.
                *out = value / length.max(1e-12);
            }
        }
        Ok(())
    }
}

fn mean(rows: &[f32], width: usize) -> Vec<f32> {
    let mut sum = vec![0f32; width];
    let mut count = 0f32;
    for row in rows.chunks_exact(width.max(1)) {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        count += 1.0;
    }
    for sum in &mut sum {
        *sum /= count.max(1.0);
    }
    sum
}

#[cfg(test)]
#[path = "encoder_tests.rs"]
mod tests;
