//! `ragscope highlighting`, and its calibration in `ragscope report`.

use ragscope::inspect::{HeadFiles, HeadSource};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// 12 sources with two answers of four words each; the second word of every third answer is unsupported.
fn run_lines() -> Vec<Value> {
    (0..24)
        .map(|row| {
            let unsupported = row % 3 == 0;
            let second = if unsupported { 0.9 - 0.01 * f64::from(row) } else { 0.2 };
            let gold = if unsupported { json!([{"start": 5, "end": 9}]) } else { json!([]) };
            json!({
                "schema": "ragscope-evidence/1", "id": format!("a{row}"), "row": row, "status": "ok",
                "question": "q?", "answer": "aaaa bbbb cccc dddd",
                "groups": {"source": format!("s{}", row / 2)}, "chunks": [],
                "reading": {
                    "tokens": [[0, 4], [4, 9], [9, 14], [14, 19]],
                    "log_prob_with": [-1.0, -1.0, -1.0, -1.0], "log_prob_without": [-1.0, -1.0, -1.0, -1.0],
                    "detectors": [
                        {"name": "cortex", "raw": [0.1, second, 0.1, 0.05]},
                        {"name": "nll", "raw": [0.5, 0.5, 0.5, 0.5]},
                    ],
                },
                "gold_spans": gold,
                "provenance": {"tool": "ragscope 0.1.0", "data_hash": "dd", "head_hash": "aa", "model_hash": "mm"},
            })
        })
        .collect()
}

fn calibrated() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write_lines("run.jsonl", &run_lines());
    let ran = sandbox
        .run(&["highlighting", "run.jsonl", "--beta", "0.05,0.1,0.3", "--gamma", "0.3", "--rho", "0.5"])
        .code(0);
    for words in [
        "24 answers (16 clean), 96 tokens; calibrated on 12 sources",
        "detector cortex, rho 0.5, head aa",
        "beta 0.05: no guarantee possible for the highlighting below 19 sources at beta = 0.05: 12 were",
        "halves",
        "false alarms (Learn-then-Test)",
        "not trained on these answers",
        "calibration written: ",
    ] {
        assert!(ran.stdout.contains(words), "{words} not in {ran}");
    }
    sandbox
}

#[test]
fn the_threshold_is_the_largest_that_keeps_the_promise() {
    let sandbox = calibrated();
    let ran = sandbox
        .run(&[
            "highlighting",
            "run.jsonl",
            "--beta",
            "0.1,0.3",
            "--rho",
            "0.5",
            "--json",
            "-o",
            "again.json",
        ])
        .code(0);
    let said: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    // 8 unsupported tokens in 8 sources, one answer of two in each: each weighs 1/2. beta = 0.1 allows a sum
    // of 0.1 * 13 - 1 = 0.3, nothing missed: the lowest score, that of row 21. beta = 0.3 allows 2.9: five.
    let at = |index: usize| said["missed_tokens"][index]["at"]["threshold"].as_f64().expect("a threshold");
    let score = |row: u32| 0.9 - 0.01 * f64::from(row);
    assert!((at(0) - score(21)).abs() < 1e-6, "{said}");
    assert!((at(1) - score(6)).abs() < 1e-6, "{said}");
    assert_eq!(said["missed_tokens"][0]["at"]["flagged_clean"], 0.0);
    assert_eq!(said["sources"], 12);
    let stored: Value = serde_json::from_str(&sandbox.read("again.json")).expect("JSON");
    assert_eq!(stored["schema"], "ragscope-highlighting/1");
    assert_eq!((&stored["head_hash"], &stored["data_hash"]), (&json!("aa"), &json!("dd")));
}

#[test]
fn a_report_turns_beta_into_the_threshold_and_states_the_guarantee() {
    let sandbox = calibrated();
    let plain = ["report", "run.jsonl", "--format", "text", "--rho", "0.5"];
    let without = sandbox.run(&plain).code(0);
    assert!(without.stdout.contains("no guarantee covers them yet"), "{without}");
    let with = [&plain[..], &["--beta", "0.1", "--highlighting", "highlighting.json"]].concat();
    let ran = sandbox.run(&with).code(0);
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "the highlighting misses is at most 0.1, for sources drawn like the 12 calibration sources",
        "calibrated on the data of this run",
        "--beta 0.1 --highlighting",
        "8 of 24",
    ] {
        assert!(text.contains(words), "{words} not in {ran}");
    }
    assert!(!text.contains("no guarantee covers them yet"), "{ran}");
}

#[test]
fn a_report_with_a_guarantee_is_verified_with_its_calibration_and_only_with_that() {
    let sandbox = calibrated();
    let with = ["report", "run.jsonl", "-o", "r.html", "--rho", "0.5", "--beta", "0.1"];
    sandbox.run(&[&with[..], &["--highlighting", "highlighting.json"]].concat()).code(0);
    let verify =
        |more: &[&str]| sandbox.run(&[&["report", "run.jsonl", "--verify", "r.html"], more].concat());
    verify(&[]).code(2).complains(&["--highlighting FILE", "SHA-256"]);
    verify(&["--highlighting", "highlighting.json"]).code(0).prints(&["match: "]);
    // The same promises from another file are another calibration.
    sandbox.write("other.json", sandbox.read("highlighting.json") + "\n");
    verify(&["--highlighting", "other.json"]).code(1).prints(&["context.highlighting.sha256"]);
    let promised = sandbox.read("r.html").replace("is at most 0.1, for", "is at most 0.01, for");
    sandbox.write("r.html", promised);
    verify(&["--highlighting", "highlighting.json"]).code(1).prints(&["differs: context.guarantees"]);
    sandbox.run(&["report", "run.jsonl", "-o", "plain.html"]).code(0);
    sandbox
        .run(&["report", "run.jsonl", "--verify", "plain.html", "--highlighting", "highlighting.json"])
        .code(2)
        .complains(&["states no calibration"]);
}

#[test]
fn no_guarantee_is_stated_for_a_head_calibrated_on_its_training_data() {
    let heads = HeadFiles::read(&HeadSource::Shipped).expect("shipped heads");
    let card = heads.card().expect("a card");
    let lines: Vec<Value> = run_lines()
        .into_iter()
        .map(|mut line| {
            line["provenance"]["head_hash"] = json!(heads.hash());
            line["provenance"]["data_hash"] = json!(card.making.training["data_hash"]);
            line["reading"]["detectors"][0]["name"] = json!(card.name);
            line
        })
        .collect();
    let sandbox = Sandbox::new();
    sandbox.write_lines("run.jsonl", &lines);
    let ran = sandbox.run(&["highlighting", "run.jsonl"]).code(0);
    assert!(ran.stdout.contains("no guarantee for the highlighting: its detector was trained"), "{ran}");
    let report =
        ["report", "run.jsonl", "--format", "text", "--beta", "0.1", "--highlighting", "highlighting.json"];
    let ran = sandbox.run(&report).code(0);
    assert!(ran.stdout.contains("may exceed 0.1") && !ran.stdout.contains("is at most 0.1"), "{ran}");
    let ran = sandbox.run(&["highlighting", "run.jsonl", "--detector", "nll", "-o", "nll.json"]).code(0);
    assert!(ran.stdout.contains("guarantee: the expected share"), "{ran}");
}

#[test]
fn a_calibration_of_other_scores_is_refused_with_what_differs() {
    let sandbox = calibrated();
    let report = |run: &str, more: &[&str]| {
        let base = ["report", run, "--format", "text", "--highlighting", "highlighting.json"];
        sandbox.run(&[&base[..], more].concat())
    };
    report("run.jsonl", &["--beta", "0.1", "--rho", "0.9"])
        .code(3)
        .complains(&["rho 0.5 was calibrated, the run has 0.9"]);
    report("run.jsonl", &["--beta", "0.05", "--rho", "0.5"]).code(3).complains(&["below 19 sources"]);
    report("run.jsonl", &["--rho", "0.5"]).code(2);
    report("run.jsonl", &["--beta", "0.1", "--token-threshold", "0.4"]).code(2);
    let other: Vec<Value> = run_lines()
        .into_iter()
        .map(|mut line| {
            line["provenance"]["head_hash"] = json!("bb");
            line["reading"]["detectors"][0]["name"] = json!("fusion");
            line
        })
        .collect();
    sandbox.write_lines("other.jsonl", &other);
    report("other.jsonl", &["--beta", "0.1", "--rho", "0.5"]).code(3).complains(&[
        "detector cortex was calibrated, the run has fusion",
        "head aa was calibrated, the run has bb",
    ]);
}

#[test]
fn runs_that_cannot_be_calibrated_on_are_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    let unlabelled: Vec<Value> = run_lines()
        .into_iter()
        .map(|mut line| {
            line.as_object_mut().expect("an object").remove("gold_spans");
            line
        })
        .collect();
    sandbox.write_lines("unlabelled.jsonl", &unlabelled);
    sandbox.run(&["highlighting", "unlabelled.jsonl"]).code(3).complains(&["gold_spans"]);
    let mut mixed = run_lines();
    mixed[5]["provenance"]["head_hash"] = json!("bb");
    sandbox.write_lines("mixed.jsonl", &mixed);
    sandbox.run(&["highlighting", "mixed.jsonl"]).code(3).complains(&["row 5", "head bb"]);
    sandbox.write_lines("run.jsonl", &run_lines());
    sandbox
        .run(&["highlighting", "run.jsonl", "--detector", "none"])
        .code(3)
        .complains(&["token scores of none"]);
    sandbox.run(&["highlighting", "run.jsonl", "--beta", "1.5"]).code(2).complains(&["--beta"]);
    assert!(!sandbox.listing().contains(&"highlighting.json".to_owned()));
}
