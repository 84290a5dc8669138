//! The common target record of every importer.

use std::collections::BTreeMap;
use std::ops::Range;

/// One question with what a pipeline retrieved and answered.
///
/// All offsets are UTF-8 byte offsets, half open.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// The id of the data set as text (never a number), or `row-<n>` when it has none.
    pub id: String,
    /// Number of the record in its file, from 0, counting bad rows: the key of sharding and resuming.
    pub row: usize,
    pub question: String,
    /// Passages that came with the data, in rank order. Empty: ragscope retrieves its own.
    pub passages: Vec<Passage>,
    /// `None` when the data set has no answer, or a null one.
    pub answer: Option<String>,
    /// Acceptable reference answers.
    pub references: Vec<String>,
    /// Ids of the documents that hold the answer.
    pub source_documents: Vec<String>,
    /// Labelled unsupported spans of `answer`. `None`: nobody labelled it; empty: labelled, and clean.
    pub gold_spans: Option<Vec<GoldSpan>>,
    /// Answer-level label where there is one without spans: `true` when the answer is consistent.
    pub gold_consistent: Option<bool>,
    /// What examples are grouped by: `source` (the key of grouped splits), `generator`, `task`,
    /// `domain`, ... whatever the data set has.
    pub groups: BTreeMap<String, String>,
}

impl Example {
    /// The key that must never straddle a split: the `source` group, else the question itself
    /// (several answers to one question share it).
    #[must_use]
    pub fn split_key(&self) -> &str {
        self.groups.get("source").map_or(&self.question, String::as_str)
    }

    /// Whether the answer is labelled inconsistent (any unsupported span), where it is labelled.
    #[must_use]
    pub fn labelled_inconsistent(&self) -> Option<bool> {
        match (&self.gold_spans, self.gold_consistent) {
            (Some(spans), _) => Some(!spans.is_empty()),
            (None, Some(consistent)) => Some(!consistent),
            (None, None) => None,
        }
    }
}

/// A retrieved passage as the data set gave it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Passage {
    pub id: Option<String>,
    /// Id of the document it was cut from.
    pub document: Option<String>,
    pub text: String,
    /// The retriever's own score; higher is better.
    pub score: Option<f64>,
}

/// A labelled unsupported span of an answer, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldSpan {
    pub range: Range<usize>,
    /// The data set's own name for the kind of error, if any.
    pub kind: Option<String>,
}

/// A document of the corpus that is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub id: String,
    pub title: Option<String>,
    /// Parts that must not be glued together (a table and its paragraphs); mostly one.
    pub parts: Vec<String>,
    pub groups: BTreeMap<String, String>,
}
