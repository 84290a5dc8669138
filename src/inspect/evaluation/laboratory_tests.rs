//! What the laboratory compares, on made-up features with a planted signal.

use std::collections::BTreeSet;

use super::super::synthetic_store::{examples, filled, folds, header};
use super::super::{ScoreCache, StoreHeader, TokenClassifier, TokenMethod};
use super::*;
use crate::detect::{FeatureBlock, SparseAutoencoderSettings};

fn small() -> MlpSettings {
    MlpSettings { hidden: vec![8], batch: 256, epochs: 2, learning_rate: 5e-3, ..MlpSettings::default() }
}

#[test]
fn the_laboratory_has_every_method_of_the_papers_once_and_compares_only_what_it_has() {
    // Deep enough that the middle and three quarters of the depth are two layers.
    let mut model = header().model;
    model.shape.layers = 8;
    let deep = StoreHeader::new(model, "dd44", &StoreHeader::default_layers(8));
    let settings = EvaluationSettings::laboratory(&deep, &small());
    let names: Vec<&str> = settings.methods.iter().map(TokenMethod::name).collect();
    let different: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
    for name in [
        "generator + position control",
        "lexical support control",
        "NLL",
        "LLM-Check, attention, best layer",
        "ICR Probe",
        "Lookback Lens, per token",
        "Lookback Lens, windows of 8",
        "SAPLMA, middle layer",
        "SAPLMA, last layer",
        "RAGLens, middle layer",
        "D, final-norm",
        "D + c, final-norm",
        "D, block-6",
        "D + c, block-6",
        "fusion",
        "fusion, four seeds",
        "fusion and light, tempered",
    ] {
        assert!(different.contains(name), "no {name} among {names:?}");
    }
    for name in settings.curves.iter().chain(&settings.certified) {
        assert!(different.contains(name.as_str()), "{name} is drawn or certified and not a row");
    }
}

#[test]
fn a_store_without_a_block_loses_the_rows_that_need_it_and_no_other() {
    let mut lacking = header();
    lacking.blocks.retain(|block| *block != FeatureBlock::InformationContribution);
    let all = TokenMethod::laboratory(&header(), &small());
    let left = TokenMethod::laboratory(&lacking, &small());
    let names = |methods: &[TokenMethod]| -> BTreeSet<String> {
        methods.iter().map(|method| method.name().to_owned()).collect()
    };
    let lost: Vec<String> = names(&all).difference(&names(&left)).cloned().collect();
    assert_eq!(lost, ["ICR Probe"]);
}

#[test]
fn every_row_of_the_laboratory_is_evaluated_and_the_same_twice() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), &examples(30, 2.0));
    let mut settings = EvaluationSettings::laboratory(store.header(), &small());
    settings.resamples = 50;
    settings.lookback_c = vec![1.0];
    for method in &mut settings.methods {
        // A dictionary that fits six numbers, not hundreds.
        if let TokenMethod::Trained { classifier: TokenClassifier::Dictionary { autoencoder, .. }, .. } =
            method
        {
            *autoencoder = SparseAutoencoderSettings { dictionary: 16, active: 2, ..autoencoder.clone() };
        }
    }
    let pool = FeaturePool::of(&store);
    let protocol = Protocol::cross_validation(&pool, &folds(&store, 3)).unwrap();
    let evaluated = || {
        let report = evaluate(&pool, &protocol, &settings, &mut ScoreCache::default(), &mut |_| {}).unwrap();
        serde_json::to_string(&report).unwrap()
    };
    let report = evaluated();
    assert!(!report.contains("NaN"));
    let parsed: serde_json::Value = serde_json::from_str(&report).unwrap();
    let rows: BTreeSet<&str> =
        parsed["rows"].as_array().unwrap().iter().filter_map(|row| row["name"].as_str()).collect();
    for method in &settings.methods {
        assert!(rows.contains(method.name()), "{} has no row; skipped: {}", method.name(), parsed["skipped"]);
    }
    assert_eq!(evaluated(), report, "nothing but the seed decides");
}
