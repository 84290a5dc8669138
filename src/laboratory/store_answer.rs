//! Labelled answers, before and after they are read.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::detect::token_labels;

/// A labelled answer, before it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelledAnswer {
    /// Unique in the data set, for example the row number.
    pub key: String,
    /// The key of grouped splits.
    pub source: String,
    /// Which model wrote the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// What the answer was asked to do, for example `QA`, where the data set has several tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The data set's own split, for example `train`, `dev` or `test`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Its text.
    pub answer: String,
    /// Labelled unsupported spans, in bytes.
    pub gold_spans: Vec<Range<usize>>,
    /// Answer-level label: any unsupported span.
    pub inconsistent: bool,
}

/// A labelled answer in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredAnswer {
    /// As it was given.
    #[serde(flatten)]
    pub labelled: LabelledAnswer,
    /// Byte range of each token, `[T]`.
    pub token_ranges: Vec<Range<usize>>,
    /// Number of its first token in the store, which follows from the answers before it.
    #[serde(skip)]
    pub first_token: usize,
}

impl StoredAnswer {
    /// Its tokens in the store.
    #[must_use]
    pub const fn tokens(&self) -> Range<usize> {
        self.first_token..self.first_token + self.token_ranges.len()
    }

    /// Token labels, `[T]`.
    #[must_use]
    pub fn token_labels(&self) -> Vec<bool> {
        token_labels(&self.labelled.answer, &self.token_ranges, &self.labelled.gold_spans)
    }
}
