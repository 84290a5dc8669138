//! The feature store: what evaluation and training need of every reading, extracted once, kept on disk.
//!
//! A folder with a checksummed `header.json` and `shard-00000.safetensors` onwards, each with the next
//! 32 answers (fewer where they exceed 64 MiB): one tensor [tokens, width] per feature block (f16, narrow ones
//! f32), answer-level look-back ratios (f32), and the answers as JSON bytes. A shard is written to a
//! temporary file, to the disk, then renamed, so a killed run continues after the last whole shard. A shard
//! that is not full is written again with more answers. A deleted shard is read again, at the end.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use half::f16;

use crate::detect::{
    AnswerFeatures, BlockValues, DetectError, FeatureBlock, MEMORY_LIMIT, ModelShape, Precision, RowSegment,
    StoredRows,
};
use crate::disk::FileLock;
use crate::reading::Trace;

use super::EvaluationError;
use super::store_answer::{LabelledAnswer, StoredAnswer};
use super::store_header::{HEADER, StoreHeader, read_header, write_header};
use super::store_shard::{Place, Shard, Tensor, file_name, numbers};

/// A shard is full with so many answers or bytes.
const SHARD_ANSWERS: usize = 32;
const SHARD_BYTES: usize = 64 << 20;
const LOCK: &str = "store.lock";
const ANSWERS: &str = "answers";

/// A feature block of all tokens of the store.
#[derive(Debug, Clone)]
pub enum LoadedBlock {
    /// In memory, half precision: tokens x width x 2 bytes.
    F16(Vec<f16>),
    /// In memory, full precision: tokens x width x 4 bytes.
    F32(Vec<f32>),
    /// On disk.
    Stored(StoredRows),
}

impl LoadedBlock {
    /// As a part of feature rows.
    #[must_use]
    pub fn values(&self) -> BlockValues<'_> {
        match self {
            Self::F16(values) => BlockValues::F16(values),
            Self::F32(values) => BlockValues::F32(values),
            Self::Stored(rows) => BlockValues::Stored(rows),
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
    /// Held as long as the store lives.
    _lock: FileLock,
    /// Shards on disk, each with the number of its file and how many answers it holds.
    shards: Vec<(usize, Shard, usize)>,
    /// The encoded features of the answers of the last shard, while it grows: [answers][columns].
    growing: Vec<Vec<Vec<u8>>>,
    /// How many of the growing answers are on disk already.
    saved: usize,
    columns: Vec<Column>,
    memory_limit: u64,
    /// Tensors that were compared with their checksum, by shard and name.
    verified: Mutex<HashSet<(usize, String)>>,
}

/// One tensor of every shard.
#[derive(Debug, Clone, Copy)]
enum Column {
    Tokens(FeatureBlock),
    Answers(AnswerFeatures),
}

impl Column {
    fn name(self) -> String {
        match self {
            Self::Tokens(block) => block.name(),
            Self::Answers(AnswerFeatures::ChunkWise { .. }) => "answer-chunk-wise".to_owned(),
            Self::Answers(AnswerFeatures::FullContext) => "answer-full-context".to_owned(),
        }
    }

    const fn width(self, shape: ModelShape) -> usize {
        match self {
            Self::Tokens(block) => block.width(shape),
            Self::Answers(features) => features.width(shape),
        }
    }

    const fn precision(self) -> Precision {
        match self {
            Self::Tokens(block) => block.precision(),
            Self::Answers(_) => Precision::F32,
        }
    }

    const fn kind(self) -> &'static str {
        match self.precision() {
            Precision::F16 => "F16",
            Precision::F32 => "F32",
        }
    }

    /// Rows that some answers take.
    fn rows(self, answers: &[StoredAnswer]) -> usize {
        match self {
            Self::Tokens(_) => answers.iter().map(|answer| answer.token_ranges.len()).sum(),
            Self::Answers(_) => answers.len(),
        }
    }

    /// What is written for one answer.
    fn encode(self, trace: &Trace) -> Result<Vec<u8>, DetectError> {
        let values = match self {
            Self::Tokens(block) => block.compute(trace)?,
            Self::Answers(features) => features.ratios(trace)?,
        };
        Ok(self.precision().encode(&values))
    }
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
        let mut store = Self::read(folder)?;
        // The same model, and perhaps more is known of it than when the store was begun.
        store.header.model.clone_from(&wanted.model);
        Ok(store)
    }

    /// Opens an existing store, whatever it was made from.
    ///
    /// Every shard's header and answers are checked now; its features when they are first used.
    pub fn read(folder: &Path) -> Result<Self, EvaluationError> {
        let header = read_header(folder)?;
        let columns: Vec<Column> = header
            .blocks
            .iter()
            .copied()
            .map(Column::Tokens)
            .chain(header.answer_features().map(Column::Answers))
            .collect();
        let lock_path = folder.join(LOCK);
        let held = FileLock::take(&lock_path).map_err(EvaluationError::file("open", &lock_path))?;
        let lock = held.ok_or_else(|| EvaluationError::InUse { path: folder.to_owned() })?;
        let mut store = Self {
            folder: folder.to_owned(),
            header,
            answers: Vec::new(),
            keys: HashMap::new(),
            _lock: lock,
            shards: Vec::new(),
            growing: Vec::new(),
            saved: 0,
            columns,
            memory_limit: MEMORY_LIMIT,
            verified: Mutex::default(),
        };
        for number in numbers(folder)? {
            store.take_in(number)?;
        }
        Ok(store)
    }

    /// Reads the answers of a shard and checks that it has what the header promises.
    fn take_in(&mut self, number: usize) -> Result<(), EvaluationError> {
        let path = self.folder.join(file_name(number));
        let shard = Shard::open(&path)?;
        let bytes = shard.read(shard.find(ANSWERS)?)?;
        let answers: Vec<StoredAnswer> = serde_json::from_slice(&bytes)
            .map_err(|error| EvaluationError::damaged_shard(&path, format!("its answers: {error}")))?;
        for &column in &self.columns {
            self.place(&shard, column, &answers)?;
        }
        let count = answers.len();
        for mut answer in answers {
            answer.first_token = self.token_count();
            if self.keys.insert(answer.labelled.key.clone(), self.answers.len()).is_some() {
                let reason = format!("its answer {} stands in an earlier shard as well", answer.labelled.key);
                return Err(EvaluationError::damaged_shard(&path, reason));
            }
            self.answers.push(answer);
        }
        self.shards.push((number, shard, count));
        Ok(())
    }

    fn place<'a>(
        &self,
        shard: &'a Shard,
        column: Column,
        answers: &[StoredAnswer],
    ) -> Result<&'a Place, EvaluationError> {
        let shape = self.header.model.shape;
        shard.place(&column.name(), column.kind(), &[column.rows(answers), column.width(shape)])
    }

    /// Where it lies.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it was made from.
    pub const fn header(&self) -> &StoreHeader {
        &self.header
    }

    /// Sets how many bytes of features [`super::LoadedFeatures`] may keep in memory, 1 GiB at first.
    pub const fn set_memory_limit(&mut self, bytes: u64) {
        self.memory_limit = bytes;
    }

    /// How many bytes of features may be kept in memory.
    #[must_use]
    pub const fn memory_limit(&self) -> u64 {
        self.memory_limit
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

    /// Takes in the features of one answer; on disk they are when their shard is full, or after
    /// [`Self::save`]. An error leaves the store as it was.
    pub fn append(&mut self, answer: &LabelledAnswer, trace: &Trace) -> Result<(), EvaluationError> {
        if self.contains(&answer.key) {
            return Err(EvaluationError::Duplicate { key: answer.key.clone() });
        }
        self.header.model.shape.check(trace)?;
        if trace.token_ranges.len() != trace.token_ids.len() {
            let (expected, found) = (trace.token_ids.len(), trace.token_ranges.len());
            return Err(DetectError::TraceShape { field: "token_ranges", expected, found }.into());
        }
        let encoded = self
            .columns
            .iter()
            .map(|column| column.encode(trace))
            .collect::<Result<Vec<_>, DetectError>>()?;
        self.reopen_last_shard()?;
        self.keys.insert(answer.key.clone(), self.answers.len());
        self.answers.push(StoredAnswer {
            labelled: answer.clone(),
            token_ranges: trace.token_ranges.clone(),
            first_token: self.token_count(),
        });
        self.growing.push(encoded);
        if self.growing_is_full() {
            self.save()?;
            self.growing.clear();
            self.saved = 0;
        }
        Ok(())
    }

    fn growing_is_full(&self) -> bool {
        let bytes: usize = self.growing.iter().flatten().map(Vec::len).sum();
        self.growing.len() >= SHARD_ANSWERS || bytes >= SHARD_BYTES
    }

    /// Takes a last shard that is not full back into memory, so that it can grow.
    fn reopen_last_shard(&mut self) -> Result<(), EvaluationError> {
        let Some((_, shard, count)) = self.shards.last() else { return Ok(()) };
        if !self.growing.is_empty() || *count >= SHARD_ANSWERS {
            return Ok(());
        }
        let answers = &self.answers[self.answers.len() - count..];
        let shape = self.header.model.shape;
        let mut growing = vec![Vec::new(); *count];
        for &column in &self.columns {
            let bytes = shard.read(self.place(shard, column, answers)?)?;
            let row = column.width(shape) * column.precision().bytes();
            let mut from = 0;
            for (answer, parts) in answers.iter().zip(&mut growing) {
                let end = from + column.rows(std::slice::from_ref(answer)) * row;
                parts.push(bytes.get(from..end).unwrap_or_default().to_vec());
                from = end;
            }
        }
        self.growing = growing;
        self.saved = *count;
        if self.growing_is_full() {
            self.growing.clear();
            self.saved = 0;
        }
        Ok(())
    }

    /// Writes what is not on disk yet. Dropping the store does so too, but cannot report an error.
    pub fn save(&mut self) -> Result<(), EvaluationError> {
        if self.saved == self.growing.len() {
            return Ok(());
        }
        let replaces = self.saved > 0;
        let number = match self.shards.last() {
            Some((last, ..)) if replaces => *last,
            Some((last, ..)) => last + 1,
            None => 0,
        };
        let shape = self.header.model.shape;
        let answers = &self.answers[self.answers.len() - self.growing.len()..];
        let mut tensors = Vec::new();
        for (at, &column) in self.columns.iter().enumerate() {
            let parts: Vec<&[u8]> = self.growing.iter().map(|parts| parts[at].as_slice()).collect();
            tensors.push(Tensor {
                name: column.name(),
                kind: column.kind(),
                shape: vec![column.rows(answers), column.width(shape)],
                bytes: parts.concat(),
            });
        }
        let path = self.folder.join(file_name(number));
        let text = serde_json::to_vec(answers).map_err(|error| {
            EvaluationError::damaged_shard(&path, format!("its answers cannot be written: {error}"))
        })?;
        tensors.push(Tensor { name: ANSWERS.to_owned(), kind: "U8", shape: vec![text.len()], bytes: text });
        Shard::write(&self.folder, &file_name(number), tensors)?;
        let shard = Shard::open(&path)?;
        if replaces {
            self.shards.pop();
        }
        if let Ok(mut verified) = self.verified.lock() {
            verified.retain(|(own, _)| *own != number);
        }
        self.saved = self.growing.len();
        self.shards.push((number, shard, self.saved));
        Ok(())
    }

    fn column(&self, block: FeatureBlock) -> Result<Column, EvaluationError> {
        if self.header.blocks.contains(&block) {
            return Ok(Column::Tokens(block));
        }
        let kept: Vec<String> = self.header.blocks.iter().map(|block| block.name()).collect();
        Err(EvaluationError::MissingBlock { wanted: block.name(), kept: kept.join(", ") })
    }

    /// Shows every shard with the place of one tensor. Answers must be saved.
    fn each_shard(
        &self,
        column: Column,
        mut each: impl FnMut(usize, &Shard, &Place, usize) -> Result<(), EvaluationError>,
    ) -> Result<(), EvaluationError> {
        if self.saved < self.growing.len() {
            return Err(EvaluationError::Unsaved { answers: self.growing.len() - self.saved });
        }
        let mut first = 0;
        for (number, shard, count) in &self.shards {
            let answers = &self.answers[first..first + count];
            each(*number, shard, self.place(shard, column, answers)?, column.rows(answers))?;
            first += count;
        }
        Ok(())
    }

    /// One feature block of all tokens, in memory, compared with its checksums.
    pub fn load(&self, block: FeatureBlock) -> Result<LoadedBlock, EvaluationError> {
        let column = self.column(block)?;
        let (mut halves, mut singles) = (Vec::new(), Vec::new());
        let half = matches!(column.precision(), Precision::F16);
        self.each_shard(column, |_, shard, place, _| {
            let bytes = shard.read(place)?;
            if half {
                halves.extend(bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]])));
            } else {
                singles.extend(floats(&bytes));
            }
            Ok(())
        })?;
        Ok(if half { LoadedBlock::F16(halves) } else { LoadedBlock::F32(singles) })
    }

    /// One feature block of all tokens, left on disk. Its checksums are compared once, in a pass that
    /// keeps 1 MiB.
    pub fn stored(&self, block: FeatureBlock) -> Result<StoredRows, EvaluationError> {
        let column = self.column(block)?;
        Ok(StoredRows::new(self.segments(block)?, column.width(self.header.model.shape), column.precision()))
    }

    /// Where the rows of a block lie, in order; compared with their checksums as in [`Self::stored`].
    pub(super) fn segments(&self, block: FeatureBlock) -> Result<Vec<RowSegment>, EvaluationError> {
        let column = self.column(block)?;
        let mut segments = Vec::new();
        self.each_shard(column, |number, shard, place, rows| {
            let key = (number, column.name());
            if !self.verified.lock().is_ok_and(|verified| verified.contains(&key)) {
                shard.verify(place)?;
                if let Ok(mut verified) = self.verified.lock() {
                    verified.insert(key);
                }
            }
            segments.push(RowSegment { path: shard.path.clone(), offset: place.offset, rows });
            Ok(())
        })?;
        Ok(segments)
    }

    /// Bytes that a block takes in memory.
    #[must_use]
    pub fn block_bytes(&self, block: FeatureBlock) -> u64 {
        let width = block.width(self.header.model.shape);
        self.token_count() as u64 * (width * block.precision().bytes()) as u64
    }

    /// The unscaled answer vectors, [answers, width].
    pub fn load_answers(&self, features: AnswerFeatures) -> Result<Vec<f32>, EvaluationError> {
        if !self.header.answer_features().contains(&features) {
            let kept = format!("{} chunk blocks", self.header.chunk_blocks);
            return Err(EvaluationError::MissingBlock { wanted: format!("{features:?}"), kept });
        }
        let mut values = Vec::new();
        self.each_shard(Column::Answers(features), |_, shard, place, _| {
            values.extend(floats(&shard.read(place)?));
            Ok(())
        })?;
        Ok(values)
    }

    /// Compares everything with its checksum; reads the whole store once.
    pub fn verify(&self) -> Result<(), EvaluationError> {
        self.shards.iter().try_for_each(|(_, shard, _)| shard.verify_all())
    }
}

impl Drop for FeatureStore {
    fn drop(&mut self) {
        // Nobody is left to be told; the answers would be read again.
        let _ = self.save();
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "store_scale_tests.rs"]
mod scale_tests;
