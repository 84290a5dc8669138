//! Against `transformers`: a tiny encoder whose files are in `tests/golden/encoder`, and the real one where it is here.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::model::ModelLocation;

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/encoder")
}

fn reference(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(golden().join(name)).unwrap()).unwrap()
}

fn no_cache() -> (tempfile::TempDir, CacheDirectory) {
    let folder = tempfile::tempdir().unwrap();
    let cache = CacheDirectory::at(folder.path().join("cache"));
    (folder, cache)
}

/// A copy of the tiny encoder with changed files.
fn changed(files: &[(&str, Option<Value>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    for name in [
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "sentence_bert_config.json",
        "modules.json",
        "1_Pooling/config.json",
    ] {
        std::fs::copy(golden().join(name), folder.path().join(name)).unwrap();
    }
    for (name, content) in files {
        let path = folder.path().join(name);
        match content {
            Some(value) => std::fs::write(path, value.to_string()).unwrap(),
            None => std::fs::remove_file(path).unwrap(),
        }
    }
    folder
}

fn open(folder: &Path) -> Result<SentenceEncoder, EncoderError> {
    SentenceEncoder::open(folder, &no_cache().1)
}

fn texts(reference: &Value) -> Vec<String> {
    reference["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn agree(found: &[f32], expected: &Value, tolerance: f64) {
    let expected: Vec<f64> =
        expected.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert!((f64::from(*found) - expected).abs() < tolerance, "{found} against {expected}");
    }
}

#[test]
fn embeddings_are_those_of_transformers_one_by_one_and_together() {
    let reference = reference("reference.json");
    let texts = texts(&reference);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let encoder = open(&golden()).unwrap();
    assert_eq!((encoder.width(), encoder.longest(), encoder.pooling()), (24, 14, Pooling::Mean));
    assert_eq!((encoder.name(), encoder.short_hash().len()), ("encoder", 16));
    let mut told = Vec::new();
    let together = encoder.encode(&texts, &mut |done| told.push(done)).unwrap();
    assert_eq!((together.cut, told.last()), (1, Some(&5)), "one text is longer than 14 word pieces");
    for (number, text) in texts.iter().enumerate() {
        let alone = encoder.encode(&[text], &mut |_| {}).unwrap();
        let row = &together.values[number * 24..(number + 1) * 24];
        agree(&alone.values, &reference["mean"][number], 2e-5);
        agree(row, &reference["mean"][number], 2e-5);
        let length: f32 = row.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-5);
    }
    assert_eq!(encoder.encode(&[], &mut |_| {}).unwrap(), Embeddings::default());
}

#[test]
fn the_first_token_is_taken_where_the_encoder_says_so() {
    let reference = reference("reference.json");
    let pooling = json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false});
    let folder = changed(&[("1_Pooling/config.json", Some(pooling))]);
    let encoder = open(folder.path()).unwrap();
    let texts = texts(&reference);
    for (number, text) in texts.iter().enumerate() {
        let found = encoder.encode(&[text], &mut |_| {}).unwrap();
        agree(&found.values, &reference["first"][number], 2e-5);
    }
}

#[test]
fn more_texts_than_a_batch_holds_come_back_in_their_order() {
    let encoder = open(&golden()).unwrap();
    let words = ["ferry", "pump", "hall", "ticket", "harbour", "boat"];
    let texts: Vec<String> =
        (0..900).map(|n| [words[n % 6], words[n / 6 % 6], words[n / 36 % 6]].join(" ")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut told = Vec::new();
    let found = encoder.encode(&texts, &mut |done| told.push(done)).unwrap();
    assert!(told.len() > 1 && told.is_sorted() && told.last() == Some(&900), "{told:?}");
    for number in [0, 5, 817, 818, 899] {
        let alone = encoder.encode(&texts[number..=number], &mut |_| {}).unwrap();
        for (a, b) in alone.values.iter().zip(&found.values[number * 24..(number + 1) * 24]) {
            assert!((a - b).abs() < 1e-5, "text {number}");
        }
    }
}

#[test]
fn special_tokens_in_a_text_are_ordinary_characters() {
    let encoder = open(&golden()).unwrap();
    let of = |text: &str| encoder.encode(&[text], &mut |_| {}).unwrap().values;
    assert_ne!(of("ferry [SEP] pump"), of("ferry pump"));
    // `[` and `]` are not in the vocabulary, and neither is `sep`: three unknown pieces.
    assert_eq!(of("ferry [SEP] pump"), of("ferry ( zz ) pump"));
}

#[test]
fn what_is_no_such_encoder_is_refused_with_what_was_expected_and_what_came() {
    let config = reference("config.json");
    let with = |key: &str, value: Value| {
        let mut config = config.clone();
        config[key] = value;
        ("config.json", Some(config))
    };
    let dense = json!([{"type": "sentence_transformers.models.Transformer"}, {"type": "sentence_transformers.models.Dense"}]);
    let outside = json!([{"type": "x.Transformer"}, {"type": "x.Pooling", "path": "../1_Pooling"}]);
    for (file, words) in [
        (with("model_type", json!("llama")), "model_type: expected bert, found llama"),
        (with("hidden_act", json!("gelu_new")), "hidden_act: expected gelu, found gelu_new"),
        (with("position_embedding_type", json!("relative_key")), "expected absolute, found relative_key"),
        (with("num_attention_heads", json!(5)), "expected a divisor of the hidden size 24, found 5"),
        (with("num_attention_heads", json!(0)), "found 0"),
        (with("hidden_size", json!(48)), "expected the shape"),
        (with("num_hidden_layers", json!(3)), "encoder.layer.2."),
        (with("vocab_size", json!("many")), "invalid type"),
        (("modules.json", Some(dense)), "expected Transformer, Pooling and Normalize, found Dense"),
        (("modules.json", Some(outside)), "found ../1_Pooling"),
        (("1_Pooling/config.json", Some(json!({"pooling_mode_max_tokens": true}))), "found max_tokens"),
        (("sentence_bert_config.json", Some(json!({"max_seq_length": 2}))), "max_seq_length"),
        (("tokenizer.json", Some(json!({"no": "tokenizer"}))), "tokenizer.json"),
        (("tokenizer.json", None), "holds no tokenizer.json"),
        (("model.safetensors", None), "holds no model.safetensors"),
        (("model.safetensors", Some(json!("no weights"))), "not a readable safetensors file"),
    ] {
        let folder = changed(&[file]);
        let message = open(folder.path()).err().expect("refused").to_string();
        assert!(message.contains(words), "{words} not in {message}");
    }
    // Files that only say what is usual may be absent.
    let folder = changed(&[("modules.json", None), ("sentence_bert_config.json", None)]);
    let encoder = open(folder.path()).unwrap();
    assert_eq!((encoder.longest(), encoder.pooling()), (20, Pooling::Mean));
}

#[test]
fn all_minilm_l6_v2_agrees_with_transformers() {
    let cache = CacheDirectory::from_environment(&|name| std::env::var_os(name)).unwrap();
    let Ok(location) = ModelLocation::parse(Some("all-minilm-l6-v2"), &cache) else {
        eprintln!("skipped: all-MiniLM-L6-v2 is not here (`ragscope models fetch all-minilm-l6-v2`)");
        return;
    };
    let encoder = SentenceEncoder::open(location.path(), &cache).unwrap();
    assert_eq!((encoder.width(), encoder.longest(), encoder.pooling()), (384, 256, Pooling::Mean));
    let reference = reference("all-minilm-l6-v2.json");
    let mut texts = texts(&reference);
    texts[4] = "word ".repeat(400);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = encoder.encode(&texts, &mut |_| {}).unwrap();
    assert_eq!(found.cut, 1);
    let rows: Vec<&[f32]> = found.values.chunks_exact(384).collect();
    for (number, row) in rows.iter().enumerate() {
        agree(&row[..8], &reference["first_values"][number], 1e-5);
        let cosines: Vec<f32> =
            rows.iter().map(|other| row.iter().zip(*other).map(|(a, b)| a * b).sum()).collect();
        agree(&cosines, &reference["cosines"][number], 1e-5);
    }
}
