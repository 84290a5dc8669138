//! However the inspector ends or stops, the terminal is what it was.

#![cfg(unix)]

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use ragscope::evidence::Thresholds;
use ragscope::inspect::{Message, Planned};
use ragscope::tui::{Borders, KeptMarks, Session, ThemeChoice};

use super::harness::{Terminal, golden_run};
use super::sandbox::{self, Sandbox};

/// Names the panic that the inside half of a test is to have.
const PANIC: &str = "RAGSCOPE_TEST_PANIC";

#[test]
fn signals_give_the_terminal_back_and_say_which_one_it_was() {
    let run = golden_run();
    for (signal, expected) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        let Some(terminal) = Terminal::start("signals", &["open", &run], &[]) else { return };
        terminal.wait_for_run();
        terminal.signal(signal);
        assert_eq!(terminal.end().0, expected, "SIG{signal}");
    }
}

#[test]
fn a_size_of_twenty_by_five_says_what_is_needed_and_quits() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("tiny", &["open", &run], &[]) else { return };
    terminal.wait_for_layout();
    terminal.resize(20, 5);
    terminal.wait_for("need 40x8");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

/// Control-Z at a shell's prompt stops a program and `fg` continues it; in raw mode it is a key like others.
#[test]
fn control_z_goes_to_the_shell_and_fg_comes_back_to_the_same_screen() {
    let shell = Path::new("/bin/bash");
    if !shell.exists() {
        println!("suspend: skipped, there is no bash");
        return;
    }
    let arguments = ["--norc", "--noprofile", "--noediting", "-i"];
    let started =
        Terminal::start_program("suspend", Sandbox::new(), shell, &arguments, &[("PS1", "shell$ ")]);
    let Some(mut terminal) = started else { return };
    terminal.wait_for_prompt("shell$");
    terminal.press(&format!("'{}' open '{}'\r", sandbox::BINARY, golden_run()));
    terminal.wait_for_run();
    terminal.press("jm");
    terminal.wait_for("mouse off");
    terminal.press("\u{1a}");
    // Not before the shell has the terminal: what is typed earlier is still the inspector's.
    terminal.wait_for("Stopped");
    terminal.wait_for_prompt("shell$");
    terminal.wait("the shell's own screen", |screen| !screen.hide_cursor() && !screen.bracketed_paste());
    terminal.press("fg\r");
    terminal.wait("the inspector again", |screen| {
        screen.alternate_screen() && screen.hide_cursor() && screen.contents().contains("2/6")
    });
    // The mouse was the terminal's before, and it still is.
    terminal.wait("no mouse", |screen| screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None);
    terminal.press("k");
    terminal.wait_for("1/6");
    terminal.press("\u{1a}");
    terminal.wait("stopped again", |screen| screen.contents().matches("Stopped").count() == 2);
    terminal.wait_for_prompt("shell$");
    terminal.press("fg\r");
    terminal.wait("the inspector", |screen| {
        screen.alternate_screen() && screen.hide_cursor() && screen.contents().contains("1/6")
    });
    terminal.press("q");
    terminal.wait_for_prompt("shell$");
    terminal.press("exit\r");
    assert_eq!(terminal.end().0, 0);
}

/// SIGSTOP cannot be caught: what another program did to the screen meanwhile is drawn over.
#[test]
fn a_program_that_was_stopped_from_outside_draws_its_whole_screen_again() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("stopped", &["open", &run], &[]) else { return };
    terminal.wait_for_run();
    terminal.signal("STOP");
    let stopped = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", terminal.id()));
        status.is_ok_and(|status| status.contains("State:\tT"))
    };
    if Path::new("/proc/self/status").exists() {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !stopped() {
            assert!(Instant::now() < deadline, "SIGSTOP stops");
            std::thread::yield_now();
        }
    }
    let before = terminal.bytes().len();
    terminal.signal("CONT");
    terminal.wait_received("a frame from an empty screen", |received| {
        let written = String::from_utf8_lossy(&received.bytes[before..]);
        written.contains("\u{1b}[2J") && written.contains("TRUSTED") && written.contains("\u{1b}[?2026l")
    });
    assert!(!terminal.is_cooked(), "raw mode is on again");
    terminal.press("j");
    terminal.wait_for("2/6");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

/// A session leader has no shell to continue it: the system ignores the stop, and the screen goes on.
#[test]
fn a_stop_without_a_shell_does_not_freeze_the_terminal() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("no shell", &["open", &run], &[]) else { return };
    terminal.wait_for_run();
    let before = terminal.bytes().len();
    terminal.press("\u{1a}");
    terminal.wait_received("the terminal given back and taken again", |received| {
        let written = String::from_utf8_lossy(&received.bytes[before..]);
        let after = |sequence: &str, from: usize| written[from..].find(sequence).map(|at| from + at);
        after("\u{1b}[?1049l", 0)
            .and_then(|left| after("\u{1b}[?1049h", left))
            .and_then(|taken| after("\u{1b}[?2026l", taken))
            .is_some()
    });
    terminal.press("j");
    terminal.wait_for("2/6");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

/// Starts this test's other half in a terminal: the same inspector, with something in it that panics.
fn panicking(test: &str, what: &str) -> Option<Terminal> {
    let own = std::env::current_exe().expect("a test knows its file");
    let arguments = [
        "endings::inside_a_terminal",
        "--exact",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
        "--color=never",
    ];
    Terminal::start_program(test, Sandbox::new(), &own, &arguments, &[(PANIC, what)])
}

#[test]
#[ignore = "started in a terminal by the tests about panics"]
fn inside_a_terminal() {
    let Ok(what) = std::env::var(PANIC) else { return };
    let (sender, messages) = mpsc::channel();
    let planned = |row| Planned { row, id: format!("example-{row}"), question: "Who asks?".into() };
    sender.send(Message::Planned((0..3).map(planned).collect())).unwrap();
    // The worker panics when the user stops it; the screen's thread when the guarantee is asked for again.
    let cancel = Arc::new(AtomicBool::new(false));
    let on_screen = what == "screen";
    let waiting = Arc::clone(&cancel);
    std::thread::spawn(move || {
        let _sender = sender;
        while !waiting.load(std::sync::atomic::Ordering::SeqCst) {
            std::thread::yield_now();
        }
        assert!(what != "worker", "a worker that fails");
    });
    let session = Session {
        title: "panic".into(),
        messages,
        thresholds: Thresholds::default(),
        defaults: Thresholds::default(),
        cancel,
        guarantee: Arc::new(move |alpha| {
            assert!(!on_screen || alpha.thousandths() == 100, "the screen's own thread fails");
            Vec::new()
        }),
        highlighting: None,
        export: Box::new(|_| panic!("a writer that fails")),
        presets: Box::new(|_| Ok(Vec::new())),
        preferences: ragscope::tui::Preferences::default(),
        asking: Err("nothing can be asked here".into()),
        marks: KeptMarks::open(&std::env::temp_dir().join("ragscope-no-such-folder").join("marks.jsonl")),
        theme: ThemeChoice::Auto,
        borders: Borders::Auto,
        depth: None,
    };
    let outcome = ragscope::tui::run(session).expect("there is a terminal");
    println!("ended with {:?}", outcome.failed);
}

#[test]
fn a_panic_of_the_screens_thread_gives_the_terminal_back_before_it_says_why() {
    let Some(mut terminal) = panicking("panic", "screen") else { return };
    terminal.wait_for("example-0");
    terminal.press("5l");
    let (code, bytes, _) = terminal.end();
    assert_ne!(code, 0);
    let text = String::from_utf8_lossy(&bytes);
    let left = text.rfind("\u{1b}[?1049l").expect("the alternate screen is left");
    let said = text.rfind("the screen's own thread fails").expect("the reason is said");
    assert!(left < said, "the reason is said on the user's own screen");
}

#[test]
fn a_worker_that_panics_is_told_and_the_screen_lives_on() {
    let Some(mut terminal) = panicking("worker", "worker") else { return };
    terminal.wait_for("example-0");
    terminal.press("\u{1b}");
    terminal.wait_for("a worker that fails");
    // A key right behind Esc would be one with Alt.
    terminal.press("\u{1b}");
    terminal.wait("the message gone", |screen| !screen.contents().contains("Esc closes"));
    terminal.press("j");
    terminal.wait_for("2/3");
    terminal.press("q");
    let (_, bytes, _) = terminal.end();
    assert!(String::from_utf8_lossy(&bytes).contains("ended with Some("));
}
