//! How chunks are found, on the command line.

use std::time::Duration;

use clap::Args;

use crate::certify::CalibrationArtefact;
use crate::inspect::{RetrieverKind, RetrieverSettings};
use crate::retrieval::{Bm25Settings, ChunkingSettings, SearchServerSettings};

use super::{Failure, Outcome};

/// Holds the whole value of an `Authorization` header for search servers, for example `ApiKey ...`.
const AUTHORIZATION: &str = "RAGSCOPE_SEARCH_AUTHORIZATION";

/// Heading of these options. Each names it: a heading of the whole would be that of whatever follows, too.
const RETRIEVAL: &str = "Retrieval";

/// Options of every command that retrieves.
#[derive(Debug, Clone, Args)]
pub struct RetrieverArguments {
    /// bm25, dense (sentence embeddings), fusion (both, by reciprocal ranks), or the address of a search server that
    /// speaks Elasticsearch's `_search`: questions are then sent there [default: the calibration's, else bm25]
    #[arg(long, help_heading = RETRIEVAL, value_name = "bm25|dense|fusion|URL")]
    retriever: Option<String>,
    /// Encoder of dense and fusion: a name of `ragscope models list` or a directory [default: all-MiniLM-L6-v2]
    #[arg(long, help_heading = RETRIEVAL, value_name = "NAME-or-FOLDER")]
    encoder: Option<String>,
    /// Index of the search server
    #[arg(long, help_heading = RETRIEVAL, value_name = "NAME")]
    index: Option<String>,
    /// Field of the search server that is searched and read [default: text]
    #[arg(long, help_heading = RETRIEVAL, value_name = "FIELD")]
    text_field: Option<String>,
    /// Field of the search server that names a hit's document [default: its _id]
    #[arg(long, help_heading = RETRIEVAL, value_name = "FIELD")]
    document_field: Option<String>,
    /// Seconds until an answer of the search server must have come
    #[arg(
        long,
        help_heading = RETRIEVAL,
        value_name = "SECONDS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    search_timeout: u64,
    /// Words and punctuation marks of a chunk, at most [default: the calibration's, else 512]
    #[arg(long, help_heading = RETRIEVAL, value_name = "N")]
    chunk_tokens: Option<usize>,
    /// Words and marks repeated from the chunk before [default: the calibration's, else 20]
    #[arg(long, help_heading = RETRIEVAL, value_name = "N")]
    overlap: Option<usize>,
    /// Reduce words to English stems before searching with BM25
    #[arg(long, help_heading = RETRIEVAL)]
    stem: bool,
}

/// Options of every command that certifies passages that came with the data.
#[derive(Debug, Clone, Default, Args)]
pub struct GivenScoresArguments {
    /// Certify passages by the scores that came with the data; NAME says whose they are, and a calibration of another
    /// name is refused
    #[arg(long, help_heading = RETRIEVAL, value_name = "NAME")]
    pub given_scores: Option<String>,
}

impl RetrieverArguments {
    /// Whether questions are sent to a search server.
    #[must_use]
    pub fn is_server(&self) -> bool {
        self.retriever.as_deref().is_some_and(|name| name.contains("://"))
    }

    /// Whether a retriever was named.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.retriever.is_some()
    }

    /// What was asked for; where nothing was, what the calibration was made with. A calibration never names a server:
    /// where questions go is for the user to say.
    pub fn settings(&self, calibration: Option<&CalibrationArtefact>) -> Outcome<RetrieverSettings> {
        let calibrated = |name: &str| {
            let settings = &calibration?.source.retriever_settings;
            // Fusion names the settings of its parts after them.
            let parts = ["", "bm25: ", "dense: "].map(|part| format!("{part}{name}"));
            parts.iter().find_map(|name| settings.get(name))
        };
        let number = |name: &str| calibrated(name).and_then(|text| text.parse().ok());
        let defaults = ChunkingSettings::default();
        let named =
            self.retriever.as_deref().or(calibration.map(|artefact| artefact.source.retriever.as_str()));
        let kind = match named {
            Some("dense") => RetrieverKind::Dense,
            Some("fusion") => RetrieverKind::Fusion,
            Some(url) if url.contains("://") => RetrieverKind::Server(self.server(url)?),
            Some("bm25") | None => RetrieverKind::Bm25,
            Some(other) if self.retriever.is_some() => {
                return Err(Failure::Usage(format!(
                    "--retriever takes bm25, dense, fusion or an address (http://host:port), but {} came",
                    crate::text::visible_line(other)
                )));
            }
            Some(_) => RetrieverKind::Bm25,
        };
        let of_a_server = [
            ("--index", &self.index),
            ("--text-field", &self.text_field),
            ("--document-field", &self.document_field),
        ];
        if let (false, Some((option, _))) =
            (matches!(kind, RetrieverKind::Server(_)), of_a_server.iter().find(|(_, given)| given.is_some()))
        {
            return Err(Failure::Usage(format!("{option} goes with --retriever http://...")));
        }
        Ok(RetrieverSettings {
            kind,
            chunking: ChunkingSettings {
                tokens: self.chunk_tokens.or_else(|| number("chunk_tokens")).unwrap_or(defaults.tokens),
                overlap: self.overlap.or_else(|| number("chunk_overlap")).unwrap_or(defaults.overlap),
                ..defaults
            },
            bm25: Bm25Settings {
                english_stemmer: self.stem
                    || calibrated("stemmer").is_some_and(|stemmer| stemmer == "english"),
            },
            encoder: self.encoder.clone().or_else(|| calibrated("encoder").cloned()),
        })
    }

    fn server(&self, url: &str) -> Outcome<SearchServerSettings> {
        let index = self.index.clone().ok_or_else(|| {
            Failure::Usage("--retriever with an address needs --index, the index to search".to_owned())
        })?;
        Ok(SearchServerSettings {
            url: url.to_owned(),
            index,
            text_field: self.text_field.clone().unwrap_or_else(|| "text".to_owned()),
            document_field: self.document_field.clone(),
            authorization: std::env::var(AUTHORIZATION).ok().filter(|value| !value.is_empty()),
            timeout: Duration::from_secs(self.search_timeout),
        })
    }
}
