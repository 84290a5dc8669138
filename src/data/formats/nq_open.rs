//! Natural Questions open with passages, as in "Lost in the Middle": question, answers, contexts of
//! which one is the annotated passage. The corpus is those gold passages, each once.

use std::collections::BTreeMap;

use crate::data::error::DataError;
use crate::data::example::Example;
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::squad::{Corpus, with_corpus};
use super::{Input, Parts};

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    with_corpus(input, notices, "id", example)
}

fn example(fields: &Object, row: usize, corpus: &mut Corpus) -> Result<Example, String> {
    let question = fields.text("question").filter(|text| !text.trim().is_empty());
    let question = question.ok_or("expected text in `question`, found none")?;
    let mut references: Vec<String> = Vec::new();
    for answer in fields.list("answers").unwrap_or_default() {
        let answer = answer
            .scalar()
            .ok_or_else(|| format!("field `answers`: expected texts, found {}", answer.kind()))?;
        if !answer.trim().is_empty() && !references.iter().any(|reference| reference == answer) {
            references.push(answer.to_owned());
        }
    }
    let source_documents: Vec<String> =
        gold_passages(fields)?.into_iter().map(|(title, text)| corpus.add(title, text)).collect();
    let groups = source_documents.first().map(|document| ("source".to_owned(), document.clone()));
    Ok(Example {
        id: fields.scalar("id").map_or_else(|| format!("row-{row}"), str::to_owned),
        row,
        question: question.to_owned(),
        passages: Vec::new(),
        answer: None,
        references,
        source_documents,
        gold_spans: None,
        gold_consistent: None,
        groups: groups.into_iter().collect::<BTreeMap<_, _>>(),
    })
}

/// Title and text of the contexts marked as gold, else of the annotation.
fn gold_passages(fields: &Object) -> Result<Vec<(&str, &str)>, String> {
    fn passage<'a>(fields: &'a Object, names: &[&str]) -> Option<(&'a str, &'a str)> {
        let text = fields.first_of(names)?.text().filter(|text| !text.trim().is_empty())?;
        Some((fields.text("title").unwrap_or("untitled"), text))
    }
    let contexts = fields.list("ctxs").unwrap_or_default().iter().filter_map(Json::object);
    let marked: Vec<_> = contexts
        .filter(|context| context.get("isgold") == Some(&Json::Bool(true)))
        .filter_map(|context| passage(context, &["text"]))
        .collect();
    if !marked.is_empty() {
        return Ok(marked);
    }
    let annotated = fields.get("nq_annotated_gold").and_then(Json::object);
    let annotated = annotated.and_then(|gold| passage(gold, &["chunked_long_answer", "long_answer"]));
    annotated.map(|gold| vec![gold]).ok_or_else(|| {
        "expected a gold passage (`isgold` in `ctxs`, or `nq_annotated_gold`), found none".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use crate::data::formats::test_files::{bad, examples, gzip, open, open_bytes};

    const LINES: &str = concat!(
        r#"{"question":"who?","answers":["Ada","Ada","A. L."],"ctxs":[{"title":"T","text":"other","isgold":false},{"title":"T","text":"Ada did.","isgold":true}]}"#,
        "\n",
        r#"{"question":"when?","answers":["1843"],"ctxs":[],"nq_annotated_gold":{"title":"T","long_answer":"long","chunked_long_answer":"In 1843."}}"#,
        "\n",
        r#"{"question":"who again?","answers":[],"ctxs":[{"title":"T","text":"Ada did.","isgold":true}]}"#,
        "\n",
        r#"{"question":"lost?","answers":["x"],"ctxs":[]}"#,
    );

    #[test]
    fn the_corpus_is_the_gold_passages_each_once() {
        let data = open("nq.jsonl", LINES);
        assert_eq!(data.format.name(), "nq-open");
        let texts: Vec<&str> = data.documents.iter().map(|document| document.parts[0].as_str()).collect();
        assert_eq!(texts, ["Ada did.", "In 1843."]);
        let examples = examples(&data);
        assert_eq!(examples[0].references, ["Ada", "A. L."]);
        assert_eq!(examples[0].source_documents, examples[2].source_documents);
        assert!(examples[0].passages.is_empty() && examples[0].answer.is_none());
        assert_eq!((bad(&data)[0].row, bad(&data)[0].line), (3, Some(4)));
    }

    #[test]
    fn gzip_of_several_members_is_read_whole_under_any_name() {
        let (first, second) = LINES.split_at(200);
        let bytes = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
        let data = open_bytes("nq.dat", &bytes);
        assert_eq!((examples(&data).len(), data.documents.len()), (3, 2));
    }
}
