//! `ragscope report RUN --verify REPORT`: a report that says what its evidence says, and one that does not.

use crate::sandbox::{Sandbox, repository};

const FACES: [(&str, &str); 3] = [("html", "r.html"), ("markdown", "r.md"), ("json", "r.json")];

/// A sandbox with `run.jsonl` and a report of it in every face that can be verified.
fn reported(options: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("run.jsonl", std::fs::read(repository("tests/golden/run.jsonl")).expect("the golden run"));
    for (face, name) in FACES {
        let command = [&["report", "run.jsonl", "--format", face, "-o", name], options].concat();
        sandbox.run(&command).code(0);
    }
    sandbox
}

fn changed(sandbox: &Sandbox, name: &str, from: &str, to: &str) {
    let text = sandbox.read(name);
    assert!(text.contains(from), "{name} lacks {from:?}");
    sandbox.write(name, text.replacen(from, to, 1));
}

#[test]
fn an_untouched_report_matches_whatever_its_thresholds_and_wherever_its_run_lies_now() {
    for options in
        [&[][..], &["--alpha", "0.35", "--token-threshold", "0.2", "--rho", "0.8", "--factuality", "0.9"]]
    {
        let sandbox = reported(options);
        sandbox.write("moved/evidence.jsonl", sandbox.read("run.jsonl"));
        for (_, name) in FACES {
            for run in ["run.jsonl", "moved/evidence.jsonl"] {
                let ran = sandbox.run(&["report", run, "--verify", name]).code(0);
                let ran = ran.prints(&["match: ", name, "records, SHA-256 "]);
                assert!(ran.stderr.is_empty(), "{ran}");
            }
        }
    }
}

#[test]
fn a_changed_verdict_is_found_in_every_face_with_its_place_and_exit_code_1() {
    for (name, from, to, place) in [
        (
            "r.json",
            "\"flagged\": false",
            "\"flagged\": true",
            ".flagged: the report says true, the evidence gives false",
        ),
        ("r.json", "\"trusted\": true", "\"trusted\": false", ".trusted: the report says false"),
        ("r.md", "Outcome: clean.", "Outcome: flagged.", "in example "),
        ("r.html", "trusted</span>", "dropped</span>", "in example "),
        ("r.html", "with probability at least 0.9", "with probability at least 0.99", "line "),
    ] {
        let sandbox = reported(&[]);
        changed(&sandbox, name, from, to);
        sandbox
            .run(&["report", "run.jsonl", "--verify", name])
            .code(1)
            .prints(&["differs: ", place])
            .complains(&["does not match run.jsonl: ", "difference"]);
    }
}

#[test]
fn thresholds_that_are_stated_otherwise_than_they_decided_are_found() {
    let sandbox = reported(&[]);
    changed(&sandbox, "r.json", "\"alpha\": 100", "\"alpha\": 990");
    sandbox.run(&["report", "run.jsonl", "--verify", "r.json"]).code(1).prints(&["differs: "]);
    // In the page and in Markdown: what people read against what programs read.
    changed(&sandbox, "r.html", "<td class=\"n\">0.100</td>", "<td class=\"n\">0.050</td>");
    sandbox.run(&["report", "run.jsonl", "--verify", "r.html"]).code(1).prints(&["0.050", "0.100"]);
    changed(&sandbox, "r.md", "| alpha | 0\\.100 |", "| alpha | 0\\.050 |");
    sandbox.run(&["report", "run.jsonl", "--verify", "r.md"]).code(1).prints(&["0\\.050", "0\\.100"]);
}

#[test]
fn a_guarantee_or_a_hash_that_the_evidence_does_not_give_is_found() {
    for (from, to, place) in [
        (
            "is kept with probability at least 0.9\"",
            "is kept with probability at least 0.99\"",
            "context.guarantees[0]",
        ),
        ("\"n\": ", "\"n\": 9", "context.certificate.n"),
        ("--alpha 0.1 ", "--alpha 0.2 ", "context.command"),
        ("\"sha256\": \"", "\"sha256\": \"0", "context.run.sha256"),
    ] {
        let sandbox = reported(&[]);
        changed(&sandbox, "r.json", from, to);
        sandbox.run(&["report", "run.jsonl", "--verify", "r.json"]).code(1).prints(&["differs: ", place]);
    }
}

#[test]
fn a_report_of_another_run_names_the_hash_and_what_follows_from_it() {
    let sandbox = reported(&[]);
    let run = sandbox.read("run.jsonl");
    let shorter: Vec<&str> = run.lines().take(2).collect();
    sandbox.write("other.jsonl", shorter.join("\n") + "\n");
    for (_, name) in FACES {
        sandbox
            .run(&["report", "other.jsonl", "--verify", name])
            .code(1)
            .prints(&["context.run.sha256: the report says "])
            .complains(&["does not match other.jsonl"]);
    }
}

#[test]
fn what_is_no_report_is_refused_with_what_was_expected() {
    let sandbox = reported(&[]);
    sandbox.write("page.html", "<!doctype html>\n<title>x</title>\n");
    sandbox.write("list.json", "[1]");
    sandbox.write("object.json", "{\"a\": 1}");
    sandbox.write("notes.md", "# notes\n");
    sandbox.write("bytes.html", [0xff, 0xfe, 0x00]);
    sandbox.run(&["report", "run.jsonl", "--format", "text", "-o", "r.txt"]).code(0);
    for name in ["page.html", "list.json", "object.json", "notes.md", "r.txt", "bytes.html"] {
        sandbox.run(&["report", "run.jsonl", "--verify", name]).code(3).complains(&["expected a report"]);
    }
    sandbox.run(&["report", "run.jsonl", "--verify", "gone.html"]).code(3).complains(&["gone.html"]);
    changed(&sandbox, "r.json", "ragscope-report/1", "ragscope-report/9");
    sandbox.run(&["report", "run.jsonl", "--verify", "r.json"]).code(3).complains(&["ragscope-report/9"]);
    // The thresholds are the report's own.
    sandbox.run(&["report", "run.jsonl", "--verify", "r.md", "--alpha", "0.2"]).code(2);
}
