//! `HotpotQA`: questions over several titled paragraphs, as lists of pairs or, on the hub, as dictionaries of lists.

use std::collections::BTreeMap;

use crate::data::error::DataError;
use crate::data::example::{Example, Passage};
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::squad::{Corpus, with_corpus};
use super::{Input, Parts};

/// Whether a record can be one of `HotpotQA`'s.
pub(super) fn is_record(fields: &Object) -> bool {
    fields.has("question") && fields.has("supporting_facts") && fields.has("context")
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    with_corpus(input, notices, "_id", example_of)
}

fn example_of(fields: &Object, row: usize, corpus: &mut Corpus) -> Result<Example, String> {
    let question = fields.text("question").filter(|text| !text.trim().is_empty());
    let question = question.ok_or("expected text in `question`, found none")?;
    let paragraphs = paragraphs(fields.get("context"))?;
    let supporting = supporting_titles(fields.get("supporting_facts"));
    let mut passages = Vec::new();
    let mut source_documents = Vec::new();
    for (title, text) in paragraphs {
        let document = corpus.add(&title, &text);
        if supporting.contains(&title) {
            source_documents.push(document.clone());
        }
        passages.push(Passage { id: Some(document.clone()), document: Some(document), text, score: None });
    }
    let id = fields.scalar("_id").or_else(|| fields.scalar("id"));
    let groups = ["type", "level"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), fields.scalar(name)?.to_owned())))
        .collect::<BTreeMap<_, _>>();
    Ok(Example {
        id: id.map_or_else(|| format!("row-{row}"), str::to_owned),
        row,
        question: question.to_owned(),
        passages,
        answer: None,
        references: fields.scalar("answer").map(str::to_owned).into_iter().collect(),
        source_documents,
        gold_spans: None,
        gold_consistent: None,
        groups,
    })
}

/// Titles with their sentences joined, in order.
fn paragraphs(context: Option<&Json>) -> Result<Vec<(String, String)>, String> {
    let wrong = || "field `context`: expected pairs of a title and its sentences".to_owned();
    let joined = |sentences: &Json| -> Result<String, String> {
        let sentences = sentences.list().ok_or_else(wrong)?;
        Ok(sentences.iter().filter_map(Json::text).collect::<String>().trim().to_owned())
    };
    let pairs: Vec<(String, String)> = match context {
        Some(Json::List(pairs)) => pairs
            .iter()
            .map(|pair| match pair.list() {
                Some([title, sentences]) => {
                    Ok((title.scalar().ok_or_else(wrong)?.to_owned(), joined(sentences)?))
                }
                _ => Err(wrong()),
            })
            .collect::<Result<_, _>>()?,
        Some(Json::Object(lists)) => {
            let titles = lists.list("title").ok_or_else(wrong)?;
            let sentences = lists.list("sentences").ok_or_else(wrong)?;
            if titles.len() != sentences.len() {
                return Err(format!(
                    "field `context`: {} titles for {} lists of sentences",
                    titles.len(),
                    sentences.len()
                ));
            }
            titles
                .iter()
                .zip(sentences)
                .map(|(title, sentences)| {
                    Ok((title.scalar().ok_or_else(wrong)?.to_owned(), joined(sentences)?))
                })
                .collect::<Result<_, String>>()?
        }
        _ => return Err(wrong()),
    };
    Ok(pairs.into_iter().filter(|(_, text)| !text.is_empty()).collect())
}

/// Titles that hold the answer. The number of the sentence is not used: some point past the end.
fn supporting_titles(facts: Option<&Json>) -> Vec<String> {
    match facts {
        Some(Json::List(pairs)) => {
            pairs.iter().filter_map(|pair| Some(pair.list()?.first()?.scalar()?.to_owned())).collect()
        }
        Some(Json::Object(lists)) => lists
            .list("title")
            .unwrap_or_default()
            .iter()
            .filter_map(Json::scalar)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::data::Format;
    use crate::data::formats::test_files::{bad, examples, open};

    #[test]
    fn pairs_and_dictionaries_of_lists_say_the_same() {
        let pairs = r#"[{"_id":"h1","question":"q?","answer":"a","type":"bridge","level":"easy",
            "supporting_facts":[["Ferry",7]],"context":[["Ferry",["It began"," in 1931."]],["Other",["No."]]]}]"#;
        let lists = r#"[{"_id":"h1","question":"q?","answer":"a","type":"bridge","level":"easy",
            "supporting_facts":{"title":["Ferry"],"sent_id":[0]},
            "context":{"title":["Ferry","Other"],"sentences":[["It began"," in 1931."],["No."]]}}]"#;
        let (pairs, lists) = (open("hotpot.json", pairs), open("hotpot.json", lists));
        assert_eq!(pairs.format, Format::HotpotQa);
        assert_eq!(examples(&pairs), examples(&lists));
        let example = examples(&pairs)[0];
        assert_eq!(example.passages[0].text, "It began in 1931.");
        assert_eq!(example.source_documents, ["Ferry/paragraph-1"]);
        assert_eq!(pairs.documents.len(), 2);
    }

    #[test]
    fn contexts_of_another_shape_make_a_bad_row() {
        let data =
            open("hotpot.json", r#"[{"_id":"h","question":"q?","supporting_facts":[],"context":["x"]}]"#);
        assert_eq!(bad(&data)[0].id.as_deref(), Some("h"));
    }
}
