//! P12: text of the data never talks to the terminal, on neither stream, in no command.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, tiny_model};

/// Clears the screen, sets the title, writes the clipboard, switches to 8-bit controls, returns, backs up.
const HOSTILE: &str =
    "ok \u{1b}[2J \u{1b}]0;owned\u{7} \u{1b}]52;c;cm0gLXJm\u{7} \u{9b}31m \r\u{8}\u{7f} end";

fn records() -> Vec<Value> {
    let hostile = |name: &str| format!("{name} {HOSTILE}");
    vec![
        json!({"id": hostile("id"), "question": hostile("question"), "answer": hostile("answer"),
               "reference": hostile("reference"), "source_ids": [hostile("document")],
               "labels": [{"start": 0, "end": 6, "text": "answer", "kind": hostile("kind")}],
               "groups": {"domain": hostile("group"), HOSTILE: "x"}, HOSTILE: 1}),
        json!({"id": hostile("given"), "question": hostile("question"), "answer": hostile("answer"),
               "contexts": [{"id": hostile("chunk"), "text": hostile("passage"), "document": hostile("given")}]}),
        json!({"id": hostile("bad"), "question": "q", "answer": "a", "labels": [{"start": 0, "end": 1, "text": HOSTILE}]}),
        json!({"id": hostile("worse"), "question": "q", "answer": "a", "groups": HOSTILE}),
        json!({"id": hostile("twice"), "question": hostile("again")}),
        json!({"id": hostile("twice"), "question": hostile("again")}),
    ]
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let hostile = |name: &str| format!("{name} {HOSTILE}");
    let document =
        json!({"id": hostile("document"), "title": hostile("title"), "text": hostile("text answer")});
    let other = json!({"id": "other", "text": "Something else."});
    sandbox.write_lines("data/documents.jsonl", &[document, other]);
    sandbox.write_lines("data/examples.jsonl", &records());
    sandbox
}

#[test]
fn hostile_records_are_shown_as_symbols_in_text_and_in_every_face() {
    let sandbox = sandbox();
    let plain = sandbox.run(&["open", "--plain", "data", "--model", "tiny"]).code(0);
    plain.prints(&["␛[2J", "␛]0;owned␇", "id id ok ␛"]).harmless();
    sandbox.run(&["score", "data", "--model", "tiny", "--output", "run.jsonl"]).code(0).harmless();
    for format in ["html", "markdown", "json", "text"] {
        sandbox.run(&["report", "run.jsonl", "--format", format, "--output", "-"]).code(0).harmless();
    }
    sandbox.run(&["open", "--plain", "run.jsonl"]).code(0).harmless();
}

#[test]
fn evidence_lines_keep_the_text_itself_escaped() {
    let sandbox = sandbox();
    let ran = sandbox.run(&["score", "data", "--model", "tiny"]).code(0).harmless();
    let run = ran.evidence();
    assert_eq!(run[0].id, format!("id {HOSTILE}"));
    assert_eq!(run[0].answer.as_deref(), Some(&*format!("answer {HOSTILE}")));
    assert_eq!(run[1].chunks[0].text, format!("passage {HOSTILE}"));
    // Offsets are those of the text itself.
    let reading = run[0].reading.as_ref().expect("the answer was read");
    assert_eq!(reading.tokens.last().map(|[_, end]| *end), run[0].answer.as_ref().map(String::len));
}

#[test]
fn certification_shows_hostile_groups_and_names_as_symbols() {
    let sandbox = sandbox();
    let documents: Vec<Value> = (0..6)
        .map(|at| json!({"id": format!("{HOSTILE}{at}"), "text": format!("word{at} and more")}))
        .collect();
    let examples: Vec<Value> = (0..6)
        .map(|at| {
            json!({"question": format!("What of word{at}?"), "source_ids": [format!("{HOSTILE}{at}")],
                   "groups": {"domain": HOSTILE}})
        })
        .collect();
    let folder = "set \u{1b}[2J\u{7}";
    sandbox.write_lines(&format!("{folder}/documents.jsonl"), &documents);
    sandbox.write_lines(&format!("{folder}/examples.jsonl"), &examples);
    let ran = sandbox.run(&["certify", folder, "--by", "domain"]).code(0);
    ran.prints(&["ok ␛[2J", "6 questions"]).harmless();
    sandbox.run(&["certify", folder, "--by", "domain", "--json"]).code(0).harmless();
    sandbox
        .run(&["certify", folder, "--output", "cal\u{1b}[2J.json"])
        .code(0)
        .prints(&["cal␛[2J.json"])
        .harmless();
}

#[test]
fn hostile_file_names_are_shown_as_symbols_in_every_message() {
    let sandbox = sandbox();
    let name = "x\u{1b}[2J\u{7}\u{9b}31m.jsonl";
    for command in ["open", "certify", "score", "report", "eval"] {
        sandbox.run(&[command, name]).code(3).complains(&["x␛[2J␇"]).harmless();
    }
    sandbox.write(name, " ");
    sandbox.run(&["open", name]).code(3).complains(&["x␛[2J␇"]).harmless();
    sandbox.write_lines(name, &records()[1..]);
    sandbox.run(&["open", "--plain", name, "--model", "tiny"]).code(0).prints(&["x␛[2J␇"]).harmless();
    let run = "run\u{1b}[2J.jsonl";
    sandbox.run(&["score", name, "--model", "tiny", "--output", run]).code(0).harmless();
    sandbox.run(&["score", name, "--model", "tiny", "--output", run]).code(2).harmless();
    let report = "report\u{1b}[2J.html";
    sandbox.run(&["report", run, "--output", report]).code(0).complains(&["report␛[2J.html"]).harmless();
    sandbox.run(&["report", run, "--output", report]).code(2).harmless();
    sandbox.run(&["open", "--plain", run, "--calibration", name]).harmless();
    sandbox.run(&["open", "--plain", name, "--heads", "h\u{1b}[2J"]).code(4).harmless();
    sandbox.run(&["score", name, "--model", "m\u{1b}[2J"]).code(4).complains(&["no model at"]).harmless();
    sandbox.run(&["models", "fetch", "--from", "w\u{1b}[2J.whl"]).code(4).harmless();
    for arguments in [
        vec!["open", name, "--top-k", "\u{1b}[2J"],
        vec!["open", name, "--format", "\u{1b}[2J"],
        vec!["open", name, "--map", "\u{1b}[2J"],
        vec!["open", name, "--plain", "--model", "tiny", "--theme", "\u{1b}[2J"],
        vec!["\u{1b}[2J\u{7}"],
        vec!["open", name, "\u{9b}2J"],
        vec!["report", run, "--format", "\u{7}"],
    ] {
        sandbox.run(&arguments).code(2).harmless();
    }
}

#[test]
fn a_hostile_name_of_a_model_is_shown_as_symbols() {
    let sandbox = sandbox();
    let model = "m \u{1b}[2J\u{7}\u{9b}31m";
    tiny_model::write(&sandbox.work().join(model));
    let ran = sandbox.run(&["open", "--plain", "data", "--model", model]).code(0);
    ran.complains(&["loading m ␛[2J"]).harmless();
    sandbox.run(&["score", "data", "--model", model]).code(0).harmless();
    sandbox.run(&["doctor", "--model", model]).code(0).prints(&["m ␛[2J"]).harmless();
    sandbox.run(&["doctor", "--json", "--model", model]).code(0).harmless();
}
