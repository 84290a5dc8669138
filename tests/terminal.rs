//! The inspector in a terminal: the real binary in a pseudo-terminal, its screen read back by vt100.
//!
//! Nothing sleeps: every step waits for what it expects on the screen.

mod sandbox;

#[path = "terminal/asking_and_marking.rs"]
mod asking_and_marking;
#[path = "terminal/configuration.rs"]
mod configuration;
#[path = "terminal/endings.rs"]
mod endings;
#[path = "terminal/harness.rs"]
mod harness;
#[path = "terminal/marks_of_several.rs"]
mod marks_of_several;
#[path = "terminal/measured.rs"]
mod measured;
#[path = "terminal/pointer_and_keys.rs"]
mod pointer_and_keys;

use harness::{COLUMNS, FIRST_QUESTION, PAGE, ROWS, Terminal, golden_run, is_colour, styles};
use sandbox::{Sandbox, repository};

#[test]
fn the_first_screen_shows_the_run_and_q_gives_the_terminal_back() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("first screen", &["open", &run], &[]) else { return };
    terminal.wait_for_run();
    terminal.wait("a screen of its own", |screen| {
        screen.alternate_screen()
            && screen.hide_cursor()
            && screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None
    });
    for text in
        ["ragscope", "6 examples", "1 record", "TRUSTED", "Attention", "alpha", "factuality", "? help"]
    {
        terminal.wait_for(text);
    }
    terminal.press("q");
    let (code, bytes, sandbox) = terminal.end();
    assert_eq!(code, 0);
    assert!(styles(&bytes).iter().any(|style| is_colour(style)), "no colour in a terminal that has 256");
    assert!(sandbox.listing().is_empty(), "looking wrote {:?}", sandbox.listing());
}

#[test]
fn keys_move_between_examples_and_spans() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("keys", &["open", &run], &[]) else { return };
    terminal.wait_for_run();
    terminal.press("j");
    terminal.wait_for("2/6");
    terminal.wait("the second example", |screen| !screen.contents().contains(FIRST_QUESTION));
    terminal.press("k");
    terminal.wait_for(FIRST_QUESTION);
    // Each answer is one span at threshold 0, so there is one to go to whatever the heads say.
    terminal.press("5j=0\r");
    terminal.wait_for("at 0.00: 4 spans");
    terminal.press("3G");
    terminal.wait_for(" 48/48 ");
    // Behind the last span comes the first one again.
    terminal.press("]");
    terminal.wait_for(" 1/48 ");
    terminal.press("l");
    terminal.wait_for(" 2/48 ");
    terminal.press("[");
    terminal.wait_for(" 1/48 ");
    terminal.press("}");
    terminal.wait_for("2/6");
    // The row that is broken says why.
    terminal.press("1Gk");
    terminal.wait_for("5/6");
    terminal.wait_for("line 5");
    terminal.press("\u{3}");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_slider_changes_the_number_of_spans_at_once() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("slider", &["open", &run], &[]) else { return };
    terminal.wait_for_run();
    terminal.press("5j");
    terminal.press("=1\r");
    terminal.wait_for("→ 0 spans");
    terminal.press("=0\r");
    // Four answers were read, and at 0 each is one span.
    terminal.wait_for("→ 4 spans");
    terminal.press("R");
    terminal.wait("the defaults", |screen| !screen.contents().contains("→ 4 spans"));
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn help_opens_and_closes() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("help", &["open", &run], &[]) else { return };
    terminal.wait_for_run();
    terminal.press("?");
    terminal.wait_for("/ searches, q closes");
    terminal.wait_for("next flagged span");
    terminal.press("/mouse");
    terminal.wait_for("give the mouse back");
    terminal.press("\rq");
    terminal.wait("the run again", |screen| {
        let text = screen.contents();
        text.contains(FIRST_QUESTION) && !text.contains("give the mouse back")
    });
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn any_size_is_survived_and_the_screen_comes_back() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("sizes", &["open", &run], &[]) else { return };
    terminal.wait_for_layout();
    terminal.resize(60, 16);
    terminal.wait_for_layout();
    terminal.wait_for_run();
    terminal.press("j");
    terminal.wait_for("2/6");
    terminal.resize(20, 5);
    terminal.wait("something on a tiny screen", |screen| !screen.contents().trim().is_empty());
    terminal.resize(1, 1);
    terminal.resize(200, 60);
    terminal.wait_for_layout();
    terminal.wait_for("2/6");
    terminal.press("k");
    terminal.wait_for("1/6");
    terminal.resize(COLUMNS, ROWS);
    terminal.wait_for_layout();
    terminal.wait_for(FIRST_QUESTION);
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

/// Both are there when the program looks: neither may wait for the next one.
#[test]
fn keys_that_come_together_with_changes_of_size_are_read_at_once() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("keys and sizes", &["open", &run], &[]) else { return };
    terminal.wait_for_run();
    for turn in 0..30 {
        let columns = COLUMNS + turn % 2 * 5;
        terminal.change_size(columns, ROWS);
        terminal.press(if turn % 2 == 0 { "j" } else { "k" });
        terminal.wait_for(if turn % 2 == 0 { "2/6" } else { "1/6" });
        terminal.wait_for_layout();
    }
    // More keys than are read in one go.
    terminal.press(&"jk".repeat(1500));
    terminal.press("j");
    terminal.wait_for("2/6");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_report_at_once_never_replaces_one_that_is_there() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("export", &["open", &run], &[]) else { return };
    terminal.wait_for_run();
    terminal.press("E");
    terminal.wait_for("ragscope-report.html");
    terminal.press("E");
    terminal.wait_for("ragscope-report-2.html");
    terminal.press("X");
    terminal.wait_for("ragscope-report.json");
    terminal.press("q");
    let (code, bytes, sandbox) = terminal.end();
    assert_eq!(code, 0);
    assert_eq!(sandbox.listing(), ["ragscope-report-2.html", "ragscope-report.html", "ragscope-report.json"]);
    assert!(sandbox.read("ragscope-report.html").contains("machine-q01"));
    assert!(
        String::from_utf8_lossy(&bytes).contains("written: "),
        "what was written is said once more at the end"
    );
}

#[test]
fn an_export_asks_before_it_replaces_and_says_what_to_do_where_nothing_can_be_written() {
    let run = golden_run();
    let Some(mut terminal) = Terminal::start("export dialog", &["open", &run], &[]) else { return };
    terminal.wait_for_run();
    // The example on the screen as a table.
    terminal.press("e");
    terminal.wait_for("Enter writes");
    terminal.press("lll\t\tl\r");
    terminal.wait_for("wrote ragscope-machine-q01.csv");
    terminal.press("e\r");
    terminal.wait_for("is there already");
    terminal.press("b");
    terminal.wait_for("wrote ./ragscope-machine-q01-2.csv");
    // The screen itself, and a folder that is not there.
    terminal.press("el");
    terminal.wait_for("ragscope-view.svg");
    terminal.press("\r");
    terminal.wait_for("wrote ragscope-view.svg");
    terminal.press("e\t");
    terminal.press(&"\u{7f}".repeat(40));
    terminal.press("nowhere/a.svg\r");
    terminal.wait_for("the folder nowhere is not there");
    terminal.press("\u{1b}");
    terminal.wait("the choice again", |screen| !screen.contents().contains("Nothing was written"));
    terminal.press("\u{1b}");
    terminal.wait("the screen again", |screen| !screen.contents().contains("Enter writes"));
    terminal.press("q");
    let (code, _, sandbox) = terminal.end();
    assert_eq!(code, 0);
    assert_eq!(
        sandbox.listing(),
        ["ragscope-machine-q01-2.csv", "ragscope-machine-q01.csv", "ragscope-view.svg"]
    );
    assert_eq!(sandbox.read("ragscope-machine-q01.csv").lines().count(), 2);
    let picture = sandbox.read("ragscope-view.svg");
    assert!(picture.starts_with("<svg") && picture.contains("TRUSTED") && !picture.contains("Enter writes"));
}

/// The colours and attributes of a run's first screen.
fn first_styles(arguments: &[&str], page: &[(&str, &str)]) -> Option<std::collections::BTreeSet<String>> {
    let mut terminal = Terminal::start("page", arguments, page)?;
    terminal.wait_for_run();
    terminal.wait_for("TRUSTED");
    terminal.press("q");
    let (code, bytes, _) = terminal.end();
    assert_eq!(code, 0);
    Some(styles(&bytes).into_iter().collect())
}

#[test]
fn the_theme_is_that_of_the_page_which_the_terminal_names() {
    let run = golden_run();
    let Some(dark) = first_styles(&["open", &run, "--theme", "dark"], &[]) else { return };
    let Some(light) = first_styles(&["open", &run, "--theme", "light"], &[]) else { return };
    assert_ne!(dark, light);
    let auto = |page: &[(&str, &str)]| first_styles(&["open", &run], page);
    assert_eq!(auto(&[(PAGE, "rgb:fdfd/f6f6/e3e3")]), Some(light));
    assert_eq!(auto(&[(PAGE, "rgb:0000/2b2b/3636")]), Some(dark.clone()));
    assert_eq!(auto(&[(PAGE, "no colour")]), Some(dark.clone()));
    assert_eq!(auto(&[]), Some(dark), "a terminal that only says what it is");
}

#[test]
fn without_colour_there_is_no_colour_and_still_a_screen() {
    let run = golden_run();
    for (arguments, variables) in
        [(vec!["open", &run], vec![("NO_COLOR", "1")]), (vec!["open", &run, "--theme", "mono"], vec![])]
    {
        let Some(mut terminal) = Terminal::start("no colour", &arguments, &variables) else { return };
        terminal.wait_for_run();
        terminal.wait_for("TRUSTED");
        terminal.press("q");
        let (code, bytes, _) = terminal.end();
        assert_eq!(code, 0);
        let coloured: Vec<String> = styles(&bytes).into_iter().filter(|style| is_colour(style)).collect();
        assert!(coloured.is_empty(), "{coloured:?} under {variables:?}");
        assert!(!styles(&bytes).is_empty(), "bold and reverse remain");
    }
}

#[test]
fn a_data_set_without_its_model_shows_the_chunks_says_why_and_stays_usable() {
    let data = repository("sample_data").display().to_string();
    let Some(mut terminal) = Terminal::start("no model", &["open", &data], &[]) else { return };
    terminal.wait_for("machine-q01");
    terminal.wait_for("ended early");
    terminal.press("!");
    terminal.wait_for("models fetch");
    terminal.press("q");
    terminal.press("1j");
    terminal.wait_for("Brelovane");
    terminal.press("2");
    terminal.wait_for("medicine-01");
    terminal.press("q");
    let (code, bytes, _) = terminal.end();
    // The exit code is that of the failure: a script that opened it wants to know.
    assert_eq!(code, 4);
    assert!(String::from_utf8_lossy(&bytes).contains("ragscope models fetch"));
}

/// P12.
#[test]
fn hostile_text_does_not_reach_the_terminal() {
    let sandbox = Sandbox::new();
    let hostile = "ok \u{1b}[2J \u{1b}]0;owned\u{7} \u{1b}]52;c;cm0gLXJm\u{7} \u{9b}31m end";
    let record = serde_json::json!({
        "id": hostile, "question": hostile,
        "contexts": [{"id": hostile, "document": hostile, "text": hostile}]
    });
    sandbox.write_lines("data \u{1b}]0;owned\u{7}.jsonl", &[record.clone(), record]);
    // A chosen theme: the question after the terminal's page is a sequence of the inspector's own.
    let arguments = ["open", "data \u{1b}]0;owned\u{7}.jsonl", "--theme", "dark"];
    let Some(mut terminal) = Terminal::start_in("hostile text", sandbox, &arguments, &[]) else { return };
    terminal.wait_for("␛]0;owned␇");
    terminal.wait_for("2 examples");
    terminal.press("j2!");
    terminal.wait("the notices", |screen| screen.contents().contains("an id occurs again"));
    terminal.press("qE");
    terminal.wait_for("ragscope-report.html");
    terminal.press("q");
    let (code, bytes, _) = terminal.end();
    assert_eq!(code, 0);
    let text = String::from_utf8_lossy(&bytes);
    for acting in ["\u{1b}]0;", "\u{1b}]52;", "\u{7}", "\u{9b}"] {
        assert!(!text.contains(acting), "{acting:?} reached the terminal");
    }
}
