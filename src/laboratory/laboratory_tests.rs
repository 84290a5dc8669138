//! What the laboratory compares, on made-up features with a planted signal.

use std::collections::BTreeSet;

use super::super::synthetic_store::{examples, filled, folds, header, written};
use super::super::{FeatureStore, ScoreCache, StoreHeader, TokenClassifier, TokenMethod};
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
    every_row_is_evaluated_and_the_same_twice(&store, &settings);
}

fn every_row_is_evaluated_and_the_same_twice(
    store: &FeatureStore,
    settings: &EvaluationSettings,
) -> serde_json::Value {
    let pool = FeaturePool::of(store);
    let protocol = Protocol::cross_validation(&pool, &folds(store, 3)).unwrap();
    let evaluated = || {
        let report = evaluate(&pool, &protocol, settings, &mut ScoreCache::default(), &mut |_| {}).unwrap();
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
    parsed
}

fn every_comparison_is_made(report: &serde_json::Value, settings: &EvaluationSettings) {
    assert_eq!(report["comparisons"].as_array().unwrap().len(), settings.comparisons.len());
}

/// Settings whose every perceptron is small.
fn hurried(mut settings: EvaluationSettings) -> EvaluationSettings {
    fn hurry(classifier: &mut TokenClassifier) {
        match classifier {
            TokenClassifier::Mlp(mlp) => mlp.epochs = 2,
            TokenClassifier::PrincipalComponents { head, components } => {
                *components /= 16;
                hurry(head);
            }
            _ => {}
        }
    }
    fn hurry_method(method: &mut TokenMethod) {
        match method {
            TokenMethod::Trained { classifier, .. } => hurry(classifier),
            TokenMethod::Ensemble { members, .. } => members.iter_mut().for_each(|(_, own)| hurry(own)),
            TokenMethod::FittedChain { of, .. } => hurry_method(of),
            _ => {}
        }
    }
    settings.methods.iter_mut().for_each(hurry_method);
    settings.resamples = 50;
    settings
}

#[test]
fn every_recipe_is_evaluated_and_compared_with_the_shipped_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), &examples(30, 2.0));
    let settings = hurried(EvaluationSettings::recipes(store.header(), &small()));
    let names: BTreeSet<&str> = settings.methods.iter().map(TokenMethod::name).collect();
    assert_eq!(names.len(), settings.methods.len(), "{names:?}");
    let shipped = "D + c, block-1, regularised";
    assert!(settings.comparisons.iter().all(|pair| pair.second.0 == shipped));
    assert_eq!(settings.comparisons.len(), names.len() - 1);
    for part in
        ["linear head", "components", "dropout", "weight decay", "four seeds", "three layers", "chain"]
    {
        assert!(names.iter().any(|name| name.contains(part)), "no {part} among {names:?}");
    }
    let report = every_row_is_evaluated_and_the_same_twice(&store, &settings);
    every_comparison_is_made(&report, &settings);
}

#[test]
fn every_switch_of_cortex_is_turned_by_itself_on_features_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut switches = StoreHeader::cortex_switches(header().model, "dd44");
    switches.chunk_blocks = 3;
    let needed = [StateLayer::Block(1), StateLayer::Block(2), StateLayer::FinalNorm];
    assert_eq!(switches.layers(), needed, "attention of all blocks needs them all");
    let store = written(folder.path(), &switches, &examples(30, 2.0));
    let settings = hurried(EvaluationSettings::cortex_switches(&switches, &small()));
    let names: Vec<&str> = settings.methods.iter().map(TokenMethod::name).collect();
    for name in [
        "D, final-norm",
        "D + c, final-norm",
        "D + c, final-norm, unscaled",
        "D + c, final-norm, renormalised",
        "D + c, final-norm, attention of all layers",
        "D + c, before the final norm",
        "D + c, block-1",
        "D + c, block-1, renormalised",
        "D + c, block-1, attention of all layers",
    ] {
        assert_eq!(names.iter().filter(|own| **own == name).count(), 1, "{name} among {names:?}");
    }
    let second = |name: &str| {
        let pair = settings.comparisons.iter().find(|pair| pair.first.0 == name);
        pair.map(|pair| pair.second.0.as_str())
    };
    assert_eq!(second("D + c, final-norm, renormalised"), Some("D + c, final-norm"));
    assert_eq!(second("D + c, block-1, renormalised"), Some("D + c, block-1"));
    assert_eq!(second("D + c, final-norm"), None);
    let report = every_row_is_evaluated_and_the_same_twice(&store, &settings);
    every_comparison_is_made(&report, &settings);
}
