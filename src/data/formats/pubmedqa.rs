//! `PubMedQA`, labelled: one JSON object of abstracts by their PMID, each with a question, the parts of the abstract
//! without its conclusion, and the conclusion as the long answer.
//!
//! `test_ground_truth.json` beside it has decisions by PMID and no question: it is named and refused.

use std::collections::BTreeMap;

use crate::data::dataset::BadRow;
use crate::data::error::DataError;
use crate::data::example::{Document, Example};
use crate::data::json::{Json, Object};
use crate::data::labels::DraftRow;
use crate::data::notice::Notices;

use super::squad::draft;
use super::{Input, Parts};

const DECISIONS: [&str; 3] = ["yes", "no", "maybe"];

/// Whether an object has abstracts with questions by PMID.
pub(super) fn is_record(fields: &Object) -> bool {
    fields
        .iter()
        .filter_map(|(_, entry)| entry.object())
        .any(|entry| entry.has("QUESTION") && entry.has("CONTEXTS"))
}

/// Whether an object has nothing but decisions by PMID.
pub(super) fn is_decisions(fields: &Object) -> bool {
    let decision = |(pmid, value): (&str, &Json)| {
        pmid.bytes().all(|byte| byte.is_ascii_digit())
            && value.text().is_some_and(|text| DECISIONS.contains(&text))
    };
    fields.names().next().is_some() && fields.iter().all(decision)
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    let mut parts = Parts::default();
    for source in input.rows(notices)? {
        let fields = match source.fields {
            Ok(fields) => fields,
            Err(reason) => {
                let row = parts.rows.len();
                parts.rows.push(DraftRow::Bad(BadRow { row, id: None, line: source.line, reason }));
                continue;
            }
        };
        if is_decisions(&fields) {
            return Err(input.broken(
                "it has only the decisions: questions and abstracts are in `ori_pqal.json`, which has the same \
                 decisions; open that file",
            ));
        }
        for (pmid, entry) in fields.iter() {
            let row = parts.rows.len();
            parts.rows.push(match example_of(pmid, entry, row) {
                Ok((example, document)) => {
                    parts.documents.push(document);
                    draft(example)
                }
                Err(reason) => {
                    DraftRow::Bad(BadRow { row, id: Some(pmid.to_owned()), line: source.line, reason })
                }
            });
        }
    }
    Ok(parts)
}

fn example_of(pmid: &str, entry: &Json, row: usize) -> Result<(Example, Document), String> {
    let fields = entry.object().ok_or_else(|| format!("expected an object, found {}", entry.kind()))?;
    let filled = |name: &str| fields.text(name).filter(|text| !text.trim().is_empty());
    let question = filled("QUESTION").ok_or("field `QUESTION`: expected text, found none")?;
    let contexts = fields.list("CONTEXTS").unwrap_or_default().iter().filter_map(Json::text);
    let contexts: Vec<String> = contexts.filter(|text| !text.trim().is_empty()).map(str::to_owned).collect();
    if contexts.is_empty() {
        return Err("field `CONTEXTS`: expected the parts of an abstract, found none".to_owned());
    }
    let group = |name: &str, field: &str| Some((name.to_owned(), fields.scalar(field)?.to_owned()));
    let example = Example {
        id: pmid.to_owned(),
        row,
        question: question.to_owned(),
        passages: Vec::new(),
        answer: None,
        references: filled("LONG_ANSWER").map(str::to_owned).into_iter().collect(),
        source_documents: vec![pmid.to_owned()],
        gold_spans: None,
        gold_consistent: None,
        groups: group("final_decision", "final_decision")
            .into_iter()
            .chain([("source".to_owned(), pmid.to_owned())])
            .collect(),
    };
    let groups: BTreeMap<String, String> = group("year", "YEAR").into_iter().collect();
    Ok((example, Document { id: pmid.to_owned(), title: None, parts: contexts, groups }))
}

#[cfg(test)]
mod tests {
    use crate::data::formats::test_files::{bad, error, examples, open, public_data};
    use crate::data::{Dataset, Format, OpenOptions};

    const ABSTRACTS: &str = r#"{"0021": {"QUESTION": "Does it?", "CONTEXTS": ["One.", "Two."], "LABELS": ["A", "B"], "YEAR": "2011", "final_decision": "yes", "LONG_ANSWER": "It does."},
 "22": {"QUESTION": "", "CONTEXTS": ["One."]}, "23": {"QUESTION": "q?", "CONTEXTS": []}, "24": 5}"#;

    #[test]
    fn an_abstract_is_a_document_of_parts_and_its_conclusion_the_reference() {
        for content in [ABSTRACTS.to_owned(), ABSTRACTS.replace('\n', "")] {
            let data = open("ori_pqal.json", &content);
            assert_eq!((data.format, data.documents.len()), (Format::PubMedQa, 1));
            assert_eq!(data.documents[0].parts, ["One.", "Two."]);
            let example = examples(&data)[0];
            assert_eq!((example.id.as_str(), example.question.as_str()), ("0021", "Does it?"));
            assert_eq!(example.references, ["It does."]);
            assert_eq!(example.source_documents, ["0021"]);
            assert_eq!(example.groups["final_decision"], "yes");
            let ids: Vec<_> = bad(&data).iter().map(|bad| bad.id.clone().unwrap()).collect();
            assert_eq!(ids, ["22", "23", "24"]);
        }
    }

    #[test]
    fn a_file_of_decisions_is_refused_and_names_the_file_to_open() {
        let told =
            error("test_ground_truth.json", br#"{"123": "yes", "124": "maybe"}"#, &OpenOptions::default());
        assert!(told.contains("only the decisions") && told.contains("`ori_pqal.json`"), "{told}");
    }

    #[test]
    fn the_public_file_has_1000_abstracts_and_its_decisions_are_refused() {
        let Some(path) = public_data("pubmedqa/ori_pqal.json") else { return };
        let data = Dataset::open(&path, &OpenOptions::default()).unwrap();
        assert_eq!(
            (data.format, data.examples().count(), data.documents.len()),
            (Format::PubMedQa, 1000, 1000)
        );
        let yes = data.examples().filter(|example| example.groups["final_decision"] == "yes").count();
        assert_eq!(yes, 552);
        let decisions = path.with_file_name("test_ground_truth.json");
        assert!(Dataset::open(decisions, &OpenOptions::default()).is_err());
    }
}
