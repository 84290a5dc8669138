//! File formats people already have, one file each, and how they are told apart.
//!
//! | format | file |
//! |---|---|
//! | ragscope's own JSONL, and its folder of two | [`own`] |
//! | `RAGTruth`, two JSONL files | `ragtruth` |
//! | `SQuAD` 1 and 2 | `squad` |
//! | Natural Questions open with passages | `nq_open` |
//! | TAT-QA | `tatqa` |
//! | RAGAS, JSONL or CSV, both generations of names | `ragas` |
//! | any rows with `--map` | `mapped` |
//!
//! A reader turns a file into drafts (examples whose label offsets are still in the unit of the file)
//! and documents; [`super::Dataset::open`] converts the offsets.

mod cell;
mod content;
mod detect;
pub mod jsonl;
mod mapped;
mod nq_open;
pub mod own;
mod ragas;
mod ragtruth;
mod record;
mod squad;
mod tatqa;
#[cfg(test)]
pub(crate) mod test_files;

pub(crate) use content::{Content, SourceRow};
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
    /// Rows whose fields are named by a field map.
    Mapped,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::Ragscope, Self::RagTruth, Self::Squad, Self::NqOpen, Self::TatQa, Self::Ragas, Self::Mapped];

    /// The name of `--format`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ragscope => "ragscope",
            Self::RagTruth => "ragtruth",
            Self::Squad => "squad",
            Self::NqOpen => "nq-open",
            Self::TatQa => "tat-qa",
            Self::Ragas => "ragas",
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

/// The file from which reading has to begin, when the user named the other one of two.
pub(crate) fn main_file(input: &Input<'_>) -> Result<Option<PathBuf>, DataError> {
    match input.detected.format {
        Format::RagTruth => ragtruth::response_file(input),
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
        Format::Mapped => mapped::read(input, notices),
    }
}
