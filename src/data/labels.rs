//! Labelled spans on their way from the unit of the file to bytes.
//!
//! A span that carries its text proves its unit: the unit under which the most spans of a file show
//! their own text is taken, and a span that does not show it makes its row bad instead of marking
//! the wrong words. A span without text is believed only while nothing in the file contradicts.

use super::dataset::{BadRow, Row};
use super::error::shown;
use super::example::{Example, GoldSpan};
use super::notice::Notices;
use super::units::OffsetUnit;

/// A labelled span as the file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The text it is said to cover.
    pub(crate) text: Option<String>,
    pub(crate) kind: Option<String>,
}

/// An example whose labels are not converted yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    /// With `gold_spans` still empty.
    pub(crate) example: Example,
    pub(crate) line: Option<usize>,
    /// `None`: nobody labelled it.
    pub(crate) labels: Option<Vec<Label>>,
    /// The unit that the record itself states.
    pub(crate) unit: Option<OffsetUnit>,
}

/// A record on its way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DraftRow {
    Draft(Box<Draft>),
    Bad(BadRow),
}

/// How many spans with text show it under each unit of [`OffsetUnit::ALL`].
#[derive(Debug, Clone, Copy, Default)]
struct Fit {
    fitting: [usize; 3],
    checked: usize,
}

impl Fit {
    fn count(&mut self, answer: &str, label: &Label) {
        let Some(text) = &label.text else { return };
        self.checked += 1;
        for (fitting, unit) in self.fitting.iter_mut().zip(OffsetUnit::ALL) {
            *fitting += usize::from(shows(unit, answer, label, text));
        }
    }

    /// The unit of most fitting spans, the likeliest of equals, with its count.
    fn best(&self) -> (OffsetUnit, usize) {
        let mut best = (OffsetUnit::CodePoint, self.fitting[0]);
        for (unit, fitting) in OffsetUnit::ALL.into_iter().zip(self.fitting) {
            if fitting > best.1 {
                best = (unit, fitting);
            }
        }
        best
    }
}

fn shows(unit: OffsetUnit, answer: &str, label: &Label, text: &str) -> bool {
    unit.to_bytes(answer, label.start, label.end).is_ok_and(|bytes| &answer[bytes] == text)
}

/// What the labels of a file prove of their unit, gathered row by row.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LabelSurvey {
    fit: Fit,
    unchecked: usize,
}

impl LabelSurvey {
    /// Looks at the labels of one row. `stated` is the user's word on the unit.
    pub(crate) fn look(&mut self, row: &DraftRow, stated: Option<OffsetUnit>) {
        let DraftRow::Draft(draft) = row else { return };
        if draft.unit.or(stated).is_some() {
            return;
        }
        let answer = draft.example.answer.as_deref().unwrap_or_default();
        for label in draft.labels.iter().flatten() {
            self.fit.count(answer, label);
            self.unchecked += usize::from(label.text.is_none() && !answer.is_ascii());
        }
    }

    /// How the labels of all rows that were looked at are read.
    pub(crate) fn reading(&self, stated: Option<OffsetUnit>, notices: &mut Notices) -> LabelReading {
        let fit = &self.fit;
        let (unit, fitting) = fit.best();
        if unit != OffsetUnit::CodePoint || fitting < fit.checked {
            notices.tell(format!(
                "label offsets are read as {unit}s: {fitting} of {} spans show their text so ({})",
                fit.checked,
                OffsetUnit::ALL
                    .into_iter()
                    .zip(fit.fitting)
                    .map(|(unit, fitting)| format!("{} {fitting}", unit.name()))
                    .collect::<Vec<_>>()
                    .join(", ")
            ));
        }
        if fit.checked == 0 && self.unchecked > 0 {
            notices.add(
                "a label on a text that is not ASCII has no text of its own to check; its offsets are taken as code \
                 points (state another unit with `offset_unit` or --offset-unit)",
                self.unchecked,
                None,
            );
        }
        LabelReading { unit, proven: fitting == fit.checked, stated }
    }
}

/// How the labels of one file are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelReading {
    unit: OffsetUnit,
    proven: bool,
    stated: Option<OffsetUnit>,
}

impl LabelReading {
    /// The row with its labels in bytes.
    pub(crate) fn row(self, row: DraftRow) -> Row {
        match row {
            DraftRow::Bad(bad) => Row::Bad(bad),
            DraftRow::Draft(draft) => {
                let own = self.stated.or(draft.unit);
                convert(*draft, own.unwrap_or(self.unit), own.is_some() || self.proven)
            }
        }
    }
}

/// Converts the labels of the rows of one file to bytes. `stated` is the user's word on the unit and
/// overrules the records'.
pub(crate) fn resolve(rows: Vec<DraftRow>, stated: Option<OffsetUnit>, notices: &mut Notices) -> Vec<Row> {
    let mut survey = LabelSurvey::default();
    for row in &rows {
        survey.look(row, stated);
    }
    let reading = survey.reading(stated, notices);
    rows.into_iter().map(|row| reading.row(row)).collect()
}

fn convert(draft: Draft, unit: OffsetUnit, believed: bool) -> Row {
    let Draft { mut example, line, labels, .. } = draft;
    let Some(labels) = labels else { return Row::Example(example) };
    let answer = example.answer.as_deref().unwrap_or_default();
    let spans: Result<Vec<GoldSpan>, String> = labels
        .iter()
        .enumerate()
        .map(|(number, label)| {
            convert_label(answer, label, unit, believed)
                .map(|range| GoldSpan { range, kind: label.kind.clone() })
                .map_err(|reason| format!("label {number} ({}..{}): {reason}", label.start, label.end))
        })
        .collect();
    match spans {
        Ok(spans) => {
            // Without an answer there is nothing that could be clean.
            example.gold_spans = example.answer.is_some().then_some(spans);
            Row::Example(example)
        }
        Err(reason) => Row::Bad(BadRow { row: example.row, id: Some(example.id), line, reason }),
    }
}

fn convert_label(
    answer: &str,
    label: &Label,
    unit: OffsetUnit,
    believed: bool,
) -> Result<std::ops::Range<usize>, String> {
    let hint = || {
        let other = label.text.as_ref().and_then(|text| {
            OffsetUnit::ALL.into_iter().find(|other| *other != unit && shows(*other, answer, label, text))
        });
        other.map_or(String::new(), |other| {
            format!("; it would fit as {other}s, --offset-unit {}", other.name())
        })
    };
    let bytes = unit
        .to_bytes(answer, label.start, label.end)
        .map_err(|error| format!("expected a span inside the answer, but it {error}{}", hint()))?;
    if bytes.is_empty() {
        return Err("expected a span, found an empty one".to_owned());
    }
    match &label.text {
        Some(text) if answer[bytes.clone()] != **text => Err(format!(
            "expected the text `{}`, found `{}` there in {unit}s{}",
            shown(text),
            shown(&answer[bytes]),
            hint()
        )),
        None if !believed => Err(format!(
            "it has no text to check, and other spans of this file do not fit {unit}s; state the unit with --offset-unit"
        )),
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const ANSWER: &str = "Café Ω costs 12 € — naïve 🙂 guests pay 15 €.";

    fn draft(row: usize, spans: &[(usize, usize, Option<&str>)]) -> DraftRow {
        let example = Example {
            id: format!("a{row}"),
            row,
            question: "q?".to_owned(),
            passages: Vec::new(),
            answer: Some(ANSWER.to_owned()),
            references: Vec::new(),
            source_documents: Vec::new(),
            gold_spans: None,
            gold_consistent: None,
            groups: BTreeMap::new(),
        };
        let label = |(start, end, text): &(usize, usize, Option<&str>)| Label {
            start: *start,
            end: *end,
            text: text.map(str::to_owned),
            kind: None,
        };
        let labels = Some(spans.iter().map(label).collect());
        DraftRow::Draft(Box::new(Draft { example, line: Some(row + 1), labels, unit: None }))
    }

    fn range(row: &Row) -> std::ops::Range<usize> {
        match row {
            Row::Example(example) => example.gold_spans.as_ref().unwrap()[0].range.clone(),
            Row::Bad(bad) => panic!("{}", bad.reason),
        }
    }

    fn reason(row: &Row) -> &str {
        match row {
            Row::Bad(bad) => &bad.reason,
            Row::Example(example) => panic!("{example:?}"),
        }
    }

    #[test]
    fn the_unit_is_found_by_the_text_of_the_spans_and_told() {
        for (start, end, unit) in [(49, 55, "UTF-8 byte"), (40, 44, "UTF-16 unit")] {
            let mut notices = Notices::default();
            let rows = resolve(vec![draft(0, &[(start, end, Some("15 €"))])], None, &mut notices);
            assert_eq!(range(&rows[0]), 49..55);
            let told = notices.as_slice()[0].to_string();
            assert!(told.contains(&format!("read as {unit}s: 1 of 1 spans")), "{told}");
        }
        let mut notices = Notices::default();
        let rows = resolve(vec![draft(0, &[(39, 43, Some("15 €"))])], None, &mut notices);
        assert_eq!(range(&rows[0]), 49..55);
        assert!(notices.as_slice().is_empty());
    }

    #[test]
    fn a_span_that_shows_other_words_makes_its_row_bad_and_names_both() {
        let rows = [
            draft(0, &[(39, 43, Some("15 €"))]),
            draft(1, &[(0, 4, Some("Cafe"))]),
            draft(2, &[(0, 4, None)]),
        ];
        let mut notices = Notices::default();
        let rows = resolve(rows.to_vec(), None, &mut notices);
        assert_eq!(range(&rows[0]), 49..55);
        assert_eq!(
            reason(&rows[1]),
            "label 0 (0..4): expected the text `Cafe`, found `Café` there in code points"
        );
        assert!(reason(&rows[2]).contains("no text to check"));
        assert!(notices.as_slice()[0].text.contains("1 of 2 spans"));
    }

    #[test]
    fn a_stated_unit_is_not_doubted_but_checked() {
        let byte_span = [(49, 55, Some("15 €"))];
        let rows = resolve(vec![draft(0, &byte_span)], Some(OffsetUnit::CodePoint), &mut Notices::default());
        let reason = reason(&rows[0]);
        assert!(reason.contains("reaches 55, but the text has 44 code points"), "{reason}");
        assert!(reason.contains("--offset-unit byte"), "{reason}");
        let rows =
            resolve(vec![draft(0, &[(49, 55, None)])], Some(OffsetUnit::Byte), &mut Notices::default());
        assert_eq!(range(&rows[0]), 49..55);
    }

    #[test]
    fn spans_without_any_text_are_taken_as_code_points_and_told() {
        let mut notices = Notices::default();
        let rows = resolve(vec![draft(0, &[(39, 43, None)])], None, &mut notices);
        assert_eq!(range(&rows[0]), 49..55);
        assert!(notices.as_slice()[0].text.contains("taken as code points"));
    }

    #[test]
    fn empty_and_reversed_spans_are_refused() {
        let rows = resolve(
            vec![draft(0, &[(3, 3, None)]), draft(1, &[(4, 3, None)])],
            None,
            &mut Notices::default(),
        );
        assert!(reason(&rows[0]).contains("empty"));
        assert!(reason(&rows[1]).contains("behind its end"));
    }
}
