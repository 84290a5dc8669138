//! The report as a record: every decision taken once, every absence with its reason.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::certify::PValue;
use crate::evidence::{Evidence, Findings, Status, Thresholds, chosen_detector, decide};

use super::context::Context;
use super::provenance::{ProvenanceField, provenance};
use super::summary::Summary;

/// Version of the layout of [`Report`].
pub const REPORT_SCHEMA: &str = "ragscope-report/1";

/// What [`super::json()`] writes. All offsets are UTF-8 bytes, half open: `answer[start..end] == text`.
/// A value that is `null` has its reason in the field of the same name with `_absent`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Always [`REPORT_SCHEMA`].
    pub schema: String,
    /// Always `byte`: the unit of every `start`, `end` and `tokens` here.
    pub offset_unit: String,
    pub context: Context,
    pub thresholds: Thresholds,
    pub summary: Summary,
    /// Where the evidence came from: each field with every value that occurs.
    pub provenance: Vec<ProvenanceField>,
    pub examples: Vec<ExampleReport>,
}

/// One example under the report's thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExampleReport {
    pub id: String,
    /// Number of the record in its file, from 0.
    pub row: usize,
    pub status: Status,
    pub reason: Option<String>,
    pub notices: Vec<String>,
    pub groups: BTreeMap<String, String>,
    pub question: String,
    pub answer: Option<String>,
    pub references: Vec<String>,
    /// Name of the detector that decided.
    pub detector: Option<String>,
    /// Whether any span is flagged; `null` when the answer has no token scores.
    pub flagged: Option<bool>,
    /// Why `flagged`, `answer_score`, `tokens` and `smoothed` are `null`.
    pub flagged_absent: Option<String>,
    /// Max over tokens smoothed with the answer's rho.
    pub answer_score: Option<f64>,
    pub spans: Vec<SpanReport>,
    /// Labelled unsupported spans; `null` when nobody labelled the answer, empty when labelled clean.
    pub gold_spans: Option<Vec<SpanReport>>,
    pub factuality: Option<f64>,
    pub factuality_absent: Option<String>,
    /// Whether the answer is called consistent; `null` without factuality.
    pub consistent: Option<bool>,
    /// Byte range of each answer token, `[T]`.
    pub tokens: Option<Vec<[usize; 2]>>,
    /// Smoothed score of each answer token, `[T]`.
    pub smoothed: Option<Vec<f64>>,
    /// In rank order.
    pub chunks: Vec<ChunkReport>,
}

/// A flagged or a labelled span of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpanReport {
    /// From 1: the number shown in brackets.
    pub index: usize,
    pub start: usize,
    pub end: usize,
    /// `answer[start..end]`.
    pub text: Option<String>,
    /// Why there is no text.
    pub text_absent: Option<String>,
    /// The same span in code points, as languages that index text by characters count.
    pub code_points: Option<[usize; 2]>,
    /// The highest smoothed score inside; labelled spans have none.
    pub score: Option<f64>,
    /// Tokens it covers, half open; labelled spans have none.
    pub token_range: Option<[usize; 2]>,
    /// The data set's name for the kind of error; flagged spans have none.
    pub kind: Option<String>,
}

/// One chunk under the report's alpha.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChunkReport {
    /// From 1.
    pub rank: usize,
    pub id: String,
    pub document: Option<String>,
    pub text: String,
    pub score: Option<f64>,
    /// The exact fraction.
    pub p_value: Option<PValue>,
    pub p_value_absent: Option<String>,
    /// Whether p exceeds alpha; `null` without a p-value.
    pub trusted: Option<bool>,
    /// Whether it comes from a document known to hold the answer; `null` when not known.
    pub correct: Option<bool>,
}

impl Report {
    /// Takes every decision about `evidence` under `thresholds`.
    #[must_use]
    pub fn new(evidence: &[Evidence], thresholds: &Thresholds, context: &Context) -> Self {
        let examples: Vec<_> = evidence.iter().map(|record| example(record, thresholds)).collect();
        Self {
            schema: REPORT_SCHEMA.to_string(),
            offset_unit: "byte".to_string(),
            context: context.clone(),
            thresholds: thresholds.clone(),
            summary: Summary::of(&examples),
            provenance: provenance(evidence),
            examples,
        }
    }
}

fn example(evidence: &Evidence, thresholds: &Thresholds) -> ExampleReport {
    let findings = decide(evidence, thresholds);
    let scored = findings.answer_score.is_some();
    let answer = evidence.answer.as_deref();
    let spans = findings.spans.iter().enumerate().map(|(at, span)| SpanReport {
        score: Some(span.score),
        token_range: Some([span.tokens.start, span.tokens.end]),
        ..SpanReport::at(at, answer, [span.range.start, span.range.end])
    });
    let gold = |spans: &Vec<crate::evidence::LabelledSpan>| {
        let one = |(at, span): (usize, &crate::evidence::LabelledSpan)| SpanReport {
            kind: span.kind.clone(),
            ..SpanReport::at(at, answer, [span.start, span.end])
        };
        spans.iter().enumerate().map(one).collect()
    };
    let factuality = evidence.reading.as_ref().and_then(|reading| reading.factuality);
    ExampleReport {
        id: evidence.id.clone(),
        row: evidence.row,
        status: evidence.status,
        reason: evidence.reason.clone(),
        notices: evidence.notices.clone(),
        groups: evidence.groups.clone(),
        question: evidence.question.clone(),
        answer: evidence.answer.clone(),
        references: evidence.references.clone(),
        detector: detector(evidence, thresholds),
        flagged: scored.then_some(findings.flagged),
        flagged_absent: (!scored).then(|| why_not_scored(evidence, thresholds)),
        answer_score: findings.answer_score,
        spans: spans.collect(),
        gold_spans: evidence.gold_spans.as_ref().map(gold),
        factuality,
        factuality_absent: factuality.is_none().then(|| why_no_factuality(evidence)),
        consistent: findings.consistent,
        tokens: evidence.reading.as_ref().filter(|_| scored).map(|reading| reading.tokens.clone()),
        smoothed: scored.then(|| findings.smoothed.clone()),
        chunks: chunks(evidence, &findings),
    }
}

impl SpanReport {
    fn at(position: usize, answer: Option<&str>, [start, end]: [usize; 2]) -> Self {
        let text = answer.and_then(|answer| answer.get(start..end));
        let code_points = answer.zip(text).and_then(|(answer, text)| {
            let before = answer.get(..start)?.chars().count();
            Some([before, before + text.chars().count()])
        });
        Self {
            index: position + 1,
            start,
            end,
            text: text.map(str::to_string),
            text_absent: text.is_none().then(|| {
                let bytes = answer.map_or(0, str::len);
                format!(
                    "bytes {start} to {end} are no whole characters of the answer, which has {bytes} bytes"
                )
            }),
            code_points,
            score: None,
            token_range: None,
            kind: None,
        }
    }
}

fn detector(evidence: &Evidence, thresholds: &Thresholds) -> Option<String> {
    let reading = evidence.reading.as_ref()?;
    chosen_detector(reading, thresholds).map(|detector| detector.name.clone())
}

fn why_not_scored(evidence: &Evidence, thresholds: &Thresholds) -> String {
    let Some(reading) = &evidence.reading else {
        return match (&evidence.reason, &evidence.answer) {
            (Some(reason), _) => reason.clone(),
            (None, None) => "the record has no answer".to_string(),
            (None, Some(_)) => "the answer was not read by a model".to_string(),
        };
    };
    if reading.tokens.is_empty() {
        return "the answer has no token".to_string();
    }
    let names: Vec<_> = reading.detectors.iter().map(|d| d.name.as_str()).collect();
    match &thresholds.detector {
        _ if names.is_empty() => "the record holds no detector's scores".to_string(),
        Some(wanted) if !names.contains(&wanted.as_str()) => {
            format!("no scores of the detector `{wanted}` in this record; it has {}", names.join(", "))
        }
        _ => "the detector's scores do not fit the answer's tokens".to_string(),
    }
}

fn why_no_factuality(evidence: &Evidence) -> String {
    match &evidence.reading {
        None => "the answer was not read by a model".to_string(),
        Some(reading) => {
            reading.factuality_absent.clone().unwrap_or_else(|| "no factuality head was used".to_string())
        }
    }
}

fn chunks(evidence: &Evidence, findings: &Findings) -> Vec<ChunkReport> {
    let one = |(at, chunk): (usize, &crate::evidence::ChunkEvidence)| ChunkReport {
        rank: at + 1,
        id: chunk.id.clone(),
        document: chunk.document.clone(),
        text: chunk.text.clone(),
        score: chunk.score,
        p_value: chunk.p_value,
        p_value_absent: chunk.p_value.is_none().then(|| {
            chunk
                .p_value_absent
                .clone()
                .unwrap_or_else(|| "no calibration was used for this record".to_string())
        }),
        trusted: findings.trusted.get(at).copied().flatten(),
        correct: chunk.correct,
    };
    evidence.chunks.iter().enumerate().map(one).collect()
}
