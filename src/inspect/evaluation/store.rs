//! The feature store: what evaluation and training need of every reading, extracted once, kept on disk.
//!
//! A folder with a checksummed `header.json`, one row-major raw file per feature block (f16, the
//! likelihoods f32), two files of answer-level look-back ratios (f32), and `index.jsonl` with one line per
//! answer. The features of an answer are written first and its index line last, so a run that was
//! killed continues with the first answer that has no line; whatever lies beyond the last line is cut off.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use half::f16;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::detect::{AnswerFeatures, BlockValues, DetectError, FeatureBlock, ModelShape, token_labels};
use crate::reading::Trace;

use super::EvaluationError;
use super::store_header::{HEADER, StoreHeader, leading_digits, read_header, write_header};

const INDEX: &str = "index.jsonl";

/// A labelled answer, before it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelledAnswer {
    /// Unique in the data set, for example the row number.
    pub key: String,
    /// The key of grouped splits.
    pub source: String,
    /// Which model wrote the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// Its text.
    pub answer: String,
    /// Labelled unsupported spans, in bytes.
    pub gold_spans: Vec<Range<usize>>,
    /// Answer-level label: any unsupported span.
    pub inconsistent: bool,
}

/// A labelled answer in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredAnswer {
    /// As it was given.
    #[serde(flatten)]
    pub labelled: LabelledAnswer,
    /// Byte range of each token, `[T]`.
    pub token_ranges: Vec<Range<usize>>,
    /// Number of its first token in the store.
    pub first_token: usize,
    /// First 16 hexadecimal digits of the SHA-256 of its features, in file order.
    pub checksum: String,
}

impl StoredAnswer {
    /// Its tokens in the store.
    #[must_use]
    pub const fn tokens(&self) -> Range<usize> {
        self.first_token..self.first_token + self.token_ranges.len()
    }

    /// Token labels, `[T]`.
    #[must_use]
    pub fn token_labels(&self) -> Vec<bool> {
        token_labels(&self.labelled.answer, &self.token_ranges, &self.labelled.gold_spans)
    }
}

/// A feature block in memory, all tokens of the store: tokens x width x 2 bytes (likelihoods 4).
#[derive(Debug, Clone, PartialEq)]
pub enum LoadedBlock {
    /// Half precision.
    F16(Vec<f16>),
    /// Full precision.
    F32(Vec<f32>),
}

impl LoadedBlock {
    /// As a part of feature rows.
    #[must_use]
    pub fn values(&self) -> BlockValues<'_> {
        match self {
            Self::F16(values) => BlockValues::F16(values),
            Self::F32(values) => BlockValues::F32(values),
        }
    }
}

/// The store; see the module.
#[derive(Debug)]
pub struct FeatureStore {
    folder: PathBuf,
    header: StoreHeader,
    answers: Vec<StoredAnswer>,
    keys: HashMap<String, usize>,
    index: File,
    /// Bytes of the complete lines of the index.
    index_length: u64,
    columns: Vec<Column>,
}

/// One raw file.
#[derive(Debug)]
struct Column {
    content: Content,
    path: PathBuf,
    file: File,
}

/// What a raw file holds.
#[derive(Debug, Clone, Copy)]
enum Content {
    Tokens(FeatureBlock),
    Answers(AnswerFeatures),
}

impl Content {
    fn file_name(self) -> String {
        match self {
            Self::Tokens(block) if half_precision(block) => format!("{}.f16", block.name()),
            Self::Tokens(block) => format!("{}.f32", block.name()),
            Self::Answers(AnswerFeatures::ChunkWise { .. }) => "answer-chunk-wise.f32".to_owned(),
            Self::Answers(AnswerFeatures::FullContext) => "answer-full-context.f32".to_owned(),
        }
    }

    /// Bytes of `answers` answers with `tokens` tokens in all.
    fn bytes(self, shape: ModelShape, answers: usize, tokens: usize) -> u64 {
        let bytes = match self {
            Self::Tokens(block) => tokens * block.width(shape) * if half_precision(block) { 2 } else { 4 },
            Self::Answers(features) => answers * features.width(shape) * 4,
        };
        bytes as u64
    }

    /// What is written for one answer.
    fn encode(self, trace: &Trace) -> Result<Vec<u8>, DetectError> {
        let values = match self {
            Self::Tokens(block) => block.compute(trace)?,
            Self::Answers(features) => features.ratios(trace)?,
        };
        Ok(match self {
            // Values beyond the range of f16 (a few states of some models) are kept at its end.
            Self::Tokens(block) if half_precision(block) => {
                let limit = f16::MAX.to_f32();
                values.iter().flat_map(|v| f16::from_f32(v.clamp(-limit, limit)).to_le_bytes()).collect()
            }
            _ => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        })
    }
}

/// Log-likelihoods keep full precision, so that ranks stay exact.
const fn half_precision(block: FeatureBlock) -> bool {
    !matches!(block, FeatureBlock::Likelihood)
}

impl FeatureStore {
    /// Opens a store for more answers, or creates it. A store with another header is refused as stale.
    pub fn open(folder: &Path, wanted: &StoreHeader) -> Result<Self, EvaluationError> {
        let path = folder.join(HEADER);
        if path.exists() {
            let stored = read_header(folder)?;
            if let Some(difference) = stored.difference(wanted) {
                return Err(EvaluationError::Stale { path: folder.to_owned(), difference });
            }
        } else {
            fs::create_dir_all(folder).map_err(EvaluationError::file("create", folder))?;
            write_header(folder, wanted)?;
        }
        Self::read(folder)
    }

    /// Opens an existing store, whatever it was made from.
    pub fn read(folder: &Path) -> Result<Self, EvaluationError> {
        let header = read_header(folder)?;
        let shape = header.model.shape;
        let tokens = header.blocks.iter().copied().map(Content::Tokens);
        let contents = tokens.chain(header.answer_features().map(Content::Answers));
        let columns = contents
            .map(|content| {
                let path = folder.join(content.file_name());
                let file = open_file(&path)?;
                Ok(Column { content, path, file })
            })
            .collect::<Result<Vec<_>, EvaluationError>>()?;
        let index_path = folder.join(INDEX);
        let mut index = open_file(&index_path)?;
        // Where a file system knows no locks the store works without.
        if matches!(index.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
            return Err(EvaluationError::InUse { path: folder.to_owned() });
        }
        let (mut answers, line_ends) = read_index(&mut index, &index_path)?;
        // A crash of the machine may have lost features whose line survived: such answers are read again.
        for column in &columns {
            let length = file_length(&column.file, &column.path)?;
            while let Some(last) = answers.last() {
                if column.content.bytes(shape, answers.len(), last.tokens().end) <= length {
                    break;
                }
                answers.pop();
            }
        }
        let end = answers.len().checked_sub(1).and_then(|last| line_ends.get(last)).copied().unwrap_or(0);
        truncate(&mut index, &index_path, end)?;
        let token_count = answers.last().map_or(0, |last| last.tokens().end);
        let mut store = Self {
            folder: folder.to_owned(),
            header,
            keys: HashMap::new(),
            index,
            index_length: end,
            columns,
            answers,
        };
        for column in &mut store.columns {
            let length = column.content.bytes(shape, store.answers.len(), token_count);
            truncate(&mut column.file, &column.path, length)?;
        }
        for (number, answer) in store.answers.iter().enumerate() {
            if store.keys.insert(answer.labelled.key.clone(), number).is_some() {
                let reason = format!("the key {} occurs twice in {INDEX}", answer.labelled.key);
                return Err(EvaluationError::Damaged { path: index_path, reason });
            }
        }
        Ok(store)
    }

    /// What it was made from.
    #[must_use]
    pub const fn header(&self) -> &StoreHeader {
        &self.header
    }

    /// The answers in the order in which they were stored: fold numbers follow this order.
    #[must_use]
    pub fn answers(&self) -> &[StoredAnswer] {
        &self.answers
    }

    /// Whether an answer is stored already.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// Number of tokens of all answers.
    #[must_use]
    pub fn token_count(&self) -> usize {
        self.answers.last().map_or(0, |last| last.tokens().end)
    }

    /// Stores the features of one answer. An error of the detectors leaves the store as it was.
    pub fn append(&mut self, answer: &LabelledAnswer, trace: &Trace) -> Result<(), EvaluationError> {
        if self.contains(&answer.key) {
            return Err(EvaluationError::Duplicate { key: answer.key.clone() });
        }
        let wanted = self.header.model.shape;
        wanted.check(trace)?;
        if trace.token_ranges.len() != trace.token_ids.len() {
            let (expected, found) = (trace.token_ids.len(), trace.token_ranges.len());
            return Err(DetectError::TraceShape { field: "token_ranges", expected, found }.into());
        }
        let encoded = self
            .columns
            .iter()
            .map(|column| column.content.encode(trace))
            .collect::<Result<Vec<_>, DetectError>>()?;
        let mut digest = Sha256::new();
        for bytes in &encoded {
            digest.update(bytes);
        }
        let stored = StoredAnswer {
            labelled: answer.clone(),
            token_ranges: trace.token_ranges.clone(),
            first_token: self.token_count(),
            checksum: leading_digits(&digest.finalize()),
        };
        // Every file is cut to what is known to be complete first: an earlier attempt may have failed half way.
        let (answers, tokens) = (self.answers.len(), self.token_count());
        for (column, bytes) in self.columns.iter_mut().zip(&encoded) {
            truncate(&mut column.file, &column.path, column.content.bytes(wanted, answers, tokens))?;
            column.file.write_all(bytes).map_err(EvaluationError::file("write", &column.path))?;
        }
        let path = self.folder.join(INDEX);
        let mut line = serde_json::to_string(&stored).map_err(|error| EvaluationError::Damaged {
            path: path.clone(),
            reason: format!("the index line of {} cannot be written: {error}", answer.key),
        })?;
        line.push('\n');
        truncate(&mut self.index, &path, self.index_length)?;
        self.index.write_all(line.as_bytes()).map_err(EvaluationError::file("write", &path))?;
        self.index_length += line.len() as u64;
        self.keys.insert(answer.key.clone(), self.answers.len());
        self.answers.push(stored);
        Ok(())
    }

    /// One feature block of all tokens.
    pub fn load(&self, block: FeatureBlock) -> Result<LoadedBlock, EvaluationError> {
        let found = self.columns.iter().find(|c| matches!(c.content, Content::Tokens(own) if own == block));
        let Some(column) = found else {
            let kept: Vec<String> = self.header.blocks.iter().map(|block| block.name()).collect();
            return Err(EvaluationError::MissingBlock { wanted: block.name(), kept: kept.join(", ") });
        };
        let bytes = self.read_column(column)?;
        Ok(if half_precision(block) {
            let bits: Vec<u16> = bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
            LoadedBlock::F16(bits.into_iter().map(f16::from_bits).collect())
        } else {
            LoadedBlock::F32(floats(&bytes))
        })
    }

    /// The unscaled answer vectors, [answers, width].
    pub fn load_answers(&self, features: AnswerFeatures) -> Result<Vec<f32>, EvaluationError> {
        let found =
            self.columns.iter().find(|c| matches!(c.content, Content::Answers(own) if own == features));
        let Some(column) = found else {
            let kept = format!("{} chunk blocks", self.header.chunk_blocks);
            return Err(EvaluationError::MissingBlock { wanted: format!("{features:?}"), kept });
        };
        Ok(floats(&self.read_column(column)?))
    }

    /// Compares every answer's features with its checksum; reads the whole store once.
    pub fn verify(&self) -> Result<(), EvaluationError> {
        let shape = self.header.model.shape;
        let mut digests = vec![Sha256::new(); self.answers.len()];
        for column in &self.columns {
            let bytes = self.read_column(column)?;
            let mut at = 0;
            for (number, (answer, digest)) in self.answers.iter().zip(&mut digests).enumerate() {
                let end = column.content.bytes(shape, number + 1, answer.tokens().end) as usize;
                digest.update(bytes.get(at..end).unwrap_or_default());
                at = end;
            }
        }
        for (answer, digest) in self.answers.iter().zip(digests) {
            if leading_digits(&digest.finalize()) != answer.checksum {
                let reason =
                    format!("the features of answer {} do not match their checksum", answer.labelled.key);
                return Err(EvaluationError::Damaged { path: self.folder.clone(), reason });
            }
        }
        Ok(())
    }

    fn read_column(&self, column: &Column) -> Result<Vec<u8>, EvaluationError> {
        let bytes = fs::read(&column.path).map_err(EvaluationError::file("read", &column.path))?;
        let expected = column.content.bytes(self.header.model.shape, self.answers.len(), self.token_count());
        if bytes.len() as u64 != expected {
            let reason = format!("expected {expected} bytes, found {}", bytes.len());
            return Err(EvaluationError::Damaged { path: column.path.clone(), reason });
        }
        Ok(bytes)
    }
}

fn open_file(path: &Path) -> Result<File, EvaluationError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).map_err(EvaluationError::file("open", path))
}

fn file_length(file: &File, path: &Path) -> Result<u64, EvaluationError> {
    Ok(file.metadata().map_err(EvaluationError::file("read", path))?.len())
}

/// Cuts a file at `length` and goes to its end.
fn truncate(file: &mut File, path: &Path, length: u64) -> Result<(), EvaluationError> {
    if file_length(file, path)? != length {
        file.set_len(length).map_err(EvaluationError::file("cut", path))?;
    }
    file.seek(SeekFrom::Start(length)).map_err(EvaluationError::file("read", path))?;
    Ok(())
}

/// The complete lines of the index and where each ends; a last line without its line feed is left out.
fn read_index(file: &mut File, path: &Path) -> Result<(Vec<StoredAnswer>, Vec<u64>), EvaluationError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(EvaluationError::file("read", path))?;
    let mut answers: Vec<StoredAnswer> = Vec::new();
    let mut ends = Vec::new();
    let mut end = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        let damaged = |reason: String| EvaluationError::Damaged {
            path: path.to_owned(),
            reason: format!("line {}: {reason}", answers.len() + 1),
        };
        let answer: StoredAnswer =
            serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
        let expected = answers.last().map_or(0, |last| last.tokens().end);
        if answer.first_token != expected {
            return Err(damaged(format!("expected first token {expected}, found {}", answer.first_token)));
        }
        end += line.len() as u64;
        answers.push(answer);
        ends.push(end);
    }
    Ok((answers, ends))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
