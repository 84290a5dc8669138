//! What is measured at the real binary: `cargo test --release --test terminal -- --ignored --nocapture measured`

#![cfg(target_os = "linux")]

use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use ragscope::evidence::{parse_line, write_line};

use super::harness::{FIRST_QUESTION, Terminal, golden_run};
use super::sandbox::{Sandbox, repository};

/// Voluntary context switches of every thread: one for each time that a thread went to sleep, so for each
/// time that something woke it.
fn sleeps(id: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task")).expect("the program runs");
    let of = |task: std::io::Result<std::fs::DirEntry>| {
        let status = std::fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    };
    tasks.filter_map(of).sum()
}

#[test]
#[ignore = "waits for ten seconds on purpose, and needs /proc"]
fn an_idle_screen_is_not_woken_once_in_ten_seconds() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("idle", &["open", &run], &[]) else { return };
    terminal.wait_for("6 examples");
    // The threads that come with the start have gone to sleep when nothing has moved for a second.
    let second = Duration::from_secs(1);
    let mut before = sleeps(terminal.id());
    loop {
        std::thread::sleep(second);
        let now = sleeps(terminal.id());
        if now == before {
            break;
        }
        before = now;
    }
    let (bytes, started) = (terminal.bytes().len(), Instant::now());
    std::thread::sleep(10 * second);
    let woken = sleeps(terminal.id()) - before;
    println!("{woken} wake-ups of all threads in {:.1} s", started.elapsed().as_secs_f64());
    assert_eq!((woken, terminal.bytes().len()), (0, bytes));
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

/// The first example of the golden run, over and over: a real answer, read by the default model.
fn run_of(count: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let golden = std::fs::read_to_string(repository("tests/golden/run.jsonl")).unwrap();
    let mut evidence = parse_line(golden.lines().next().unwrap(), 1).unwrap();
    let mut out = BufWriter::new(std::fs::File::create(sandbox.work().join("run.jsonl")).unwrap());
    for row in 0..count {
        evidence.row = row;
        write_line(&evidence, &mut out).unwrap();
    }
    out.flush().unwrap();
    sandbox
}

#[test]
#[ignore = "a measurement; it writes a run of 10,000 answers"]
fn the_first_example_of_ten_thousand_is_on_the_screen_at_once_and_keys_work_while_the_rest_is_read() {
    for count in [10, 10_000] {
        let sandbox = run_of(count);
        let bytes = std::fs::metadata(sandbox.work().join("run.jsonl")).unwrap().len();
        let start = Instant::now();
        let Some(mut terminal) = Terminal::start_in("opening", sandbox, &["open", "run.jsonl"], &[]) else {
            return;
        };
        terminal.wait_for(FIRST_QUESTION);
        let shown = start.elapsed();
        terminal.press("?");
        let pressed = Instant::now();
        terminal.wait_for("/ searches");
        let answered = pressed.elapsed();
        terminal.press("?");
        terminal.wait_for(&format!("{count} examples"));
        let read = start.elapsed();
        println!(
            "{count} examples, {:.0} MB: first example after {:.0} ms, a key while reading {:.0} ms, all read after {:.0} ms",
            bytes as f64 / 1e6,
            shown.as_secs_f64() * 1e3,
            answered.as_secs_f64() * 1e3,
            read.as_secs_f64() * 1e3,
        );
        terminal.press("q");
        assert_eq!(terminal.end().0, 0);
        assert!(shown < Duration::from_millis(200), "{shown:?}");
    }
}
