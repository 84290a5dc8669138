//! Results of `TruLens`' feedback functions: what a function was given holds the question, the contexts and the
//! answer of a record, each under the names of that function's arguments.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::data::error::shown_names;
use crate::data::formats::spans::unprinted;
use crate::data::formats::translated::{Translated, Translation};
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

const QUESTION: [&str; 4] = ["question", "prompt", "query", "input"];
const CONTEXT: [&str; 3] = ["context", "contexts", "source"];
const ANSWER: [&str; 3] = ["response", "output", "statement"];

/// Whether this is the result of a feedback function.
pub(super) fn is_result(fields: &Object) -> bool {
    fields.has("feedback_result_id") && fields.has("record_id")
}

/// Results of the feedback functions of one record after the other, put together.
#[derive(Default)]
pub(super) struct Results {
    in_order: Vec<Given>,
    by_record: HashMap<String, usize>,
}

/// What the feedback functions of one record were given.
#[derive(Default)]
struct Given {
    id: String,
    line: Option<usize>,
    problem: Option<String>,
    functions: BTreeSet<String>,
    arguments: BTreeSet<String>,
    questions: Texts,
    contexts: Texts,
    answers: Texts,
}

/// Texts in the order in which they first came, each once.
#[derive(Default)]
struct Texts {
    in_order: Vec<String>,
    seen: HashSet<String>,
}

impl Results {
    /// Adds one result.
    pub(super) fn add(&mut self, fields: &Object, line: Option<usize>) {
        let id = fields.scalar("record_id").unwrap_or_default().to_owned();
        let next = self.in_order.len();
        // Results without an id may be of any record: each stays by itself.
        let at = if id.is_empty() { next } else { *self.by_record.entry(id.clone()).or_insert(next) };
        if at == next {
            self.in_order.push(Given { id, line, ..Given::default() });
        }
        if let Some(given) = self.in_order.get_mut(at)
            && let Err(problem) = given.add(fields)
        {
            given.problem.get_or_insert(problem);
        }
    }

    /// One record for every record id, in the order in which they first came.
    pub(super) fn records(self, notices: &mut Notices) -> Vec<Translated> {
        self.in_order.into_iter().map(|given| (given.line, given.record(notices))).collect()
    }
}

impl Given {
    fn add(&mut self, fields: &Object) -> Result<(), String> {
        self.functions.extend(fields.scalar("name").map(str::to_owned));
        // The table keeps the calls as text, alone or in an object.
        let printed = fields.get("calls_json").map(|text| unprinted("calls_json", text)).transpose()?;
        let calls = match &printed {
            Some(Json::Object(inner)) => inner.list("calls"),
            Some(other) => other.list(),
            None => fields.list("calls"),
        };
        for call in calls.unwrap_or_default() {
            let Some(given) = call.object().and_then(|call| call.get("args")).and_then(Json::object) else {
                continue;
            };
            self.arguments.extend(given.names().map(str::to_owned));
            self.questions.take(given, &QUESTION);
            self.contexts.take(given, &CONTEXT);
            self.answers.take(given, &ANSWER);
        }
        Ok(())
    }

    fn record(self, notices: &mut Notices) -> Result<Object, String> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let function = shown_names(self.functions.iter().map(String::as_str));
        let question = match self.questions.in_order.as_slice() {
            [question] => question,
            [] => {
                return Err(format!(
                    "expected the question among the arguments of the feedback function ({function}), found {}; convert \
                     the record itself, which has it: the table `records`, or the record as JSON",
                    shown_names(self.arguments.iter().map(String::as_str)),
                ));
            }
            several => {
                return Err(format!(
                    "expected one question among the arguments of the feedback function ({function}), found {} \
                     different ones",
                    several.len(),
                ));
            }
        };
        let answer = match self.answers.in_order.as_slice() {
            [answer] => Some(answer.as_str()),
            [] => None,
            _ => {
                notices.add("an answer that its feedback function was given in pieces was left out", 1, None);
                None
            }
        };
        Ok(Translation::default()
            .text("id", Some(self.id.as_str()).filter(|id| !id.is_empty()))
            .text("question", Some(question))
            .text("answer", answer)
            .with("contexts", Json::List(self.contexts.in_order.into_iter().map(Json::Text).collect()))
            .finish())
    }
}

impl Texts {
    /// Adds the texts under these names.
    fn take(&mut self, given: &Object, names: &[&str]) {
        for value in names.iter().filter_map(|name| given.get(name)) {
            let items = value.list().unwrap_or(std::slice::from_ref(value));
            for text in items.iter().filter_map(Json::text).filter(|text| !text.trim().is_empty()) {
                if self.seen.insert(text.to_owned()) {
                    self.in_order.push(text.to_owned());
                }
            }
        }
    }
}

/// What a file of `TruLens` that holds no records is; `None`: it is none of them.
pub(in crate::data::formats) fn without_records(fields: &Object) -> Option<&'static str> {
    if fields.has("feedback_definition_id") && fields.has("implementation") {
        Some("the definition of a TruLens feedback function")
    } else if fields.has("app_id") && (fields.has("tru_class_info") || fields.has("feedback_definitions")) {
        Some("the description of an app of TruLens")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::data::Format;
    use crate::data::OpenOptions;
    use crate::data::formats::test_files::{bad, error, examples, open};

    #[test]
    fn a_feedback_result_holds_the_question_and_contexts_that_its_function_was_given() {
        let data = open(
            "context_relevance.result.json",
            r#"{"feedback_result_id":"f1","record_id":"r1","name":"context_relevance","result":0.0,
                "calls":[{"args":{"question":"q?","context":"c1"},"ret":0.0},
                         {"args":{"question":"q?","context":"c2"},"ret":1.0}]}"#,
        );
        assert_eq!(data.format, Format::TruLens);
        let example = examples(&data)[0];
        assert_eq!((example.id.as_str(), example.question.as_str()), ("r1", "q?"));
        assert_eq!(example.passages.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["c1", "c2"]);
        assert_eq!(example.answer, None);
    }

    #[test]
    fn feedback_results_of_one_record_are_one_example() {
        let data = open(
            "feedbacks.csv",
            "record_id,feedback_result_id,name,calls_json\n\
             r1,f1,relevance,\"{\"\"calls\"\": [{\"\"args\"\": {\"\"prompt\"\": \"\"q?\"\", \"\"response\"\": \"\"a\"\"}}]}\"\n\
             r1,f2,groundedness,\"{\"\"calls\"\": [{\"\"args\"\": {\"\"source\"\": [\"\"c1\"\", \"\"c2\"\"], \"\"statement\"\": \"\"a\"\"}}]}\"\n\
             r2,f3,relevance,\"[{\"\"args\"\": {\"\"prompt\"\": \"\"p?\"\", \"\"response\"\": \"\"b\"\"}}]\"\n",
        );
        let all = examples(&data);
        let known: Vec<_> = all
            .iter()
            .map(|one| (one.id.as_str(), one.question.as_str(), one.answer.as_deref(), one.passages.len()))
            .collect();
        assert_eq!(known, [("r1", "q?", Some("a"), 2), ("r2", "p?", Some("b"), 0)]);
    }

    #[test]
    fn a_feedback_result_without_the_question_says_what_its_function_was_given() {
        let data = open(
            "language_match.result.json",
            r#"{"feedback_result_id":"f1","record_id":"r1","name":"language_match",
                "calls":[{"args":{"text1":"q?","text2":"a"}}]}"#,
        );
        let reason = &bad(&data)[0].reason;
        assert!(reason.contains("(`language_match`), found `text1`, `text2`"), "{reason}");
        assert!(reason.contains("the table `records`"), "{reason}");
    }

    #[test]
    fn a_definition_is_refused_with_what_to_convert_instead() {
        let error = error(
            "context_relevance.def.json",
            br#"{"feedback_definition_id":"d","implementation":{"name":"context_relevance"},"selectors":{}}"#,
            &OpenOptions::default(),
        );
        assert!(error.contains("the definition of a TruLens feedback function"), "{error}");
        assert!(error.contains("the tables `trulens_events` or `records`"), "{error}");
    }
}
