//! `TruLens`, its three generations: spans of OpenTelemetry under `ai.observability.*` (and an early build's
//! `trulens.*`), classic records with `main_input` or `input` and the calls that hold the contexts, results of
//! feedback functions, and tables of ground truth.

use std::collections::HashMap;

use crate::data::error::DataError;
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::spans::{Attributes, unprinted};
use super::translated::{Translated, Translation, drafts};
use super::{Input, Parts};

mod feedback;

pub(super) use feedback::without_records;

const ATTRIBUTES: &str = "record_attributes";

/// Whether a record can be one of `TruLens`.
pub(super) fn is_record(fields: &Object) -> bool {
    fields.has(ATTRIBUTES) || is_classic(fields) || feedback::is_result(fields) || is_ground_truth(fields)
}

fn is_classic(fields: &Object) -> bool {
    fields.has("record_id")
        && (fields.has("record_json")
            || fields.has("main_input")
            || fields.has("app_id") && fields.has("calls"))
}

fn is_ground_truth(fields: &Object) -> bool {
    fields.has("query") && fields.has("expected_response")
}

struct Span {
    line: Option<usize>,
    record: String,
    attributes: Attributes,
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    let mut spans: Vec<Span> = Vec::new();
    let mut records: Vec<Translated> = Vec::new();
    let mut feedback = feedback::Results::default();
    for source in input.rows(notices)? {
        let line = source.line;
        match source.fields {
            Ok(fields) if fields.has(ATTRIBUTES) => match span(&fields, line) {
                Ok(Some(span)) => spans.push(span),
                Ok(None) => notices.add("a span without attributes of a record was left out", 1, None),
                Err(reason) => records.push((line, Err(reason))),
            },
            Ok(fields) if is_classic(&fields) => records.push((line, classic(&fields))),
            Ok(fields) if feedback::is_result(&fields) => feedback.add(&fields, line),
            Ok(fields) => records.push((line, Ok(ground_truth(&fields)))),
            Err(reason) => records.push((line, Err(reason))),
        }
    }
    records.extend(feedback.records(notices));
    let mut by_record: HashMap<&str, usize> = HashMap::new();
    let mut grouped: Vec<Vec<&Span>> = Vec::new();
    for span in &spans {
        let at = *by_record.entry(&span.record).or_insert(grouped.len());
        if at == grouped.len() {
            grouped.push(Vec::new());
        }
        grouped[at].push(span);
    }
    for own in grouped {
        if let Some(first) = own.first() {
            records.push((first.line, example(&first.record, &own)));
        }
    }
    Ok(Parts { rows: drafts(records, notices), documents: Vec::new() })
}

/// An attribute under either generation's name.
fn named<'a>(attributes: &'a Attributes, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| attributes.scalar(name))
}

fn span(fields: &Object, line: Option<usize>) -> Result<Option<Span>, String> {
    let attributes = Attributes::of(fields, ATTRIBUTES)?;
    if attributes.is_empty() {
        return Ok(None);
    }
    let record = named(&attributes, &["ai.observability.record_id", "trulens.record_id"]);
    let record = record.or_else(|| fields.scalar("event_id"));
    Ok(record.map(str::to_owned).map(|record| Span { line, record, attributes }))
}

fn example(id: &str, spans: &[&Span]) -> Result<Object, String> {
    let any = |names: &[&str]| spans.iter().find_map(|span| named(&span.attributes, names));
    let question = any(&[
        "ai.observability.record_root.input",
        "ai.observability.record_root.main_input",
        "trulens.record_root.main_input",
        "ai.observability.retrieval.query_text",
        "trulens.sem.retrieval.query_text",
    ]);
    let answer = any(&[
        "ai.observability.record_root.output",
        "ai.observability.record_root.main_output",
        "trulens.record_root.main_output",
    ]);
    let reference =
        any(&["ai.observability.record_root.ground_truth_output", "trulens.record_root.ground_truth_output"]);
    let mut contexts: Vec<Json> = Vec::new();
    for span in spans {
        for list in
            ["ai.observability.retrieval.retrieved_contexts", "trulens.sem.retrieval.retrieved_contexts"]
        {
            contexts.extend(span.attributes.texts(list).into_iter().map(|text| Json::Text(text.to_owned())));
        }
    }
    let question = question
        .ok_or("expected `ai.observability.record_root.input` in a span of this record, found none")?;
    Ok(Translation::default()
        .text("id", Some(id))
        .text("question", Some(question))
        .text("answer", answer)
        .text("reference", reference)
        .with("contexts", Json::List(contexts))
        .group("app", any(&["ai.observability.app_name"]))
        .group("version", any(&["ai.observability.app_version"]))
        .finish())
}

/// A row of the records table, or one record as JSON.
fn classic(fields: &Object) -> Result<Object, String> {
    let inner = match fields.get("record_json") {
        Some(text) => unprinted("record_json", text)?.object().cloned(),
        None => None,
    };
    let record = inner.as_ref().unwrap_or(fields);
    let asked = record.first_of(&["main_input"]).or_else(|| fields.get("input"));
    let said = record.first_of(&["main_output"]).or_else(|| fields.get("output"));
    let mut contexts = Vec::new();
    for call in record.list("calls").unwrap_or_default() {
        let Some(call) = call.object() else { continue };
        let returned = call.first_of(&["rets"]).and_then(Json::list).unwrap_or_default();
        // A call that returns nothing but texts or documents is a retrieval.
        let texts: Option<Vec<Json>> = returned.iter().map(context).collect();
        contexts.extend(texts.unwrap_or_default());
    }
    Ok(Translation::default()
        .put("id", fields.get("record_id"))
        .put("question", asked)
        .put("answer", said)
        .with("contexts", Json::List(contexts))
        .group("app", fields.scalar("app_id"))
        .finish())
}

fn context(item: &Json) -> Option<Json> {
    match item {
        Json::Text(_) => Some(item.clone()),
        Json::Object(fields) => {
            let node = fields.get("node").and_then(Json::object).unwrap_or(fields);
            node.first_of(&["page_content", "text", "content"]).filter(|text| text.text().is_some()).cloned()
        }
        _ => None,
    }
}

fn ground_truth(fields: &Object) -> Object {
    Translation::default()
        .put("id", fields.first_of(&["query_id", "id"]))
        .put("question", fields.get("query"))
        .put("reference", fields.get("expected_response"))
        .group("expected_score", fields.scalar("expected_score"))
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::data::Format;
    use crate::data::formats::test_files::{examples, open};

    #[test]
    fn spans_of_one_record_are_one_example() {
        let data = open(
            "events.jsonl",
            r#"{"event_id":"1","record_attributes":{"ai.observability.span_type":"record_root","ai.observability.record_id":"r1","ai.observability.record_root.input":"q?","ai.observability.record_root.output":"a"}}
{"event_id":"2","record_attributes":{"ai.observability.span_type":"retrieval","ai.observability.record_id":"r1","ai.observability.retrieval.query_text":"q?","ai.observability.retrieval.retrieved_contexts":["c1","c2"]}}"#,
        );
        assert_eq!(data.format, Format::TruLens);
        let example = examples(&data)[0];
        assert_eq!(
            (example.id.as_str(), example.question.as_str(), example.answer.as_deref()),
            ("r1", "q?", Some("a"))
        );
        assert_eq!(example.passages.len(), 2);
    }

    #[test]
    fn a_table_of_spans_holds_them_as_printed_dictionaries() {
        let data = open(
            "golden.csv",
            ",record,event_id,record_attributes\n0,x,1,\"{'ai.observability.record_id': 'r', 'ai.observability.record_root.input': \"\"it's q\"\", 'ai.observability.retrieval.retrieved_contexts': ['c1', 'c2'], 'm': [HumanMessage(content='x')]}\"\n",
        );
        let example = examples(&data)[0];
        assert_eq!((example.question.as_str(), example.passages.len()), ("it's q", 2));
    }

    #[test]
    fn classic_records_hold_their_contexts_in_what_calls_returned() {
        let data = open(
            "record.json",
            r#"{"record_id":"r","app_id":"app","main_input":"q?","main_output":"a",
                "calls":[{"rets":["c1","c2"]},{"rets":"answer"},{"rets":[{"node":{"text":"c3"}}]}]}"#,
        );
        let example = examples(&data)[0];
        assert_eq!(example.passages.iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), ["c1", "c2", "c3"]);
        assert_eq!(example.answer.as_deref(), Some("a"));
    }
}
