//! Disks that are full, folders that cannot be written, clocks that are wrong.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::sandbox::{BINARY, Ran, Sandbox, repository, tiny_model};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let records: Vec<serde_json::Value> = (0..40)
        .map(|at| {
            json!({"id": format!("r{at}"), "question": "When?", "contexts": ["At noon it opens."],
                   "answer": format!("At {at} o'clock."), "labels": []})
        })
        .collect();
    sandbox.write_lines("data.jsonl", &records);
    sandbox
}

/// Runs with a limit of so many blocks of 512 bytes on the size of a file: what a full disk says, in small.
#[cfg(unix)]
fn with_little_room(sandbox: &Sandbox, blocks: u32, arguments: &[&str]) -> Ran {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")).arg(BINARY);
    command.env_clear().envs(sandbox.environment()).current_dir(sandbox.work()).args(arguments);
    let output = command.stdin(Stdio::null()).output().expect("a shell is there");
    Ran::new(&command, output)
}

#[cfg(unix)]
#[test]
fn a_full_disk_ends_scoring_with_3_and_keeps_whole_lines_that_can_be_continued() {
    let sandbox = sandbox();
    let score = ["score", "data.jsonl", "--model", "tiny", "-o", "run.jsonl"];
    with_little_room(&sandbox, 40, &score).code(3).complains(&["cannot write evidence"]);
    let text = sandbox.read("run.jsonl");
    let whole = text.lines().filter(|line| ragscope::evidence::parse_line(line, 1).is_ok()).count();
    assert!(whole > 0 && whole < 40, "{whole} whole lines");
    sandbox.run(&[&score[..], &["--resume"]].concat()).code(0).complains(&["records were there already"]);
    sandbox.run(&["score", "data.jsonl", "--model", "tiny", "-o", "whole.jsonl"]).code(0);
    assert_eq!(sandbox.read("run.jsonl"), sandbox.read("whole.jsonl"));
}

#[cfg(unix)]
#[test]
fn a_full_disk_costs_a_look_only_its_cache() {
    let sandbox = sandbox();
    let open = ["open", "--plain", "data.jsonl", "--model", "tiny"];
    let full =
        with_little_room(&sandbox, 40, &open).code(0).complains(&["evidence cache", "cannot be written"]);
    let free = sandbox.run(&open).code(0);
    assert_eq!(full.stdout, free.stdout);
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_part_of_a_report_a_calibration_or_a_store() {
    let sandbox = sandbox();
    let run = repository("tests/golden/run.jsonl").display().to_string();
    let data = repository("sample_data").display().to_string();
    for arguments in [
        vec!["report", &run, "--output", "r.html"],
        vec!["report", &run, "--format", "markdown", "--output", "r.md"],
        vec!["certify", &data, "--output", "c.json"],
        vec!["convert", &data, "-o", "converted/"],
    ] {
        let before = sandbox.listing();
        with_little_room(&sandbox, 1, &arguments).code(3).complains(&["cannot write"]);
        let after: Vec<String> = sandbox.listing().into_iter().filter(|name| name != "converted").collect();
        assert_eq!(after, before, "{arguments:?} left something");
    }
    assert!(!sandbox.work().join("converted/examples.jsonl").exists());
    let lab = ["lab", "data.jsonl", "--model", "tiny", "--store", "store"];
    with_little_room(&sandbox, 4, &lab).code(3).complains(&["store"]);
    assert!(std::fs::read_dir(sandbox.work().join("store")).expect("the store").flatten().all(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        !name.starts_with("shard-")
    }));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_reported_and_a_device_is_never_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let sandbox = sandbox();
    let run = repository("tests/golden/run.jsonl").display().to_string();
    // A link, so that a failure of this test replaces the link and not the device.
    std::os::unix::fs::symlink("/dev/full", sandbox.work().join("full")).expect("a link");
    sandbox.run(&["report", &run, "--output", "full", "--force"]).code(3).complains(&["cannot write full"]);
    let score = ["score", "data.jsonl", "--model", "tiny", "-o", "full", "--force"];
    sandbox.run(&score).code(3).complains(&["cannot write evidence"]);
    let device = std::fs::metadata(sandbox.work().join("full")).expect("the device");
    assert!(device.file_type().is_char_device());
    let mut command = Command::new("sh");
    command.arg("-c").arg("exec \"$0\" \"$@\" >/dev/full").arg(BINARY);
    command.env_clear().envs(sandbox.environment()).current_dir(sandbox.work());
    command.args(["report", &run, "--format", "text"]).stdin(Stdio::null());
    let output = command.output().expect("a shell is there");
    Ran::new(&command, output).code(3).complains(&["standard output"]);
}

/// A place where nobody can write, not even root.
const NOWHERE: &str = if cfg!(target_os = "linux") { "/proc/ragscope" } else { "/dev/null/ragscope" };

#[cfg(unix)]
#[test]
fn places_that_cannot_be_written_are_named_and_a_look_goes_on_without_its_cache() {
    let sandbox = sandbox();
    let run = repository("tests/golden/run.jsonl").display().to_string();
    let (target, folder) = (format!("{NOWHERE}/out.jsonl"), format!("{NOWHERE}/"));
    for arguments in [
        vec!["report", &run, "--output", &target],
        vec!["score", "data.jsonl", "--model", "tiny", "-o", &target],
        vec!["convert", "data.jsonl", "-o", NOWHERE],
        vec!["convert", "data.jsonl", "-o", &folder],
        vec!["lab", "data.jsonl", "--model", "tiny", "--store", NOWHERE],
    ] {
        sandbox.run(&arguments).code(3).complains(&[NOWHERE]);
    }
    let mut command = sandbox.command(&["open", "--plain", "data.jsonl", "--model", "tiny"]);
    command.env("RAGSCOPE_CACHE", NOWHERE);
    let output = command.output().expect("the program runs");
    let without = Ran::new(&command, output).code(0).complains(&["evidence cache", NOWHERE, "not kept"]);
    assert_eq!(
        without.stdout,
        sandbox.run(&["open", "--plain", "data.jsonl", "--model", "tiny"]).code(0).stdout
    );
    let mut command = sandbox.command(&["models", "fetch", "--from", "data.jsonl"]);
    command.env("RAGSCOPE_CACHE", NOWHERE);
    let output = command.output().expect("the program runs");
    Ran::new(&command, output).code(4).complains(&[NOWHERE]);
}

#[test]
fn a_model_whose_clock_jumps_is_read_by_what_it_holds() {
    let sandbox = sandbox();
    let weights = sandbox.work().join("tiny/model.safetensors");
    let score = ["score", "data.jsonl", "--model", "tiny"];
    let hash = |ran: &Ran| ran.evidence()[0].provenance.model_hash.clone().expect("the model's hash");
    let now = hash(&sandbox.run(&score).code(0));
    let at = |seconds: i64| {
        let epoch = std::time::UNIX_EPOCH;
        let distance = std::time::Duration::from_secs(seconds.unsigned_abs());
        let time = if seconds < 0 { epoch - distance } else { epoch + distance };
        let file = std::fs::File::options().write(true).open(&weights).expect("the weights");
        file.set_modified(time).expect("a time");
    };
    // Long before, long after, and before computers count.
    for seconds in [1_000_000, 40_000_000_000, -1_000_000] {
        at(seconds);
        assert_eq!(hash(&sandbox.run(&score).code(0)), now);
        assert_eq!(hash(&sandbox.run(&score).code(0)), now, "remembered");
    }
    // Other weights of the same size are other weights, although the clock went back.
    let mut bytes = std::fs::read(&weights).expect("the weights");
    let end = bytes.len();
    bytes[end - 1] ^= 1;
    std::fs::write(&weights, bytes).expect("the weights");
    at(500_000);
    assert_ne!(hash(&sandbox.run(&score).code(0)), now);
}
