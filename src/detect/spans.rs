//! From token scores to spans of text: display units and flagged spans.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// The smallest piece of an answer that can be coloured: one or several tokens that together cover
/// whole grapheme clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayUnit {
    /// Bytes in the answer, on grapheme boundaries, never empty.
    pub range: Range<usize>,
    /// Tokens that lie in it, contiguous.
    pub tokens: Range<usize>,
}

/// A flagged span of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenSpan {
    /// Bytes in the answer, without leading or trailing blanks.
    pub range: Range<usize>,
    /// Tokens it covers.
    pub tokens: Range<usize>,
    /// The highest score inside.
    pub score: f64,
}

/// Joins tokens that share a grapheme cluster into units, in order, without overlap.
///
/// `ranges`: byte range of each token in `answer`; ranges that leave the answer are cut, ranges off a
/// character boundary are widened. An empty token belongs to the unit before it (the first one: to
/// the unit behind it). The units together with the bytes between them are the answer, byte for byte.
#[must_use]
pub fn display_units(answer: &str, ranges: &[Range<usize>]) -> Vec<DisplayUnit> {
    let boundaries: Vec<usize> =
        answer.grapheme_indices(true).map(|(at, _)| at).chain([answer.len()]).collect();
    let mut units: Vec<DisplayUnit> = Vec::new();
    let mut first_token = 0;
    for (token, range) in ranges.iter().enumerate() {
        let end = range.end.min(answer.len());
        if range.start >= end {
            if let Some(unit) = units.last_mut() {
                unit.tokens.end = token + 1;
                first_token = token + 1;
            }
            continue;
        }
        // Boundaries hold 0 and the length, so both searches find one.
        let start = boundaries[boundaries.partition_point(|&b| b <= range.start).saturating_sub(1)];
        let end = boundaries[boundaries.partition_point(|&b| b < end).min(boundaries.len() - 1)];
        let mut unit = DisplayUnit { range: start..end, tokens: first_token..token + 1 };
        first_token = token + 1;
        while let Some(previous) = units.pop_if(|previous| previous.range.end > unit.range.start) {
            unit.range.start = unit.range.start.min(previous.range.start);
            unit.range.end = unit.range.end.max(previous.range.end);
            unit.tokens.start = previous.tokens.start;
        }
        units.push(unit);
    }
    units
}

/// Score of each unit: the max over its tokens. Scores that are missing or not a number never win;
/// a unit without any is 0.
#[must_use]
pub fn unit_scores(units: &[DisplayUnit], scores: &[f64]) -> Vec<f64> {
    units
        .iter()
        .map(|unit| {
            let last = unit.tokens.end.min(scores.len());
            let parts = scores.get(unit.tokens.start..last).unwrap_or_default();
            parts.iter().copied().fold(0.0, f64::max)
        })
        .collect()
}

/// Maximal runs of tokens with score >= `threshold`, in order, never overlapping.
///
/// Tokens that share a character count as one, with the highest score among them. Runs divided only
/// by white space or punctuation are joined; leading and trailing blanks are trimmed, and a run of
/// blanks alone is no span. `ranges` and `scores`: `[T]`.
#[must_use]
pub fn flagged_spans(
    answer: &str,
    ranges: &[Range<usize>],
    scores: &[f64],
    threshold: f64,
) -> Vec<TokenSpan> {
    let units = display_units(answer, ranges);
    let scores = unit_scores(&units, scores);
    spans_of_units(answer, &units, &scores, threshold)
}

/// [`flagged_spans`] for units that are already known; `scores`: one per unit.
#[must_use]
pub fn spans_of_units(answer: &str, units: &[DisplayUnit], scores: &[f64], threshold: f64) -> Vec<TokenSpan> {
    let mut spans: Vec<TokenSpan> = Vec::new();
    for (unit, &score) in units.iter().zip(scores) {
        let text = &answer[unit.range.clone()];
        if score < threshold || score.is_nan() || text.trim().is_empty() {
            continue;
        }
        let start = unit.range.end - text.trim_start().len();
        let end = unit.range.start + text.trim_end().len();
        match spans.last_mut() {
            Some(span) if answer[span.range.end..start].chars().all(bridges) => {
                span.range.end = end;
                span.tokens.end = unit.tokens.end;
                span.score = span.score.max(score);
            }
            _ => spans.push(TokenSpan { range: start..end, tokens: unit.tokens.clone(), score }),
        }
    }
    spans
}

/// White space and punctuation (not symbols such as currency signs, nor emoji).
fn bridges(c: char) -> bool {
    c.is_whitespace()
        || (c.is_ascii_punctuation() && !"$+<=>^`|~".contains(c))
        || matches!(c,
            '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}' | '\u{37e}' | '\u{387}'
            | '\u{55a}'..='\u{55f}' | '\u{589}' | '\u{58a}' | '\u{5be}' | '\u{5c0}' | '\u{5c3}' | '\u{5f3}' | '\u{5f4}'
            | '\u{60c}' | '\u{61b}' | '\u{61f}' | '\u{66a}'..='\u{66d}' | '\u{6d4}' | '\u{964}' | '\u{965}' | '\u{e4f}'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{2043}' | '\u{2045}'..='\u{2051}' | '\u{2053}'..='\u{205e}'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{3030}' | '\u{30fb}'
            | '\u{ff01}'..='\u{ff03}' | '\u{ff05}'..='\u{ff0a}' | '\u{ff0c}'..='\u{ff0f}' | '\u{ff1a}' | '\u{ff1b}'
            | '\u{ff1f}' | '\u{ff20}' | '\u{ff3b}'..='\u{ff3d}' | '\u{ff3f}' | '\u{ff5b}' | '\u{ff5d}' | '\u{ff5f}'..='\u{ff65}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Tokens of a byte-level tokenizer without merges: one a byte, widened to its character.
    fn bytes_as_tokens(answer: &str) -> Vec<Range<usize>> {
        answer.char_indices().flat_map(|(at, c)| vec![at..at + c.len_utf8(); c.len_utf8()]).collect()
    }

    fn words_as_tokens(answer: &str) -> Vec<Range<usize>> {
        let mut starts: Vec<usize> = answer.match_indices(' ').map(|(at, _)| at).collect();
        starts.insert(0, 0);
        let ends = starts[1..].iter().copied().chain([answer.len()]).collect::<Vec<_>>();
        starts.into_iter().zip(ends).map(|(a, b)| a..b).collect()
    }

    #[test]
    fn tokens_that_share_a_character_are_one_unit() {
        let ranges = bytes_as_tokens("é🙂 a");
        assert_eq!(ranges.len(), 8);
        let units = display_units("é🙂 a", &ranges);
        let found: Vec<_> = units.iter().map(|u| (u.range.clone(), u.tokens.clone())).collect();
        assert_eq!(found, [(0..2, 0..2), (2..6, 2..6), (6..7, 6..7), (7..8, 7..8)]);
    }

    #[test]
    fn a_hot_token_inside_an_emoji_colours_the_whole_emoji_and_nothing_else() {
        let answer = "Café Ω costs 12 € — naïve 🙂 guests pay 15 €.";
        let ranges = bytes_as_tokens(answer);
        let emoji = answer.find('🙂').unwrap();
        let mut scores = vec![0.1; ranges.len()];
        let third_byte = ranges.iter().position(|range| range.start == emoji).unwrap() + 2;
        scores[third_byte] = 0.9;
        let spans = flagged_spans(answer, &ranges, &scores, 0.5);
        assert_eq!(spans.len(), 1);
        assert_eq!(&answer[spans[0].range.clone()], "🙂");
        assert_eq!(spans[0].tokens.len(), 4);
        assert_eq!(spans[0].score, 0.9);
    }

    #[test]
    fn a_combining_mark_stays_with_its_letter() {
        let answer = "cafe\u{301}s";
        let ranges = [0..3, 3..4, 4..6, 6..7];
        let units = display_units(answer, &ranges);
        assert_eq!(units[1], DisplayUnit { range: 3..6, tokens: 1..3 });
        assert_eq!(flagged_spans(answer, &ranges, &[0.0, 0.0, 1.0, 0.0], 0.5)[0].range, 3..6);
    }

    #[test]
    fn spans_are_trimmed_and_gaps_of_punctuation_are_bridged() {
        let answer = "It costs 15 € , or more.  ";
        let ranges = [0..2, 2..8, 8..11, 11..15, 15..17, 17..20, 20..26, 26..28];
        let scores = [0.1, 0.1, 0.7, 0.9, 0.2, 0.8, 0.1, 0.9];
        let spans = flagged_spans(answer, &ranges, &scores, 0.5);
        assert_eq!(spans.len(), 1, "the blank at the end is no span");
        assert_eq!(&answer[spans[0].range.clone()], "15 € , or");
        assert_eq!(spans[0].tokens, 2..6);
        assert_eq!(spans[0].score, 0.9);
    }

    #[test]
    fn a_gap_with_a_word_or_a_currency_sign_is_not_bridged() {
        let answer = "one two three";
        let ranges = words_as_tokens(answer);
        assert_eq!(flagged_spans(answer, &ranges, &[0.9, 0.1, 0.9], 0.5).len(), 2);
        let answer = "one € three";
        let ranges = words_as_tokens(answer);
        assert_eq!(flagged_spans(answer, &ranges, &[0.9, 0.1, 0.9], 0.5).len(), 2);
    }

    #[test]
    fn a_token_at_the_threshold_is_flagged() {
        assert_eq!(flagged_spans("ab", &[0..1, 1..2], &[0.5, 0.499], 0.5)[0].range, 0..1);
        assert!(flagged_spans("ab", &[0..1, 1..2], &[0.5, 0.499], 0.51).is_empty());
    }

    #[test]
    fn an_empty_token_joins_its_neighbour() {
        let units = display_units("ab", &[0..0, 0..1, 1..1, 1..2]);
        assert_eq!(units[0], DisplayUnit { range: 0..1, tokens: 0..3 });
        assert_eq!(units[1], DisplayUnit { range: 1..2, tokens: 3..4 });
        assert!(display_units("", &[0..0, 5..9]).is_empty());
    }

    proptest! {
        #[test]
        fn units_and_the_bytes_between_them_are_the_answer(
            answer in "(\\PC|\r\n|\u{301}|🙂|👨‍👩‍👧| ){0,40}",
            cuts in proptest::collection::vec((0_usize..120, 0_usize..12), 0..40),
            sorted in any::<bool>(),
            scores in proptest::collection::vec(0.0..=1.0_f64, 40),
        ) {
            let mut ranges: Vec<Range<usize>> = cuts.iter().map(|&(start, length)| start..start + length).collect();
            if sorted {
                ranges.sort_by_key(|range| (range.start, range.end));
            }
            let units = display_units(&answer, &ranges);
            let mut rebuilt = String::new();
            let mut at = 0;
            let mut next_token = 0;
            for unit in &units {
                prop_assert!(!unit.range.is_empty() && unit.tokens.start == next_token && !unit.tokens.is_empty());
                next_token = unit.tokens.end;
                rebuilt.push_str(&answer[at..unit.range.start]);
                rebuilt.push_str(&answer[unit.range.clone()]);
                at = unit.range.end;
            }
            rebuilt.push_str(&answer[at..]);
            prop_assert_eq!(&rebuilt, &answer);
            let mut end = 0;
            for span in flagged_spans(&answer, &ranges, &scores, 0.5) {
                let text = &answer[span.range.clone()];
                prop_assert!(span.range.start >= end && !text.is_empty() && text.trim() == text);
                end = span.range.end;
            }
        }
    }
}
