//! The report as Markdown (`CommonMark` with tables), for issues, notebooks and reviews.

mod escape;

use std::fmt::Write;
use std::ops::Range;

use crate::evidence::{Evidence, Thresholds};
use crate::text::visible_line;

use super::context::Context;
use super::excerpt::{excerpt, short};
use super::marking::segments;
use super::number::{ABSENT, three_or_absent};
use super::record::{ExampleReport, Report, SpanReport};
use super::sentence;
use super::statement;
use escape::{inline, lines, strong};

/// Characters of a question or a passage in a table cell.
const CELL_SHOWN: usize = 160;
/// Characters of a question, a passage or an unread answer in its own block.
const TEXT_SHOWN: usize = 4000;

/// The report as Markdown. Flagged spans read `**[1: words]**`. Every character of the data that Markdown
/// or HTML would act on is escaped, and control characters are shown as symbols.
#[must_use]
pub fn markdown(evidence: &[Evidence], thresholds: &Thresholds, context: &Context) -> String {
    let report = Report::new(evidence, thresholds, context);
    let mut out = String::new();
    head(&mut out, &report);
    if !report.examples.is_empty() {
        overview(&mut out, &report);
    }
    for (at, example) in report.examples.iter().enumerate() {
        section(&mut out, &report, example, at + 1);
    }
    out.push_str(&statement::comment(&report));
    out
}

fn head(out: &mut String, report: &Report) {
    let title = if report.context.title.is_empty() { "ragscope report" } else { &report.context.title };
    paragraph(out, &format!("# {}", inline(title)));
    for line in sentence::origin(report) {
        paragraph(out, &inline(&line));
    }
    if !report.context.command.is_empty() {
        paragraph(out, &format!("To make this report again: {}", code(&report.context.command)));
    }
    paragraph(out, "## Summary");
    list(out, sentence::summary(&report.summary).iter().map(|line| inline(line)));
    paragraph(out, "## What is guaranteed");
    list(out, sentence::guarantees(&report.context).iter().map(|line| inline(line)));
    paragraph(out, sentence::LIMIT_OF_CLAIMS);
    if let Some(facts) = &report.context.certificate {
        let rows = sentence::certificate(facts)
            .into_iter()
            .map(|(name, value)| vec![name.to_string(), inline(&value)])
            .collect::<Vec<_>>();
        table(out, &["Calibration", "Value"], &rows);
    }
    paragraph(out, "## Thresholds");
    let rows: Vec<_> = sentence::thresholds(&report.thresholds)
        .into_iter()
        .map(|t| vec![t.name.to_string(), inline(&t.value), t.rule.to_string()])
        .collect();
    table(out, &["Threshold", "Value", "Rule"], &rows);
    paragraph(out, "## Provenance");
    let rows: Vec<_> = report
        .provenance
        .iter()
        .flat_map(|field| {
            let known = field
                .values
                .iter()
                .map(|(value, records)| vec![inline(&field.name), inline(value), records.to_string()]);
            let unknown = (field.unknown > 0)
                .then(|| vec![inline(&field.name), "not recorded".to_string(), field.unknown.to_string()]);
            known.chain(unknown).collect::<Vec<_>>()
        })
        .collect();
    table(out, &["Fact", "Value", "Records"], &rows);
}

fn overview(out: &mut String, report: &Report) {
    paragraph(out, "## Examples");
    let rows: Vec<_> = report
        .examples
        .iter()
        .enumerate()
        .map(|(at, example)| {
            vec![
                (at + 1).to_string(),
                inline(&example.id),
                inline(&short(&example.question, CELL_SHOWN)),
                sentence::outcome(example).to_string(),
                example.flagged.map_or_else(|| ABSENT.to_string(), |_| example.spans.len().to_string()),
                three_or_absent(example.answer_score),
                three_or_absent(example.factuality),
                trusted_of(example),
            ]
        })
        .collect();
    let heads =
        ["No", "Id", "Question", "Outcome", "Flagged spans", "Answer score", "Factuality", "Trusted chunks"];
    table(out, &heads, &rows);
}

fn section(out: &mut String, report: &Report, example: &ExampleReport, number: usize) {
    paragraph(out, &format!("## {number}. {}", inline(&example.id)));
    paragraph(
        out,
        &format!("Outcome: {}. {}", sentence::outcome(example), inline(&sentence::decision(example))),
    );
    if let Some(reason) = &example.reason {
        paragraph(out, &format!("Reason: {}.", inline(sentence::unstopped(reason))));
    }
    list(out, example.notices.iter().map(|notice| format!("Notice: {}", inline(notice))));
    block(out, "Question", &example.question);
    match &example.answer {
        None => paragraph(out, "Answer: none."),
        Some(answer) if example.spans.is_empty() => block(out, "Answer", answer),
        Some(answer) => {
            paragraph(out, "Answer:");
            paragraph(out, &quoted(&marked(answer, &example.spans)));
        }
    }
    let rows: Vec<_> = example.spans.iter().map(|span| span_row(span, "flagged")).collect();
    let labels: Vec<_> = example.gold_spans.iter().flatten().map(|span| span_row(span, "labelled")).collect();
    if !rows.is_empty() || !labels.is_empty() {
        table(out, &["Span", "Text", "Score", "Bytes", "Code points"], &[rows, labels].concat());
    }
    paragraph(out, &inline(&sentence::labels(example)));
    paragraph(out, &inline(&sentence::factuality(example, &report.thresholds)));
    paragraph(out, &inline(&sentence::chunks(example, &report.thresholds)));
    let rows: Vec<_> = example
        .chunks
        .iter()
        .map(|chunk| {
            vec![
                chunk.rank.to_string(),
                inline(chunk.document.as_ref().unwrap_or(&chunk.id)),
                three_or_absent(chunk.score),
                inline(&sentence::chunk_p_value(chunk)),
                sentence::trust(chunk).to_string(),
                inline(&short(chunk.text.trim(), CELL_SHOWN)),
            ]
        })
        .collect();
    if !rows.is_empty() {
        table(out, &["Rank", "Document", "Score", "p-value", "Decision", "Text"], &rows);
    }
    for reference in &example.references {
        block(out, "Reference answer", reference);
    }
}

fn marked(answer: &str, spans: &[SpanReport]) -> String {
    let ranges: Vec<Range<usize>> = spans.iter().map(|span| span.start..span.end).collect();
    let mut out = String::new();
    let segments = segments(answer, &ranges, &[]);
    for (at, segment) in segments.iter().enumerate() {
        match segment.flagged.and_then(|flagged| spans.get(flagged)) {
            None => out.push_str(&lines(segment.text, out.is_empty())),
            Some(span) => {
                let before = at.checked_sub(1).and_then(|at| segments[at].text.chars().next_back());
                let after = segments.get(at + 1).and_then(|next| next.text.chars().next());
                out.push_str(&strong(segment.text, span.index, before, after));
            }
        }
    }
    out
}

fn span_row(span: &SpanReport, kind: &str) -> Vec<String> {
    let name = match &span.kind {
        Some(own) => format!("{kind} {}: {}", span.index, inline(own)),
        None => format!("{kind} {}", span.index),
    };
    let text = match (&span.text, &span.text_absent) {
        (Some(text), _) => inline(&short(text, CELL_SHOWN)),
        (None, reason) => format!("n/a ({})", inline(reason.as_deref().unwrap_or("no text"))),
    };
    let code_points =
        span.code_points.map_or_else(|| ABSENT.to_string(), |[start, end]| format!("{start}-{end}"));
    vec![name, text, three_or_absent(span.score), format!("{}-{}", span.start, span.end), code_points]
}

fn trusted_of(example: &ExampleReport) -> String {
    if example.chunks.iter().all(|chunk| chunk.trusted.is_none()) {
        return format!("n/a of {}", example.chunks.len());
    }
    format!("{} of {}", sentence::trusted(example), example.chunks.len())
}

/// A code span that no run of backticks inside can end.
fn code(text: &str) -> String {
    let text = visible_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest == 0 { format!("{fence}{text}{fence}") } else { format!("{fence} {text} {fence}") }
}

fn block(out: &mut String, title: &str, text: &str) {
    let cut = excerpt(text, TEXT_SHOWN);
    paragraph(out, &format!("{title}:"));
    paragraph(out, &quoted(&lines(cut.text, true)));
    if let Some(note) = cut.note {
        paragraph(out, &format!("({note})"));
    }
}

fn quoted(text: &str) -> String {
    let quoted: Vec<_> = text.split('\n').map(|line| format!("> {line}").trim_end().to_string()).collect();
    quoted.join("\n")
}

fn paragraph(out: &mut String, text: &str) {
    out.push_str(text);
    out.push_str("\n\n");
}

fn list(out: &mut String, items: impl Iterator<Item = String>) {
    let before = out.len();
    for item in items {
        let _ = writeln!(out, "- {item}");
    }
    if out.len() > before {
        out.push('\n');
    }
}

/// A table; cells are escaped by the caller.
fn table(out: &mut String, heads: &[&str], rows: &[Vec<String>]) {
    let _ = writeln!(out, "| {} |", heads.join(" | "));
    let _ = writeln!(out, "|{}", " --- |".repeat(heads.len()));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out.push('\n');
}
