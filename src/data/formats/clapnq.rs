//! `CLAPNQ`: questions of Natural Questions with a passage and long answers that people wrote from it alone, or none
//! where the passage does not answer. A passage is a document of the corpus.
//!
//! People wrote the answers from the passage, yet nobody marked their words: they are not labelled as clean.

use std::collections::BTreeMap;

use crate::data::error::DataError;
use crate::data::example::{Example, Passage};
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::squad::{Corpus, with_corpus};
use super::{Input, Parts};

/// Whether a record can be one of `CLAPNQ`'s.
pub(super) fn is_record(fields: &Object) -> bool {
    fields.has("input") && fields.list("passages").is_some() && fields.list("output").is_some()
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    with_corpus(input, notices, "id", example_of)
}

fn example_of(fields: &Object, row: usize, corpus: &mut Corpus) -> Result<Example, String> {
    let question = fields.text("input").filter(|text| !text.trim().is_empty());
    let question = question.ok_or("field `input`: expected a question, found none")?;
    let texts: Vec<(&str, &str)> = fields
        .list("passages")
        .unwrap_or_default()
        .iter()
        .enumerate()
        .map(|(number, passage)| {
            let text = passage.object().and_then(|passage| Some((passage, passage.text("text")?)));
            let (passage, text) = text
                .filter(|(_, text)| !text.trim().is_empty())
                .ok_or_else(|| format!("field `passages`, passage {number}: expected `text`, found none"))?;
            Ok((passage.text("title").unwrap_or("untitled"), text))
        })
        .collect::<Result<_, String>>()?;
    let mut references: Vec<String> = Vec::new();
    for output in fields.list("output").unwrap_or_default() {
        let answer = output.object().and_then(|output| output.text("answer")).unwrap_or_default().trim();
        if !answer.is_empty() && !references.iter().any(|reference| reference == answer) {
            references.push(answer.to_owned());
        }
    }
    let answerable = !references.is_empty();
    let passages: Vec<Passage> = texts
        .iter()
        .map(|(title, text)| {
            let document = Some(corpus.add(title, text));
            Passage { id: document.clone(), document, text: (*text).to_owned(), score: None }
        })
        .collect();
    let documents: Vec<String> = passages.iter().filter_map(|passage| passage.document.clone()).collect();
    let mut groups = BTreeMap::from([("answerable".to_owned(), answerable.to_string())]);
    if let (Some(document), Some((title, _))) = (documents.first(), texts.first()) {
        groups.insert("source".to_owned(), document.clone());
        groups.insert("title".to_owned(), (*title).to_owned());
    }
    let id = fields.get("id").and_then(Json::scalar);
    Ok(Example {
        id: id.map_or_else(|| format!("row-{row}"), str::to_owned),
        row,
        question: question.to_owned(),
        passages,
        answer: references.first().cloned(),
        references,
        source_documents: if answerable { documents } else { Vec::new() },
        gold_spans: None,
        gold_consistent: None,
        groups,
    })
}

#[cfg(test)]
mod tests {
    use crate::data::formats::test_files::{bad, examples, open, public_data};
    use crate::data::{Dataset, Format, OpenOptions};

    const RECORDS: &str = r#"{"id":"64011973087162048901","input":"when did it begin","passages":[{"title":"Ferry","text":"It began in 1931 .","sentences":["It began in 1931 ."]}],"output":[{"answer":"It began in 1931.","selected_sentences":[],"meta":{}},{"answer":"In 1931."},{"answer":"In 1931."}]}
{"id":"2","input":"why","passages":[{"title":"Ferry","text":"It is 40 m long ."}],"output":[{"answer":""}]}
{"id":"3","input":"why","passages":["It"],"output":[]}
"#;

    #[test]
    fn the_first_long_answer_is_the_answer_and_all_are_references() {
        let data = open("clap.jsonl", RECORDS);
        assert_eq!((data.format, data.documents.len()), (Format::ClapNq, 2));
        let example = examples(&data)[0];
        assert_eq!(example.id, "64011973087162048901");
        assert_eq!(example.answer.as_deref(), Some("It began in 1931."));
        assert_eq!(example.references, ["It began in 1931.", "In 1931."]);
        assert_eq!(example.source_documents, ["Ferry/paragraph-1"]);
        assert_eq!(example.passages[0].document.as_deref(), Some("Ferry/paragraph-1"));
        assert_eq!(example.labelled_inconsistent(), None);
    }

    #[test]
    fn an_unanswerable_question_has_a_passage_and_neither_answer_nor_source() {
        let data = open("clap.jsonl", RECORDS);
        let example = examples(&data)[1];
        assert_eq!((example.answer.as_deref(), example.passages.len()), (None, 1));
        assert!(example.references.is_empty() && example.source_documents.is_empty());
        assert_eq!(example.groups["answerable"], "false");
    }

    #[test]
    fn a_passage_without_text_makes_a_bad_row() {
        let data = open("clap.jsonl", RECORDS);
        let bad = bad(&data);
        assert_eq!((bad[0].row, bad[0].id.as_deref()), (2, Some("3")));
        assert!(bad[0].reason.contains("passage 0: expected `text`"));
    }

    #[test]
    fn the_public_files_have_300_questions_each() {
        for (name, answerable, documents) in [("answerable", 300, 297), ("unanswerable", 0, 300)] {
            let file = format!("clapnq/annotated_data/dev/clapnq_dev_{name}.jsonl");
            let Some(path) = public_data(&file) else { return };
            let data = Dataset::open(path, &OpenOptions::default()).unwrap();
            assert_eq!((data.format, data.examples().count()), (Format::ClapNq, 300));
            assert_eq!(data.examples().filter(|example| example.answer.is_some()).count(), answerable);
            assert_eq!(data.documents.len(), documents);
        }
    }
}
