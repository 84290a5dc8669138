//! Made-up feature stores for tests, with a signal planted where it is wanted.

use std::path::Path;

use crate::detect::synthetic::{Planted, answer, trace};
use crate::detect::{ModelIdentity, ModelShape};
use crate::metrics::Random;
use crate::reading::{StateLayer, Trace};

use super::{FeatureStore, LabelledAnswer, StoreHeader};

/// Tokens of every answer.
const TOKENS: usize = 40;

pub(super) fn header() -> StoreHeader {
    let shape = ModelShape { layers: 2, heads: 3, hidden_size: 6 };
    let model = ModelIdentity { name: "made-up".to_owned(), hash: "aa11".to_owned(), shape, text: None };
    let mut header = StoreHeader::new(model, "dd44", &[StateLayer::FinalNorm, StateLayer::Block(1)]);
    header.chunk_blocks = 3;
    header
}

/// Labelled answers and their traces: two answers to each source, by two generators, "careful" without
/// any unsupported span. `strength` is the size of the planted signal.
pub(super) fn examples(count: usize, strength: f32) -> Vec<(LabelledAnswer, Trace)> {
    let mut random = Random::new(9);
    (0..count)
        .map(|number| {
            let careful = number % 2 == 1;
            let from = random.below(TOKENS - 10);
            let labelled = !careful && random.below(3) > 0;
            let shifted = (0..TOKENS).map(|t| labelled && (from..from + 8).contains(&t)).collect();
            let planted = Planted {
                tokens: TOKENS,
                layers: 2,
                heads: 3,
                hidden_size: 6,
                chunks: 2,
                shifted,
                strength,
                seed: 1000 + number as u64,
            };
            let span = 2 * from..2 * (from + 7) + 1;
            let label = LabelledAnswer {
                key: format!("row-{number}"),
                source: format!("source-{}", number / 2),
                generator: Some(if careful { "careful" } else { "careless" }.to_owned()),
                task: None,
                split: None,
                answer: answer(TOKENS),
                gold_spans: labelled.then_some(span).into_iter().collect(),
                inconsistent: labelled,
            };
            (label, trace(&planted))
        })
        .collect()
}

pub(super) fn filled(folder: &Path, examples: &[(LabelledAnswer, Trace)]) -> FeatureStore {
    written(folder, &header(), examples)
}

/// A store of other data: its answers say other things, its hash and its name are `name`.
pub(super) fn filled_as(folder: &Path, examples: &[(LabelledAnswer, Trace)], name: &str) -> FeatureStore {
    let mut header = header();
    header.data_hash = format!("hash of {name}");
    header.settings.insert("data".to_owned(), name.to_owned());
    let renamed: Vec<(LabelledAnswer, Trace)> = examples
        .iter()
        .map(|(label, trace)| {
            (LabelledAnswer { answer: format!("{}; {name}", label.answer), ..label.clone() }, trace.clone())
        })
        .collect();
    written(folder, &header, &renamed)
}

pub(super) fn written(
    folder: &Path,
    header: &StoreHeader,
    examples: &[(LabelledAnswer, Trace)],
) -> FeatureStore {
    let mut store = FeatureStore::open(folder, header).unwrap();
    for (label, trace) in examples {
        store.append(label, trace).unwrap();
    }
    store.save().unwrap();
    store
}

/// Fold of each answer by its source.
pub(super) fn folds(store: &FeatureStore, count: usize) -> Vec<usize> {
    (0..store.answers().len()).map(|number| number / 2 % count).collect()
}
