//! Sizes beyond reason: a passage of 200,000 tokens, an answer of 20,000, a line of a hundred megabytes.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::sandbox::{BINARY, Ran, Sandbox, tiny_model};

fn sandbox(context: u64) -> Sandbox {
    let sandbox = Sandbox::new();
    let folder = sandbox.work().join("tiny");
    tiny_model::write(&folder);
    let path = folder.join("config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
    config["max_position_embeddings"] = json!(context);
    std::fs::write(&path, config.to_string()).expect("a file");
    sandbox
}

/// The exit, and the most memory in MiB, where the shell can tell.
fn measured(sandbox: &Sandbox, arguments: &[&str]) -> (Ran, Option<u64>) {
    let time = std::path::Path::new("/usr/bin/time");
    if !time.exists() {
        return (sandbox.run(arguments), None);
    }
    let mut command = Command::new(time);
    command.args(["-f", "peak %M", BINARY]).args(arguments);
    command.env_clear().envs(sandbox.environment()).current_dir(sandbox.work()).stdin(Stdio::null());
    let output = command.output().expect("time is there");
    let ran = Ran::new(&command, output);
    let line = ran.stderr.lines().rev().find_map(|line| line.strip_prefix("peak "));
    let peak = line.and_then(|number| number.parse::<u64>().ok()).map(|kibibytes| kibibytes / 1024);
    (ran, peak)
}

#[test]
fn a_passage_of_200_000_tokens_is_cut_with_a_note_that_every_face_shows() {
    let sandbox = sandbox(2048);
    // A byte a token.
    let passage = "Noon it is. ".repeat(200_000 / 12);
    sandbox.write_lines(
        "data.jsonl",
        &[json!({"question": "When?", "contexts": [passage, "At noon."], "answer": "At noon."})],
    );
    let (ran, peak) = measured(&sandbox, &["score", "data.jsonl", "--model", "tiny", "-o", "run.jsonl"]);
    ran.code(0);
    println!("a passage of 200,000 tokens: peak {peak:?} MiB");
    assert!(peak.is_none_or(|peak| peak < 1500), "{peak:?} MiB");
    let run = sandbox.read("run.jsonl");
    let record: Value = serde_json::from_str(&run).expect("JSON");
    let note = record["notices"][0].as_str().expect("a notice").to_owned();
    assert!(note.contains("was cut to its first") && note.contains("context of 2048"), "{note}");
    assert_eq!(
        record["chunks"][0]["text"].as_str().map(str::len),
        Some(passage.len()),
        "the text itself is whole"
    );
    assert!(record["chunks"][0]["tokens_read"].as_u64().expect("a count") < 2048);
    for format in ["html", "markdown", "json", "text"] {
        let page = sandbox.run(&["report", "run.jsonl", "--format", format, "--output", "-"]).code(0).stdout;
        let squeezed = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed.contains("was cut to its first"), "{format}");
    }
    sandbox.run(&["open", "--plain", "run.jsonl"]).code(0).prints(&["was cut to its first"]);
}

/// Reads an answer of so many tokens, a byte each; the most memory in MiB.
fn reads_whole(tokens: usize) -> Option<u64> {
    let sandbox = sandbox(24_000);
    let answer = "At noon. ".repeat(tokens / 9 + 1);
    let answer = &answer[..tokens];
    sandbox.write_lines(
        "data.jsonl",
        &[json!({"question": "When?", "contexts": ["At noon."], "answer": answer})],
    );
    let (ran, peak) = measured(&sandbox, &["score", "data.jsonl", "--model", "tiny", "-o", "run.jsonl"]);
    ran.code(0);
    let run = sandbox.read("run.jsonl");
    let evidence = ragscope::evidence::parse_line(run.trim_end(), 1).expect("evidence");
    assert_eq!(evidence.reading.expect("it was read").tokens.len(), tokens);
    sandbox.run(&["report", "run.jsonl", "--output", "r.html"]).code(0);
    sandbox.run(&["open", "--plain", "run.jsonl"]).code(0);
    peak
}

#[test]
fn an_answer_of_3_000_tokens_is_read_whole_in_bounded_memory() {
    let peak = reads_whole(3_000);
    assert!(peak.is_none_or(|peak| peak < 600), "{peak:?} MiB");
}

#[test]
#[ignore = "takes minutes: the same with more"]
fn an_answer_of_20_000_tokens_is_read_whole_in_bounded_memory() {
    let peak = reads_whole(20_000);
    println!("an answer of 20,000 tokens: peak {peak:?} MiB");
    assert!(peak.is_none_or(|peak| peak < 3000), "{peak:?} MiB");
}

#[test]
fn a_line_beyond_the_limit_is_a_row_that_says_so() {
    let sandbox = sandbox(2048);
    let mut text = String::from("{\"question\": \"");
    text.push_str(&"x".repeat(65 << 20));
    text.push_str("\"}\n{\"question\": \"When?\", \"contexts\": [\"At noon.\"], \"answer\": \"At noon.\"}\n");
    let ran = sandbox.run_with_input(&["score", "-", "--model", "tiny"], text.as_bytes()).code(0);
    let run = ran.evidence();
    assert!(run[0].reason.as_deref().is_some_and(|reason| reason.contains("at most 67108864 bytes")));
    assert!(run[1].reading.is_some());
}

#[test]
fn the_context_can_be_shortened_and_the_evidence_says_so() {
    let sandbox = sandbox(4096);
    let passage = "Noon it is. ".repeat(100);
    sandbox.write_lines(
        "data.jsonl",
        &[json!({"question": "When?", "contexts": [passage], "answer": "At noon."})],
    );
    let score = ["score", "data.jsonl", "--model", "tiny"];
    let whole = sandbox.run(&score).code(0).evidence();
    assert!(whole[0].notices.is_empty() && !whole[0].provenance.settings.contains_key("context"));
    let short = sandbox.run(&[&score[..], &["--context", "700"]].concat()).code(0).evidence();
    assert!(short[0].notices[0].contains("context of 700"), "{:?}", short[0].notices);
    assert_eq!(short[0].provenance.settings["context"], "700");
    sandbox.run(&[&score[..], &["--context", "9"]].concat()).code(2).complains(&["--context"]);
    let open = ["open", "--plain", "data.jsonl", "--model", "tiny", "--context", "700"];
    sandbox.run(&open).code(0).prints(&["context of 700"]);
}
