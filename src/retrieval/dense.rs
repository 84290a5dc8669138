//! Dense retrieval: the cosine of sentence embeddings, over all chunks, exactly.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::model::SentenceEncoder;

use super::{Hit, Ranker, Ranking, RetrievalError, RetrievalState, best};

/// The embeddings of a list of chunks and the encoder that made them.
pub struct Dense {
    encoder: Arc<SentenceEncoder>,
    /// `[chunks, width]`, every row of length 1.
    vectors: Vec<f32>,
}

impl Dense {
    /// `vectors`: what `encoder` gave for the chunks, in their order.
    ///
    /// # Errors
    /// A number of values that does not fit `chunks`.
    pub fn new(
        encoder: Arc<SentenceEncoder>,
        vectors: Vec<f32>,
        chunks: usize,
    ) -> Result<Self, RetrievalError> {
        let width = encoder.width();
        if vectors.len() != chunks * width {
            return Err(RetrievalError::Embeddings { vectors: vectors.len(), chunks, width });
        }
        Ok(Self { encoder, vectors })
    }
}

impl Ranker for Dense {
    fn rank(&self, question: &str, k: usize) -> Result<Ranking, RetrievalError> {
        if !question.chars().any(char::is_alphanumeric) {
            return Ok(Ranking { hits: Vec::new(), state: RetrievalState::NoSearchableWords });
        }
        let question = self.encoder.encode(&[question], &mut |_| {})?.values;
        let score = |vector: &[f32]| -> f64 {
            // In double precision: equal chunks have equal scores, whatever the order of a sum in single precision is.
            vector.iter().zip(&question).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let scores: Vec<f64> =
            self.vectors.par_chunks_exact(self.encoder.width().max(1)).with_min_len(256).map(score).collect();
        let hits = scores.into_iter().enumerate().map(|(chunk, score)| Hit { chunk, score }).collect();
        Ok(Ranking { hits: best(hits, k), state: RetrievalState::Found })
    }

    fn name(&self) -> &'static str {
        "dense"
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let encoder = &self.encoder;
        [
            ("encoder", encoder.name().to_owned()),
            ("encoder_hash", encoder.short_hash().to_owned()),
            ("pooling", encoder.pooling().name().to_owned()),
            ("longest_text", format!("{} word pieces", encoder.longest())),
            ("similarity", "cosine".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::CacheDirectory;

    fn dense(texts: &[&str]) -> Dense {
        let folder = tempfile::tempdir().unwrap();
        let encoder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/encoder");
        let encoder = SentenceEncoder::open(&encoder, &CacheDirectory::at(folder.path())).unwrap();
        let vectors = encoder.encode(texts, &mut |_| {}).unwrap().values;
        Dense::new(Arc::new(encoder), vectors, texts.len()).unwrap()
    }

    #[test]
    fn chunks_that_say_the_same_are_first_with_a_cosine_of_one_and_the_top_k_begins_the_top_k_plus_m() {
        let dense =
            dense(&["the pump is cold", "ticket costs twelve euros", "the ferry leaves", "the ferry leaves"]);
        let ranking = dense.rank("The ferry leaves", 4).unwrap();
        let mut first: Vec<usize> = ranking.hits[..2].iter().map(|hit| hit.chunk).collect();
        first.sort_unstable();
        assert_eq!((ranking.hits.len(), first), (4, vec![2, 3]));
        for hit in &ranking.hits[..2] {
            assert!((hit.score - 1.0).abs() < 1e-5, "{hit:?}");
        }
        for k in 0..4 {
            assert_eq!(dense.rank("The ferry leaves", k).unwrap().hits, ranking.hits[..k]);
        }
    }

    #[test]
    fn a_question_without_words_finds_nothing_and_says_so() {
        let ranking = dense(&["the pump"]).rank(" ?! ", 3).unwrap();
        assert_eq!(ranking, Ranking { hits: Vec::new(), state: RetrievalState::NoSearchableWords });
    }

    #[test]
    fn settings_name_the_encoder_by_its_hash_and_embeddings_of_another_corpus_are_refused() {
        let dense = dense(&["the pump"]);
        let settings = dense.settings();
        assert_eq!((&*settings["encoder"], settings["encoder_hash"].len()), ("encoder", 16));
        assert_eq!((&*settings["pooling"], &*settings["longest_text"]), ("mean", "14 word pieces"));
        let refused = Dense::new(Arc::clone(&dense.encoder), vec![0.0; 25], 1).err().expect("refused");
        assert!(refused.to_string().contains("25 numbers for 1 chunks of 24"), "{refused}");
    }
}
