//! `ragscope report` on a real run, in all four faces.
//!
//! The run is made again, with whatever heads are shipped, by
//!
//! ```sh
//! mkdir -p target/golden/run && cp sample_data/documents.jsonl tests/golden/run/examples.jsonl target/golden/run
//! ragscope certify sample_data --top-k 5 --output target/golden/calibration.json --force
//! ragscope score target/golden/run --calibration target/golden/calibration.json --output tests/golden/run.jsonl --force
//! ```
//!
//! so no test depends on its exact scores.

use serde_json::Value;

use crate::sandbox::{Sandbox, repository};

fn run() -> String {
    repository("tests/golden/run.jsonl").display().to_string()
}

fn records() -> Vec<Value> {
    let text = std::fs::read_to_string(run()).expect("the golden run");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn the_golden_run_holds_what_the_other_tests_rely_on() {
    let records = records();
    let with = |status: &str| records.iter().filter(|record| record["status"] == status).count();
    assert!((5..=7).contains(&records.len()), "{}", records.len());
    assert!(with("ok") >= 3 && with("partial") >= 1 && with("error") == 1);
    assert!(records.iter().any(|record| record["groups"]["language"] == "ja" && record["status"] == "ok"));
    for record in &records {
        let reading = &record["reading"];
        assert_eq!(reading.is_object(), record["status"] == "ok");
        assert!(reading.is_null() || reading["factuality"].is_f64(), "{}", record["id"]);
    }
}

#[test]
fn every_face_names_every_example_and_the_command_that_makes_it_again() {
    let sandbox = Sandbox::new();
    for (face, name) in [
        ("html", Some("ragscope-report.html")),
        ("markdown", Some("ragscope-report.md")),
        ("json", Some("ragscope-report.json")),
        ("text", None),
    ] {
        let ran = sandbox.run(&["report", &run(), "--format", face]).code(0);
        let text = match name {
            Some(name) => {
                assert!(ran.stdout.is_empty(), "{ran}");
                let ran = ran.complains(&["written: ", name]);
                assert!(!ran.stderr.contains('\u{1b}'));
                sandbox.read(name)
            }
            None => ran.stdout,
        };
        for record in records() {
            let id = record["id"].as_str().expect("an id");
            assert!(text.contains(id), "{face} lacks {id}");
        }
        assert!(text.contains("--token-threshold"), "{face}");
        // The page's own script may ask whether a number is one.
        assert!(face == "html" || !text.contains("NaN"), "{face}");
    }
    let json: Value = serde_json::from_str(&sandbox.read("ragscope-report.json")).expect("JSON");
    assert_eq!(json["examples"].as_array().map(Vec::len), Some(records().len()));
    let html = sandbox.read("ragscope-report.html");
    assert!(html.starts_with("<!DOCTYPE html>") || html.starts_with("<!doctype html>"));
    for foreign in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!html.contains(foreign), "the page asks the network: {foreign}");
    }
}

#[test]
fn a_report_is_never_replaced_unasked() {
    let sandbox = Sandbox::new();
    sandbox.write("ragscope-report.html", "precious");
    sandbox.run(&["report", &run()]).code(2).complains(&[
        "ragscope-report.html exists already",
        "--output",
        "--force",
    ]);
    assert_eq!(sandbox.read("ragscope-report.html"), "precious");
    sandbox.run(&["report", &run(), "--force"]).code(0);
    assert_ne!(sandbox.read("ragscope-report.html"), "precious");
    sandbox.run(&["report", &run(), "--output", "no/folder/r.html"]).code(3).complains(&["cannot write"]);
    assert_eq!(sandbox.listing(), ["ragscope-report.html"]);
}

#[test]
fn a_report_goes_to_standard_output_when_asked_to() {
    let sandbox = Sandbox::new();
    for format in ["html", "markdown", "json", "text"] {
        let printed = sandbox.run(&["report", &run(), "--format", format, "--output", "-"]).code(0);
        assert!(printed.stderr.is_empty(), "{printed}");
        sandbox.run(&["report", &run(), "--format", format, "--output", format]).code(0);
        assert_eq!(printed.stdout, sandbox.read(format));
    }
}

#[test]
fn thresholds_decide_and_are_said_in_the_report() {
    let sandbox = Sandbox::new();
    let flagged = |threshold: &str| {
        let ran = sandbox
            .run(&[
                "report",
                &run(),
                "--format",
                "json",
                "-o",
                "-",
                "--token-threshold",
                threshold,
                "--rho",
                "0.9",
            ])
            .code(0);
        let json = ran.json();
        assert_eq!(json["thresholds"]["token"].as_f64(), threshold.parse().ok(), "{ran}");
        let spans = |example: &Value| example["spans"].as_array().map_or(0, Vec::len);
        json["examples"].as_array().into_iter().flatten().map(spans).sum::<usize>()
    };
    assert_eq!(flagged("1"), 0);
    let read = records().iter().filter(|record| record["status"] == "ok").count();
    assert_eq!(flagged("0"), read, "at 0 each whole answer is one span");
    let trusted = |alpha: &str| {
        let ran = sandbox.run(&["report", &run(), "--format", "json", "-o", "-", "--alpha", alpha]).code(0);
        let json = ran.json();
        let examples = json["examples"].as_array().cloned().unwrap_or_default();
        let chunks =
            examples.iter().flat_map(|example| example["chunks"].as_array().cloned().unwrap_or_default());
        chunks.filter(|chunk| chunk["trusted"] == true).count()
    };
    assert_eq!(trusted("1"), 0);
    assert!(trusted("0.001") > trusted("0.5"));
}

#[test]
fn opening_a_run_as_text_needs_no_model_and_says_what_the_report_says() {
    let sandbox = Sandbox::new();
    let opened = sandbox.run(&["open", "--plain", &run()]).code(0);
    let reported = sandbox.run(&["report", &run(), "--format", "text"]).code(0);
    let body = |text: &str| {
        let lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        lines[..lines.len() - 1].join("\n")
    };
    assert_eq!(body(&opened.stdout), body(&reported.stdout));
    // Without a terminal it is text, asked for or not.
    assert_eq!(sandbox.run(&["open", &run()]).code(0).stdout, opened.stdout);
    assert!(sandbox.listing().is_empty());
}
