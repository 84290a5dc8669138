//! Marks as labels: what a reader says is unsupported in an answer.

use std::ops::Range;

use sha2::{Digest, Sha256};

use super::marks::{AnnotatedAnswer, Annotations, MarkKind};
use crate::data::{Dataset, GoldSpan, Row};
use crate::text::hexadecimal;

/// Kind of the labels that marks add.
const KIND: &str = "annotated";

/// Unsupported spans of an answer: its labels (where it has none, the flags that the reader saw), without what
/// is marked as a false alarm, with what is marked as missed. In order, never overlapping.
#[must_use]
pub fn labels_of(marked: &AnnotatedAnswer, gold: Option<&[Range<usize>]>) -> Vec<Range<usize>> {
    let base: Vec<GoldSpan> = match gold {
        Some(gold) => gold.iter().map(|range| GoldSpan { range: range.clone(), kind: None }).collect(),
        None => shown(marked),
    };
    let mut ranges: Vec<Range<usize>> = corrected(marked, base).into_iter().map(|span| span.range).collect();
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

fn shown(marked: &AnnotatedAnswer) -> Vec<GoldSpan> {
    let detected = |[start, end]: &[usize; 2]| GoldSpan { range: *start..*end, kind: Some(KIND.to_owned()) };
    marked.shown.spans.iter().map(detected).collect()
}

/// Labels with the marks worked in; kinds stay with what is left of their spans.
fn corrected(marked: &AnnotatedAnswer, base: Vec<GoldSpan>) -> Vec<GoldSpan> {
    let mut spans = base;
    for mark in &marked.marks {
        match mark.kind {
            MarkKind::FalseAlarm => {
                spans = spans
                    .into_iter()
                    .flat_map(|span| {
                        let before = span.range.start..span.range.end.min(mark.start);
                        let after = span.range.start.max(mark.end)..span.range.end;
                        [before, after].map(|range| GoldSpan { range, kind: span.kind.clone() })
                    })
                    .filter(|span| span.range.start < span.range.end)
                    .collect();
            }
            MarkKind::Missed => spans.push(GoldSpan { range: mark.range(), kind: Some(KIND.to_owned()) }),
        }
    }
    spans.sort_by_key(|span| (span.range.start, span.range.end));
    spans
}

/// What became of annotations in a data set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MergedLabels {
    /// Answers whose labels are the reader's now.
    pub answers: usize,
    /// Of these, answers that had no labels before.
    pub newly_labelled: usize,
    /// Annotated answers whose record has another answer now; their marks are not used.
    pub other_answer: usize,
    /// Annotated answers whose record is not in the data.
    pub unknown: usize,
}

/// Works marks into the labels of a data set. Its hash changes with them, so that features and caches of the
/// unchanged labels are not taken for these.
pub fn merge_labels(annotations: &Annotations, dataset: &mut Dataset) -> MergedLabels {
    let mut merged = MergedLabels::default();
    let mut used: Vec<(String, String)> = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for row in &mut dataset.rows {
        let Row::Example(example) = row else { continue };
        let Some(answer) = &example.answer else { continue };
        if annotations.answers().any(|marked| marked.id == example.id) {
            known.push(example.id.clone());
        }
        let Some(marked) = annotations.of(&example.id, answer) else { continue };
        used.push((marked.id.clone(), marked.answer_hash.clone()));
        merged.answers += 1;
        merged.newly_labelled += usize::from(example.gold_spans.is_none());
        let base = example.gold_spans.take().unwrap_or_else(|| shown(marked));
        let mut spans = corrected(marked, base);
        // Only blanks are left of a span that was trimmed away.
        spans.retain(|span| answer.get(span.range.clone()).is_some_and(|text| !text.trim().is_empty()));
        example.gold_spans = Some(spans);
        example.gold_consistent = None;
    }
    for marked in annotations.answers() {
        if used.contains(&(marked.id.clone(), marked.answer_hash.clone())) {
            continue;
        }
        if known.contains(&marked.id) {
            merged.other_answer += 1;
        } else {
            merged.unknown += 1;
        }
    }
    if merged.answers > 0 {
        let mut digest = Sha256::new();
        digest.update(dataset.hash.as_bytes());
        for marked in annotations.answers() {
            digest.update(serde_json::to_string(marked).unwrap_or_default().as_bytes());
        }
        dataset.hash = hexadecimal(&digest.finalize()[..8]);
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::formats::own::parse_line;
    use crate::evidence::annotations::marks::tests::{evidence, shown};

    fn dataset(lines: &[&str]) -> Dataset {
        let rows =
            lines.iter().enumerate().map(|(row, line)| parse_line(line.as_bytes(), row, row + 1)).collect();
        Dataset { rows, hash: "before".to_owned(), ..Dataset::stream("d") }
    }

    fn labels(dataset: &Dataset, row: usize) -> Option<Vec<(usize, usize, Option<&str>)>> {
        let Row::Example(example) = &dataset.rows[row] else { panic!() };
        let spans = example.gold_spans.as_ref()?;
        Some(spans.iter().map(|span| (span.range.start, span.range.end, span.kind.as_deref())).collect())
    }

    fn annotations() -> Annotations {
        let mut annotations = Annotations::default();
        annotations.mark(&evidence(), 6..8, MarkKind::FalseAlarm, shown());
        annotations.mark(&evidence(), 27..29, MarkKind::Missed, shown());
        annotations
    }

    const LABELLED: &str = r#"{"id":"q1","question":"q?","answer":"w0 w1 w2 w3 w4 w5 w6 w7 w8 w9",
        "labels":[{"start":3,"end":11,"kind":"conflict"}],"offset_unit":"byte"}"#;
    const UNLABELLED: &str = r#"{"id":"q1","question":"q?","answer":"w0 w1 w2 w3 w4 w5 w6 w7 w8 w9"}"#;

    #[test]
    fn a_false_alarm_removes_a_label_or_a_flag_and_a_missed_span_becomes_one() {
        let mut data = dataset(&[
            &LABELLED.replace('\n', " "),
            UNLABELLED,
            r#"{"id":"q2","question":"r?","answer":"x"}"#,
        ]);
        let merged = merge_labels(&annotations(), &mut data);
        assert_eq!(merged, MergedLabels { answers: 2, newly_labelled: 1, other_answer: 0, unknown: 0 });
        let expected = vec![(3, 6, Some("conflict")), (8, 11, Some("conflict")), (27, 29, Some(KIND))];
        let words = |spans: Vec<(usize, usize, Option<&'static str>)>| Some(spans);
        assert_eq!(labels(&data, 0), words(expected));
        // Without labels, what the reader saw flagged and left alone is one.
        assert_eq!(
            labels(&data, 1),
            words(vec![(8, 11, Some(KIND)), (18, 20, Some(KIND)), (27, 29, Some(KIND))])
        );
        assert_eq!(labels(&data, 2), None);
        assert!(data.hash != "before" && data.hash.len() == 16);
    }

    #[test]
    fn marks_of_another_answer_and_of_nobody_are_counted_and_change_nothing() {
        let changed = UNLABELLED.replace("w9", "w10");
        let mut data = dataset(&[&changed]);
        let mut all = annotations();
        let mut nobody = evidence();
        nobody.id = "q7".to_owned();
        all.check(&nobody, true, shown());
        let before = data.clone();
        let merged = merge_labels(&all, &mut data);
        assert_eq!(merged, MergedLabels { answers: 0, newly_labelled: 0, other_answer: 1, unknown: 1 });
        assert_eq!(data, before);
    }
}
