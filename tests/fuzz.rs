//! Every reader of files from elsewhere, fed with mutations of good files: no panic, no hang, no lie.
//!
//! Each target runs a few hundred mutations here, always the same ones. `scripts/fuzz.sh` runs every target for a
//! minute in a process of its own with a limit on its memory. An input that once broke something lies in
//! `tests/fuzz/regressions/<target>` and is tried first, every time.
//!
//! The engine is our own and runs on stable: mutations know JSON, numbers and lengths; inputs that lead to an outcome
//! not seen before are kept and mutated further.

#![allow(
    clippy::type_complexity,
    clippy::single_match,
    clippy::single_match_else,
    clippy::single_range_in_vec_init,
    reason = "targets are closures in a list; what the allowed forms say is meant"
)]

mod sandbox;

#[path = "fuzz/calibrations.rs"]
mod calibrations;
#[path = "fuzz/detectors.rs"]
mod detectors;
#[path = "fuzz/engine.rs"]
mod engine;
#[path = "fuzz/evidence.rs"]
mod evidence;
#[path = "fuzz/gguf.rs"]
mod gguf;
#[path = "fuzz/importers.rs"]
mod importers;
#[path = "fuzz/kept_by_users.rs"]
mod kept_by_users;
#[path = "fuzz/models.rs"]
mod models;
#[path = "fuzz/mutation.rs"]
mod mutation;
#[path = "fuzz/servers.rs"]
mod servers;

use engine::{Limit, Target};

fn targets() -> Vec<Target> {
    [
        importers::targets(),
        models::targets(),
        evidence::targets(),
        calibrations::targets(),
        detectors::targets(),
        kept_by_users::targets(),
        servers::targets(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn survives(name: &str) {
    let target = targets().into_iter().find(|target| target.name == name);
    let run = engine::run(&target.unwrap_or_else(|| panic!("no target {name}")), Limit::Executions(300), 1);
    assert!(run.crashes.is_empty(), "{name}: {:#?}", run.crashes);
    assert!(run.executions >= 300);
}

/// One test for each target.
macro_rules! mutated_input_is_survived_by {
    ($($test:ident: $target:literal),* $(,)?) => {
        const TESTED: &[&str] = &[$($target),*];
        $(#[test]
        fn $test() {
            survives($target);
        })*
    };
}

mutated_input_is_survived_by! {
    the_reader_of_own_records: "ragscope",
    the_reader_of_ragtruth: "ragtruth",
    the_reader_of_squad: "squad",
    the_reader_of_nq_open: "nq-open",
    the_reader_of_tat_qa: "tat-qa",
    the_reader_of_ragas: "ragas",
    the_reader_of_ragbench: "ragbench",
    the_reader_of_hallurag: "hallurag",
    the_reader_of_lettuce_detect: "lettuce-detect",
    the_reader_of_ragchecker: "ragchecker",
    the_reader_of_deepeval: "deepeval",
    the_reader_of_llama_index: "llama-index",
    the_reader_of_trulens: "trulens",
    the_reader_of_openinference: "openinference",
    the_reader_of_langsmith: "langsmith",
    the_reader_of_beir: "beir",
    the_reader_of_hotpotqa: "hotpotqa",
    the_reader_of_natural_questions: "natural-questions",
    the_reader_of_wice: "wice",
    the_reader_of_clapnq: "clapnq",
    the_reader_of_pubmedqa: "pubmedqa",
    the_reader_of_mapped_rows: "mapped",
    the_reader_of_compressed_files: "compressed",
    the_reader_of_parquet: "parquet",
    the_reader_of_sqlite: "sqlite",
    the_field_map: "field-map",
    the_reader_of_gguf_models: "gguf",
    the_reader_of_safetensors: "safetensors",
    the_reader_of_indexes: "safetensors-index",
    the_reader_of_model_configurations: "config-json",
    the_reader_of_tokenizers: "tokenizer-json",
    the_reader_of_tokenizer_configurations: "tokenizer-config",
    chat_templates: "chat-template",
    the_reader_of_evidence: "evidence",
    the_evidence_cache: "evidence-cache",
    the_report: "report",
    the_reader_of_calibrations: "calibration",
    the_reader_of_highlighting_calibrations: "highlighting",
    the_reader_of_token_heads: "token-head",
    the_reader_of_answer_heads: "answer-head",
    the_reader_of_feature_stores: "feature-store",
    the_reader_of_annotations: "annotations",
    the_reader_of_key_maps: "key-map",
    the_reader_of_configurations: "configuration",
    the_reader_of_encoders: "encoder-config",
    the_reader_of_weights_of_encoders: "encoder-weights",
    the_reader_of_generation_settings: "generation-config",
    the_check_of_written_reports: "written-report",
    answers_of_a_search_server: "search-server",
    listings_of_the_hub: "hub-listing",
}

#[test]
fn every_target_has_a_test_and_every_layout_a_target() {
    let names: Vec<&str> = targets().iter().map(|target| target.name).collect();
    let mut tested: Vec<&str> = TESTED.to_vec();
    for name in &names {
        assert!(tested.contains(name), "{name} has no test");
    }
    for format in ragscope::data::Format::ALL {
        assert!(names.contains(&format.name()), "{format} has no target");
    }
    tested.sort_unstable();
    tested.dedup();
    assert_eq!(tested.len(), names.len());
}

/// `RAGSCOPE_FUZZ_TARGET=NAME RAGSCOPE_FUZZ_SECONDS=60 RAGSCOPE_FUZZ_SEED=1`, as `scripts/fuzz.sh` does.
#[test]
#[ignore = "runs for as long as it is told: scripts/fuzz.sh"]
fn one_target_for_a_while() {
    let variable = |name: &str| std::env::var(name).ok();
    let Some(name) = variable("RAGSCOPE_FUZZ_TARGET") else {
        let names: Vec<&str> = targets().iter().map(|target| target.name).collect();
        println!("{}", names.join(" "));
        return;
    };
    let seconds = variable("RAGSCOPE_FUZZ_SECONDS").and_then(|text| text.parse().ok()).unwrap_or(60);
    let seed = variable("RAGSCOPE_FUZZ_SEED").and_then(|text| text.parse().ok()).unwrap_or(1);
    let target = targets().into_iter().find(|target| target.name == name).expect("a target of this name");
    let run = engine::run(&target, Limit::Seconds(seconds), seed);
    println!("{}", run.line(&target));
    for crash in &run.crashes {
        println!("  {crash}");
    }
    assert!(run.crashes.is_empty());
}
