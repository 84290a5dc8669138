//! BM25 over an index in memory.

use std::collections::BTreeMap;

use tantivy::indexer::NoMergePolicy;
use tantivy::postings::Postings;
use tantivy::query::Bm25Weight;
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, TokenStream};
use tantivy::{DocSet, Index, IndexWriter, Searcher, TERMINATED, TantivyDocument, Term};

use super::analysis::analyser;
use super::{Hit, Ranker, Ranking, RetrievalError, RetrievalState, best};

/// What a user can set. k1 = 1.2 and b = 0.75 are those of the engine; stop words are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bm25Settings {
    /// Reduce words to English stems.
    pub english_stemmer: bool,
}

/// The index of a list of chunks.
///
/// A question is a bag of words, never a query language. The score of a chunk is the plain sum over
/// the question's words, a repeated word counting as often as it occurs, taken in one fixed order, so
/// that equal chunks have equal scores however the index is cut into segments.
pub struct Bm25 {
    searcher: Searcher,
    body: Field,
    /// Per segment, per document: the chunk's number.
    ordinals: Vec<Vec<u32>>,
    chunks: usize,
    analyser: TextAnalyzer,
    settings: Bm25Settings,
}

/// How an index is written; it must not change what it answers.
#[derive(Debug, Clone, Copy)]
struct Writing {
    threads: usize,
    commits: usize,
}

const ANALYSER: &str = "words-and-bigrams";
/// Bytes a writing thread may hold before it cuts a segment.
const WRITER_MEMORY: usize = 64 << 20;

impl Bm25 {
    /// Indexes chunks; hits name them by their number in this order.
    ///
    /// # Errors
    /// More than 2^32 - 1 chunks, or an index that cannot be written.
    pub fn new<'a>(
        chunks: impl IntoIterator<Item = &'a str>,
        settings: Bm25Settings,
    ) -> Result<Self, RetrievalError> {
        let chunks: Vec<&str> = chunks.into_iter().collect();
        Self::written(&chunks, settings, Writing { threads: 1, commits: 1 })
    }

    fn written(chunks: &[&str], settings: Bm25Settings, writing: Writing) -> Result<Self, RetrievalError> {
        if u32::try_from(chunks.len()).is_err() {
            return Err(RetrievalError::TooManyChunks { chunks: chunks.len() });
        }
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(ANALYSER)
            .set_index_option(IndexRecordOption::WithFreqs);
        let body = schema.add_text_field("body", TextOptions::default().set_indexing_options(indexing));
        let ordinal = schema.add_u64_field("ordinal", FAST);
        let index = Index::create_in_ram(schema.build());
        index.tokenizers().register(ANALYSER, analyser(settings.english_stemmer));
        let mut writer: IndexWriter =
            index.writer_with_num_threads(writing.threads, WRITER_MEMORY * writing.threads)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let per_commit = chunks.len().div_ceil(writing.commits).max(1);
        for (number, text) in chunks.iter().enumerate() {
            let mut document = TantivyDocument::default();
            document.add_text(body, text);
            document.add_u64(ordinal, number as u64);
            writer.add_document(document)?;
            if (number + 1) % per_commit == 0 {
                writer.commit()?;
            }
        }
        writer.commit()?;
        let searcher = index.reader()?.searcher();
        let ordinals = searcher
            .segment_readers()
            .iter()
            .map(|segment| {
                let column = segment.fast_fields().u64("ordinal")?.first_or_default_col(0);
                // Every number written fits: the count of chunks was checked.
                Ok((0..segment.max_doc()).map(|document| column.get_val(document) as u32).collect())
            })
            .collect::<Result<Vec<Vec<u32>>, RetrievalError>>()?;
        Ok(Self {
            searcher,
            body,
            ordinals,
            chunks: chunks.len(),
            analyser: analyser(settings.english_stemmer),
            settings,
        })
    }

    /// The question's words with how often they occur, in a fixed order.
    fn words(&self, question: &str) -> BTreeMap<String, u32> {
        let mut words = BTreeMap::new();
        let mut analyser = self.analyser.clone();
        analyser.token_stream(question).process(&mut |token| {
            *words.entry(token.text.clone()).or_insert(0) += 1;
        });
        words
    }

    /// The score of every chunk; 0 where no word of the question occurs.
    fn scores(&self, words: &BTreeMap<String, u32>) -> Result<Vec<f64>, RetrievalError> {
        let mut scores = vec![0.0; self.chunks];
        let mut segments = Vec::with_capacity(self.ordinals.len());
        for (segment, ordinals) in self.searcher.segment_readers().iter().zip(&self.ordinals) {
            segments.push((
                segment.inverted_index(self.body)?,
                segment.get_fieldnorms_reader(self.body)?,
                ordinals,
            ));
        }
        for (word, &count) in words {
            let term = Term::from_field_text(self.body, word);
            // Statistics of the whole index, so that segments do not matter.
            let weight = Bm25Weight::for_terms(&self.searcher, std::slice::from_ref(&term))?;
            for (inverted, lengths, ordinals) in &segments {
                let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::WithFreqs)? else {
                    continue;
                };
                while postings.doc() != TERMINATED {
                    let document = postings.doc();
                    let score = weight.score(lengths.fieldnorm_id(document), postings.term_freq());
                    if let Some(&ordinal) = ordinals.get(document as usize)
                        && let Some(sum) = scores.get_mut(ordinal as usize)
                    {
                        *sum += f64::from(count) * f64::from(score);
                    }
                    postings.advance();
                }
            }
        }
        Ok(scores)
    }
}

impl Ranker for Bm25 {
    fn rank(&self, question: &str, k: usize) -> Result<Ranking, RetrievalError> {
        let words = self.words(question);
        if words.is_empty() {
            return Ok(Ranking { hits: Vec::new(), state: RetrievalState::NoSearchableWords });
        }
        let hits = self
            .scores(&words)?
            .into_iter()
            .enumerate()
            .filter(|&(_, score)| score > 0.0)
            .map(|(chunk, score)| Hit { chunk, score })
            .collect();
        Ok(Ranking { hits: best(hits, k), state: RetrievalState::Found })
    }

    fn name(&self) -> &'static str {
        "bm25"
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let stemmer = if self.settings.english_stemmer { "english" } else { "none" };
        [("k1", "1.2"), ("b", "0.75"), ("stemmer", stemmer), ("stop words", "kept"), ("terms", ANALYSER)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }
}

#[cfg(test)]
#[path = "bm25_tests.rs"]
mod tests;
