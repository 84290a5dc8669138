//! Models that lie: an error that names the field or file, exit code 4, bounded memory, never a panic.

use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, repository, tiny_model};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    sandbox.write(
        "data.jsonl",
        json!({"question": "When?", "contexts": ["At noon."], "answer": "At noon."}).to_string(),
    );
    sandbox
}

fn edit(sandbox: &Sandbox, file: &str, change: impl Fn(&mut Value)) {
    let path = sandbox.work().join("tiny").join(file);
    let mut value: Value = serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
    change(&mut value);
    std::fs::write(&path, value.to_string()).expect("a file");
}

/// Scores with the model and one gigabyte of memory; gives what was said.
fn refused(sandbox: &Sandbox, says: &[&str]) {
    let arguments = ["score", "data.jsonl", "--model", "tiny"];
    sandbox.run(&arguments).code(4).complains(says).harmless();
    sandbox.run_within(1 << 20, &arguments).code(4).complains(says);
}

/// A safetensors file with this header and so many bytes of data.
fn safetensors(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

#[test]
fn a_header_that_claims_more_than_its_file_holds_is_refused() {
    let sandbox = sandbox();
    let weights = "tiny/model.safetensors";
    let mut bytes = std::fs::read(sandbox.work().join(weights)).expect("the tiny weights");
    bytes[..8].copy_from_slice(&(u64::MAX / 2).to_le_bytes());
    sandbox.write(weights, &bytes);
    refused(&sandbox, &["model.safetensors", "header"]);
    // Sixteen megabytes of header in a file that holds them.
    let entries: Vec<String> = (0..400_000)
        .map(|at| format!("\"{at}\":{{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}"))
        .collect();
    sandbox.write(weights, safetensors(&format!("{{{}}}", entries.join(",")), 4));
    refused(&sandbox, &["tensor(s) of the decoder are missing", "model.embed_tokens.weight"]);
}

#[test]
fn tensors_that_share_their_bytes_are_refused_before_they_are_read() {
    let sandbox = sandbox();
    let path = sandbox.work().join("tiny/model.safetensors");
    let bytes = std::fs::read(&path).expect("the tiny weights");
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).expect("JSON");
    header["model.layers.1.mlp.up_proj.weight"] = header["model.layers.0.mlp.up_proj.weight"].clone();
    let header = header.to_string();
    let changed = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &bytes[8 + length..]].concat();
    std::fs::write(&path, changed).expect("a file");
    refused(&sandbox, &["up_proj.weight", "expected bytes of its own"]);
}

#[test]
fn shapes_whose_product_overflows_are_refused_by_name() {
    let sandbox = sandbox();
    for field in ["hidden_size", "vocab_size", "intermediate_size", "num_hidden_layers"] {
        tiny_model::write(&sandbox.work().join("tiny"));
        edit(&sandbox, "config.json", |config| config[field] = json!(u64::MAX));
        refused(&sandbox, &[field, "expected a whole number from 1 to"]);
        edit(&sandbox, "config.json", |config| config[field] = json!(1 << 20));
        refused(&sandbox, &["expected"]);
    }
}

#[test]
fn an_index_that_leads_out_of_its_folder_is_refused() {
    let sandbox = sandbox();
    std::fs::copy(sandbox.work().join("tiny/model.safetensors"), sandbox.work().join("outside.safetensors"))
        .expect("a file");
    let index = |name: &str| json!({"weight_map": {"model.norm.weight": name}}).to_string();
    let place = "tiny/model.safetensors.index.json";
    for name in ["../outside.safetensors", "/etc/passwd", "..", ".", "", "a/../../outside.safetensors"] {
        sandbox.write(place, index(name));
        refused(&sandbox, &["model.safetensors.index.json", "plain file names"]);
    }
    #[cfg(unix)]
    {
        let link = sandbox.work().join("tiny/linked.safetensors");
        std::os::unix::fs::symlink("../outside.safetensors", &link).expect("a link");
        sandbox.write(place, index("linked.safetensors"));
        refused(&sandbox, &["linked.safetensors", "leads out of it"]);
        std::fs::remove_file(&link).expect("a link");
        std::os::unix::fs::symlink("/dev/zero", &link).expect("a link");
        refused(&sandbox, &["linked.safetensors"]);
    }
}

#[cfg(unix)]
#[test]
fn files_without_an_end_are_refused_instead_of_read() {
    let sandbox = sandbox();
    for file in ["config.json", "tokenizer.json", "tokenizer_config.json"] {
        tiny_model::write(&sandbox.work().join("tiny"));
        let path = sandbox.work().join("tiny").join(file);
        std::fs::remove_file(&path).expect("a file");
        std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
        sandbox.run_within(1 << 20, &["score", "data.jsonl", "--model", "tiny"]).code(4).complains(&[file]);
        std::fs::remove_file(&path).expect("a link");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo is there");
        assert!(made.success());
        sandbox.run_within(1 << 20, &["score", "data.jsonl", "--model", "tiny"]).code(4).complains(&[file]);
        std::fs::remove_file(&path).expect("a pipe");
    }
}

#[test]
fn weights_that_are_not_finite_are_found_at_load_and_named() {
    let sandbox = sandbox();
    let path = sandbox.work().join("tiny/model.safetensors");
    let mut bytes = std::fs::read(&path).expect("the tiny weights");
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&path, bytes).expect("a file");
    refused(&sandbox, &["tensor", "not finite"]);
}

#[test]
fn templates_that_run_on_or_build_too_much_run_out() {
    let sandbox = sandbox();
    for (template, says) in [
        (
            "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}",
            "runs too long",
        ),
        ("{% set s = 'x' * 9999 %}{{ s|replace('x', s)|replace('x', s) }}", "runs too long"),
        ("{{ ('x' * 9999 * 9999)|list|length }}", "runs too long"),
        ("{% set l = ['x'] * 9999 %}{{ '' ~ (l * 9999) }}", "runs too long"),
        ("{% set l = ['x' * 9999] * 9999 %}{{ l|join('x' * 9999) }}", "runs too long"),
        ("{% set ns = namespace(a=1) %}{% set ns.a = ns %}{{ ns }}", "runs too long"),
        ("{{ [1]|batch(1000000000, 'x')|list }}", "width is too large"),
        ("{{ 'x'|indent(1000000000) }}", "width is too large"),
        ("{{ '%1000000000d'|format(1) }}", "too wide"),
        ("{{ {'a': 1}|tojson(indent=1000000000) }}", "width is too large"),
        ("{{ 'x' * 1000000000 }}", "too large a number"),
        ("{{ raise_exception('this model takes no question') }}", "it says: this model takes no question"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion"),
    ] {
        edit(&sandbox, "tokenizer_config.json", |config| config["chat_template"] = json!(template));
        refused(&sandbox, &["chat template cannot be used", says]);
    }
}

#[test]
fn a_gguf_file_with_absurd_counts_is_refused_within_its_own_size() {
    let sandbox = sandbox();
    let start = |tensors: u64, entries: u64| {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(tensors.to_le_bytes());
        bytes.extend(entries.to_le_bytes());
        bytes
    };
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let mut wide = start(0, 1);
    wide.extend(text("tokenizer.ggml.scores"));
    wide.extend([9, 0, 0, 0, 0, 0, 0, 0]);
    wide.extend((200u64 << 20).to_le_bytes());
    wide.resize(210 << 20, 0);
    for (bytes, says) in [
        (start(u64::MAX, u64::MAX), "entries"),
        (start(1 << 40, 0), "GGUF"),
        ([start(0, 1), u64::MAX.to_le_bytes().to_vec()].concat(), "claims"),
        (wide, "array items"),
    ] {
        sandbox.write("lying.gguf", &bytes);
        let arguments = ["score", "data.jsonl", "--model", "lying.gguf"];
        sandbox.run_within(1 << 20, &arguments).code(4).complains(&["GGUF", says]).harmless();
        sandbox.run_within(1 << 20, &["models", "show", "lying.gguf"]).code(4).harmless();
    }
}

#[test]
fn a_model_with_a_short_context_says_what_it_cut_and_what_it_cannot_read() {
    let sandbox = sandbox();
    edit(&sandbox, "config.json", |config| config["max_position_embeddings"] = json!(700));
    let long = "Noon it is. ".repeat(200);
    sandbox.write_lines(
        "data.jsonl",
        &[
            json!({"question": "When?", "contexts": [long], "answer": "At noon."}),
            json!({"question": "When?", "contexts": ["At noon."], "answer": long}),
        ],
    );
    let run = sandbox.run(&["score", "data.jsonl", "--model", "tiny"]).code(0).evidence();
    assert!(
        run[0].notices.iter().any(|notice| notice.contains("was cut to its first")),
        "{:?}",
        run[0].notices
    );
    assert!(run[0].reading.is_some());
    let reason = run[1].reason.as_deref().unwrap_or_default();
    assert!(run[1].reading.is_none() && reason.contains("the model reads 700"), "{reason}");
}

#[test]
fn numbers_that_overflow_in_a_layer_are_an_error_of_the_row_that_names_it() {
    let sandbox = sandbox();
    tiny_model::overflow(&sandbox.work().join("tiny"), "model.layers.1.mlp.down_proj.weight");
    let run = sandbox.run(&["score", "data.jsonl", "--model", "tiny"]).code(0).evidence();
    let reason = run[0].reason.as_deref().unwrap_or_default();
    assert_eq!(run[0].status, ragscope::evidence::Status::Error, "{reason}");
    assert!(reason.contains("block 2") && reason.contains("not finite"), "{reason}");
    assert!(run[0].reading.is_none(), "no number of a reading that broke is shown");
}

/// Every number of a reading; whoever shows it shows these.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(number) => vec![number.as_f64().expect("a number")],
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Object(fields) => fields.values().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

/// Each tensor in turn holds numbers whose squares, sums or products are beyond what f32 carries.
#[test]
fn overflow_in_any_tensor_is_an_error_that_names_the_layer_and_never_a_number() {
    let sandbox = sandbox();
    let path = sandbox.work().join("tiny/model.safetensors");
    let sound = std::fs::read(&path).expect("the tiny weights");
    let length = u64::from_le_bytes(sound[..8].try_into().expect("eight bytes")) as usize;
    let header: Value = serde_json::from_slice(&sound[8..8 + length]).expect("JSON");
    let tensors = header.as_object().expect("an object");
    let mut refused = 0;
    for (name, tensor) in tensors.iter().filter(|(name, _)| *name != "__metadata__") {
        let place = &tensor["data_offsets"];
        let at = |index: usize| 8 + length + place[index].as_u64().expect("a place") as usize;
        for huge in [f32::MAX, 1e25] {
            let mut bytes = sound.clone();
            for number in bytes[at(0)..at(1)].chunks_exact_mut(4) {
                number.copy_from_slice(&huge.to_le_bytes());
            }
            std::fs::write(&path, bytes).expect("a file");
            let ran = sandbox.run(&["score", "data.jsonl", "--model", "tiny"]).code(0).harmless();
            let record: Value = serde_json::from_str(ran.stdout.trim_end()).expect("JSON");
            let reason = record["reason"].as_str().unwrap_or_default();
            // What is added to the stream of states meets a norm behind it.
            let in_the_stream =
                ["embed_tokens", "o_proj", "down_proj"].iter().any(|part| name.contains(part));
            if record["status"] == "error" {
                let named = ["block ", "final norm", "output head", "logits"]
                    .iter()
                    .any(|place| reason.contains(place));
                assert!(named && reason.contains("not finite"), "{name} of {huge}: {reason}");
                assert!(record["reading"].is_null(), "{name} of {huge}");
                refused += 1;
            } else {
                assert!(!in_the_stream, "{name} of {huge} gave numbers");
                assert!(numbers(&record["reading"]).into_iter().all(f64::is_finite), "{name} of {huge}");
            }
        }
    }
    assert!(refused >= tensors.len(), "{refused} of {} tensors twice", tensors.len());
}

#[test]
fn heads_and_calibrations_from_elsewhere_are_refused_by_name() {
    let sandbox = sandbox();
    let head =
        std::fs::read(repository("assets/heads/smollm2-135m-instruct/token.safetensors")).expect("a head");
    for (name, bytes) in [
        ("short", head[..200].to_vec()),
        ("long-header", [&(u64::MAX / 4).to_le_bytes()[..], &head[8..]].concat()),
        ("empty", Vec::new()),
    ] {
        for part in ["token", "answer"] {
            sandbox.write(&format!("{name}/{part}.safetensors"), &bytes);
        }
        let arguments = ["open", "--plain", "data.jsonl", "--model", "tiny", "--heads", name];
        sandbox.run_within(1 << 20, &arguments).code(4).complains(&["head"]).harmless();
    }
    for text in ["{", "{\"schema\": \"ragscope-calibration/9\"}", "[]", "\u{1b}[2J"] {
        sandbox.write("cal.json", text);
        sandbox
            .run(&["open", "--plain", "data.jsonl", "--model", "tiny", "--calibration", "cal.json"])
            .code(3)
            .complains(&["calibration"])
            .harmless();
    }
    assert!(Path::new(&sandbox.work().join("cal.json")).exists());
}
