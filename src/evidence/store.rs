//! Evidence on disk: one JSON line per example.

use std::io::{self, BufRead, Read, Write};

use super::record::{Evidence, SCHEMA};
use crate::text::{escaped_json, quoted};

/// Longest line of evidence that is read: an answer of 20,000 tokens over 50 chunks takes some 20 MB.
pub const LONGEST_LINE: u64 = 512 << 20;

/// More layers, or heads of one, than any model has.
const MOST_HEADS: usize = 1 << 16;

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
    let wrong = |problem: String| EvidenceError::Line { line, problem };
    let unfit = |error: &serde_json::Error| {
        wrong(format!("but a field does not fit: {}", quoted(&error.to_string())))
    };
    // What has no schema is told apart from a record with a field that does not fit; the rest is skipped
    // here, which costs little.
    let header: Header = match serde_json::from_str(text) {
        Ok(header) => header,
        Err(error) if error.is_data() && text.trim_start().starts_with('{') => return Err(unfit(&error)),
        Err(error) if error.is_data() => Header { schema: None },
        Err(error) => return Err(wrong(format!("but it is no JSON: {error}"))),
    };
    match header.schema.as_ref().and_then(serde_json::Value::as_str) {
        None => return Err(wrong("but it has no \"schema\" field".to_owned())),
        Some(schema) if schema != SCHEMA => {
            return Err(EvidenceError::Schema { line, found: quoted(schema) });
        }
        Some(_) => {}
    }
    let evidence: Evidence = serde_json::from_str(text).map_err(|error| unfit(&error))?;
    check(&evidence).map_err(wrong)?;
    Ok(evidence)
}

/// The only field that is looked at before all others.
#[derive(serde::Deserialize)]
struct Header {
    #[serde(default)]
    schema: Option<serde_json::Value>,
}

/// Appends the next line with its end to `bytes`; the number of bytes, 0 at the end.
///
/// # Errors
/// What the system says, or a line of more than [`LONGEST_LINE`] bytes.
pub fn read_line(reader: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<usize> {
    line_within(LONGEST_LINE, reader, bytes)
}

fn line_within(most: u64, reader: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let read = reader.by_ref().take(most + 1).read_until(b'\n', bytes)?;
    if read as u64 > most {
        let problem = format!("expected lines of at most {most} bytes, found a longer one");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(read)
}

/// Writes one record as one line. What acts on a terminal or, for some readers, ends a line (U+2028,
/// U+0085) is escaped.
pub fn write_line(evidence: &Evidence, out: &mut impl Write) -> io::Result<()> {
    let json = serde_json::to_string(evidence).map_err(io::Error::other)?;
    out.write_all(escaped_json(&json).as_bytes())?;
    out.write_all(b"\n")
}

/// The lengths that must agree and the numbers that must be some, so that no later view has to doubt them.
fn check(evidence: &Evidence) -> Result<(), String> {
    for (index, chunk) in evidence.chunks.iter().enumerate() {
        if let Some(p) = chunk.p_value.filter(|p| p.count == 0 || p.count > p.out_of) {
            return Err(format!("but the p-value of chunk {index} is {} of {}", p.count, p.out_of));
        }
        if let Some([start, end]) = chunk.range.filter(|[start, end]| start > end) {
            return Err(format!("but the range of chunk {index} is {start}..{end}"));
        }
    }
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
    if let Some(factuality) = reading.factuality.filter(|value| !(0.0..=1.0).contains(value)) {
        return Err(format!("but factuality is {factuality}, expected a probability"));
    }
    // A number that f32 cannot hold reads as infinite.
    let mut numbers: Vec<(&str, &[f32])> =
        vec![("log_prob_with", &reading.log_prob_with), ("log_prob_without", &reading.log_prob_without)];
    numbers.extend(reading.detectors.iter().map(|one| (one.name.as_str(), one.raw.as_slice())));
    if let Some(lookback) = &reading.lookback {
        numbers.push(("lookback.by_head", &lookback.by_head));
        numbers.push(("lookback.context_by_head", &lookback.context_by_head));
        numbers.push(("lookback.by_token", &lookback.by_token));
    }
    for (name, values) in numbers {
        if let Some(place) = values.iter().position(|value| !value.is_finite()) {
            return Err(format!("but {} is not finite at position {place}", quoted(name)));
        }
    }
    let mut lengths = vec![
        ("log_prob_with", reading.log_prob_with.len()),
        ("log_prob_without", reading.log_prob_without.len()),
    ];
    lengths.extend(reading.detectors.iter().map(|detector| (detector.name.as_str(), detector.raw.len())));
    for (name, length) in lengths {
        if length != tokens {
            return Err(format!("but {} has {length} values for {tokens} tokens", quoted(name)));
        }
    }
    if let Some(lookback) = &reading.lookback {
        let (layers, heads) = (lookback.layers, lookback.heads);
        if layers.max(heads) > MOST_HEADS || (layers == 0) != (heads == 0) {
            return Err(format!("but lookback has {layers} layers of {heads} heads"));
        }
        let (heads, chunks) = (layers * heads, evidence.chunks.len());
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The first golden record that was read, changed at a place.
    fn changed(pointer: &str, value: Value) -> String {
        let run = include_str!("../../tests/golden/run.jsonl");
        let record = run.lines().find(|line| line.contains("\"lookback\"")).unwrap();
        let mut record: Value = serde_json::from_str(record).unwrap();
        *record.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
        record.to_string()
    }

    #[test]
    fn evidence_that_lies_about_its_numbers_is_refused_by_field() {
        assert!(parse_line(&changed("/row", json!(7)), 1).is_ok());
        for (pointer, value, said) in [
            ("/chunks/0/p_value", json!({"count": 0, "out_of": 5}), "p-value of chunk 0 is 0 of 5"),
            ("/chunks/0/p_value", json!({"count": 6, "out_of": 5}), "p-value of chunk 0 is 6 of 5"),
            ("/reading/log_prob_with/0", json!(-1e39), "log_prob_with is not finite at position 0"),
            ("/reading/detectors/0/raw/1", json!(1e300), "is not finite at position 1"),
            ("/reading/lookback/by_head/0", json!(1e39), "lookback.by_head is not finite"),
            ("/reading/lookback/layers", json!(1_u64 << 63), "lookback has 9223372036854775808 layers"),
            ("/reading/lookback/heads", json!(0), "layers of 0 heads"),
            ("/reading/factuality", json!(1.5), "factuality is 1.5"),
            ("/reading/tokens/0", json!([3, 1]), "token 0 (3..1)"),
            ("/answer", json!(null), "it has a reading but no answer"),
        ] {
            let error = parse_line(&changed(pointer, value), 4).unwrap_err().to_string();
            // Numbers beyond f32 already end the parsing.
            let said =
                error.contains(said) || (said.contains("finite") && error.contains("number out of range"));
            assert!(error.starts_with("line 4") && said, "{pointer}: {error}");
        }
        let schema = parse_line("{\"schema\": \"other\"}", 2).unwrap_err();
        assert!(matches!(schema, EvidenceError::Schema { line: 2, .. }));
        assert!(parse_line("{\"id\": 1}", 3).unwrap_err().to_string().contains("no \"schema\" field"));
        assert!(parse_line("{\"id\": ", 3).unwrap_err().to_string().contains("no JSON"));
    }

    #[test]
    fn a_line_beyond_the_limit_is_refused_before_it_is_read() {
        struct Endless;
        impl io::Read for Endless {
            fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                bytes.fill(b'x');
                Ok(bytes.len())
            }
        }
        let mut reader = io::BufReader::new(Endless);
        let error = line_within(1 << 20, &mut reader, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
