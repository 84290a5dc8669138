//! Sentences, with where they stand.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::words;

/// Byte ranges of the sentences of `text`, in order, disjoint, without surrounding white space; all
/// text that is not white space lies in one of them.
///
/// Boundaries of Unicode annex 29, except that none is seen after a title or an initial ("Dr. Ito",
/// "J. Smith") and at a single line feed inside a sentence (hard-wrapped text).
#[must_use]
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut joins_next = false;
    for (start, piece) in text.split_sentence_bound_indices() {
        let trimmed = piece.trim();
        if trimmed.is_empty() {
            // A blank line ends a sentence.
            joins_next = joins_next && !piece.contains('\n');
            continue;
        }
        let leading = piece.len() - piece.trim_start().len();
        let range = start + leading..start + leading + trimmed.len();
        match found.last_mut() {
            Some(last)
                if joins_next || continues(&text[last.clone()], &text[last.end..range.start], trimmed) =>
            {
                last.end = range.end;
            }
            _ => found.push(range),
        }
        joins_next = ends_in_abbreviation(trimmed);
    }
    found
}

/// Whether a line feed between two pieces only wraps a line: no closing mark before it, a small letter
/// after it.
fn continues(before: &str, gap: &str, after: &str) -> bool {
    gap.matches('\n').count() == 1
        && before.ends_with(|c: char| c.is_alphanumeric() || c == ',')
        && after.starts_with(char::is_lowercase)
}

/// Titles and references that are followed by a name or a number, not by a new sentence.
const ABBREVIATIONS: [&str; 20] = [
    "al", "approx", "art", "cf", "dr", "eq", "fig", "figs", "jr", "mr", "mrs", "ms", "no", "nos", "pp",
    "prof", "sec", "st", "vol", "vs",
];

fn ends_in_abbreviation(sentence: &str) -> bool {
    let Some(stem) = sentence.strip_suffix('.') else { return false };
    let start = stem
        .rfind(|c: char| !c.is_alphanumeric())
        .map_or(0, |at| at + stem[at..].chars().next().map_or(0, char::len_utf8));
    let last = &stem[start..];
    // A single capital letter is an initial. "No." alone is an answer.
    let is_initial = last.chars().count() == 1 && last.chars().all(char::is_uppercase);
    let alone = words(stem).len() == 1 && last.eq_ignore_ascii_case("no");
    !alone && (is_initial || ABBREVIATIONS.contains(&last.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn sentences_end_at_stops_questions_and_blank_lines() {
        assert_eq!(
            texts("Gate 4 closed. Is it?  Yes!\n\nA heading\n\nMore text"),
            ["Gate 4 closed.", "Is it?", "Yes!", "A heading", "More text"]
        );
        assert_eq!(texts("市長は辞任した。議会は驚いた。"), ["市長は辞任した。", "議会は驚いた。"]);
    }

    #[test]
    fn titles_initials_and_numbers_do_not_end_a_sentence() {
        assert_eq!(texts("Dr. Ito met J. Smith. They spoke."), ["Dr. Ito met J. Smith.", "They spoke."]);
        assert_eq!(texts("It cost 3.50 euros. See Fig. 2."), ["It cost 3.50 euros.", "See Fig. 2."]);
        assert_eq!(texts("No. It is closed."), ["No.", "It is closed."]);
    }

    #[test]
    fn a_wrapped_line_continues_its_sentence() {
        assert_eq!(
            texts("The valve must be\nclosed first. Then\nopen it."),
            ["The valve must be\nclosed first.", "Then\nopen it."]
        );
        assert_eq!(texts("One item\nTwo items"), ["One item", "Two items"]);
    }

    #[test]
    fn everything_but_white_space_is_inside_and_the_order_is_kept() {
        for text in ["", "  \n ", "a", " é🙂. \u{200b}B\r\nc ", "...", "Mr.", "A. B. C.", "no.\n\n  X"] {
            let found = sentences(text);
            assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start), "{text:?}");
            let inside: String = found.iter().map(|range| &text[range.clone()]).collect();
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(bare(&inside), bare(text));
        }
    }

    proptest::proptest! {
        #[test]
        fn sentences_are_in_order_and_lose_nothing_but_white_space(text in "(\\PC|Dr\\. |[.?!] |\n|市。){0,40}") {
            let mut end = 0;
            for range in sentences(&text) {
                proptest::prop_assert!(range.start >= end && text.get(range.clone()).is_some());
                proptest::prop_assert!(text[end..range.start].trim().is_empty());
                end = range.end;
            }
            proptest::prop_assert!(text[end..].trim().is_empty());
        }
    }
}
