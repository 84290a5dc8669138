//! What is guaranteed about the chunks that are kept.

use super::NOT_CALIBRATED;
use crate::certify::conformal::{coverage_band, minimum_values};
use crate::certify::{Alpha, CalibrationMode};
use crate::metrics::Measure;

/// The numbers behind a chunk certificate.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkGuarantee {
    pub alpha: Alpha,
    pub mode: CalibrationMode,
    /// n, calibration values of the mode.
    pub values: usize,
    pub k: usize,
    /// Share of questions with a correct chunk in the top K.
    pub recall: Measure,
}

impl ChunkGuarantee {
    /// What holds: one sentence without a final stop.
    ///
    /// It is P(kept | correct and retrieved). DRAG eq. 3 prints the opposite conditional, which the
    /// procedure does not give.
    #[must_use]
    pub fn statement(&self) -> String {
        match without_threshold(self.values, self.alpha) {
            Some(_) if self.values == 0 => NOT_CALIBRATED.to_owned(),
            Some(reason) => format!("{reason}; every chunk is kept"),
            None => format!(
                "a correct chunk that was retrieved is kept with probability at least {}",
                kept(self.alpha)
            ),
        }
    }

    /// Whether the statement is a guarantee with a threshold behind it.
    #[must_use]
    pub fn holds(&self) -> bool {
        without_threshold(self.values, self.alpha).is_none()
    }

    /// What it does not say, one sentence each.
    #[must_use]
    pub fn limits(&self) -> Vec<String> {
        let mut limits = vec!["it does not say how likely a kept chunk is correct".to_owned()];
        limits.push(match self.end_to_end_floor().value() {
            Some(floor) => format!(
                "the correct chunk may not be among the top {}: recall@{} is {:.3}, so end to end it is kept \
                 with probability at least {floor:.3}",
                self.k,
                self.k,
                self.recall.value().unwrap_or_default()
            ),
            None => format!(
                "the correct chunk may not be among the top {}: recall@{} is {}",
                self.k, self.k, self.recall
            ),
        });
        limits.push(match self.mode {
            CalibrationMode::PerQuestion => {
                "it holds for the best-scored correct chunk of a question; its other correct chunks may be \
                 dropped"
                    .to_owned()
            }
            CalibrationMode::Pooled => {
                "several chunks of one question are not exchangeable, so the pooled level (the paper's) is \
                 approximate; the per-question calibration is exact"
                    .to_owned()
            }
        });
        limits.push(match coverage_band(self.values, self.alpha) {
            Some(band) => format!(
                "it is an average over calibrations: with {} values the share kept lies between {:.3} and \
                 {:.3} for 95 of 100 calibrations",
                self.values, band.lower, band.upper
            ),
            None => format!("it rests on {} calibration values", self.values),
        });
        limits.push(
            "it holds for questions like those of the calibration, with the same retriever and corpus"
                .to_owned(),
        );
        limits
    }

    /// recall@K x (1 - alpha): the least probability that a correct chunk is retrieved and kept.
    #[must_use]
    pub fn end_to_end_floor(&self) -> Measure {
        end_to_end_floor(&self.recall, self.alpha)
    }
}

/// Why `values` calibration values give no finite threshold at `alpha`; `None` where they do.
#[must_use]
pub fn without_threshold(values: usize, alpha: Alpha) -> Option<String> {
    match minimum_values(alpha) {
        _ if values == 0 => Some("not calibrated".to_owned()),
        None => Some("nothing is ruled out at alpha = 0".to_owned()),
        Some(minimum) if values < minimum => {
            Some(format!("no guarantee possible below {minimum} values at alpha = {}", alpha.value()))
        }
        Some(_) => None,
    }
}

/// recall@K x (1 - alpha).
#[must_use]
pub fn end_to_end_floor(recall: &Measure, alpha: Alpha) -> Measure {
    match recall {
        Measure::Value(recall) => Measure::of(recall * kept(alpha)),
        undefined @ Measure::Undefined(_) => undefined.clone(),
    }
}

/// 1 - alpha, rounded once.
fn kept(alpha: Alpha) -> f64 {
    f64::from(1000 - alpha.thousandths()) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarantee(values: usize, thousandths: u16) -> ChunkGuarantee {
        ChunkGuarantee {
            alpha: Alpha::from_thousandths(thousandths),
            mode: CalibrationMode::PerQuestion,
            values,
            k: 10,
            recall: Measure::Value(0.815),
        }
    }

    #[test]
    fn the_statement_is_about_correct_retrieved_chunks_and_never_about_kept_ones() {
        assert_eq!(
            guarantee(500, 100).statement(),
            "a correct chunk that was retrieved is kept with probability at least 0.9"
        );
        assert!(guarantee(500, 100).holds());
        assert!(guarantee(9, 100).holds());
    }

    #[test]
    fn too_small_a_calibration_is_said_with_the_number_that_is_needed() {
        let few = guarantee(5, 100);
        assert!(few.statement().starts_with("no guarantee possible below 9 values at alpha = 0.1"));
        assert!(!few.holds());
        for (thousandths, words) in
            [(50, "below 19 values at alpha = 0.05"), (10, "below 99 values at alpha = 0.01")]
        {
            assert!(guarantee(5, thousandths).statement().contains(words));
        }
        assert_eq!(guarantee(0, 100).statement(), "not calibrated: no chunk can be certified");
        assert!(!guarantee(0, 100).holds() && !guarantee(50, 0).holds());
        assert_eq!(guarantee(50, 0).statement(), "nothing is ruled out at alpha = 0; every chunk is kept");
    }

    #[test]
    fn the_limits_show_recall_the_floor_and_the_band() {
        let limits = guarantee(99, 100).limits().join("\n");
        for words in
            ["recall@10 is 0.815", "at least 0.733", "with 99 values", "how likely a kept chunk is correct"]
        {
            assert!(limits.contains(words), "{words} not in {limits}");
        }
        let pooled = ChunkGuarantee {
            mode: CalibrationMode::Pooled,
            recall: Measure::undefined("no questions"),
            ..guarantee(5, 100)
        };
        let limits = pooled.limits().join("\n");
        assert!(limits.contains("not exchangeable") && limits.contains("n/a (no questions)"), "{limits}");
    }
}
