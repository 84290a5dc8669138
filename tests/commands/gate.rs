//! `ragscope check`: exit codes and reasons.

use serde_json::json;

use crate::sandbox::{Sandbox, repository};

fn run() -> String {
    repository("tests/golden/run.jsonl").display().to_string()
}

#[test]
fn a_gate_is_met_with_0_and_missed_with_1_and_says_a_line_for_each_limit() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["check", &run(), "--max-flagged-answers", "100%", "--max-flagged-tokens", "100%"])
        .code(0)
        .prints(&["met: flagged answers ", "met: flagged tokens ", "at most 100%"]);
    // One record of the golden run is in error.
    sandbox.run(&["check", &run(), "--max-unusable", "1"]).code(0).prints(&["met: unusable records 1 of "]);
    sandbox
        .run(&["check", &run(), "--max-unusable", "0", "--max-flagged-answers", "100%"])
        .code(1)
        .prints(&["NOT MET: unusable records 1 of ", "at most 0", "\nmet: flagged answers ".trim_start()])
        .complains(&["1 of 2 limits not met: unusable records"]);
    let strict = ["check", &run(), "--max-flagged-answers", "0", "--token-threshold", "0"];
    sandbox.run(&strict).code(1).prints(&["NOT MET: flagged answers"]);
    sandbox.run(&["check", &run(), "--min-m1", "0%"]).code(0).prints(&["met: m1"]);
    sandbox
        .run(&["check", &run(), "--min-m1", "0.5", "--alpha", "1"])
        .code(1)
        .prints(&["NOT MET: m1", "50%"]);
}

#[test]
fn the_gate_is_json_on_request_with_the_same_exit_code() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["check", &run(), "--max-unusable", "0", "--json"]).code(1);
    let gate = ran.json();
    assert_eq!(gate["met"], false, "{ran}");
    assert_eq!(gate["limits"][0]["part"], 1, "{ran}");
    assert_eq!(gate["limits"][0]["met"], false, "{ran}");
    assert!(gate["thresholds"]["token"].is_f64(), "{ran}");
}

#[test]
fn what_is_undefined_fails_the_gate_with_its_reason() {
    let sandbox = Sandbox::new();
    let unread = json!({"schema": "ragscope-evidence/1", "id": "a", "row": 0, "status": "partial",
                        "question": "q?", "chunks": [], "provenance": {"tool": "ragscope 0"}});
    sandbox.write_lines("unread.jsonl", &[unread]);
    sandbox
        .run(&["check", "unread.jsonl", "--max-flagged-answers", "100%", "--min-m1", "0%"])
        .code(1)
        .prints(&["undefined (no answer was scored)", "undefined (the run has no certificate"])
        .complains(&["2 of 2 limits not met"]);
    sandbox.write("empty.jsonl", "");
    sandbox.run(&["check", "empty.jsonl", "--max-unusable", "0"]).code(1).prints(&["the run is empty"]);
    sandbox
        .run(&["check", "unread.jsonl", "--max-unscored", "0"])
        .code(1)
        .prints(&["unscored answers 1 of 1"]);
}

#[test]
fn no_limit_a_senseless_one_and_a_torn_run_are_no_verdict() {
    let sandbox = Sandbox::new();
    sandbox.run(&["check", &run()]).code(2).complains(&["nothing to check"]);
    sandbox.run(&["check", &run(), "--max-unusable", "120%"]).code(2).complains(&["a share"]);
    let text = std::fs::read_to_string(run()).expect("the golden run");
    sandbox.write("torn.jsonl", &text.trim_end()[..text.trim_end().len() - 9]);
    sandbox
        .run(&["check", "torn.jsonl", "--max-flagged-answers", "100%"])
        .code(3)
        .complains(&["cut off", "--resume"]);
    sandbox.run(&["check", "absent.jsonl", "--max-unusable", "0"]).code(3).complains(&["absent.jsonl"]);
}
