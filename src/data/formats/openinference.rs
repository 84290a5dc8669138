//! Phoenix and `OpenInference`: spans of traces with flat keys, data-frame columns, printed columns or a nested
//! object. A trace becomes one example: the root's input, the documents of its retrievers (a reranker's output
//! replaces them), the root's output.

use std::collections::HashSet;

use crate::data::error::DataError;
use crate::data::json::{Json, Object, parse};
use crate::data::notice::Notices;

use super::spans::{Attributes, plain};
use super::translated::{Translated, Translation, drafts, object};
use super::{Input, Parts};

const ASKED: [&str; 6] = ["query", "question", "input", "prompt", "user_input", "query_str"];
const SAID: [&str; 6] = ["answer", "output", "response", "result", "text", "content"];

/// Whether a record can be a span.
pub(super) fn is_record(fields: &Object) -> bool {
    let traced = trace_id(fields).is_some();
    traced && (fields.has("attributes") || fields.names().any(|name| name.starts_with("attributes.")))
}

struct Span {
    line: Option<usize>,
    trace: String,
    id: Option<String>,
    parent: Option<String>,
    kind: String,
    attributes: Attributes,
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    let mut spans: Vec<Span> = Vec::new();
    let mut bad: Vec<Translated> = Vec::new();
    let mut traces: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    for source in input.rows(notices)? {
        match source.fields.and_then(|fields| span(&fields, source.line)) {
            Ok(span) => {
                if known.insert(span.trace.clone()) {
                    traces.push(span.trace.clone());
                }
                spans.push(span);
            }
            Err(reason) => bad.push((source.line, Err(reason))),
        }
    }
    let mut records: Vec<Translated> = Vec::new();
    for trace in traces {
        let own: Vec<&Span> = spans.iter().filter(|span| span.trace == trace).collect();
        records.push((own.first().and_then(|span| span.line), example(&trace, &own)));
    }
    records.extend(bad);
    Ok(Parts { rows: drafts(records, notices), documents: Vec::new() })
}

fn first_scalar(fields: &Object, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        // `context.trace_id` is a column, or a field inside an object.
        let value = match name.split_once('.') {
            Some((outer, inner)) => {
                fields.scalar(name).or_else(|| fields.get(outer)?.object()?.scalar(inner))
            }
            None => fields.scalar(name),
        };
        value.filter(|value| !value.is_empty()).map(str::to_owned)
    })
}

fn trace_id(fields: &Object) -> Option<String> {
    first_scalar(fields, &["context.trace_id", "spanContext.traceId", "trace_id", "traceId", "trace_rowid"])
}

fn span(fields: &Object, line: Option<usize>) -> Result<Span, String> {
    let trace = trace_id(fields).ok_or("expected the id of a trace in `context.trace_id`, found none")?;
    let attributes = Attributes::of(fields, "attributes")?;
    let kind = attributes.scalar("openinference.span.kind").map(str::to_owned);
    let kind = kind.or_else(|| first_scalar(fields, &["span_kind"])).unwrap_or_default().to_uppercase();
    Ok(Span {
        line,
        trace,
        id: first_scalar(fields, &["context.span_id", "spanContext.spanId", "span_id", "spanId"]),
        parent: first_scalar(
            fields,
            &["parent_id", "parentSpanContext.spanId", "parentSpanId", "parent_span_id"],
        ),
        kind,
        attributes,
    })
}

fn example(trace: &str, spans: &[&Span]) -> Result<Object, String> {
    let ids: HashSet<&str> = spans.iter().filter_map(|span| span.id.as_deref()).collect();
    let is_root = |span: &&&Span| span.parent.as_deref().is_none_or(|parent| !ids.contains(parent));
    let root = spans.iter().find(is_root).copied();
    let of_kind = |kind: &str| spans.iter().filter(|span| span.kind == kind).copied().collect::<Vec<_>>();
    let (retrievers, rerankers, models) = (of_kind("RETRIEVER"), of_kind("RERANKER"), of_kind("LLM"));
    let question = [root]
        .into_iter()
        .flatten()
        .chain(retrievers.iter().copied())
        .chain(models.iter().copied())
        .find_map(|span| asked(&span.attributes))
        .ok_or("expected what was asked in `input.value` of a span of this trace, found none")?;
    let answer = root
        .into_iter()
        .chain(models.iter().rev().copied())
        .filter(|span| !matches!(span.kind.as_str(), "RETRIEVER" | "RERANKER" | "EMBEDDING"))
        .find_map(|span| said(&span.attributes));
    let mut documents = Vec::new();
    let reranked = rerankers.last().map(|span| documents_of(&span.attributes, "reranker.output_documents"));
    match reranked {
        Some(reranked) if !reranked.is_empty() => documents = reranked,
        _ => {
            for span in &retrievers {
                documents.extend(documents_of(&span.attributes, "retrieval.documents"));
            }
            if retrievers.is_empty()
                && let Some(root) = root
            {
                documents = documents_of(&root.attributes, "retrieval.documents");
            }
        }
    }
    let generator = models.last().or(root.as_ref()).and_then(|span| {
        span.attributes.scalar("llm.model_name").or_else(|| span.attributes.scalar("ai.model.id"))
    });
    Ok(Translation::default()
        .text("id", Some(trace))
        .text("question", Some(&question))
        .text("answer", answer.as_deref())
        .with("contexts", Json::List(documents))
        .group("generator", generator)
        .finish())
}

fn asked(attributes: &Attributes) -> Option<String> {
    if let Some(value) = attributes.scalar("input.value") {
        return Some(plain(value, &ASKED));
    }
    let last_message = attributes.places("llm.input_messages").into_iter().rev().find_map(|place| {
        let of = |name: &str| attributes.scalar(&format!("llm.input_messages.{place}.message.{name}"));
        (of("role") == Some("user")).then(|| of("content")).flatten()
    });
    if let Some(message) = last_message {
        return Some(message.to_owned());
    }
    // The AI SDK for JavaScript writes names of its own beside those of OpenInference.
    let prompt = attributes.scalar("ai.prompt.messages").or_else(|| attributes.scalar("ai.prompt"))?;
    last_user_message(prompt).or_else(|| Some(plain(prompt, &ASKED)))
}

/// The last user message of a list of messages that was written as text.
fn last_user_message(text: &str) -> Option<String> {
    let (value, _) = parse(text.trim()).ok()?;
    let messages = match &value {
        Json::List(messages) => messages.as_slice(),
        Json::Object(fields) => fields.list("messages")?,
        _ => return None,
    };
    messages
        .iter()
        .rev()
        .filter_map(Json::object)
        .find(|message| message.text("role") == Some("user"))
        .and_then(|message| match message.get("content")? {
            Json::Text(content) => Some(content.clone()),
            Json::List(parts) => {
                let texts = parts.iter().filter_map(Json::object).filter_map(|part| part.text("text"));
                Some(texts.collect::<Vec<_>>().join("\n"))
            }
            _ => None,
        })
}

fn said(attributes: &Attributes) -> Option<String> {
    if let Some(value) = attributes.scalar("output.value") {
        return Some(plain(value, &SAID));
    }
    let names = ["llm.output_messages.0.message.content", "ai.response.text", "ai.response.object"];
    names.iter().find_map(|name| attributes.scalar(name)).map(str::to_owned)
}

/// Documents of a list, whichever of their shapes: objects, bare texts, or three lists side by side.
fn documents_of(attributes: &Attributes, list: &str) -> Vec<Json> {
    let side_by_side = attributes.texts(&format!("{list}.contents"));
    if !side_by_side.is_empty() {
        let of = |name: &str, place: usize| attributes.value(&format!("{list}.{name}.{place}")).cloned();
        let document = |(place, text): (usize, &str)| {
            object([
                ("text", Some(Json::Text(text.to_owned()))),
                ("id", of("ids", place)),
                ("score", of("scores", place)),
            ])
        };
        return side_by_side.into_iter().enumerate().map(document).collect();
    }
    let mut documents = Vec::new();
    for place in attributes.places(list) {
        if let Some(text) = attributes.scalar(&format!("{list}.{place}")) {
            documents.push(Json::Text(text.to_owned()));
            continue;
        }
        let of = |name: &str| attributes.value(&format!("{list}.{place}.document.{name}")).cloned();
        if let Some(content) = of("content") {
            documents.push(object([("text", Some(content)), ("id", of("id")), ("score", of("score"))]));
        }
    }
    documents
}

#[cfg(test)]
mod tests {
    use crate::data::Format;
    use crate::data::formats::test_files::{bad, examples, open};

    const SPANS: &str = r#"{"name":"query","span_kind":"CHAIN","context.trace_id":"t1","context.span_id":"s1","parent_id":null,"attributes.input.value":"{\"query\": \"q?\"}","attributes.output.value":"a"}
{"name":"retrieve","span_kind":"RETRIEVER","context.trace_id":"t1","context.span_id":"s2","parent_id":"s1","attributes.input.value":"rewritten","attributes.retrieval.documents.10.document.content":"c10","attributes.retrieval.documents.9.document.content":"c9","attributes.retrieval.documents.9.document.score":0.8}
{"name":"embed","span_kind":"EMBEDDING","context.trace_id":"t2","context.span_id":"s3","parent_id":"gone","attributes.embedding.model_name":"e"}"#;

    #[test]
    fn a_trace_is_one_example_with_its_roots_words_and_its_retrievers_documents_in_numeric_order() {
        let data = open("spans.jsonl", SPANS);
        assert_eq!(data.format, Format::OpenInference);
        let example = examples(&data)[0];
        assert_eq!(
            (example.id.as_str(), example.question.as_str(), example.answer.as_deref()),
            ("t1", "q?", Some("a"))
        );
        assert_eq!(example.passages.iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), ["c9", "c10"]);
        assert_eq!(example.passages[0].score, Some(0.8));
        assert!(bad(&data)[0].reason.contains("input.value"));
    }

    #[test]
    fn a_reranker_replaces_what_was_retrieved() {
        let more = r#"{"name":"rerank","span_kind":"RERANKER","context.trace_id":"t1","context.span_id":"s4","parent_id":"s1","attributes.reranker.output_documents":"[{'document.content': 'best', 'document.id': 7}]"}"#;
        let data = open("spans.jsonl", &format!("{SPANS}\n{more}"));
        let passages = &examples(&data)[0].passages;
        assert_eq!(
            (passages.len(), passages[0].text.as_str(), passages[0].id.as_deref()),
            (1, "best", Some("7"))
        );
    }

    #[test]
    fn lists_side_by_side_and_bare_texts_are_documents_too() {
        let spans = r#"[{"spanContext":{"traceId":"t","spanId":"a"},"attributes":{"openinference.span.kind":"RETRIEVER","input.value":"q?","retrieval.documents.contents":["x","y"],"retrieval.documents.scores":[2,1]}},
            {"spanContext":{"traceId":"u","spanId":"b"},"attributes":{"openinference.span.kind":"RETRIEVER","input.value":"q?","retrieval.documents":["z"]}}]"#;
        let data = open("spans.json", spans);
        let examples = examples(&data);
        assert_eq!((examples[0].passages[1].text.as_str(), examples[0].passages[1].score), ("y", Some(1.0)));
        assert_eq!(examples[1].passages[0].text, "z");
    }
}
