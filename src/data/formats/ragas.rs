//! RAGAS: JSON lines, JSON lists and tables, with the names of either generation, even mixed.
//!
//! Fields are dropped when they are none, so the names vary from row to row. Lists in tables arrive
//! as text; [`super::cell`] reads them.

use crate::data::error::DataError;
use crate::data::notice::Notices;

use super::mapped::{self, Names};
use super::{Input, Parts};

/// The newer name first.
pub(super) const NAMES: Names = Names {
    id: &["id"],
    question: &["user_input", "question"],
    answer: &["response", "answer"],
    contexts: &["retrieved_contexts", "contexts"],
    context_ids: &["retrieved_context_ids"],
    references: &["reference", "ground_truth", "ground_truths"],
    source_ids: &["reference_context_ids"],
    labels: &[],
    offset_unit: &[],
    consistent: &[],
    source: &[],
    shown: "`user_input` or `question`",
};

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    mapped::rows(input, &NAMES, notices)
}

#[cfg(test)]
#[path = "ragas_tests.rs"]
mod tests;
