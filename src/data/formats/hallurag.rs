//! `HalluRAG`: answers with a verdict for each sentence. `cum_sentence` is cumulative: each entry repeats the text
//! before it, so a sentence is what an entry adds.

use crate::data::error::DataError;
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::translated::{Translation, object, one_by_one};
use super::{Input, Parts};

/// Whether a record can be one of `HalluRAG`'s.
pub(super) fn is_record(fields: &Object) -> bool {
    fields.list("sentence_data").is_some() && fields.has("prompt")
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    one_by_one(input, notices, record)
}

pub(super) fn record(fields: &Object, row: usize, notices: &mut Notices) -> Result<Object, String> {
    let empty = Object::default();
    let prompt = fields.get("prompt").and_then(Json::object).unwrap_or(&empty);
    let passage = prompt.get("passage").and_then(Json::object).unwrap_or(&empty);
    let answer = fields.text("llm_response").unwrap_or_default();
    let contexts = chunks_of_prompt(prompt).or_else(|| passage.text("passage_text").map(|text| vec![text]));
    let contexts = contexts.unwrap_or_default().into_iter().map(|text| Json::Text(text.to_owned()));
    let labels = labels(fields.list("sentence_data").unwrap_or_default(), answer, row, notices)?;
    Ok(Translation::default()
        .put("id", prompt.get("qna_id"))
        .put("question", passage.get("question"))
        .put("answer", fields.get("llm_response"))
        .with("contexts", Json::List(contexts.collect()))
        .put("labels", labels.as_ref())
        .text("offset_unit", Some("byte"))
        .put("reference", passage.get("answer_quote"))
        .group("generator", fields.scalar("model"))
        .group("quantization", fields.scalar("quantization"))
        .group("answerable", prompt.scalar("answerable"))
        .group("source", prompt.scalar("qna_id"))
        .finish())
}

/// The chunks that the prompt showed, cut at `### Chunk n:`.
fn chunks_of_prompt(prompt: &Object) -> Option<Vec<&str>> {
    let messages = prompt.list("rag_prompt")?;
    let shown = messages.iter().rev().find_map(|message| {
        message.object()?.text("content").filter(|content| content.contains("### Chunk"))
    })?;
    let chunks = shown.split("### Chunk").skip(1).map(|piece| {
        let after_number = piece.split_once(':').map_or(piece, |(_, text)| text);
        // The last chunk is followed by where the answer is to stand.
        let text = after_number.rsplit_once("\nAnswer:").map_or(after_number, |(text, _)| text);
        text.trim()
    });
    Some(chunks.filter(|text| !text.is_empty()).collect())
}

/// Sentences judged hallucinated, in bytes; `None` where no sentence has a verdict.
fn labels(
    sentences: &[Json],
    answer: &str,
    row: usize,
    notices: &mut Notices,
) -> Result<Option<Json>, String> {
    let mut spans = Vec::new();
    let mut judged = false;
    let mut start = 0;
    for (number, sentence) in sentences.iter().enumerate() {
        let Some(fields) = sentence.object() else {
            return Err(format!(
                "field `sentence_data`, entry {number}: expected an object, found {}",
                sentence.kind()
            ));
        };
        let Some(so_far) = fields.text("cum_sentence") else { continue };
        if !answer.starts_with(so_far) || so_far.len() < start {
            return Err(format!(
                "field `sentence_data`, entry {number}: expected the beginning of `llm_response` in `cum_sentence`, \
                 found another text"
            ));
        }
        match fields.scalar("target") {
            Some("hallucinated") => {
                judged = true;
                let added = &answer[start..so_far.len()];
                let from = so_far.len() - added.trim_start().len();
                let to = start + added.trim_end().len();
                if from < to {
                    let number = |value: usize| Some(Json::Number(value.to_string()));
                    spans.push(object([("start", number(from)), ("end", number(to))]));
                }
            }
            Some("non-hallucinated") => judged = true,
            _ => notices.add("a sentence without a verdict counts as supported", 1, Some(row)),
        }
        start = so_far.len();
    }
    Ok(judged.then_some(Json::List(spans)))
}

#[cfg(test)]
mod tests {
    use crate::data::Format;
    use crate::data::formats::test_files::{bad, examples, open};

    const RECORD: &str = r#"[{"model":"m","prompt":{"qna_id":"1_0","answerable":true,
        "passage":{"question":"q?","passage_text":"P."},
        "rag_prompt":[{"role":"user","content":"Question: q?\nContext: ### Chunk 1: T\nP.\n### Chunk 2: U\nR.\nAnswer:"}]},
        "sentence_data":[{"target":"non-hallucinated","cum_sentence":"A."},{"target":"hallucinated","cum_sentence":"A. B."}],
        "llm_response":"A. B."}]"#;

    #[test]
    fn a_sentence_is_what_a_cumulative_entry_adds_and_chunks_are_cut_from_the_prompt() {
        let data = open("hallu.json", RECORD);
        assert_eq!(data.format, Format::HalluRag);
        let example = examples(&data)[0];
        assert_eq!(example.passages.iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), ["T\nP.", "U\nR."]);
        assert_eq!(example.gold_spans.as_ref().unwrap()[0].range, 3..5);
        assert_eq!(example.split_key(), "1_0");
    }

    #[test]
    fn sentences_of_another_text_make_the_row_bad() {
        let data = open("hallu.json", &RECORD.replacen("\"A. B.\"}", "\"A. C.\"}", 1));
        assert!(bad(&data)[0].reason.contains("cum_sentence"));
    }
}
