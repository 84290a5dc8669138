//! What can be wrong with a file as a whole. A single bad record is a [`super::BadRow`] instead.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use crate::text::visible_line;

/// Longest piece of somebody's text inside a message, in characters.
const SHOWN_CHARACTERS: usize = 60;

/// Why a data set could not be opened. Text of the data inside a message is visible and short.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The path leads nowhere.
    #[error(
        "{path}: no such file or directory; check the path (relative paths start at the current directory)"
    )]
    Missing { path: String },
    /// The operating system or the decompressor refused.
    #[error("{path}: cannot be read: {said}", said = visible_line(&source.to_string()))]
    Read { path: String, source: io::Error },
    /// Nothing but blanks.
    #[error("{path}: the file is empty; expected {expected}")]
    Empty { path: String, expected: String },
    /// A container that is known but not read.
    #[error("{path}: expected JSON, JSONL or CSV text, found {found}, which is not read yet; {next}")]
    NotReadYet { path: String, found: String, next: String },
    /// Not UTF-8.
    #[error("{path}: expected UTF-8 text, found {found}; {next}")]
    Encoding { path: String, found: String, next: String },
    /// No known layout.
    #[error("{path}: expected {expected}, found {found}; {next}")]
    UnknownLayout { path: String, expected: String, found: String, next: String },
    /// The layout was recognised or named, and the content does not keep to it.
    #[error(
        "{path}: read as {format} because {because}, but {problem}; another reading can be forced with --format ({})",
        super::Format::names()
    )]
    Layout { path: String, format: &'static str, because: String, problem: String },
    /// The other file of a layout of two files.
    #[error("{path}: expected {companion} beside it, found none; {next}")]
    Companion { path: String, companion: String, next: String },
    /// A field map that cannot be used.
    #[error("--map: {0}")]
    Map(String),
    /// A name that is none of a fixed list.
    #[error("unknown {what} `{found}`; expected one of {expected}")]
    UnknownName { what: &'static str, found: String, expected: String },
}

/// Somebody's text inside a message: one line, nothing that acts on a terminal, cut when long.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", visible_line(&text[..end])),
        None => visible_line(text).into_owned(),
    }
}

/// Each name once, in order of first occurrence.
pub(crate) fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    names.into_iter().filter(|name| seen.insert(*name)).collect()
}

/// Names of fields or columns inside a message, the first twenty of them.
pub(crate) fn shown_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    let mut list: Vec<String> = names.iter().take(MOST).map(|name| format!("`{}`", shown(name))).collect();
    if names.len() > MOST {
        list.push(format!("and {} more", names.len() - MOST));
    }
    list.join(", ")
}

/// A path inside a message: never cut, since it has to be found again.
pub(crate) fn shown_path(path: &Path) -> String {
    visible_line(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_data_reaches_a_message_short_and_without_control_characters() {
        assert_eq!(shown("a\u{1b}[2J\nb"), "a␛[2J␊b");
        let long = shown(&"é".repeat(1000));
        assert_eq!(long.chars().count(), SHOWN_CHARACTERS + 1);
        assert!(long.ends_with('…'));
        assert_eq!(distinct(["b", "a", "b"]), ["b", "a"]);
        assert_eq!(shown_names(["a", "\u{7}"]), "`a`, `␇`");
        assert!(shown_names((0..30).map(|_| "x")).ends_with("and 10 more"));
        assert_eq!(shown_path(Path::new("data/\u{1b}]0;owned\u{7}")), "data/␛]0;owned␇");
    }
}
