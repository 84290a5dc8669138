//! From documents to chunks, and from a question to its top K chunks with raw scores.
//!
//! | file | holds |
//! |---|---|
//! | `chunking` | documents cut into chunks that carry their byte offsets |
//! | `analysis`, `bm25` | words as the index sees them; BM25 |
//! | `dense` | cosine of sentence embeddings |
//! | `fusion` | reciprocal-rank fusion of several rankings |
//! | `chunk_index` | chunks of a corpus with what ranks them: the local [`Retriever`] |
//! | `search_server` | the [`Retriever`] over an Elasticsearch-compatible `_search` |
//!
//! Equal scores come back in stored order, so the top k is always the start of the top k + m. Scores of different
//! retrievers are different quantities: a calibration names the retriever and its settings, and holds for no other.

mod analysis;
mod bm25;
mod chunk_index;
mod chunking;
mod dense;
mod error;
mod fusion;
mod search_server;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use bm25::{Bm25, Bm25Settings};
pub use chunk_index::ChunkIndex;
pub use chunking::{
    Chunk, ChunkBoundary, ChunkingSettings, chunk_document, chunk_documents, indexed_text, word_tokens,
};
pub use dense::Dense;
pub use error::RetrievalError;
pub use fusion::Fusion;
pub use search_server::{SearchServer, SearchServerSettings};

/// Something that finds chunks for a question.
pub trait Retriever: Send + Sync {
    /// The best `k` chunks, highest score first, equal scores in stored order; fewer when fewer fit.
    ///
    /// # Errors
    /// When the index or the server cannot be asked. No question is an error.
    fn retrieve(&self, question: &str, k: usize) -> Result<Retrieved<'_>, RetrievalError>;

    /// Short name for provenance, such as `bm25`.
    fn name(&self) -> &str;

    /// Everything that changes scores, by name: a calibration holds only for equal settings.
    fn settings(&self) -> BTreeMap<String, String>;

    /// Whether a document of this id is searched; `None` where nobody here can know.
    fn holds_document(&self, id: &str) -> Option<bool>;

    /// How many chunks are searched, where that is known.
    fn chunk_count(&self) -> Option<usize>;
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Retrieved<'r> {
    /// In rank order.
    pub chunks: Vec<RetrievedChunk<'r>>,
    pub state: RetrievalState,
}

/// A chunk that was retrieved for a question.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrievedChunk<'r> {
    pub id: Cow<'r, str>,
    /// Id of the document it was cut from.
    pub document_id: Cow<'r, str>,
    pub text: Cow<'r, str>,
    /// Bytes in its part of the document, where it is a piece of one.
    pub range: Option<[usize; 2]>,
    /// Raw score; higher is better.
    pub score: f64,
}

/// Something that ranks the chunks it was built from.
pub trait Ranker: Send + Sync {
    /// The best `k` chunks, highest score first, equal scores in stored order; fewer when fewer fit.
    ///
    /// # Errors
    /// When the index cannot be read. No question is an error.
    fn rank(&self, question: &str, k: usize) -> Result<Ranking, RetrievalError>;

    /// Short name for provenance, such as `bm25`.
    fn name(&self) -> &str;

    /// Everything that changes scores, by name.
    fn settings(&self) -> BTreeMap<String, String>;
}

/// Chunks by their number, ranked for one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// In rank order.
    pub hits: Vec<Hit>,
    pub state: RetrievalState,
}

/// One ranked chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its number among the chunks the ranker was built from.
    pub chunk: usize,
    /// Raw score; higher is better.
    pub score: f64,
}

/// Keeps the best `k`, highest score first, equal scores in stored order.
fn best(mut hits: Vec<Hit>, k: usize) -> Vec<Hit> {
    let better = |a: &Hit, b: &Hit| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk));
    if k < hits.len() {
        hits.select_nth_unstable_by(k, better);
        hits.truncate(k);
    }
    hits.sort_unstable_by(better);
    hits
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
