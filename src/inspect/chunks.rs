//! The chunks of an example: those of its data, or those retrieved for it, with their p-values.

use crate::data::Example;
use crate::evidence::ChunkEvidence;
use crate::retrieval::RetrievalState;

use super::InspectError;
use super::certificate::Certificate;
use super::corpus::Corpus;

/// Where chunks and certificates come from.
pub struct ChunkSource {
    /// The corpus, where the data has one.
    pub corpus: Option<Corpus>,
    /// What certifies retrieved chunks.
    pub certificate: Certificate,
    /// Chunks retrieved per question.
    pub top_k: usize,
}

impl ChunkSource {
    /// Chunks in rank order, and what the user should know about them.
    pub fn chunks(&self, example: &Example) -> Result<(Vec<ChunkEvidence>, Vec<String>), InspectError> {
        if !example.passages.is_empty() {
            return Ok((given(example), Vec::new()));
        }
        let Some(corpus) = &self.corpus else {
            return Ok((
                Vec::new(),
                vec![
                    "no passages came with this record, and its data set has no documents to search"
                        .to_owned(),
                ],
            ));
        };
        let (hits, state) = corpus.retrieve(&example.question, self.top_k)?;
        let mut notices = Vec::new();
        if state == RetrievalState::NoSearchableWords {
            notices.push(format!("nothing was retrieved: the question has {}", state.describe()));
        } else if hits.is_empty() {
            notices.push("nothing was retrieved: no chunk shares a word with the question".to_owned());
        }
        let chunks = hits
            .iter()
            .map(|hit| {
                let certified = self.certificate.p_value(example.split_key(), Some(hit.score));
                ChunkEvidence {
                    id: hit.chunk.id.clone(),
                    document: Some(hit.chunk.document_id.clone()),
                    text: hit.chunk.text.clone(),
                    range: Some([hit.chunk.range.start, hit.chunk.range.end]),
                    score: Some(hit.score),
                    p_value: certified.as_ref().ok().copied(),
                    p_value_absent: certified.err(),
                    correct: (!example.source_documents.is_empty())
                        .then(|| example.source_documents.contains(&hit.chunk.document_id)),
                    tokens_read: None,
                }
            })
            .collect();
        Ok((chunks, notices))
    }
}

/// Passages of the data, as they came. Their scores are another retriever's: what was calibrated
/// here says nothing about them.
fn given(example: &Example) -> Vec<ChunkEvidence> {
    let reason = "the passage came with the data; only passages retrieved here are calibrated".to_owned();
    example
        .passages
        .iter()
        .enumerate()
        .map(|(rank, passage)| ChunkEvidence {
            id: passage.id.clone().unwrap_or_else(|| format!("passage-{}", rank + 1)),
            document: passage.document.clone(),
            text: passage.text.clone(),
            range: None,
            score: passage.score,
            p_value: None,
            p_value_absent: Some(reason.clone()),
            correct: passage
                .document
                .as_ref()
                .filter(|_| !example.source_documents.is_empty())
                .map(|document| example.source_documents.contains(document)),
            tokens_read: None,
        })
        .collect()
}
