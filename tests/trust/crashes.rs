//! Fifty times kill -9 at a random point: nothing that was written whole is lost, nothing half-written is read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ragscope::data::Dataset;
use ragscope::evidence::{Evidence, parse_line};
use ragscope::laboratory::FeatureStore;
use ragscope::metrics::Random;
use serde_json::json;

use crate::sandbox::{Sandbox, tiny_model};

/// So many records that no run ends before it is killed.
const RECORDS: usize = 400;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let records: Vec<serde_json::Value> = (0..RECORDS)
        .map(|at| {
            json!({"id": format!("r{at}"), "question": format!("When, for the {at}th time?"),
                   "contexts": ["At noon it opens. It closes at night."], "labels": [{"start": 0, "end": 2}],
                   "source_id": format!("s{at}"), "answer": format!("At {at} o'clock, not later than noon.")})
        })
        .collect();
    sandbox.write_lines("data.jsonl", &records);
    sandbox
}

fn begun(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the binary starts")
}

/// Kills the process once `progress` has come so far beyond where it was; SIGKILL cannot be caught.
fn kill_when(mut child: Child, progress: impl Fn() -> u64, beyond: u64) {
    let start = progress();
    while child.try_wait().expect("its state").is_none() {
        if progress() >= start + beyond {
            break;
        }
        std::thread::yield_now();
    }
    child.kill().expect("it is killed, or has ended");
    child.wait().expect("it ends");
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |about| about.len())
}

/// Whole lines of a file.
fn whole_lines(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    String::from_utf8(bytes[..end].to_vec()).expect("UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn a_scored_file_survives_twenty_kills_and_ends_as_the_run_that_was_never_killed() {
    let sandbox = sandbox();
    let path = sandbox.work().join("run.jsonl");
    let mut random = Random::new(1);
    let mut before: Vec<String> = Vec::new();
    for kill in 0..20 {
        let command =
            sandbox.command(&["score", "data.jsonl", "--model", "tiny", "-o", "run.jsonl", "--resume"]);
        // From "before the first byte" to some lines further; torn lines are as likely as whole ones.
        let beyond = if kill % 5 == 0 { 0 } else { 1 + random.below(20_000) as u64 };
        kill_when(begun(command), || length(&path), beyond);
        let lines = whole_lines(&path);
        for (at, line) in lines.iter().enumerate() {
            let evidence = parse_line(line, at + 1).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
            assert_eq!(evidence.row, at, "kill {kill}");
        }
        assert!(lines.len() >= before.len() && lines[..before.len()] == before, "kill {kill} lost a line");
        before = lines;
    }
    assert!(!before.is_empty() && before.len() < RECORDS, "{} lines before the last run", before.len());
    sandbox.run(&["score", "data.jsonl", "--model", "tiny", "-o", "run.jsonl", "--resume"]).code(0);
    sandbox.run(&["score", "data.jsonl", "--model", "tiny", "-o", "whole.jsonl"]).code(0);
    assert_eq!(sandbox.read("run.jsonl"), sandbox.read("whole.jsonl"));
}

/// The one file of the evidence cache.
fn cache_file(sandbox: &Sandbox) -> Option<PathBuf> {
    let folders = std::fs::read_dir(sandbox.cache()).ok()?.flatten();
    let folder = folders
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("evidence")))?;
    let files = std::fs::read_dir(folder).ok()?.flatten();
    files.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "jsonl"))
}

#[test]
fn the_evidence_cache_survives_fifteen_kills() {
    let sandbox = sandbox();
    let arguments = ["open", "--plain", "data.jsonl", "--model", "tiny"];
    let mut random = Random::new(2);
    let mut before: Vec<String> = Vec::new();
    let size = || cache_file(&sandbox).map_or(0, |path| length(&path));
    for kill in 0..15 {
        let beyond = if kill % 5 == 0 { 0 } else { 1 + random.below(20_000) as u64 };
        kill_when(begun(sandbox.command(&arguments)), size, beyond);
        let Some(path) = cache_file(&sandbox) else { continue };
        let lines = whole_lines(&path);
        for (at, line) in lines.iter().enumerate() {
            parse_line(line, at + 1).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        }
        assert!(lines.len() >= before.len() && lines[..before.len()] == before, "kill {kill} lost a line");
        before = lines;
    }
    assert!(!before.is_empty() && before.len() < RECORDS, "{} lines before the last run", before.len());
    let last = sandbox.run(&arguments).code(0);
    let again = sandbox.run(&arguments).code(0);
    assert_eq!(last.stdout, again.stdout, "what comes from the cache is what was read");
    let kept = whole_lines(&cache_file(&sandbox).expect("a cache"));
    assert_eq!(kept.len(), RECORDS, "each answer was read once");
    assert_eq!(kept[..before.len()], before);
}

#[test]
fn a_feature_store_survives_fifteen_kills() {
    let sandbox = sandbox();
    let store = sandbox.work().join("store");
    // Trains nothing before it is killed: what is extracted lies in the store.
    let arguments = ["lab", "data.jsonl", "--model", "tiny", "--store", "store"];
    let mut random = Random::new(3);
    let bytes = || {
        let entries = std::fs::read_dir(&store).into_iter().flatten().flatten();
        // What is begun lies beside under another name.
        let shards = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("shard-"));
        shards.map(|entry| length(&entry.path())).sum()
    };
    let keys = || -> Option<BTreeSet<String>> {
        let store = FeatureStore::read(&store).ok()?;
        store.verify().expect("what is there is sound");
        Some(store.answers().iter().map(|answer| answer.labelled.key.clone()).collect())
    };
    let mut before = BTreeSet::new();
    for kill in 0..15 {
        let beyond = if kill % 5 == 0 { 0 } else { 1 + random.below(20_000) as u64 };
        kill_when(begun(sandbox.command(&arguments)), bytes, beyond);
        let Some(now) = keys() else {
            assert!(before.is_empty(), "kill {kill}: the store cannot be read any more");
            continue;
        };
        assert!(before.is_subset(&now), "kill {kill} lost answers");
        before = now;
    }
    assert!(!before.is_empty(), "nothing was extracted between the kills");
}

#[test]
fn two_processes_at_one_cache_give_the_same_answers_and_leave_it_sound() {
    let sandbox = sandbox();
    let data = Dataset::open(sandbox.work().join("data.jsonl"), &ragscope::data::OpenOptions::default());
    assert_eq!(data.expect("the data").rows.len(), RECORDS);
    let arguments = ["open", "--plain", "data.jsonl", "--model", "tiny"];
    let begin = || {
        let mut command = sandbox.command(&arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the binary starts")
    };
    let (one, other) = (begin(), begin());
    let ended = |child: Child| {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        output
    };
    let (one, other) = (ended(one), ended(other));
    assert_eq!(one.stdout, other.stdout);
    let told = [one.stderr, other.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let lines = whole_lines(&cache_file(&sandbox).expect("a cache"));
    let rows: BTreeSet<usize> =
        lines.iter().map(|line| parse_line(line, 1).expect("a sound line").row).collect();
    assert_eq!((lines.len(), rows.len()), (RECORDS, RECORDS), "every answer once: {told:?}");
    let third = sandbox.run(&arguments).code(0);
    assert_eq!(third.stdout.as_bytes(), one.stdout);
}

#[test]
fn a_file_that_another_process_scores_to_is_not_touched() {
    let sandbox = sandbox();
    let mut command = sandbox.command(&["score", "-", "--model", "tiny", "-o", "run.jsonl"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = command.spawn().expect("the binary starts");
    // The first line is there: the file is held by then, which a file that is only begun need not be.
    let record = b"{\"question\":\"When?\",\"contexts\":[\"At noon.\"],\"answer\":\"At noon.\"}\n";
    let mut stdin = first.stdin.take().expect("standard input is piped");
    std::io::Write::write_all(&mut stdin, record).expect("the binary reads");
    while length(&sandbox.work().join("run.jsonl")) == 0 {
        assert!(first.try_wait().expect("its state").is_none(), "it ended early");
        std::thread::yield_now();
    }
    for more in ["--resume", "--force"] {
        let arguments = ["score", "data.jsonl", "--model", "tiny", "-o", "run.jsonl", more];
        sandbox.run(&arguments).code(3).complains(&["run.jsonl is being written by another ragscope"]);
    }
    std::io::Write::write_all(&mut stdin, record).expect("the binary reads");
    drop(stdin);
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    let run: Vec<Evidence> =
        sandbox.read("run.jsonl").lines().map(|line| parse_line(line, 1).expect("evidence")).collect();
    assert_eq!(run.len(), 2);
}
