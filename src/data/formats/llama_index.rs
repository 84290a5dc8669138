//! `LlamaIndex`: RAG data sets (`examples` with `query` and references, predictions in a file beside it by
//! position), and dumps of evaluation results.

use crate::data::error::DataError;
use crate::data::json::{Json, Object, parse};
use crate::data::notice::Notices;
use crate::data::source_file::{DataHash, SourceFile};

use super::translated::{Translated, Translation, drafts};
use super::{Input, Parts};

const PREDICTIONS: &str = "predictions.json";

/// Whether a record can be one of `LlamaIndex`.
pub(super) fn is_record(fields: &Object) -> bool {
    let example = fields.list("examples").and_then(<[Json]>::first).and_then(Json::object);
    example.is_some_and(|example| example.has("query"))
        || fields.has("query") && fields.has("response") && (fields.has("passing") || fields.has("feedback"))
}

pub(super) fn read(
    input: &Input<'_>,
    hash: &mut DataHash,
    notices: &mut Notices,
) -> Result<Parts, DataError> {
    let mut records: Vec<Translated> = Vec::new();
    for source in input.rows(notices)? {
        match source.fields {
            Err(reason) => records.push((source.line, Err(reason))),
            Ok(fields) => match fields.list("examples") {
                Some(examples) => {
                    let predictions = predictions(input, hash, examples.len(), notices)?;
                    for (at, example) in examples.iter().enumerate() {
                        let prediction = predictions.get(at).and_then(Json::object);
                        let fields = example.object().map(|fields| of_data_set(fields, prediction));
                        let fields =
                            fields.ok_or_else(|| format!("expected an example, found {}", example.kind()));
                        records.push((source.line, fields));
                    }
                }
                None => records.push((source.line, Ok(of_result(&fields)))),
            },
        }
    }
    Ok(Parts { rows: drafts(records, notices), documents: Vec::new() })
}

/// The predictions beside the data set, in its order; none when there is no such file.
fn predictions(
    input: &Input<'_>,
    hash: &mut DataHash,
    expected: usize,
    notices: &mut Notices,
) -> Result<Vec<Json>, DataError> {
    let Some(path) = input.file.beside(PREDICTIONS) else { return Ok(Vec::new()) };
    let file = SourceFile::open(&path, hash)?;
    let text = file.text()?;
    let (json, tolerated) = parse(text)
        .map_err(|error| input.broken(format!("`{PREDICTIONS}` is no JSON: {}", error.in_text(text))))?;
    tolerated.tell(None, notices);
    let predictions =
        json.object().and_then(|fields| fields.list("predictions")).unwrap_or_default().to_vec();
    if !predictions.is_empty() && predictions.len() != expected {
        // They are joined by their place alone: one too few would move every answer to another question.
        return Err(input.broken(format!(
            "`{PREDICTIONS}` holds {} predictions for {expected} examples, and they are joined by their place",
            predictions.len()
        )));
    }
    Ok(predictions)
}

fn of_data_set(fields: &Object, prediction: Option<&Object>) -> Object {
    let retrieved = prediction.and_then(|prediction| prediction.get("contexts"));
    Translation::default()
        .put("question", fields.get("query"))
        .put("answer", prediction.and_then(|prediction| prediction.get("response")))
        .put("reference", fields.get("reference_answer"))
        .put("contexts", retrieved.or_else(|| fields.get("reference_contexts")))
        .finish()
}

fn of_result(fields: &Object) -> Object {
    let passing = fields.get("passing").filter(|value| matches!(value, Json::Bool(_)));
    Translation::default()
        .put("question", fields.get("query"))
        .put("answer", fields.get("response"))
        .put("contexts", fields.get("contexts"))
        .put("consistent", passing)
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::data::formats::test_files::{examples, open, try_open};
    use crate::data::{Format, OpenOptions};

    const EXAMPLES: &str = r#"{"examples":[{"query":"q?","query_by":{"model_name":"gpt-4","type":"ai"},
        "reference_contexts":["c1"],"reference_answer":"r"}]}"#;

    #[test]
    fn predictions_beside_the_data_set_are_joined_by_place_and_by_nothing_else() {
        let data = open("rag_dataset.json", EXAMPLES);
        assert_eq!(data.format, Format::LlamaIndex);
        assert_eq!(
            (examples(&data)[0].answer.as_deref(), examples(&data)[0].passages[0].text.as_str()),
            (None, "c1")
        );
        let one = br#"{"predictions":[{"response":"a","contexts":["c2"]}]}"#;
        let files = [("rag_dataset.json", EXAMPLES.as_bytes()), ("predictions.json", &one[..])];
        let data = try_open(&files, "rag_dataset.json", &OpenOptions::default()).unwrap();
        assert_eq!(examples(&data)[0].answer.as_deref(), Some("a"));
        assert_eq!(examples(&data)[0].passages[0].text, "c2");
        let two = br#"{"predictions":[{"response":"a"},{"response":"b"}]}"#;
        let files = [("rag_dataset.json", EXAMPLES.as_bytes()), ("predictions.json", &two[..])];
        let error = try_open(&files, "rag_dataset.json", &OpenOptions::default()).unwrap_err().to_string();
        assert!(error.contains("2 predictions for 1 examples"), "{error}");
    }

    #[test]
    fn evaluation_results_bring_their_verdict() {
        let data = open(
            "results.json",
            r#"[{"query":"q?","contexts":["c"],"response":"a","passing":false,"feedback":"no","score":0.0}]"#,
        );
        assert_eq!(examples(&data)[0].gold_consistent, Some(false));
    }
}
