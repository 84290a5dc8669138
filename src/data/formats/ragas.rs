//! RAGAS: JSON lines, JSON lists and tables, with the names of either generation, even mixed.
//!
//! Fields are dropped when they are none, so the names vary from row to row. Lists in tables arrive
//! as text; [`super::cell`] reads them.

use crate::data::error::DataError;
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::mapped::{self, Names};
use super::translated::{Translated, Translation, drafts};
use super::{Content, Input, Parts};

/// The newer name first.
pub(super) const NAMES: Names = Names {
    id: &["id"],
    question: &["user_input", "question"],
    answer: &["response", "answer"],
    contexts: &["retrieved_contexts", "contexts"],
    context_ids: &["retrieved_context_ids"],
    references: &["reference", "ground_truth", "ground_truths", "expected_answer"],
    source_ids: &["reference_context_ids"],
    labels: &[],
    offset_unit: &[],
    consistent: &[],
    source: &[],
    shown: "`user_input` or `question`",
};

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    if let Content::Document(Json::Object(metrics), _) = &input.detected.content
        && is_annotated(metrics)
    {
        return Ok(Parts { rows: drafts(annotated(metrics), notices), documents: Vec::new() });
    }
    mapped::rows(input, &NAMES, notices)
}

/// Whether a document is what annotators of metrics left: lists of `metric_input` by the metric's name.
pub(super) fn is_annotated(fields: &Object) -> bool {
    fields.iter().any(|(_, samples)| {
        let first = samples.list().and_then(<[Json]>::first).and_then(Json::object);
        first.is_some_and(|sample| sample.has("metric_input"))
    })
}

fn annotated(metrics: &Object) -> Vec<Translated> {
    let mut records = Vec::new();
    for (metric, samples) in metrics.iter() {
        for sample in samples.list().unwrap_or_default() {
            let input = sample.object().and_then(|sample| sample.get("metric_input")).and_then(Json::object);
            let record = input.map(|input| {
                Translation::default()
                    .put("question", input.first_of(NAMES.question))
                    .put("answer", input.first_of(NAMES.answer))
                    .put(
                        "contexts",
                        input.first_of(NAMES.contexts).or_else(|| input.get("reference_contexts")),
                    )
                    .put("reference", input.first_of(NAMES.references))
                    .group("metric", Some(metric))
                    .finish()
            });
            records.push((
                None,
                record.ok_or_else(|| "expected an object `metric_input`, found none".to_owned()),
            ));
        }
    }
    records
}

#[cfg(test)]
#[path = "ragas_tests.rs"]
mod tests;
