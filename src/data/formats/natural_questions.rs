//! Natural Questions, simplified: a page as one text, answers as ranges of its words. Tags of HTML are words too;
//! they are left out of passages and answers.

use std::collections::BTreeMap;

use crate::data::error::{DataError, shown};
use crate::data::example::Example;
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::squad::{Corpus, with_corpus};
use super::{Input, Parts};

/// Whether a record can be one of the simplified Natural Questions.
pub(super) fn is_record(fields: &Object) -> bool {
    fields.has("question_text") && fields.has("document_text")
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    with_corpus(input, notices, "example_id", example_of)
}

fn example_of(fields: &Object, row: usize, corpus: &mut Corpus) -> Result<Example, String> {
    let text = |name: &str| {
        let text = fields.text(name).filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| format!("expected text in `{name}`, found none"))
    };
    let (question, document) = (text("question_text")?, text("document_text")?);
    let id = fields.scalar("example_id").map_or_else(|| format!("row-{row}"), str::to_owned);
    // Offsets count what blanks divide, and nothing else.
    let words: Vec<&str> = document.split(' ').collect();
    let title = fields.text("document_url").unwrap_or(&id);
    let mut documents = BTreeMap::new();
    for candidate in fields.list("long_answer_candidates").unwrap_or_default() {
        let Some(candidate) = candidate.object() else { continue };
        if matches!(candidate.get("top_level"), Some(Json::Bool(false))) {
            continue;
        }
        if let Some((range, text)) = words_of(candidate, &words)? {
            documents.insert(range, corpus.add(title, &text));
        }
    }
    let mut references: Vec<String> = Vec::new();
    let mut source_documents: Vec<String> = Vec::new();
    for annotation in fields.list("annotations").unwrap_or_default() {
        let Some(annotation) = annotation.object() else { continue };
        for answer in annotation.list("short_answers").unwrap_or_default() {
            if let Some((_, text)) =
                answer.object().map(|answer| words_of(answer, &words)).transpose()?.flatten()
                && !references.contains(&text)
            {
                references.push(text);
            }
        }
        if let Some(yes_no) = annotation.text("yes_no_answer").filter(|answer| *answer != "NONE") {
            references.push(yes_no.to_lowercase());
        }
        let Some(long) = annotation.get("long_answer").and_then(Json::object) else { continue };
        if let Some((range, text)) = words_of(long, &words)? {
            let document = documents.entry(range).or_insert_with(|| corpus.add(title, &text)).clone();
            if references.is_empty() {
                references.push(text);
            }
            if !source_documents.contains(&document) {
                source_documents.push(document);
            }
        }
    }
    Ok(Example {
        groups: BTreeMap::from([("source".to_owned(), id.clone())]),
        id,
        row,
        question: question.to_owned(),
        passages: Vec::new(),
        answer: None,
        references,
        source_documents,
        gold_spans: None,
        gold_consistent: None,
    })
}

/// The words of a range without tags; `None` for the range -1 that stands for no answer, or where only tags lie.
#[expect(clippy::type_complexity, reason = "a range and its text")]
fn words_of(fields: &Object, words: &[&str]) -> Result<Option<((usize, usize), String)>, String> {
    let offset = |name: &str| match fields.get(name) {
        Some(Json::Number(digits)) if digits.starts_with('-') => Ok(None),
        Some(value) => match value.offset() {
            Some(offset) => Ok(Some(offset)),
            None => Err(format!("field `{name}`: expected a whole number, found {}", value.kind())),
        },
        None => Ok(None),
    };
    let (Some(start), Some(end)) = (offset("start_token")?, offset("end_token")?) else { return Ok(None) };
    let Some(range) = words.get(start..end) else {
        return Err(format!(
            "words {start} to {end} do not lie in `document_text`, which has {} (first `{}`)",
            words.len(),
            shown(words.first().copied().unwrap_or_default())
        ));
    };
    let is_tag = |word: &str| word.len() > 2 && word.starts_with('<') && word.ends_with('>');
    let text: Vec<&str> = range.iter().copied().filter(|word| !is_tag(word) && !word.is_empty()).collect();
    Ok((!text.is_empty()).then(|| ((start, end), text.join(" "))))
}

#[cfg(test)]
mod tests {
    use crate::data::Format;
    use crate::data::formats::test_files::{bad, examples, gzip, open, open_bytes};

    const RECORD: &str = r#"{"example_id":12345678901234567890,"question_text":"when","document_text":"<P> It began in 1931 . </P> <P> Other . </P>","long_answer_candidates":[{"start_token":0,"end_token":7,"top_level":true},{"start_token":7,"end_token":11,"top_level":true}],"annotations":[{"long_answer":{"start_token":0,"end_token":7,"candidate_index":0},"short_answers":[{"start_token":4,"end_token":5}],"yes_no_answer":"NONE"},{"long_answer":{"start_token":-1,"end_token":-1,"candidate_index":-1},"short_answers":[],"yes_no_answer":"NONE"}]}"#;

    #[test]
    fn ranges_of_words_become_passages_and_references_without_tags() {
        let data = open_bytes("simplified.jsonl.gz", &gzip(RECORD.as_bytes()));
        assert_eq!(data.format, Format::NaturalQuestions);
        let example = examples(&data)[0];
        assert_eq!(example.id, "12345678901234567890");
        assert_eq!(example.references, ["1931"]);
        assert_eq!(data.documents[0].parts, ["It began in 1931 ."]);
        assert_eq!(data.documents.len(), 2);
        assert_eq!(example.source_documents, [data.documents[0].id.clone()]);
    }

    #[test]
    fn a_range_outside_of_the_page_makes_a_bad_row() {
        let data = open("simplified.jsonl", &RECORD.replace("\"end_token\":5", "\"end_token\":500"));
        assert!(bad(&data)[0].reason.contains("do not lie in `document_text`"));
    }
}
