//! What a reader changed, skipped or decided, told once a file and counted.

use std::fmt;

/// One thing worth knowing about a file that stopped nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What happened, in plain words, safe to print.
    pub text: String,
    /// How often.
    pub count: usize,
    /// Row of the first occurrence, from 0, where it belongs to a row.
    pub first_row: Option<usize>,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match (self.count, self.first_row) {
            (0 | 1, None) => Ok(()),
            (0 | 1, Some(row)) => write!(f, " (row {row})"),
            (count, None) => write!(f, " ({count} times)"),
            (count, Some(row)) => write!(f, " ({count} times, first in row {row})"),
        }
    }
}

/// Notices of one file, in order of first occurrence; the same text is counted, not repeated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notices(Vec<Notice>);

impl Notices {
    /// Adds `count` occurrences in `row`; a count of 0 adds nothing.
    pub fn add(&mut self, text: &str, count: usize, row: Option<usize>) {
        if count == 0 {
            return;
        }
        match self.0.iter_mut().find(|notice| notice.text == text) {
            Some(notice) => notice.count += count,
            None => self.0.push(Notice { text: text.to_owned(), count, first_row: row }),
        }
    }

    /// Adds a notice about the file as a whole.
    pub fn tell(&mut self, text: impl AsRef<str>) {
        self.add(text.as_ref(), 1, None);
    }

    /// Adds what was gathered elsewhere.
    pub(crate) fn extend(&mut self, others: Self) {
        for Notice { text, count, first_row } in others.0 {
            self.add(&text, count, first_row);
        }
    }

    /// The notices so far.
    pub fn as_slice(&self) -> &[Notice] {
        &self.0
    }

    /// The notices, for good.
    #[must_use]
    pub fn into_vec(self) -> Vec<Notice> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_notice_is_counted_and_keeps_its_first_row() {
        let mut notices = Notices::default();
        notices.add("replaced", 2, Some(4));
        notices.add("replaced", 1, Some(9));
        notices.add("never", 0, Some(1));
        notices.tell("format");
        let shown: Vec<String> = notices.as_slice().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["replaced (3 times, first in row 4)", "format"]);
    }
}
