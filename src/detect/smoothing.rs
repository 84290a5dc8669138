//! Label-persistence smoothing: neighbouring tokens tend to share their label.

/// Scores are clipped to [CLIP, 1 - CLIP] before smoothing (the paper: "a small amount").
pub const CLIP: f64 = 1e-6;

/// A two-state Markov chain over token labels: inside or outside an unsupported span.
///
/// CORTEX (arXiv 2606.31033, section 3.4) uses the symmetric one with a uniform prior; the general one
/// is an extension, since spans are much shorter than the text between them.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Chain {
    /// P(next token unsupported | this one unsupported).
    pub stay_inside: f64,
    /// P(next token supported | this one supported).
    pub stay_outside: f64,
    /// P(first token unsupported).
    pub prior: f64,
}

impl Chain {
    /// The paper's chain: P(stay) = `stay` on both sides, uniform prior.
    #[must_use]
    pub const fn symmetric(stay: f64) -> Self {
        Self { stay_inside: stay, stay_outside: stay, prior: 0.5 }
    }

    /// Fits the chain to labelled answers by counting, with one pseudo-count in every cell.
    pub fn fit<'a>(answers: impl IntoIterator<Item = &'a [bool]>) -> Self {
        let mut stayed = [1.0_f64; 2];
        let mut left = [1.0_f64; 2];
        let mut first = [1.0_f64; 2];
        for labels in answers {
            if let Some(&label) = labels.first() {
                first[usize::from(label)] += 1.0;
            }
            for pair in labels.windows(2) {
                let counts = if pair[0] == pair[1] { &mut stayed } else { &mut left };
                counts[usize::from(pair[0])] += 1.0;
            }
        }
        Self {
            stay_inside: stayed[1] / (stayed[1] + left[1]),
            stay_outside: stayed[0] / (stayed[0] + left[0]),
            prior: first[1] / (first[0] + first[1]),
        }
    }

    /// P(`z_i` = unsupported | `s_1..s_T`) for every token, by forward-backward in f64, rescaled at each step.
    ///
    /// `scores`: `[T]`, read as emission probabilities s and 1 - s. A score that is not a number carries
    /// no information and counts as 1/2. Returns `[T]`.
    #[must_use]
    pub fn posterior(self, scores: &[f64]) -> Vec<f64> {
        let emissions: Vec<f64> =
            scores.iter().map(|s| if s.is_nan() { 0.5 } else { s.clamp(CLIP, 1.0 - CLIP) }).collect();
        let enter = 1.0 - self.stay_outside;
        let leave = 1.0 - self.stay_inside;
        // Forward: the share of the inside state after token i; the outside share is the rest.
        let mut forward = Vec::with_capacity(emissions.len());
        let mut expected = self.prior;
        for &s in &emissions {
            let inside = s * expected;
            let inside = inside / (inside + (1.0 - s) * (1.0 - expected)).max(f64::MIN_POSITIVE);
            forward.push(inside);
            expected = self.stay_inside * inside + enter * (1.0 - inside);
        }
        // Backward: (inside, outside), scaled to sum 1.
        let mut backward = (0.5, 0.5);
        let mut smoothed = forward;
        for (value, &s) in smoothed.iter_mut().zip(&emissions).rev() {
            let inside = *value * backward.0;
            let outside = (1.0 - *value) * backward.1;
            *value = inside / (inside + outside).max(f64::MIN_POSITIVE);
            let after_inside = s * backward.0;
            let after_outside = (1.0 - s) * backward.1;
            let inside = self.stay_inside * after_inside + leave * after_outside;
            let outside = self.stay_outside * after_outside + enter * after_inside;
            let sum = (inside + outside).max(f64::MIN_POSITIVE);
            backward = (inside / sum, outside / sum);
        }
        smoothed
    }
}

/// Label-persistence smoothing of CORTEX (arXiv 2606.31033, section 3.4): the symmetric chain with
/// P(stay) = `stay` and a uniform prior. `scores` and result: `[T]`.
///
/// `stay` = 1/2 returns the (clipped) scores themselves; it is clamped to [0, 1].
#[must_use]
pub fn smooth(scores: &[f64], stay: f64) -> Vec<f64> {
    Chain::symmetric(if stay.is_nan() { 0.5 } else { stay.clamp(0.0, 1.0) }).posterior(scores)
}

/// Answer score: max over tokens smoothed with `stay`; `None` for an answer without tokens.
#[must_use]
pub fn answer_score(scores: &[f64], stay: f64) -> Option<f64> {
    smooth(scores, stay).into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Golden {
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        scores: Vec<f64>,
        stay: f64,
        smoothed: Vec<f64>,
    }

    #[test]
    fn equals_the_sum_over_all_labelings_of_the_golden_file() {
        let golden: Golden = serde_json::from_str(include_str!("../../tests/golden/smoothing.json")).unwrap();
        assert!(golden.cases.len() >= 18);
        for case in golden.cases {
            for (found, wanted) in smooth(&case.scores, case.stay).iter().zip(&case.smoothed) {
                assert!((found - wanted).abs() < 1e-9, "stay {}: {found} for {wanted}", case.stay);
            }
        }
    }

    /// Sum over all 2^T labelings.
    fn brute_force(scores: &[f64], chain: Chain) -> Vec<f64> {
        let count = scores.len();
        let mut inside = vec![0.0; count];
        let mut total = 0.0;
        for labeling in 0_u32..1 << count {
            let label = |i: usize| labeling >> i & 1 == 1;
            let mut probability = if label(0) { chain.prior } else { 1.0 - chain.prior };
            for (i, &score) in scores.iter().enumerate() {
                let s = score.clamp(CLIP, 1.0 - CLIP);
                probability *= if label(i) { s } else { 1.0 - s };
                if i > 0 {
                    probability *= match (label(i - 1), label(i)) {
                        (true, true) => chain.stay_inside,
                        (true, false) => 1.0 - chain.stay_inside,
                        (false, false) => chain.stay_outside,
                        (false, true) => 1.0 - chain.stay_outside,
                    };
                }
            }
            total += probability;
            for (i, sum) in inside.iter_mut().enumerate() {
                if label(i) {
                    *sum += probability;
                }
            }
        }
        inside.into_iter().map(|sum| sum / total).collect()
    }

    proptest! {
        #[test]
        fn equals_brute_force_up_to_ten_tokens(
            scores in proptest::collection::vec(0.0..=1.0_f64, 1..=10),
            stay_inside in 0.01..0.999_f64, stay_outside in 0.01..0.999_f64, prior in 0.01..0.99_f64,
        ) {
            let chain = Chain { stay_inside, stay_outside, prior };
            for (found, wanted) in chain.posterior(&scores).iter().zip(brute_force(&scores, chain)) {
                prop_assert!((found - wanted).abs() < 1e-9);
            }
        }

        #[test]
        fn reversing_the_input_reverses_the_output(
            scores in proptest::collection::vec(0.0..=1.0_f64, 0..200), stay in 0.5..0.9999_f64,
        ) {
            let reversed: Vec<f64> = scores.iter().rev().copied().collect();
            for (a, b) in smooth(&scores, stay).iter().zip(smooth(&reversed, stay).iter().rev()) {
                prop_assert!((a - b).abs() < 1e-9);
            }
        }

        #[test]
        fn exchanging_the_labels_exchanges_the_scores_and_all_stay_probabilities(
            scores in proptest::collection::vec(0.0..=1.0_f64, 0..200), stay in 0.0..=1.0_f64,
        ) {
            let exchanged: Vec<f64> = scores.iter().map(|score| 1.0 - score).collect();
            for (a, b) in smooth(&scores, stay).iter().zip(smooth(&exchanged, stay)) {
                prop_assert!((0.0..=1.0).contains(a));
                prop_assert!((a + b - 1.0).abs() < 1e-6, "{a} and {b}");
            }
        }

        #[test]
        fn persistence_one_half_returns_the_scores(scores in proptest::collection::vec(0.001..0.999_f64, 0..50)) {
            for (a, b) in smooth(&scores, 0.5).iter().zip(&scores) {
                prop_assert!((a - b).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_single_token_keeps_its_score() {
        assert!((smooth(&[0.3], 0.993)[0] - 0.3).abs() < 1e-12);
    }

    #[test]
    fn long_answers_of_extreme_scores_stay_finite() {
        let scores: Vec<f64> = (0..20_000).map(|i| f64::from(u8::from(i % 977 < 400))).collect();
        assert!(smooth(&scores, 0.9999).iter().all(|s| (0.0..=1.0).contains(s)));
        assert!(smooth(&[0.0, 1.0, 0.0], 1.0).iter().all(|s| (0.0..=1.0).contains(s)));
        assert!(smooth(&[f64::NAN, 0.9], 0.9).iter().all(|s| (0.0..=1.0).contains(s)));
    }

    #[test]
    fn an_empty_answer_has_no_score() {
        assert!(smooth(&[], 0.9).is_empty());
        assert_eq!(answer_score(&[], 0.9), None);
    }

    #[test]
    fn the_fitted_chain_counts_how_often_labels_stay() {
        let (a, b) = ([false, false, true, true, true, false], [false; 4]);
        let chain = Chain::fit([&a[..], &b[..]]);
        assert!((chain.stay_inside - 3.0 / 5.0).abs() < 1e-12, "two stays, one leave, pseudo-counts");
        assert!((chain.stay_outside - 5.0 / 7.0).abs() < 1e-12);
        assert!((chain.prior - 0.25).abs() < 1e-12);
    }
}
