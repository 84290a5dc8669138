//! Sliders, search and export by key and by mouse, in the real binary.

use super::harness::{FIRST_QUESTION, Terminal, golden_run};
use super::sandbox::{Sandbox, repository};

#[test]
fn every_slider_moves_by_key_and_goes_back_to_its_default() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("each slider", &["open", &run], &[]) else { return };
    terminal.wait_for_layout();
    terminal.press("5");
    for (down, label, typed, shown) in [
        ("", "alpha", "0.25", "0.250"),
        ("j", "token", "0.42", "0.42"),
        ("j", "rho", "0.9", "0.9000"),
        ("j", "factual", "0.75", "0.75"),
    ] {
        terminal.press(&format!("{down}={typed}\r"));
        terminal.wait(&format!("{label} at {shown}"), |screen| {
            let (_, columns) = screen.size();
            screen.rows(0, columns).any(|line| line.contains(label) && line.contains(shown))
        });
        terminal.wait_for(" → ");
        terminal.press("r");
        terminal.wait_for("at defaults");
    }
    terminal.press("llH\u{1b}[C\u{1b}[D");
    terminal.press("\u{1b}[F");
    terminal.wait("factuality at its greatest", |screen| {
        let (_, columns) = screen.size();
        screen.rows(0, columns).any(|line| line.contains("factual") && line.contains("1.00"))
    });
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_press_on_a_track_sets_it_a_drag_moves_it_and_the_wheel_scrolls_what_is_under_it() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("mouse", &["open", &run], &[]) else { return };
    terminal.wait_for_layout();
    let (column, row) = terminal.place_of("alpha   ");
    terminal.press("5j");
    let track = column + 30;
    terminal.mouse(0, (track, row), true);
    let alpha_is = |terminal: &Terminal, wanted: &str| {
        terminal.wait(&format!("alpha {wanted}"), |screen| {
            let (_, columns) = screen.size();
            screen.rows(0, columns).any(|line| line.contains("alpha") && line.contains(wanted))
        });
    };
    terminal.wait_for("1 moved");
    // Far beyond its end a drag stops at the end.
    for step in 0..40 {
        terminal.mouse(32, (track.saturating_sub(step * 3), row), true);
    }
    alpha_is(&terminal, "0.000");
    terminal.mouse(0, (0, row), false);
    // Released: a drag without a button moves nothing.
    terminal.mouse(32, (track, row), true);
    let (column, row) = terminal.place_of("1 Examples");
    terminal.mouse(65, (column + 2, row + 3), true);
    terminal.wait_for("2/6");
    alpha_is(&terminal, "0.000");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn the_filter_narrows_as_it_is_typed_and_escape_gives_the_list_back() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("search", &["open", &run], &[]) else { return };
    terminal.wait_for_layout();
    terminal.press("/pump");
    terminal.wait_for("of 6 · Enter keeps");
    terminal.press("zzz");
    terminal.wait_for("0 of 6");
    terminal.press("\u{1b}");
    terminal.wait_for("1/6");
    terminal.wait_for(FIRST_QUESTION);
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn an_old_console_gets_ascii_lines_and_is_told_so() {
    let run = golden_run();
    for (arguments, variables, told) in [
        (vec!["open", &run], vec![("TERM", "linux")], true),
        (vec!["open", &run], vec![("LC_ALL", "C")], true),
        (vec!["open", &run, "--borders", "ascii"], vec![], false),
    ] {
        let Some(mut terminal) = Terminal::start("ascii", &arguments, &variables) else { return };
        terminal.wait_for_layout();
        if told {
            terminal.wait_for("--borders unicode");
        }
        terminal.wait_for("+- 1 Examples");
        terminal.press("j");
        terminal.wait_for("2/6");
        terminal.press("q");
        let (code, bytes, _) = terminal.end();
        assert_eq!(code, 0);
        // Letters of the data stay what they are; lines, blocks and dots do not.
        let drawn = |sign: char| ('\u{2190}'..='\u{2bff}').contains(&sign);
        let shown = String::from_utf8_lossy(&bytes);
        assert_eq!(shown.chars().find(|sign| drawn(*sign)), None, "a sign that the console cannot draw");
    }
}

#[test]
fn a_run_that_breaks_in_its_middle_shows_what_stands_before_and_says_where() {
    let sandbox = Sandbox::new();
    let golden = std::fs::read_to_string(repository("tests/golden/run.jsonl")).unwrap();
    let lines: Vec<&str> = golden.lines().collect();
    std::fs::write(sandbox.work().join("run.jsonl"), format!("{}\n{{\"a\":1}}\n{}\n", lines[0], lines[1]))
        .unwrap();
    let Some(mut terminal) = Terminal::start_in("broken run", sandbox, &["open", "run.jsonl"], &[]) else {
        return;
    };
    terminal.wait_for(FIRST_QUESTION);
    terminal.wait_for("line 2: expected an evidence record");
    terminal.press("\u{1b}");
    terminal.wait("the message gone", |screen| !screen.contents().contains("Esc closes"));
    terminal.wait_for("ended early");
    terminal.press("q");
    let (code, bytes, _) = terminal.end();
    assert_eq!(code, 3);
    assert!(String::from_utf8_lossy(&bytes).contains("line 2"));
}

#[test]
fn the_certificate_in_the_lines_of_a_run_reaches_the_diagnostics() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("diagnostics", &["open", &run], &[]) else { return };
    terminal.wait_for_layout();
    terminal.press("D");
    terminal.wait_for("89 calibration values");
    terminal.press("qq");
    assert_eq!(terminal.end().0, 0);
}
