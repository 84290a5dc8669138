//! Certified highlighting: what conformal risk control promises about missed tokens, at which price, and whether held-out
//! sources confirm it.
//!
//! The unit is the source: answers to one source are not exchangeable with answers to others, so the loss of a source is
//! the mean over its answers of the share of unsupported tokens that no highlighting reaches. An answer without
//! unsupported tokens loses nothing, so that where few answers have any, a large beta promises next to nothing: no
//! flag at all would keep it. [`Population::Affected`] therefore averages over the answers that have some.

use rayon::prelude::*;
use serde::Serialize;

use super::ScoredAnswer;
use crate::metrics::Random;

/// The thresholds that are considered: 0, and 97 even steps in log-odds from -12 to 12. Fixed beforehand, so that no
/// data chooses them.
fn grid() -> Vec<f64> {
    let steps = (-48..=48).map(|step| 1.0 / (1.0 + (-f64::from(step) / 4.0).exp()));
    std::iter::once(0.0).chain(steps).collect()
}

/// Whose missed share is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Population {
    /// Every answer; one without unsupported tokens loses nothing.
    All,
    /// Answers that have unsupported tokens.
    Affected,
}

/// What every threshold costs and misses, source by source.
#[derive(Debug, Clone, PartialEq)]
pub struct HighlightingCurves {
    thresholds: Vec<f64>,
    /// All of them: what a threshold costs is counted on every answer.
    sources: Vec<SourceCurve>,
    /// Those with an answer of the population.
    calibrating: Vec<usize>,
}

/// One source, a value per threshold each.
#[derive(Debug, Clone, PartialEq)]
struct SourceCurve {
    /// Mean missed share; empty where no answer is of the population.
    loss: Vec<f64>,
    flagged_tokens: Vec<usize>,
    tokens: usize,
    /// Answers without unsupported tokens that get a flag.
    alarmed_answers: Vec<usize>,
    clean_answers: usize,
}

/// What one level of beta promises and what came of it on held-out sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HighlightingLevel {
    /// Bound on the expected share of missed unsupported tokens.
    pub beta: f64,
    /// The threshold that all sources give together; `None` where so few sources can promise nothing.
    pub threshold: Option<f64>,
    /// Share of all tokens that this threshold flags.
    pub flagged_tokens: Option<f64>,
    /// Share of clean answers with any flagged token.
    pub alarmed_answers: Option<f64>,
    /// Mean missed share on the other half, over random halves by source.
    pub realised: Option<f64>,
    /// Standard error of that mean over the halves.
    pub realised_error: Option<f64>,
    /// Halves in which a threshold could be promised.
    pub halves: usize,
}

impl HighlightingCurves {
    /// Curves of answers grouped by source; `source_of`: one number an answer.
    #[must_use]
    pub fn new(answers: &[ScoredAnswer], source_of: &[usize], population: Population) -> Self {
        let thresholds = grid();
        let count = source_of.iter().max().map_or(0, |last| last + 1);
        let mut members: Vec<Vec<&ScoredAnswer>> = vec![Vec::new(); count];
        for (answer, &source) in answers.iter().zip(source_of) {
            members[source].push(answer);
        }
        let sources: Vec<SourceCurve> = members
            .into_par_iter()
            .filter(|members| !members.is_empty())
            .map(|members| SourceCurve::new(&members, &thresholds, population))
            .collect();
        let calibrating = (0..sources.len()).filter(|&source| !sources[source].loss.is_empty()).collect();
        Self { thresholds, sources, calibrating }
    }

    /// Sources that the promise rests on.
    #[must_use]
    pub const fn sources(&self) -> usize {
        self.calibrating.len()
    }

    /// The largest threshold with n/(n+1) mean loss + 1/(n+1) <= beta over the chosen sources.
    fn place(&self, sources: &[usize], beta: f64) -> Option<usize> {
        const ROUNDING: f64 = 1e-12;
        let allowed = beta * (sources.len() as f64 + 1.0) - 1.0 + ROUNDING;
        let total =
            |place: usize| sources.iter().map(|&source| self.sources[source].loss[place]).sum::<f64>();
        // The loss rises with the threshold, so what fits is a prefix.
        (0..self.thresholds.len()).take_while(|&place| total(place) <= allowed).last()
    }

    /// The threshold for `beta` from all sources, what it costs, and the missed share on `halves` random halves by
    /// source, the threshold chosen on one half and judged on the other.
    #[must_use]
    pub fn level(&self, beta: f64, halves: usize, seed: u64) -> HighlightingLevel {
        let all = &self.calibrating;
        let place = self.place(all, beta);
        let realised: Vec<f64> = (0..halves)
            .into_par_iter()
            .filter_map(|number| {
                let mut order = all.clone();
                Random::for_task(seed, number as u64).shuffle(&mut order);
                let (calibration, held_out) = order.split_at(order.len() / 2);
                let place = self.place(calibration, beta)?;
                let losses = held_out.iter().map(|&source| self.sources[source].loss[place]);
                Some(losses.sum::<f64>() / held_out.len().max(1) as f64)
            })
            .collect();
        let count = realised.len() as f64;
        let mean = realised.iter().sum::<f64>() / count;
        let variance = realised.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let share = |numerator: usize, denominator: usize| {
            (denominator > 0).then(|| numerator as f64 / denominator as f64)
        };
        let sum = |of: &dyn Fn(&SourceCurve) -> usize| self.sources.iter().map(of).sum::<usize>();
        HighlightingLevel {
            beta,
            threshold: place.map(|place| self.thresholds[place]),
            flagged_tokens: place
                .and_then(|place| share(sum(&|s| s.flagged_tokens[place]), sum(&|s| s.tokens))),
            alarmed_answers: place
                .and_then(|place| share(sum(&|s| s.alarmed_answers[place]), sum(&|s| s.clean_answers))),
            realised: (!realised.is_empty()).then_some(mean),
            realised_error: (realised.len() > 1).then(|| (variance / count).sqrt()),
            halves: realised.len(),
        }
    }
}

impl SourceCurve {
    fn new(answers: &[&ScoredAnswer], thresholds: &[f64], population: Population) -> Self {
        let (affected, clean): (Vec<&ScoredAnswer>, Vec<&ScoredAnswer>) =
            answers.iter().copied().partition(|answer| answer.unsupported.iter().any(|label| *label));
        let counted = match population {
            Population::All => answers.to_vec(),
            Population::Affected => affected,
        };
        let thresholds_of_loss = if counted.is_empty() { &[] } else { thresholds };
        let flagged = |answer: &ScoredAnswer, threshold: f64| {
            answer.scores.iter().filter(|score| **score >= threshold).count()
        };
        let at = |of: &dyn Fn(f64) -> usize| thresholds.iter().map(|threshold| of(*threshold)).collect();
        Self {
            loss: thresholds_of_loss
                .iter()
                .map(|&threshold| {
                    let shares = counted.iter().map(|answer| answer.missed_share(threshold));
                    shares.sum::<f64>() / counted.len() as f64
                })
                .collect(),
            flagged_tokens: at(&|threshold| answers.iter().map(|answer| flagged(answer, threshold)).sum()),
            tokens: answers.iter().map(|answer| answer.scores.len()).sum(),
            alarmed_answers: at(&|threshold| {
                clean.iter().filter(|answer| flagged(answer, threshold) > 0).count()
            }),
            clean_answers: clean.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(random: &mut Random, sources: usize) -> (Vec<ScoredAnswer>, Vec<usize>) {
        let mut drawn = Vec::new();
        let mut source_of = Vec::new();
        for source in 0..sources {
            // Sources differ in how hard they are, which answers of one source share.
            let hard = random.uniform();
            for _ in 0..3 {
                let scores: Vec<f64> = (0..20).map(|_| random.uniform()).collect();
                let unsupported = scores
                    .iter()
                    .map(|score| random.uniform() < 0.1 + 0.6 * (score * (1.0 - hard) + hard * 0.5))
                    .collect();
                drawn.push(ScoredAnswer { scores, unsupported });
                source_of.push(source);
            }
        }
        (drawn, source_of)
    }

    #[test]
    fn the_realised_share_stays_at_or_below_beta_for_several_sizes_and_levels() {
        let mut random = Random::new(11);
        for (sources, beta) in [(60, 0.1), (60, 0.3), (200, 0.1), (200, 0.2)] {
            // The promise is on average over calibrations: several data sets, one held-out half each.
            let mut means = Vec::new();
            for number in 0..60 {
                let (answers, source_of) = answers(&mut random, sources);
                let curves = HighlightingCurves::new(&answers, &source_of, Population::All);
                means.push(curves.level(beta, 1, number).realised.unwrap());
            }
            let mean = means.iter().sum::<f64>() / 60.0;
            assert!(mean <= beta + 0.015, "{sources} sources, beta {beta}: missed {mean}");
            assert!(mean > beta - 0.08, "nearly reached, not trivially kept: {mean}");
        }
    }

    #[test]
    fn so_few_sources_that_nothing_can_be_promised_say_so() {
        let (answers, source_of) = answers(&mut Random::new(1), 8);
        let level = HighlightingCurves::new(&answers, &source_of, Population::All).level(0.1, 10, 1);
        assert_eq!((level.threshold, level.realised, level.halves), (None, None, 0));
        assert_eq!(HighlightingCurves::new(&[], &[], Population::Affected).level(0.5, 3, 1).threshold, None);
    }

    #[test]
    fn a_larger_beta_never_flags_more() {
        let (answers, source_of) = answers(&mut Random::new(2), 100);
        let curves = HighlightingCurves::new(&answers, &source_of, Population::All);
        let levels: Vec<HighlightingLevel> =
            [0.05, 0.1, 0.2, 0.4].iter().map(|beta| curves.level(*beta, 0, 0)).collect();
        assert!(levels.windows(2).all(|pair| pair[0].threshold <= pair[1].threshold));
        assert!(levels.windows(2).all(|pair| pair[0].flagged_tokens >= pair[1].flagged_tokens));
    }

    #[test]
    fn clean_answers_make_the_promise_cheap_and_the_affected_population_does_not_count_them() {
        let wrong = ScoredAnswer { scores: vec![0.2, 0.9], unsupported: vec![true, false] };
        let clean = ScoredAnswer { scores: vec![0.1], unsupported: vec![false] };
        let answers: Vec<ScoredAnswer> =
            (0..40).flat_map(|_| [wrong.clone(), clean.clone(), clean.clone()]).collect();
        let source_of: Vec<usize> = (0..120).map(|answer| answer / 3).collect();
        let threshold = |population| {
            HighlightingCurves::new(&answers, &source_of, population).level(0.4, 0, 0).threshold.unwrap()
        };
        // Missing everything costs a third over all answers, and all over the affected ones.
        assert!(threshold(Population::All) > 0.99);
        assert!(threshold(Population::Affected) <= 0.2);
        let mixed: Vec<usize> = (0..120).collect();
        let curves = HighlightingCurves::new(&answers, &mixed, Population::Affected);
        assert_eq!(curves.sources(), 40);
        assert_eq!(curves.level(0.4, 0, 0).alarmed_answers, Some(1.0 - 1.0));
    }
}
