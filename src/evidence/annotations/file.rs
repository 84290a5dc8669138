//! The file of annotations: JSON lines beside the data, written as a whole or not at all.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::marks::{ANNOTATION_SCHEMA, AnnotatedAnswer, Annotations};
use crate::disk::read_at_most;
use crate::text::{escaped_json, visible_line, visible_path};

/// Most bytes of a file of marks.
const LARGEST: u64 = 256 << 20;

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
    /// it was last looked at stays: an answer that both changed holds what we say, every other one what they
    /// say.
    pub fn save(&mut self, ours: &Annotations) -> Result<SavedAnnotations, AnnotationError> {
        let content = read(&self.path)?;
        let joined = Annotations::join(&self.base, ours, &content.annotations);
        let mut text = String::new();
        for line in &content.foreign {
            text.push_str(line);
            text.push('\n');
        }
        for answer in joined.answers() {
            let json =
                serde_json::to_string(answer).map_err(|error| self.unwritable(io::Error::other(error)))?;
            text.push_str(&escaped_json(&json));
            text.push('\n');
        }
        if text.is_empty() {
            // The last mark is gone, and the file was nothing but marks.
            if !content.annotations.is_empty() {
                remove(&self.path).map_err(|error| self.unwritable(error))?;
            }
        } else {
            write(&self.path, text.as_bytes()).map_err(|error| self.unwritable(error))?;
        }
        self.base.clone_from(&joined);
        let joined = (joined != *ours).then_some(joined);
        Ok(SavedAnnotations { path: self.path.clone(), joined })
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
            return Err(Refusal::Version(visible_line(schema).into_owned()));
        }
        return Err(Refusal::Damaged(format!("expected \"schema\": {ANNOTATION_SCHEMA:?}, found none")));
    }
    let answer: AnnotatedAnswer = serde_json::from_value(value).map_err(|error| {
        Refusal::Damaged(format!("a field does not fit ({})", visible_line(&error.to_string())))
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

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Where the name is a link, the file that it means is replaced and the link stays.
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = builder(&place).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(&place).map_err(|error| error.error)?;
    // The new name is safe when the folder is; where a folder cannot be synced, nothing more can be done.
    if let Ok(folder) = std::fs::File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Temporary files are private; this one keeps the permissions of the file it replaces, else it gets those of
/// every new file.
fn builder(place: &Path) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let permissions = std::fs::metadata(place).map(|file| file.permissions());
        builder.permissions(permissions.unwrap_or_else(|_| std::fs::Permissions::from_mode(0o666)));
    }
    #[cfg(not(unix))]
    let _ = place;
    builder
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
