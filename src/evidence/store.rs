//! Evidence on disk: one JSON line per example.

use std::io::{self, Write};

use super::record::{Evidence, SCHEMA};
use crate::text::{escaped_json, visible_line};

/// Why evidence could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The file cannot be opened or read.
    #[error("cannot read evidence from {path}: {source}; check the path, `ragscope score` writes such files")]
    Read {
        /// The file, made visible.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// A line is not an evidence record.
    #[error("line {line}: expected an evidence record of ragscope, {problem}")]
    Line {
        /// From 1.
        line: usize,
        /// What came instead.
        problem: String,
    },
    /// Written by another version of the layout.
    #[error(
        "line {line}: evidence of layout {found:?}, this ragscope reads {SCHEMA:?}; score the data again"
    )]
    Schema {
        /// From 1.
        line: usize,
        /// Its `schema` field.
        found: String,
    },
}

/// Whether the first non-blank line looks like evidence (rather than a data set).
#[must_use]
pub fn is_evidence(first_line: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(first_line)
        .ok()
        .and_then(|value| {
            value.get("schema")?.as_str().map(|schema| schema.starts_with("ragscope-evidence/"))
        })
        .unwrap_or(false)
}

/// Parses one line. `line` is its number from 1, for the message.
pub fn parse_line(text: &str, line: usize) -> Result<Evidence, EvidenceError> {
    let no_json = |error| EvidenceError::Line { line, problem: format!("but it is no JSON: {error}") };
    let unfit = |error: &serde_json::Error| EvidenceError::Line {
        line,
        problem: format!("but a field does not fit: {}", visible_line(&error.to_string())),
    };
    // What has no schema is told apart from a record with a field that does not fit; the rest is skipped
    // here, which costs little.
    let header: Header = match serde_json::from_str(text) {
        Ok(header) => header,
        Err(error) if error.is_data() && text.trim_start().starts_with('{') => return Err(unfit(&error)),
        Err(error) if error.is_data() => Header { schema: None },
        Err(error) => return Err(no_json(error)),
    };
    match header.schema.as_ref().and_then(serde_json::Value::as_str) {
        None => {
            return Err(EvidenceError::Line { line, problem: "but it has no \"schema\" field".to_owned() });
        }
        Some(schema) if schema != SCHEMA => {
            return Err(EvidenceError::Schema { line, found: visible_line(schema).into_owned() });
        }
        Some(_) => {}
    }
    let evidence: Evidence = serde_json::from_str(text).map_err(|error| unfit(&error))?;
    check(&evidence).map_err(|problem| EvidenceError::Line { line, problem })?;
    Ok(evidence)
}

/// The only field that is looked at before all others.
#[derive(serde::Deserialize)]
struct Header {
    #[serde(default)]
    schema: Option<serde_json::Value>,
}

/// Writes one record as one line. What acts on a terminal or, for some readers, ends a line (U+2028,
/// U+0085) is escaped.
pub fn write_line(evidence: &Evidence, out: &mut impl Write) -> io::Result<()> {
    let json = serde_json::to_string(evidence).map_err(io::Error::other)?;
    out.write_all(escaped_json(&json).as_bytes())?;
    out.write_all(b"\n")
}

/// The lengths that must agree, so that no later view has to doubt them.
fn check(evidence: &Evidence) -> Result<(), String> {
    let Some(reading) = &evidence.reading else { return Ok(()) };
    let tokens = reading.tokens.len();
    let answer = evidence.answer.as_deref().ok_or("it has a reading but no answer")?;
    let mut before = 0;
    for (index, [start, end]) in reading.tokens.iter().enumerate() {
        let fits = *start >= before && start <= end && *end <= answer.len();
        if !fits || !answer.is_char_boundary(*start) || !answer.is_char_boundary(*end) {
            return Err(format!(
                "but token {index} ({start}..{end}) does not fit its answer of {} bytes",
                answer.len()
            ));
        }
        before = *start;
    }
    let mut lengths = vec![
        ("log_prob_with", reading.log_prob_with.len()),
        ("log_prob_without", reading.log_prob_without.len()),
    ];
    lengths.extend(reading.detectors.iter().map(|detector| (detector.name.as_str(), detector.raw.len())));
    for (name, length) in lengths {
        if length != tokens {
            return Err(format!("but {} has {length} values for {tokens} tokens", visible_line(name)));
        }
    }
    if let Some(lookback) = &reading.lookback {
        let (heads, chunks) = (lookback.layers * lookback.heads, evidence.chunks.len());
        for (name, length, wanted) in [
            ("lookback.by_head", lookback.by_head.len(), heads * chunks),
            ("lookback.context_by_head", lookback.context_by_head.len(), heads),
            ("lookback.by_token", lookback.by_token.len(), tokens * chunks),
        ] {
            if length != wanted {
                return Err(format!("but {name} has {length} values where {wanted} are expected"));
            }
        }
    }
    for span in evidence.gold_spans.iter().flatten() {
        if span.start > span.end
            || span.end > answer.len()
            || !answer.is_char_boundary(span.start)
            || !answer.is_char_boundary(span.end)
        {
            return Err(format!(
                "but the labelled span {}..{} does not fit its answer",
                span.start, span.end
            ));
        }
    }
    Ok(())
}
