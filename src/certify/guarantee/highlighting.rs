//! What is guaranteed about the highlighting, in the only words for it.

use crate::certify::highlighting::{Population, allowed_sum};

/// What a threshold of Learn-then-Test means, before its levels.
pub const FALSE_ALARMS: &str = "a clean answer gets any flag with probability at most gamma";

/// The numbers behind certified highlighting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HighlightingGuarantee {
    /// The expected share of unsupported tokens that may be missed.
    pub beta: f64,
    /// n, calibration sources.
    pub sources: usize,
    pub population: Population,
    /// Whether the detector is known to have been trained on the calibration answers: nothing holds then.
    pub trained_on_calibration: bool,
}

impl HighlightingGuarantee {
    /// Whether the statement is a guarantee.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.feasible() && !self.trained_on_calibration
    }

    /// Whether conformal risk control has a threshold: beta >= 1/(n+1).
    #[must_use]
    pub fn feasible(&self) -> bool {
        self.sources > 0 && allowed_sum(self.beta, self.sources) >= 0.0
    }

    /// What holds: one sentence without a final stop.
    #[must_use]
    pub fn statement(&self) -> String {
        let Self { beta, sources, population, trained_on_calibration } = *self;
        if sources == 0 {
            return "not calibrated: the highlighting carries no guarantee".to_owned();
        }
        if !self.feasible() {
            // The least n with beta >= 1/(n+1); the last bits of 1/beta must not cost a source.
            let least = (1.0 / beta - 1.0 - 1e-9).ceil();
            return if least.is_finite() {
                format!(
                    "no guarantee possible for the highlighting below {least} sources at beta = {beta}: {sources} \
                     were calibrated on"
                )
            } else {
                "no threshold can promise that nothing is missed".to_owned()
            };
        }
        let answer = match population {
            Population::All => "an answer's unsupported tokens",
            Population::Unsupported => "the unsupported tokens of an answer that has some",
        };
        if trained_on_calibration {
            return format!(
                "no guarantee for the highlighting: its detector was trained on the answers that it was \
                 calibrated on, so elsewhere the expected share of {answer} that it misses may exceed {beta}"
            );
        }
        format!(
            "the expected share of {answer} that the highlighting misses is at most {beta}, for sources drawn \
             like the {sources} calibration sources"
        )
    }

    /// When it does not hold: one sentence without a final stop.
    #[must_use]
    pub fn limit(&self) -> String {
        let counted = match self.population {
            Population::All => "an answer without unsupported tokens counts as nothing missed, and ",
            Population::Unsupported => "",
        };
        format!(
            "this is an average over sources and calibrations, not a promise for one answer: {counted}it does \
             not hold where the detector was trained on the calibration answers, for answers unlike them, or \
             at another detector, label persistence or token threshold"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarantee(beta: f64, sources: usize) -> HighlightingGuarantee {
        HighlightingGuarantee { beta, sources, population: Population::All, trained_on_calibration: false }
    }

    #[test]
    fn the_statement_is_about_the_expected_missed_share() {
        assert_eq!(
            guarantee(0.1, 150).statement(),
            "the expected share of an answer's unsupported tokens that the highlighting misses is at most \
             0.1, for sources drawn like the 150 calibration sources"
        );
        assert!(guarantee(0.1, 9).holds());
        let strict = HighlightingGuarantee { population: Population::Unsupported, ..guarantee(0.1, 150) };
        assert!(strict.statement().contains("of an answer that has some"));
        assert!(guarantee(0.1, 9).limit().contains("trained on the calibration answers"));
    }

    #[test]
    fn a_detector_trained_on_the_calibration_answers_carries_no_guarantee() {
        let seen = HighlightingGuarantee { trained_on_calibration: true, ..guarantee(0.1, 150) };
        assert!(seen.feasible() && !seen.holds());
        let statement = seen.statement();
        assert!(statement.starts_with("no guarantee") && statement.contains("may exceed 0.1"), "{statement}");
    }

    #[test]
    fn an_infeasible_beta_names_the_sources_it_needs() {
        assert!(guarantee(0.1, 8).statement().contains("below 9 sources at beta = 0.1: 8 were"));
        assert!(guarantee(0.01, 8).statement().contains("below 99 sources"));
        assert!(guarantee(0.0, 8).statement().starts_with("no threshold can promise"));
        assert!(guarantee(0.5, 0).statement().starts_with("not calibrated"));
        assert!(!guarantee(0.1, 8).holds() && !guarantee(0.5, 0).holds());
    }
}
