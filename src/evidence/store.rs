//! Evidence on disk: one JSON line per example.

use std::io::{self, BufRead, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::record::{Evidence, SCHEMA};
use crate::text::{escaped_json, visible_line, visible_path};

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
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| EvidenceError::Line { line, problem: format!("but it is no JSON: {error}") })?;
    match value.get("schema").and_then(serde_json::Value::as_str) {
        None => {
            return Err(EvidenceError::Line { line, problem: "but it has no \"schema\" field".to_owned() });
        }
        Some(schema) if schema != SCHEMA => {
            return Err(EvidenceError::Schema { line, found: visible_line(schema).into_owned() });
        }
        Some(_) => {}
    }
    let evidence: Evidence = serde_json::from_value(value).map_err(|error| EvidenceError::Line {
        line,
        problem: format!("but a field does not fit: {}", visible_line(&error.to_string())),
    })?;
    check(&evidence).map_err(|problem| EvidenceError::Line { line, problem })?;
    Ok(evidence)
}

/// Reads a whole run. A torn last line (a run that was killed while writing) is left out and said.
pub fn read_run(path: &Path) -> Result<(Vec<Evidence>, Option<String>), EvidenceError> {
    let run = read_hashed_run(path)?;
    Ok((run.evidence, run.notice))
}

/// A run with the hash of its file.
#[derive(Debug)]
pub struct HashedRun {
    pub evidence: Vec<Evidence>,
    /// Says that a torn last line was left out.
    pub notice: Option<String>,
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub sha256: String,
}

/// [`read_run`], hashing the bytes that are read.
pub fn read_hashed_run(path: &Path) -> Result<HashedRun, EvidenceError> {
    let mut hash = Sha256::new();
    let (evidence, notice) = read_lines(path, &mut hash)?;
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(HashedRun { evidence, notice, sha256 })
}

fn read_lines(path: &Path, hash: &mut Sha256) -> Result<(Vec<Evidence>, Option<String>), EvidenceError> {
    let unreadable = |source| EvidenceError::Read { path: visible_path(path), source };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut reader = io::BufReader::new(file);
    let mut run = Vec::new();
    let mut line = 0;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).map_err(unreadable)? == 0 {
            return Ok((run, None));
        }
        hash.update(&bytes);
        line += 1;
        let complete = bytes.ends_with(b"\n");
        let text = String::from_utf8_lossy(&bytes);
        if text.trim().is_empty() {
            continue;
        }
        match parse_line(text.trim_end(), line) {
            Ok(evidence) => run.push(evidence),
            Err(EvidenceError::Line { .. }) if !complete && line > 1 => {
                return Ok((
                    run,
                    Some(format!("line {line} is cut off and was left out: the run did not end")),
                ));
            }
            Err(error) => return Err(error),
        }
    }
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
