//! TAT-QA: questions on a table and its paragraphs. The table and the paragraphs are the parts of one
//! document: they belong together and must not be glued.

use std::collections::{BTreeMap, HashSet};

use crate::data::dataset::BadRow;
use crate::data::error::{DataError, shown};
use crate::data::example::{Document, Example};
use crate::data::json::{Json, Object};
use crate::data::labels::DraftRow;
use crate::data::notice::Notices;

use super::squad::draft;
use super::{Content, Input, Parts};

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    let Content::Document(Json::List(items), tolerated) = &input.detected.content else {
        return Err(input.broken("the file is not one JSON list"));
    };
    tolerated.tell(None, notices);
    let mut parts = Parts::default();
    let mut ids = HashSet::new();
    for (number, item) in items.iter().enumerate() {
        let place = format!("document {number}");
        let item = item.object().ok_or_else(|| input.broken(format!("{place} is no object")))?;
        let mut document =
            document(item, number).map_err(|reason| input.broken(format!("{place}: {reason}")))?;
        if !ids.insert(document.id.clone()) {
            notices.add("a table id occurs twice; the later document got a number", 1, None);
            document.id = format!("{}#{number}", document.id);
            ids.insert(document.id.clone());
        }
        for question in item.list("questions").unwrap_or_default() {
            parts.rows.push(question_row(question, parts.rows.len(), &document.id));
        }
        parts.documents.push(document);
    }
    if parts.rows.is_empty() {
        return Err(input.broken("there is no question in it"));
    }
    Ok(parts)
}

fn document(item: &Object, number: usize) -> Result<Document, String> {
    let table =
        item.get("table").and_then(Json::object).ok_or("expected an object in `table`, found none")?;
    let lines = table.list("table").ok_or("expected a list of rows in `table.table`, found none")?;
    let line = |line: &Json| {
        let cells = line.list().ok_or_else(|| format!("expected a row of cells, found {}", line.kind()))?;
        let cells: Vec<&str> = cells.iter().map(|cell| cell.scalar().unwrap_or_default()).collect();
        Ok(cells.join(" | "))
    };
    let lines: Result<Vec<String>, String> = lines.iter().map(line).collect();
    let mut parts = vec![lines?.join("\n")];
    for paragraph in item.list("paragraphs").unwrap_or_default() {
        let text = paragraph.object().and_then(|paragraph| paragraph.text("text"));
        parts.push(text.ok_or("expected a text in every paragraph, found one without")?.to_owned());
    }
    let id = table.scalar("uid").map_or_else(|| format!("document-{number}"), str::to_owned);
    Ok(Document { id, title: None, parts, groups: BTreeMap::new() })
}

fn question_row(question: &Json, row: usize, document: &str) -> DraftRow {
    let empty = Object::default();
    let fields = question.object().unwrap_or(&empty);
    let id = fields.scalar("uid").map(str::to_owned);
    let bad = |reason: String| DraftRow::Bad(BadRow { row, id: id.clone(), line: None, reason });
    let Some(text) = fields.text("question").filter(|text| !text.trim().is_empty()) else {
        return bad(format!(
            "question on document `{}`: expected text in `question`, found none",
            shown(document)
        ));
    };
    let answers = match fields.get("answer") {
        None => &[],
        Some(Json::List(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    let mut references: Vec<String> = Vec::new();
    for answer in answers {
        let Some(answer) = answer.scalar() else {
            return bad(format!("field `answer`: expected texts or numbers, found {}", answer.kind()));
        };
        if !answer.trim().is_empty() && !references.iter().any(|reference| reference == answer) {
            references.push(answer.to_owned());
        }
    }
    let mut groups = BTreeMap::from([("source".to_owned(), document.to_owned())]);
    for name in ["answer_type", "answer_from", "scale"] {
        if let Some(value) = fields.scalar(name).filter(|value| !value.is_empty()) {
            groups.insert(name.to_owned(), value.to_owned());
        }
    }
    draft(Example {
        id: id.unwrap_or_else(|| format!("row-{row}")),
        row,
        question: text.to_owned(),
        passages: Vec::new(),
        answer: None,
        references,
        source_documents: vec![document.to_owned()],
        gold_spans: None,
        gold_consistent: None,
        groups,
    })
}

#[cfg(test)]
mod tests {
    use crate::data::formats::test_files::{bad, examples, open};

    const TATQA: &str = r#"[{"table":{"uid":"t1","table":[["","2019"],["Sales","$1,496.5"]]},
      "paragraphs":[{"uid":"p1","order":1,"text":"Sales by type."},{"uid":"p2","order":2,"text":"In millions."}],
      "questions":[
        {"uid":"q1","question":"Sales?","answer":["$1,496.5"],"answer_type":"span","answer_from":"table","scale":"million"},
        {"uid":"q2","question":"Change?","answer":-12.60,"answer_type":"arithmetic","scale":""},
        {"uid":"q3","question":"How many?","answer":"3"},
        {"uid":"q4","question":"Unanswered?"},
        {"uid":"q5","answer":"x"},
        {"uid":"q6","question":"Odd?","answer":{"a":1}}]}]"#;

    #[test]
    fn a_document_is_a_table_and_its_paragraphs_in_parts() {
        let data = open("tat.json", TATQA);
        assert_eq!(data.format.name(), "tat-qa");
        assert_eq!(data.documents.len(), 1);
        assert_eq!(data.documents[0].id, "t1");
        assert_eq!(data.documents[0].parts, [" | 2019\nSales | $1,496.5", "Sales by type.", "In millions."]);
    }

    #[test]
    fn answers_of_any_kind_become_references_with_their_digits() {
        let data = open("tat.json", TATQA);
        let references: Vec<String> =
            examples(&data).iter().map(|example| example.references.join("+")).collect();
        assert_eq!(references, ["$1,496.5", "-12.60", "3", ""]);
        assert!(examples(&data).iter().all(|example| example.source_documents == ["t1"]));
        assert_eq!(examples(&data)[0].groups["answer_from"], "table");
        let bad: Vec<Option<&str>> = bad(&data).iter().map(|bad| bad.id.as_deref()).collect();
        assert_eq!(bad, [Some("q5"), Some("q6")]);
    }
}
