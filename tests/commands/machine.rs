//! `models`, `doctor`, `schema`: what scripts ask before they begin.

use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Sandbox, repository, tiny_model};

#[test]
fn the_list_of_models_is_json_that_tells_present_from_absent() {
    let sandbox = Sandbox::new();
    let models = sandbox.run(&["models", "list", "--json"]).code(0).json();
    assert_eq!(models[0]["name"], "SmolLM2-135M-Instruct");
    assert_eq!(models[0]["present"], false);
    assert_eq!(models[0]["sha256"].as_str().map(str::len), Some(64));
    let text = sandbox.run(&["models", "list"]).code(0).prints(&["absent", "ragscope models fetch", "pip"]);
    assert_eq!(text.stdout, sandbox.run(&["models"]).code(0).stdout);
}

#[test]
fn the_path_of_the_model_lies_in_the_cache_named_by_the_environment() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["models", "path"]).code(0);
    let path = Path::new(ran.stdout.trim_end());
    assert!(path.starts_with(sandbox.cache()) && path.extension().is_some_and(|end| end == "gguf"), "{ran}");
    let listed = sandbox.run(&["models", "list", "--json"]).code(0).json();
    assert_eq!(listed[0]["path"].as_str(), path.to_str());
}

#[test]
fn a_damaged_model_is_called_damaged_by_every_command() {
    let sandbox = Sandbox::new();
    let path = sandbox.run(&["models", "path"]).code(0).stdout.trim_end().to_owned();
    std::fs::create_dir_all(Path::new(&path).parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, "GGUF, but short").expect("a file");
    sandbox.run(&["models", "list"]).code(0).prints(&["damaged"]);
    sandbox.run(&["score", "-"]).code(4).complains(&["damaged", "15 bytes", "ragscope models fetch"]);
    sandbox.run(&["doctor"]).code(0).prints(&["look  model", "damaged"]);
}

#[test]
fn a_file_that_is_not_the_model_is_never_stored_as_the_model() {
    let sandbox = Sandbox::new();
    sandbox.write("other.gguf", "GGUF of something else");
    sandbox.run(&["models", "fetch", "--from", "other.gguf"]).code(4).complains(&["other.gguf"]);
    sandbox.run(&["models", "fetch", "--from", "gone.whl"]).code(4).complains(&["gone.whl"]);
    let models = sandbox.run(&["models", "list", "--json"]).code(0).json();
    assert_eq!(models[0]["present"], false);
}

#[test]
fn the_doctor_looks_at_everything_and_changes_nothing() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["doctor", "--json"]).code(0);
    let findings = ran.json();
    let what: Vec<&str> =
        findings.as_array().into_iter().flatten().filter_map(|f| f["what"].as_str()).collect();
    let expected = [
        "settings", "keys", "presets", "cache", "model", "heads", "python", "terminal", "device", "log",
        "threads",
    ];
    assert_eq!(what, expected, "{ran}");
    let of = |name: &str| findings.as_array().and_then(|all| all.iter().find(|f| f["what"] == name)).cloned();
    let found = |name: &str| of(name).unwrap_or_else(|| panic!("no {name} in {ran}"));
    assert_eq!(found("model")["fine"], false, "{ran}");
    assert!(
        found("model")["found"].as_str().is_some_and(|text| text.contains("ragscope models fetch")),
        "{ran}"
    );
    assert_eq!(found("heads")["fine"], true, "the shipped heads must be usable: {ran}");
    assert_eq!(found("terminal")["fine"], false, "{ran}");
    sandbox.run(&["doctor"]).code(0).prints(&["ragscope ", "ok    cache", "look  model", "ok    heads"]);
    assert!(sandbox.listing().is_empty());
    let cached: Vec<_> = std::fs::read_dir(sandbox.cache()).expect("the cache").collect();
    assert!(cached.is_empty(), "{cached:?}");
}

#[test]
fn the_schema_describes_every_field_of_the_golden_run() {
    let sandbox = Sandbox::new();
    let schema = sandbox.run(&["schema"]).code(0).json();
    let run = std::fs::read_to_string(repository("tests/golden/run.jsonl")).expect("the golden run");
    let mut objects = 0;
    for line in run.lines() {
        let record: Value = serde_json::from_str(line).expect("a line is JSON");
        objects += check(&schema, &schema, &record, "");
    }
    assert!(objects > run.lines().count(), "records hold records");
    for required in ["schema", "id", "row", "status", "question", "chunks", "provenance"] {
        let list = schema["required"].as_array().expect("a list of required fields");
        assert!(list.iter().any(|name| name == required), "{required} is not required");
    }
    let of_report = sandbox.run(&["schema", "report"]).code(0).json();
    let path = repository("tests/golden/run.jsonl").display().to_string();
    let report = sandbox.run(&["report", &path, "--format", "json", "-o", "-"]).code(0).json();
    assert!(check(&of_report, &of_report, &report, "") > objects / 2);
    let of_example = sandbox.run(&["schema", "example"]).code(0).json();
    check(&of_example, &of_example, &report["examples"][0], "");
    let thresholds = sandbox.run(&["schema", "thresholds"]).code(0).json();
    for name in ["alpha", "token", "rho", "factuality"] {
        assert!(thresholds["properties"][name].is_object(), "{name}");
    }
}

/// Every key of `value` is a property of its schema; counts the objects that were looked at.
fn check(root: &Value, schema: &Value, value: &Value, path: &str) -> usize {
    let schema = resolve(root, schema);
    match value {
        Value::Array(items) => items.iter().map(|item| check(root, &schema["items"], item, path)).sum(),
        Value::Object(fields) => {
            let free = &schema["additionalProperties"];
            let mut objects = 1;
            for (name, field) in fields {
                let property = &schema["properties"][name];
                let path = format!("{path}/{name}");
                assert!(!property.is_null() || free.is_object(), "the schema lacks {path}");
                objects += check(root, if property.is_null() { free } else { property }, field, &path);
            }
            objects
        }
        _ => 0,
    }
}

/// Follows references, and takes the alternative that is not null.
fn resolve<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return resolve(root, &root["$defs"][name]);
    }
    match schema["anyOf"].as_array().and_then(|all| all.iter().find(|one| one["type"] != "null")) {
        Some(one) => resolve(root, one),
        None => schema,
    }
}

#[test]
fn the_way_of_the_gpus_reads_as_the_cpu_does_and_says_so_line_by_line() {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let bench = ["models", "bench", "--model", "tiny", "--tokens", "120", "--answer", "30", "--rounds", "1"];
    let ran = sandbox.run(&[&bench[..], &["--device", "cpu:tensors", "--against", "cpu"]].concat()).code(0);
    let value = |name: &str| {
        let line = ran.stdout.lines().find(|line| line.split(' ').next() == Some(name));
        let words: Vec<&str> = line.unwrap_or_default().split(' ').collect();
        assert_eq!(words.len(), 3, "{name}: {ran}");
        words[1].to_owned()
    };
    assert_eq!((value("device"), value("against_device")), ("cpu:tensors".to_owned(), "cpu".to_owned()));
    for name in ["segment_mass", "attention_among_new", "states", "log_prob", "entropy"] {
        let difference: f64 = value(&format!("difference_{name}")).parse().expect("a number");
        assert!(difference <= 1e-4, "{name}: {ran}");
    }
    assert!(value("prefill_capture").parse::<f64>().expect("seconds") > 0.0);
}

#[test]
fn every_shell_gets_completions_that_know_every_command() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        sandbox.run(&["completions", shell]).code(0).prints(&["ragscope", "highlighting", "completions"]);
    }
    sandbox.run(&["completions", "csh"]).code(2).complains(&["bash"]);
}

#[test]
fn the_manual_has_a_page_for_ragscope_and_one_for_every_command() {
    let sandbox = Sandbox::new();
    sandbox.run(&["man"]).code(0).prints(&[".TH ragscope", "ragscope\\-score"]);
    sandbox.run(&["man", "--output", "pages"]).code(0).complains(&["written: "]);
    let page = sandbox.read("pages/ragscope-report.1");
    assert!(page.contains("\\-\\-verify"), "{page}");
    assert!(sandbox.work().join("pages/ragscope-models-fetch.1").exists());
}

#[test]
fn a_log_tells_what_ran_and_no_word_of_the_data() {
    let sandbox = Sandbox::new();
    sandbox.write("data.jsonl", "{\"question\": \"a secret question?\", \"answer\": 5.5e, \"id\": \"x\"}\n");
    let log = |level: &str| {
        let mut command = sandbox.command(&["convert", "data.jsonl", "--format", "ragscope"]);
        command.env("RAGSCOPE_LOG", level).env("XDG_STATE_HOME", sandbox.work().join(level));
        command.output().expect("the binary starts");
        std::fs::read_to_string(sandbox.work().join(level).join("ragscope/ragscope.log")).unwrap_or_default()
    };
    assert_eq!(log("off"), "");
    let told = log("info");
    for part in ["begins: convert", "convert ended"] {
        assert!(told.contains(part), "{part:?} not in {told}");
    }
    assert!(!told.contains("secret") && !told.contains("5.5e"), "{told}");
    assert!(log("debug").lines().count() > told.lines().count());
    let failing = sandbox.run(&["convert", "gone.jsonl"]).code(3);
    assert!(failing.stdout.is_empty(), "{failing}");
    let home = std::fs::read_dir(sandbox.work().join("../home/.local/state/ragscope")).expect("the state");
    assert_eq!(home.count(), 1, "an error is kept by default");
}
