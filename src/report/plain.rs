//! The report as linear text: for terminals without a screen, for screen readers, for pipes.

use std::fmt::Write;

use crate::evidence::{Evidence, Thresholds};
use crate::text;

use super::context::Context;
use super::excerpt::{excerpt, short};
use super::marking::segments;
use super::number::{three_or_absent, two};
use super::record::{ChunkReport, ExampleReport, Report, SpanReport};
use super::sentence;

/// Characters of a question, a reference answer or an unread answer that are shown.
const TEXT_SHOWN: usize = 4000;
/// Characters of a passage that are shown.
const PASSAGE_SHOWN: usize = 240;
/// Characters of a span that its list line repeats.
const SPAN_SHOWN: usize = 200;

/// The report as text without colours or escape sequences, numbered and indented: data text is always
/// indented, so it cannot pass for a line of the report. Flagged spans read
/// `[!unsupported 0.91]words[/]`.
#[must_use]
pub fn plain(evidence: &[Evidence], thresholds: &Thresholds, context: &Context) -> String {
    let report = Report::new(evidence, thresholds, context);
    let mut out = String::new();
    head(&mut out, &report);
    for (at, example) in report.examples.iter().enumerate() {
        out.push('\n');
        section(&mut out, &report, example, at + 1);
    }
    if !report.examples.is_empty() {
        line(&mut out, "");
        line(&mut out, &one_line(&sentence::provenance(&report)));
    }
    if !context.command.is_empty() {
        line(&mut out, "");
        line(&mut out, &format!("To make this report again: {}", one_line(&context.command)));
    }
    out
}

fn head(out: &mut String, report: &Report) {
    if !report.context.title.is_empty() {
        line(out, &one_line(&report.context.title));
    }
    for sentence in sentence::origin(report) {
        line(out, &one_line(&sentence));
    }
    line(out, "");
    for sentence in sentence::summary(&report.summary) {
        line(out, &sentence);
    }
    let settings: Vec<_> = sentence::thresholds(&report.thresholds)
        .iter()
        .map(|t| format!("{} {}", t.name, one_line(&t.value)))
        .collect();
    line(out, &format!("Thresholds: {}.", settings.join(", ")));
    line(out, "");
    line(out, "What is guaranteed:");
    for sentence in sentence::guarantees(&report.context) {
        line(out, &format!("  {}", one_line(&sentence)));
    }
    line(out, &format!("  {}", sentence::LIMIT_OF_CLAIMS));
    if let Some(facts) = &report.context.certificate {
        let facts: Vec<_> = sentence::certificate(facts)
            .into_iter()
            .map(|(name, value)| format!("{name}: {}", one_line(sentence::unstopped(&value))))
            .collect();
        line(out, &format!("  Calibration: {}.", facts.join("; ")));
    }
}

fn section(out: &mut String, report: &Report, example: &ExampleReport, number: usize) {
    let id = one_line(&example.id);
    line(
        out,
        &format!("Example {number} of {}, id {id}: {}.", report.examples.len(), sentence::outcome(example)),
    );
    if let Some(reason) = &example.reason {
        line(out, &format!("  Reason: {}.", one_line(sentence::unstopped(reason))));
    }
    for notice in &example.notices {
        line(out, &format!("  Notice: {}", one_line(notice)));
    }
    block(out, "Question", &example.question);
    answer(out, example);
    line(out, &format!("  {}", one_line(&sentence::decision(example))));
    for span in &example.spans {
        line(out, &span_line("Unsupported", span));
    }
    line(out, &format!("  {}", sentence::labels(example)));
    for span in example.gold_spans.iter().flatten() {
        line(out, &span_line("Labelled", span));
    }
    line(out, &format!("  {}", one_line(&sentence::factuality(example, &report.thresholds))));
    line(out, &format!("  {}", sentence::chunks(example, &report.thresholds)));
    for chunk in &example.chunks {
        chunk_lines(out, chunk);
    }
    for reference in &example.references {
        block(out, "Reference answer", reference);
    }
}

fn answer(out: &mut String, example: &ExampleReport) {
    let Some(answer) = &example.answer else {
        line(out, "  Answer: none.");
        return;
    };
    if example.spans.is_empty() {
        block(out, "Answer", answer);
        return;
    }
    let ranges: Vec<_> = example.spans.iter().map(|span| span.start..span.end).collect();
    let mut marked = String::new();
    for segment in segments(answer, &ranges, &[]) {
        let text = shown(segment.text);
        match segment.flagged.and_then(|at| example.spans.get(at)).and_then(|span| span.score) {
            Some(score) => {
                let _ = write!(marked, "[!unsupported {}]{text}[/]", two(score));
            }
            None => marked.push_str(&text),
        }
    }
    line(out, "  Answer:");
    indented(out, &marked);
}

/// Data text with its lines. `[!` and `[/` in the data read `[\!` and `[\/`: only the report itself opens
/// and closes a mark.
fn shown(text: &str) -> String {
    unmarked(&text::visible(text))
}

fn unmarked(text: &str) -> String {
    text.replace("[!", "[\\!").replace("[/", "[\\/")
}

/// The same as one line.
fn one_line(text: &str) -> String {
    unmarked(&text::visible_line(text))
}

fn span_line(name: &str, span: &SpanReport) -> String {
    let mut text = format!("    {name} {}:", span.index);
    if let Some(score) = span.score {
        let _ = write!(text, " score {},", three_or_absent(Some(score)));
    }
    if let Some(kind) = &span.kind {
        let _ = write!(text, " kind {},", one_line(kind));
    }
    let _ = write!(text, " {}: ", sentence::place(span));
    match (&span.text, &span.text_absent) {
        (Some(words), _) => text + &format!("\"{}\"", one_line(&short(words, SPAN_SHOWN))),
        (None, reason) => text + reason.as_deref().unwrap_or("no text"),
    }
}

fn chunk_lines(out: &mut String, chunk: &ChunkReport) {
    let mut text = format!(
        "    {}. {}, {}",
        chunk.rank,
        sentence::trust(chunk),
        one_line(&sentence::chunk_p_value(chunk))
    );
    if let Some(score) = chunk.score {
        let _ = write!(text, ", score {}", three_or_absent(Some(score)));
    }
    match &chunk.document {
        Some(document) => {
            let _ = write!(text, ", document {}", one_line(document));
        }
        None => {
            let _ = write!(text, ", chunk {}", one_line(&chunk.id));
        }
    }
    line(out, &text);
    line(out, &format!("       {}", one_line(&short(chunk.text.trim(), PASSAGE_SHOWN))));
}

/// A titled piece of data text.
fn block(out: &mut String, title: &str, text: &str) {
    let cut = excerpt(text, TEXT_SHOWN);
    line(out, &format!("  {title}:"));
    indented(out, &shown(cut.text));
    if let Some(note) = cut.note {
        line(out, &format!("    ({note})"));
    }
}

fn indented(out: &mut String, text: &str) {
    for text in text.split('\n') {
        line(out, &format!("    {text}"));
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}
