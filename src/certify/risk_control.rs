//! Conformal risk control (arXiv 2208.02814): a token threshold that bounds the expected share of
//! unsupported tokens that the highlighting misses, by exhaustive search over one answer a source: the yardstick
//! that [`super::highlighting`] is held against.

/// One calibration answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredAnswer {
    /// Smoothed token scores, `[T]`.
    pub scores: Vec<f64>,
    /// Whether each token is labelled unsupported, `[T]`.
    pub unsupported: Vec<bool>,
}

impl ScoredAnswer {
    /// loss(lambda): the share of the unsupported tokens whose score is below `threshold`; 0 when there
    /// are none. Rises with the threshold, between 0 and 1.
    pub(super) fn missed_share(&self, threshold: f64) -> f64 {
        let tokens = self.scores.iter().zip(&self.unsupported).filter(|(_, unsupported)| **unsupported);
        let (mut all, mut missed) = (0_u32, 0_u32);
        for (score, _) in tokens {
            all += 1;
            missed += u32::from(*score < threshold);
        }
        if all == 0 { 0.0 } else { f64::from(missed) / f64::from(all) }
    }
}

/// The largest threshold lambda (among 0, every score, 1) with
/// n/(n+1) mean loss(lambda) + 1/(n+1) <= beta; a token is flagged iff its score is at least lambda.
///
/// Then the expected share of missed unsupported tokens of the next answer is at most beta. `None`: no
/// threshold can promise that, because n is too small (beta < 1/(n+1)).
#[must_use]
pub fn risk_controlling_threshold(answers: &[ScoredAnswer], beta: f64) -> Option<f64> {
    // Shares such as 1/3 do not sum exactly; a promise is not refused for the last bit.
    const ROUNDING: f64 = 1e-12;
    let allowed = beta * (answers.len() as f64 + 1.0) - 1.0 + ROUNDING;
    let mut candidates: Vec<f64> = answers
        .iter()
        .flat_map(|answer| answer.scores.iter().copied())
        .filter(|score| score.is_finite())
        .collect();
    candidates.extend([0.0, 1.0]);
    candidates.sort_unstable_by(f64::total_cmp);
    candidates.dedup();
    let fits =
        |threshold: f64| answers.iter().map(|answer| answer.missed_share(threshold)).sum::<f64>() <= allowed;
    // The loss is monotone, so what fits is a prefix of the sorted candidates.
    let fitting = candidates.partition_point(|&threshold| fits(threshold));
    fitting.checked_sub(1).map(|last| candidates[last])
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
        beta: f64,
        answers: Vec<Answer>,
        threshold: Option<f64>,
    }

    #[derive(Deserialize)]
    struct Answer {
        scores: Vec<f64>,
        labels: Vec<u8>,
    }

    #[test]
    fn thresholds_are_those_of_the_exhaustive_search() {
        let golden: Golden =
            serde_json::from_str(include_str!("../../tests/golden/risk_control.json")).unwrap();
        assert!(golden.cases.len() >= 4);
        for case in golden.cases {
            let answers: Vec<ScoredAnswer> = case
                .answers
                .into_iter()
                .map(|answer| ScoredAnswer {
                    scores: answer.scores,
                    unsupported: answer.labels.into_iter().map(|label| label == 1).collect(),
                })
                .collect();
            assert_eq!(risk_controlling_threshold(&answers, case.beta), case.threshold, "beta {}", case.beta);
        }
    }

    #[test]
    fn too_few_answers_promise_nothing() {
        let answer = ScoredAnswer { scores: vec![0.9], unsupported: vec![true] };
        assert_eq!(risk_controlling_threshold(&vec![answer.clone(); 8], 0.1), None);
        assert_eq!(risk_controlling_threshold(&vec![answer; 9], 0.1), Some(0.9));
        assert_eq!(risk_controlling_threshold(&[], 0.5), None);
    }

    /// The promise is about the next answer, over calibration and answer together.
    #[test]
    fn the_expected_missed_share_stays_below_beta_over_many_draws() {
        let mut random = Random::new(7);
        let mut draw = || {
            let scores: Vec<f64> = (0..12).map(|_| random.uniform()).collect();
            let unsupported = scores.iter().map(|score| random.uniform() < 0.1 + 0.6 * score).collect();
            ScoredAnswer { scores, unsupported }
        };
        let (draws, beta) = (2_000, 0.2);
        let mut missed = 0.0;
        for _ in 0..draws {
            let calibration: Vec<ScoredAnswer> = (0..30).map(|_| draw()).collect();
            let threshold = risk_controlling_threshold(&calibration, beta).unwrap();
            missed += draw().missed_share(threshold);
        }
        let mean = missed / f64::from(draws);
        assert!(mean <= beta + 0.01, "missed {mean}");
        assert!(mean > beta - 0.05, "the bound is nearly reached, not trivially kept: {mean}");
    }
}
