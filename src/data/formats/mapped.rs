//! Rows of any origin: fields by `--map`, the rest by the names that are usual.

use crate::data::dataset::BadRow;
use crate::data::error::{DataError, distinct, shown_names};
use crate::data::field_map::{FieldMap, Target};
use crate::data::json::{Json, Object};
use crate::data::labels::DraftRow;
use crate::data::notice::Notices;

use super::content::SourceRow;
use super::record::{self, Named, RecordFields};
use super::{Input, Parts};

/// Names of fields; of several in one record the first that has a value counts.
pub(super) struct Names {
    pub(super) id: &'static [&'static str],
    pub(super) question: &'static [&'static str],
    pub(super) answer: &'static [&'static str],
    pub(super) contexts: &'static [&'static str],
    pub(super) context_ids: &'static [&'static str],
    pub(super) references: &'static [&'static str],
    pub(super) source_ids: &'static [&'static str],
    pub(super) labels: &'static [&'static str],
    pub(super) offset_unit: &'static [&'static str],
    pub(super) consistent: &'static [&'static str],
    /// Of the group `source`.
    pub(super) source: &'static [&'static str],
    /// The names of the question, for messages.
    pub(super) shown: &'static str,
}

pub(super) const NAMES: Names = Names {
    id: &["id"],
    question: &["question", "user_input"],
    answer: &["answer", "response"],
    contexts: &["contexts", "retrieved_contexts"],
    context_ids: &["retrieved_context_ids"],
    references: &["reference", "references", "ground_truth", "ground_truths"],
    source_ids: &["source_ids", "reference_context_ids"],
    labels: &["labels"],
    offset_unit: &["offset_unit"],
    consistent: &["consistent"],
    source: &["source_id"],
    shown: "`question` (another field is named by --map question=FIELD)",
};

impl Names {
    fn lists(&self) -> [&'static [&'static str]; 11] {
        [
            self.id,
            self.question,
            self.answer,
            self.contexts,
            self.context_ids,
            self.references,
            self.source_ids,
            self.labels,
            self.offset_unit,
            self.consistent,
            self.source,
        ]
    }
}

impl Names {
    /// Tells which of the fields of all records have no meaning here.
    pub(super) fn tell_kept_out<'a>(
        &self,
        map: &FieldMap,
        names: impl IntoIterator<Item = &'a str>,
        notices: &mut Notices,
    ) {
        let known = |name: &str| map.uses(name) || self.lists().iter().any(|list| list.contains(&name));
        let kept_out: Vec<&str> = names.into_iter().filter(|name| !known(name)).collect();
        if !kept_out.is_empty() {
            notices.tell(format!(
                "fields without a meaning here are kept out: {} (--map group.NAME=FIELD keeps one to group by)",
                shown_names(kept_out)
            ));
        }
    }
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    rows(input, &NAMES, notices)
}

/// Reads rows whose fields are named by the map of `input`, else by `names`.
pub(super) fn rows(input: &Input<'_>, names: &Names, notices: &mut Notices) -> Result<Parts, DataError> {
    let source_rows = input.rows(notices)?;
    let records: Vec<&Object> = source_rows.iter().filter_map(|row| row.fields.as_ref().ok()).collect();
    input.map.check(&records)?;
    names.tell_kept_out(input.map, distinct(records.iter().flat_map(|fields| fields.names())), notices);
    // A list may be written as text inside JSON as well: a table went through it before.
    let rows = source_rows.iter().map(|row| draft(row, input.map, names, notices)).collect();
    Ok(Parts { rows, documents: Vec::new() })
}

pub(super) fn draft(source: &SourceRow, map: &FieldMap, names: &Names, notices: &mut Notices) -> DraftRow {
    let SourceRow { row, line, fields } = source;
    let fields = match fields {
        Ok(fields) => fields,
        Err(reason) => {
            return DraftRow::Bad(BadRow { row: *row, id: None, line: *line, reason: reason.clone() });
        }
    };
    let mut usual = |list: &'static [&'static str]| -> Option<Named<'_>> {
        let mut present = list
            .iter()
            .filter_map(|name| Some((*name, fields.get(name)?)))
            .filter(|(_, value)| !is_blank(value));
        let first = present.next()?;
        if let Some((second, _)) = present.find(|(_, value)| *value != first.1) {
            notices.add(
                &format!("`{}` and `{second}` differ in one record; `{}` counts", first.0, first.0),
                1,
                Some(*row),
            );
        }
        Some(first)
    };
    let mut groups: Vec<Named<'_>> =
        map.groups(fields).into_iter().filter(|(_, value)| !is_blank(value)).collect();
    if !groups.iter().any(|(name, _)| *name == "source") {
        groups.extend(usual(names.source).map(|(_, value)| ("source", value)));
    }
    let fields = RecordFields {
        id: one(map.find(&Target::Id, fields), usual(names.id)),
        question: one(map.find(&Target::Question, fields), usual(names.question)),
        answer: one(map.find(&Target::Answer, fields), usual(names.answer)),
        contexts: several(map.find(&Target::Contexts, fields), usual(names.contexts)),
        context_ids: usual(names.context_ids),
        references: several(map.find(&Target::Reference, fields), usual(names.references)),
        source_ids: one(map.find(&Target::SourceIds, fields), usual(names.source_ids)),
        labels: one(map.find(&Target::Labels, fields), usual(names.labels)),
        offset_unit: usual(names.offset_unit),
        consistent: one(map.find(&Target::Consistent, fields), usual(names.consistent)),
        groups,
        question_names: names.shown,
        cells: true,
    };
    record::draft(&fields, *row, *line, notices)
}

/// What the map names, else the usual field.
fn one<'a>(mapped: Option<Vec<Named<'a>>>, usual: Option<Named<'a>>) -> Option<Named<'a>> {
    match mapped {
        Some(found) => found.first().copied(),
        None => usual,
    }
}

fn several<'a>(mapped: Option<Vec<Named<'a>>>, usual: Option<Named<'a>>) -> Vec<Named<'a>> {
    mapped.unwrap_or_else(|| usual.into_iter().collect())
}

fn is_blank(value: &Json) -> bool {
    value.text().is_some_and(|text| text.trim().is_empty())
}

#[cfg(test)]
#[path = "mapped_tests.rs"]
mod tests;
