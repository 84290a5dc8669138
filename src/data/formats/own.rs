//! ragscope's own JSONL.
//!
//! One JSON object a line. Only `question` is required; a null field is as good as none.
//!
//! | field | value |
//! |---|---|
//! | `id` | text, or a number of any length; kept as text. Without it: `row-<n>` |
//! | `question` | text |
//! | `answer` | text; null or absent when there is none |
//! | `reference`, `references` | an acceptable answer, or a list of them |
//! | `source_ids` | ids of the documents that hold the answer |
//! | `contexts` | retrieved passages in rank order: texts, or `{"text", "id", "document", "score"}` |
//! | `labels` | unsupported spans of the answer: `{"start", "end", "text", "kind"}`, half open; `[]`: labelled, and clean |
//! | `offset_unit` | of `labels`: `codepoint` (when not stated), `byte`, `utf16` |
//! | `consistent` | whether the whole answer is supported, where there are no spans |
//! | `groups` | names and values by which results are grouped |
//! | `source_id` | group `source`: what must not straddle a split |
//!
//! Other fields are kept out, and told once a file. A folder with `examples.jsonl` and
//! `documents.jsonl` (`{"id", "title", "text" or "parts", "groups"}`) is opened whole.

use std::collections::{BTreeMap, HashSet};

use crate::data::dataset::{BadRow, Row};
use crate::data::error::{DataError, distinct, shown, shown_names};
use crate::data::example::Document;
use crate::data::json::{Json, Object};
use crate::data::labels::{DraftRow, resolve};
use crate::data::notice::Notices;
use crate::data::source_file::{DataHash, SourceFile, without_compression};

use super::content::{self, SourceRow};
use super::record::{self, RecordFields};
use super::{Input, Parts};

const FIELDS: [&str; 12] = [
    "id",
    "question",
    "answer",
    "reference",
    "references",
    "source_ids",
    "contexts",
    "labels",
    "offset_unit",
    "consistent",
    "groups",
    "source_id",
];

/// Reads one line of own JSONL: for streams, in which no file is known as a whole.
///
/// `row` counts records from 0, `line_number` lines from 1. Labels without a stated unit are checked
/// by their texts within this one record.
pub fn parse_line(line: &[u8], row: usize, line_number: usize) -> Row {
    parse_line_noting(line, row, line_number, &mut Notices::default())
}

/// [`parse_line`] that tells what it tolerated.
pub fn parse_line_noting(line: &[u8], row: usize, line_number: usize, notices: &mut Notices) -> Row {
    let line_number = Some(line_number);
    let fields = content::object(line).map(|(fields, tolerated)| {
        tolerated.tell(Some(row), notices);
        fields
    });
    let draft = draft(&SourceRow { row, line: line_number, fields }, notices);
    let rows = resolve(vec![draft], None, notices);
    rows.into_iter().next().unwrap_or_else(|| {
        Row::Bad(BadRow { row, id: None, line: line_number, reason: "the record was lost".to_owned() })
    })
}

/// Reads a file, and the documents beside it when it is named `examples.jsonl`.
pub(super) fn read(
    input: &Input<'_>,
    hash: &mut DataHash,
    notices: &mut Notices,
) -> Result<Parts, DataError> {
    let source_rows = input.rows(notices)?;
    let records = source_rows.iter().filter_map(|row| row.fields.as_ref().ok());
    tell_kept_out(distinct(records.flat_map(Object::names)), notices);
    let rows: Vec<DraftRow> = source_rows.iter().map(|row| draft(row, notices)).collect();
    let documents = match documents_beside(input.file) {
        Some(path) => documents(&SourceFile::open(&path, hash)?, notices)?,
        None => Vec::new(),
    };
    if !documents.is_empty() {
        tell_unknown_documents(&rows, &documents, notices);
    }
    Ok(Parts { rows, documents })
}

/// Tells which of the fields of all records have no meaning here.
pub(super) fn tell_kept_out<'a>(names: impl IntoIterator<Item = &'a str>, notices: &mut Notices) {
    let kept_out: Vec<&str> = names.into_iter().filter(|name| !FIELDS.contains(name)).collect();
    if !kept_out.is_empty() {
        notices.tell(format!(
            "fields without a meaning here are kept out: {}; put what you want to group by into `groups`",
            shown_names(kept_out)
        ));
    }
}

pub(super) fn draft(source: &SourceRow, notices: &mut Notices) -> DraftRow {
    let SourceRow { row, line, fields } = source;
    let fields = match fields {
        Ok(fields) => fields,
        Err(reason) => {
            return DraftRow::Bad(BadRow { row: *row, id: None, line: *line, reason: reason.clone() });
        }
    };
    let named = |name: &'static str| fields.get(name).map(|value| (name, value));
    let mut groups: Vec<(&str, &Json)> = Vec::new();
    match fields.get("groups") {
        None => {}
        Some(Json::Object(given)) => groups.extend(given.iter().filter(|(_, value)| **value != Json::Null)),
        Some(other) => {
            return DraftRow::Bad(BadRow {
                row: *row,
                id: fields.scalar("id").map(str::to_owned),
                line: *line,
                reason: format!(
                    "field `groups`: expected an object of names and values, found {}",
                    other.kind()
                ),
            });
        }
    }
    groups.extend(fields.get("source_id").map(|value| ("source", value)));
    let fields = RecordFields {
        id: named("id"),
        question: named("question"),
        answer: named("answer"),
        contexts: named("contexts").into_iter().collect(),
        context_ids: None,
        references: named("reference").into_iter().chain(named("references")).collect(),
        source_ids: named("source_ids"),
        labels: named("labels"),
        offset_unit: named("offset_unit"),
        consistent: named("consistent"),
        groups,
        question_names: "`question`",
        cells: false,
    };
    record::draft(&fields, *row, *line, notices)
}

pub(super) fn documents_beside(file: &SourceFile) -> Option<std::path::PathBuf> {
    let name = file.path.file_name()?.to_str()?;
    let examples = without_compression(name) == "examples.jsonl";
    if examples { file.beside("documents.jsonl") } else { None }
}

/// Reads a corpus. A bad document is an error, unlike a bad example: what is searched decides every
/// calibration made on it.
fn documents(file: &SourceFile, notices: &mut Notices) -> Result<Vec<Document>, DataError> {
    let mut documents: Vec<Document> = Vec::new();
    let mut ids = HashSet::new();
    for SourceRow { line, fields, .. } in content::lines(file, notices)? {
        let document = fields.and_then(|fields| document(&fields));
        let document = document.and_then(|document| {
            if ids.insert(document.id.clone()) {
                return Ok(document);
            }
            Err(format!("expected an id of its own, found `{}` a second time", shown(&document.id)))
        });
        documents.push(document.map_err(|reason| DataError::Layout {
            path: file.shown.clone(),
            format: super::Format::Ragscope.name(),
            because: "it lies beside `examples.jsonl`".to_owned(),
            problem: format!("line {}: {reason}", line.unwrap_or(0)),
        })?);
    }
    Ok(documents)
}

fn document(fields: &Object) -> Result<Document, String> {
    let id = fields.scalar("id").ok_or("expected `id` as text or a number, found none")?.to_owned();
    let parts = match (fields.get("text"), fields.get("parts")) {
        (Some(Json::Text(text)), None) => vec![text.clone()],
        (None, Some(Json::List(parts))) => {
            let part = |part: &Json| part.text().map(str::to_owned).ok_or("expected texts in `parts`");
            parts.iter().map(part).collect::<Result<_, _>>()?
        }
        (Some(_), Some(_)) => return Err("expected `text` or `parts`, found both".to_owned()),
        _ => return Err("expected a text in `text` or a list of texts in `parts`, found neither".to_owned()),
    };
    if parts.iter().all(|part| part.trim().is_empty()) {
        return Err("expected a text, found a blank one".to_owned());
    }
    let groups = fields.get("groups").and_then(Json::object);
    let groups: BTreeMap<String, String> = groups
        .into_iter()
        .flat_map(Object::iter)
        .filter_map(|(name, value)| Some((name.to_owned(), value.scalar()?.to_owned())))
        .collect();
    Ok(Document { id, title: fields.text("title").map(str::to_owned), parts, groups })
}

fn tell_unknown_documents(rows: &[DraftRow], documents: &[Document], notices: &mut Notices) {
    let known: HashSet<&str> = documents.iter().map(|document| document.id.as_str()).collect();
    for row in rows {
        let DraftRow::Draft(draft) = row else { continue };
        let unknown = draft.example.source_documents.iter().filter(|id| !known.contains(id.as_str())).count();
        notices.add(
            "`source_ids` names a document that `documents.jsonl` does not have",
            unknown,
            Some(draft.example.row),
        );
    }
}

#[cfg(test)]
#[path = "own_tests.rs"]
mod tests;
