//! No network, no telling: every command but `models fetch` runs where there is no network at all, and says nothing of
//! the data on standard error.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::sandbox::{BINARY, Ran, Sandbox, repository, tiny_model};

/// Stands in every text of the data and in nothing else.
const SECRET: &str = "zanzibarquartz";

/// A data set with documents and one with passages, both about `secret`, and a model of a few tokens.
pub fn sandbox_about(secret: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let examples: Vec<serde_json::Value> = (0..24)
        .map(|at| {
            json!({"id": format!("e{at}"), "question": format!("When is {secret} w{at}?"),
                   "answer": format!("The {secret} w{at} opens at noon. It closes in {at} days."),
                   "reference": format!("{secret} w{at}"), "source_ids": [format!("d{at}")],
                   "labels": if at % 3 == 0 { json!([{"start": 4, "end": 9}]) } else { json!([]) },
                   "source_id": format!("s{at}")})
        })
        .collect();
    let documents: Vec<serde_json::Value> = (0..24)
        .map(|at| json!({"id": format!("d{at}"), "text": format!("The {secret} w{at} opens at noon, not later.")}))
        .collect();
    sandbox.write_lines("data/examples.jsonl", &examples);
    sandbox.write_lines("data/documents.jsonl", &documents);
    let given: Vec<serde_json::Value> = (0..24)
        .map(|at| {
            json!({"id": format!("g{at}"), "question": format!("When is {secret} w{at}?"), "source_id": format!("s{at}"),
                   "contexts": [format!("The {secret} w{at} opens at noon.")],
                   "answer": format!("The {secret} w{at} opens at noon. It closes in {at} days."),
                   "labels": if at % 3 == 0 { json!([{"start": 4, "end": 9}]) } else { json!([]) }})
        })
        .collect();
    sandbox.write_lines("given.jsonl", &given);
    sandbox
}

fn sandbox() -> Sandbox {
    sandbox_about(SECRET)
}

/// Every command but `models fetch`, each with the files it needs from those before it.
pub fn commands() -> Vec<Vec<&'static str>> {
    vec![
        vec!["open", "--plain", "data", "--model", "tiny"],
        vec!["certify", "data", "--output", "cal.json"],
        vec!["convert", "data", "-o", "converted/"],
        vec!["corrupt", "given.jsonl", "-o", "corrupted.jsonl"],
        vec!["score", "given.jsonl", "--model", "tiny", "-o", "run.jsonl"],
        vec!["score", "given.jsonl", "--model", "tiny", "-o", "one.jsonl", "--shard", "1/2"],
        vec!["score", "given.jsonl", "--model", "tiny", "-o", "two.jsonl", "--shard", "2/2"],
        vec!["merge", "one.jsonl", "two.jsonl", "-o", "merged.jsonl"],
        vec!["check", "run.jsonl", "--max-unusable", "100%"],
        vec!["highlighting", "run.jsonl", "--output", "hl.json"],
        vec!["report", "run.jsonl", "--output", "r.html"],
        vec!["report", "run.jsonl", "--verify", "r.html"],
        vec!["open", "--plain", "run.jsonl"],
        vec!["train", "given.jsonl", "--model", "tiny", "--output", "heads"],
        vec!["eval", "given.jsonl", "--model", "tiny"],
        vec!["lab", "given.jsonl", "--model", "tiny", "--methods", "look-back"],
        vec!["models", "list"],
        vec!["models", "path"],
        vec!["models", "show", "tiny"],
        vec!["models", "verify", "tiny"],
        vec!["models", "fetch", "--from", "given.jsonl"],
        vec!["models", "bench", "--model", "tiny", "--tokens", "40", "--answer", "8", "--rounds", "1"],
        vec!["ask", "data", "When is it?", "--model", "tiny", "--max-new-tokens", "8"],
        vec!["heads", "list", "heads", "--model", "tiny"],
        vec!["heads", "show", "heads", "--model", "tiny"],
        vec!["schema"],
        vec!["keys"],
        vec!["config"],
        vec!["completions", "bash"],
        vec!["man"],
        vec!["doctor", "--model", "tiny"],
    ]
}

/// The commands that the help of `of` lists.
fn listed(sandbox: &Sandbox, of: &[&str]) -> Vec<String> {
    let help = sandbox.run(&[of, &["--help"]].concat()).code(0).stdout;
    let list =
        help.split("Commands:").nth(1).and_then(|rest| rest.split("Options:").next()).unwrap_or_default();
    list.lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn every_command_is_run_without_a_network_here() {
    let sandbox = Sandbox::new();
    let commands = commands();
    let mut missing = Vec::new();
    for name in listed(&sandbox, &[]) {
        let parts = listed(&sandbox, &[&name]);
        if parts.is_empty() && !commands.iter().any(|arguments| arguments[0] == name) {
            missing.push(name.clone());
        }
        for part in parts {
            let run =
                commands.iter().any(|arguments| arguments[0] == name && arguments.get(1) == Some(&&*part));
            if !run {
                missing.push(format!("{name} {part}"));
            }
        }
    }
    assert!(missing.is_empty(), "add to `commands`: {missing:?}");
}

/// What the command does where it cannot do its work: some of these data are too small for it.
const MAY_END_WITH: [i32; 4] = [0, 1, 3, 4];

fn checked(ran: Ran) -> Ran {
    assert!(ran.code.is_some_and(|code| MAY_END_WITH.contains(&code)), "{ran}");
    assert!(!ran.stderr.contains("panicked"), "{ran}");
    ran
}

#[test]
fn every_command_does_the_same_in_a_network_namespace_without_routes() {
    let possible = Command::new("unshare").args(["-rn", "true"]).stderr(Stdio::null()).status();
    if !possible.is_ok_and(|status| status.success()) {
        println!("skipped: `unshare -rn` is not permitted here");
        return;
    }
    let (with, without) = (sandbox(), sandbox());
    for arguments in commands() {
        let free = checked(with.run(&arguments));
        let mut command = Command::new("unshare");
        command.args(["-rn", BINARY]).args(&arguments).env_clear().envs(without.environment());
        command.current_dir(without.work()).stdin(Stdio::null());
        let output = command.output().expect("unshare is there");
        let ran = checked(Ran::new(&command, output));
        assert_eq!(ran.code, free.code, "with a network:\n{free}\nwithout:\n{ran}");
        // What measures time says something else every time.
        let measures = arguments.contains(&"bench");
        let same = measures || ran.stdout.len() == free.stdout.len();
        assert!(same, "with a network:\n{free}\nwithout:\n{ran}");
    }
    // There is really no network in there.
    let probe = Command::new("unshare").args(["-rn", "cat", "/proc/net/route"]).output().expect("unshare");
    assert!(String::from_utf8_lossy(&probe.stdout).lines().count() <= 1, "at most the heading of the table");
}

#[test]
fn standard_error_says_nothing_of_the_texts_of_the_data() {
    // Nor does the log on disk, at its own level and at the next.
    for level in ["warn", "info"] {
        let sandbox = sandbox();
        for arguments in commands() {
            let mut command = sandbox.command(&arguments);
            command.env("RAGSCOPE_LOG", level).stdin(Stdio::null());
            let output = command.output().expect("the binary runs");
            let ran = checked(Ran::new(&command, output));
            assert!(!ran.stderr.contains(SECRET), "{ran}");
        }
        // A record that is broken is named by its place and its field.
        sandbox.write("bad.jsonl", format!("{{\"question\": \"{SECRET}\", \"answer\": [\"{SECRET}\"]}}\n"));
        let ran = sandbox.run(&["score", "bad.jsonl", "--model", "tiny"]).code(0);
        assert!(!ran.stderr.contains(SECRET), "{ran}");
        let home = sandbox.cache().with_file_name("home");
        let log =
            std::fs::read_to_string(home.join(".local/state/ragscope/ragscope.log")).unwrap_or_default();
        assert!(!log.contains(SECRET), "{level}: {log}");
        assert!(level == "warn" || !log.is_empty(), "the log is where it is looked for");
    }
}

/// P12, for every command there is: whatever the data say, neither stream acts on a terminal.
#[test]
fn every_command_is_harmless_whatever_the_data_say() {
    let acting = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]8;;http://x\u{1b}\\ \u{9b}31m\r\u{8}\u{7f}\u{202e}\u{2066}\u{200b} end";
    let sandbox = sandbox_about(acting);
    for arguments in commands() {
        let ran = checked(sandbox.run(&arguments)).harmless();
        for (stream, text) in [("output", &ran.stdout), ("error", &ran.stderr)] {
            assert!(!text.contains(['\u{202e}', '\u{2066}']), "{arguments:?} turns the text of its {stream}");
        }
    }
    // Nor do the files, which people look at with `cat`.
    let mut looked_at = 0;
    let mut folders = vec![sandbox.work()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let input = ["data", "tiny", "given.jsonl"].iter().any(|name| path == sandbox.work().join(name));
            if path.is_dir() && !input {
                folders.push(path);
                continue;
            }
            let text = std::fs::read(&path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            if let Some(text) = text.filter(|_| !input) {
                let acts = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{2066}');
                assert!(!text.contains(acts), "{}", path.display());
                looked_at += 1;
            }
        }
    }
    assert!(looked_at >= 10, "{looked_at} files");
}

#[test]
fn a_report_loads_nothing_and_may_load_nothing() {
    let sandbox = Sandbox::new();
    let run = repository("tests/golden/run.jsonl").display().to_string();
    let page = sandbox.run(&["report", &run, "--format", "html", "--output", "-"]).code(0).stdout;
    assert!(page.contains("Content-Security-Policy") && page.contains("default-src 'none'"));
    for word in [
        "src=\"http",
        "href=\"http",
        "url(http",
        "@import",
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
        "sendBeacon",
        "EventSource",
    ] {
        assert!(!page.contains(word), "{word}");
    }
}
