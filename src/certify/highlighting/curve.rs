//! Mean loss and price over thresholds.

use serde::{Deserialize, Serialize};

use super::answers::{AnswerLoss, Population, Sources, allowed_sum, source_loss};

/// Rows of a curve at most. Above that, thresholds between two rows are passed over, which only makes
/// the chosen threshold lower: the promise holds all the same.
const MOST_ROWS: usize = 1_000;

/// One threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurveRow {
    /// lambda: a token is flagged iff its smoothed score is at least this.
    pub threshold: f64,
    /// Mean over sources of the mean missed share of a source's answers.
    pub mean_loss: f64,
    /// Flagged share of the tokens of all answers.
    pub flagged_tokens: f64,
    /// Share of the clean answers with at least one flagged token; absent without clean answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flagged_clean: Option<f64>,
}

/// Loss and price at the thresholds where the loss changes, ascending from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HighlightingCurve {
    pub population: Population,
    /// n, the sources averaged over.
    pub sources: usize,
    /// Mean loss of flagging nothing at all: the beta that is reached without any highlighting.
    pub loss_of_flagging_nothing: f64,
    pub rows: Vec<CurveRow>,
}

impl HighlightingCurve {
    #[must_use]
    pub fn new(answers: &[AnswerLoss], population: Population) -> Self {
        let sources = Sources::of(answers, population);
        let jumps = sources.jumps();
        let n = sources.units.len();
        let mut breaks: Vec<f64> = jumps.iter().map(|jump| jump.0).collect();
        breaks.dedup();
        let mut thresholds: Vec<f64> = if breaks.len() > MOST_ROWS {
            let last = breaks.len() - 1;
            (0..MOST_ROWS).map(|row| breaks[row * last / (MOST_ROWS - 1)]).collect()
        } else {
            breaks
        };
        thresholds.extend([0.0, 1.0]);
        thresholds.sort_unstable_by(f64::total_cmp);
        thresholds.dedup();
        let mut passed = jumps.iter().peekable();
        let mut missed = 0.0;
        let rows = thresholds
            .into_iter()
            .map(|threshold| {
                while let Some((_, weight, _)) = passed.next_if(|jump| jump.0 < threshold) {
                    missed += weight;
                }
                let (flagged_tokens, flagged_clean) = price(answers, threshold);
                CurveRow { threshold, mean_loss: mean(missed, n).min(1.0), flagged_tokens, flagged_clean }
            })
            .collect();
        let all: f64 = jumps.iter().map(|jump| jump.1).sum();
        Self { population, sources: n, loss_of_flagging_nothing: mean(all, n).min(1.0), rows }
    }

    /// The row of the largest threshold with n/(n+1) mean loss + 1/(n+1) <= beta (conformal risk control,
    /// arXiv 2208.02814, with losses of at most 1). `None`: no threshold can promise that, since
    /// beta < 1/(n+1).
    #[must_use]
    pub fn controlled(&self, beta: f64) -> Option<&CurveRow> {
        let allowed = allowed_sum(beta, self.sources);
        let fitting = self.rows.partition_point(|row| row.mean_loss * self.sources as f64 <= allowed);
        fitting.checked_sub(1).and_then(|last| self.rows.get(last))
    }

    /// Loss and price of any threshold for the answers that the curve was made of.
    #[must_use]
    pub fn at(&self, answers: &[AnswerLoss], threshold: f64) -> CurveRow {
        let sources = Sources::of(answers, self.population);
        let losses = sources.units.iter().map(|unit| source_loss(unit, threshold)).sum();
        let (flagged_tokens, flagged_clean) = price(answers, threshold);
        CurveRow { threshold, mean_loss: mean(losses, sources.units.len()), flagged_tokens, flagged_clean }
    }
}

fn mean(sum: f64, n: usize) -> f64 {
    if n == 0 { 0.0 } else { sum / n as f64 }
}

/// Flagged share of all tokens; share of clean answers with a flag.
fn price(answers: &[AnswerLoss], threshold: f64) -> (f64, Option<f64>) {
    let (mut tokens, mut flagged, mut clean, mut clean_flagged) = (0, 0, 0_usize, 0_usize);
    for answer in answers {
        let here = answer.flagged(threshold);
        tokens += answer.tokens();
        flagged += here;
        if answer.is_clean() {
            clean += 1;
            clean_flagged += usize::from(here > 0);
        }
    }
    (mean(flagged as f64, tokens), (clean > 0).then(|| mean(clean_flagged as f64, clean)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::{ScoredAnswer, risk_controlling_threshold};
    use crate::metrics::Random;

    fn answer(source: &str, scores: &[f64], labels: &[u8]) -> AnswerLoss {
        let labels: Vec<bool> = labels.iter().map(|label| *label == 1).collect();
        AnswerLoss::new(source, scores, &labels).unwrap()
    }

    #[test]
    fn with_one_answer_a_source_the_threshold_is_that_of_the_exhaustive_search() {
        let mut random = Random::new(3);
        for n in [1_usize, 4, 9, 30] {
            let drawn: Vec<ScoredAnswer> = (0..n)
                .map(|_| {
                    let scores: Vec<f64> =
                        (0..random.below(9)).map(|_| (random.uniform() * 20.0).floor() / 20.0).collect();
                    let unsupported = scores.iter().map(|_| random.uniform() < 0.4).collect();
                    ScoredAnswer { scores, unsupported }
                })
                .collect();
            let answers: Vec<AnswerLoss> = drawn
                .iter()
                .enumerate()
                .map(|(source, one)| {
                    AnswerLoss::new(source.to_string(), &one.scores, &one.unsupported).unwrap()
                })
                .collect();
            let curve = HighlightingCurve::new(&answers, Population::All);
            for beta in [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0] {
                let exhaustive = risk_controlling_threshold(&drawn, beta);
                let controlled = curve.controlled(beta).map(|row| row.threshold);
                // Between two breaks of the loss the exhaustive search may name a supported token's score.
                let loss = |threshold: Option<f64>| {
                    threshold.map(|lambda| answers.iter().map(|one| one.missed_share(lambda)).sum::<f64>())
                };
                assert_eq!(loss(controlled), loss(exhaustive), "n {n} beta {beta}");
                assert_eq!(controlled, exhaustive, "n {n} beta {beta}");
            }
        }
    }

    #[test]
    fn the_answers_of_one_source_count_as_one_unit() {
        // Nine sources; one of them has a hundred hopeless answers, which would rule alone if answers counted.
        let mut answers: Vec<AnswerLoss> =
            (0..8).map(|source| answer(&format!("s{source}"), &[0.9], &[1])).collect();
        answers.extend((0..100).map(|_| answer("many", &[0.1], &[1])));
        let curve = HighlightingCurve::new(&answers, Population::All);
        assert_eq!(curve.sources, 9);
        // allowed sum at beta = 0.2: 0.2 * 10 - 1 = 1, exactly the one hopeless source.
        assert_eq!(curve.controlled(0.2).unwrap().threshold, 0.9);
        assert_eq!(curve.controlled(0.19).unwrap().threshold, 0.1);
        assert_eq!(curve.controlled(0.09), None);
    }

    #[test]
    fn clean_answers_dilute_the_promise_unless_they_are_left_out() {
        let mut answers: Vec<AnswerLoss> =
            (0..40).map(|source| answer(&format!("c{source}"), &[0.2], &[0])).collect();
        answers.extend((0..10).map(|source| answer(&format!("u{source}"), &[0.6, 0.1], &[1, 0])));
        let all = HighlightingCurve::new(&answers, Population::All);
        assert!((all.loss_of_flagging_nothing - 0.2).abs() < 1e-12);
        assert_eq!(all.controlled(0.3).unwrap().threshold, 1.0);
        let unsupported = HighlightingCurve::new(&answers, Population::Unsupported);
        assert_eq!((unsupported.sources, unsupported.loss_of_flagging_nothing), (10, 1.0));
        let row = unsupported.controlled(0.3).unwrap();
        assert_eq!((row.threshold, row.mean_loss, row.flagged_clean), (0.6, 0.0, Some(0.0)));
        assert!((row.flagged_tokens - 10.0 / 60.0).abs() < 1e-12);
    }

    #[test]
    fn a_long_curve_is_thinned_towards_flagging_more() {
        let mut random = Random::new(11);
        let answers: Vec<AnswerLoss> = (0..60)
            .map(|source| {
                let scores: Vec<f64> = (0..100).map(|_| random.uniform()).collect();
                AnswerLoss::new(source.to_string(), &scores, &[true; 100]).unwrap()
            })
            .collect();
        let curve = HighlightingCurve::new(&answers, Population::All);
        assert!(curve.rows.len() <= MOST_ROWS + 2);
        let sources = Sources::of(&answers, Population::All);
        for beta in [0.05, 0.1, 0.2, 0.5] {
            let exact = super::super::answers::largest_threshold(
                &sources.jumps(),
                allowed_sum(beta, sources.units.len()),
                |_| true,
            );
            let (row, exact) = (curve.controlled(beta).unwrap().threshold, exact.unwrap());
            assert!(row <= exact && exact - row < 0.005, "{row} against {exact}");
        }
    }

    #[test]
    fn scores_and_labels_that_do_not_fit_are_refused() {
        assert!(AnswerLoss::new("s", &[0.1, 0.2], &[true]).is_err());
        assert!(AnswerLoss::new("s", &[f64::NAN], &[true]).is_err());
        assert!(AnswerLoss::new("s", &[1.5], &[true]).is_err());
        assert_eq!(HighlightingCurve::new(&[], Population::All).controlled(0.5), None);
    }
}
