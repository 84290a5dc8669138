//! `LettuceDetect`: `prompt`, `answer`, `labels`; the newer version brings `question` and `context` along, the
//! older has both inside the prompt.

use crate::data::error::DataError;
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::translated::{Translation, one_by_one};
use super::{Input, Parts};

/// Whether a record can be one of `LettuceDetect`'s.
pub(super) fn is_record(fields: &Object) -> bool {
    fields.has("prompt") && fields.has("answer") && fields.list("labels").is_some()
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    one_by_one(input, notices, |fields, row, notices| Ok(record(fields, row, notices)))
}

pub(super) fn record(fields: &Object, row: usize, notices: &mut Notices) -> Object {
    let prompt = fields.text("prompt").unwrap_or_default();
    let named = fields.text("question").zip(fields.get("context"));
    let (question, contexts) = if let Some((question, contexts)) = named {
        (question.to_owned(), contexts.clone())
    } else {
        notices.add(
            "the prompt was divided into its first paragraph (the question) and the rest (one passage)",
            1,
            Some(row),
        );
        let (question, rest) = divided(prompt);
        (question.to_owned(), Json::List(vec![Json::Text(rest.to_owned())]))
    };
    let contexts = match contexts {
        Json::Text(one) => Json::List(vec![Json::Text(one)]),
        other => other,
    };
    Translation::default()
        .put("id", fields.get("id"))
        .text("question", Some(&question))
        .put("answer", fields.get("answer"))
        .with("contexts", contexts)
        .put("labels", fields.get("labels"))
        .group("split", fields.scalar("split"))
        .group("task", fields.scalar("task_type"))
        .group("data set", fields.scalar("dataset"))
        .group("language", fields.scalar("language"))
        // Answers to one prompt must not straddle a split.
        .group("source", Some(prompt))
        .finish()
}

/// The first paragraph of a prompt and what follows it; a prompt of one paragraph is both.
fn divided(prompt: &str) -> (&str, &str) {
    match prompt.split_once("\n\n") {
        Some((first, rest)) if !first.trim().is_empty() && !rest.trim().is_empty() => {
            (first.trim(), rest.trim())
        }
        _ => (prompt.trim(), prompt.trim()),
    }
}

#[cfg(test)]
mod tests {
    use crate::data::Format;
    use crate::data::formats::test_files::{examples, notices, open};

    #[test]
    fn the_older_layout_keeps_question_and_passage_inside_the_prompt() {
        let data = open(
            "lettuce.json",
            r#"[{"prompt":"User request: which year?\n\nIt was 1931.","answer":"It was 1932.",
                "labels":[{"start":7,"end":11,"label":"Evident Conflict"}],"split":"test","task_type":"QA",
                "dataset":"demo","language":"en"}]"#,
        );
        assert_eq!(data.format, Format::LettuceDetect);
        let example = examples(&data)[0];
        assert_eq!(example.question, "User request: which year?");
        assert_eq!(example.passages[0].text, "It was 1931.");
        let span = &example.gold_spans.as_ref().unwrap()[0];
        assert_eq!((span.range.clone(), span.kind.as_deref()), (7..11, Some("Evident Conflict")));
        assert_eq!(example.groups["split"], "test");
        assert!(notices(&data).contains("first paragraph"));
    }

    #[test]
    fn the_newer_layout_names_question_and_context() {
        let data = open(
            "lettuce.json",
            r#"[{"prompt":"p","question":"which year?","context":["c1","c2"],"answer":"1931","labels":[]}]"#,
        );
        let example = examples(&data)[0];
        assert_eq!((example.question.as_str(), example.passages.len()), ("which year?", 2));
        assert_eq!(example.gold_spans.as_deref(), Some(&[][..]));
    }
}
