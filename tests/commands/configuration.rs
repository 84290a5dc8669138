//! `ragscope config`, `ragscope keys`, and where a value comes from.

use crate::sandbox::{Sandbox, repository};

fn configured(name: &str, text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(&format!("../home/.config/ragscope/{name}"), text);
    sandbox
}

fn with_variable(sandbox: &Sandbox, arguments: &[&str], variables: &[(&str, &str)]) -> std::process::Output {
    sandbox.command(arguments).envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn the_printed_configuration_says_where_each_value_comes_from_and_reads_back_as_the_same() {
    let sandbox = configured("config.toml", "theme = \"light\"\nalpha = 0.2\nfactuality = 0.4\n");
    let variables = [("RAGSCOPE_FACTUALITY", "0.6")];
    let arguments = ["config", "--show-origin", "--rho", "0.9", "--device", "cpu"];
    let shown = with_variable(&sandbox, &arguments, &variables);
    let text = String::from_utf8(shown.stdout).unwrap();
    for (line, origin) in [
        ("theme = \"light\"", "config.toml, line 1"),
        ("alpha = 0.2", "config.toml, line 2"),
        ("factuality = 0.6", "RAGSCOPE_FACTUALITY"),
        ("rho = 0.9", "--rho"),
        ("device = \"cpu\"", "--device"),
        ("token_threshold = ", "the heads"),
        ("# mouse = true", "built in: true"),
    ] {
        let found = text.lines().find(|printed| printed.starts_with(line));
        assert!(found.is_some_and(|printed| printed.contains(origin)), "{line} from {origin}:\n{text}");
    }
    // What was printed, as the only layer, gives the same values.
    let bare = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect()
    };
    let first = with_variable(&sandbox, &["config", "--rho", "0.9", "--device", "cpu"], &variables).stdout;
    let again = configured("config.toml", std::str::from_utf8(&first).unwrap());
    assert_eq!(bare(&with_variable(&again, &["config"], &[]).stdout), bare(&first));
}

#[test]
fn a_wrong_file_is_refused_with_file_line_and_a_suggestion_by_every_command_but_doctor() {
    let sandbox = configured("config.toml", "\nthem = \"light\"\n");
    let run = repository("tests/golden/run.jsonl").display().to_string();
    for arguments in [vec!["config"], vec!["report", &run], vec!["keys"]] {
        let ran = with_variable(&sandbox, &arguments, &[]);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(3), "{said}");
        assert!(said.contains("config.toml, line 2") && said.contains("\"theme\""), "{said}");
    }
    let ran = with_variable(&sandbox, &["doctor"], &[]);
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(0));
    assert!(said.contains("look  settings") && said.contains("config.toml, line 2"), "{said}");
}

#[test]
fn a_variable_that_is_no_value_is_a_fault_of_usage() {
    let ran = with_variable(&Sandbox::new(), &["config"], &[("RAGSCOPE_ALPHA", "high")]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("RAGSCOPE_ALPHA"));
    let ran = with_variable(&Sandbox::new(), &["config"], &[("RAGSCOPE_ALFA", "0.2")]);
    assert!(String::from_utf8_lossy(&ran.stderr).contains("is it RAGSCOPE_ALPHA?"));
}

#[test]
fn thresholds_of_the_configuration_decide_reports_and_options_are_over_them() {
    let sandbox = configured("config.toml", "alpha = 0.2\ntoken_threshold = 0\n");
    let run = repository("tests/golden/run.jsonl").display().to_string();
    let thresholds = |arguments: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&["report", run.as_str(), "--format", "markdown"], arguments].concat();
        let ran = with_variable(&sandbox, &arguments, variables);
        assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
        // Where the report went, its command says the thresholds.
        let files = sandbox.listing();
        let file =
            files.iter().find(|name| std::path::Path::new(name).extension().is_some_and(|e| e == "md"));
        let text = match file {
            Some(file) => sandbox.read(file),
            None => String::from_utf8_lossy(&ran.stdout).into_owned(),
        };
        for file in files {
            let _ = std::fs::remove_file(sandbox.work().join(file));
        }
        text.lines().find(|line| line.contains("--alpha")).unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    assert!(thresholds(&[], &[]).contains("--alpha 0.2 --token-threshold 0 "));
    assert!(thresholds(&[], &[("RAGSCOPE_ALPHA", "0.3")]).contains("--alpha 0.3 --token-threshold 0 "));
    let said = thresholds(&["--alpha", "0.4"], &[("RAGSCOPE_ALPHA", "0.3")]);
    assert!(said.contains("--alpha 0.4 --token-threshold 0 "));
}

#[test]
fn keys_are_printed_as_text_json_and_markdown_with_the_users_own() {
    let sandbox = configured("keys.toml", "next-span = [\"Ctrl-n\"]\n");
    let text = text_of(&sandbox, &["keys"]);
    assert!(text.lines().any(|line| line.starts_with("* Ctrl-n ") && line.ends_with("next-span")));
    let json: serde_json::Value =
        serde_json::from_str(text_of(&sandbox, &["keys", "--json"]).as_str()).unwrap();
    let next = json.as_array().unwrap().iter().find(|one| one["action"] == "next-span").unwrap();
    assert_eq!((&next["keys"][0], &next["default_keys"][0]), (&"Ctrl-n".into(), &"]".into()));
    assert!(
        text_of(&sandbox, &["keys", "--markdown"]).contains("| `Ctrl-n` | next flagged span | `next-span` |")
    );
    assert!(text_of(&sandbox, &["keys", "--defaults"]).contains("  ] "));
    // A file to begin with fits.
    let begun = text_of(&sandbox, &["keys", "--toml"]);
    sandbox.write("begun.toml", begun);
    assert!(text_of(&sandbox, &["keys", "--check", "begun.toml"]).contains("begun.toml fits"));
}

fn text_of(sandbox: &Sandbox, arguments: &[&str]) -> String {
    sandbox.run(arguments).code(0).stdout
}

#[test]
fn checking_a_key_map_names_conflicts_by_line_and_warns_of_keys_that_may_not_arrive() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.toml", "example-down = \"x\"\nexample-up = \"x\"\nnext-spam = \"y\"\n");
    let check = |file: &str| sandbox.run(&["keys", "--check", file]);
    check("bad.toml").code(3).complains(&["bad.toml, line 3", "next-span"]);
    sandbox.write("bad.toml", "example-down = \"x\"\nexample-up = \"x\"\n");
    check("bad.toml").code(3).complains(&["line 2", "two meanings"]);
    sandbox.write("fits.toml", "example-down = \"Ctrl-b\"\n");
    check("fits.toml").code(0).prints(&["tmux takes it", "fits.toml fits"]);
    check("missing.toml").code(3);
    assert!(text_of(&sandbox, &["keys", "--check"]).contains("the keys are those of ragscope"));
}

#[test]
fn doctor_prints_where_the_configuration_lies() {
    let sandbox = configured("keys.toml", "");
    let text = text_of(&sandbox, &["doctor"]);
    for part in ["config.toml (not there)", "keys.toml (fits, 0 warnings)", "presets.toml (not there)"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}
