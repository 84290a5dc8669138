//! Ranking and reliability measures against scikit-learn's own values.

use ragscope::metrics::{Measure, auroc, average_precision, brier, expected_calibration_error};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    labels: Vec<u8>,
    scores: Vec<f64>,
    average_precision: f64,
    auroc: f64,
    brier: f64,
    ece10: f64,
}

#[test]
fn measures_agree_with_scikit_learn_with_ties_and_imbalance() {
    let golden: Golden = serde_json::from_str(include_str!("golden/metrics.json")).unwrap();
    assert!(golden.cases.len() >= 7);
    for (number, case) in golden.cases.iter().enumerate() {
        let labels: Vec<bool> = case.labels.iter().map(|&label| label == 1).collect();
        let close = |name: &str, found: Measure, expected: f64| {
            let found = found.value().unwrap_or(f64::NAN);
            assert!((found - expected).abs() < 1e-9, "case {number}, {name}: {found}, expected {expected}");
        };
        close("average precision", average_precision(&labels, &case.scores), case.average_precision);
        close("AUROC", auroc(&labels, &case.scores), case.auroc);
        close("Brier", brier(&labels, &case.scores), case.brier);
        close("ECE", expected_calibration_error(&labels, &case.scores), case.ece10);
    }
}
