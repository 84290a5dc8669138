//! Control characters made visible, so that no text of a data set can talk to a terminal.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// What is shown instead of `c` when `c` would act on a terminal or hide the order of text.
///
/// One character for one character, so that positions counted in characters stay right. Line feeds
/// and tabs are replaced too: whoever lays out lines splits at line feeds first.
#[must_use]
pub fn visible_char(c: char) -> Option<char> {
    match c {
        // C0: the control pictures of Unicode, in the same order.
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + c as u32),
        '\u{7f}' => Some('\u{2421}'),
        // C1 (an 8-bit CSI is one of them); line and paragraph separators; bidirectional controls, which
        // reorder what stands around them; byte-order marks inside text; interlinear annotation.
        '\u{80}'..='\u{9f}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{61c}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' => Some('\u{fffd}'),
        _ => None,
    }
}

/// `text` with every acting character replaced, line feeds kept.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    replace(text, true)
}

/// `text` as one line: line feeds are shown as symbols as well. For error messages, ids, titles.
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    replace(text, false)
}

/// Characters of somebody else's text that a sentence quotes.
const QUOTED: usize = 300;

/// `text` as an error quotes it: one line, and not all of it where it is long.
#[must_use]
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", visible_line(&text[..end])),
        None => visible_line(text).into_owned(),
    }
}

/// JSON text with every acting character (C0, DEL, C1, U+2028, U+2029, bidirectional controls) written as
/// a `\u` escape; the strings in it stay what they are.
///
/// Outside strings JSON holds none of these characters but the line feeds of its layout, so an escape always lands inside a string.
#[must_use]
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    let acts = |c: char| c != '\n' && visible_char(c).is_some();
    if !json.chars().any(acts) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if acts(c) {
            // All of them lie in the basic plane: one escape of four digits is enough. Writing into a
            // string cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// A path as one line, for messages.
#[must_use]
pub fn visible_path(path: &Path) -> String {
    visible_line(&path.display().to_string()).into_owned()
}

fn replace(text: &str, keep_line_feeds: bool) -> Cow<'_, str> {
    let acts = |c: char| !(keep_line_feeds && c == '\n') && visible_char(c).is_some();
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if acts(c) { visible_char(c).unwrap_or(c) } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_is_one_line_of_bounded_length() {
        assert_eq!(quoted("a\u{1b}\nb"), "a␛␊b");
        let long = quoted(&"市".repeat(100_000));
        assert_eq!((long.chars().count(), long.ends_with("...")), (QUOTED + 3, true));
    }

    #[test]
    fn escape_sequences_become_symbols_one_for_one() {
        let hostile = "ok \u{1b}[2J \u{1b}]0;owned\u{7} \u{9b}31m end";
        let shown = visible(hostile);
        assert_eq!(shown, "ok ␛[2J ␛]0;owned␇ \u{fffd}31m end");
        assert_eq!(shown.chars().count(), hostile.chars().count());
    }

    #[test]
    fn json_keeps_its_strings_and_loses_what_acts() {
        let hostile = "a\u{7f}b\u{9b}31m\u{85}\u{2028}\u{202e}\u{1b}é🙂";
        let written = serde_json::to_string_pretty(&[hostile]).unwrap();
        let escaped = escaped_json(&written);
        assert!(escaped.chars().all(|c| c == '\n' || visible_char(c).is_none()), "{escaped}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&escaped).unwrap(), [hostile]);
        assert!(matches!(escaped_json("[\n\"é🙂\"]"), Cow::Borrowed(_)));
    }

    #[test]
    fn plain_text_is_borrowed_and_line_feeds_are_kept_where_lines_are_laid_out() {
        assert!(matches!(visible("Zażółć 市長\nx"), Cow::Borrowed(_)));
        assert_eq!(visible_line("a\nb"), "a␊b");
    }
}
