//! Key map, presets and settings in the real binary.

use super::*;

/// A sandbox whose configuration folder holds these files.
fn configured(files: &[(&str, &str)]) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    for (name, text) in files {
        sandbox.write(&format!("configuration/{name}"), text);
    }
    let folder = sandbox.work().join("configuration").display().to_string();
    (sandbox, folder)
}

#[test]
fn a_key_map_file_changes_keys_and_what_the_screen_says_of_them() {
    let run = golden_run();
    let (sandbox, folder) =
        configured(&[("keys.toml", "example-down = [\"n\", \"Ctrl-n\"]\nclose = \"Q\"\n")]);
    let variables = [("RAGSCOPE_CONFIG_DIR", folder.as_str())];
    let Some(mut terminal) = Terminal::start_in("key map", sandbox, &["open", &run], &variables) else {
        return;
    };
    terminal.wait_for_run();
    terminal.wait_for("n next");
    terminal.wait_for("Q quit");
    terminal.press("n");
    terminal.wait_for("2/6");
    // What the file took away does nothing: neither j nor q.
    terminal.press("jqn");
    terminal.wait_for("3/6");
    terminal.press("\u{e}");
    terminal.wait_for("4/6");
    terminal.press("?");
    terminal.wait_for("Q closes");
    terminal.press("Q");
    terminal.wait_for("Q quit");
    terminal.press("Q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_key_map_that_does_not_fit_ends_it_with_file_and_line_before_the_screen() {
    let run = golden_run();
    let (sandbox, folder) = configured(&[("keys.toml", "\nexample-dwn = \"n\"\n")]);
    let variables = [("RAGSCOPE_CONFIG_DIR", folder.as_str())];
    let Some(terminal) = Terminal::start_in("bad key map", sandbox, &["open", &run], &variables) else {
        return;
    };
    let (code, bytes, _) = terminal.end();
    let text = String::from_utf8_lossy(&bytes);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("keys.toml, line 2") && text.contains("example-down"), "{text}");
    assert!(!text.contains("\u{1b}[?1049h"), "no screen was taken");
}

#[test]
fn presets_are_kept_from_one_session_to_the_next_and_never_replaced_unasked() {
    let run = golden_run();
    let (sandbox, folder) = configured(&[]);
    let variables = [("RAGSCOPE_CONFIG_DIR", folder.as_str())];
    let Some(mut terminal) = Terminal::start_in("presets", sandbox, &["open", &run], &variables) else {
        return;
    };
    terminal.wait_for_run();
    terminal.press("5j=0.25\r");
    terminal.wait_for("0.25");
    terminal.press("Pmine\r");
    terminal.wait_for("saved as mine");
    terminal.press("q");
    terminal.press("=0.75\r");
    terminal.wait_for("0.75");
    terminal.press("Pmine\r");
    terminal.wait_for("Replace it");
    terminal.press("n");
    terminal.press("qq");
    let (code, _, sandbox) = terminal.end();
    assert_eq!(code, 0);
    let kept = sandbox.read("configuration/presets.toml");
    assert!(kept.contains("[mine]") && kept.contains("token_threshold = 0.25"), "{kept}");
    let Some(mut terminal) = Terminal::start_in("presets again", sandbox, &["open", &run], &variables) else {
        return;
    };
    terminal.wait_for_run();
    terminal.press("p");
    terminal.wait_for("1 saved");
    terminal.press("\r");
    terminal.wait_for("thresholds of mine");
    terminal.press("5");
    terminal.wait_for("0.25");
    terminal.press("u");
    terminal.wait_for("undone: token 0.25");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn settings_of_the_file_hold_on_the_screen_and_an_option_is_over_them() {
    let run = golden_run();
    let text = "colour = \"none\"\nmouse = false\nalpha = 0.25\n";
    for (arguments, colours) in [(vec!["open", &run], false), (vec!["open", &run, "--colour", "256"], true)] {
        let (sandbox, folder) = configured(&[("config.toml", text)]);
        let variables = [("RAGSCOPE_CONFIG_DIR", folder.as_str())];
        let Some(mut terminal) = Terminal::start_in("settings", sandbox, &arguments, &variables) else {
            return;
        };
        terminal.wait_for_run();
        terminal.wait_for("mouse off (m)");
        terminal.wait_for("0.250");
        terminal.wait("the mouse left to the terminal", |screen| {
            screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
        // The file's value is what a reset goes back to.
        terminal.wait_for("at defaults");
        terminal.press("q");
        let (code, bytes, _) = terminal.end();
        assert_eq!(code, 0);
        assert_eq!(styles(&bytes).iter().any(|style| is_colour(style)), colours, "{arguments:?}");
    }
}
