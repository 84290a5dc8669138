//! Opening a data set: from a path to examples and documents.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use super::error::{DataError, shown, shown_path};
use super::example::{Document, Example};
use super::field_map::FieldMap;
use super::formats::{self, Format, Input};
use super::labels::resolve;
use super::notice::{Notice, Notices};
use super::source_file::{DataHash, SourceFile, without_compression};
use super::units::OffsetUnit;

/// A data set, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Name of the file without its endings, or of the folder; safe to print.
    pub name: String,
    pub format: Format,
    /// By what the format was recognised, to follow "because".
    pub because: String,
    /// One for each record of the file, in its order: `rows[n]` is row n.
    pub rows: Vec<Row>,
    /// The corpus to search; empty where the data has none.
    pub documents: Vec<Document>,
    pub notices: Vec<Notice>,
    /// The first 16 hexadecimal digits of the SHA-256 of the file as it lies on disk; of several files,
    /// of their bytes one after the other.
    pub hash: String,
}

/// A record, usable or not.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    Example(Example),
    Bad(BadRow),
}

/// A record that could not be used. It stops nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// Number of the record in its file, from 0.
    pub row: usize,
    /// Its id, where that much could be read.
    pub id: Option<String>,
    /// Its line in the file, from 1, where there are lines.
    pub line: Option<usize>,
    /// What was expected, what came, and in which field; safe to print.
    pub reason: String,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}", self.row)?;
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        if let Some(id) = &self.id {
            write!(f, ", id `{}`", shown(id))?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// What the user says about a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// `None`: recognise it.
    pub format: Option<Format>,
    pub map: FieldMap,
    /// Unit of label offsets; `None`: what the records state, else what their texts show.
    pub offset_unit: Option<OffsetUnit>,
}

impl Dataset {
    /// Opens a file, or a folder of a layout of several files.
    ///
    /// # Errors
    /// When the file is missing, empty, no text, of no known layout, or not of the layout it is read
    /// as. A bad record is a [`Row::Bad`] instead.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, DataError> {
        let path = path.as_ref();
        let name = name_of(path);
        if path.is_dir() {
            return open_file(&formats::directory(path, options.format)?, name, options, true);
        }
        open_file(path, name, options, false)
    }

    /// A stream of own JSONL records that are parsed one by one elsewhere: no rows, no documents, and no
    /// hash, because what comes is not known beforehand.
    #[must_use]
    pub fn stream(name: &str) -> Self {
        Self {
            name: shown(name),
            format: Format::Ragscope,
            because: "streams are ragscope's own JSONL".to_owned(),
            rows: Vec::new(),
            documents: Vec::new(),
            notices: Vec::new(),
            hash: String::new(),
        }
    }

    /// The usable records.
    pub fn examples(&self) -> impl Iterator<Item = &Example> {
        self.rows.iter().filter_map(|row| match row {
            Row::Example(example) => Some(example),
            Row::Bad(_) => None,
        })
    }

    /// The records that could not be used.
    pub fn bad_rows(&self) -> impl Iterator<Item = &BadRow> {
        self.rows.iter().filter_map(|row| match row {
            Row::Bad(bad) => Some(bad),
            Row::Example(_) => None,
        })
    }
}

/// `folder` says that the user named the folder of the file, and means all of it.
fn open_file(path: &Path, name: String, options: &OpenOptions, folder: bool) -> Result<Dataset, DataError> {
    let mut hash = DataHash::default();
    let mut notices = Notices::default();
    let file = SourceFile::open(path, &mut hash)?;
    if file.is_blank() {
        let expected = format!("records in one of the layouts {}", Format::names());
        return Err(DataError::Empty { path: file.shown, expected });
    }
    let detected = formats::detect(&file, options)?;
    let input = Input { file: &file, detected: &detected, map: &options.map, folder };
    if let Some(path) = formats::main_file(&input)? {
        return open_file(&path, name, options, folder);
    }
    let parts = formats::read(&input, &mut hash, &mut notices)?;
    let rows = resolve(parts.rows, options.offset_unit, &mut notices);
    tell_repeated_ids(&rows, &mut notices);
    let name = if detected.format == Format::RagTruth { folder_name(path).unwrap_or(name) } else { name };
    Ok(Dataset {
        name,
        format: detected.format,
        because: detected.because,
        rows,
        documents: parts.documents,
        notices: notices.into_vec(),
        hash: hash.finish(),
    })
}

/// Told where records of one file share an id.
pub(super) const REPEATED_ID: &str = "an id occurs again; records are told apart by their row";

fn tell_repeated_ids(rows: &[Row], notices: &mut Notices) {
    let mut seen = HashSet::new();
    for row in rows {
        let Row::Example(example) = row else { continue };
        let repeated = !seen.insert(example.id.as_str());
        notices.add(REPEATED_ID, usize::from(repeated), Some(example.row));
    }
}

/// The folder's name, or the file's without its endings.
pub(super) fn name_of(path: &Path) -> String {
    if path.is_dir() {
        return folder_name(&path.join("file")).unwrap_or_else(|| shown_path(path));
    }
    let name = path.file_name().map_or_else(String::new, |name| shown_path(Path::new(name)));
    let plain = without_compression(&name);
    let ending = [".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".db", ".sqlite"]
        .iter()
        .find_map(|ending| plain.strip_suffix(ending));
    ending.unwrap_or(plain).to_owned()
}

/// The name of the folder that holds `file`.
fn folder_name(file: &Path) -> Option<String> {
    let folder = file.parent()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let whole = folder.canonicalize().ok()?;
    Some(shown_path(Path::new(whole.file_name()?)))
}

#[cfg(test)]
#[path = "dataset_tests.rs"]
mod tests;
