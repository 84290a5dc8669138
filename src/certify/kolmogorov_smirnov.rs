//! The two-sample Kolmogorov-Smirnov test: do calibration and test scores come from one distribution?

use serde::Serialize;

/// Result of a two-sided two-sample test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KolmogorovSmirnov {
    /// Largest distance of the two empirical distribution functions.
    pub statistic: f64,
    /// Asymptotic p-value as `scipy.stats.ks_2samp(method="asymp")` computes it: that of a one-sample
    /// test of round(n m / (n + m)) values.
    pub p_value: f64,
}

/// Compares two samples; `None` when one is empty or holds a value that is not a number.
#[must_use]
pub fn kolmogorov_smirnov(first: &[f64], second: &[f64]) -> Option<KolmogorovSmirnov> {
    if first.is_empty() || second.is_empty() || first.iter().chain(second).any(|value| value.is_nan()) {
        return None;
    }
    let sorted = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    let (first, second) = (sorted(first), sorted(second));
    let (n, m) = (first.len() as f64, second.len() as f64);
    let (mut at_first, mut at_second) = (0, 0);
    let mut statistic = 0.0_f64;
    while let (Some(&a), Some(&b)) = (first.get(at_first), second.get(at_second)) {
        let value = a.min(b);
        at_first += first[at_first..].iter().take_while(|&&v| v <= value).count();
        at_second += second[at_second..].iter().take_while(|&&v| v <= value).count();
        statistic = statistic.max((at_first as f64 / n - at_second as f64 / m).abs());
    }
    let effective = (n * m / (n + m)).round_ties_even() as usize;
    Some(KolmogorovSmirnov { statistic, p_value: one_sample_p(effective.max(1), statistic) })
}

/// `P(D_n >= d)` of the one-sample statistic under the null hypothesis.
///
/// Far in the tail twice the one-sided probability (both sides crossing is then rarer than 1e-7);
/// else exact by Marsaglia, Tsang and Wang (2003); for very many values the limit distribution with
/// Vrbik's correction of its argument.
fn one_sample_p(n: usize, d: f64) -> f64 {
    let values = n as f64;
    if d <= 0.0 {
        return 1.0;
    }
    if d >= 1.0 {
        return 0.0;
    }
    if values * d * d > 2.2 {
        return (2.0 * one_sided_p(n, d)).min(1.0);
    }
    if n <= 4000 {
        return (1.0 - exact_distribution(n, d)).clamp(0.0, 1.0);
    }
    limit_p(d * values.sqrt() + 1.0 / (6.0 * values.sqrt()) + (d * values.sqrt() - 1.0) / (4.0 * values))
}

/// `P(D+_n >= d) = d sum_j C(n, j) (d + j/n)^(j-1) (1 - d - j/n)^(n-j)` (Birnbaum and Tingey 1951).
fn one_sided_p(n: usize, d: f64) -> f64 {
    let values = n as f64;
    let last = ((1.0 - d) * values).floor() as usize;
    let mut log_choose = 0.0;
    let mut sum = 0.0;
    for j in 0..=last.min(n) {
        let share = j as f64 / values;
        let rest = 1.0 - d - share;
        if rest > 0.0 {
            sum += (log_choose + (j as f64 - 1.0) * (d + share).ln() + (n - j) as f64 * rest.ln()).exp();
        }
        log_choose += ((n - j) as f64 / (j + 1) as f64).ln();
    }
    d * sum
}

/// `P(D_n < d)`: an entry of the n-th power of a matrix of order 2 ceil(n d) - 1, scaled against
/// overflow.
fn exact_distribution(n: usize, d: f64) -> f64 {
    let values = n as f64;
    let k = (values * d).floor() as usize + 1;
    let order = 2 * k - 1;
    let h = k as f64 - values * d;
    let mut matrix = vec![0.0; order * order];
    for row in 0..order {
        for column in 0..order.min(row + 2) {
            matrix[row * order + column] = 1.0;
        }
    }
    for at in 0..order {
        matrix[at * order] -= h.powi(at as i32 + 1);
        matrix[(order - 1) * order + at] -= h.powi((order - at) as i32);
    }
    if 2.0 * h > 1.0 {
        matrix[(order - 1) * order] += (2.0 * h - 1.0).powi(order as i32);
    }
    for row in 0..order {
        for column in 0..order.min(row + 2) {
            for divisor in 2..=(row + 1).saturating_sub(column) {
                matrix[row * order + column] /= divisor as f64;
            }
        }
    }
    let (power, mut exponent) = matrix_power(&matrix, order, n);
    let mut probability = power[(k - 1) * order + k - 1];
    for at in 1..=n {
        probability *= at as f64 / values;
        if probability < 1e-140 {
            probability *= 1e140;
            exponent -= 140;
        }
    }
    probability * 10_f64.powi(exponent)
}

/// `matrix`^n as entries and a power of ten.
fn matrix_power(matrix: &[f64], order: usize, n: usize) -> (Vec<f64>, i32) {
    if n == 1 {
        return (matrix.to_vec(), 0);
    }
    let (half, exponent) = matrix_power(matrix, order, n / 2);
    let mut power = product(&half, &half, order);
    let mut exponent = 2 * exponent;
    if n % 2 == 1 {
        power = product(matrix, &power, order);
    }
    if power[(order / 2) * order + order / 2] > 1e140 {
        for entry in &mut power {
            *entry *= 1e-140;
        }
        exponent += 140;
    }
    (power, exponent)
}

fn product(left: &[f64], right: &[f64], order: usize) -> Vec<f64> {
    let mut result = vec![0.0; order * order];
    for row in 0..order {
        let target = &mut result[row * order..(row + 1) * order];
        for inner in 0..order {
            let factor = left[row * order + inner];
            if factor != 0.0 {
                for (entry, &value) in target.iter_mut().zip(&right[inner * order..(inner + 1) * order]) {
                    *entry += factor * value;
                }
            }
        }
    }
    result
}

/// `2 sum_k (-1)^(k-1) exp(-2 k^2 z^2)`
fn limit_p(z: f64) -> f64 {
    if z < 0.2 {
        return 1.0;
    }
    let mut sum = 0.0;
    for k in 1..=100 {
        let term = (-2.0 * f64::from(k * k) * z * z).exp();
        sum += if k % 2 == 1 { term } else { -term };
        if term < 1e-17 {
            break;
        }
    }
    (2.0 * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_samples_have_distance_zero_and_p_one() {
        let found = kolmogorov_smirnov(&[1.0, 2.0, 2.0], &[2.0, 1.0, 2.0]).unwrap();
        assert_eq!((found.statistic, found.p_value), (0.0, 1.0));
    }

    #[test]
    fn separate_samples_have_distance_one_and_p_zero() {
        let found = kolmogorov_smirnov(&[1.0; 50], &[2.0; 60]).unwrap();
        assert_eq!((found.statistic, found.p_value), (1.0, 0.0));
    }

    #[test]
    fn there_is_no_test_of_nothing_or_of_what_is_not_a_number() {
        assert_eq!(kolmogorov_smirnov(&[], &[1.0]), None);
        assert_eq!(kolmogorov_smirnov(&[f64::NAN], &[1.0]), None);
    }

    #[test]
    fn the_three_computations_meet_where_they_take_over_from_each_other() {
        for n in [30_usize, 400, 2000] {
            let d = (2.2 / n as f64).sqrt();
            let (exact, tail) = (1.0 - exact_distribution(n, d), 2.0 * one_sided_p(n, d));
            assert!((exact - tail).abs() < 1e-6, "n {n}: {exact} and {tail}");
        }
        for z in [0.5, 0.8, 1.2] {
            let (n, d) = (4000, z / 4000_f64.sqrt());
            let limit = limit_p(z + 1.0 / (6.0 * 4000_f64.sqrt()) + (z - 1.0) / 16000.0);
            let exact = 1.0 - exact_distribution(n, d);
            assert!((exact - limit).abs() < 1e-5, "z {z}: {exact} and {limit}");
        }
    }

    #[test]
    fn a_small_case_agrees_with_counting() {
        // One value: D_1 = max(u, 1 - u), so P(D_1 >= 0.75) = 0.5.
        assert!((one_sample_p(1, 0.75) - 0.5).abs() < 1e-12);
        // Marsaglia, Tsang and Wang print P(D_10 < 0.274) = 0.6284796154565.
        assert!((exact_distribution(10, 0.274) - 0.628_479_615_456_504_3).abs() < 1e-12);
    }
}
