//! `LangSmith`: runs of traces, one a line or a row of Parquet in which `inputs` and `outputs` are texts of JSON.

use std::collections::HashSet;

use crate::data::error::DataError;
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::spans::unprinted;
use super::translated::{Translated, Translation, drafts, object};
use super::{Input, Parts};

const ASKED: [&str; 7] = ["question", "input", "query", "user_input", "prompt", "text", "messages"];
const SAID: [&str; 7] = ["answer", "output", "response", "result", "generations", "content", "text"];

/// Whether a record can be a run, or a row of a data set's table.
pub(super) fn is_record(fields: &Object) -> bool {
    fields.has("run_type") && (fields.has("inputs") || fields.has("outputs")) || is_data_set_row(fields)
}

fn is_data_set_row(fields: &Object) -> bool {
    let begins = |prefix: &str| fields.names().any(|name| name.starts_with(prefix));
    begins("input_") && begins("output_")
}

struct Run {
    line: Option<usize>,
    trace: String,
    root: bool,
    kind: String,
    inputs: Option<Object>,
    outputs: Option<Object>,
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    let mut runs: Vec<Run> = Vec::new();
    let mut records: Vec<Translated> = Vec::new();
    let mut bad: Vec<Translated> = Vec::new();
    for source in input.rows(notices)? {
        match source.fields {
            Ok(fields) if is_data_set_row(&fields) => records.push((source.line, Ok(data_set_row(&fields)))),
            Ok(fields) => match run(&fields, source.line) {
                Ok(run) => runs.push(run),
                Err(reason) => bad.push((source.line, Err(reason))),
            },
            Err(reason) => bad.push((source.line, Err(reason))),
        }
    }
    let mut seen = HashSet::new();
    let traces: Vec<String> =
        runs.iter().filter(|run| seen.insert(run.trace.clone())).map(|run| run.trace.clone()).collect();
    for trace in traces {
        let own: Vec<&Run> = runs.iter().filter(|run| run.trace == trace).collect();
        records.push((own.first().and_then(|run| run.line), example(&trace, &own)));
    }
    records.extend(bad);
    Ok(Parts { rows: drafts(records, notices), documents: Vec::new() })
}

fn run(fields: &Object, line: Option<usize>) -> Result<Run, String> {
    let id = fields.scalar("run_id").or_else(|| fields.scalar("id"));
    let trace =
        fields.scalar("trace_id").or(id).ok_or("expected `trace_id`, `run_id` or `id`, found none")?;
    let side = |name: &str| -> Result<Option<Object>, String> {
        let Some(value) = fields.get(name) else { return Ok(None) };
        Ok(unprinted(name, value)?.object().cloned())
    };
    Ok(Run {
        line,
        trace: trace.to_owned(),
        root: fields.scalar("parent_run_id").is_none(),
        kind: fields.scalar("run_type").unwrap_or_default().to_lowercase(),
        inputs: side("inputs")?,
        outputs: side("outputs")?,
    })
}

fn example(trace: &str, runs: &[&Run]) -> Result<Object, String> {
    let root = runs.iter().find(|run| run.root).or(runs.first());
    let retrievers: Vec<&&Run> = runs.iter().filter(|run| run.kind == "retriever").collect();
    let question = root
        .into_iter()
        .chain(retrievers.iter().copied())
        .find_map(|run| words(run.inputs.as_ref()?, &ASKED))
        .ok_or("expected what was asked in `inputs` of a run of this trace, found none")?;
    let models = runs.iter().rev().filter(|run| run.kind == "llm");
    let answer = root
        .into_iter()
        .chain(models)
        .filter(|run| run.kind != "retriever")
        .find_map(|run| words(run.outputs.as_ref()?, &SAID));
    let mut documents = Vec::new();
    for run in retrievers {
        let Some(outputs) = &run.outputs else { continue };
        for document in outputs.first_of(&["documents", "output"]).and_then(Json::list).unwrap_or_default() {
            documents.push(passage(document)?);
        }
    }
    Ok(Translation::default()
        .text("id", Some(trace))
        .text("question", Some(&question))
        .text("answer", answer.as_deref())
        .with("contexts", Json::List(documents))
        .finish())
}

/// The first field of `names` that is text, or a message or list of messages that ends in text.
fn words(fields: &Object, names: &[&str]) -> Option<String> {
    let text = |value: &Json| match value {
        Json::Text(text) if !text.trim().is_empty() => Some(text.clone()),
        Json::List(items) => items.iter().rev().find_map(|item| last_text(item, 0)),
        Json::Object(_) => last_text(value, 0),
        _ => None,
    };
    names.iter().find_map(|name| text(fields.get(name)?)).or_else(|| {
        let mut values = fields.iter().map(|(_, value)| value);
        let (only, none) = (values.next()?, values.next());
        if none.is_some() { None } else { only.text().map(str::to_owned) }
    })
}

/// The text of a message, plain or wrapped by the serialiser (`{"lc": 1, "kwargs": {...}}`).
fn last_text(value: &Json, depth: usize) -> Option<String> {
    if depth > 8 {
        return None;
    }
    match value {
        Json::Text(text) => Some(text.clone()),
        Json::List(items) => items.iter().rev().find_map(|item| last_text(item, depth + 1)),
        Json::Object(fields) => {
            let inner = fields.first_of(&["kwargs", "content", "text", "message"])?;
            last_text(inner, depth + 1)
        }
        _ => None,
    }
}

fn passage(document: &Json) -> Result<Json, String> {
    let Some(fields) = document.object() else { return Ok(document.clone()) };
    let fields = fields.get("kwargs").and_then(Json::object).unwrap_or(fields);
    let text = fields.get("page_content").ok_or("field `documents`: expected `page_content`, found none")?;
    let metadata = fields.get("metadata").and_then(Json::object);
    let of = |name: &str| metadata.and_then(|metadata| metadata.get(name)).cloned();
    let score =
        of("score").or_else(|| of("relevance_score")).filter(|score| matches!(score, Json::Number(_)));
    Ok(object([
        ("text", Some(text.clone())),
        ("id", fields.get("id").cloned()),
        ("document", of("source").filter(|source| source.scalar().is_some())),
        ("score", score),
    ]))
}

fn data_set_row(fields: &Object) -> Object {
    let side = |prefix: &str, names: &[&str]| {
        let named = names.iter().find_map(|name| fields.get(&format!("{prefix}{name}")));
        named
            .or_else(|| fields.iter().find(|(name, _)| name.starts_with(prefix)).map(|(_, value)| value))
            .cloned()
    };
    Translation::default()
        .put("id", fields.get("id"))
        .put("question", side("input_", &ASKED).as_ref())
        .put("reference", side("output_", &SAID).as_ref())
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::data::Format;
    use crate::data::formats::test_files::{examples, open};

    #[test]
    fn runs_of_a_trace_are_one_example_also_where_inputs_are_text_and_documents_are_wrapped() {
        let data = open(
            "runs.jsonl",
            r#"{"run_id":"r1","trace_id":"t1","name":"chain","run_type":"chain","inputs":"{\"question\": \"q?\"}","outputs":"{\"answer\": \"a\"}"}
{"run_id":"r2","trace_id":"t1","parent_run_id":"r1","name":"retriever","run_type":"retriever","inputs":{"query":"rewritten"},"outputs":{"documents":[{"page_content":"c1","metadata":{"source":"a.md","score":0.5}},{"lc":1,"kwargs":{"page_content":"c2"}}]}}"#,
        );
        assert_eq!(data.format, Format::LangSmith);
        let example = examples(&data)[0];
        assert_eq!(
            (example.id.as_str(), example.question.as_str(), example.answer.as_deref()),
            ("t1", "q?", Some("a"))
        );
        assert_eq!(example.passages[0].document.as_deref(), Some("a.md"));
        assert_eq!((example.passages[0].score, example.passages[1].text.as_str()), (Some(0.5), "c2"));
    }

    #[test]
    fn a_table_of_a_data_set_gives_questions_and_references() {
        let data = open("data.csv", "id,input_question,output_answer\n1,q?,r\n");
        let example = examples(&data)[0];
        assert_eq!((example.question.as_str(), example.references[0].as_str()), ("q?", "r"));
    }
}
