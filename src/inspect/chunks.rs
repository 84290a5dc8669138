//! The chunks of an example: those of its data, or those retrieved for it, with their p-values.

use crate::data::Example;
use crate::evidence::ChunkEvidence;
use crate::retrieval::RetrievalState;

use super::InspectError;
use super::certificate::Certificate;
use super::corpus::Corpus;

/// Why a passage that came without a score has no p-value.
const WITHOUT_SCORE: &str =
    "the passage came with the data and without a score, so there is nothing to certify";

/// Where chunks and certificates come from.
pub struct ChunkSource {
    /// The corpus, where the data has one.
    pub corpus: Option<Corpus>,
    /// What certifies retrieved chunks.
    pub certificate: Certificate,
    /// Chunks retrieved per question.
    pub top_k: usize,
    /// What certifies passages that came with the data.
    pub given: GivenCertificate,
}

/// What certifies passages that came with the data, by the scores that came with them.
pub struct GivenCertificate {
    /// Made from scores of the same retriever, or absent for a reason.
    pub certificate: Certificate,
    /// Passages of a record that it is about, in rank order.
    pub k: usize,
}

impl GivenCertificate {
    /// None, for this reason.
    #[must_use]
    pub fn absent(reason: impl Into<String>) -> Self {
        Self { certificate: Certificate::Absent(reason.into()), k: 0 }
    }
}

impl ChunkSource {
    /// Without a corpus and without a certificate.
    #[must_use]
    pub fn nothing(top_k: usize, reason: &str) -> Self {
        Self {
            corpus: None,
            certificate: Certificate::Absent(reason.to_owned()),
            top_k,
            given: GivenCertificate::absent(reason),
        }
    }

    /// Chunks in rank order, and what the user should know about them.
    pub fn chunks(&self, example: &Example) -> Result<(Vec<ChunkEvidence>, Vec<String>), InspectError> {
        if !example.passages.is_empty() {
            return Ok((self.given(example), Vec::new()));
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
        let retrieved = corpus.retrieve(&example.question, self.top_k)?;
        let mut notices = Vec::new();
        if retrieved.state == RetrievalState::NoSearchableWords {
            notices.push(format!("nothing was retrieved: the question has {}", retrieved.state.describe()));
        } else if retrieved.chunks.is_empty() {
            notices.push("nothing was retrieved: no chunk shares a word with the question".to_owned());
        }
        let chunks = retrieved
            .chunks
            .into_iter()
            .map(|chunk| {
                let certified = self.certificate.p_value(example.split_key(), Some(chunk.score));
                ChunkEvidence {
                    id: chunk.id.into_owned(),
                    text: chunk.text.into_owned(),
                    range: chunk.range,
                    score: Some(chunk.score),
                    p_value: certified.as_ref().ok().copied(),
                    p_value_absent: certified.err(),
                    correct: (!example.source_documents.is_empty())
                        .then(|| example.source_documents.iter().any(|id| *id == chunk.document_id)),
                    document: Some(chunk.document_id.into_owned()),
                    tokens_read: None,
                }
            })
            .collect();
        Ok((chunks, notices))
    }

    /// Passages of the data, as they came: certified by their own scores or not at all, never by a calibration of
    /// scores that were made here.
    fn given(&self, example: &Example) -> Vec<ChunkEvidence> {
        let GivenCertificate { certificate, k } = &self.given;
        example
            .passages
            .iter()
            .enumerate()
            .map(|(rank, passage)| {
                let certified = match certificate {
                    // Said alike whatever else is known, so that a stream gives the lines of its file.
                    _ if passage.score.is_none() => Err(WITHOUT_SCORE.to_owned()),
                    Certificate::Absent(reason) => Err(reason.clone()),
                    _ if rank >= *k => {
                        Err(format!("rank {} is beyond the K = {k} that the calibration is about", rank + 1))
                    }
                    certificate => certificate.p_value(example.split_key(), passage.score),
                };
                ChunkEvidence {
                    id: passage.id.clone().unwrap_or_else(|| format!("passage-{}", rank + 1)),
                    document: passage.document.clone(),
                    text: passage.text.clone(),
                    range: None,
                    score: passage.score,
                    p_value: certified.as_ref().ok().copied(),
                    p_value_absent: certified.err(),
                    correct: passage
                        .document
                        .as_ref()
                        .filter(|_| !example.source_documents.is_empty())
                        .map(|document| example.source_documents.contains(document)),
                    tokens_read: None,
                }
            })
            .collect()
    }
}
