//! Exact intervals and the two-sample Kolmogorov-Smirnov test.

use serde::{Deserialize, Serialize};
use statrs::function::beta::beta_reg;

/// A closed interval of a share or probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    pub lower: f64,
    pub upper: f64,
}

impl Bounds {
    #[must_use]
    pub fn contain(self, value: f64) -> bool {
        (self.lower..=self.upper).contains(&value)
    }
}

/// Clopper-Pearson: the exact 95 % interval of a share of `successes` in `trials`; `None` without
/// trials or with more successes than trials.
#[must_use]
pub fn clopper_pearson(successes: usize, trials: usize) -> Option<Bounds> {
    if trials == 0 || successes > trials {
        return None;
    }
    let (hits, misses) = (successes as f64, (trials - successes) as f64);
    let lower = if successes == 0 { 0.0 } else { beta_quantile(hits, misses + 1.0, 0.025) };
    let upper = if successes == trials { 1.0 } else { beta_quantile(hits + 1.0, misses, 0.975) };
    Some(Bounds { lower, upper })
}

/// The middle 95 % of a Beta(a, b) distribution, a and b positive.
pub(super) fn beta_band(a: f64, b: f64) -> Bounds {
    Bounds { lower: beta_quantile(a, b, 0.025), upper: beta_quantile(a, b, 0.975) }
}

/// Quantile of Beta(a, b) by bisection of its distribution function: slower than the library's own
/// inverse and exact to the last digits.
fn beta_quantile(a: f64, b: f64, probability: f64) -> f64 {
    let (mut below, mut above) = (0.0_f64, 1.0_f64);
    for _ in 0..200 {
        let middle = f64::midpoint(below, above);
        if middle <= below || middle >= above {
            break;
        }
        if beta_reg(a, b, middle) < probability {
            below = middle;
        } else {
            above = middle;
        }
    }
    f64::midpoint(below, above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_needs_trials() {
        assert_eq!(clopper_pearson(0, 0), None);
        assert_eq!(clopper_pearson(3, 2), None);
        assert_eq!(clopper_pearson(0, 10).unwrap().lower, 0.0);
        assert_eq!(clopper_pearson(10, 10).unwrap().upper, 1.0);
    }

    #[test]
    fn the_uniform_distribution_is_its_own_quantile() {
        for share in [0.025, 0.5, 0.975] {
            assert!((beta_quantile(1.0, 1.0, share) - share).abs() < 1e-14);
        }
    }
}
