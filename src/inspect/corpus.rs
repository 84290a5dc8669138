//! What is searched, and how: the documents of a data set, or a search server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::data::Document;
use crate::model::{CacheDirectory, EncoderError, ModelLocation, SentenceEncoder};
use crate::retrieval::{
    Bm25, Bm25Settings, ChunkIndex, ChunkingSettings, Dense, Fusion, Ranker, RetrievalError, Retrieved,
    Retriever, SearchServer, SearchServerSettings,
};

use super::InspectError;
use super::embedding_cache::{self, Embedded};

/// The encoder of dense retrieval, where none is named.
pub const DEFAULT_ENCODER: &str = "all-MiniLM-L6-v2";

/// How chunks are found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RetrieverKind {
    /// BM25 over the documents of the data.
    #[default]
    Bm25,
    /// Cosine of sentence embeddings.
    Dense,
    /// Reciprocal-rank fusion of both.
    Fusion,
    /// Chunks of a search server; the documents of the data are not searched.
    Server(SearchServerSettings),
}

/// All that decides which chunks a question gets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetrieverSettings {
    /// What ranks.
    pub kind: RetrieverKind,
    /// How documents are cut.
    pub chunking: ChunkingSettings,
    /// How BM25 sees words.
    pub bm25: Bm25Settings,
    /// Name or directory of the encoder; `None`: [`DEFAULT_ENCODER`].
    pub encoder: Option<String>,
}

/// What is told while a retriever is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told<'t> {
    /// What is going on.
    Doing(&'t str),
    /// What the user should know.
    Note(&'t str),
}

/// Whose scores they are: the retriever and everything that changes its scores. Scores of two kinds are never compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreKind {
    pub retriever: String,
    pub settings: BTreeMap<String, String>,
}

impl ScoreKind {
    /// The first things in which a calibration's kind differs from this one.
    #[must_use]
    pub fn differences(&self, calibrated: &Self) -> Vec<String> {
        if self.retriever != calibrated.retriever {
            let (here, there) = (&self.retriever, &calibrated.retriever);
            return vec![format!("the retriever is {here} here and {there} there")];
        }
        self.settings
            .iter()
            .filter(|(name, value)| calibrated.settings.get(*name) != Some(value))
            .map(|(name, value)| {
                let there = calibrated.settings.get(name).map_or("nothing", String::as_str);
                format!("{name} is {value} here and {there} there")
            })
            .collect()
    }
}

/// A retriever, ready.
pub struct Corpus {
    retriever: Box<dyn Retriever>,
}

impl Corpus {
    /// Chunks of `documents` ranked by BM25.
    pub fn index(
        documents: &[Document],
        chunking: ChunkingSettings,
        bm25: Bm25Settings,
    ) -> Result<Self, RetrievalError> {
        let index = ChunkIndex::new(documents, chunking, |texts| ranked_by_words(texts, bm25))?;
        Ok(Self { retriever: Box::new(index) })
    }

    /// Makes whatever `settings` ask for. Embeddings are computed once for a corpus and kept in `cache`; `tell` hears
    /// what is going on and what the user should know.
    pub fn open(
        documents: &[Document],
        settings: &RetrieverSettings,
        cache: &CacheDirectory,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<Self, InspectError> {
        let RetrieverSettings { kind, chunking, bm25, encoder } = settings;
        if let RetrieverKind::Server(server) = kind {
            let server = SearchServer::new(server.clone())?;
            tell(Told::Note(&format!("questions are sent to the search server {}", server.shown())));
            return Ok(Self { retriever: Box::new(server) });
        }
        let index = ChunkIndex::new(documents, *chunking, |texts| {
            Ok::<_, InspectError>(match kind {
                RetrieverKind::Bm25 | RetrieverKind::Server(_) => ranked_by_words(texts, *bm25)?,
                RetrieverKind::Dense => ranked_by_encoder(texts, encoder.as_deref(), cache, tell)?,
                RetrieverKind::Fusion => Box::new(Fusion::new(vec![
                    ranked_by_words(texts, *bm25)?,
                    ranked_by_encoder(texts, encoder.as_deref(), cache, tell)?,
                ])),
            })
        })?;
        Ok(Self { retriever: Box::new(index) })
    }

    /// Top `k` chunks in rank order, and whether the question could be searched for.
    pub fn retrieve(&self, question: &str, k: usize) -> Result<Retrieved<'_>, RetrievalError> {
        self.retriever.retrieve(question, k)
    }

    /// Whether a document of this id is searched; `None` where nobody here can know.
    #[must_use]
    pub fn holds_document(&self, id: &str) -> Option<bool> {
        self.retriever.holds_document(id)
    }

    /// Number of chunks, where it is known.
    #[must_use]
    pub fn chunk_count(&self) -> Option<usize> {
        self.retriever.chunk_count()
    }

    /// Whose scores it gives.
    #[must_use]
    pub fn score_kind(&self) -> ScoreKind {
        ScoreKind { retriever: self.retriever.name().to_owned(), settings: self.retriever.settings() }
    }

    /// Everything that changes scores, by name.
    #[must_use]
    pub fn settings(&self) -> BTreeMap<String, String> {
        self.retriever.settings()
    }
}

fn ranked_by_words(texts: &[String], bm25: Bm25Settings) -> Result<Box<dyn Ranker>, RetrievalError> {
    Ok(Box::new(Bm25::new(texts.iter().map(String::as_str), bm25)?))
}

fn ranked_by_encoder(
    texts: &[String],
    named: Option<&str>,
    cache: &CacheDirectory,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<Box<dyn Ranker>, InspectError> {
    let encoder = SentenceEncoder::open(&directory_of(named.unwrap_or(DEFAULT_ENCODER), cache)?, cache)
        .map_err(RetrievalError::from)?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let Embedded { values, cut } = embedding_cache::embed(&encoder, &texts, cache, tell)?;
    if cut > 0 {
        tell(Told::Note(&format!(
            "{cut} of {} chunks are longer than the {} word pieces that {} reads: they are found by their beginning \
             alone; smaller chunks (--chunk-tokens) are found by all of their text",
            texts.len(),
            encoder.longest(),
            encoder.name()
        )));
    }
    Ok(Box::new(Dense::new(Arc::new(encoder), values, texts.len())?))
}

/// Where an encoder lies that is named by a directory or by a name of the registry.
fn directory_of(named: &str, cache: &CacheDirectory) -> Result<PathBuf, RetrievalError> {
    let not_found = |said: String| EncoderError::NotFound { name: named.to_owned(), said };
    match ModelLocation::parse(Some(named), cache) {
        Ok(location) if location.is_gguf() => {
            Err(not_found("that is a GGUF file; an encoder is a directory".to_owned()).into())
        }
        Ok(location) => Ok(location.path().to_owned()),
        Err(error) => Err(not_found(error.to_string()).into()),
    }
}
