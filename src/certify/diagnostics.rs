//! Does the certificate of a retriever mean anything on a data set? m1 and m2 of the paper, and what
//! they do not show: coverage, recall, and whether the score separates correct from wrong chunks.

use rayon::prelude::*;
use serde::Serialize;

use super::guarantee::end_to_end_floor;
use super::intervals::{Bounds, clopper_pearson};
use super::kolmogorov_smirnov::{KolmogorovSmirnov, kolmogorov_smirnov};
use super::scores::{CalibrationMode, QuestionScores};
use super::{Alpha, Calibration, CertifyError, Quantile};
use crate::metrics::{Measure, Random, macro_mean, ranking};

/// What is diagnosed. `Default`: K 10, alpha 0.1 among a grid, 20 random halves, seed 42.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiagnosticsSettings {
    /// Chunks retrieved per question; m2 is a share of this.
    pub k: usize,
    /// The levels looked at; order and repetition do not matter.
    pub alphas: Vec<Alpha>,
    /// Random halves over whose test part everything is averaged.
    pub repeats: usize,
    pub seed: u64,
}

impl Default for DiagnosticsSettings {
    fn default() -> Self {
        let grid = [10, 20].into_iter().chain((50..1000).step_by(50));
        Self { k: 10, alphas: grid.map(Alpha::from_thousandths).collect(), repeats: 20, seed: 42 }
    }
}

/// Everything known about a (retriever, data set) pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnostics {
    pub settings: DiagnosticsSettings,
    pub questions: usize,
    /// Questions whose source document is not in the corpus; they count as not found.
    pub unreachable: usize,
    /// recall@K: share of all questions with a correct chunk in the top K.
    pub recall: Measure,
    /// Mean of 1 / rank of the first correct chunk, 0 where there is none.
    pub mean_reciprocal_rank: Measure,
    /// Share of all questions whose first chunk is correct.
    pub hit_at_1: Measure,
    /// AUROC of the raw score for correct against wrong retrieved chunks of all questions.
    pub auroc: Measure,
    pub per_question: ModeDiagnostics,
    pub pooled: ModeDiagnostics,
}

impl Diagnostics {
    #[must_use]
    pub const fn mode(&self, mode: CalibrationMode) -> &ModeDiagnostics {
        match mode {
            CalibrationMode::PerQuestion => &self.per_question,
            CalibrationMode::Pooled => &self.pooled,
        }
    }
}

/// The figures of one way to calibrate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeDiagnostics {
    /// Calibration values in the first half.
    pub calibration_values: usize,
    /// Calibration values of a half in the mean.
    pub mean_calibration_values: Measure,
    /// Calibration against test nonconformities of the first split; `None` when either has none.
    pub kolmogorov_smirnov: Option<KolmogorovSmirnov>,
    /// In rising order of alpha.
    pub rows: Vec<AlphaRow>,
}

impl ModeDiagnostics {
    #[must_use]
    pub fn row(&self, alpha: Alpha) -> Option<&AlphaRow> {
        self.rows.iter().find(|row| row.alpha == alpha)
    }
}

/// The figures at one level, each the mean over the test halves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlphaRow {
    pub alpha: Alpha,
    /// Share of questions with a trusted chunk.
    pub m1: Measure,
    /// Standard error of m1 for one test half.
    pub m1_standard_error: Measure,
    /// Share of the K chunks that are trusted.
    pub m2: Measure,
    /// Share of the correct retrieved chunks that are trusted: one per question (its best-scored) or
    /// all, as the mode counts them.
    pub coverage: Measure,
    /// Monte Carlo error of that mean: the standard deviation over the halves by the square root of their number. It
    /// is about these questions; other questions would differ by more.
    pub coverage_monte_carlo_error: Measure,
    /// Clopper-Pearson 95 % interval of the coverage in the first split.
    pub coverage_interval: Option<Bounds>,
    /// Where split conformal prediction puts the true coverage in 95 of 100 calibrations of this n;
    /// `None` below the n that alpha needs.
    pub coverage_band: Option<Bounds>,
    /// recall@K x (1 - alpha).
    pub end_to_end_floor: Measure,
}

/// One level on one test half.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    questions: usize,
    any_trusted: usize,
    trusted: usize,
    correct: usize,
    correct_trusted: usize,
}

/// One split: its counts per mode and level, and what the first one leaves behind.
struct Split {
    counts: [Vec<Counts>; 2],
    calibrations: [Calibration; 2],
    tests: [Vec<f64>; 2],
}

const MODES: [CalibrationMode; 2] = [CalibrationMode::PerQuestion, CalibrationMode::Pooled];

/// Calibrates on one half of the questions and measures on the other, `repeats` times.
///
/// # Errors
/// K of 0, fewer than two split keys, a score that is not finite.
pub fn diagnose(
    questions: &[QuestionScores],
    settings: &DiagnosticsSettings,
) -> Result<Diagnostics, CertifyError> {
    if settings.k == 0 {
        return Err(CertifyError::NoChunksAsked);
    }
    let mut keys: Vec<&str> = questions.iter().map(|question| question.split_key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    if keys.len() < 2 {
        return Err(CertifyError::TooFewQuestions);
    }
    let mut settings = settings.clone();
    settings.alphas.sort_unstable();
    settings.alphas.dedup();
    settings.repeats = settings.repeats.max(1);
    // A hit beyond K is not looked at, whatever the caller retrieved.
    let questions: Vec<QuestionScores> = questions
        .iter()
        .map(|question| QuestionScores {
            hits: question.hits.iter().take(settings.k).copied().collect(),
            ..question.clone()
        })
        .collect();
    let splits = (0..settings.repeats)
        .into_par_iter()
        .map(|repeat| split(&questions, &keys, &settings, repeat))
        .collect::<Result<Vec<Split>, CertifyError>>()?;

    let all = questions.len() as f64;
    let found = questions.iter().filter_map(QuestionScores::first_correct);
    let over_questions = |sum: f64| Measure::ratio(sum, all, "no questions");
    let recall = over_questions(found.clone().count() as f64);
    let (labels, scores): (Vec<bool>, Vec<f64>) = questions
        .iter()
        .flat_map(|question| &question.hits)
        .map(|&(score, correct)| (correct, score))
        .unzip();
    let mode = |at: usize| mode_diagnostics(&splits, at, &settings, &recall);
    Ok(Diagnostics {
        questions: questions.len(),
        unreachable: questions.iter().filter(|question| !question.reachable).count(),
        mean_reciprocal_rank: over_questions(found.clone().map(|above| 1.0 / (above + 1) as f64).sum()),
        hit_at_1: over_questions(found.filter(|&above| above == 0).count() as f64),
        auroc: ranking(&labels, &scores).auroc,
        per_question: mode(0),
        pooled: mode(1),
        recall,
        settings,
    })
}

fn split(
    questions: &[QuestionScores],
    keys: &[&str],
    settings: &DiagnosticsSettings,
    repeat: usize,
) -> Result<Split, CertifyError> {
    let mut shuffled: Vec<usize> = (0..keys.len()).collect();
    Random::for_task(settings.seed, repeat as u64).shuffle(&mut shuffled);
    let mut calibrates = vec![false; keys.len()];
    for &key in &shuffled[..keys.len() / 2] {
        calibrates[key] = true;
    }
    let (calibration_half, test_half): (Vec<&QuestionScores>, Vec<&QuestionScores>) =
        questions.iter().partition(|question| {
            keys.binary_search(&question.split_key.as_str()).is_ok_and(|key| calibrates[key])
        });
    let [first, second] = MODES.map(|mode| -> Result<_, CertifyError> {
        let calibration = mode.calibrate(calibration_half.iter().copied())?;
        // Checked like a calibration, so that a bad score is found wherever it falls.
        let test = mode.calibrate(test_half.iter().copied())?.into();
        let counts = settings
            .alphas
            .iter()
            .map(|&alpha| match calibration.quantile(alpha) {
                Ok(quantile) => counts(&test_half, quantile, mode),
                Err(_) => Counts::default(),
            })
            .collect();
        Ok((counts, calibration, test))
    });
    let (first, second) = (first?, second?);
    Ok(Split { counts: [first.0, second.0], calibrations: [first.1, second.1], tests: [first.2, second.2] })
}

fn counts(test_half: &[&QuestionScores], quantile: Quantile, mode: CalibrationMode) -> Counts {
    let trusted = |score: f64| match quantile {
        Quantile::Infinite => true,
        Quantile::At(qhat) => -score <= qhat,
        Quantile::Nothing => false,
    };
    let mut counts = Counts { questions: test_half.len(), ..Counts::default() };
    for question in test_half {
        let kept = question.hits.iter().filter(|(score, _)| trusted(*score)).count();
        counts.any_trusted += usize::from(kept > 0);
        counts.trusted += kept;
        match mode {
            CalibrationMode::PerQuestion => {
                if let Some(best) = question.best_correct() {
                    counts.correct += 1;
                    counts.correct_trusted += usize::from(trusted(best));
                }
            }
            CalibrationMode::Pooled => {
                for score in question.correct_scores() {
                    counts.correct += 1;
                    counts.correct_trusted += usize::from(trusted(score));
                }
            }
        }
    }
    counts
}

fn mode_diagnostics(
    splits: &[Split],
    mode: usize,
    settings: &DiagnosticsSettings,
    recall: &Measure,
) -> ModeDiagnostics {
    let first = &splits[0];
    let rows = settings
        .alphas
        .iter()
        .enumerate()
        .map(|(at, &alpha)| {
            let mean = |measure: &dyn Fn(&Counts) -> Measure| {
                let halves: Vec<Measure> =
                    splits.iter().map(|split| measure(&split.counts[mode][at])).collect();
                macro_mean(&halves).mean
            };
            let per_question = |number: usize, counts: &Counts| {
                Measure::ratio(number as f64, counts.questions as f64, "not calibrated")
            };
            let coverage_of = |counts: &Counts| {
                let (kept, correct) = (counts.correct_trusted as f64, counts.correct as f64);
                Measure::ratio(kept, correct, "no correct chunk was retrieved")
            };
            let m1 = mean(&|counts| per_question(counts.any_trusted, counts));
            let counts = &first.counts[mode][at];
            AlphaRow {
                alpha,
                m1_standard_error: m1.value().map_or_else(
                    || m1.clone(),
                    |share| {
                        let variance = share * (1.0 - share) / counts.questions as f64;
                        Measure::of(variance.max(0.0).sqrt())
                    },
                ),
                m1,
                m2: mean(&|counts| {
                    let chunks = (counts.questions * settings.k) as f64;
                    Measure::ratio(counts.trusted as f64, chunks, "not calibrated")
                }),
                coverage: mean(&coverage_of),
                coverage_monte_carlo_error: monte_carlo_error(
                    splits.iter().filter_map(|split| coverage_of(&split.counts[mode][at]).value()),
                ),
                coverage_interval: clopper_pearson(counts.correct_trusted, counts.correct),
                coverage_band: first.calibrations[mode].coverage_band(alpha),
                end_to_end_floor: end_to_end_floor(recall, alpha),
            }
        })
        .collect();
    let values: usize = splits.iter().map(|split| split.calibrations[mode].len()).sum();
    ModeDiagnostics {
        calibration_values: first.calibrations[mode].len(),
        mean_calibration_values: Measure::ratio(values as f64, splits.len() as f64, "no halves"),
        kolmogorov_smirnov: kolmogorov_smirnov(
            first.calibrations[mode].nonconformities(),
            &first.tests[mode],
        ),
        rows,
    }
}

/// Standard error of the mean of independent draws.
fn monte_carlo_error(draws: impl Iterator<Item = f64>) -> Measure {
    let draws: Vec<f64> = draws.collect();
    let n = draws.len() as f64;
    if draws.len() < 2 {
        return Measure::undefined("fewer than two halves");
    }
    let mean = draws.iter().sum::<f64>() / n;
    let squares: f64 = draws.iter().map(|draw| (draw - mean).powi(2)).sum();
    Measure::of((squares / (n - 1.0) / n).sqrt())
}

#[cfg(test)]
#[path = "diagnostics_tests.rs"]
mod tests;
