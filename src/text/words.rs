//! Words of any script, with where they stand.

use std::ops::Range;

/// A lower-cased word and its bytes in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Lower case.
    pub text: String,
    /// Bytes in the text it came from.
    pub range: Range<usize>,
}

/// Runs of letters, digits and the marks that belong to them, lower-cased; a character of a script
/// written without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Burmese) is a word of its own.
///
/// On ASCII text these are the tokens of Google's `rouge_score` (`[a-z0-9]+` after lower-casing).
#[must_use]
pub fn words(text: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut open: Option<usize> = None;
    let close = |open: &mut Option<usize>, end: usize, found: &mut Vec<Word>| {
        if let Some(start) = open.take() {
            found.push(Word { text: text[start..end].to_lowercase(), range: start..end });
        }
    };
    for (at, c) in text.char_indices() {
        let mark = open.is_some() && is_mark(c);
        if mark {
            continue;
        }
        // What stands alone, and what follows it, begins a word of its own.
        if written_without_spaces(c) || !c.is_alphanumeric() || stands_alone(text, open) {
            close(&mut open, at, &mut found);
        }
        if c.is_alphanumeric() {
            open.get_or_insert(at);
        }
    }
    close(&mut open, text.len(), &mut found);
    found
}

/// Whether the word that is open began with a character that is a word of its own.
fn stands_alone(text: &str, open: Option<usize>) -> bool {
    open.and_then(|start| text[start..].chars().next()).is_some_and(written_without_spaces)
}

fn written_without_spaces(c: char) -> bool {
    c.is_alphanumeric()
        && matches!(c as u32,
            0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x31f0..=0x31ff
            | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0xff66..=0xff9f | 0x20000..=0x3ffff)
}

/// Combining marks of the scripts where Rust does not count them as alphanumeric.
fn is_mark(c: char) -> bool {
    matches!(c as u32,
        0x0300..=0x036f | 0x0483..=0x0489 | 0x0591..=0x05c7 | 0x0610..=0x061a | 0x064b..=0x065f | 0x0670
        | 0x06d6..=0x06ed | 0x0900..=0x0903 | 0x093a..=0x094f | 0x0951..=0x0957 | 0x0962..=0x0963
        | 0x0980..=0x0983 | 0x09bc..=0x09cd | 0x0a01..=0x0a03 | 0x0a3c..=0x0a51 | 0x0b3c..=0x0b57
        | 0x0bbe..=0x0bcd | 0x0c3e..=0x0c56 | 0x0cbc..=0x0cd6 | 0x0d3e..=0x0d4d | 0x0e31..=0x0e3a
        | 0x0e47..=0x0e4e | 0x0eb1..=0x0ebc | 0x0ec8..=0x0ecd | 0x102b..=0x103e | 0x17b4..=0x17d3
        | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0x3099..=0x309a | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn ascii_words_are_the_tokens_of_rouge_score() {
        assert_eq!(texts("Don't pay $3.50_now!"), ["don", "t", "pay", "3", "50", "now"]);
    }

    #[test]
    fn unspaced_scripts_give_one_word_a_character_and_marks_stay_with_their_letter() {
        assert_eq!(texts("市長は2月"), ["市", "長", "は", "2", "月"]);
        assert_eq!(texts("cafe\u{301} Zażółć"), ["cafe\u{301}", "zażółć"]);
        assert_eq!(texts("हिन्दी भाषा"), ["हिन्दी", "भाषा"]);
    }

    #[test]
    fn ranges_are_bytes_of_the_original_text() {
        let text = "Ünï—市a";
        for word in words(text) {
            assert_eq!(text[word.range.clone()].to_lowercase(), word.text);
        }
    }

    #[test]
    fn text_without_a_word_has_none() {
        assert!(texts("*** — 🙂\u{301}").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn words_and_what_is_between_them_rebuild_the_text(text in "(\\PC|\u{301}|市|ไ| |\n){0,60}") {
            let mut rebuilt = String::new();
            let mut end = 0;
            for word in words(&text) {
                proptest::prop_assert!(word.range.start >= end && !word.range.is_empty());
                let between = &text[end..word.range.start];
                proptest::prop_assert!(!between.chars().any(char::is_alphanumeric), "{between:?} was lost");
                rebuilt.push_str(between);
                proptest::prop_assert_eq!(text[word.range.clone()].to_lowercase(), word.text);
                rebuilt.push_str(&text[word.range.clone()]);
                end = word.range.end;
            }
            rebuilt.push_str(&text[end..]);
            proptest::prop_assert_eq!(rebuilt, text);
        }
    }
}
