//! The chunks of a corpus and what ranks them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use crate::data::Document;

use super::{
    Chunk, ChunkingSettings, Ranker, RetrievalError, Retrieved, RetrievedChunk, Retriever, chunk_documents,
    indexed_text, word_tokens,
};

/// Chunks that are kept here, ranked by BM25, by embeddings or by both.
pub struct ChunkIndex {
    chunks: Vec<Chunk>,
    documents: HashSet<String>,
    chunking: ChunkingSettings,
    ranker: Box<dyn Ranker>,
}

impl ChunkIndex {
    /// Cuts `documents` and hands the text of every chunk, title included, to `ranker`. Chunks are sized in words and
    /// punctuation marks, so that a calibration does not depend on which model happens to be at hand.
    pub fn new<E: From<RetrievalError>>(
        documents: &[Document],
        chunking: ChunkingSettings,
        ranker: impl FnOnce(&[String]) -> Result<Box<dyn Ranker>, E>,
    ) -> Result<Self, E> {
        let chunks = chunk_documents(documents, chunking, &word_tokens);
        let texts: Vec<String> =
            chunks.iter().map(|chunk| indexed_text(&documents[chunk.document], chunk)).collect();
        let documents = chunks.iter().map(|chunk| chunk.document_id.clone()).collect();
        Ok(Self { documents, ranker: ranker(&texts)?, chunks, chunking })
    }
}

impl Retriever for ChunkIndex {
    fn retrieve(&self, question: &str, k: usize) -> Result<Retrieved<'_>, RetrievalError> {
        let ranking = self.ranker.rank(question, k)?;
        let chunks = ranking
            .hits
            .iter()
            .filter_map(|hit| {
                let chunk = self.chunks.get(hit.chunk)?;
                Some(RetrievedChunk {
                    id: Cow::Borrowed(&chunk.id),
                    document_id: Cow::Borrowed(&chunk.document_id),
                    text: Cow::Borrowed(&chunk.text),
                    range: Some([chunk.range.start, chunk.range.end]),
                    score: hit.score,
                })
            })
            .collect();
        Ok(Retrieved { chunks, state: ranking.state })
    }

    fn name(&self) -> &str {
        self.ranker.name()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = self.ranker.settings();
        settings.insert("chunk_tokens".to_owned(), self.chunking.tokens.to_string());
        settings.insert("chunk_overlap".to_owned(), self.chunking.overlap.to_string());
        settings.insert("chunk_unit".to_owned(), "words and punctuation marks".to_owned());
        settings
    }

    fn holds_document(&self, id: &str) -> Option<bool> {
        Some(self.documents.contains(id))
    }

    fn chunk_count(&self) -> Option<usize> {
        Some(self.chunks.len())
    }
}
