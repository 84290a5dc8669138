//! `DeepEval`: test runs (`testCases` in camel case), goldens and test cases (snake case), and tables in
//! which contexts are joined by `|`.

use crate::data::error::DataError;
use crate::data::json::{Json, Object};
use crate::data::notice::Notices;

use super::translated::{Translated, Translation, drafts};
use super::{Content, Input, Parts};

const ONLY_HERE: [&str; 6] = [
    "actual_output",
    "actualOutput",
    "expected_output",
    "expectedOutput",
    "retrieval_context",
    "retrievalContext",
];

/// Whether a record can be one of `DeepEval`'s.
pub(super) fn is_record(fields: &Object) -> bool {
    fields.list("testCases").is_some() || fields.has("input") && ONLY_HERE.iter().any(|name| fields.has(name))
}

pub(super) fn read(input: &Input<'_>, notices: &mut Notices) -> Result<Parts, DataError> {
    let table = matches!(input.detected.content, Content::Table { .. });
    let mut records: Vec<Translated> = Vec::new();
    for source in input.rows(notices)? {
        let line = source.line;
        let cases = match source.fields {
            Err(reason) => vec![Err(reason)],
            Ok(fields) => match fields.list("testCases") {
                Some(cases) => cases
                    .iter()
                    .map(|case| {
                        let fields = case.object().cloned();
                        fields.ok_or_else(|| format!("expected a test case, found {}", case.kind()))
                    })
                    .collect(),
                None => vec![Ok(fields)],
            },
        };
        for case in cases {
            let row = records.len();
            records.push((line, case.map(|fields| record(&fields, table, row, notices))));
        }
    }
    Ok(Parts { rows: drafts(records, notices), documents: Vec::new() })
}

fn record(fields: &Object, table: bool, row: usize, notices: &mut Notices) -> Object {
    let retrieved = fields.first_of(&["retrieval_context", "retrievalContext"]);
    let contexts = retrieved.or_else(|| {
        let ideal = fields.get("context");
        notices.add(
            "no `retrieval_context`: the ideal `context` was taken as what was retrieved",
            usize::from(ideal.is_some()),
            Some(row),
        );
        ideal
    });
    let contexts = match contexts {
        Some(Json::Text(joined)) if table => {
            let parts: Vec<Json> = joined.split('|').map(|part| Json::Text(part.to_owned())).collect();
            notices.add(
                "a cell of contexts was divided at `|`, as DeepEval joins them; a `|` inside a passage divides it too",
                usize::from(parts.len() > 1),
                Some(row),
            );
            Some(Json::List(parts))
        }
        other => other.cloned(),
    };
    let present = |names: &[&str]| {
        let value = fields.first_of(names)?;
        // An empty cell is none.
        (!(table && value.text().is_some_and(|text| text.trim().is_empty()))).then_some(value)
    };
    Translation::default()
        .put("id", present(&["id", "name"]))
        .put("question", fields.get("input"))
        .put("answer", present(&["actual_output", "actualOutput"]))
        .put("reference", present(&["expected_output", "expectedOutput"]))
        .put("contexts", contexts.as_ref())
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::data::Format;
    use crate::data::formats::test_files::{examples, notices, open};

    #[test]
    fn a_test_run_and_goldens_give_the_same_examples() {
        let run = r#"{"testCases": [{"name": "t", "input": "q?", "actualOutput": "a", "expectedOutput": "r",
            "retrievalContext": ["c1", {"context": "c2", "source": "b.md"}], "metricsData": []}], "testPassed": 1}"#;
        let goldens = r#"[{"name": "t", "input": "q?", "actual_output": "a", "expected_output": "r",
            "retrieval_context": ["c1", {"context": "c2", "source": "b.md"}], "context": null}]"#;
        let (run, goldens) = (open("run.json", run), open("goldens.json", goldens));
        assert_eq!((run.format, goldens.format), (Format::DeepEval, Format::DeepEval));
        assert_eq!(examples(&run), examples(&goldens));
        let example = examples(&run)[0];
        assert_eq!(example.passages[1].text, "c2");
        assert_eq!(example.passages[1].document.as_deref(), Some("b.md"));
        assert_eq!(
            (example.answer.as_deref(), example.references.as_slice()),
            (Some("a"), &["r".to_owned()][..])
        );
    }

    #[test]
    fn contexts_of_a_table_are_divided_and_told() {
        let data =
            open("cases.csv", "input,actual_output,expected_output,retrieval_context\nq?,a,,one|two\n");
        assert_eq!(data.format, Format::DeepEval);
        let example = examples(&data)[0];
        assert_eq!(example.passages.iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        assert!(example.references.is_empty());
        assert!(notices(&data).contains("divided at `|`"));
    }
}
