//! Writing ragscope's own JSONL: what [`super::own`] reads.

use serde_json::{Map, Value, json};

use crate::data::example::{Document, Example, Passage};
use crate::data::units::OffsetUnit;
use crate::text::escaped_json;

/// One line of own JSONL, without its end. Offsets are code points, the unit that is meant where none is stated.
///
/// Reading the line gives the example again, its row apart, which is its place in the file.
#[must_use]
pub fn write_line(example: &Example) -> String {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("id", json!(example.id));
    put("question", json!(example.question));
    if let Some(answer) = &example.answer {
        put("answer", json!(answer));
    }
    if !example.references.is_empty() {
        put("references", json!(example.references));
    }
    if !example.source_documents.is_empty() {
        put("source_ids", json!(example.source_documents));
    }
    if !example.passages.is_empty() {
        put("contexts", Value::Array(example.passages.iter().map(passage).collect()));
    }
    if let (Some(spans), Some(answer)) = (&example.gold_spans, &example.answer) {
        let label = |span: &crate::data::GoldSpan| {
            let points = OffsetUnit::CodePoint.from_bytes(answer, &span.range).ok()?;
            let mut label =
                json!({"start": points.start, "end": points.end, "text": answer.get(span.range.clone())?});
            if let Some(kind) = &span.kind {
                label["kind"] = json!(kind);
            }
            Some(label)
        };
        put("labels", Value::Array(spans.iter().filter_map(label).collect()));
    }
    if let Some(consistent) = example.gold_consistent {
        put("consistent", json!(consistent));
    }
    if !example.groups.is_empty() {
        put("groups", json!(example.groups));
    }
    written(fields)
}

/// Nothing in the line acts on a terminal or ends it early, whatever the texts hold.
fn written(fields: Map<String, Value>) -> String {
    escaped_json(&Value::Object(fields).to_string()).into_owned()
}

fn passage(passage: &Passage) -> Value {
    let Passage { id, document, text, score } = passage;
    if id.is_none() && document.is_none() && score.is_none() {
        return json!(text);
    }
    let mut fields = Map::new();
    fields.insert("text".to_owned(), json!(text));
    for (name, value) in [("id", id), ("document", document)] {
        if let Some(value) = value {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(score) = score {
        fields.insert("score".to_owned(), json!(score));
    }
    Value::Object(fields)
}

/// One line of `documents.jsonl`, without its end.
#[must_use]
pub fn write_document(document: &Document) -> String {
    let mut fields = Map::new();
    fields.insert("id".to_owned(), json!(document.id));
    if let Some(title) = &document.title {
        fields.insert("title".to_owned(), json!(title));
    }
    match document.parts.as_slice() {
        [one] => fields.insert("text".to_owned(), json!(one)),
        parts => fields.insert("parts".to_owned(), json!(parts)),
    };
    if !document.groups.is_empty() {
        fields.insert("groups".to_owned(), json!(document.groups));
    }
    written(fields)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::formats::own::parse_line;
    use crate::data::{GoldSpan, Row};

    fn text() -> impl Strategy<Value = String> {
        // A mark first, so that no text is blank: blank fields are read as absent ones.
        "[xé市🙂\"\\\\\u{1b}\u{2028}\u{0} \n]{0,12}".prop_map(|tail| format!("x{tail}"))
    }

    fn example() -> impl Strategy<Value = Example> {
        let passage = (
            proptest::option::of(text()),
            proptest::option::of(text()),
            text(),
            proptest::option::of(-1e9..1e9_f64),
        )
            .prop_map(|(id, document, text, score)| Passage { id, document, text, score });
        let pieces =
            proptest::collection::vec((text(), any::<bool>(), proptest::option::of("[a-z]{1,5}")), 0..4);
        let groups = proptest::collection::btree_map("[a-z]{1,6}", text(), 0..3);
        let texts = || proptest::collection::btree_set(text(), 0..3);
        (
            (text(), text(), proptest::collection::vec(passage, 0..3)),
            (proptest::option::of(pieces), texts(), texts(), proptest::option::of(any::<bool>()), groups),
        )
            .prop_map(
                |((id, question, passages), (pieces, references, documents, consistent, groups))| {
                    let mut answer = String::new();
                    let mut spans = Vec::new();
                    for (piece, labelled, kind) in pieces.iter().flatten() {
                        let start = answer.len();
                        answer.push_str(piece);
                        if *labelled {
                            spans.push(GoldSpan { range: start..answer.len(), kind: kind.clone() });
                        }
                    }
                    let answered = !answer.is_empty();
                    // Ids lose the blanks round them.
                    Example {
                        id: id.trim().to_owned(),
                        row: 3,
                        question,
                        passages,
                        answer: answered.then_some(answer),
                        references: references.into_iter().collect(),
                        source_documents: documents.into_iter().collect(),
                        gold_spans: answered.then_some(spans),
                        gold_consistent: consistent,
                        groups,
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn a_written_example_is_read_back_as_it_was(example in example()) {
            let line = write_line(&example);
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(parse_line(line.as_bytes(), 3, 4), Row::Example(example));
        }
    }
}
