//! From documents to chunks, and from a question to its top K chunks with raw scores.
//!
//! Chunks carry their byte offsets; equal scores come back in stored order, so the top k is always
//! the start of the top k + m.

mod analysis;
mod bm25;
mod chunking;

use std::collections::BTreeMap;

pub use bm25::{Bm25, Bm25Settings};
pub use chunking::{
    Chunk, ChunkBoundary, ChunkingSettings, chunk_document, chunk_documents, indexed_text, word_tokens,
};

/// Something that ranks the chunks it was built from.
pub trait Retriever: Send + Sync {
    /// The best `k` chunks, highest score first, equal scores in stored order; fewer when fewer fit.
    ///
    /// # Errors
    /// When the index cannot be read. No question is an error.
    fn retrieve(&self, question: &str, k: usize) -> Result<Retrieved, RetrievalError>;

    /// Short name for provenance, such as `bm25`.
    fn name(&self) -> &str;

    /// Everything that changes scores, by name: a calibration holds only for equal settings.
    fn settings(&self) -> BTreeMap<String, String>;
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Retrieved {
    /// In rank order.
    pub hits: Vec<Hit>,
    pub state: RetrievalState,
}

/// One ranked chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its number among the chunks the retriever was built from.
    pub chunk: usize,
    /// Raw score; higher is better.
    pub score: f64,
}

/// Whether the question could be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetrievalState {
    /// It was; there may still be no hit.
    Found,
    /// It has no letter and no digit, so nothing was searched.
    NoSearchableWords,
}

impl RetrievalState {
    /// In the words shown to users.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Found => "searched",
            Self::NoSearchableWords => "no searchable words",
        }
    }
}

/// Errors of the retrieval room.
#[derive(Debug, thiserror::Error)]
pub enum RetrievalError {
    #[error("{chunks} chunks, at most {} can be indexed; split the corpus", u32::MAX)]
    TooManyChunks { chunks: usize },
    #[error("the search index failed: {0}; it lives in memory, so look at the free memory")]
    Index(#[from] tantivy::TantivyError),
    #[error("the search index could not be read: {0}; it lives in memory, so look at the free memory")]
    Read(#[from] std::io::Error),
}
