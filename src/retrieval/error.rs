//! What can go wrong when chunks are looked for.

use crate::model::EncoderError;

/// Errors of the retrieval room.
#[derive(Debug, thiserror::Error)]
pub enum RetrievalError {
    #[error("{chunks} chunks, at most {} can be indexed; split the corpus", u32::MAX)]
    TooManyChunks { chunks: usize },
    #[error("the search index failed: {0}; it lives in memory, so look at the free memory")]
    Index(#[from] tantivy::TantivyError),
    #[error("the search index could not be read: {0}; it lives in memory, so look at the free memory")]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    #[error(
        "{vectors} numbers for {chunks} chunks of {width} numbers each: these embeddings are of another corpus; \
         delete them and run the command again"
    )]
    Embeddings { vectors: usize, chunks: usize, width: usize },
    /// The address, index or field of a search server makes no sense.
    #[error("search server: {reason}")]
    ServerSettings { reason: String },
    #[error(
        "the search server {url} cannot be reached: {reason}; check that it runs and the address is right"
    )]
    Unreachable { url: String, reason: String },
    #[error("the search server {url} answered with status {status}{said}; {advice}")]
    Status { url: String, status: u16, said: String, advice: &'static str },
    #[error("the search server {url} gave no answer that can be used: {reason}")]
    Answer { url: String, reason: String },
}
