//! The file of annotations: JSON lines beside the data, written as a whole or not at all.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::marks::{ANNOTATION_SCHEMA, AnnotatedAnswer, Annotations};
use crate::disk::{FileAccess, FileLock, read_at_most, write_whole};
use crate::text::{escaped_json, quoted, visible_path};

/// Most bytes of a file of marks.
const LARGEST: u64 = 256 << 20;

/// How long somebody else may hold the file; a save takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// What every version of the layout begins with.
const FAMILY: &str = "ragscope-annotations/";

/// Why annotations could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum AnnotationError {
    /// It cannot be read.
    #[error("cannot read the annotations {path}: {source}; give another file with --annotations")]
    Read {
        /// The file, made visible.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody else's file has the name.
    #[error(
        "{path} is there and is no file of annotations ({problem}): it is left alone; move it, or name another \
         file with --annotations"
    )]
    NotAnnotations {
        /// The file, made visible.
        path: String,
        /// What its first line is.
        problem: String,
    },
    /// Written by another version.
    #[error(
        "{path} holds annotations of layout {found:?}, this ragscope knows {ANNOTATION_SCHEMA:?}: it is left \
         alone; name another file with --annotations"
    )]
    Schema {
        /// The file, made visible.
        path: String,
        /// Its layout.
        found: String,
    },
    /// It cannot be written.
    #[error(
        "cannot write the annotations {path}: {source}; they are kept until you leave, and the next mark tries \
         again; open the data with --annotations FILE in a folder that you may write to"
    )]
    Write {
        /// The file, made visible.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

/// Where the annotations of some data lie: beside it, under its name with `.annotations.jsonl` behind.
#[must_use]
pub fn beside(data: &Path) -> PathBuf {
    let whole = if data.file_name().is_none() { data.canonicalize() } else { Ok(data.to_owned()) };
    let data = whole.unwrap_or_else(|_| data.to_owned());
    let mut name = data.file_name().map_or_else(|| OsString::from("data"), ToOwned::to_owned);
    name.push(".annotations.jsonl");
    data.with_file_name(name)
}

/// What was saved.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedAnnotations {
    pub path: PathBuf,
    /// All that the file holds now, where somebody else had changed it meanwhile: both are in it.
    pub joined: Option<Annotations>,
}

/// A file of annotations, and what it held when it was last looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotationFile {
    path: PathBuf,
    /// What the file held then: the common ground when somebody else changes it.
    base: Annotations,
}

/// A file's content.
struct Content {
    annotations: Annotations,
    /// Lines that are no annotations: they stay as they are.
    foreign: Vec<String>,
    notices: Vec<String>,
}

impl AnnotationFile {
    /// Opens a file, or a name that is free. A line that cannot be used is kept in the file and told.
    pub fn open(path: &Path) -> Result<(Self, Annotations, Vec<String>), AnnotationError> {
        let content = read(path)?;
        let file = Self { path: path.to_owned(), base: content.annotations.clone() };
        Ok((file, content.annotations, content.notices))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `ours` through a temporary file that is synced and renamed. What others changed in the file since
    /// it was last looked at stays: of an answer that both changed both changes hold, see
    /// [`Annotations::join`]. Nobody else saves between the look and the rename.
    pub fn save(&mut self, ours: &Annotations) -> Result<SavedAnnotations, AnnotationError> {
        self.save_within(PATIENCE, ours)
    }

    fn save_within(
        &mut self,
        patience: Duration,
        ours: &Annotations,
    ) -> Result<SavedAnnotations, AnnotationError> {
        // Where the name is a link, the file that it means is replaced and the link stays.
        let place = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let _held = FileLock::wait(&lock_beside(&place), patience).map_err(|error| self.unwritable(error))?;
        let content = read(&self.path)?;
        let joined = Annotations::join(&self.base, ours, &content.annotations);
        let mut text = String::new();
        for line in &content.foreign {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str(&lines(&joined).map_err(|error| self.unwritable(error))?);
        if text.is_empty() {
            // The last mark is gone, and the file was nothing but marks.
            if !content.annotations.is_empty() {
                remove(&self.path).map_err(|error| self.unwritable(error))?;
            }
        } else {
            write_whole(&place, text.as_bytes(), FileAccess::AsBefore)
                .map_err(|error| self.unwritable(error))?;
        }
        self.base.clone_from(&joined);
        let joined = (joined != *ours).then_some(joined);
        Ok(SavedAnnotations { path: self.path.clone(), joined })
    }

    /// Writes `ours` to a new file of the folder for temporary ones: for marks that their own file does not take
    /// when the program ends. Where they are.
    ///
    /// # Errors
    /// What the system says.
    pub fn rescue(&self, ours: &Annotations) -> io::Result<PathBuf> {
        let name = format!("ragscope-{}-", std::process::id());
        let mut file = tempfile::Builder::new().prefix(&name).suffix(".annotations.jsonl").tempfile()?;
        file.write_all(lines(ours)?.as_bytes())?;
        file.as_file().sync_all()?;
        Ok(file.keep()?.1)
    }

    fn unwritable(&self, source: io::Error) -> AnnotationError {
        AnnotationError::Write { path: visible_path(&self.path), source }
    }
}

fn read(path: &Path) -> Result<Content, AnnotationError> {
    let unreadable = |source| AnnotationError::Read { path: visible_path(path), source };
    let mut content =
        Content { annotations: Annotations::default(), foreign: Vec::new(), notices: Vec::new() };
    let bytes = match read_at_most(path, LARGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(content),
        other => other.map_err(unreadable)?,
    };
    // Bytes that are no text could not be written back as they were.
    let text = String::from_utf8(bytes).map_err(|_| AnnotationError::NotAnnotations {
        path: visible_path(path),
        problem: "it is no UTF-8 text".to_owned(),
    })?;
    let mut is_ours = false;
    let mut first = None;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match parse(line) {
            Ok(answer) => {
                is_ours = true;
                content.annotations.insert(answer);
            }
            Err(Refusal::Version(found)) => {
                return Err(AnnotationError::Schema { path: visible_path(path), found });
            }
            Err(Refusal::Damaged(problem)) => {
                is_ours |= line.contains(FAMILY);
                first.get_or_insert_with(|| format!("line {}: {problem}", index + 1));
                content.notices.push(format!(
                    "{}, line {}: {problem}; the line stays in the file and is not used",
                    visible_path(path),
                    index + 1
                ));
                content.foreign.push(line.to_owned());
            }
        }
    }
    match first {
        Some(problem) if !is_ours => {
            Err(AnnotationError::NotAnnotations { path: visible_path(path), problem })
        }
        _ => Ok(content),
    }
}

enum Refusal {
    Version(String),
    Damaged(String),
}

fn parse(line: &str) -> Result<AnnotatedAnswer, Refusal> {
    let value: serde_json::Value = serde_json::from_str(line)
        .map_err(|error| Refusal::Damaged(format!("expected an annotation, found no JSON ({error})")))?;
    let schema = value.get("schema").and_then(serde_json::Value::as_str).unwrap_or_default();
    if schema != ANNOTATION_SCHEMA {
        if schema.starts_with(FAMILY) {
            return Err(Refusal::Version(quoted(schema)));
        }
        return Err(Refusal::Damaged(format!("expected \"schema\": {ANNOTATION_SCHEMA:?}, found none")));
    }
    let answer: AnnotatedAnswer = serde_json::from_value(value).map_err(|error| {
        Refusal::Damaged(format!("a field does not fit ({})", quoted(&error.to_string())))
    })?;
    let ordered = |pair: &[usize; 2]| pair[0] < pair[1];
    let marks = answer.marks.iter().map(|mark| [mark.start, mark.end]);
    if !marks.chain(answer.shown.spans.iter().copied()).all(|range| ordered(&range)) {
        return Err(Refusal::Damaged("a range ends before it begins".to_owned()));
    }
    if answer.marks.windows(2).any(|pair| pair[1].start < pair[0].end) {
        return Err(Refusal::Damaged("two marks overlap".to_owned()));
    }
    Ok(answer)
}

fn lines(annotations: &Annotations) -> io::Result<String> {
    let mut text = String::new();
    for answer in annotations.answers() {
        text.push_str(&escaped_json(&serde_json::to_string(answer).map_err(io::Error::other)?));
        text.push('\n');
    }
    Ok(text)
}

/// Held while the file is read, joined and replaced, and gone afterwards.
fn lock_beside(place: &Path) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
