//! Asking questions, and marking answers, with the real binary.

use super::harness::{Terminal, golden_run};
use super::sandbox::{self, Sandbox, repository};

#[test]
fn marks_are_kept_beside_the_run_and_are_there_again() {
    let sandbox = Sandbox::new();
    let run = std::fs::read(repository("tests/golden/run.jsonl")).expect("the golden run");
    sandbox.write("run.jsonl", &run);
    let Some(mut terminal) = Terminal::start_in("marks", sandbox, &["open", "run.jsonl"], &[]) else {
        return;
    };
    terminal.wait_for_run();
    // Four tokens selected and marked, the word at the end marked, one mark undone and made again.
    terminal.press("3gVlll");
    terminal.wait_for("4 tokens selected");
    terminal.press("+");
    terminal.wait_for("1 missed");
    terminal.press("G+");
    terminal.wait_for("2 missed");
    terminal.press("u");
    terminal.wait_for("1 missed");
    terminal.press("U");
    terminal.wait_for("2 missed");
    terminal.press("A");
    terminal.wait_for("1 marked answer");
    terminal.wait_for("run.jsonl.annotations.jsonl");
    terminal.press("qq");
    let (code, _, sandbox) = terminal.end();
    assert_eq!(code, 0);
    assert_eq!(sandbox.listing(), ["run.jsonl", "run.jsonl.annotations.jsonl"]);
    assert_eq!(std::fs::read(sandbox.work().join("run.jsonl")).unwrap(), run, "the input is as it was");
    let kept = sandbox.read("run.jsonl.annotations.jsonl");
    assert_eq!(kept.lines().count(), 1);
    assert_eq!(kept.matches("\"kind\":\"missed\"").count(), 2);
    let again = Terminal::start_in("marks again", sandbox, &["open", "run.jsonl"], &[]);
    let Some(mut terminal) = again else { return };
    terminal.wait_for("2 missed");
    // The pointer selects as well: the first words of the answer, from left to right.
    let (column, row) = terminal.place_of("3 Answer");
    let (first, last) = ((column + 2, row + 1), (column + 14, row + 1));
    terminal.mouse(0, first, true);
    terminal.mouse(32, last, true);
    terminal.mouse(0, last, false);
    terminal.wait_for("tokens selected");
    terminal.press("-");
    terminal.wait_for("1 false alarm");
    terminal.press("q");
    let (code, _, sandbox) = terminal.end();
    assert_eq!(code, 0);
    assert!(sandbox.read("run.jsonl.annotations.jsonl").contains("false_alarm"));
}

/// Sample data and a model of a few tokens, in a sandbox.
fn sandbox_with_tiny_model() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox::tiny_model::write(&sandbox.work().join("tiny"));
    sandbox.write_lines(
        "data/examples.jsonl",
        &[serde_json::json!({"id": "one", "question": "When does it sail?", "answer": "at nine",
                             "contexts": ["It sails at nine."]})],
    );
    sandbox.write_lines(
        "data/documents.jsonl",
        &[
            serde_json::json!({"id": "ferry", "text": "The ferry sails at nine from the old pier."}),
            serde_json::json!({"id": "deck", "text": "The deck of the ferry is blue."}),
        ],
    );
    sandbox
}

#[test]
fn a_question_of_ones_own_is_answered_on_the_screen() {
    let arguments = ["open", "data", "--model", "tiny"];
    let sandbox = sandbox_with_tiny_model();
    let Some(mut terminal) = Terminal::start_in("ask", sandbox, &arguments, &[]) else { return };
    terminal.wait_for("1 example");
    terminal.press("a");
    terminal.wait_for("Ask the documents");
    terminal.press("\u{1b}[200~Where does the\nferry sail?\u{1b}[201~");
    terminal.wait_for("Where does the ferry sail?");
    terminal.press("\r");
    terminal.wait_for("asked-1");
    terminal.wait_for("ferry");
    // It is read: its tokens have scores.
    terminal.wait("a score", |screen| {
        screen.contents().contains("2/2") && screen.contents().contains(": score ")
    });
    terminal.press("A");
    terminal.wait_for("Nothing is marked yet");
    terminal.press("\u{1b}");
    terminal.wait("the answer again", |screen| !screen.contents().contains("Nothing is marked yet"));
    terminal.press("3V");
    terminal.wait_for("no part of the data");
    // Without a certificate nothing is trusted, and the key says so.
    terminal.press("T");
    terminal.wait_for("none can be trusted");
    terminal.press("q");
    let (code, _, sandbox) = terminal.end();
    assert_eq!(code, 0);
    assert_eq!(sandbox.listing(), ["data", "tiny"], "asking writes nothing");
}

#[test]
fn a_run_of_evidence_answers_no_question_and_says_why() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("no asking", &["open", &run], &[]) else { return };
    terminal.wait_for_run();
    terminal.press("a");
    terminal.wait_for("this is a run of evidence");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}
