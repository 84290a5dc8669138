//! The order of records and who is read beside whom change no evidence.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, tiny_model};

/// Evidence by id, without what names the place in the file and the file.
fn by_id(lines: &str) -> BTreeMap<String, Value> {
    lines
        .lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).expect("JSON");
            let fields = record.as_object_mut().expect("an object");
            fields.remove("row");
            fields["provenance"].as_object_mut().expect("an object").remove("data_hash");
            (record["id"].as_str().expect("an id").to_owned(), record)
        })
        .collect()
}

fn records() -> Vec<Value> {
    let mut records: Vec<Value> = (0..18)
        .map(|at| {
            let mut record = json!({"id": format!("e{at}"), "question": format!("When does ferry {} leave?", at / 3),
                "answer": format!("Ferry {} leaves at {at}, é🙂.", at / 3), "reference": "at noon",
                "labels": [{"start": 0, "end": 5}], "source_id": format!("s{}", at / 3)});
            if at % 2 == 0 {
                record["contexts"] = json!([format!("Ferry {} leaves at noon.", at / 3), "It is a ferry."]);
            } else {
                record["source_ids"] = json!([format!("d{}", at / 3)]);
            }
            record
        })
        .collect();
    records.push(json!({"id": "mute", "question": "When?"}));
    records.push(json!({"id": "odd", "question": "When?", "answer": 7, "contexts": "[broken"}));
    records
}

#[test]
fn shuffled_records_give_the_same_evidence() {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let documents: Vec<Value> = (0..8)
        .map(|at| json!({"id": format!("d{at}"), "text": format!("Ferry {at} leaves at noon. Same words here.")}))
        .collect();
    sandbox.write_lines("data/documents.jsonl", &documents);
    let mut records = records();
    sandbox.write_lines("data/examples.jsonl", &records);
    let score = ["score", "data", "--model", "tiny"];
    let straight = by_id(&sandbox.run(&score).code(0).stdout);
    assert_eq!(straight.len(), records.len());
    let mut random = ragscope::metrics::Random::new(9);
    for _ in 0..3 {
        random.shuffle(&mut records);
        sandbox.write_lines("data/examples.jsonl", &records);
        let shuffled = by_id(&sandbox.run(&score).code(0).stdout);
        for (id, expected) in &straight {
            assert_eq!(&shuffled[id], expected, "{id}");
        }
    }
}

mod together {
    use super::*;
    use ragscope::model::{CacheDirectory, LanguageModel, ModelLocation, StateLayer};
    use ragscope::reading::{KeptSignals, ReadAnswer, Reader};
    use std::sync::OnceLock;

    fn model() -> &'static LanguageModel {
        static MODEL: OnceLock<(Sandbox, LanguageModel)> = OnceLock::new();
        &MODEL
            .get_or_init(|| {
                let sandbox = Sandbox::new();
                let folder = sandbox.work().join("tiny");
                tiny_model::write(&folder);
                let cache = CacheDirectory::at(sandbox.cache());
                let model =
                    LanguageModel::open(&ModelLocation::Directory(folder), &cache).expect("the tiny model");
                (sandbox, model)
            })
            .1
    }

    fn close(one: &[f32], other: &[f32]) -> bool {
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| (a - b).abs() <= 1e-4)
    }

    fn same(one: &ReadAnswer, other: &ReadAnswer) -> bool {
        let (a, b) = (&one.trace, &other.trace);
        a.token_ranges == b.token_ranges
            && close(&a.log_prob_with, &b.log_prob_with)
            && close(&a.log_prob_without, &b.log_prob_without)
            && close(&a.lookback.chunk_mass, &b.lookback.chunk_mass)
            && close(&a.lookback.prompt_mass, &b.lookback.prompt_mass)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
        #[test]
        fn answers_read_together_are_those_read_alone_and_masses_add_up(
            answers in proptest::collection::vec("[a-zé🙂 .]{1,60}", 1..5),
            passages in proptest::collection::vec("[a-z市 .]{1,80}", 1..4),
        ) {
            let layers = vec![StateLayer::FinalNorm];
            let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
            let borrowed: Vec<&str> = answers.iter().map(String::as_str).collect();
            let mut together = Reader::new(model(), layers.clone()).keeping(KeptSignals::default());
            let all = together.read_many("When?", &passages, &borrowed);
            for (answer, read) in answers.iter().zip(all) {
                let read = read.expect("it is read");
                let alone = Reader::new(model(), layers.clone()).read("When?", &passages, answer).expect("it is read");
                prop_assert!(same(&read, &alone), "{answer:?}");
                // Tokens rebuild the answer byte for byte.
                let mut ranges = read.trace.token_ranges.clone();
                ranges.dedup();
                let rebuilt: String = ranges.iter().map(|range| &answer[range.clone()]).collect();
                prop_assert_eq!(&rebuilt, answer);
                // Each head's mass on the chunks is part of that on the prompt, which is part of all.
                let chunks = passages.len();
                let mass = &read.trace.lookback;
                for (of_chunks, prompt) in mass.chunk_mass.chunks(chunks).zip(&mass.prompt_mass) {
                    let sum: f32 = of_chunks.iter().sum();
                    prop_assert!(sum <= prompt + 1e-5 && *prompt <= 1.0 + 1e-5, "{sum} of {prompt}");
                }
            }
        }
    }
}
