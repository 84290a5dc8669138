//! Whether a probability means what it says.

use serde::Serialize;

use super::Measure;

/// Bins of the reliability diagram and of the expected calibration error.
pub const BINS: usize = 10;

/// One bin of a reliability diagram: predictions in [lower, upper), the last one closed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReliabilityBin {
    pub lower: f64,
    pub upper: f64,
    pub count: usize,
    /// Mean predicted probability; `None` in an empty bin.
    pub predicted: Option<f64>,
    /// Share of positives; `None` in an empty bin.
    pub observed: Option<f64>,
}

/// How well probabilities are calibrated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reliability {
    /// Mean of (p - y)^2.
    pub brier: Measure,
    /// Sum over bins of (count / n) |observed - predicted|.
    pub expected_calibration_error: Measure,
    /// Ten bins of equal width; empty when the input is unusable.
    pub bins: Vec<ReliabilityBin>,
}

/// All reliability figures of probabilities in [0, 1].
#[must_use]
pub fn reliability(labels: &[bool], probabilities: &[f64]) -> Reliability {
    let unusable = if labels.len() != probabilities.len() {
        Some(format!("{} labels, {} probabilities", labels.len(), probabilities.len()))
    } else if labels.is_empty() {
        Some("no items".to_owned())
    } else {
        probabilities
            .iter()
            .position(|p| !(0.0..=1.0).contains(p))
            .map(|item| format!("the probability of item {item} is {}, outside 0 to 1", probabilities[item]))
    };
    if let Some(reason) = unusable {
        let undefined = Measure::Undefined(reason);
        return Reliability {
            brier: undefined.clone(),
            expected_calibration_error: undefined,
            bins: Vec::new(),
        };
    }
    let total = labels.len() as f64;
    let mut squares = 0.0;
    // Per bin: items, positives, sum of probabilities.
    let mut sums = [(0_usize, 0_usize, 0.0_f64); BINS];
    for (&positive, &p) in labels.iter().zip(probabilities) {
        let outcome = f64::from(u8::from(positive));
        squares += (p - outcome) * (p - outcome);
        let bin = &mut sums[((p * BINS as f64) as usize).min(BINS - 1)];
        *bin = (bin.0 + 1, bin.1 + usize::from(positive), bin.2 + p);
    }
    let mut error = 0.0;
    let bins = sums
        .iter()
        .enumerate()
        .map(|(number, &(count, positives, sum))| {
            let share = |value: f64| (count > 0).then(|| value / count as f64);
            error += (positives as f64 - sum).abs() / total;
            ReliabilityBin {
                lower: number as f64 / BINS as f64,
                upper: (number + 1) as f64 / BINS as f64,
                count,
                predicted: share(sum),
                observed: share(positives as f64),
            }
        })
        .collect();
    Reliability { brier: Measure::of(squares / total), expected_calibration_error: Measure::of(error), bins }
}

/// Mean of (p - y)^2.
#[must_use]
pub fn brier(labels: &[bool], probabilities: &[f64]) -> Measure {
    reliability(labels, probabilities).brier
}

/// Ten bins of equal width, the last one closed: sum of (count / n) |observed - predicted|.
#[must_use]
pub fn expected_calibration_error(labels: &[bool], probabilities: &[f64]) -> Measure {
    reliability(labels, probabilities).expected_calibration_error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bin_is_closed_and_empty_bins_have_no_figures() {
        let found = reliability(&[true, false, true], &[1.0, 0.95, 0.0]);
        assert_eq!(found.bins.len(), BINS);
        assert_eq!((found.bins[9].count, found.bins[0].count), (2, 1));
        assert_eq!(found.bins[9].observed, Some(0.5));
        assert_eq!((found.bins[4].predicted, found.bins[4].observed), (None, None));
    }

    #[test]
    fn unusable_probabilities_are_undefined_with_a_reason() {
        assert_eq!(brier(&[], &[]).reason(), Some("no items"));
        assert_eq!(
            expected_calibration_error(&[true], &[1.5]).reason(),
            Some("the probability of item 0 is 1.5, outside 0 to 1")
        );
        assert!(brier(&[true], &[f64::NAN]).value().is_none());
        assert!(brier(&[true], &[]).value().is_none());
    }
}
