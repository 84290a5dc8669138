//! Logistic regression as scikit-learn fits it: L2, class weights, unpenalised intercept.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::minimiser::minimise;
use super::mlp::gather;
use super::{DetectError, FeatureRows, Standardisation};

/// How a logistic regression is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogisticSettings {
    /// Inverse strength of the penalty; scikit-learn's `C`.
    pub c: f64,
    /// Whether classes weigh n / (2 `n_class`), scikit-learn's `class_weight="balanced"`.
    pub balanced: bool,
    /// Iterations of L-BFGS at most.
    pub max_iterations: usize,
}

impl Default for LogisticSettings {
    /// DRAG (arXiv 2605.05244): `class_weight="balanced"`, C = 1, `max_iter` 1000.
    fn default() -> Self {
        Self { c: 1.0, balanced: true, max_iterations: 1000 }
    }
}

/// A fitted logistic regression.
#[derive(Debug, Clone, PartialEq)]
pub struct LogisticRegression {
    /// One per feature.
    pub coefficients: Vec<f64>,
    /// Unpenalised.
    pub intercept: f64,
    /// Iterations L-BFGS took.
    pub iterations: usize,
    /// Largest component of the gradient of the mean loss where it stopped.
    pub gradient_norm: f64,
}

/// Gradient of the mean loss at which fitting stops.
const TOLERANCE: f64 = 1e-10;

impl LogisticRegression {
    /// Minimises 1/2 |w|^2 + C sum over rows of weight(y) logloss(y, w x + b).
    ///
    /// `features`: [n, `width`] row-major; `labels`: `[n]`, true = positive. Fitted on centred features in
    /// f64, so features far from zero do not slow it down. The sums run over fixed blocks of rows: the
    /// result is the same on any number of threads.
    pub fn fit(
        features: &[f32],
        width: usize,
        labels: &[bool],
        settings: &LogisticSettings,
    ) -> Result<Self, DetectError> {
        if features.len() != labels.len() * width {
            return Err(DetectError::Mismatch {
                what: "feature values",
                expected: labels.len() * width,
                found: features.len(),
            });
        }
        Self::fit_to(&Rows::Dense { features, width }, labels, settings)
    }

    /// As [`Self::fit`], on chosen rows, standardised. `labels`: one per row of `features`.
    ///
    /// The rows become one dense matrix where the limit of `features` allows it; else every pass reads
    /// them again, a few hundred at a time on each thread. Both give the same result.
    pub fn fit_rows(
        features: &FeatureRows<'_>,
        labels: &[bool],
        rows: &[usize],
        standardisation: &Standardisation,
        settings: &LogisticSettings,
    ) -> Result<Self, DetectError> {
        if labels.len() != features.rows() {
            let (expected, found) = (features.rows(), labels.len());
            return Err(DetectError::Mismatch { what: "labels", expected, found });
        }
        features.check_rows(rows)?;
        let row_labels: Vec<bool> = rows.iter().map(|&row| labels[row]).collect();
        if features.may_be_dense(rows.len()) {
            let dense = gather(features, rows, Some(standardisation))?;
            return Self::fit(&dense, features.width(), &row_labels, settings);
        }
        Self::fit_to(&Rows::Streamed { features, rows, standardisation }, &row_labels, settings)
    }

    fn fit_to(source: &Rows<'_>, labels: &[bool], settings: &LogisticSettings) -> Result<Self, DetectError> {
        let (rows, width) = (labels.len(), source.width());
        let positives = labels.iter().filter(|&&label| label).count();
        if positives == 0 || positives == rows {
            return Err(DetectError::OneClass { rows, positives });
        }
        let weight = |positive: bool| {
            let count = if positive { positives } else { rows - positives };
            if settings.balanced { rows as f64 / (2.0 * count as f64) } else { 1.0 }
        };
        let (negative_weight, positive_weight) = (weight(false), weight(true));
        let mean = source
            .column_sums(rows, |_, _| 1.0)?
            .into_iter()
            .map(|sum| sum / rows as f64)
            .collect::<Vec<_>>();
        let penalty = 1.0 / (settings.c * rows as f64);
        // The Hessian's diagonal at w = 0: p (1 - p) = 1/4. The last entry is the intercept.
        let squares = source.column_sums(rows, |value, column| value - 2.0 * mean[column])?;
        let mut curvature: Vec<f64> = squares
            .iter()
            .zip(&mean)
            .map(|(square, mean)| penalty + 0.25 * (square / rows as f64 + mean * mean).max(0.0))
            .collect();
        curvature.push(0.25);

        let block = rows.div_ceil(64).max(32);
        // The minimiser knows no errors: the first one ends it by an infinite value.
        let mut failure = None;
        let objective = |point: &[f64], gradient: &mut [f64]| {
            gradient.fill(0.0);
            if failure.is_some() {
                return f64::INFINITY;
            }
            let (coefficients, intercept) = (&point[..width], point[width]);
            let offset = intercept - coefficients.iter().zip(&mean).map(|(w, m)| w * m).sum::<f64>();
            let parts: Result<Vec<(f64, Vec<f64>)>, DetectError> = labels
                .par_chunks(block)
                .enumerate()
                .map(|(number, labels)| {
                    let from = number * block;
                    let mut loss = 0.0;
                    let mut sums = vec![0.0; width + 1];
                    source.visit(from..from + labels.len(), |row, x| {
                        let positive = labels[row - from];
                        let margin = offset + dot(coefficients, x);
                        let (signed, weight) =
                            if positive { (margin, positive_weight) } else { (-margin, negative_weight) };
                        loss += weight * softplus(-signed);
                        let slope = -weight * sigmoid(-signed);
                        let slope = if positive { slope } else { -slope };
                        for (sum, &value) in sums.iter_mut().zip(x) {
                            *sum += slope * f64::from(value);
                        }
                        sums[width] += slope;
                    })?;
                    Ok((loss, sums))
                })
                .collect();
            let parts = match parts {
                Ok(parts) => parts,
                Err(error) => {
                    failure = Some(error);
                    return f64::INFINITY;
                }
            };
            let mut loss = 0.0;
            for (part, sums) in parts {
                loss += part;
                for (total, sum) in gradient.iter_mut().zip(sums) {
                    *total += sum;
                }
            }
            let count = rows as f64;
            let slopes = gradient[width] / count;
            gradient[width] = slopes;
            let mut squares = 0.0;
            for ((total, &w), &mean) in gradient.iter_mut().zip(coefficients).zip(&mean) {
                *total = *total / count - slopes * mean + penalty * w;
                squares += w * w;
            }
            loss / count + 0.5 * penalty * squares
        };
        let minimum = minimise(objective, &curvature, TOLERANCE, settings.max_iterations);
        if let Some(error) = failure {
            return Err(error);
        }
        let mut coefficients = minimum.point;
        let centred = coefficients.pop().unwrap_or_default();
        let intercept = centred - coefficients.iter().zip(&mean).map(|(w, m)| w * m).sum::<f64>();
        Ok(Self {
            coefficients,
            intercept,
            iterations: minimum.iterations,
            gradient_norm: minimum.gradient_norm,
        })
    }

    /// P(positive) for one row of features.
    #[must_use]
    pub fn probability(&self, features: &[f32]) -> f64 {
        sigmoid(self.intercept + dot(&self.coefficients, features))
    }
}

/// 1 / (1 + exp(-x)) without overflow.
pub(super) fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// ln(1 + exp(x)) without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// Dot product in f64 with eight running sums, which the compiler turns into vector instructions.
fn dot(coefficients: &[f64], x: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    let (w, x) = (coefficients.chunks_exact(8), x.chunks_exact(8));
    let rest: f64 = w.remainder().iter().zip(x.remainder()).map(|(w, &x)| w * f64::from(x)).sum();
    for (w, x) in w.zip(x) {
        for lane in 0..8 {
            sums[lane] += w[lane] * f64::from(x[lane]);
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Rows of a streamed fit that are in memory on each thread.
const STREAMED_ROWS: usize = 256;

/// Where the training rows lie.
enum Rows<'a> {
    /// [n, width] in memory.
    Dense { features: &'a [f32], width: usize },
    /// Read and standardised in every pass.
    Streamed { features: &'a FeatureRows<'a>, rows: &'a [usize], standardisation: &'a Standardisation },
}

impl Rows<'_> {
    const fn width(&self) -> usize {
        match self {
            Self::Dense { width, .. } => *width,
            Self::Streamed { features, .. } => features.width(),
        }
    }

    /// Shows the rows of a range in order, each with its number.
    fn visit(&self, range: Range<usize>, mut each: impl FnMut(usize, &[f32])) -> Result<(), DetectError> {
        match self {
            Self::Dense { features, width } => {
                for row in range {
                    each(row, &features[row * width..(row + 1) * width]);
                }
            }
            Self::Streamed { features, rows, standardisation } => {
                let width = features.width();
                let mut values = vec![0.0; range.len().min(STREAMED_ROWS) * width];
                let mut number = range.start;
                for rows in rows[range].chunks(STREAMED_ROWS) {
                    let values = &mut values[..rows.len() * width];
                    features.copy_rows(rows, values)?;
                    for at in 0..rows.len() {
                        let row = &mut values[at * width..(at + 1) * width];
                        standardisation.apply(row);
                        each(number, row);
                        number += 1;
                    }
                }
            }
        }
        Ok(())
    }

    /// Sum over rows of value * `factor(value, column)`, per column; refuses values that are not finite.
    fn column_sums(&self, rows: usize, factor: impl Fn(f64, usize) -> f64) -> Result<Vec<f64>, DetectError> {
        let mut sums = vec![0.0; self.width()];
        let mut broken = None;
        self.visit(0..rows, |row, x| {
            for (column, &value) in x.iter().enumerate() {
                if !value.is_finite() && broken.is_none() {
                    broken = Some((row, column));
                }
                let value = f64::from(value);
                sums[column] += value * factor(value, column);
            }
        })?;
        match broken {
            Some((token, column)) => Err(DetectError::NotFinite { what: format!("feature {column}"), token }),
            None => Ok(sums),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::metrics::Random;

    #[derive(Deserialize)]
    struct Golden {
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        #[serde(rename = "C")]
        c: f64,
        x: Vec<Vec<f32>>,
        y: Vec<u8>,
        coefficients: Vec<f64>,
        intercept: f64,
        x_test: Vec<Vec<f32>>,
        p_test: Vec<f64>,
    }

    fn agrees(golden: &str) {
        let golden: Golden = serde_json::from_str(golden).unwrap();
        assert!(!golden.cases.is_empty());
        for case in golden.cases {
            let width = case.x[0].len();
            let labels: Vec<bool> = case.y.iter().map(|&y| y == 1).collect();
            let settings = LogisticSettings { c: case.c, ..LogisticSettings::default() };
            let model = LogisticRegression::fit(&case.x.concat(), width, &labels, &settings).unwrap();
            for (found, wanted) in model.coefficients.iter().zip(&case.coefficients) {
                assert!((found - wanted).abs() < 1e-3, "width {width}: {found} for {wanted}");
            }
            assert!((model.intercept - case.intercept).abs() < 1e-3);
            for (x, wanted) in case.x_test.iter().zip(&case.p_test) {
                assert!((model.probability(x) - wanted).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn agrees_with_scikit_learn() {
        agrees(include_str!("../../tests/golden/logreg.json"));
    }

    #[test]
    fn agrees_with_scikit_learn_where_features_outnumber_rows() {
        agrees(include_str!("../../tests/golden/logreg_wide.json"));
    }

    /// Features with a mean far from zero and a label that a tenth of them predict.
    fn planted(rows: usize, width: usize) -> (Vec<f32>, Vec<bool>) {
        let mut random = Random::new(7);
        let mut features = Vec::with_capacity(rows * width);
        let mut labels = Vec::with_capacity(rows);
        for _ in 0..rows {
            let noise: Vec<f64> = (0..width).map(|_| random.uniform() - 0.5).collect();
            let signal: f64 = noise.iter().take(width.div_ceil(10)).sum();
            labels.push(signal + random.uniform() > 0.5);
            let row = noise.iter().enumerate().map(|(j, x)| (x - 3.5 - (j % 3) as f64) as f32);
            features.extend(row);
        }
        (features, labels)
    }

    #[test]
    fn the_gradient_vanishes_where_it_stops() {
        for (rows, width) in [(720, 2700), (3000, 40)] {
            let (features, labels) = planted(rows, width);
            let model =
                LogisticRegression::fit(&features, width, &labels, &LogisticSettings::default()).unwrap();
            assert!(model.gradient_norm < 1e-8, "{} after {}", model.gradient_norm, model.iterations);
        }
    }

    #[test]
    fn the_result_does_not_depend_on_the_number_of_threads() {
        let (features, labels) = planted(2000, 30);
        let fit = || LogisticRegression::fit(&features, 30, &labels, &LogisticSettings::default()).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(fit), fit());
    }

    #[test]
    fn a_shift_of_the_features_moves_only_the_intercept() {
        let (features, labels) = planted(500, 10);
        let shifted: Vec<f32> = features.iter().map(|x| x + 64.0).collect();
        let settings = LogisticSettings { c: 0.01, ..LogisticSettings::default() };
        let a = LogisticRegression::fit(&features, 10, &labels, &settings).unwrap();
        let b = LogisticRegression::fit(&shifted, 10, &labels, &settings).unwrap();
        for (a, b) in a.coefficients.iter().zip(&b.coefficients) {
            assert!((a - b).abs() < 1e-4, "{a} and {b}");
        }
    }

    #[test]
    fn one_class_and_wrong_sizes_are_refused() {
        let settings = LogisticSettings::default();
        let fit = |x: &[f32], y: &[bool]| LogisticRegression::fit(x, 1, y, &settings);
        assert!(matches!(fit(&[1.0, 2.0], &[true, true]), Err(DetectError::OneClass { positives: 2, .. })));
        assert!(matches!(fit(&[], &[]), Err(DetectError::OneClass { .. })));
        assert!(matches!(fit(&[1.0], &[true, false]), Err(DetectError::Mismatch { .. })));
        assert!(matches!(
            fit(&[1.0, f32::NAN], &[true, false]),
            Err(DetectError::NotFinite { token: 1, .. })
        ));
    }

    #[test]
    fn token_level_training_on_strongly_correlated_features_takes_tens_of_seconds_at_most() {
        let (rows, width, factors) = (104_000, 270, 6);
        let mut random = Random::new(11);
        let mut features = Vec::with_capacity(rows * width);
        let mut labels = Vec::with_capacity(rows);
        for _ in 0..rows {
            let latent: Vec<f32> = (0..factors).map(|_| random.uniform() as f32 - 0.5).collect();
            labels.push(f64::from(latent[0]) + random.uniform() > 1.2);
            features.extend((0..width).map(|j| {
                let mix = latent[j % factors] + 0.5 * latent[(j / factors) % factors];
                mix + 0.05 * (random.uniform() as f32 - 0.5) - 3.0
            }));
        }
        let start = std::time::Instant::now();
        let settings = LogisticSettings { c: 0.01, ..LogisticSettings::default() };
        let model = LogisticRegression::fit(&features, width, &labels, &settings).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        println!("{seconds:.1} s, {} iterations, gradient {:e}", model.iterations, model.gradient_norm);
        assert!(model.gradient_norm < 1e-8);
        // Generous: an optimised build needs a few seconds.
        assert!(seconds < if cfg!(debug_assertions) { 600.0 } else { 60.0 });
    }
}
