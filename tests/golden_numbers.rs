//! The numbers of the field's own libraries: scikit-learn, rouge-score, scipy.

use ragscope::certify::{
    Alpha, Calibration, Quantile, RougeMode, RougeSettings, clopper_pearson, kolmogorov_smirnov, rouge_l,
};
use ragscope::metrics::{Measure, auroc, average_precision, brier, expected_calibration_error};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
struct Golden<Case> {
    cases: Vec<Case>,
}

fn cases<Case: DeserializeOwned>(json: &str) -> Vec<Case> {
    let golden: Golden<Case> = serde_json::from_str(json).unwrap();
    assert!(!golden.cases.is_empty());
    golden.cases
}

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, expected {expected}");
}

#[derive(Deserialize)]
struct MetricsCase {
    labels: Vec<u8>,
    scores: Vec<f64>,
    average_precision: f64,
    auroc: f64,
    brier: f64,
    ece10: f64,
}

#[test]
fn measures_agree_with_scikit_learn_with_ties_and_imbalance() {
    for (number, case) in cases::<MetricsCase>(include_str!("golden/metrics.json")).iter().enumerate() {
        let labels: Vec<bool> = case.labels.iter().map(|&label| label == 1).collect();
        let close = |name: &str, found: Measure, expected: f64| {
            assert_close(found.value().unwrap(), expected, 1e-9, &format!("case {number}, {name}"));
        };
        close("average precision", average_precision(&labels, &case.scores), case.average_precision);
        close("AUROC", auroc(&labels, &case.scores), case.auroc);
        // The reference values of these two were computed on probabilities kept off 0 and 1.
        let inside: Vec<f64> = case.scores.iter().map(|score| score.clamp(1e-6, 1.0 - 1e-6)).collect();
        close("Brier", brier(&labels, &inside), case.brier);
        close("ECE", expected_calibration_error(&labels, &inside), case.ece10);
    }
}

#[derive(Deserialize)]
struct RougeCase {
    reference: String,
    candidate: String,
    stemmer: bool,
    precision: f64,
    recall: f64,
    fmeasure: f64,
}

#[test]
fn rouge_l_agrees_with_rouge_score_and_the_default_mode_with_both_on_ascii() {
    let mut ascii = 0;
    for case in cases::<RougeCase>(include_str!("golden/rouge.json")) {
        let plain = case.reference.is_ascii() && case.candidate.is_ascii();
        ascii += usize::from(plain);
        for mode in [RougeMode::RougeScore, RougeMode::Unicode] {
            if mode == RougeMode::Unicode && !plain {
                continue;
            }
            let settings = RougeSettings { mode, stemming: case.stemmer };
            let found = rouge_l(&case.candidate, &case.reference, settings);
            let what = format!("{mode:?} of {:?} for {:?}", case.candidate, case.reference);
            assert_close(found.precision, case.precision, 1e-9, &what);
            assert_close(found.recall, case.recall, 1e-9, &what);
            assert_close(found.f_measure, case.fmeasure, 1e-9, &what);
        }
    }
    assert!(ascii > 300, "{ascii}");
}

#[derive(Deserialize)]
struct ConformalCase {
    calibration: Vec<f64>,
    alpha: f64,
    k: usize,
    qhat: Option<f64>,
    test: Vec<f64>,
    p_value: Vec<f64>,
    trusted: Vec<bool>,
    coverage_beta_95: Option<[f64; 2]>,
}

#[test]
fn split_conformal_prediction_agrees_with_exact_arithmetic() {
    for case in cases::<ConformalCase>(include_str!("golden/conformal.json")) {
        let what = format!("n {}, alpha {}", case.calibration.len(), case.alpha);
        let alpha = Alpha::from_thousandths((case.alpha * 1000.0).round() as u16);
        let calibration = Calibration::new(case.calibration).unwrap();
        assert_eq!(calibration.rank(alpha), case.k, "{what}");
        let qhat = case.qhat.map_or(Quantile::Infinite, Quantile::At);
        assert_eq!(calibration.quantile(alpha).unwrap(), qhat, "{what}");
        for ((&a, &p), &trusted) in case.test.iter().zip(&case.p_value).zip(&case.trusted) {
            assert_close(calibration.p_value(a).unwrap().value(), p, 1e-15, &what);
            assert_eq!(calibration.trusted(a, alpha).unwrap(), trusted, "{what}, a {a}");
        }
        match (calibration.coverage_band(alpha), case.coverage_beta_95) {
            (Some(band), Some([lower, upper])) => {
                assert_close(band.lower, lower, 1e-9, &what);
                assert_close(band.upper, upper, 1e-9, &what);
            }
            (found, expected) => assert_eq!(found.is_none(), expected.is_none(), "{what}"),
        }
    }
}

#[derive(Deserialize)]
struct IntervalCase {
    successes: usize,
    trials: usize,
    lower: f64,
    upper: f64,
}

#[test]
fn clopper_pearson_agrees_with_scipy() {
    for case in cases::<IntervalCase>(include_str!("golden/clopper_pearson.json")) {
        let what = format!("{} of {}", case.successes, case.trials);
        let found = clopper_pearson(case.successes, case.trials).unwrap();
        assert_close(found.lower, case.lower, 1e-6, &what);
        assert_close(found.upper, case.upper, 1e-6, &what);
    }
}

#[derive(Deserialize)]
struct SampleCase {
    a: Vec<f64>,
    b: Vec<f64>,
    statistic: f64,
    p_asymptotic: f64,
}

#[test]
fn kolmogorov_smirnov_agrees_with_scipy() {
    for case in cases::<SampleCase>(include_str!("golden/ks.json")) {
        let found = kolmogorov_smirnov(&case.a, &case.b).unwrap();
        let what = format!("{} and {} values", case.a.len(), case.b.len());
        assert_close(found.statistic, case.statistic, 1e-12, &what);
        assert_close(found.p_value, case.p_asymptotic, 1e-6, &what);
    }
}
