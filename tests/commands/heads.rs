//! `train`, `heads` and `lab` with a tiny model: what a head is, whom it fits, and that seeds decide everything.

use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::{Ran, Sandbox, tiny_model};

/// Labelled answers to `sources` questions, two to each; every third answer has an unsupported span.
fn labelled(sources: usize) -> Vec<Value> {
    (0..2 * sources)
        .map(|number| {
            let source = number / 2;
            let answer = format!("The ferry {source} leaves at nine.");
            let wrong = json!({"start": answer.len() - 5, "end": answer.len() - 1});
            json!({
                "id": format!("answer-{number}"),
                "question": format!("When does ferry {source} leave?"),
                "contexts": [format!("Ferry {source} leaves at eight."), "The harbour is old."],
                "answer": answer,
                "labels": if number % 3 == 0 { vec![wrong] } else { Vec::new() },
                "source_id": format!("s{source}"),
            })
        })
        .collect()
}

/// A sandbox with the model `tiny` and the labelled answers `data.jsonl`.
fn tiny() -> Sandbox {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    sandbox.write_lines("data.jsonl", &labelled(6));
    sandbox
}

fn train(sandbox: &Sandbox, model: &str, output: &str) -> Ran {
    sandbox.run(&["train", "data.jsonl", "--model", model, "--folds", "3", "--output", output]).code(0)
}

#[test]
fn training_twice_with_one_seed_gives_the_same_bytes_and_another_seed_does_not() {
    let sandbox = tiny();
    train(&sandbox, "tiny", "first");
    // Once more, from features that are read anew.
    std::fs::remove_dir_all(sandbox.cache().join("features")).expect("the features of the first run");
    train(&sandbox, "tiny", "second");
    let bytes = |name: &str| std::fs::read(sandbox.work().join(name)).expect("a head");
    for file in ["token.safetensors", "answer.safetensors", "card.md"] {
        assert_eq!(bytes(&format!("first/{file}")), bytes(&format!("second/{file}")), "{file}");
    }
    let other =
        ["train", "data.jsonl", "--model", "tiny", "--folds", "3", "--output", "third", "--seed", "7"];
    sandbox.run(&other).code(0);
    assert_ne!(bytes("first/token.safetensors"), bytes("third/token.safetensors"));
}

#[test]
fn heads_are_listed_and_shown_with_what_they_need_and_whom_they_fit() {
    let sandbox = tiny();
    train(&sandbox, "tiny", "mine/tiny-heads");
    let listed = sandbox.run(&["heads", "list", "mine", "--model", "tiny", "--json"]).code(0).json();
    assert_eq!(listed[0]["name"], "smollm2-135m-instruct");
    assert_eq!(listed[0]["fits"], false);
    assert!(listed[0]["reason"].as_str().is_some_and(|reason| reason.contains("hidden size 576 against")));
    assert_eq!((&listed[1]["name"], &listed[1]["fits"]), (&json!("tiny-heads"), &json!(true)));
    // The shipped ones name their tokenizer and template as well, and the wording that this version uses.
    let shipped = &listed[0]["token"]["model"]["text"];
    assert_eq!(shipped["tokenizer"].as_str().map(str::len), Some(16), "{listed}");
    assert_eq!(shipped["prompt"], listed[1]["token"]["model"]["text"]["prompt"]);
    assert_eq!(listed[0]["token"]["model"], listed[0]["answer"]["model"]);
    let text = sandbox.run(&["heads", "list", "mine", "--model", "tiny"]).code(0);
    let text = text.prints(&["model in use: tiny", "does not fit  smollm2", "fits          tiny-heads"]);
    assert_eq!(text.stdout, sandbox.run(&["heads", "--heads", "mine", "--model", "tiny"]).code(0).stdout);

    let shown =
        sandbox.run(&["heads", "show", "mine/tiny-heads", "--model", "tiny", "--json"]).code(0).json();
    let text = &shown["token"]["model"]["text"];
    for hash in ["tokenizer", "template"] {
        assert_eq!(text[hash].as_str().map(str::len), Some(16), "{shown}");
    }
    assert!(text["prompt"].as_str().is_some_and(|prompt| prompt.starts_with("ragtruth-question-answering/")));
    assert_eq!(shown["token"]["model"], shown["answer"]["model"]);
    assert_eq!(shown["token"]["training"]["data"], "data");
    assert_eq!(shown["hash"].as_str().map(str::len), Some(16));
    sandbox.run(&["heads", "show", "mine/tiny-heads", "--model", "tiny"]).code(0).prints(&[
        "fits           yes, tiny",
        "needs          hidden states of block-",
        "data_hash",
        "out_of_fold_token_auroc",
        "0.993 for tokens, 0.93 for answers",
        "look-back ratios, full context",
    ]);
    // Without a model the cards can still be read.
    sandbox
        .run(&["heads", "show", "mine/tiny-heads"])
        .code(0)
        .prints(&["fits           unknown: the default model is not here yet"]);
}

/// The weights are the same; the tokenizer or the template is not.
#[test]
fn heads_are_refused_for_another_tokenizer_or_template_of_the_same_weights() {
    let sandbox = tiny();
    train(&sandbox, "tiny", "heads");
    let copied = |name: &str, file: &str, change: &dyn Fn(&mut Value)| {
        let (from, to) = (sandbox.work().join("tiny"), sandbox.work().join(name));
        std::fs::create_dir(&to).expect("a folder");
        for entry in std::fs::read_dir(&from).expect("the tiny model").flatten() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
        }
        let mut value = read_json(&to.join(file));
        change(&mut value);
        std::fs::write(to.join(file), value.to_string()).expect("a changed file");
    };
    copied("other-template", "tokenizer_config.json", &|config| {
        let template = config["chat_template"].as_str().expect("a template").replace("assistant", "helper");
        config["chat_template"] = json!(template);
    });
    copied("other-tokenizer", "tokenizer.json", &|tokenizer| {
        tokenizer["normalizer"] = json!({"type": "Lowercase"});
    });
    for (model, words) in [("other-template", "chat template "), ("other-tokenizer", "tokenizer ")] {
        sandbox
            .run(&["score", "data.jsonl", "--model", model, "--heads", "heads", "--output", "run.jsonl"])
            .code(4)
            .complains(&["this head was trained on the model tiny", words, " against "]);
        let shown = sandbox.run(&["heads", "show", "heads", "--model", model, "--json"]).code(0).json();
        assert_eq!(shown["fits"], false, "{shown}");
        assert!(shown["reason"].as_str().is_some_and(|reason| reason.contains(words)), "{shown}");
    }
    let fits = ["score", "data.jsonl", "--model", "tiny", "--heads", "heads", "--output", "run.jsonl"];
    sandbox.run(&fits).code(0);
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

#[test]
fn folders_without_heads_and_broken_heads_are_named() {
    let sandbox = Sandbox::new();
    sandbox.run(&["heads", "list", "gone"]).code(3).complains(&["cannot read gone"]);
    std::fs::create_dir(sandbox.work().join("empty")).expect("a folder");
    sandbox
        .run(&["heads", "list", "empty"])
        .code(3)
        .complains(&["empty holds no heads", "token.safetensors"]);
    sandbox.write("broken/token.safetensors", "no head");
    sandbox.write("broken/answer.safetensors", "no head");
    sandbox
        .run(&["heads", "show", "broken"])
        .code(4)
        .complains(&["not a usable head", "no safetensors file"]);
    let listed = sandbox.run(&["heads", "list", "broken", "--json"]).code(0).json();
    assert!(listed[1]["reason"].as_str().is_some_and(|reason| reason.contains("not a usable head")));
    assert_eq!(listed[0]["fits"], Value::Null, "without a model nobody knows");
}

#[test]
fn training_on_one_class_or_on_too_few_sources_says_what_is_missing() {
    let sandbox = tiny();
    let clean: Vec<Value> = labelled(6)
        .into_iter()
        .map(|mut answer| {
            answer["labels"] = json!([]);
            answer
        })
        .collect();
    sandbox.write_lines("clean.jsonl", &clean);
    let train =
        |data: &str| sandbox.run(&["train", data, "--model", "tiny", "--folds", "3", "--output", "h"]);
    train("clean.jsonl").code(3).complains(&["training needs both classes", "0 are positive"]);
    sandbox.write_lines("few.jsonl", &labelled(4));
    train("few.jsonl").code(3).complains(&["4 sources", "at least 5"]);
    // One source alone has the unsupported spans: the fold that holds it back has nothing to learn from.
    let mut alone = clean;
    alone[0] = labelled(1)[0].clone();
    sandbox.write_lines("alone.jsonl", &alone);
    train("alone.jsonl").code(3).complains(&["of 3: training needs both classes", "0 are positive"]);
    assert!(!sandbox.work().join("h").exists(), "a refused training wrote heads");
}

#[test]
fn further_data_join_the_training_of_heads_and_are_named_on_the_card() {
    let sandbox = tiny();
    let mut more = labelled(7);
    for answer in &mut more {
        let text = answer["answer"].as_str().expect("an answer").replace("leaves", "starts");
        answer["answer"] = json!(text);
    }
    sandbox.write_lines("more.jsonl", &more);
    train(&sandbox, "tiny", "alone");
    let with_more = ["train", "data.jsonl", "--also-train", "more.jsonl", "--model", "tiny"];
    sandbox.run(&[&with_more[..], &["--folds", "3", "--output", "both"]].concat()).code(0);
    let training = |name: &str| {
        sandbox.run(&["heads", "show", name, "--model", "tiny", "--json"]).code(0).json()["token"]["training"]
            .clone()
    };
    let (alone, both) = (training("alone"), training("both"));
    assert_eq!((&alone["answers"], &alone["also_trained_on"]), (&json!("12"), &Value::Null));
    assert_eq!(both["answers"], json!("26"));
    let named = both["also_trained_on"].as_str().unwrap_or_default();
    assert!(named.starts_with("more (") && named.ends_with("14 answers)"), "{both}");
    assert_eq!(alone["data_hash"], both["data_hash"], "figures are those of the first data");
    sandbox
        .run(&["train", "data.jsonl", "--also-train", "gone.jsonl", "--model", "tiny", "--output", "h"])
        .code(3)
        .complains(&["gone.jsonl"]);
}

#[test]
fn an_answer_whose_reading_is_not_finite_is_named_with_its_layer_and_left_out_or_ends_the_run() {
    let sandbox = tiny();
    tiny_model::overflow(&sandbox.work().join("tiny"), "model.layers.1.mlp.down_proj.weight");
    let run = |on_error: &str| {
        sandbox.run(&["train", "data.jsonl", "--model", "tiny", "--on-error", on_error, "--output", "h"])
    };
    run("stop").code(3).complains(&["row 0, id answer-0", "block 2", "not finite", "--on-error skip"]);
    run("skip").code(3).complains(&[
        "12 answers or records left out",
        "left out: row 0, id answer-0",
        "no labelled answer that could be read",
    ]);
    assert!(!sandbox.work().join("h").exists(), "heads of nothing");
}

#[test]
fn the_laboratory_compares_recipes_and_the_switches_of_cortex() {
    let sandbox = tiny();
    let lab = |compared: &str, methods: &str| {
        let common = ["lab", "data.jsonl", "--model", "tiny", "--folds", "3", "--compare", compared];
        sandbox.run(&[&common[..], &["--methods", methods]].concat()).code(0)
    };
    lab("recipes", "regularised;asymmetric chain;linear head").prints(&[
        "linear head, smoothed",
        "asymmetric chain",
        "Differences, paired over resamples of sources",
    ]);
    let switches = lab("switches", "final-norm").prints(&["D + c, final-norm, renormalised"]);
    assert!(switches.stderr.contains("read 12 answers"), "features of its own: {switches}");
    let again = lab("switches", "final-norm");
    assert!(!again.stderr.contains("read 12 answers") && again.stdout == switches.stdout, "{again}");
}

#[test]
fn the_laboratory_compares_detectors_and_writes_its_files_once() {
    let sandbox = tiny();
    let lab = |more: &[&str]| {
        let methods = "control;NLL;six scalars;SAPLMA, middle;fusion, four";
        let common = ["lab", "data.jsonl", "--model", "tiny", "--folds", "3", "--methods", methods];
        sandbox.run(&[&common[..], more].concat())
    };
    let ran = lab(&["--output", "lab"]).code(0);
    let ran = ran.prints(&[
        "chance",
        "six scalars",
        "SAPLMA, middle layer",
        "fusion, four seeds",
        "12 answers of 6",
    ]);
    assert!(!ran.stdout.contains("NaN") && !ran.stdout.contains("RAGLens"), "{ran}");
    let report = read_json(&sandbox.work().join("lab/lab.json"));
    let names: Vec<&str> =
        report["rows"].as_array().expect("rows").iter().filter_map(|row| row["name"].as_str()).collect();
    assert!(names.contains(&"six scalars") && names.contains(&"lexical support control"), "{names:?}");
    let tables = sandbox.read("lab/tables.md");
    assert!(tables.contains("| six scalars"), "{tables}");
    assert!(sandbox.work().join("lab/precision-recall.svg").is_file());
    // The same figures again, from the scores that were kept.
    let again = lab(&["--output", "lab", "--force"]).code(0);
    assert_eq!(again.stdout, ran.stdout);
    assert_eq!(sandbox.read("lab/tables.md"), tables);
    lab(&["--output", "lab"]).code(2).complains(&["exists already", "--force"]);
    sandbox
        .run(&["lab", "data.jsonl", "--model", "tiny", "--methods", "astrology"])
        .code(2)
        .complains(&["--methods names no row"]);
}
