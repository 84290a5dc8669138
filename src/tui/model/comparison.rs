//! What stands beside the selected answer in the comparison.

use super::rows::Rows;
use crate::evidence::{Evidence, Findings, Thresholds, chosen_detector, decide};

/// Group that names what an answer answers from.
const SOURCE_GROUP: &str = "source";

/// Why an answer was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// The user marked it.
    Marked,
    /// It answers the same question.
    SameQuestion,
    /// It answers another question from the same source.
    SameSource,
}

impl Chosen {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Marked => "marked",
            Self::SameQuestion => "same question",
            Self::SameSource => "same source",
        }
    }
}

/// The answer beside the selected one.
#[derive(Debug, Clone, PartialEq)]
pub struct Partner {
    /// Index of its example.
    pub example: usize,
    pub chosen: Chosen,
    pub findings: Findings,
}

/// A second detector on the selected answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondOpinion {
    pub name: String,
    pub findings: Findings,
}

/// Everything that the comparison shows beside the selection.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    pub partner: Option<Partner>,
    pub second: Option<SecondOpinion>,
}

impl Comparison {
    /// For the selected example; a mark on another answer goes before all else.
    pub fn of(rows: &Rows, selected: usize, marked: Option<usize>, thresholds: &Thresholds) -> Self {
        let chosen = marked
            .filter(|marked| *marked != selected && rows.get(*marked).is_some())
            .map(|marked| (marked, Chosen::Marked))
            .or_else(|| other_answer(rows, selected));
        let partner = chosen.and_then(|(example, chosen)| {
            Some(Partner { example, chosen, findings: rows.findings(example, thresholds)? })
        });
        let second = rows
            .get(selected)
            .and_then(|row| row.evidence.as_deref())
            .and_then(|evidence| second_opinion(evidence, thresholds));
        Self { partner, second }
    }
}

/// The next answer, round the end, to the same question, else from the same source.
fn other_answer(rows: &Rows, selected: usize) -> Option<(usize, Chosen)> {
    let this = rows.get(selected)?;
    let source = |index: usize| -> Option<&str> {
        let groups = &rows.get(index)?.evidence.as_ref()?.groups;
        groups.get(SOURCE_GROUP).map(String::as_str)
    };
    let others = || (selected + 1..rows.len()).chain(0..selected);
    let answered = |index: usize| {
        let evidence = rows.get(index).and_then(|row| row.evidence.as_deref());
        evidence.is_some_and(|evidence| evidence.answer.is_some())
    };
    let same_question =
        |index: &usize| answered(*index) && rows.get(*index).is_some_and(|row| row.question == this.question);
    if let Some(index) = others().find(same_question) {
        return Some((index, Chosen::SameQuestion));
    }
    let here = source(selected)?;
    let index = others().find(|index| answered(*index) && source(*index) == Some(here))?;
    Some((index, Chosen::SameSource))
}

/// The detector after the chosen one in the record, at the same thresholds.
fn second_opinion(evidence: &Evidence, thresholds: &Thresholds) -> Option<SecondOpinion> {
    let reading = evidence.reading.as_ref()?;
    let first = chosen_detector(reading, thresholds)?;
    let at = reading.detectors.iter().position(|detector| detector.name == first.name)?;
    let second = &reading.detectors[(at + 1) % reading.detectors.len()];
    if second.name == first.name {
        return None;
    }
    let thresholds = Thresholds { detector: Some(second.name.clone()), ..thresholds.clone() };
    Some(SecondOpinion { name: second.name.clone(), findings: decide(evidence, &thresholds) })
}
