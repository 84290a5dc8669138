//! Split conformal prediction over nonconformities (DRAG block 1).

use serde::{Deserialize, Serialize};

use super::guarantee::without_threshold;
use super::intervals::{Bounds, beta_band};
use super::{Alpha, CertifyError, PValue};
use crate::metrics::Measure;

/// The calibration nonconformities, a = -score of correct retrieved chunks, in rising order.
///
/// In JSON the plain list of numbers, which is checked and sorted when it is read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Calibration {
    sorted: Vec<f64>,
}

/// Where the line between trusted and untrusted lies: trusted iff a <= qhat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantile {
    /// qhat = +infinity: n is too small for this alpha, so everything is trusted.
    Infinite,
    /// qhat, the k-th smallest calibration value.
    At(f64),
    /// alpha = 1: nothing is trusted.
    Nothing,
}

impl Quantile {
    /// The finite threshold, if it is one.
    #[must_use]
    pub const fn value(self) -> Option<f64> {
        match self {
            Self::At(value) => Some(value),
            Self::Infinite | Self::Nothing => None,
        }
    }
}

/// Values whose count still fits a [`PValue`].
const MAXIMUM_VALUES: usize = u32::MAX as usize - 1;

impl Calibration {
    /// Takes nonconformities in any order; an empty list is a calibration that certifies nothing.
    ///
    /// # Errors
    /// A value that is not finite, or more values than a p-value can count.
    pub fn new(mut nonconformities: Vec<f64>) -> Result<Self, CertifyError> {
        if let Some(number) = nonconformities.iter().position(|value| !value.is_finite()) {
            return Err(CertifyError::ScoreNotFinite { number, score: -nonconformities[number] });
        }
        if nonconformities.len() > MAXIMUM_VALUES {
            return Err(CertifyError::TooManyValues {
                values: nonconformities.len(),
                maximum: MAXIMUM_VALUES,
            });
        }
        nonconformities.sort_unstable_by(f64::total_cmp);
        Ok(Self { sorted: nonconformities })
    }

    /// n, the number of calibration values.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there is nothing to calibrate on.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// In rising order.
    #[must_use]
    pub fn nonconformities(&self) -> &[f64] {
        &self.sorted
    }

    /// k = ceil((n + 1)(1 - alpha)) in whole numbers. (DRAG eq. 2 prints the ceiling round the whole
    /// fraction, which would always give 1; the order statistic is meant.)
    #[must_use]
    pub const fn rank(&self, alpha: Alpha) -> usize {
        rank(self.sorted.len(), alpha)
    }

    /// qhat, the k-th smallest value; never interpolated.
    ///
    /// # Errors
    /// Without calibration values.
    pub fn quantile(&self, alpha: Alpha) -> Result<Quantile, CertifyError> {
        if self.sorted.is_empty() {
            return Err(CertifyError::NotCalibrated);
        }
        Ok(match self.rank(alpha) {
            0 => Quantile::Nothing,
            k => self.sorted.get(k - 1).map_or(Quantile::Infinite, |&value| Quantile::At(value)),
        })
    }

    /// The least score that is trusted, -qhat, or why no score is ruled out (or let through).
    #[must_use]
    pub fn least_score(&self, alpha: Alpha) -> Measure {
        match self.quantile(alpha) {
            Ok(Quantile::At(qhat)) => Measure::of(-qhat),
            Ok(Quantile::Nothing) => Measure::undefined("nothing is trusted at alpha = 1"),
            Ok(Quantile::Infinite) | Err(_) => Measure::undefined(
                without_threshold(self.sorted.len(), alpha)
                    .unwrap_or_else(|| "every score is trusted".to_owned()),
            ),
        }
    }

    /// p = (1 + number of calibration values >= a) / (n + 1).
    ///
    /// # Errors
    /// Without calibration values, or for a nonconformity that is not finite.
    pub fn p_value(&self, nonconformity: f64) -> Result<PValue, CertifyError> {
        if !nonconformity.is_finite() {
            return Err(CertifyError::ScoreNotFinite { number: 0, score: -nonconformity });
        }
        if self.sorted.is_empty() {
            return Err(CertifyError::NotCalibrated);
        }
        let below = self.sorted.partition_point(|&value| value < nonconformity);
        // Both counts fit: `new` bounds n.
        Ok(PValue { count: (self.sorted.len() - below + 1) as u32, out_of: (self.sorted.len() + 1) as u32 })
    }

    /// p > alpha, which is the same as a <= qhat.
    ///
    /// # Errors
    /// As [`Self::p_value`].
    pub fn trusted(&self, nonconformity: f64, alpha: Alpha) -> Result<bool, CertifyError> {
        Ok(self.p_value(nonconformity)?.exceeds(alpha))
    }

    /// Where the true coverage lies in 95 % of the draws of n calibration values without ties:
    /// Beta(k, n + 1 - k). `None` where the threshold is not a calibration value.
    #[must_use]
    pub fn coverage_band(&self, alpha: Alpha) -> Option<Bounds> {
        coverage_band(self.sorted.len(), alpha)
    }
}

impl TryFrom<Vec<f64>> for Calibration {
    type Error = CertifyError;

    fn try_from(values: Vec<f64>) -> Result<Self, CertifyError> {
        Self::new(values)
    }
}

impl From<Calibration> for Vec<f64> {
    fn from(calibration: Calibration) -> Self {
        calibration.sorted
    }
}

/// See [`Calibration::coverage_band`]; `n` calibration values.
#[must_use]
pub fn coverage_band(n: usize, alpha: Alpha) -> Option<Bounds> {
    let k = rank(n, alpha);
    (k >= 1 && k <= n).then(|| beta_band(k as f64, (n + 1 - k) as f64))
}

/// The smallest n with a finite threshold: 9, 19, 99 for alpha 0.1, 0.05, 0.01. `None` at alpha 0.
#[must_use]
pub const fn minimum_values(alpha: Alpha) -> Option<usize> {
    let thousandths = alpha.thousandths() as usize;
    if thousandths == 0 { None } else { Some((1000 - thousandths).div_ceil(thousandths)) }
}

const fn rank(n: usize, alpha: Alpha) -> usize {
    // u128: no n overflows.
    ((n as u128 + 1) * (1000 - alpha.thousandths() as u128)).div_ceil(1000) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metrics::Random;

    const TENTH: Alpha = Alpha::from_thousandths(100);

    fn small() -> Calibration {
        Calibration::new(vec![0.3, 0.1, 0.5, 0.2, 0.4]).unwrap()
    }

    #[test]
    fn too_few_values_give_an_infinite_threshold_and_everything_is_trusted() {
        assert_eq!(small().rank(TENTH), 6);
        assert_eq!(small().quantile(TENTH).unwrap(), Quantile::Infinite);
        assert_eq!(small().quantile(TENTH).unwrap().value(), None);
        assert!(small().trusted(1e9, TENTH).unwrap());
        let threshold = serde_json::to_string(&small().least_score(TENTH)).unwrap();
        let expected = r#"{"value":null,"reason":"no guarantee possible below 9 values at alpha = 0.1"}"#;
        assert_eq!(threshold, expected);
        assert_eq!(small().coverage_band(TENTH), None);
    }

    #[test]
    fn with_enough_values_the_threshold_is_an_order_statistic() {
        let fifth = Alpha::from_thousandths(200);
        assert_eq!(small().rank(fifth), 5);
        assert_eq!(small().quantile(fifth).unwrap(), Quantile::At(0.5));
        assert_eq!(small().least_score(fifth), Measure::Value(-0.5));
        assert!(small().trusted(0.5, fifth).unwrap());
        assert!(!small().trusted(0.500_001, fifth).unwrap());
    }

    #[test]
    fn nine_values_suffice_for_a_tenth_exactly() {
        let nine = Calibration::new((1..=9).map(f64::from).collect()).unwrap();
        assert_eq!((nine.rank(TENTH), nine.quantile(TENTH).unwrap()), (9, Quantile::At(9.0)));
        let needed = [100, 50, 10, 1, 1000, 0].map(|t| minimum_values(Alpha::from_thousandths(t)));
        assert_eq!(needed, [Some(9), Some(19), Some(99), Some(999), Some(0), None]);
    }

    #[test]
    fn without_values_nothing_is_calibrated_and_bad_values_are_refused() {
        let empty = Calibration::new(Vec::new()).unwrap();
        assert!(matches!(empty.p_value(0.0), Err(CertifyError::NotCalibrated)));
        assert_eq!(empty.least_score(TENTH).to_string(), "n/a (not calibrated)");
        assert!(matches!(empty.quantile(TENTH), Err(CertifyError::NotCalibrated)));
        assert!(matches!(
            Calibration::new(vec![0.0, f64::NAN]),
            Err(CertifyError::ScoreNotFinite { number: 1, .. })
        ));
        assert!(small().p_value(f64::INFINITY).is_err());
        assert!(serde_json::from_str::<Calibration>("[1.0, 1e999]").is_err());
    }

    #[test]
    fn alpha_one_trusts_nothing_and_alpha_zero_everything() {
        let (one, zero) = (Alpha::from_thousandths(1000), Alpha::from_thousandths(0));
        assert_eq!(small().quantile(one).unwrap(), Quantile::Nothing);
        assert!(!small().trusted(-9.0, one).unwrap());
        assert!(small().trusted(9.0, zero).unwrap());
    }

    proptest! {
        #[test]
        fn a_p_value_exceeds_alpha_exactly_when_the_nonconformity_is_at_most_the_quantile(
            values in proptest::collection::vec(0_i32..30, 1..150),
            tested in -2_i32..33,
            thousandths in 0_u16..=1000,
        ) {
            let calibration = Calibration::new(values.into_iter().map(f64::from).collect()).unwrap();
            let (a, alpha) = (f64::from(tested), Alpha::from_thousandths(thousandths));
            let by_quantile = match calibration.quantile(alpha).unwrap() {
                Quantile::Infinite => true,
                Quantile::At(qhat) => a <= qhat,
                Quantile::Nothing => false,
            };
            prop_assert_eq!(calibration.trusted(a, alpha).unwrap(), by_quantile);
        }
    }

    #[test]
    fn a_fresh_value_is_kept_as_often_as_stated_over_many_draws() {
        let mut random = Random::new(42);
        for (n, thousandths) in [(9, 100), (40, 100), (40, 200), (150, 50)] {
            let alpha = Alpha::from_thousandths(thousandths);
            let draws = 20_000;
            let mut kept = 0;
            for _ in 0..draws {
                let calibration = Calibration::new((0..n).map(|_| random.uniform()).collect()).unwrap();
                kept += usize::from(calibration.trusted(random.uniform(), alpha).unwrap());
            }
            // The exact probability of split conformal prediction without ties is k / (n + 1).
            let exact = rank(n, alpha) as f64 / (n + 1) as f64;
            assert!(exact >= 1.0 - alpha.value());
            let share = f64::from(u32::try_from(kept).unwrap()) / f64::from(draws);
            assert!((share - exact).abs() < 0.01, "n {n}, alpha {}: {share}, exact {exact}", alpha.value());
        }
    }

    #[test]
    fn the_true_coverage_stays_in_its_band_in_95_of_100_calibrations() {
        let mut random = Random::new(7);
        let band = coverage_band(99, TENTH).unwrap();
        let inside = (0..4000)
            .filter(|_| {
                let calibration = Calibration::new((0..99).map(|_| random.uniform()).collect()).unwrap();
                // Uniform nonconformities: the coverage of a threshold is the threshold.
                band.contain(calibration.quantile(TENTH).unwrap().value().unwrap())
            })
            .count();
        assert!((3740..=3860).contains(&inside), "{inside} of 4000");
    }
}
