//! Pipes that close and signals: what was finished is kept, and nobody is shouted at.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use crate::sandbox::{Sandbox, repository, tiny_model};

/// Runs with standard output closed after its first line; gives exit code and standard error.
fn after_the_first_line(mut command: Command) -> (Option<i32>, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("standard output is piped");
    // A small buffer, as that of `head`: what was not read is thrown away when the pipe closes.
    BufReader::with_capacity(16, stdout).read_line(&mut line).expect("a line comes");
    assert!(line.ends_with('\n'), "{line:?} of {command:?}");
    let mut stderr = String::new();
    child.stderr.take().expect("standard error is piped").read_to_string(&mut stderr).expect("text");
    (child.wait().expect("the binary ends").code(), stderr)
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let sandbox = Sandbox::new();
    let run = repository("tests/golden/run.jsonl").display().to_string();
    let data = repository("sample_data").display().to_string();
    for arguments in [
        vec!["report", &run, "--format", "html", "--output", "-"],
        vec!["report", &run, "--format", "text"],
        vec!["open", &run, "--plain"],
        vec!["certify", &data, "--json", "--output", "c.json", "--force"],
        vec!["schema"],
    ] {
        let (code, stderr) = after_the_first_line(sandbox.command(&arguments));
        assert_eq!(code, Some(0), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked") && !stderr.contains("ragscope:"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn scoring_into_a_closed_pipe_stops_quietly() {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    // More than any pipe holds, so that a line is written after the reader is gone.
    let passage = "noon ".repeat(400);
    let record = format!("{{\"question\":\"When?\",\"contexts\":[\"{passage}\"]}}\n");
    sandbox.write("long.jsonl", record.repeat(200));
    let (code, stderr) = after_the_first_line(sandbox.command(&["score", "long.jsonl", "--model", "tiny"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(!stderr.contains("panicked") && !stderr.contains("ragscope:"), "{stderr}");
}

#[test]
fn a_closed_standard_error_is_no_panic() {
    let sandbox = Sandbox::new();
    let data = repository("sample_data").display().to_string();
    let mut command = sandbox.command(&["certify", &data, "--output", "c.json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    drop(child.stderr.take());
    let mut stdout = String::new();
    child.stdout.take().expect("standard output is piped").read_to_string(&mut stdout).expect("text");
    let status = child.wait().expect("the binary ends");
    assert_eq!(status.code(), Some(0), "{stdout}");
    assert!(stdout.contains("verdict:"), "{stdout}");
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
    assert!(sent.expect("kill is there").success());
}

#[cfg(unix)]
#[test]
fn an_interrupt_during_scoring_gives_130_and_keeps_the_lines_that_were_written() {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let record = b"{\"question\":\"When?\",\"contexts\":[\"At noon.\"],\"answer\":\"At noon.\"}\n";
    let mut command = sandbox.command(&["score", "-", "--model", "tiny"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("standard output is piped"));
    let mut lines = String::new();
    for _ in 0..2 {
        stdin.write_all(record).expect("the binary reads");
        // The line comes although the stream goes on: it was flushed.
        stdout.read_line(&mut lines).expect("a line");
    }
    send("INT", &child);
    // The record that was on its way may still be finished; no further one is begun.
    while child.try_wait().expect("its state").is_none() {
        if stdin.write_all(record).is_err() {
            break;
        }
        std::thread::yield_now();
    }
    drop(stdin);
    stdout.read_to_string(&mut lines).expect("text");
    let mut stderr = String::new();
    child.stderr.take().expect("standard error is piped").read_to_string(&mut stderr).expect("text");
    assert_eq!(child.wait().expect("the binary ends").code(), Some(130), "{stderr}");
    assert!(stderr.contains("interrupted; what was finished is kept"), "{stderr}");
    assert!(lines.ends_with('\n') && lines.lines().count() >= 2, "{lines}");
    for line in lines.lines() {
        ragscope::evidence::parse_line(line, 1).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_look_at_a_data_set_prints_what_it_has_and_goes_on_from_there() {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let record = "{\"question\":\"When?\",\"contexts\":[\"At noon.\"],\"answer\":\"At noon.\"}\n";
    sandbox.write("many.jsonl", record.repeat(2000));
    let arguments = ["open", "--plain", "many.jsonl", "--model", "tiny"];
    let mut command = sandbox.command(&arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("standard error is piped"));
    let mut told = String::new();
    while !told.contains(" of 2000 answers read") {
        let before = told.len();
        stderr.read_line(&mut told).expect("text");
        assert!(told.len() > before, "it ended before the first answer: {told}");
    }
    send("INT", &child);
    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).map(|_| rest)
    });
    let mut stdout = String::new();
    child.stdout.take().expect("standard output is piped").read_to_string(&mut stdout).expect("text");
    let rest = rest.join().expect("the reader ends").expect("text");
    assert_eq!(child.wait().expect("the binary ends").code(), Some(130), "{rest}");
    assert!(rest.contains("what was read is kept"), "{rest}");
    assert!(stdout.contains("Example 2000 of 2000") && stdout.contains("partial"), "{}", stdout.len());
}
