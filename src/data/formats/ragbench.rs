//! `RAGBench`: documents, a response divided into keyed sentences, and the keys of those without support.
//!
//! Sentences were cut by a model: their joined text is not the response to the byte, and keys come with stray
//! punctuation ("a." for "a"). A sentence is looked for in the response from where the one before it ended, blanks
//! apart.

use crate::data::error::{DataError, shown};
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::translated::{Translation, object, one_by_one};
use super::{Input, Parts};

/// Whether a record can be one of `RAGBench`'s.
pub(super) fn is_record(fields: &Object) -> bool {
    fields.has("documents") && fields.has("response") && fields.has("response_sentences")
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    one_by_one(input, notices, record)
}

pub(super) fn record(fields: &Object, row: usize, notices: &mut Notices) -> Result<Object, String> {
    let response = fields.text("response").unwrap_or_default();
    let labels = match fields.list("unsupported_response_sentence_keys") {
        None => None,
        Some(keys) => Some(labels(fields, response, keys, row, notices)?),
    };
    let consistent = fields.get("adherence_score").filter(|value| matches!(value, Json::Bool(_)));
    // The judgement of the whole answer may contradict its sentences; both are kept, the spans count.
    Ok(Translation::default()
        .put("id", fields.get("id"))
        .put("question", fields.get("question"))
        .put("answer", fields.get("response"))
        .put("contexts", fields.get("documents"))
        .put("labels", labels.as_ref())
        .put("consistent", consistent)
        .text("offset_unit", Some("byte"))
        .group("generator", fields.scalar("generation_model_name"))
        .group("data set", fields.scalar("dataset_name"))
        .group("source", fields.scalar("question"))
        .finish())
}

fn labels(
    fields: &Object,
    response: &str,
    keys: &[Json],
    row: usize,
    notices: &mut Notices,
) -> Result<Json, String> {
    let unsupported: Vec<&str> = keys.iter().filter_map(Json::scalar).map(plain_key).collect();
    let sentences = fields.list("response_sentences").unwrap_or_default();
    let mut found: Vec<&str> = Vec::new();
    let mut spans = Vec::new();
    let mut cursor = 0;
    for sentence in sentences {
        let pair = sentence.list().unwrap_or_default();
        let (Some(key), Some(text)) = (pair.first().and_then(Json::scalar), pair.get(1).and_then(Json::text))
        else {
            return Err("field `response_sentences`: expected pairs of a key and a sentence".to_owned());
        };
        let key = plain_key(key);
        let wanted = unsupported.contains(&key);
        if wanted {
            found.push(key);
        }
        let Some((start, end)) = find_apart_from_blanks(response, cursor, text) else {
            if wanted {
                return Err(format!(
                    "field `response_sentences`: the unsupported sentence `{}` (`{}`) is not in the response",
                    shown(key),
                    shown(text)
                ));
            }
            notices.add("a sentence of the response was not found in it; it is not marked", 1, Some(row));
            continue;
        };
        cursor = end;
        if wanted && start < end {
            let number = |value: usize| Some(Json::Number(value.to_string()));
            spans.push(object([
                ("start", number(start)),
                ("end", number(end)),
                ("text", Some(Json::Text(response[start..end].to_owned()))),
            ]));
        }
    }
    let unknown = unsupported.iter().filter(|key| !found.contains(key)).count();
    notices.add("an unsupported key names no sentence of the response", unknown, Some(row));
    Ok(Json::List(spans))
}

/// A key without the punctuation that annotating models put round it.
fn plain_key(key: &str) -> &str {
    key.trim_matches(|c: char| !c.is_alphanumeric())
}

/// The first place at or after `from` where `text` shows `wanted`, blanks in either ignored.
fn find_apart_from_blanks(text: &str, from: usize, wanted: &str) -> Option<(usize, usize)> {
    let wanted: Vec<char> = wanted.chars().filter(|c| !c.is_whitespace()).collect();
    let first = *wanted.first()?;
    let tail = text.get(from..)?;
    tail.char_indices().filter(|(_, c)| *c == first).find_map(|(offset, _)| {
        let start = from + offset;
        let mut shown = text[start..].char_indices().filter(|(_, c)| !c.is_whitespace());
        let mut end = start;
        for expected in &wanted {
            let (at, c) = shown.next()?;
            if c != *expected {
                return None;
            }
            end = start + at + c.len_utf8();
        }
        Some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Format;
    use crate::data::formats::test_files::{bad, examples, open};

    #[test]
    fn unsupported_sentences_are_found_in_the_response_in_spite_of_stray_punctuation_and_blanks() {
        let data = open(
            "bench.jsonl",
            r#"{"id":"q1","question":"which year?","documents":["It was 1931."],"response":"Café: it  was 1932.\nGood. Good.","response_sentences":[["a","Café: it was 1932."],["b.","Good."],["c","Good."]],"unsupported_response_sentence_keys":["a.","c"],"adherence_score":false,"dataset_name":"demo"}"#,
        );
        assert_eq!(data.format, Format::RagBench);
        let example = examples(&data)[0];
        let answer = example.answer.as_deref().unwrap();
        let spans: Vec<&str> =
            example.gold_spans.as_ref().unwrap().iter().map(|span| &answer[span.range.clone()]).collect();
        assert_eq!(spans, ["Café: it  was 1932.", "Good."]);
        assert_eq!(example.gold_spans.as_ref().unwrap()[1].range.end, answer.len());
    }

    #[test]
    fn an_unsupported_sentence_that_is_not_in_the_response_makes_its_row_bad() {
        let data = open(
            "bench.jsonl",
            r#"{"id":"q1","question":"q?","documents":["d"],"response":"One.","response_sentences":[["a","Two."]],"unsupported_response_sentence_keys":["a"]}"#,
        );
        assert!(bad(&data)[0].reason.contains("is not in the response"), "{}", bad(&data)[0].reason);
    }

    #[test]
    fn a_sentence_is_looked_for_after_the_one_before() {
        assert_eq!(find_apart_from_blanks("a b. a b.", 4, "a b."), Some((5, 9)));
        assert_eq!(find_apart_from_blanks("a b.", 1, "a b."), None);
        assert_eq!(find_apart_from_blanks("x", 0, "  "), None);
    }
}
