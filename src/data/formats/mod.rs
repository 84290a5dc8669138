//! File formats people already have, one file each, and how they are told apart.
//!
//! | format | file |
//! |---|---|
//! | ragscope's own JSONL, and its folder of two | [`own`], written by [`own_writer`] |
//! | `RAGTruth`, two JSONL files | `ragtruth` |
//! | `SQuAD` 1 and 2 | `squad` |
//! | Natural Questions open with passages | `nq_open` |
//! | TAT-QA | `tatqa` |
//! | RAGAS, JSONL or CSV, both generations of names | `ragas` |
//! | `RAGBench` | `ragbench` |
//! | `HalluRAG` | `hallurag` |
//! | `LettuceDetect` | `lettuce_detect` |
//! | `RAGChecker` | `ragchecker` |
//! | `DeepEval` | `deepeval` |
//! | `LlamaIndex` data sets and results | `llama_index` |
//! | `TruLens`, three generations | `trulens` |
//! | Phoenix and `OpenInference` spans | `openinference` |
//! | `LangSmith` runs | `langsmith` |
//! | BEIR | `beir` |
//! | `HotpotQA` | `hotpotqa` |
//! | Natural Questions, simplified | `natural_questions` |
//! | `WiCE`, labelled words | `wice` |
//! | `CLAPNQ` | `clapnq` |
//! | `PubMedQA`, labelled | `pubmedqa` |
//! | any rows with `--map` | `mapped` |
//!
//! A reader turns a file into drafts (examples whose label offsets are still in the unit of the file)
//! and documents; [`super::Dataset::open`] converts the offsets.

mod beir;
mod cell;
mod clapnq;
mod content;
mod deepeval;
mod detect;
mod hallurag;
mod hotpotqa;
pub mod jsonl;
mod langsmith;
mod lettuce_detect;
mod llama_index;
mod mapped;
mod natural_questions;
mod nq_open;
mod openinference;
pub mod own;
pub mod own_writer;
mod pubmedqa;
mod ragas;
mod ragbench;
mod ragchecker;
mod ragtruth;
mod record;
mod spans;
mod squad;
mod tatqa;
#[cfg(test)]
pub(crate) mod test_files;
mod translated;
mod trulens;
mod wice;

pub(crate) use content::{Content, RowReader, SourceRow};
pub(crate) use detect::{Detected, detect, directory};

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::error::{DataError, shown};
use super::example::Document;
use super::field_map::FieldMap;
use super::labels::DraftRow;
use super::notice::Notices;
use super::source_file::{DataHash, SourceFile};

/// A layout of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// ragscope's own JSONL.
    Ragscope,
    /// `RAGTruth`: `response.jsonl` and `source_info.jsonl`.
    RagTruth,
    /// `SQuAD` 1 or 2.
    Squad,
    /// Natural Questions open with its passages.
    NqOpen,
    /// TAT-QA: tables and paragraphs.
    TatQa,
    /// RAGAS, either generation of names.
    Ragas,
    /// `RAGBench`: sentences with keys.
    RagBench,
    /// `HalluRAG`: a verdict for each sentence.
    HalluRag,
    /// `LettuceDetect`.
    LettuceDetect,
    /// `RAGChecker`.
    RagChecker,
    /// `DeepEval`: test runs, goldens, tables.
    DeepEval,
    /// `LlamaIndex`: RAG data sets, evaluation results.
    LlamaIndex,
    /// `TruLens`: spans, records, ground truth.
    TruLens,
    /// Phoenix and `OpenInference`: spans of traces.
    OpenInference,
    /// `LangSmith`: runs of traces.
    LangSmith,
    /// BEIR: queries, corpus, judgements.
    Beir,
    /// `HotpotQA`.
    HotpotQa,
    /// Natural Questions, simplified.
    NaturalQuestions,
    /// `WiCE`: claims with a label for each word.
    Wice,
    /// `CLAPNQ`: long answers from one passage.
    ClapNq,
    /// `PubMedQA`: abstracts by PMID.
    PubMedQa,
    /// Rows whose fields are named by a field map.
    Mapped,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 22] = [
        Self::Ragscope,
        Self::RagTruth,
        Self::Squad,
        Self::NqOpen,
        Self::TatQa,
        Self::Ragas,
        Self::RagBench,
        Self::HalluRag,
        Self::LettuceDetect,
        Self::RagChecker,
        Self::DeepEval,
        Self::LlamaIndex,
        Self::TruLens,
        Self::OpenInference,
        Self::LangSmith,
        Self::Beir,
        Self::HotpotQa,
        Self::NaturalQuestions,
        Self::Wice,
        Self::ClapNq,
        Self::PubMedQa,
        Self::Mapped,
    ];

    /// The name of `--format`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ragscope => "ragscope",
            Self::RagTruth => "ragtruth",
            Self::Squad => "squad",
            Self::NqOpen => "nq-open",
            Self::TatQa => "tat-qa",
            Self::Ragas => "ragas",
            Self::RagBench => "ragbench",
            Self::HalluRag => "hallurag",
            Self::LettuceDetect => "lettuce-detect",
            Self::RagChecker => "ragchecker",
            Self::DeepEval => "deepeval",
            Self::LlamaIndex => "llama-index",
            Self::TruLens => "trulens",
            Self::OpenInference => "openinference",
            Self::LangSmith => "langsmith",
            Self::Beir => "beir",
            Self::HotpotQa => "hotpotqa",
            Self::NaturalQuestions => "natural-questions",
            Self::Wice => "wice",
            Self::ClapNq => "clapnq",
            Self::PubMedQa => "pubmedqa",
            Self::Mapped => "mapped",
        }
    }

    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = DataError;

    fn from_str(name: &str) -> Result<Self, DataError> {
        let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
        Self::ALL.into_iter().find(|format| plain(format.name()) == plain(name)).ok_or_else(|| {
            DataError::UnknownName { what: "format", found: shown(name), expected: Self::names() }
        })
    }
}

/// What a reader is given.
pub(crate) struct Input<'a> {
    pub(crate) file: &'a SourceFile,
    pub(crate) detected: &'a Detected,
    pub(crate) map: &'a FieldMap,
    /// Whether the user named the folder of the file.
    pub(crate) folder: bool,
}

impl Input<'_> {
    /// The rows of a row format.
    fn rows(&self, notices: &mut Notices) -> Result<Vec<SourceRow>, DataError> {
        self.detected.content.rows(self.file, notices)
    }

    /// The file does not keep to the layout it was read as.
    fn broken(&self, problem: impl Into<String>) -> DataError {
        DataError::Layout {
            path: self.file.shown.clone(),
            format: self.detected.format.name(),
            because: self.detected.because.clone(),
            problem: problem.into(),
        }
    }
}

/// What a reader makes of a file.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) rows: Vec<DraftRow>,
    pub(crate) documents: Vec<Document>,
}

/// Makes the draft of a record.
pub(crate) type DraftOf = fn(&SourceRow, &FieldMap, &mut Notices) -> DraftRow;

/// How a layout is read whose records are examples one by one, whatever stands before and after them.
pub(crate) struct OneByOne {
    /// The draft of a record.
    pub(crate) draft: DraftOf,
    /// Tells which of the fields of all records are kept out.
    pub(crate) tell_kept_out: fn(&[&str], &FieldMap, &mut Notices),
}

/// How `format` is read one by one; `None` where a record needs another one or another file.
pub(crate) fn one_by_one(format: Format, file: &SourceFile) -> Option<OneByOne> {
    let translated: fn(DraftOf) -> OneByOne = |draft| OneByOne { draft, tell_kept_out: |_, _, _| {} };
    Some(match format {
        // Documents beside it are searched and calibrated on: all records count for that.
        Format::Ragscope if own::documents_beside(file).is_none() => OneByOne {
            draft: |row, _, notices| own::draft(row, notices),
            tell_kept_out: |names, _, notices| own::tell_kept_out(names.iter().copied(), notices),
        },
        Format::Ragas => OneByOne {
            draft: |row, map, notices| mapped::draft(row, map, &ragas::NAMES, notices),
            tell_kept_out: |names, map, notices| {
                ragas::NAMES.tell_kept_out(map, names.iter().copied(), notices);
            },
        },
        Format::Mapped => OneByOne {
            draft: |row, map, notices| mapped::draft(row, map, &mapped::NAMES, notices),
            tell_kept_out: |names, map, notices| {
                mapped::NAMES.tell_kept_out(map, names.iter().copied(), notices);
            },
        },
        Format::RagBench => translated(|row, _, notices| translated::one(row, notices, ragbench::record)),
        Format::HalluRag => translated(|row, _, notices| translated::one(row, notices, hallurag::record)),
        Format::LettuceDetect => translated(|row, _, notices| {
            translated::one(row, notices, |fields, row, notices| {
                Ok(lettuce_detect::record(fields, row, notices))
            })
        }),
        _ => return None,
    })
}

/// The file from which reading has to begin, when the user named the other one of two.
pub(crate) fn main_file(input: &Input<'_>) -> Result<Option<PathBuf>, DataError> {
    match input.detected.format {
        Format::RagTruth => ragtruth::response_file(input),
        Format::Beir => Ok(beir::query_file(input)),
        _ => Ok(None),
    }
}

/// Reads `input` by its detected format; files beside it are added to `hash`.
pub(crate) fn read(
    input: &Input<'_>,
    hash: &mut DataHash,
    notices: &mut Notices,
) -> Result<Parts, DataError> {
    match input.detected.format {
        Format::Ragscope => own::read(input, hash, notices),
        Format::RagTruth => ragtruth::read(input, hash, notices),
        Format::Squad => squad::read(input, notices),
        Format::NqOpen => nq_open::read(input, notices),
        Format::TatQa => tatqa::read(input, notices),
        Format::Ragas => ragas::read(input, notices),
        Format::RagBench => ragbench::read(input, notices),
        Format::HalluRag => hallurag::read(input, notices),
        Format::LettuceDetect => lettuce_detect::read(input, notices),
        Format::RagChecker => ragchecker::read(input, notices),
        Format::DeepEval => deepeval::read(input, notices),
        Format::LlamaIndex => llama_index::read(input, hash, notices),
        Format::TruLens => trulens::read(input, notices),
        Format::OpenInference => openinference::read(input, notices),
        Format::LangSmith => langsmith::read(input, notices),
        Format::Beir => beir::read(input, hash, notices),
        Format::HotpotQa => hotpotqa::read(input, notices),
        Format::NaturalQuestions => natural_questions::read(input, notices),
        Format::Wice => wice::read(input, hash, notices),
        Format::ClapNq => clapnq::read(input, notices),
        Format::PubMedQa => pubmedqa::read(input, notices),
        Format::Mapped => mapped::read(input, notices),
    }
}
