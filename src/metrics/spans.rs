//! Overlap of flagged and labelled spans, in characters, pooled over answers as in RAGTruth.

use std::ops::Range;

use serde::Serialize;

use super::Measure;

/// Characters flagged, labelled, and both, summed over answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SpanOverlap {
    pub predicted: usize,
    pub labelled: usize,
    pub both: usize,
}

impl SpanOverlap {
    /// Adds one answer. Spans are byte ranges of `text`; a character counts once however many spans
    /// of a kind cover its first byte, and spans beyond the text count nothing.
    pub fn add(&mut self, text: &str, predicted: &[Range<usize>], labelled: &[Range<usize>]) {
        let predicted = merged(predicted);
        let labelled = merged(labelled);
        let (mut at_predicted, mut at_labelled) = (0, 0);
        for (byte, _) in text.char_indices() {
            let flagged = covers(&predicted, &mut at_predicted, byte);
            let wanted = covers(&labelled, &mut at_labelled, byte);
            self.predicted += usize::from(flagged);
            self.labelled += usize::from(wanted);
            self.both += usize::from(flagged && wanted);
        }
    }

    /// Adds the counts of other answers.
    pub const fn merge(&mut self, other: Self) {
        self.predicted += other.predicted;
        self.labelled += other.labelled;
        self.both += other.both;
    }

    /// Share of the flagged characters that are labelled.
    #[must_use]
    pub fn precision(&self) -> Measure {
        Measure::ratio(self.both as f64, self.predicted as f64, "nothing flagged")
    }

    /// Share of the labelled characters that are flagged.
    #[must_use]
    pub fn recall(&self) -> Measure {
        Measure::ratio(self.both as f64, self.labelled as f64, "no labelled span")
    }

    /// Harmonic mean of precision and recall: 2 both / (predicted + labelled).
    #[must_use]
    pub fn f1(&self) -> Measure {
        Measure::ratio(
            2.0 * self.both as f64,
            (self.predicted + self.labelled) as f64,
            "nothing flagged and no labelled span",
        )
    }
}

/// Sorted, disjoint, without empty or reversed spans.
fn merged(spans: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut sorted: Vec<Range<usize>> = spans.iter().filter(|span| span.start < span.end).cloned().collect();
    sorted.sort_unstable_by_key(|span| span.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(sorted.len());
    for span in sorted {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// Whether `byte` lies in one of the sorted spans; `at` moves forward with rising bytes.
fn covers(spans: &[Range<usize>], at: &mut usize, byte: usize) -> bool {
    while spans.get(*at).is_some_and(|span| span.end <= byte) {
        *at += 1;
    }
    spans.get(*at).is_some_and(|span| span.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(text: &str, predicted: &[Range<usize>], labelled: &[Range<usize>]) -> SpanOverlap {
        let mut sum = SpanOverlap::default();
        sum.add(text, predicted, labelled);
        sum
    }

    #[test]
    fn overlap_is_counted_in_characters_and_pooled() {
        // "é" and "🙂" take two and four bytes.
        let mut sum = overlap("é🙂 abc", &[0..6, 7..8], &[2..8]);
        assert_eq!(sum, SpanOverlap { predicted: 3, labelled: 3, both: 2 });
        sum.merge(overlap("abcd", &[], &std::iter::once(0..1).collect::<Vec<_>>()));
        assert_eq!(sum.precision(), Measure::Value(2.0 / 3.0));
        assert_eq!(sum.recall(), Measure::Value(0.5));
        assert_eq!(sum.f1(), Measure::Value(4.0 / 7.0));
    }

    #[test]
    fn overlapping_spans_of_one_kind_count_once_and_broken_ones_not_at_all() {
        let backwards = Range { start: 5, end: 2 };
        assert_eq!(
            overlap("abcdef", &[0..3, 1..4, backwards, 5..99], &[4..4, 2..3]),
            SpanOverlap { predicted: 5, labelled: 1, both: 1 }
        );
    }

    #[test]
    fn measures_without_a_denominator_say_so() {
        let nothing = overlap("abc", &[], &[]);
        assert_eq!(nothing.precision().to_string(), "n/a (nothing flagged)");
        assert_eq!(nothing.recall().to_string(), "n/a (no labelled span)");
        assert!(nothing.f1().value().is_none());
    }
}
