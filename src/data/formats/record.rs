//! One flat record, its fields already found, as a draft of an example. Shared by the formats whose
//! records are rows: ragscope's own, RAGAS, and mapped ones.

use std::collections::BTreeMap;

use crate::data::dataset::BadRow;
use crate::data::error::shown;
use crate::data::example::{Example, Passage};
use crate::data::json::{Json, Object, parse};
use crate::data::labels::{Draft, DraftRow, Label};
use crate::data::notice::Notices;
use crate::data::units::OffsetUnit;

use super::cell;

/// A value with the name it has in the file.
pub(crate) type Named<'a> = (&'a str, &'a Json);

/// The fields of one record.
#[derive(Debug, Default)]
pub(crate) struct RecordFields<'a> {
    pub(crate) id: Option<Named<'a>>,
    pub(crate) question: Option<Named<'a>>,
    pub(crate) answer: Option<Named<'a>>,
    pub(crate) contexts: Vec<Named<'a>>,
    /// Ids of the contexts, in their order.
    pub(crate) context_ids: Option<Named<'a>>,
    pub(crate) references: Vec<Named<'a>>,
    pub(crate) source_ids: Option<Named<'a>>,
    pub(crate) labels: Option<Named<'a>>,
    pub(crate) offset_unit: Option<Named<'a>>,
    pub(crate) consistent: Option<Named<'a>>,
    pub(crate) groups: Vec<Named<'a>>,
    /// What `question` may be called, for the message when there is none.
    pub(crate) question_names: &'static str,
    /// Whether texts may be the written form of lists and absent values, as in tables.
    pub(crate) cells: bool,
}

/// Builds the draft, or the bad row that says which field is wrong.
pub(crate) fn draft(
    fields: &RecordFields<'_>,
    row: usize,
    line: Option<usize>,
    notices: &mut Notices,
) -> DraftRow {
    let id = fields.id.and_then(|(_, id)| id.scalar()).map(str::trim).filter(|id| !id.is_empty());
    let id = id.map(str::to_owned);
    match build(fields, id.clone(), row, line, notices) {
        Ok(draft) => DraftRow::Draft(Box::new(draft)),
        Err(reason) => DraftRow::Bad(BadRow { row, id, line, reason }),
    }
}

fn build(
    fields: &RecordFields<'_>,
    id: Option<String>,
    row: usize,
    line: Option<usize>,
    notices: &mut Notices,
) -> Result<Draft, String> {
    if let Some((name, value)) = fields.id
        && value.scalar().is_none()
    {
        return Err(wrong(name, "text or a number", value));
    }
    let mut reader = Reader { row, cells: fields.cells, notices };
    let question = reader.question(fields)?;
    let answer = reader.answer(fields.answer)?;
    let mut passages = Vec::new();
    for (name, value) in &fields.contexts {
        reader.passages(name, value, fields.contexts.len() > 1, &mut passages)?;
    }
    if let Some((name, ids)) = fields.context_ids {
        reader.context_ids(name, ids, &mut passages)?;
    }
    let mut references = Vec::new();
    for (name, value) in &fields.references {
        for reference in reader.texts(name, value, "a reference")? {
            if !reference.trim().is_empty() && !references.contains(&reference) {
                references.push(reference);
            }
        }
    }
    let source_documents = match fields.source_ids {
        Some((name, ids)) => reader.texts(name, ids, "an id")?,
        None => Vec::new(),
    };
    let labels = fields.labels.map(|(name, value)| reader.labels(name, value)).transpose()?.flatten();
    if answer.is_none() && labels.as_ref().is_some_and(|labels| !labels.is_empty()) {
        return Err("field `labels`: expected an answer that they mark, found none".to_owned());
    }
    let unit = reader.offset_unit(fields.offset_unit)?;
    let gold_consistent =
        fields.consistent.map(|(name, value)| reader.flag(name, value)).transpose()?.flatten();
    if let (Some(consistent), Some(labels)) = (gold_consistent, &labels) {
        let contradicts = consistent != labels.is_empty();
        reader.note("`consistent` contradicts the labels; the labels count", usize::from(contradicts));
    }
    let mut groups = BTreeMap::new();
    for (name, value) in &fields.groups {
        let text = value.scalar().ok_or_else(|| wrong(name, "text or a number", value))?;
        groups.insert((*name).to_owned(), text.to_owned());
    }
    let example = Example {
        id: id.unwrap_or_else(|| format!("row-{row}")),
        row,
        question,
        passages,
        answer,
        references,
        source_documents,
        gold_spans: None,
        gold_consistent,
        groups,
    };
    Ok(Draft { example, line, labels, unit })
}

fn wrong(name: &str, expected: &str, found: &Json) -> String {
    format!("field `{}`: expected {expected}, found {}", shown(name), found.kind())
}

/// The value of a cell: text may be a written list, or the mark of an absent value.
fn unfold(name: &str, value: &Json) -> Result<Option<Json>, String> {
    match value {
        Json::Text(text) if cell::is_absent(text) => Ok(None),
        Json::Text(text) => cell::value(text).map_err(|reason| format!("field `{}`: {reason}", shown(name))),
        other => Ok(Some(other.clone())),
    }
}

struct Reader<'a> {
    row: usize,
    cells: bool,
    notices: &'a mut Notices,
}

impl Reader<'_> {
    fn note(&mut self, text: &str, count: usize) {
        self.notices.add(text, count, Some(self.row));
    }

    fn question(&mut self, fields: &RecordFields<'_>) -> Result<String, String> {
        let Some((name, value)) = fields.question else {
            return Err(format!("expected a question in {}, found none", fields.question_names));
        };
        if let Json::List(items) = value
            && items.iter().any(|item| item.object().is_some_and(|message| message.has("content")))
        {
            return Err(format!(
                "field `{}`: expected one question, found a list of messages; samples of several turns are not read",
                shown(name)
            ));
        }
        let question = value.scalar().ok_or_else(|| wrong(name, "text", value))?;
        if question.trim().is_empty() || (self.cells && cell::is_absent(question)) {
            return Err(format!("field `{}`: expected a question, found blank text", shown(name)));
        }
        Ok(question.to_owned())
    }

    fn answer(&mut self, field: Option<Named<'_>>) -> Result<Option<String>, String> {
        let Some((name, value)) = field else { return Ok(None) };
        let (Json::Text(answer) | Json::Number(answer)) = value else {
            return Err(wrong(name, "text", value));
        };
        if answer.trim().is_empty() {
            self.note("a blank answer was read as no answer", usize::from(!self.cells));
            return Ok(None);
        }
        if self.cells && cell::is_absent(answer) {
            self.note("the cell `nan` in place of an answer was read as no answer", 1);
            return Ok(None);
        }
        Ok(Some(answer.clone()))
    }

    fn passages(
        &mut self,
        name: &str,
        value: &Json,
        one_of_several: bool,
        out: &mut Vec<Passage>,
    ) -> Result<(), String> {
        // Even where texts are texts, contexts that begin with `['` are a list that was written out.
        let Some(value) = unfold(name, value)? else { return Ok(()) };
        match &value {
            Json::List(items) => self.passage_items(name, items, out),
            one @ (Json::Text(_) | Json::Object(_)) => {
                let expected_one = self.cells || one_of_several;
                self.note(
                    "one text in place of a list of contexts was read as one context",
                    usize::from(!expected_one),
                );
                self.passage(name, one, out)
            }
            other => Err(wrong(name, "a list of contexts", other)),
        }
    }

    fn passage_items(&mut self, name: &str, items: &[Json], out: &mut Vec<Passage>) -> Result<(), String> {
        for item in items {
            match item {
                Json::List(inner) => {
                    self.note("a list inside the list of contexts was unwrapped", 1);
                    for item in inner {
                        self.passage(name, item, out)?;
                    }
                }
                item => self.passage(name, item, out)?,
            }
        }
        Ok(())
    }

    fn passage(&mut self, name: &str, item: &Json, out: &mut Vec<Passage>) -> Result<(), String> {
        let passage = match item {
            Json::Null => {
                self.note("a context that is null was left out", 1);
                return Ok(());
            }
            Json::Text(text) => Passage { text: text.clone(), ..Passage::default() },
            Json::Number(digits) if self.cells => Passage { text: digits.clone(), ..Passage::default() },
            Json::Object(fields) => passage_of(fields)
                .map_err(|reason| format!("field `{}`, context {}: {reason}", shown(name), out.len()))?,
            other => return Err(wrong(name, "contexts that are text or objects with `text`", other)),
        };
        if passage.text.trim().is_empty() {
            self.note("a blank context was left out", 1);
        } else {
            out.push(passage);
        }
        Ok(())
    }

    fn context_ids(&mut self, name: &str, ids: &Json, passages: &mut [Passage]) -> Result<(), String> {
        let ids = self.texts(name, ids, "an id")?;
        if ids.len() != passages.len() {
            return Err(format!(
                "field `{}`: expected one id for each of {} contexts, found {}",
                shown(name),
                passages.len(),
                ids.len()
            ));
        }
        for (passage, id) in passages.iter_mut().zip(ids) {
            passage.document = Some(id.clone());
            passage.id = Some(id);
        }
        Ok(())
    }

    /// One text, or a list of them.
    fn texts(&mut self, name: &str, value: &Json, what: &str) -> Result<Vec<String>, String> {
        let from_cell = matches!(value, Json::Text(_));
        let Some(value) = (if self.cells { unfold(name, value)? } else { Some(value.clone()) }) else {
            return Ok(Vec::new());
        };
        let items = match &value {
            Json::List(items) => {
                if from_cell && items.len() == 1 {
                    self.note(
                        &format!("a written list of one in place of {what} was read as its one item"),
                        1,
                    );
                }
                items.as_slice()
            }
            one => std::slice::from_ref(one),
        };
        let text = |item: &Json| match item {
            Json::Text(text) | Json::Number(text) => Ok(text.clone()),
            other => Err(wrong(name, "text or a list of texts", other)),
        };
        items.iter().filter(|item| **item != Json::Null).map(text).collect()
    }

    fn labels(&mut self, name: &str, value: &Json) -> Result<Option<Vec<Label>>, String> {
        let parsed;
        let value = match value {
            Json::Text(text) if self.cells && cell::is_absent(text) => return Ok(None),
            Json::Text(text) if self.cells => {
                let column = format!("field `{}`: expected a JSON list of labels", shown(name));
                parsed = parse(text).map_err(|error| format!("{column}: {}", error.in_line(text)))?.0;
                &parsed
            }
            other => other,
        };
        labels(name, value).map(Some)
    }

    fn offset_unit(&self, field: Option<Named<'_>>) -> Result<Option<OffsetUnit>, String> {
        let Some((name, value)) = field else { return Ok(None) };
        match value.text() {
            Some(text) if self.cells && cell::is_absent(text) => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|error| format!("field `{}`: {error}", shown(name))),
            None => Err(wrong(name, "text", value)),
        }
    }

    fn flag(&self, name: &str, value: &Json) -> Result<Option<bool>, String> {
        match value {
            Json::Bool(flag) => Ok(Some(*flag)),
            Json::Text(text) if self.cells => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" => Ok(Some(true)),
                "false" | "0" | "no" => Ok(Some(false)),
                "" | "nan" => Ok(None),
                _ => Err(format!("field `{}`: expected true or false, found `{}`", shown(name), shown(text))),
            },
            other => Err(wrong(name, "true or false", other)),
        }
    }
}

fn passage_of(fields: &Object) -> Result<Passage, String> {
    let text = fields.first_of(&["text", "content", "page_content", "context"]);
    let Some(text) = text.and_then(Json::text) else {
        return Err("expected a text in `text`, found none".to_owned());
    };
    let named = |names: &[&str]| match fields.first_of(names) {
        None => Ok(None),
        Some(value) => match value.scalar() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(format!("`{}`: expected text or a number, found {}", names[0], value.kind())),
        },
    };
    let score = match fields.get("score") {
        None => None,
        Some(Json::Number(digits)) => digits.parse::<f64>().ok().filter(|score| score.is_finite()),
        Some(other) => return Err(format!("`score`: expected a number, found {}", other.kind())),
    };
    Ok(Passage {
        id: named(&["id"])?,
        document: named(&["document", "source"])?,
        text: text.to_owned(),
        score,
    })
}

/// Reads a list of labels with `start` and `end`.
pub(crate) fn labels(name: &str, value: &Json) -> Result<Vec<Label>, String> {
    let items = value.list().ok_or_else(|| wrong(name, "a list of labels", value))?;
    let label = |(number, item): (usize, &Json)| {
        let at = |problem: String| format!("field `{}`, label {number}: {problem}", shown(name));
        let Some(fields) = item.object() else {
            return Err(at(format!("expected an object with `start` and `end`, found {}", item.kind())));
        };
        let offset = |name: &str| match fields.get(name) {
            None => Err(at(format!("expected `{name}`, found none"))),
            Some(value) => value.offset().ok_or_else(|| {
                let found =
                    value.scalar().map_or(value.kind().to_owned(), |text| format!("`{}`", shown(text)));
                at(format!("expected a whole number in `{name}`, found {found}"))
            }),
        };
        Ok(Label {
            start: offset("start")?,
            end: offset("end")?,
            text: fields.text("text").map(str::to_owned),
            kind: fields
                .first_of(&["kind", "label_type", "label"])
                .and_then(Json::scalar)
                .filter(|kind| !kind.trim().is_empty())
                .map(str::to_owned),
        })
    };
    items.iter().enumerate().map(label).collect()
}
