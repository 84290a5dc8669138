//! The numbers at the top of a report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Status;

use super::record::ExampleReport;

/// Counts over all examples.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub examples: usize,
    pub ok: usize,
    pub partial: usize,
    pub errors: usize,
    /// Answers with token scores: the ones a decision was taken about.
    pub scored: usize,
    /// Scored answers with at least one flagged span.
    pub flagged: usize,
    /// Flagged spans in all answers.
    pub spans: usize,
    /// Chunks with a p-value.
    pub certified_chunks: usize,
    /// Chunks whose p-value exceeds alpha.
    pub trusted_chunks: usize,
    /// All chunks.
    pub chunks: usize,
    /// Scored answers that someone labelled.
    pub labelled: usize,
    /// How the flags agree with the labels; `null` when no scored answer is labelled.
    pub agreement: Option<Agreement>,
    pub agreement_absent: Option<String>,
}

/// Flags against labels, over the scored answers that are labelled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Agreement {
    /// Answers labelled unsupported somewhere, and flagged.
    pub flagged_unsupported: usize,
    /// Answers labelled clean, yet flagged.
    pub flagged_clean: usize,
    /// Answers labelled unsupported somewhere, yet not flagged.
    pub missed_unsupported: usize,
    /// Answers labelled clean, and not flagged.
    pub passed_clean: usize,
    /// Characters (not blank) inside labelled spans.
    pub labelled_characters: usize,
    /// Characters (not blank) inside flagged spans.
    pub flagged_characters: usize,
    /// Characters (not blank) inside both.
    pub both_characters: usize,
}

impl Agreement {
    /// Answers where flag and label say the same.
    #[must_use]
    pub fn agreeing(&self) -> usize {
        self.flagged_unsupported + self.passed_clean
    }

    fn add(&mut self, example: &ExampleReport, flagged: bool, labels: &[super::record::SpanReport]) {
        *match (flagged, !labels.is_empty()) {
            (true, true) => &mut self.flagged_unsupported,
            (true, false) => &mut self.flagged_clean,
            (false, true) => &mut self.missed_unsupported,
            (false, false) => &mut self.passed_clean,
        } += 1;
        let ranges = |spans: &[super::record::SpanReport]| -> Vec<_> {
            spans.iter().map(|span| span.start..span.end).collect()
        };
        let answer = example.answer.as_deref().unwrap_or_default();
        for segment in super::marking::segments(answer, &ranges(&example.spans), &ranges(labels)) {
            let characters = segment.text.chars().filter(|c| !c.is_whitespace()).count();
            if segment.labelled.is_some() {
                self.labelled_characters += characters;
            }
            if segment.flagged.is_some() {
                self.flagged_characters += characters;
            }
            if segment.flagged.is_some() && segment.labelled.is_some() {
                self.both_characters += characters;
            }
        }
    }
}

impl Summary {
    /// Counts `examples`.
    #[must_use]
    pub fn of(examples: &[ExampleReport]) -> Self {
        let mut summary = Self { examples: examples.len(), ..Self::default() };
        let mut agreement = Agreement::default();
        for example in examples {
            match example.status {
                Status::Ok => summary.ok += 1,
                Status::Partial => summary.partial += 1,
                Status::Error => summary.errors += 1,
            }
            summary.chunks += example.chunks.len();
            summary.certified_chunks += example.chunks.iter().filter(|c| c.trusted.is_some()).count();
            summary.trusted_chunks += example.chunks.iter().filter(|c| c.trusted == Some(true)).count();
            summary.spans += example.spans.len();
            let Some(flagged) = example.flagged else { continue };
            summary.scored += 1;
            summary.flagged += usize::from(flagged);
            if let Some(labels) = &example.gold_spans {
                summary.labelled += 1;
                agreement.add(example, flagged, labels);
            }
        }
        if summary.labelled > 0 {
            summary.agreement = Some(agreement);
        } else {
            summary.agreement_absent = Some("no answer with token scores is labelled".to_string());
        }
        summary
    }
}
