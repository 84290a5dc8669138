use super::*;
use crate::detect::{
    BlockValues, FeatureBlock, FeatureRows, LogisticRegression, LogisticSettings, Mlp, MlpSettings,
    Standardisation,
};
use crate::metrics::Random;

const ROWS: usize = 700;
const WIDTH: usize = 12;

/// Values in half precision and in three files with something before the rows, and labels.
fn kept(folder: &std::path::Path) -> (Vec<f16>, StoredRows, Vec<bool>) {
    let mut random = Random::new(5);
    let labels: Vec<bool> = (0..ROWS).map(|_| random.uniform() < 0.3).collect();
    let values: Vec<f32> = (0..ROWS * WIDTH)
        .map(|at| random.uniform() as f32 + if at % WIDTH == 1 && labels[at / WIDTH] { 0.5 } else { 0.0 })
        .collect();
    let bytes = Precision::F16.encode(&values);
    let mut segments = Vec::new();
    for (number, bytes) in bytes.chunks(300 * WIDTH * 2).enumerate() {
        let path = folder.join(format!("{number}"));
        std::fs::write(&path, [&[7_u8; 5], bytes].concat()).unwrap();
        segments.push(RowSegment { path, offset: 5, rows: bytes.len() / (2 * WIDTH) });
    }
    let halves = values.iter().map(|&value| f16::from_f32(value)).collect();
    (halves, StoredRows::new(segments, WIDTH, Precision::F16), labels)
}

#[test]
fn rows_from_disk_come_in_the_order_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (halves, stored, _) = kept(folder.path());
    let control: Vec<f32> = (0..ROWS).map(|row| row as f32).collect();
    let memory =
        FeatureRows::new(vec![(BlockValues::F32(&control), 1), (BlockValues::F16(&halves), WIDTH)]).unwrap();
    let disk = FeatureRows::new(vec![(BlockValues::F32(&control), 1), (BlockValues::Stored(&stored), WIDTH)])
        .unwrap();
    let mut rows: Vec<usize> = (0..ROWS).chain([3, 3, 699, 299, 300]).collect();
    Random::new(1).shuffle(&mut rows);
    let (mut a, mut b) = (vec![0.0; rows.len() * 13], vec![1.0; rows.len() * 13]);
    memory.copy_rows(&rows, &mut a).unwrap();
    disk.copy_rows(&rows, &mut b).unwrap();
    assert_eq!(a, b);
    assert!(matches!(disk.copy_rows(&[ROWS], &mut [0.0; 13]), Err(DetectError::Mismatch { .. })));
    assert!(matches!(disk.copy_row(0, &mut [0.0; 12]), Err(DetectError::Mismatch { .. })));
}

#[test]
fn a_perceptron_trained_from_disk_is_the_one_trained_from_memory_bit_by_bit() {
    let folder = tempfile::tempdir().unwrap();
    let (halves, stored, labels) = kept(folder.path());
    let rows: Vec<usize> = (0..ROWS).filter(|row| row % 5 > 0).collect();
    let settings = MlpSettings { hidden: vec![8], batch: 128, epochs: 2, ..MlpSettings::default() };
    let train = |values| {
        let features = FeatureRows::new(vec![(values, WIDTH)]).unwrap();
        let mlp = Mlp::train(&features, &labels, &rows, &settings).unwrap();
        let scores = mlp.probabilities(&features, &[3, 699, 1]).unwrap();
        (mlp, scores)
    };
    assert_eq!(train(BlockValues::F16(&halves)), train(BlockValues::Stored(&stored)));
}

#[test]
fn a_logistic_regression_that_reads_its_rows_in_every_pass_agrees_with_a_dense_one() {
    let folder = tempfile::tempdir().unwrap();
    let (halves, stored, labels) = kept(folder.path());
    let rows: Vec<usize> = (0..ROWS).filter(|row| row % 5 > 0).collect();
    let fit = |values, limit| {
        let features = FeatureRows::new(vec![(values, WIDTH)]).unwrap().with_memory_limit(limit);
        let standardisation = Standardisation::fit(&features, &rows).unwrap();
        let settings = LogisticSettings::default();
        LogisticRegression::fit_rows(&features, &labels, &rows, &standardisation, &settings).unwrap()
    };
    let dense = fit(BlockValues::F16(&halves), u64::MAX);
    for streamed in [fit(BlockValues::Stored(&stored), 0), fit(BlockValues::F16(&halves), 0)] {
        assert!((dense.intercept - streamed.intercept).abs() < 1e-6);
        for (a, b) in dense.coefficients.iter().zip(&streamed.coefficients) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
}

#[test]
fn a_file_that_is_gone_or_short_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let (_, stored, labels) = kept(folder.path());
    let features =
        FeatureRows::new(vec![(BlockValues::Stored(&stored), WIDTH)]).unwrap().with_memory_limit(0);
    let rows: Vec<usize> = (0..ROWS).collect();
    let standardisation = Standardisation::fit(&features, &rows).unwrap();
    let path = folder.path().join("1");
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(50).unwrap();
    let settings = LogisticSettings::default();
    let fitted = LogisticRegression::fit_rows(&features, &labels, &rows, &standardisation, &settings);
    assert!(matches!(&fitted, Err(DetectError::Rows { path: named, .. }) if *named == path), "{fitted:?}");
    assert!(matches!(Standardisation::fit(&features, &[400]), Err(DetectError::Rows { .. })));
}

#[test]
fn scalars_keep_full_precision_and_wide_blocks_half() {
    assert_eq!(FeatureBlock::Likelihood.precision(), Precision::F32);
    assert_eq!(FeatureBlock::LogChunkMass.precision(), Precision::F16);
    assert_eq!(Precision::F16.encode(&[1e9]), f16::MAX.to_le_bytes());
}
