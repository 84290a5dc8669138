//! `ragscope ask`, and marks as labels.

use ragscope::evidence::{Annotations, MarkKind, ShownFlags};
use ragscope::inspect::is_asked;
use serde_json::json;

use crate::sandbox::{Sandbox, tiny_model};

const ANSWER: &str = "It sails at nine and carries cows.";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let examples: Vec<serde_json::Value> = (0..4)
        .map(|row| {
            json!({"id": format!("q{row}"), "question": "When does it sail?", "answer": ANSWER,
                   "source_id": row, "contexts": ["It sails at nine."]})
        })
        .collect();
    sandbox.write_lines("data/examples.jsonl", &examples);
    sandbox.write_lines(
        "data/documents.jsonl",
        &[
            json!({"id": "ferry", "text": "The ferry sails at nine from the old pier."}),
            json!({"id": "deck", "text": "The deck of the ferry is blue."}),
        ],
    );
    sandbox
}

#[test]
fn a_question_is_answered_as_text_and_as_a_line_of_evidence() {
    let sandbox = sandbox();
    let ask = ["ask", "data", "When does the ferry sail?", "--model", "tiny", "--max-new-tokens", "8"];
    sandbox.run(&ask).code(0).harmless().prints(&["When does the ferry sail?", "ferry"]);
    let ran = sandbox.run(&[&ask[..], &["--json"]].concat()).code(0).harmless();
    let evidence = ran.evidence();
    let [evidence] = &evidence[..] else { panic!("one line in {ran}") };
    assert!(is_asked(evidence) && evidence.reading.is_some());
    assert_eq!((evidence.id.as_str(), evidence.row, evidence.chunks.len()), ("asked-1", 4, 2));
    // Nothing certifies here, so nothing is trusted: the record says what the answer was written from.
    let trusted = sandbox.run(&[&ask[..], &["--json", "--trusted-only"]].concat()).code(0).evidence();
    assert_eq!(trusted[0].provenance.settings["generated_from"], "no passage");
}

#[test]
fn what_cannot_be_asked_says_why() {
    let sandbox = sandbox();
    sandbox.run(&["ask", "data", "  ", "--model", "tiny"]).code(2).complains(&["nothing to ask"]);
    let lonely = ["ask", "data/examples.jsonl", "When does the ferry sail?", "--model", "tiny"];
    sandbox.write("lonely.jsonl", "{\"question\": \"q?\"}\n");
    sandbox
        .run(&["ask", "lonely.jsonl", "When?", "--model", "tiny"])
        .code(3)
        .complains(&["has no documents", "documents.jsonl"]);
    sandbox.run(&lonely).code(0);
    sandbox.run(&["ask", "data", "When?"]).code(4).complains(&["models fetch"]);
    sandbox
        .run(&["ask", "data", "When?", "--model", "tiny", "--max-new-tokens", "0"])
        .code(2)
        .complains(&["at least 1"]);
}

#[test]
fn marks_become_labels_for_training_and_what_does_not_fit_is_told() {
    let sandbox = sandbox();
    let line = sandbox.run(&["score", "data", "--model", "tiny"]).code(0).evidence();
    let mut annotations = Annotations::default();
    annotations.mark(&line[0], 17..33, MarkKind::Missed, ShownFlags::default());
    let mut other = line[1].clone();
    other.answer = Some("Another answer.".to_owned());
    annotations.mark(&other, 0..7, MarkKind::Missed, ShownFlags::default());
    let lines: Vec<serde_json::Value> =
        annotations.answers().map(|answer| serde_json::to_value(answer).expect("JSON")).collect();
    sandbox.write_lines("marks.jsonl", &lines);
    let train =
        ["train", "data", "-o", "heads", "--model", "tiny", "--folds", "2", "--annotations", "marks.jsonl"];
    // Whether four answers are enough to train on is not the point here.
    let ran = sandbox.run(&train);
    for part in ["answers with corrected labels: 1 (1 had none before)", "another one than was marked: 1"] {
        assert!(ran.stderr.contains(part), "{part:?} in {ran}");
    }
    sandbox
        .run(&["lab", "data", "--model", "tiny", "--annotations", "nowhere.jsonl"])
        .code(3)
        .complains(&["no annotations in nowhere.jsonl"]);
    sandbox
        .run(&["lab", "data", "--model", "tiny", "--annotations", "data/examples.jsonl"])
        .code(3)
        .complains(&["no file of annotations"]);
}
