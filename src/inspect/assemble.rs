//! From an example, its chunks and its reading to one evidence record.

use crate::data::Example;
use crate::detect::{LookbackSummary, lookback_summary};
use crate::evidence::{
    ChunkEvidence, DetectorScores, Evidence, LabelledSpan, Lookback, Provenance, Reading, SCHEMA, Status,
};
use crate::reading::{ReadAnswer, ReadingError};

use super::detectors::Detectors;

/// The record before the answer is read: chunks and whatever the data set said.
pub(super) fn without_reading(
    example: &Example,
    chunks: Vec<ChunkEvidence>,
    notices: Vec<String>,
    provenance: &Provenance,
) -> Evidence {
    Evidence {
        schema: SCHEMA.to_owned(),
        id: example.id.clone(),
        row: example.row,
        status: Status::Partial,
        reason: None,
        notices,
        question: example.question.clone(),
        answer: example.answer.clone(),
        references: example.references.clone(),
        groups: example.groups.clone(),
        chunks,
        reading: None,
        gold_spans: example.gold_spans.as_ref().map(|spans| {
            spans
                .iter()
                .map(|span| LabelledSpan {
                    start: span.range.start,
                    end: span.range.end,
                    kind: span.kind.clone(),
                })
                .collect()
        }),
        provenance: provenance.clone(),
    }
}

/// A record for a row that could not become an example: nothing is lost, and the reason is said.
pub(super) fn bad_row(row: usize, id: Option<&str>, reason: &str, provenance: &Provenance) -> Evidence {
    Evidence {
        schema: SCHEMA.to_owned(),
        id: id.map_or_else(|| format!("row-{row}"), ToOwned::to_owned),
        row,
        status: Status::Error,
        reason: Some(reason.to_owned()),
        notices: Vec::new(),
        question: String::new(),
        answer: None,
        references: Vec::new(),
        groups: std::collections::BTreeMap::default(),
        chunks: Vec::new(),
        reading: None,
        gold_spans: None,
        provenance: provenance.clone(),
    }
}

/// Adds what the reading gave. A value that is not finite is an error of the row, never a number.
pub(super) fn add_reading(
    evidence: &mut Evidence,
    read: Result<ReadAnswer, ReadingError>,
    detectors: &Detectors,
) {
    let read = match read {
        Ok(read) => read,
        Err(error) => {
            // Numbers that broke say nothing about the record; a record that cannot be read keeps its chunks.
            evidence.status = if error.is_not_finite() { Status::Error } else { Status::Partial };
            evidence.reason = Some(error.to_string());
            return;
        }
    };
    for (chunk, tokens) in evidence.chunks.iter_mut().zip(&read.passage_tokens) {
        chunk.tokens_read = Some(*tokens);
    }
    evidence.notices.extend(read.notices.iter().cloned());
    match reading_of(&read, detectors) {
        Ok(reading) => {
            evidence.reading = Some(reading);
            evidence.status = Status::Ok;
            evidence.reason = None;
        }
        Err(reason) => {
            evidence.status = Status::Error;
            evidence.reason = Some(reason);
        }
    }
}

fn reading_of(read: &ReadAnswer, detectors: &Detectors) -> Result<Reading, String> {
    let trace = &read.trace;
    let mut scores = Vec::new();
    for detector in &detectors.token {
        let raw = detector.score(trace).map_err(|error| format!("detector {}: {error}", detector.name()))?;
        finite(&raw, detector.name())?;
        scores.push(DetectorScores { name: detector.name().to_owned(), raw: rounded(raw) });
    }
    finite(&trace.log_prob_with, "the log probability with references")?;
    finite(&trace.log_prob_without, "the log probability without references")?;
    let LookbackSummary { by_head, context_by_head, by_token } =
        lookback_summary(trace).map_err(|error| error.to_string())?;
    for (values, what) in
        [(&by_head, "look-back by head"), (&context_by_head, "look-back"), (&by_token, "attention by token")]
    {
        finite(values, what)?;
    }
    let (factuality, factuality_absent) = match &detectors.answer {
        None => (None, Some("no answer head is loaded for this model".to_owned())),
        Some(head) => match head.probability(trace) {
            Ok(probability) if probability.is_finite() => (Some(probability), None),
            Ok(_) => (None, Some("the answer head gave a value that is not finite".to_owned())),
            Err(error) => (None, Some(error.to_string())),
        },
    };
    Ok(Reading {
        tokens: trace.token_ranges.iter().map(|range| [range.start, range.end]).collect(),
        log_prob_with: rounded(trace.log_prob_with.clone()),
        log_prob_without: rounded(trace.log_prob_without.clone()),
        detectors: scores,
        lookback: Some(Lookback {
            layers: trace.layers,
            heads: trace.heads,
            by_head: rounded(by_head),
            context_by_head: rounded(context_by_head),
            by_token: rounded(by_token),
        }),
        factuality,
        factuality_absent,
    })
}

fn finite(values: &[f32], what: &str) -> Result<(), String> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => {
            Err(format!("{what} is not finite at position {index}; the model's numbers overflowed"))
        }
    }
}

/// Six decimals: more is noise, and a third of the file.
fn rounded(mut values: Vec<f32>) -> Vec<f32> {
    for value in &mut values {
        let short = (*value * 1e6).round() / 1e6;
        // Huge values have no decimals to cut, and their product is no number.
        if short.is_finite() {
            *value = short;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_finite_values_finite() {
        let values = vec![0.123_456_78, -f32::MAX, f32::MAX, 1e33, -0.0];
        assert_eq!(rounded(values), [0.123_457, -f32::MAX, f32::MAX, 1e33, 0.0]);
    }
}
