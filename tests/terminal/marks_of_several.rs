//! Two inspectors at one file of marks, and inspectors that are killed while they mark.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use ragscope::evidence::AnnotationFile;

use super::harness::{PATIENCE, Terminal};
use super::sandbox::{Sandbox, repository};

/// Marked bytes in the file: id of the answer, byte, kind. It is read as a whole at any moment.
fn kept(path: &Path) -> BTreeSet<(String, usize, &'static str)> {
    let (_, annotations, notices) = AnnotationFile::open(path).expect("a file of marks, or none");
    assert!(notices.is_empty(), "{notices:?}");
    let mut bytes = BTreeSet::new();
    for answer in annotations.answers() {
        for mark in &answer.marks {
            bytes.extend(mark.range().map(|byte| (answer.id.clone(), byte, mark.kind.name())));
        }
    }
    bytes
}

#[track_caller]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let run = std::fs::read(repository("tests/golden/run.jsonl")).expect("the golden run");
    sandbox.write("run.jsonl", run);
    sandbox
}

#[test]
fn two_inspectors_at_one_run_lose_none_of_each_others_marks() {
    let Some(mut one) = Terminal::start_in("one", sandbox(), &["open", "run.jsonl"], &[]) else { return };
    let run = one.sandbox.work().join("run.jsonl");
    let path = run.with_file_name("run.jsonl.annotations.jsonl");
    let Some(mut other) = Terminal::start("other", &["open", &run.display().to_string()], &[]) else {
        return;
    };
    one.wait_for_run();
    other.wait_for_run();
    // The first word here, the last word of the same answer there.
    one.press("3g+");
    one.wait_for("1 missed");
    wait_until("the first mark", || !kept(&path).is_empty());
    let of_one = kept(&path);
    other.press("3G+");
    other.wait_for("2 missed");
    other.wait_for("somebody else changed the file of marks");
    let both = kept(&path);
    assert!(both.is_superset(&of_one) && both != of_one);
    // What is taken back here is one's own, and the other's mark comes to this screen with it.
    one.press("u");
    wait_until("the other's mark alone", || kept(&path) == &both - &of_one);
    one.wait_for("somebody else changed the file of marks");
    one.press("U");
    one.wait_for("2 missed");
    for terminal in [&mut one, &mut other] {
        terminal.press("q");
    }
    let (code, _, _other) = other.end();
    assert_eq!(code, 0);
    let (code, _, sandbox) = one.end();
    assert_eq!(code, 0);
    assert_eq!(kept(&path), both);
    assert_eq!(sandbox.listing(), ["run.jsonl", "run.jsonl.annotations.jsonl"], "the lock is gone");
}

#[test]
fn marks_survive_eight_kills_of_the_inspector() {
    let mut sandbox = sandbox();
    let path = sandbox.work().join("run.jsonl.annotations.jsonl");
    let mut before = BTreeSet::new();
    for kill in 0..8 {
        let started = Terminal::start_in("killed", sandbox, &["open", "run.jsonl"], &[]);
        let Some(mut terminal) = started else { return };
        terminal.wait_for_run();
        // Several marks, each written at once; the kill meets any of the writes that follow the first.
        terminal.press(&format!("3g{}+llll+llll+llll+", "l".repeat(kill * 5)));
        wait_until("a mark", || kept(&path) != before);
        let written = kept(&path);
        sandbox = terminal.kill();
        let now = kept(&path);
        assert!(now.is_superset(&written), "kill {kill} lost {:?}", &written - &now);
        before = now;
    }
    // A lock that a killed process left behind holds nobody up.
    std::fs::write(path.with_file_name("run.jsonl.annotations.jsonl.lock"), "").expect("a file");
    let Some(mut terminal) = Terminal::start_in("again", sandbox, &["open", "run.jsonl"], &[]) else {
        return;
    };
    terminal.wait_for_run();
    terminal.press("j3g+");
    wait_until("one mark more", || kept(&path) != before);
    assert!(kept(&path).is_superset(&before));
    terminal.press("q");
    let (code, _, sandbox) = terminal.end();
    assert_eq!(code, 0);
    assert!(!sandbox.work().join("run.jsonl.annotations.jsonl.lock").exists());
}
