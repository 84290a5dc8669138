//! Long text cut in view, never silently.

use std::borrow::Cow;

/// The beginning of a text, and a sentence about what is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt<'a> {
    pub text: &'a str,
    /// Says how much is shown and where the rest is; `None` when all of it is shown.
    pub note: Option<String>,
}

/// The first `limit` characters of `text`.
pub fn excerpt(text: &str, limit: usize) -> Excerpt<'_> {
    match text.char_indices().nth(limit) {
        None => Excerpt { text, note: None },
        Some((at, _)) => Excerpt {
            text: &text[..at],
            note: Some(format!(
                "Cut in this view: the first {limit} of {} characters are shown; the evidence file holds all \
                 of them.",
                text.chars().count()
            )),
        },
    }
}

/// One short line for tables: at most `limit` characters, then `… [+n characters]`.
pub fn short(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        None => Cow::Borrowed(text),
        Some((at, _)) => {
            let more = text[at..].chars().count();
            let unit = if more == 1 { "character" } else { "characters" };
            Cow::Owned(format!("{}… [+{more} {unit}]", text[..at].trim_end()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_always_told_and_never_splits_a_character() {
        let text = "市長は辞任した";
        let cut = excerpt(text, 3);
        assert_eq!(cut.text, "市長は");
        assert!(cut.note.is_some_and(|note| note.contains("first 3 of 7 characters")));
        assert_eq!(excerpt(text, 7), Excerpt { text, note: None });
        assert_eq!(short("abc def", 4), "abc… [+3 characters]");
        assert_eq!(short("abc", 3), "abc");
    }
}
