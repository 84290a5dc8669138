//! `docs/ci-example.yml`: the commands of the example workflow are commands of this program.

use crate::sandbox::{Sandbox, repository};

/// The commands of the workflow's steps, folded lines joined.
fn commands() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(repository("docs/ci-example.yml")).expect("the example");
    let mut commands: Vec<String> = Vec::new();
    let mut folded = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(command) = trimmed.strip_prefix("run: ") {
            folded = command == ">-";
            commands.push(if folded { String::new() } else { command.to_owned() });
        } else if folded && line.starts_with("          ") {
            let command = commands.last_mut().expect("a folded command began");
            *command += trimmed;
            command.push(' ');
        } else {
            folded = false;
        }
    }
    let words = |command: &String| command.split_whitespace().map(str::to_owned).collect();
    commands.iter().map(words).collect()
}

#[test]
fn every_step_of_the_example_workflow_runs_and_only_the_gate_may_fail_it() {
    let sandbox = Sandbox::new();
    sandbox.write("answers.jsonl", "{\"question\": \"q?\", \"answer\": \"a\", \"contexts\": [\"c\"]}\n");
    sandbox.write("run.jsonl", std::fs::read(repository("tests/golden/run.jsonl")).expect("the golden run"));
    let mut ran = Vec::new();
    for command in commands() {
        let Some(arguments) = command.strip_prefix(&["ragscope".to_owned()]) else { continue };
        ran.push(arguments[0].clone());
        match arguments[0].as_str() {
            // Needs the network.
            "models" => assert_eq!(arguments, ["models", "fetch"]),
            // The model is not here: everything before it was understood.
            "score" => {
                sandbox.run(arguments).code(4).complains(&["ragscope models fetch"]);
            }
            // One record of the golden run is in error, and the example allows none.
            "check" => {
                sandbox.run(arguments).code(1).prints(&["NOT MET: unusable records"]);
            }
            _ => {
                sandbox.run(arguments).code(0).complains(&["written: "]);
            }
        }
    }
    assert_eq!(ran, ["models", "score", "check", "report"]);
    let sarif: serde_json::Value = serde_json::from_str(&sandbox.read("ragscope.sarif")).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    assert!(sarif["runs"][0]["results"].as_array().is_some_and(|results| !results.is_empty()));
}

/// Lines of the shell blocks of a page, without their comments.
fn shell_lines(page: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.trim() {
            "```sh" => inside = true,
            "```" => inside = false,
            command if inside => {
                lines.push(command.split(" #").next().unwrap_or_default().trim().to_owned());
            }
            _ => {}
        }
    }
    lines
}

#[test]
fn every_command_and_option_in_the_documentation_exists() {
    let sandbox = Sandbox::new();
    let mut pages = vec![repository("README.md")];
    let docs = std::fs::read_dir(repository("docs")).expect("the documentation");
    pages.extend(docs.map(|entry| entry.expect("an entry").path()));
    let mut seen = 0;
    let mut wrong = Vec::new();
    for path in pages.iter().filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        for line in shell_lines(&std::fs::read_to_string(path).expect("a page")) {
            let Some(command) = line.strip_prefix("ragscope ") else { continue };
            let words: Vec<&str> = command.split_whitespace().collect();
            // `a | b` and `list|fetch` name several commands at once.
            let Some(first) = words.first().filter(|word| !command.contains('|') && !word.starts_with('-'))
            else {
                continue;
            };
            let second = words.get(1).filter(|_| ["models", "heads"].contains(first));
            let help: Vec<&str> = std::iter::once(first).chain(second).copied().chain(["--help"]).collect();
            let help = sandbox.run(&help);
            if help.code != Some(0) {
                wrong.push(format!("{}: {line}", path.display()));
                continue;
            }
            for option in words.iter().filter(|word| word.starts_with("--")) {
                let name = option.split('=').next().unwrap_or_default();
                if !help.stdout.contains(name) {
                    wrong.push(format!("{}: {name} in {line}", path.display()));
                }
            }
            seen += 1;
        }
    }
    assert!(wrong.is_empty(), "no such command or option:\n{}", wrong.join("\n"));
    assert!(seen > 40, "{seen}");
}
