//! Peak memory of training at the size of thousands of answers. Not part of the suite: gigabytes and minutes.
//!
//! ```sh
//! ANSWERS=10000 cargo test --release --lib peak_memory -- --ignored --nocapture
//! ```
//!
//! `SHAPE=8b` takes the width and depth of an 8B model (32 layers of 32 heads, 4096 values) instead of the default
//! model's.

use std::time::Instant;

use super::super::{
    EvaluationSettings, FeaturePool, Protocol, ScoreCache, TokenClassifier, TokenMethod, evaluate,
};
use super::*;
use crate::detect::{LogisticSettings, MlpSettings, ModelIdentity};
use crate::metrics::Random;
use crate::reading::StateLayer;

/// As RAGTruth's answers: 144 tokens on average.
const TOKENS: usize = 144;

/// A line of `/proc/self/status` in MiB.
fn memory(line: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let value = status.lines().find_map(|own| own.strip_prefix(line))?.split_whitespace().nth(1)?;
    value.parse::<f64>().ok().map(|kib| kib / 1024.0)
}

/// Begins to measure the peak anew, where the system allows it.
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn header(name: &str) -> StoreHeader {
    let shape = match name {
        "8b" => ModelShape { layers: 32, heads: 32, hidden_size: 4096 },
        _ => ModelShape { layers: 30, heads: 9, hidden_size: 576 },
    };
    let layer = StateLayer::Block(shape.layers * 3 / 4);
    let model = ModelIdentity { shape, ..super::super::synthetic_store::header().model };
    let mut header = StoreHeader::new(model, "made up", &[layer]);
    header.blocks = vec![
        FeatureBlock::Difference { layer },
        FeatureBlock::LogChunkMass,
        FeatureBlock::Likelihood,
        FeatureBlock::Divergence,
        FeatureBlock::LexicalSupport,
    ];
    header
}

/// Features of noise, with a signal in the first value of every block for the unsupported tokens; [T, width].
fn noise(column: Column, shape: ModelShape, labels: &[bool], random: &mut Random) -> Vec<u8> {
    let width = column.width(shape);
    let rows = match column {
        Column::Tokens(_) => labels.len(),
        Column::Answers(_) => 1,
    };
    let mut values = Vec::with_capacity(rows * width);
    for row in 0..rows {
        let mut bits = 0;
        for at in 0..width {
            if at % 4 == 0 {
                bits = random.next_u64();
            }
            let noise = (bits >> (16 * (at % 4)) & 0xffff) as f32 / 65_536.0 - 0.5;
            let signal = if at == 0 && labels.get(row).copied().unwrap_or(false) { 0.5 } else { 0.0 };
            values.push(noise + signal);
        }
    }
    column.precision().encode(&values)
}

fn fill(store: &mut FeatureStore, answers: usize) {
    let shape = store.header.model.shape;
    let columns = store.columns.clone();
    for number in 0..answers {
        let mut random = Random::for_task(5, number as u64);
        let span = (number % 3 == 0).then_some(2 * 40..2 * 52);
        let labels: Vec<bool> =
            (0..TOKENS).map(|token| span.as_ref().is_some_and(|span| span.contains(&(2 * token)))).collect();
        let encoded: Vec<Vec<u8>> =
            columns.iter().map(|&column| noise(column, shape, &labels, &mut random)).collect();
        let labelled = LabelledAnswer {
            key: number.to_string(),
            source: format!("source-{}", number / 6),
            generator: Some(format!("generator-{}", number % 6)),
            task: None,
            split: None,
            answer: crate::detect::synthetic::answer(TOKENS),
            inconsistent: span.is_some(),
            gold_spans: span.into_iter().collect(),
        };
        store.keys.insert(labelled.key.clone(), number);
        let token_ranges = (0..TOKENS).map(|t| if t == 0 { 0..1 } else { 2 * t - 1..2 * t + 1 }).collect();
        let first_token = store.token_count();
        store.answers.push(StoredAnswer { labelled, token_ranges, first_token });
        store.growing.push(encoded);
        if store.growing_is_full() {
            store.save().unwrap();
            store.growing.clear();
            store.saved = 0;
        }
    }
    store.save().unwrap();
}

#[test]
#[ignore = "gigabytes and minutes; prints the peak memory of training"]
fn peak_memory_of_training_does_not_follow_the_size_of_the_features() {
    let read = |name: &str| std::env::var(name).ok();
    let answers: usize = read("ANSWERS").and_then(|count| count.parse().ok()).unwrap_or(2000);
    let header = header(&read("SHAPE").unwrap_or_default());
    let folder = tempfile::tempdir().unwrap();
    let mut store = FeatureStore::open(folder.path(), &header).unwrap();
    fill(&mut store, answers);
    drop(store);
    let store = FeatureStore::open(folder.path(), &header).unwrap();
    let bytes: u64 = header.blocks.iter().map(|&block| store.block_bytes(block)).sum();
    let layer = StateLayer::Block(header.model.shape.layers * 3 / 4);
    let light = [
        FeatureBlock::LogChunkMass,
        FeatureBlock::Likelihood,
        FeatureBlock::Divergence,
        FeatureBlock::LexicalSupport,
    ];
    // One pass of training reads and keeps what ten do.
    let mlp = MlpSettings { epochs: 1, ..MlpSettings::regularised() };
    let logistic = LogisticSettings { max_iterations: 5, ..LogisticSettings::default() };
    let trained = |name: &str, blocks: Vec<FeatureBlock>, classifier| TokenMethod::Trained {
        name: name.to_owned(),
        blocks,
        classifier,
    };
    let fusion = [&[FeatureBlock::Difference { layer }], &light[..]].concat();
    let settings = EvaluationSettings {
        methods: vec![
            trained("light, logistic", light.to_vec(), TokenClassifier::Logistic(logistic)),
            trained("fusion", fusion, TokenClassifier::Mlp(mlp)),
        ],
        only: vec!["light".to_owned(), "fusion".to_owned()],
        resamples: 50,
        ..EvaluationSettings::standard(&header)
    };
    let pool = FeaturePool::of(&store);
    let folds: Vec<usize> = (0..answers).map(|number| number / 6 % 2).collect();
    let protocol = Protocol::cross_validation(&pool, &folds).unwrap();
    println!(
        "{answers} answers, {} tokens, {:.2} GiB of features; {:.0} MiB in use before",
        pool.token_count(),
        bytes as f64 / f64::from(1 << 30),
        memory("VmRSS").unwrap_or(f64::NAN)
    );
    for name in ["light", "fusion"] {
        forget_peak();
        let started = Instant::now();
        let own = EvaluationSettings { only: vec![name.to_owned()], ..settings.clone() };
        let report =
            evaluate(&pool, &protocol, &own, &mut ScoreCache::default(), &mut |step| println!("{step}"))
                .unwrap();
        assert_eq!(report.rows.len(), 1);
        println!(
            "{name}: peak {:.0} MiB, {:.0} s",
            memory("VmHWM").unwrap_or(f64::NAN),
            started.elapsed().as_secs_f64()
        );
    }
}
