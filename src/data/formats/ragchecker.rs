//! `RAGChecker`: `results` with `query`, `gt_answer`, `response`, `retrieved_context`; and its meta-evaluation
//! files, in which two models answer one query.

use crate::data::error::DataError;
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::translated::{Translated, Translation, drafts, object};
use super::{Input, Parts};

/// Whether a record can be one of `RAGChecker`'s.
pub(super) fn is_record(fields: &Object) -> bool {
    let of_results = fields.list("results").and_then(<[Json]>::first).and_then(Json::object);
    let record = of_results.unwrap_or(fields);
    record.has("query") && record.has("gt_answer")
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    let mut records: Vec<Translated> = Vec::new();
    for source in input.rows(notices)? {
        let line = source.line;
        match source.fields {
            Err(reason) => records.push((line, Err(reason))),
            Ok(fields) => match fields.list("results") {
                Some(results) => {
                    for result in results {
                        match result.object() {
                            Some(fields) => records.extend(answers(fields).map(|record| (line, Ok(record)))),
                            None => {
                                records
                                    .push((line, Err(format!("expected a result, found {}", result.kind()))));
                            }
                        }
                    }
                }
                None => records.extend(answers(&fields).map(|record| (line, Ok(record)))),
            },
        }
    }
    Ok(Parts { rows: drafts(records, notices), documents: Vec::new() })
}

/// One record for each model that answered, or for the one response.
fn answers(fields: &Object) -> impl Iterator<Item = Object> {
    let models: Vec<&Object> =
        ["model1", "model2"].iter().filter_map(|name| fields.get(name).and_then(Json::object)).collect();
    let answered = if models.is_empty() { vec![fields] } else { models };
    let records: Vec<Object> = answered.into_iter().map(|answer| record(fields, answer)).collect();
    records.into_iter()
}

fn record(query: &Object, answer: &Object) -> Object {
    let id = query.scalar("query_id").or_else(|| query.scalar("instance_id"));
    let data_set = query.scalar("dataset");
    let generator = answer.scalar("model_name");
    let whole_id = [data_set, id, generator].into_iter().flatten().collect::<Vec<_>>().join("/");
    let source = [data_set, id].into_iter().flatten().collect::<Vec<_>>().join("/");
    let contexts = answer.first_of(&["retrieved_context", "retrieved_contexts", "context"]);
    let contexts = contexts.and_then(Json::list).map(|items| Json::List(items.iter().map(passage).collect()));
    Translation::default()
        .text("id", (!whole_id.is_empty()).then_some(whole_id.as_str()))
        .put("question", query.get("query"))
        .put("answer", answer.get("response"))
        .put("reference", query.get("gt_answer"))
        .put("contexts", contexts.as_ref())
        .group("generator", generator)
        .group("data set", data_set)
        .group("source", Some(&source))
        .finish()
}

fn passage(item: &Json) -> Json {
    match item.object() {
        Some(fields) => object([
            ("text", fields.get("text").cloned()),
            ("document", fields.get("doc_id").cloned()),
            ("score", fields.get("score").cloned()),
        ]),
        None => item.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::data::Format;
    use crate::data::formats::test_files::{examples, open};

    #[test]
    fn results_give_queries_responses_and_contexts_with_their_documents() {
        let data = open(
            "checked.json",
            r#"{"results": [{"query_id": "0", "query": "q?", "gt_answer": "r", "response": "a",
                "retrieved_context": [{"doc_id": "000", "text": "c"}]}], "metrics": {}}"#,
        );
        assert_eq!(data.format, Format::RagChecker);
        let example = examples(&data)[0];
        assert_eq!((example.id.as_str(), example.answer.as_deref()), ("0", Some("a")));
        assert_eq!(example.passages[0].document.as_deref(), Some("000"));
    }

    #[test]
    fn two_models_that_answer_one_query_are_two_examples_of_one_source() {
        let data = open(
            "meta.json",
            r#"[{"instance_id": 0, "dataset": "kiwi", "query_id": "41", "query": "q?", "gt_answer": "r",
                "model1": {"model_name": "m1", "response": "a1"}, "model2": {"model_name": "m2", "response": "a2"}}]"#,
        );
        let examples = examples(&data);
        assert_eq!(examples.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(), ["kiwi/41/m1", "kiwi/41/m2"]);
        assert_eq!(examples[0].split_key(), examples[1].split_key());
        assert_eq!(examples[1].groups["generator"], "m2");
    }
}
