//! What the template shows of one example.

use serde::Serialize;

use crate::evidence::{Evidence, Reading, Status};
use crate::text::{visible, visible_line};

use super::super::excerpt::{excerpt, short};
use super::super::number::{ABSENT, p_value, three, three_or_absent};
use super::super::record::{ChunkReport, ExampleReport, Report, SpanReport};
use super::super::sentence;
use super::answer::answer;
use super::heat::{LookbackView, lookback};
use super::strip::{p_value_bar, token_strip};

/// Above this number of examples the tables of single tokens are left out, and the page says so.
pub const DETAILED_EXAMPLES: usize = 100;
/// Characters of a question, passage, reference or unread answer that are shown.
const TEXT_SHOWN: usize = 8000;
/// Characters of a passage in its summary line.
const PREVIEW_SHOWN: usize = 180;
/// Characters of a span in its table.
const SPAN_SHOWN: usize = 300;

/// One example.
#[derive(Debug, Serialize)]
pub struct Section {
    number: usize,
    id: String,
    outcome: &'static str,
    class: &'static str,
    status: &'static str,
    decision: String,
    reason: Option<String>,
    notices: Vec<String>,
    groups: Vec<String>,
    question: Text,
    /// HTML; empty when there is no answer.
    answer: String,
    answer_note: Option<String>,
    has_answer: bool,
    scored: bool,
    /// SVG.
    strip: String,
    spans: Vec<SpanRow>,
    labels: String,
    gold: Vec<SpanRow>,
    factuality: String,
    trusted: String,
    chunks: Vec<ChunkRow>,
    lookback: Option<LookbackView>,
    tokens: Vec<TokenRow>,
    tokens_note: Option<String>,
    references: Vec<Text>,
}

/// Data text, perhaps cut.
#[derive(Debug, Serialize)]
struct Text {
    text: String,
    note: Option<String>,
}

#[derive(Debug, Serialize)]
struct SpanRow {
    index: usize,
    text: String,
    absent: Option<String>,
    score: String,
    bytes: String,
    code_points: String,
    kind: String,
}

#[derive(Debug, Serialize)]
struct ChunkRow {
    rank: usize,
    document: String,
    place: String,
    score: String,
    p_value: String,
    /// SVG; empty without a p-value.
    bar: String,
    trust: &'static str,
    class: &'static str,
    known: &'static str,
    preview: String,
    text: Text,
    length: usize,
}

#[derive(Debug, Serialize)]
struct TokenRow {
    number: usize,
    text: String,
    raw: String,
    smoothed: String,
    with: String,
    without: String,
}

/// The section of `example`, number `number` from 1.
pub fn section(
    report: &Report,
    example: &ExampleReport,
    evidence: &Evidence,
    number: usize,
    detailed: bool,
) -> Section {
    let scored = example.smoothed.is_some();
    let unread = example.answer.as_deref().filter(|_| !scored).map(|text| excerpt(text, TEXT_SHOWN));
    let tokens = if detailed { token_rows(example, evidence.reading.as_ref()) } else { Vec::new() };
    Section {
        number,
        id: line(&example.id),
        outcome: sentence::outcome(example),
        class: outcome_class(example),
        status: status(example),
        decision: line(&sentence::decision(example)),
        reason: example.reason.as_deref().map(line),
        notices: example.notices.iter().map(|notice| line(notice)).collect(),
        groups: example.groups.iter().map(|(name, value)| line(&format!("{name}: {value}"))).collect(),
        question: text(&example.question),
        answer: match &unread {
            Some(cut) => super::escape(&visible(cut.text)),
            None => answer(example, number),
        },
        answer_note: unread.and_then(|cut| cut.note),
        has_answer: example.answer.is_some(),
        scored,
        strip: token_strip(example, report.thresholds.token),
        spans: example.spans.iter().map(span_row).collect(),
        labels: sentence::labels(example),
        gold: example.gold_spans.iter().flatten().map(span_row).collect(),
        factuality: line(&sentence::factuality(example, &report.thresholds)),
        trusted: sentence::chunks(example, &report.thresholds),
        chunks: example.chunks.iter().zip(&evidence.chunks).map(|(c, e)| chunk_row(report, c, e)).collect(),
        lookback: lookback(evidence, example),
        tokens,
        tokens_note: (scored && !detailed).then(|| {
            format!(
                "Left out in reports of more than {DETAILED_EXAMPLES} examples; the evidence file holds it."
            )
        }),
        references: example.references.iter().map(|reference| text(reference)).collect(),
    }
}

/// Class of the badge: `flagged`, `clean`, `unscored` or `error`.
pub fn outcome_class(example: &ExampleReport) -> &'static str {
    match sentence::outcome(example) {
        "not scored" => "unscored",
        outcome => outcome,
    }
}

fn status(example: &ExampleReport) -> &'static str {
    match example.status {
        Status::Ok => "ok",
        Status::Partial => "partial",
        Status::Error => "error",
    }
}

fn line(text: &str) -> String {
    visible_line(text).into_owned()
}

fn text(data: &str) -> Text {
    let cut = excerpt(data, TEXT_SHOWN);
    Text { text: visible(cut.text).into_owned(), note: cut.note }
}

fn span_row(span: &SpanReport) -> SpanRow {
    SpanRow {
        index: span.index,
        text: span.text.as_deref().map(|text| line(&short(text, SPAN_SHOWN))).unwrap_or_default(),
        absent: span.text_absent.clone(),
        score: three_or_absent(span.score),
        bytes: format!("{}\u{2013}{}", span.start, span.end),
        code_points: span
            .code_points
            .map_or_else(|| ABSENT.to_string(), |[start, end]| format!("{start}\u{2013}{end}")),
        kind: span.kind.as_deref().map(line).unwrap_or_default(),
    }
}

fn chunk_row(report: &Report, chunk: &ChunkReport, evidence: &crate::evidence::ChunkEvidence) -> ChunkRow {
    let mut place = Vec::new();
    if chunk.document.is_some() {
        place.push(format!("chunk {}", line(&chunk.id)));
    }
    if let Some([start, end]) = evidence.range {
        place.push(format!("bytes {start}\u{2013}{end}"));
    }
    if let Some(read) = evidence.tokens_read {
        place.push(format!("{read} tokens read"));
    }
    ChunkRow {
        rank: chunk.rank,
        document: line(chunk.document.as_ref().unwrap_or(&chunk.id)),
        place: place.join(", "),
        score: three_or_absent(chunk.score),
        p_value: match chunk.p_value {
            Some(p) => p_value(p),
            None => line(&sentence::chunk_p_value(chunk)),
        },
        bar: chunk.p_value.map(|p| p_value_bar(p, report.thresholds.alpha)).unwrap_or_default(),
        trust: sentence::trust(chunk),
        class: match chunk.trusted {
            Some(true) => "trusted",
            Some(false) => "dropped",
            None => "unknown",
        },
        known: match chunk.correct {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not known",
        },
        preview: line(&short(chunk.text.trim(), PREVIEW_SHOWN)),
        text: text(&chunk.text),
        length: chunk.text.chars().count(),
    }
}

fn token_rows(example: &ExampleReport, reading: Option<&Reading>) -> Vec<TokenRow> {
    let (Some(smoothed), Some(reading), Some(answer)) = (&example.smoothed, reading, &example.answer) else {
        return Vec::new();
    };
    let raw = reading.detectors.iter().find(|d| Some(&d.name) == example.detector.as_ref()).map(|d| &d.raw);
    let at = |values: Option<&Vec<f32>>, t: usize| {
        values.and_then(|v| v.get(t)).map_or_else(|| ABSENT.to_string(), |v| three(f64::from(*v)))
    };
    let row = |(t, [start, end]): (usize, &[usize; 2])| TokenRow {
        number: t + 1,
        text: answer.get(*start..*end).map_or_else(|| ABSENT.to_string(), line),
        raw: at(raw, t),
        smoothed: smoothed.get(t).map_or_else(|| ABSENT.to_string(), |value| three(*value)),
        with: at(Some(&reading.log_prob_with), t),
        without: at(Some(&reading.log_prob_without), t),
    };
    reading.tokens.iter().enumerate().map(row).collect()
}
