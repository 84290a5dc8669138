//! Byte ranges of tokens made into display units.

use std::ops::Range;

/// Ranges as a tokenizer gave them, made to lie on character boundaries, to share one range where they
/// share a character, and to leave no byte of `text` out.
///
/// Bytes that no token covers (spaces that a pre-tokenizer drops) go to the token behind them, as with
/// byte-level tokenizers, the last ones to the last token.
pub(super) fn display_units(text: &str, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    // For each token, which unit it belongs to.
    let mut unit_of = Vec::with_capacity(ranges.len());
    for range in ranges {
        let start = floor(text, range.start);
        let end = ceiling(text, range.end).max(start);
        match units.last_mut() {
            // An empty range behind the open unit shares nothing with it.
            Some(open) if start < open.end && (end > start || start > open.start) => {
                open.end = open.end.max(end);
                open.start = open.start.min(start);
            }
            _ => units.push(start..end),
        }
        unit_of.push(units.len() - 1);
    }
    let mut covered = 0;
    for unit in &mut units {
        // A unit that began before its forerunner ended begins there: ranges never go back.
        unit.start = covered;
        unit.end = unit.end.max(covered);
        covered = unit.end;
    }
    if let Some(last) = units.last_mut() {
        last.end = text.len();
    }
    unit_of.into_iter().map(|unit| units[unit].clone()).collect()
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceiling(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_that_share_a_character_share_a_range() {
        let text = "é🙂 a";
        let bytes: Vec<_> = (0..text.len()).map(|at| at..at + 1).collect();
        assert_eq!(display_units(text, &bytes), [0..2, 0..2, 2..6, 2..6, 2..6, 2..6, 6..7, 7..8]);
        // A token with the end of one character and the whole of the next ties both together.
        assert_eq!(display_units("市長は", &[0..2, 2..6, 6..9]), [0..6, 0..6, 6..9]);
    }

    #[test]
    fn bytes_that_no_token_covers_go_to_the_token_behind_them() {
        assert_eq!(display_units("ab  cd ", &[0..2, 4..6]), [0..2, 2..7]);
        assert_eq!(display_units(" a b", &[1..2, 3..4]), [0..2, 2..4]);
    }

    #[test]
    fn a_token_that_stands_for_nothing_has_an_empty_range() {
        assert_eq!(display_units("ab", &[0..0, 0..2]), [0..0, 0..2]);
        assert_eq!(display_units("", &[]), Vec::<Range<usize>>::new());
    }

    proptest! {
        #[test]
        fn distinct_ranges_joined_are_the_text(text in "\\PC{0,12}", pairs in prop::collection::vec((0usize..40, 0usize..9), 1..12)) {
            let ranges: Vec<_> = pairs.iter().map(|(start, length)| *start..start + length).collect();
            let mut units = display_units(&text, &ranges);
            prop_assert_eq!(units.len(), ranges.len());
            units.dedup();
            let joined: String = units.iter().map(|unit| &text[unit.clone()]).collect();
            prop_assert_eq!(joined, text);
        }
    }
}
