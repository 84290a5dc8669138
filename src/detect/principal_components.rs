//! Principal components: the directions in which standardised features vary most.

use candle_core::{Device, Tensor};

use crate::metrics::Random;

use super::mlp::gather;
use super::{DetectError, FeatureRows, Standardisation};

/// Rows read at a time.
const BLOCK: usize = 4096;
/// Directions iterated beside those that are kept, so that the last ones kept converge as well.
const SPARE: usize = 8;
/// Passes of the subspace iteration.
const PASSES: usize = 40;

/// A projection of feature rows on their first principal components.
#[derive(Debug, Clone, PartialEq)]
pub struct PrincipalComponents {
    standardisation: Standardisation,
    /// Orthonormal, the one of largest variance first, [k, d].
    directions: Vec<f32>,
    /// Variance along each direction, `[k]`.
    variances: Vec<f64>,
}

impl PrincipalComponents {
    /// Of the correlation matrix of the chosen rows, by subspace iteration with a Rayleigh-Ritz step at the end; the
    /// rows are read once for their scale and once for the matrix, and never held together.
    ///
    /// `count`: components wanted; there are no more than features. The same for the same seed.
    pub fn fit(
        features: &FeatureRows<'_>,
        rows: &[usize],
        count: usize,
        seed: u64,
    ) -> Result<Self, DetectError> {
        features.check_rows(rows)?;
        let width = features.width();
        let standardisation = Standardisation::fit(features, rows)?;
        let correlation = correlation(features, rows, &standardisation)?;
        let tried = (count + SPARE).min(width);
        let mut random = Random::new(seed);
        let mut basis: Vec<f64> = (0..tried * width).map(|_| 2.0 * random.uniform() - 1.0).collect();
        orthonormalise(&mut basis, width);
        for _ in 0..PASSES {
            basis = product(&basis, tried, &correlation)?;
            orthonormalise(&mut basis, width);
        }
        let basis_of = |values: &[f64]| Tensor::from_slice(values, (tried, width), &Device::Cpu);
        let images = product(&basis, tried, &correlation)?;
        let inner = basis_of(&basis)?.matmul(&basis_of(&images)?.t()?)?.flatten_all()?.to_vec1::<f64>()?;
        let (variances, rotation) = eigenvectors(inner, tried);
        let mut order: Vec<usize> = (0..tried).collect();
        order.sort_by(|a, b| variances[*b].total_cmp(&variances[*a]));
        order.truncate(count);
        let directions = order
            .iter()
            .flat_map(|&column| {
                let mut direction = vec![0.0_f64; width];
                for (row, own) in basis.chunks_exact(width.max(1)).enumerate() {
                    let weight = rotation[row * tried + column];
                    direction.iter_mut().zip(own).for_each(|(sum, value)| *sum += weight * value);
                }
                direction
            })
            .map(|value| value as f32)
            .collect();
        let variances = order.iter().map(|&column| variances[column]).collect();
        Ok(Self { standardisation, directions, variances })
    }

    /// How many components there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.variances.len()
    }

    /// Variance along each component, in units of one feature's; they fall.
    #[must_use]
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// The chosen rows along every component, [rows, k].
    pub fn project(&self, features: &FeatureRows<'_>, rows: &[usize]) -> Result<Vec<f32>, DetectError> {
        let (width, count) = (features.width(), self.count());
        if width * count != self.directions.len() {
            return Err(DetectError::Mismatch {
                what: "features of the components",
                expected: self.directions.len() / count.max(1),
                found: width,
            });
        }
        let mut all = Vec::with_capacity(rows.len() * count);
        if count == 0 {
            return Ok(all);
        }
        let directions = Tensor::from_slice(&self.directions, (count, width), &Device::Cpu)?.t()?;
        for rows in rows.chunks(BLOCK) {
            let x = gather(features, rows, Some(&self.standardisation))?;
            let x = Tensor::from_vec(x, (rows.len(), width), &Device::Cpu)?;
            all.extend(x.matmul(&directions)?.flatten_all()?.to_vec1::<f32>()?);
        }
        Ok(all)
    }
}

/// X'X / n of the standardised rows, [d, d].
fn correlation(
    features: &FeatureRows<'_>,
    rows: &[usize],
    standardisation: &Standardisation,
) -> Result<Tensor, DetectError> {
    let width = features.width();
    let mut sums = vec![0.0_f64; width * width];
    for rows in rows.chunks(BLOCK) {
        let x = gather(features, rows, Some(standardisation))?;
        let x = Tensor::from_vec(x, (rows.len(), width), &Device::Cpu)?;
        let part = x.t()?.contiguous()?.matmul(&x)?.flatten_all()?.to_vec1::<f32>()?;
        sums.iter_mut().zip(part).for_each(|(sum, value)| *sum += f64::from(value));
    }
    let count = rows.len().max(1) as f64;
    for sum in &mut sums {
        *sum /= count;
    }
    Ok(Tensor::from_vec(sums, (width, width), &Device::Cpu)?)
}

/// Rows of `basis` times the symmetric matrix, [tried, d].
fn product(basis: &[f64], tried: usize, matrix: &Tensor) -> Result<Vec<f64>, DetectError> {
    let width = basis.len() / tried.max(1);
    let basis = Tensor::from_slice(basis, (tried, width), &Device::Cpu)?;
    Ok(basis.matmul(matrix)?.flatten_all()?.to_vec1::<f64>()?)
}

/// Gram-Schmidt on the rows, each taken twice; a row that depends on those before it becomes 0.
fn orthonormalise(basis: &mut [f64], width: usize) {
    let width = width.max(1);
    for row in 0..basis.len() / width {
        let (before, own) = basis.split_at_mut(row * width);
        let own = &mut own[..width];
        let length = norm(own);
        for _ in 0..2 {
            for other in before.chunks_exact(width) {
                let along: f64 = own.iter().zip(other).map(|(a, b)| a * b).sum();
                own.iter_mut().zip(other).for_each(|(value, other)| *value -= along * other);
            }
        }
        let left = norm(own);
        let scale = if left > 1e-12 * length { 1.0 / left } else { 0.0 };
        for value in own.iter_mut() {
            *value *= scale;
        }
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Eigenvalues of a symmetric matrix [n, n] and its eigenvectors as columns [n, n], by cyclic Jacobi rotations.
fn eigenvectors(mut matrix: Vec<f64>, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    for _ in 0..60 {
        let squares = |off: bool| -> f64 {
            let chosen = (0..n * n).filter(|at| (at / n == at % n) != off);
            chosen.map(|at| matrix[at] * matrix[at]).sum()
        };
        if squares(true) <= 1e-24 * squares(false) {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                let off = matrix[p * n + q];
                if off == 0.0 {
                    continue;
                }
                let theta = (matrix[q * n + q] - matrix[p * n + p]) / (2.0 * off);
                let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let cosine = 1.0 / tangent.hypot(1.0);
                let sine = tangent * cosine;
                let rotated = |a: f64, b: f64| (cosine * a - sine * b, sine * a + cosine * b);
                for k in 0..n {
                    let (a, b) = rotated(matrix[k * n + p], matrix[k * n + q]);
                    (matrix[k * n + p], matrix[k * n + q]) = (a, b);
                }
                for k in 0..n {
                    let (a, b) = rotated(matrix[p * n + k], matrix[q * n + k]);
                    (matrix[p * n + k], matrix[q * n + k]) = (a, b);
                    let (a, b) = rotated(vectors[k * n + p], vectors[k * n + q]);
                    (vectors[k * n + p], vectors[k * n + q]) = (a, b);
                }
            }
        }
    }
    ((0..n).map(|i| matrix[i * n + i]).collect(), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::BlockValues;

    /// Six features: three follow one hidden value, two another with the sign turned, the last is noise.
    fn planted(rows: usize) -> Vec<f32> {
        let mut random = Random::new(11);
        let mut draw = move || 2.0 * random.uniform() as f32 - 1.0;
        (0..rows)
            .flat_map(|_| {
                let (a, b) = (draw(), draw());
                let mut noisy = |value: f32| value + 0.05 * draw();
                [noisy(a), noisy(10.0 * a) + 100.0, noisy(a), noisy(b), noisy(-b), noisy(0.0)]
            })
            .collect()
    }

    #[test]
    fn planted_directions_come_first_whatever_the_scale_of_their_features() {
        let values = planted(2000);
        let features = FeatureRows::new(vec![(BlockValues::F32(&values), 6)]).unwrap();
        let rows: Vec<usize> = (0..2000).collect();
        let fitted = PrincipalComponents::fit(&features, &rows, 3, 1).unwrap();
        let variances = fitted.variances();
        assert!((variances[0] - 3.0).abs() < 0.05, "{variances:?}");
        assert!((variances[1] - 2.0).abs() < 0.05, "{variances:?}");
        assert!((variances[2] - 1.0).abs() < 0.05, "{variances:?}");
        let root = (1.0_f32 / 3.0).sqrt();
        for (found, wanted) in fitted.directions[..6].iter().zip([root, root, root, 0.0, 0.0, 0.0]) {
            assert!((found.abs() - wanted).abs() < 0.05, "{:?}", &fitted.directions[..6]);
        }
    }

    #[test]
    fn projections_are_uncorrelated_and_vary_as_told() {
        let values = planted(2000);
        let features = FeatureRows::new(vec![(BlockValues::F32(&values), 6)]).unwrap();
        let rows: Vec<usize> = (0..2000).collect();
        let fitted = PrincipalComponents::fit(&features, &rows, 4, 1).unwrap();
        let projected = fitted.project(&features, &rows).unwrap();
        for i in 0..4 {
            for j in 0..4 {
                let products = projected.chunks_exact(4).map(|row| f64::from(row[i]) * f64::from(row[j]));
                let mean = products.sum::<f64>() / 2000.0;
                let wanted = if i == j { fitted.variances()[i] } else { 0.0 };
                assert!((mean - wanted).abs() < 1e-3, "{i} {j}: {mean} for {wanted}");
            }
        }
        assert_eq!(PrincipalComponents::fit(&features, &rows, 4, 1).unwrap(), fitted);
    }

    #[test]
    fn there_are_no_more_components_than_features_and_other_features_are_refused() {
        let values = planted(50);
        let features = FeatureRows::new(vec![(BlockValues::F32(&values), 6)]).unwrap();
        let rows: Vec<usize> = (0..50).collect();
        let fitted = PrincipalComponents::fit(&features, &rows, 40, 1).unwrap();
        assert_eq!(fitted.count(), 6);
        let other = FeatureRows::new(vec![(BlockValues::F32(&values), 3)]).unwrap();
        let refused = fitted.project(&other, &rows);
        assert!(matches!(refused, Err(DetectError::Mismatch { expected: 6, found: 3, .. })));
    }
}
