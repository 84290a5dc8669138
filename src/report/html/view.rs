//! What the template shows of the whole report.

use serde::Serialize;

use crate::evidence::Evidence;
use crate::text::visible_line;

use super::super::number::{ABSENT, share, three_or_absent};
use super::super::record::{ExampleReport, Report};
use super::super::{excerpt::short, sentence};
use super::policy::content_security_policy;
use super::script_data::script_data;
use super::section::{Section, section};
use super::{BAND_EDGES, SCRIPT, STYLE};

/// Characters of a question in the table of examples.
const QUESTION_SHOWN: usize = 140;

/// Everything the template prints. Strings are plain text (escaped by the template) but for the ones that
/// say HTML or SVG.
#[derive(Debug, Serialize)]
pub struct Page {
    policy: String,
    style: &'static str,
    script: &'static str,
    /// JSON that cannot end its element.
    data: String,
    title: String,
    origin: Vec<String>,
    command: String,
    cards: Vec<Card>,
    labels: Option<LabelTable>,
    labels_absent: String,
    guarantees: Vec<String>,
    limit: &'static str,
    certificate: Vec<(String, String)>,
    thresholds: Vec<ThresholdRow>,
    provenance: Vec<(String, Vec<String>)>,
    /// `0.25 to 0.5` and so on, from band 0.
    bands: Vec<String>,
    rows: Vec<Row>,
    sections: Vec<Section>,
}

/// A number at the top. `key` names the element that the script rewrites.
#[derive(Debug, Serialize)]
struct Card {
    key: &'static str,
    name: &'static str,
    value: String,
    detail: String,
}

/// Flags against labels.
#[derive(Debug, Serialize)]
struct LabelTable {
    flagged_unsupported: usize,
    missed_unsupported: usize,
    flagged_clean: usize,
    passed_clean: usize,
    recalled: String,
    precise: String,
}

#[derive(Debug, Serialize)]
struct ThresholdRow {
    key: &'static str,
    name: &'static str,
    value: String,
    rule: &'static str,
    /// Smallest value, largest value and step of the control; `None`: cannot be moved in the page.
    control: Option<[&'static str; 3]>,
}

#[derive(Debug, Serialize)]
struct Row {
    number: usize,
    id: String,
    question: String,
    outcome: &'static str,
    class: &'static str,
    partial: bool,
    spans: String,
    answer_score: String,
    factuality: String,
    trusted: String,
    labels: String,
}

/// The page's content.
pub fn page(report: &Report, evidence: &[Evidence]) -> Page {
    let context = &report.context;
    let shown = |text: &str| visible_line(text).into_owned();
    let title = if context.title.is_empty() { "ragscope report" } else { &context.title };
    let certificate = context.certificate.as_ref().map(sentence::certificate).unwrap_or_default();
    let detailed = evidence.len() <= super::section::DETAILED_EXAMPLES;
    Page {
        policy: content_security_policy(STYLE, SCRIPT),
        style: STYLE,
        script: SCRIPT,
        data: script_data(report, evidence),
        title: shown(title),
        origin: sentence::origin(report).iter().map(|line| shown(line)).collect(),
        command: shown(&context.command),
        cards: cards(report),
        labels: label_table(report),
        labels_absent: report.summary.agreement_absent.clone().unwrap_or_default(),
        guarantees: sentence::guarantees(context).iter().map(|line| shown(line)).collect(),
        limit: sentence::LIMIT_OF_CLAIMS,
        certificate: certificate.into_iter().map(|(name, value)| (name.to_string(), shown(&value))).collect(),
        thresholds: thresholds(report),
        provenance: provenance(report),
        bands: bands(),
        rows: report.examples.iter().enumerate().map(|(at, example)| row(example, at + 1)).collect(),
        sections: report
            .examples
            .iter()
            .zip(evidence)
            .enumerate()
            .map(|(at, (example, evidence))| section(report, example, evidence, at + 1, detailed))
            .collect(),
    }
}

fn cards(report: &Report) -> Vec<Card> {
    let s = &report.summary;
    let card = |key, name, value: String, detail: String| Card { key, name, value, detail };
    let agreement = s.agreement.as_ref();
    vec![
        card(
            "examples",
            "examples",
            s.examples.to_string(),
            format!("{} complete, {} partial, {} with an error", s.ok, s.partial, s.errors),
        ),
        card(
            "flagged",
            "answers flagged",
            if s.scored == 0 { ABSENT.to_string() } else { s.flagged.to_string() },
            format!("of {} scored", s.scored),
        ),
        card(
            "spans",
            "spans flagged",
            if s.scored == 0 { ABSENT.to_string() } else { s.spans.to_string() },
            "in all scored answers".to_string(),
        ),
        card(
            "trusted",
            "chunks trusted",
            if s.certified_chunks == 0 { ABSENT.to_string() } else { s.trusted_chunks.to_string() },
            format!("of {} with a p-value; {} chunks in all", s.certified_chunks, s.chunks),
        ),
        card(
            "agreeing",
            "flags agree with labels",
            agreement.map_or_else(|| ABSENT.to_string(), |a| a.agreeing().to_string()),
            format!("of {} scored and labelled", s.labelled),
        ),
    ]
}

fn label_table(report: &Report) -> Option<LabelTable> {
    report.summary.agreement.as_ref().map(|a| LabelTable {
        flagged_unsupported: a.flagged_unsupported,
        missed_unsupported: a.missed_unsupported,
        flagged_clean: a.flagged_clean,
        passed_clean: a.passed_clean,
        recalled: share(a.both_characters, a.labelled_characters),
        precise: share(a.both_characters, a.flagged_characters),
    })
}

fn thresholds(report: &Report) -> Vec<ThresholdRow> {
    let control = |key: &str| match key {
        "alpha" => Some(["0", "1", "0.001"]),
        "token" | "factuality" => Some(["0", "1", "0.01"]),
        "rho" | "rho_answer" => Some(["0.5", "0.9999", "0.0001"]),
        _ => None,
    };
    sentence::thresholds(&report.thresholds)
        .into_iter()
        .map(|t| ThresholdRow {
            key: t.key,
            name: t.name,
            value: visible_line(&t.value).into_owned(),
            rule: t.rule,
            control: control(t.key),
        })
        .collect()
}

fn provenance(report: &Report) -> Vec<(String, Vec<String>)> {
    let all = report.examples.len();
    let described = |(value, records): &(String, usize)| {
        let value = visible_line(value);
        if *records == all { value.into_owned() } else { format!("{value} ({records} of {all} records)") }
    };
    report
        .provenance
        .iter()
        .map(|field| {
            let mut values: Vec<_> = field.values.iter().map(described).collect();
            if field.unknown > 0 {
                values.push(format!("not recorded ({} of {all} records)", field.unknown));
            }
            (visible_line(&field.name).into_owned(), values)
        })
        .collect()
}

fn bands() -> Vec<String> {
    let mut names = vec![format!("below {}", BAND_EDGES[0])];
    names.extend(BAND_EDGES.windows(2).map(|edges| format!("{} to {}", edges[0], edges[1])));
    names.push(format!("{} and above", BAND_EDGES[BAND_EDGES.len() - 1]));
    names
}

fn row(example: &ExampleReport, number: usize) -> Row {
    let certified = example.chunks.iter().any(|chunk| chunk.trusted.is_some());
    Row {
        number,
        id: visible_line(&example.id).into_owned(),
        question: visible_line(&short(&example.question, QUESTION_SHOWN)).into_owned(),
        outcome: sentence::outcome(example),
        class: super::section::outcome_class(example),
        partial: example.status == crate::evidence::Status::Partial,
        spans: example.flagged.map_or_else(|| ABSENT.to_string(), |_| example.spans.len().to_string()),
        answer_score: three_or_absent(example.answer_score),
        factuality: three_or_absent(example.factuality),
        trusted: if certified {
            format!("{} / {}", sentence::trusted(example), example.chunks.len())
        } else {
            format!("{ABSENT} / {}", example.chunks.len())
        },
        labels: match &example.gold_spans {
            None => "none".to_string(),
            Some(spans) if spans.is_empty() => "clean".to_string(),
            Some(spans) => super::super::number::count(spans.len(), "span", "spans"),
        },
    }
}
