//! The sentences that all faces share, so that no face says more than another.

use crate::certify::Alpha;
use crate::certify::guarantee::{NO_CALIBRATION, NOT_STATED};
use crate::evidence::{Status, Thresholds};

use super::context::{CertificateFacts, Context};
use super::number::{count, p_value, share, three, threshold};
use super::record::{ChunkReport, ExampleReport, Report, SpanReport};
use super::summary::{Agreement, Summary};

/// What no sentence of the caller may be read to mean.
pub const LIMIT_OF_CLAIMS: &str = "Trusted does not mean correct, and flagged does not mean wrong: nothing is \
    claimed about the probability that a trusted chunk is correct or that a flagged span is unsupported, \
    unless a sentence above says so.";

/// One threshold: its name, value and exact rule.
pub struct ThresholdLine {
    /// Key of the threshold in the evidence format.
    pub key: &'static str,
    pub name: &'static str,
    pub value: String,
    pub rule: &'static str,
}

/// All thresholds with their rules.
pub fn thresholds(thresholds: &Thresholds) -> Vec<ThresholdLine> {
    let line = |key, name, value, rule| ThresholdLine { key, name, value, rule };
    vec![
        line(
            "alpha",
            "alpha",
            alpha(thresholds.alpha),
            "a chunk is trusted if its p-value is greater than alpha",
        ),
        line(
            "token",
            "token threshold",
            threshold(thresholds.token),
            "a token is flagged if its smoothed score is at least this",
        ),
        line(
            "rho",
            "rho",
            threshold(thresholds.rho),
            "label persistence of the smoothing of token scores; 0.5 smooths nothing",
        ),
        line(
            "rho_answer",
            "rho for the answer score",
            threshold(thresholds.rho_answer),
            "the answer score is the highest token score smoothed with this",
        ),
        line(
            "factuality",
            "factuality threshold",
            threshold(thresholds.factuality),
            "an answer is called consistent if its factuality is at least this",
        ),
        line(
            "detector",
            "detector",
            thresholds.detector.clone().unwrap_or_else(|| "the first of each record".to_string()),
            "whose token scores decide",
        ),
    ]
}

/// `0.100`: alpha is a whole number of thousandths.
pub fn alpha(alpha: Alpha) -> String {
    format!("{}.{:03}", alpha.thousandths() / 1000, alpha.thousandths() % 1000)
}

/// The caller's sentences; where there are none, the sentence that nothing is guaranteed.
pub fn guarantees(context: &Context) -> Vec<String> {
    if !context.guarantees.is_empty() {
        return context.guarantees.clone();
    }
    vec![match context.certificate {
        None => NO_CALIBRATION.to_string(),
        Some(_) => NOT_STATED.to_string(),
    }]
}

/// The calibration as name and value.
pub fn certificate(facts: &CertificateFacts) -> Vec<(&'static str, String)> {
    let recall = facts.recall_at_k.map_or_else(|| "n/a (not measured)".to_string(), three);
    vec![
        ("calibration values n", facts.n.to_string()),
        ("chunks retrieved K", facts.k.to_string()),
        ("mode", facts.mode.clone()),
        ("recall at K", recall),
        ("calibration data", facts.data.clone()),
        ("verdict", if facts.verdict.is_empty() { "none".to_string() } else { facts.verdict.join(" ") }),
    ]
}

/// The counts, one sentence each.
pub fn summary(summary: &Summary) -> Vec<String> {
    let mut lines = vec![format!(
        "{}: {} complete, {} partial, {} with an error.",
        count(summary.examples, "example", "examples"),
        summary.ok,
        summary.partial,
        summary.errors
    )];
    lines.push(match summary.scored {
        0 => "No answer has token scores, so no answer could be flagged.".to_string(),
        scored => format!(
            "{} scored: {} flagged, with {}.",
            count(scored, "answer", "answers"),
            share(summary.flagged, scored),
            count(summary.spans, "span", "spans")
        ),
    });
    lines.push(match summary.certified_chunks {
        0 if summary.chunks == 0 => "No chunk was retrieved.".to_string(),
        0 => format!("None of {} has a p-value.", count(summary.chunks, "chunk", "chunks")),
        certified => format!(
            "Chunks: {} trusted; {} without a p-value.",
            share(summary.trusted_chunks, certified),
            summary.chunks - certified
        ),
    });
    match (&summary.agreement, &summary.agreement_absent) {
        (Some(agreement), _) => lines.extend(agreement_lines(agreement, summary.labelled)),
        (None, reason) => {
            lines.push(format!("Agreement with labels: n/a ({}).", reason.as_deref().unwrap_or("no labels")));
        }
    }
    lines
}

fn agreement_lines(agreement: &Agreement, labelled: usize) -> [String; 2] {
    [
        format!(
            "Labels: {} scored and labelled; flag and label agree on {}. Labelled unsupported: {} flagged, {} \
             missed. Labelled clean: {} flagged, {} passed.",
            count(labelled, "answer", "answers"),
            share(agreement.agreeing(), labelled),
            agreement.flagged_unsupported,
            agreement.missed_unsupported,
            agreement.flagged_clean,
            agreement.passed_clean
        ),
        format!(
            "Characters: {} of the labelled ones are flagged; {} of the flagged ones are labelled.",
            share(agreement.both_characters, agreement.labelled_characters),
            share(agreement.both_characters, agreement.flagged_characters)
        ),
    ]
}

/// One word for lists and filters: `flagged`, `clean`, `not scored`, `error`.
pub fn outcome(example: &ExampleReport) -> &'static str {
    match (example.status, example.flagged) {
        (Status::Error, _) => "error",
        (_, Some(true)) => "flagged",
        (_, Some(false)) => "clean",
        (_, None) => "not scored",
    }
}

/// What was decided about the answer, as a sentence.
pub fn decision(example: &ExampleReport) -> String {
    match (example.flagged, example.answer_score) {
        (Some(_), Some(score)) if example.spans.is_empty() => {
            format!("No span flagged; answer score {}.", three(score))
        }
        (Some(_), Some(score)) => {
            let spans = count(example.spans.len(), "span", "spans");
            format!("{spans} flagged; answer score {}.", three(score))
        }
        _ if example.reason.is_some() && example.flagged_absent == example.reason => {
            "Not scored, for the reason given.".to_string()
        }
        _ => format!("Not scored: {}.", unstopped(example.flagged_absent.as_deref().unwrap_or("no scores"))),
    }
}

/// Factuality against its threshold, as a sentence.
pub fn factuality(example: &ExampleReport, thresholds: &Thresholds) -> String {
    let limit = threshold(thresholds.factuality);
    match (example.factuality, example.consistent) {
        (Some(value), Some(true)) => {
            format!("Factuality {}, at least {limit}: called consistent.", three(value))
        }
        (Some(value), Some(false)) => {
            format!("Factuality {}, below {limit}: called inconsistent.", three(value))
        }
        (Some(value), None) => format!("Factuality {}.", three(value)),
        (None, _) => {
            let reason = example.factuality_absent.as_deref().unwrap_or("no factuality");
            format!("Factuality n/a: {}.", unstopped(reason))
        }
    }
}

/// How many chunks are trusted, as a sentence.
pub fn chunks(example: &ExampleReport, thresholds: &Thresholds) -> String {
    let total = example.chunks.len();
    let certified = example.chunks.iter().filter(|chunk| chunk.trusted.is_some()).count();
    if total == 0 {
        return "No chunk was retrieved.".to_string();
    }
    if certified == 0 {
        return format!("{}, none with a p-value.", count(total, "chunk", "chunks"));
    }
    let rest = match total - certified {
        0 => String::new(),
        without => format!(" {without} without a p-value."),
    };
    format!(
        "{} of {} trusted at alpha {}.{rest}",
        trusted(example),
        count(total, "chunk", "chunks"),
        alpha(thresholds.alpha)
    )
}

/// Number of trusted chunks.
pub fn trusted(example: &ExampleReport) -> usize {
    example.chunks.iter().filter(|chunk| chunk.trusted == Some(true)).count()
}

/// `trusted`, `dropped` or `no p-value`.
pub fn trust(chunk: &ChunkReport) -> &'static str {
    match chunk.trusted {
        Some(true) => "trusted",
        Some(false) => "dropped",
        None => "no p-value",
    }
}

/// `p = 0.412 (42/102)`, or why there is none.
pub fn chunk_p_value(chunk: &ChunkReport) -> String {
    match (chunk.p_value, &chunk.p_value_absent) {
        (Some(p), _) => format!("p = {}", p_value(p)),
        (None, reason) => format!("p n/a ({})", reason.as_deref().map_or("not calibrated", unstopped)),
    }
}

/// What the labels say about the answer.
pub fn labels(example: &ExampleReport) -> String {
    match &example.gold_spans {
        None => "Nobody labelled this answer.".to_string(),
        Some(spans) if spans.is_empty() => "Labelled clean: no unsupported span.".to_string(),
        Some(spans) => format!("{} labelled unsupported.", count(spans.len(), "span", "spans")),
    }
}

/// `bytes 12-19, code points 10-16`.
pub fn place(span: &SpanReport) -> String {
    let bytes = format!("bytes {}-{}", span.start, span.end);
    match span.code_points {
        Some([start, end]) => format!("{bytes}, code points {start}-{end}"),
        None => bytes,
    }
}

/// How the report was made, for the first lines of every face.
pub fn origin(report: &Report) -> Vec<String> {
    let context = &report.context;
    let made_by = match context.generated_by.as_str() {
        "" => "ragscope",
        tool => tool,
    };
    let mut lines = vec![match &context.date {
        Some(date) => format!("Made by {made_by}, {date}."),
        None => format!("Made by {made_by}."),
    }];
    if let Some(run) = &context.run {
        lines.push(format!("Evidence: {}, SHA-256 {}.", run.file, run.sha256));
    }
    if let Some(highlighting) = &context.highlighting {
        lines.push(format!(
            "Calibration of the highlighting: SHA-256 {}, beta {}.",
            highlighting.sha256, highlighting.beta
        ));
    }
    lines.extend(context.notes.iter().cloned());
    lines
}

/// Where the evidence came from, as one sentence.
pub fn provenance(report: &Report) -> String {
    let all = report.examples.len();
    let fact = |field: &super::provenance::ProvenanceField| {
        let mut values: Vec<String> = field
            .values
            .iter()
            .map(|(value, records)| {
                if *records == all { value.clone() } else { format!("{value} ({records} of {all} records)") }
            })
            .collect();
        if field.unknown > 0 {
            values.push(format!("not recorded ({} of {all} records)", field.unknown));
        }
        format!("{} {}", field.name, values.join(" and "))
    };
    format!("Provenance: {}.", report.provenance.iter().map(fact).collect::<Vec<_>>().join("; "))
}

/// A reason as part of a sentence that brings its own full stop.
pub fn unstopped(reason: &str) -> &str {
    reason.trim_end().trim_end_matches('.')
}
