//! An answer cut at the borders of its spans.

use std::ops::Range;

/// A run of the answer inside the same spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment<'a> {
    pub text: &'a str,
    /// Bytes in the answer.
    pub range: Range<usize>,
    /// Position of the flagged span it lies in, from 0.
    pub flagged: Option<usize>,
    /// Position of the labelled span it lies in, from 0; the one that starts last where they overlap.
    pub labelled: Option<usize>,
    /// The labelled span begins here.
    pub opens_label: bool,
}

/// The answer in order, cut wherever a span begins or ends. The texts of all segments, joined, are the
/// answer byte for byte. Spans that do not fit the answer are left out; their tables say so.
pub fn segments<'a>(
    answer: &'a str,
    flagged: &[Range<usize>],
    labelled: &[Range<usize>],
) -> Vec<Segment<'a>> {
    let fits = |span: &&Range<usize>| !span.is_empty() && answer.get((*span).clone()).is_some();
    let mut cuts: Vec<usize> = flagged
        .iter()
        .chain(labelled)
        .filter(fits)
        .flat_map(|span| [span.start, span.end])
        .chain([0, answer.len()])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut found: Vec<Segment<'a>> = Vec::new();
    for pair in cuts.windows(2) {
        let range = pair[0]..pair[1];
        let Some(text) = answer.get(range.clone()) else { continue };
        let inside = |span: &Range<usize>| fits(&span) && span.start <= range.start && range.end <= span.end;
        let innermost =
            labelled.iter().enumerate().filter(|(_, span)| inside(span)).max_by_key(|(_, span)| span.start);
        let flagged = flagged.iter().position(inside);
        let labelled = innermost.map(|(at, _)| at);
        let opens_label = innermost.is_some_and(|(_, span)| span.start == range.start);
        match found.last_mut() {
            // The border belongs to a span that another one hides.
            Some(last) if last.flagged == flagged && last.labelled == labelled && !opens_label => {
                last.range.end = range.end;
                last.text = &answer[last.range.clone()];
            }
            _ => found.push(Segment { text, range, flagged, labelled, opens_label }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(answer: &str, flagged: &[Range<usize>], labelled: &[Range<usize>]) -> Vec<String> {
        segments(answer, flagged, labelled)
            .iter()
            .map(|s| format!("{}|{:?}|{:?}|{}", s.text, s.flagged, s.labelled, s.opens_label))
            .collect()
    }

    #[test]
    fn overlapping_spans_of_both_kinds_cut_the_answer_without_losing_a_byte() {
        let answer = "Zażółć 市長 🙂 end";
        let found = segments(answer, &[0..11, 12..18], &[8..15, 12..15]);
        assert_eq!(found.iter().map(|s| s.text).collect::<String>(), answer);
        assert_eq!(
            shown("abcdef", std::slice::from_ref(&(1..4)), &[2..6, 3..4]),
            [
                "a|None|None|false",
                "b|Some(0)|None|false",
                "c|Some(0)|Some(0)|true",
                "d|Some(0)|Some(1)|true",
                "ef|None|Some(0)|false"
            ]
        );
    }

    #[test]
    fn a_border_that_another_label_hides_cuts_nothing() {
        assert_eq!(shown("abcd", &[], &[0..3, 1..4]), ["a|None|Some(0)|true", "bcd|None|Some(1)|true"]);
    }

    #[test]
    fn spans_that_do_not_fit_the_answer_are_left_out() {
        // Past the end, inside a character, empty, backwards.
        #[allow(clippy::reversed_empty_ranges)]
        let broken = [2..99, 1..2, 0..0, 5..3];
        assert_eq!(shown("é🙂", &broken, &broken), ["é🙂|None|None|false"]);
        assert!(segments("", &broken, &[]).is_empty());
    }
}
