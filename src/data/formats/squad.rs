//! `SQuAD` 1 and 2: articles of paragraphs of questions. A paragraph is a document of the corpus.

use std::collections::{BTreeMap, HashMap};

use crate::data::dataset::BadRow;
use crate::data::error::{DataError, shown};
use crate::data::example::{Document, Example};
use crate::data::json::{Json, Object};
use crate::data::labels::{Draft, DraftRow};
use crate::data::notice::Notices;

use super::content::SourceRow;
use super::{Content, Input, Parts};

/// Documents with one text each, no text twice, ids of the form `title/paragraph-n`.
#[derive(Default)]
pub(super) struct Corpus {
    pub(super) documents: Vec<Document>,
    by_text: HashMap<String, usize>,
    of_title: HashMap<String, usize>,
}

impl Corpus {
    /// The id of the document with `text`, which is added when it is new.
    pub(super) fn add(&mut self, title: &str, text: &str) -> String {
        let at = *self.by_text.entry(text.to_owned()).or_insert_with(|| {
            let number = self.of_title.entry(title.to_owned()).or_default();
            *number += 1;
            self.documents.push(Document {
                id: format!("{title}/paragraph-{number}"),
                title: Some(title.to_owned()),
                parts: vec![text.to_owned()],
                groups: BTreeMap::new(),
            });
            self.documents.len() - 1
        });
        // `at` was the place of a document when it was stored, and documents are only added.
        self.documents[at].id.clone()
    }
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    let Content::Document(Json::Object(top), tolerated) = &input.detected.content else {
        return Err(input.broken("the file is not one JSON object"));
    };
    tolerated.tell(None, notices);
    let articles = top.list("data").ok_or_else(|| input.broken("its `data` is no list"))?;
    let mut corpus = Corpus::default();
    let mut rows = Vec::new();
    for (number, article) in articles.iter().enumerate() {
        let place = format!("article {number}");
        let article = article.object().ok_or_else(|| input.broken(format!("{place} is no object")))?;
        let title = article.text("title").map_or_else(|| format!("article-{}", number + 1), str::to_owned);
        let paragraphs = article.list("paragraphs");
        let paragraphs =
            paragraphs.ok_or_else(|| input.broken(format!("{place} has no list `paragraphs`")))?;
        for (number, paragraph) in paragraphs.iter().enumerate() {
            let place = format!("{place} (`{}`), paragraph {number}", shown(&title));
            let paragraph =
                paragraph.object().ok_or_else(|| input.broken(format!("{place} is no object")))?;
            let context = paragraph.text("context").filter(|text| !text.trim().is_empty());
            let context = context.ok_or_else(|| input.broken(format!("{place} has no text in `context`")))?;
            let document = corpus.add(&title, context);
            for question in paragraph.list("qas").unwrap_or_default() {
                rows.push(question_row(question, rows.len(), &title, &document));
            }
        }
    }
    if rows.is_empty() {
        return Err(input.broken("there is no question in it"));
    }
    Ok(Parts { rows, documents: corpus.documents })
}

fn question_row(question: &Json, row: usize, title: &str, document: &str) -> DraftRow {
    let empty = Object::default();
    let fields = question.object().unwrap_or(&empty);
    let id = fields.scalar("id").map(str::to_owned);
    let Some(text) = fields.text("question").filter(|text| !text.trim().is_empty()) else {
        let reason =
            format!("question in document `{}`: expected text in `question`, found none", shown(document));
        return DraftRow::Bad(BadRow { row, id, line: None, reason });
    };
    let mut groups =
        BTreeMap::from([("source".to_owned(), document.to_owned()), ("title".to_owned(), title.to_owned())]);
    let mut impossible = false;
    if let Some(Json::Bool(marked)) = fields.get("is_impossible") {
        impossible = *marked;
        groups.insert("impossible".to_owned(), marked.to_string());
    }
    let mut references: Vec<String> = Vec::new();
    for answer in fields.list("answers").unwrap_or_default() {
        let Some(text) = answer.object().and_then(|answer| answer.text("text")) else { continue };
        if !text.trim().is_empty() && !references.iter().any(|reference| reference == text) {
            references.push(text.to_owned());
        }
    }
    draft(Example {
        id: id.unwrap_or_else(|| format!("row-{row}")),
        row,
        question: text.to_owned(),
        passages: Vec::new(),
        answer: None,
        references,
        // The paragraph of an impossible question does not hold its answer.
        source_documents: if impossible { Vec::new() } else { vec![document.to_owned()] },
        gold_spans: None,
        gold_consistent: None,
        groups,
    })
}

/// The rows of a layout whose examples bring their documents along: one example a record, or the bad row that
/// says why there is none and names the id in `id_field`.
pub(super) fn with_corpus(
    input: &Input<'_>,
    notices: &mut Notices,
    id_field: &str,
    example_of: impl Fn(&Object, usize, &mut Corpus) -> Result<Example, String>,
) -> Result<Parts, DataError> {
    let mut corpus = Corpus::default();
    let row = |SourceRow { row, line, fields }| {
        let example = fields.as_ref().map_err(Clone::clone);
        match example.and_then(|fields| example_of(fields, row, &mut corpus)) {
            Ok(example) => DraftRow::Draft(Box::new(Draft { example, line, labels: None, unit: None })),
            Err(reason) => {
                let id = fields.ok().and_then(|fields| fields.scalar(id_field).map(str::to_owned));
                DraftRow::Bad(BadRow { row, id, line, reason })
            }
        }
    };
    let rows = input.rows(notices)?.into_iter().map(row).collect();
    Ok(Parts { rows, documents: corpus.documents })
}

/// An example without labels.
pub(super) fn draft(example: Example) -> DraftRow {
    DraftRow::Draft(Box::new(Draft { example, line: None, labels: None, unit: None }))
}

#[cfg(test)]
mod tests {
    use crate::data::formats::test_files::{bad, examples, open};

    const SQUAD: &str = r#"{"version": "v2.0", "data": [
      {"title": "Ferry", "paragraphs": [
        {"context": "It began in 1931.", "qas": [
          {"id": 12345678901234567890123, "question": "When?", "is_impossible": false,
           "answers": [{"text": "1931", "answer_start": 12}, {"text": "1931", "answer_start": 12}, {"text": "in 1931"}]},
          {"id": "2", "question": "Why?", "is_impossible": true, "answers": [], "plausible_answers": [{"text": "x"}]},
          {"id": "3"}]},
        {"context": "It began in 1931.", "qas": [{"question": "When again?", "answers": []}]},
        {"context": "It is 40 m long.", "qas": []}]}]}"#;

    #[test]
    fn a_paragraph_is_a_document_and_equal_paragraphs_are_one() {
        let data = open("ferry.json", SQUAD);
        let ids: Vec<&str> = data.documents.iter().map(|document| document.id.as_str()).collect();
        assert_eq!(ids, ["Ferry/paragraph-1", "Ferry/paragraph-2"]);
        assert_eq!(data.documents[0].title.as_deref(), Some("Ferry"));
        let examples = examples(&data);
        assert_eq!(examples[0].id, "12345678901234567890123");
        assert_eq!(examples[0].references, ["1931", "in 1931"]);
        assert_eq!(examples[0].source_documents, ["Ferry/paragraph-1"]);
        assert_eq!(examples[2].source_documents, ["Ferry/paragraph-1"]);
        assert_eq!((examples[2].id.as_str(), examples[2].row), ("row-3", 3));
        assert_eq!(examples[0].split_key(), examples[2].split_key());
    }

    #[test]
    fn an_impossible_question_is_marked_and_has_no_source() {
        let data = open("ferry.json", SQUAD);
        let impossible = examples(&data)[1];
        assert_eq!(impossible.groups["impossible"], "true");
        assert!(impossible.source_documents.is_empty() && impossible.references.is_empty());
        assert_eq!(examples(&data)[0].groups["impossible"], "false");
    }

    #[test]
    fn a_question_without_text_is_a_bad_row_with_its_id() {
        let data = open("ferry.json", SQUAD);
        let bad = bad(&data);
        assert_eq!((bad[0].row, bad[0].id.as_deref()), (2, Some("3")));
        assert!(bad[0].reason.contains("Ferry/paragraph-1"));
    }
}
