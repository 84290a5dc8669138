//! Token labels from labelled spans of text.

use std::ops::Range;

/// A token is positive iff its non-blank characters overlap a labelled span.
///
/// `ranges`: byte range of each token in `answer`, `[T]`; `spans`: labelled byte ranges, in any order.
/// Parts outside the answer count for nothing. Returns `[T]`.
#[must_use]
pub fn token_labels(answer: &str, ranges: &[Range<usize>], spans: &[Range<usize>]) -> Vec<bool> {
    ranges
        .iter()
        .map(|token| {
            // A range off a character boundary means the whole character.
            let mut start = token.start.min(answer.len());
            while !answer.is_char_boundary(start) {
                start -= 1;
            }
            let characters = answer[start..].char_indices().map(|(at, c)| (start + at, c));
            characters.take_while(|&(from, _)| from < token.end).any(|(from, c)| {
                let to = from + c.len_utf8();
                !c.is_whitespace() && spans.iter().any(|span| span.start < to && from < span.end)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    // A list of labelled spans may well hold one span.
    #![allow(clippy::single_range_in_vec_init)]

    use super::*;

    #[test]
    fn a_token_is_positive_when_a_non_blank_character_of_it_is_labelled() {
        let answer = "pay 15 €.";
        let ranges = [0..3, 3..6, 6..10, 10..11];
        let span = 4..10;
        assert_eq!(&answer[span.clone()], "15 €");
        assert_eq!(token_labels(answer, &ranges, &[span]), [false, true, true, false]);
    }

    #[test]
    fn overlapping_only_in_blanks_is_no_overlap() {
        assert_eq!(token_labels("a b c", &[0..1, 1..3, 3..5], &[1..2, 3..4]), [false, false, false]);
    }

    #[test]
    fn every_token_of_a_shared_character_gets_its_label() {
        assert_eq!(token_labels("🙂a", &[0..4, 0..4, 1..2, 4..5], &[0..4]), [true, true, true, false]);
    }

    #[test]
    fn spans_and_tokens_outside_the_answer_are_harmless() {
        assert_eq!(token_labels("ab", &[0..1, 1..9, 7..9, 1..1], &[1..50]), [false, true, false, false]);
        assert_eq!(token_labels("", &[0..0], &[0..1]), [false]);
    }
}
