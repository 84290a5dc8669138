//! With a model of 96 tokens, one for each printable ASCII character, and random weights.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;
use crate::certify::PValue;
use crate::data::{Example, Passage, Row};
use crate::evidence::Provenance;
use crate::inspect::chunks::ChunkSource;
use crate::inspect::detectors::Detectors;
use crate::inspect::inspector::Inspector;
use crate::model::{CacheDirectory, LanguageModel, ModelLocation};

pub(in crate::inspect) fn tiny_model(folder: &Path) -> LanguageModel {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/decoders/llama");
    std::fs::copy(golden.join("model.safetensors"), folder.join("model.safetensors")).unwrap();
    let config = std::fs::read_to_string(golden.join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    config["max_position_embeddings"] = json!(2000);
    config["eos_token_id"] = serde_json::Value::Null;
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    // Byte-level letters: space and line feed have stand-ins.
    let letters = ('!'..='~').chain(['Ġ', 'Ċ']);
    let vocabulary: serde_json::Map<String, serde_json::Value> =
        letters.zip(0..).map(|(letter, id)| (letter.to_string(), json!(id))).collect();
    let byte_level = json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true
    });
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": byte_level, "post_processor": null, "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocabulary, "merges": []
        }
    });
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let location = ModelLocation::Directory(folder.to_owned());
    LanguageModel::open(&location, &CacheDirectory::at(folder.join("cache"))).unwrap()
}

fn example(passages: &[&str], answer: Option<&str>) -> Example {
    let passage = |text: &&str| Passage { text: (*text).to_owned(), ..Passage::default() };
    Example {
        id: "one".to_owned(),
        row: 0,
        question: "When does it sail?".to_owned(),
        passages: passages.iter().map(passage).collect(),
        answer: answer.map(ToOwned::to_owned),
        references: Vec::new(),
        source_documents: Vec::new(),
        gold_spans: None,
        gold_consistent: None,
        groups: std::collections::BTreeMap::default(),
    }
}

fn generation(filter: ChunkFilter) -> Generation {
    let settings = GenerationSettings { max_new_tokens: 12, ..GenerationSettings::default() };
    Generation { settings, filter, cancel: Arc::default() }
}

fn inspector(model: &LanguageModel, filter: ChunkFilter) -> Inspector<'_> {
    let source = ChunkSource::nothing(5, "none here");
    let provenance = Provenance { model: Some("tiny".to_owned()), ..Provenance::default() };
    Inspector::new(source, provenance)
        .with_model(model, Detectors::untrained())
        .with_generation(generation(filter))
}

fn inspect(model: &LanguageModel, filter: ChunkFilter, example: Example) -> Evidence {
    inspector(model, filter).inspect(&Row::Example(example))
}

const PASSAGES: [&str; 3] = ["It sails at nine.", "The deck is blue.", "No dogs on board."];

#[test]
fn a_record_without_an_answer_gets_one_that_is_read_and_says_that_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let model = tiny_model(folder.path());
    let evidence = inspect(&model, ChunkFilter::All, example(&PASSAGES, None));
    assert_eq!(evidence.status, Status::Ok, "{:?}", evidence.reason);
    assert!(is_generated(&evidence) && !is_generated_without_passage(&evidence));
    let answer = evidence.answer.as_deref().unwrap();
    assert_eq!(evidence.reading.as_ref().unwrap().tokens.len(), answer.len());
    let setting = |name: &str| evidence.provenance.settings[name].as_str();
    assert_eq!(setting("generated_by"), "tiny");
    assert_eq!(setting("generation"), "greedy, at most 12 tokens");
    assert_eq!(setting("generation_filter"), "all chunks");
    assert_eq!(setting("generated_from"), "all 3 chunks");
    assert!(evidence.notices.iter().any(|notice| notice.contains("written by tiny from all 3 chunks")));
    assert!(evidence.notices.iter().any(|notice| notice.contains("cut at 12 tokens")));
    // Scored like any other answer of the same words.
    let given = inspect(&model, ChunkFilter::All, example(&PASSAGES, Some(answer)));
    assert_eq!(given.reading, evidence.reading);
}

#[test]
fn an_answer_of_the_data_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let model = tiny_model(folder.path());
    let evidence = inspect(&model, ChunkFilter::All, example(&PASSAGES, Some("At ten.")));
    assert_eq!(evidence.answer.as_deref(), Some("At ten."));
    assert!(!is_generated(&evidence) && evidence.notices.is_empty());
}

#[test]
fn the_trusted_chunks_alone_are_in_the_prompt_and_none_of_them_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let model = tiny_model(folder.path());
    let trusted = ChunkFilter::Trusted(Alpha::from_thousandths(100));
    let written = |p_values: [Option<u32>; 3]| {
        let mut evidence =
            inspector(&model, trusted).without_reading(&Row::Example(example(&PASSAGES, None)));
        for (chunk, count) in evidence.chunks.iter_mut().zip(p_values) {
            chunk.p_value = count.map(|count| PValue { count, out_of: 1000 });
        }
        let mut reader = Reader::new(&model, Vec::new());
        assert!(generation(trusted).write(&mut evidence, &mut reader, &mut |_| {}));
        evidence
    };
    // Exactly alpha is not above it, and what nothing certifies is not trusted.
    let second = written([Some(100), Some(101), None]);
    assert_eq!(second.provenance.settings["generated_from"], "1 of 3 chunks (trusted: rank 2)");
    assert_eq!(second.provenance.settings["generation_filter"], "chunks trusted at alpha 0.1");
    let alone = inspect(&model, ChunkFilter::All, example(&PASSAGES[1..2], None));
    assert_eq!(second.answer, alone.answer);

    let none = written([Some(100), Some(3), None]);
    assert!(is_generated_without_passage(&none));
    let bare = inspect(&model, ChunkFilter::All, example(&[], None));
    assert!(is_generated_without_passage(&bare));
    assert_eq!(none.answer, bare.answer);
    assert_eq!(bare.status, Status::Partial, "there is nothing to read it with");
}

#[test]
fn an_interrupted_answer_is_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let model = tiny_model(folder.path());
    let stopped = generation(ChunkFilter::All);
    stopped.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut inspector = inspector(&model, ChunkFilter::All).with_generation(stopped);
    let evidence = inspector.inspect(&Row::Example(example(&PASSAGES, None)));
    assert_eq!((evidence.status, evidence.answer.as_deref()), (Status::Partial, None));
    assert!(evidence.reason.unwrap().contains("interrupted"));
    assert!(evidence.reading.is_none());
}

#[test]
fn what_a_reasoning_model_thinks_is_kept_apart_from_its_answer() {
    assert_eq!(without_reasoning(" At nine."), Some((None, " At nine.")));
    assert_eq!(without_reasoning("<think>\n\n</think>\n\nAt nine."), Some((None, "At nine.")));
    assert_eq!(
        without_reasoning("\n<think>The list says\nnine. </think> At <think>."),
        Some((Some("The list says\nnine."), "At <think>."))
    );
    assert_eq!(without_reasoning("<think>The list says"), None);
}

#[test]
fn an_answer_is_stale_where_other_chunks_are_trusted_than_it_was_written_from() {
    let line = include_str!("../../tests/golden/run.jsonl").lines().next().unwrap();
    let mut evidence = crate::evidence::parse_line(line, 1).unwrap();
    let chunk = evidence.chunks[0].clone();
    let with = |count| ChunkEvidence { p_value: Some(PValue { count, out_of: 100 }), ..chunk.clone() };
    evidence.chunks = vec![with(80), with(30), with(5), ChunkEvidence { p_value: None, ..chunk.clone() }];
    let alpha = Alpha::from_thousandths;
    assert_eq!(stale_answer(&evidence, alpha(100)), None, "the answer came with the data");
    let mut said = |filter: ChunkFilter| {
        evidence.provenance.settings.insert(FILTER.to_owned(), filter.describe());
        evidence.clone()
    };
    let from_all = said(ChunkFilter::All);
    assert_eq!(stale_answer(&from_all, alpha(999)), None);
    let from_two = said(ChunkFilter::Trusted(alpha(125)));
    assert_eq!(stale_answer(&from_two, alpha(125)), None);
    assert_eq!(stale_answer(&from_two, alpha(299)), None, "the same two");
    let stale =
        |trusted, unread| Some(StaleAnswer { written_at: alpha(125), written_from: 2, trusted, unread });
    assert_eq!(stale_answer(&from_two, alpha(300)), stale(1, 0));
    assert_eq!(stale_answer(&from_two, alpha(20)), stale(3, 1));
    evidence.provenance.settings.insert(FILTER.to_owned(), "chunks trusted at alpha many".to_owned());
    assert_eq!(stale_answer(&evidence, alpha(20)), None);
}
