//! Every failure has its exit code, says what came and what to do next, and never panics.

use serde_json::json;

use crate::sandbox::{Ran, Sandbox, repository, tiny_model};

#[test]
fn a_command_line_that_makes_no_sense_ends_with_2_and_names_what_came() {
    let sandbox = Sandbox::new();
    let data = repository("sample_data").display().to_string();
    for (arguments, said) in [
        (vec!["inspect"], vec!["inspect"]),
        (vec!["open"], vec!["PATH"]),
        (vec!["open", &data, "--top-k", "0"], vec!["--top-k", "0"]),
        (vec!["open", &data, "--plain", "--theme", "neon"], vec!["neon", "auto, dark, light, colour-blind"]),
        (vec!["open", &data, "--plain", "--rho", "0.2"], vec!["--rho", "0.5 to 0.9999", "0.2 came"]),
        (vec!["score", &data, "--device", "gpu"], vec!["--device", "gpu", "cuda:N"]),
        (vec!["score", &data, "--dtype", "f64"], vec!["--dtype", "f64", "bf16"]),
        (vec!["score", &data, "--device", "cpu", "--dtype", "bf16"], vec!["bf16", "--dtype f32"]),
        (vec!["models", "bench", "--tokens", "10", "--answer", "10"], vec!["--answer", "10 came"]),
        (vec!["certify", &data, "--alpha", "0.0005"], vec!["whole thousandths", "0.0005 came", "0.001"]),
        (vec!["certify", &data, "--alpha", "1.5"], vec!["from 0 to 1", "1.5 came"]),
        (vec!["certify", &data, "--alpha", "NaN"], vec!["--alpha", "NaN"]),
        (vec!["certify", &data, "--beta", "7"], vec!["--beta", "7 came"]),
        (vec!["certify", &data, "--format", "parquet"], vec!["`parquet`", "ragscope, ragtruth, squad"]),
        (vec!["certify", &data, "--offset-unit", "glyph"], vec!["`glyph`", "codepoint"]),
        (vec!["certify", &data, "--map", "question"], vec!["--map", "question"]),
        (vec!["schema", "everything"], vec!["everything", "evidence, report, example, thresholds"]),
    ] {
        sandbox.run(&arguments).code(2).complains(&said);
    }
    assert!(sandbox.listing().is_empty(), "a refused command wrote {:?}", sandbox.listing());
}

#[test]
fn a_missing_file_ends_with_3_and_is_named() {
    let sandbox = Sandbox::new();
    for command in ["open", "certify", "score", "report", "eval"] {
        sandbox.run(&[command, "gone.jsonl"]).code(3).complains(&["gone.jsonl", "o such file"]);
    }
    sandbox.run(&["train", "gone.jsonl", "--output", "heads"]).code(3).complains(&["gone.jsonl"]);
    let data = repository("sample_data").display().to_string();
    sandbox
        .run(&["open", "--plain", &data, "--calibration", "gone.json"])
        .code(3)
        .complains(&["calibration", "gone.json"]);
}

#[test]
fn a_failure_is_said_once() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["report", "gone.jsonl"]).code(3);
    assert_eq!(ran.stderr.matches("o such file").count(), 1, "{ran}");
}

#[test]
fn an_empty_file_ends_with_3_and_says_what_was_expected() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.jsonl", " \n\n");
    for command in ["open", "certify", "score"] {
        sandbox.run(&[command, "empty.jsonl"]).code(3).complains(&[
            "empty.jsonl",
            "the file is empty",
            "squad",
        ]);
    }
}

#[test]
fn a_file_of_another_layout_ends_with_3_and_names_its_fields_and_the_next_step() {
    let sandbox = Sandbox::new();
    sandbox.write("odd.jsonl", "{\"prompt\":\"p\",\"completion\":\"c\"}\n");
    sandbox.run(&["open", "--plain", "odd.jsonl"]).code(3).complains(&[
        "odd.jsonl",
        "`prompt`, `completion`",
        "--map question=FIELD",
    ]);
    sandbox.write("own.jsonl", "{\"question\":\"q\"}\n");
    sandbox
        .run(&["open", "--plain", "own.jsonl", "--format", "squad"])
        .code(3)
        .complains(&["read as squad because --format says so", "--format (ragscope,"]);
    sandbox.write("table.parquet", b"PAR1\x00\x00\x00\x00");
    sandbox.run(&["score", "table.parquet"]).code(3).complains(&[
        "table.parquet",
        "cannot be read",
        "Parquet",
    ]);
    sandbox.write("latin.jsonl", b"{\"question\":\"caf\xe9\"}\n");
    let latin = sandbox.run(&["open", "--plain", "latin.jsonl"]);
    assert!(latin.stderr.contains("UTF-8"), "{latin}");
}

#[test]
fn evidence_that_is_broken_ends_with_3_and_names_the_line() {
    let sandbox = Sandbox::new();
    sandbox.write("run.jsonl", "{\"schema\":\"ragscope-evidence/1\"}\n{}\n");
    sandbox.run(&["report", "run.jsonl"]).code(3).complains(&["line 1", "a field does not fit"]);
    sandbox.write("old.jsonl", "{\"schema\":\"ragscope-evidence/0\"}\n");
    for command in [vec!["report", "old.jsonl"], vec!["open", "--plain", "old.jsonl"]] {
        sandbox.run(&command).code(3).complains(&[
            "ragscope-evidence/0",
            "ragscope-evidence/1",
            "score the data",
        ]);
    }
    let golden = std::fs::read_to_string(repository("tests/golden/run.jsonl")).expect("the golden run");
    let first = golden.lines().next().expect("a line");
    sandbox.write("torn.jsonl", format!("{first}\n{}", &first[..first.len() / 2]));
    sandbox
        .run(&["report", "torn.jsonl", "--format", "text"])
        .code(0)
        .complains(&["line 2 is cut off and was left out"])
        .prints(&["1 example"]);
}

#[test]
fn certifying_without_documents_ends_with_3_and_says_where_documents_go() {
    let sandbox = Sandbox::new();
    sandbox.write_lines("a.jsonl", &[json!({"question": "q", "contexts": ["c"], "answer": "a"})]);
    sandbox.run(&["certify", "a.jsonl"]).code(3).complains(&["no documents", "documents.jsonl"]);
    assert_eq!(sandbox.listing(), ["a.jsonl"]);
}

#[test]
fn without_the_model_reading_ends_with_4_and_names_the_command_that_fetches_it() {
    let sandbox = Sandbox::new();
    let data = repository("sample_data").display().to_string();
    for command in [
        vec!["score", &data],
        vec!["score", "-"],
        vec!["eval", &data],
        vec!["score", &data, "--output", "run.jsonl"],
    ] {
        let ran = sandbox.run(&command).code(4).complains(&["`ragscope models fetch`"]);
        assert!(ran.stdout.is_empty(), "{ran}");
    }
    sandbox.run(&["score", &data, "--model", "nowhere.gguf"]).code(4).complains(&["nowhere.gguf"]);
    sandbox.write("weights.gguf", "not a model");
    sandbox.run(&["score", &data, "--model", "weights.gguf"]).code(4).complains(&["weights.gguf", "GGUF"]);
    assert_eq!(sandbox.listing(), ["weights.gguf"]);
}

#[test]
fn without_the_model_the_certified_chunks_are_printed_all_the_same() {
    let sandbox = Sandbox::new();
    let data = repository("sample_data").display().to_string();
    let ran = sandbox
        .run(&["open", "--plain", &data])
        .code(4)
        .complains(&["`ragscope models fetch`"])
        .prints(&["Example 1 of 120", "Example 120 of 120", "id machine-q01", "document machine-04"])
        .prints(&["kept with probability at least 0.9"]);
    assert!(ran.stdout.contains("p-value") || ran.stdout.contains("p "), "{ran}");
}

#[test]
fn heads_that_are_not_there_or_no_heads_end_with_4_and_are_named() {
    let sandbox = Sandbox::new();
    let data = repository("sample_data").display().to_string();
    sandbox
        .run(&["open", "--plain", &data, "--heads", "nowhere"])
        .code(4)
        .complains(&["token.safetensors", "ragscope train"]);
    sandbox.write("heads/token.safetensors", "no head");
    sandbox.write("heads/answer.safetensors", "no head");
    sandbox
        .run(&["open", "--plain", &data, "--heads", "heads"])
        .code(4)
        .complains(&["not a usable head", "train it again"]);
}

#[test]
fn a_tokenizer_with_more_tokens_than_the_embedding_has_rows_ends_with_4_and_both_numbers() {
    let sandbox = Sandbox::new();
    let folder = sandbox.work().join("tiny");
    tiny_model::write(&folder);
    let path = folder.join("tokenizer.json");
    let text = std::fs::read_to_string(&path).expect("the tiny tokenizer");
    let mut tokenizer: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    tokenizer["model"]["vocab"]["of another model"] = 259.into();
    std::fs::write(&path, tokenizer.to_string()).expect("a file");
    let data = repository("sample_data").display().to_string();
    sandbox.run(&["score", &data, "--model", "tiny"]).code(4).complains(&["260 tokens", "259 rows", "tiny"]);
}

#[test]
fn a_model_of_the_hub_is_not_downloaded_where_the_hubs_tools_are_told_to_stay_offline() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["models", "fetch", "org/tiny"]);
    command.env("HF_HUB_OFFLINE", "1");
    let output = command.output().expect("the program runs");
    Ran::new(&command, output).code(4).complains(&["HF_HUB_OFFLINE"]);
}
