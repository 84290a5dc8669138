//! Heads of detectors, and the stores that they are trained from.

use ragscope::detect::{AnswerHead, ModelIdentity, ModelShape, TokenHead};
use ragscope::laboratory::{FeatureStore, LabelledAnswer, StoreHeader};
use ragscope::metrics::Random;
use ragscope::model::StateLayer;
use ragscope::reading::{LayerStates, LookbackMass, Trace};

use crate::engine::{Target, said, words};
use crate::importers::folder;
use crate::mutation::Kind;
use crate::sandbox::repository;

fn heads() -> [Target; 2] {
    let shipped = repository("assets/heads/smollm2-135m-instruct");
    let bytes = |name: &str| std::fs::read(shipped.join(name)).expect("a shipped head");
    let (token, answer) = (bytes("token.safetensors"), bytes("answer.safetensors"));
    let identity = TokenHead::card_of(&token).expect("the shipped card").model;
    let own = identity.clone();
    let hints =
        words(&["ragscope_head", "blocks", "shape", "layers", "F32", "F64", "data_offsets", "threshold"]);
    [
        Target {
            name: "token-head",
            kind: Kind::Binary,
            seeds: vec![token],
            words: hints.clone(),
            read: Box::new(move |bytes| {
                let card = TokenHead::card_of(bytes).map_or_else(|error| said(&error), |card| card.name);
                match TokenHead::from_bytes(bytes, &identity) {
                    Ok(head) => format!("ok {}", head.layers().len()),
                    Err(error) => said(&error) + &card,
                }
            }),
        },
        Target {
            name: "answer-head",
            kind: Kind::Binary,
            seeds: vec![answer],
            words: hints,
            read: Box::new(move |bytes| match AnswerHead::from_bytes(bytes, &own) {
                Ok(_) => "ok".to_owned(),
                Err(error) => said(&error),
            }),
        },
    ]
}

/// A reading with made-up numbers.
fn trace(random: &mut Random, tokens: usize, shape: ModelShape) -> Trace {
    let mut values =
        |count: usize| -> Vec<f32> { (0..count).map(|_| random.uniform() as f32 * 0.1).collect() };
    let state = |layer, values: &mut dyn FnMut(usize) -> Vec<f32>| LayerStates {
        layer,
        with_references: values(tokens * shape.hidden_size),
        without_references: values(tokens * shape.hidden_size),
        answer_attention: values(tokens * tokens),
    };
    Trace {
        token_ranges: (0..tokens).map(|at| at * 2..at * 2 + 1).collect(),
        token_ids: (0..tokens as u32).collect(),
        layers: shape.layers,
        heads: shape.heads,
        hidden_size: shape.hidden_size,
        states: vec![state(StateLayer::FinalNorm, &mut values), state(StateLayer::Block(1), &mut values)],
        log_prob_with: values(tokens),
        log_prob_without: values(tokens),
        entropy_with: values(tokens),
        divergence: Some(values(tokens)),
        lexical_support: values(tokens),
        self_attention: Some(values(tokens * shape.layers)),
        information_contribution: Some(values(tokens * shape.layers)),
        lookback: LookbackMass {
            chunk_tokens: vec![3, 4],
            prompt_tokens: 12,
            chunk_mass: values(tokens * shape.layers * shape.heads * 2),
            prompt_mass: values(tokens * shape.layers * shape.heads),
        },
    }
}

fn feature_store() -> Target {
    let place = folder();
    let made = place.path().join("made");
    let shape = ModelShape { layers: 2, heads: 3, hidden_size: 4 };
    let model = ModelIdentity { name: "made-up".to_owned(), hash: "aa11".to_owned(), shape, text: None };
    let header = StoreHeader::new(model, "dd44", &[StateLayer::FinalNorm, StateLayer::Block(1)]);
    let mut store = FeatureStore::open(&made, &header).expect("a store");
    let mut random = Random::new(4);
    for number in 0..3 {
        let label = LabelledAnswer {
            key: format!("row-{number}"),
            source: format!("source-{number}"),
            generator: None,
            task: None,
            split: None,
            answer: "a b c d e".to_owned(),
            gold_spans: vec![0..1],
            inconsistent: true,
        };
        store.append(&label, &trace(&mut random, 5, shape)).expect("an answer");
    }
    store.save().expect("a store");
    drop(store);
    let read = |name: &str| std::fs::read(made.join(name)).expect("a store has it");
    let (head, shard) = (read("header.json"), read("shard-00000.safetensors"));
    Target {
        name: "feature-store",
        kind: Kind::Binary,
        seeds: vec![head.clone(), shard.clone()],
        words: words(&["checksum", "seal", "F16", "U8", "data_offsets", "answers", "header"]),
        read: Box::new(move |bytes| {
            let _kept = &place;
            // The header is text.
            let is_head = bytes.first() == Some(&b'{');
            std::fs::write(made.join("header.json"), if is_head { bytes } else { &head }).expect("a file");
            std::fs::write(made.join("shard-00000.safetensors"), if is_head { &shard } else { bytes })
                .expect("a file");
            match FeatureStore::read(&made) {
                Ok(store) => {
                    let mut outcome = format!("ok {}", store.answers().len());
                    for block in store.header().blocks.clone() {
                        if let Err(error) = store.load(block) {
                            outcome += &said(&error);
                        }
                    }
                    outcome
                }
                Err(error) => said(&error),
            }
        }),
    }
}

pub fn targets() -> Vec<Target> {
    heads().into_iter().chain([feature_store()]).collect()
}
