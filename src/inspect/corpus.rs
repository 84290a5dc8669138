//! The documents of a data set, cut and indexed.

use std::collections::{BTreeMap, HashSet};

use crate::data::Document;
use crate::retrieval::{
    Bm25, Bm25Settings, Chunk, ChunkingSettings, RetrievalError, RetrievalState, Retriever, chunk_documents,
    indexed_text, word_tokens,
};

/// Chunks and the retriever over them.
pub struct Corpus {
    chunks: Vec<Chunk>,
    retriever: Bm25,
    chunking: ChunkingSettings,
}

/// A chunk that was retrieved for a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetrievedChunk<'c> {
    /// The chunk.
    pub chunk: &'c Chunk,
    /// Its raw score.
    pub score: f64,
}

impl Corpus {
    /// Cuts and indexes `documents`. Chunks are sized in words and punctuation marks, so that a
    /// calibration does not depend on which model happens to be at hand.
    pub fn index(
        documents: &[Document],
        chunking: ChunkingSettings,
        bm25: Bm25Settings,
    ) -> Result<Self, RetrievalError> {
        let chunks = chunk_documents(documents, chunking, &word_tokens);
        let texts: Vec<String> =
            chunks.iter().map(|chunk| indexed_text(&documents[chunk.document], chunk)).collect();
        let retriever = Bm25::new(texts.iter().map(String::as_str), bm25)?;
        Ok(Self { chunks, retriever, chunking })
    }

    /// Top `k` chunks in rank order, and whether the question could be searched for.
    pub fn retrieve(
        &self,
        question: &str,
        k: usize,
    ) -> Result<(Vec<RetrievedChunk<'_>>, RetrievalState), RetrievalError> {
        let retrieved = self.retriever.retrieve(question, k)?;
        let hits = retrieved
            .hits
            .iter()
            .filter_map(|hit| Some(RetrievedChunk { chunk: self.chunks.get(hit.chunk)?, score: hit.score }))
            .collect();
        Ok((hits, retrieved.state))
    }

    /// Ids of the documents that have a chunk.
    #[must_use]
    pub fn document_ids(&self) -> HashSet<&str> {
        self.chunks.iter().map(|chunk| chunk.document_id.as_str()).collect()
    }

    /// Number of chunks.
    #[must_use]
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// Name of the retriever.
    #[must_use]
    pub fn retriever_name(&self) -> &str {
        self.retriever.name()
    }

    /// Everything that changes scores, by name.
    #[must_use]
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = self.retriever.settings();
        settings.insert("chunk_tokens".to_owned(), self.chunking.tokens.to_string());
        settings.insert("chunk_overlap".to_owned(), self.chunking.overlap.to_string());
        settings.insert("chunk_unit".to_owned(), "words and punctuation marks".to_owned());
        settings
    }
}
