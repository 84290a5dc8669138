//! Whether a (retriever, data set) pair suits certification, and what speaks against it.

use std::fmt;

use serde::Serialize;

use super::conformal::minimum_values;
use super::diagnostics::Diagnostics;
use super::guarantee::UNAVAILABLE;
use super::{Alpha, CalibrationMode};
use crate::metrics::Measure;

/// Below this AUROC of the retrieval score, correct and wrong retrieved chunks count as not
/// separated. Ours: the paper gives no bound. BM25 reaches .92 to .96 on public sets that suit it and
/// .73 on TAT-QA, where three of four chunks are trusted.
pub const LEAST_AUROC: f64 = 0.8;

/// How far the pair can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Suitability {
    Suitable,
    /// The guarantee may hold, and says little.
    Doubtful,
    /// The assumption behind the certificate fails.
    Unsuitable,
}

impl fmt::Display for Suitability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Suitable => "suitable",
            Self::Doubtful => "doubtful",
            Self::Unsuitable => "unsuitable",
        })
    }
}

/// A measure that did not reach its bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// `m1`, `coverage`, `recall@K`, `AUROC` or `calibration values`.
    pub measure: String,
    pub value: Measure,
    /// What it should have been, in words.
    pub bound: String,
    /// How bad this failure alone is.
    pub suitability: Suitability,
    /// One sentence for the user.
    pub sentence: String,
}

/// The judgement at one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    pub suitability: Suitability,
    pub alpha: Alpha,
    pub mode: CalibrationMode,
    /// What failed, worst first.
    pub failures: Vec<Failure>,
}

impl fmt::Display for Verdict {
    /// One line: the judgement and why.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at alpha = {}", self.suitability, self.alpha.value())?;
        if self.failures.is_empty() {
            return formatter.write_str(": m1, coverage, recall and separation are all within their bounds");
        }
        for (at, failure) in self.failures.iter().enumerate() {
            write!(formatter, "{} {}", if at == 0 { ":" } else { ";" }, failure.sentence)?;
        }
        Ok(())
    }
}

/// Judges a pair at a level that was diagnosed.
///
/// Unsuitable: mean m1 below 1 - alpha - 2 SE, or recall@K below 1 - alpha. Doubtful: coverage outside
/// its band, a score that does not separate correct from wrong chunks, too few calibration values, or
/// a measure that does not exist. m1 alone is not enough: a retriever whose wrong chunks score as high
/// as its right ones keeps m1 high.
#[must_use]
pub fn judge(diagnostics: &Diagnostics, alpha: Alpha, mode: CalibrationMode) -> Verdict {
    let mut failures = Vec::new();
    let mut fail = |measure: &str, value: &Measure, bound: String, suitability, sentence: String| {
        // What does not exist cannot be called bad, only unknown.
        let suitability = if value.value().is_none() { Suitability::Doubtful } else { suitability };
        failures.push(Failure {
            measure: measure.to_owned(),
            value: value.clone(),
            bound,
            suitability,
            sentence,
        });
    };
    let wished = f64::from(1000 - alpha.thousandths()) / 1000.0;
    let figures = diagnostics.mode(mode);
    let recall_name = format!("recall@{}", diagnostics.settings.k);

    let recall = &diagnostics.recall;
    if recall.value().is_none_or(|value| value < wished) {
        fail(
            &recall_name,
            recall,
            format!("at least {wished}"),
            Suitability::Unsuitable,
            format!(
                "{recall_name} is {recall:.3}, below {wished}: for too many questions no correct chunk is \
                 retrieved at all"
            ),
        );
    }
    if let Some(row) = figures.row(alpha) {
        let least = wished - 2.0 * row.m1_standard_error.value().unwrap_or(0.0);
        if row.m1.value().is_none_or(|value| value < least) {
            fail(
                "m1",
                &row.m1,
                format!("at least {least:.3}"),
                Suitability::Unsuitable,
                format!(
                    "m1 is {:.3}, below {least:.3} (1 - alpha less two standard errors): for too many \
                     questions no chunk is trusted",
                    row.m1
                ),
            );
        }
        if let Some(band) = row.coverage_band
            && row.coverage.value().is_none_or(|value| !band.contain(value))
        {
            fail(
                "coverage",
                &row.coverage,
                format!("{:.3} to {:.3}", band.lower, band.upper),
                Suitability::Doubtful,
                format!(
                    "coverage of correct retrieved chunks is {:.3}, outside {:.3} to {:.3}, where {} \
                     calibration values put it: the halves differ or many scores are equal",
                    row.coverage, band.lower, band.upper, figures.calibration_values
                ),
            );
        }
    } else {
        let missing = Measure::undefined("this alpha was not diagnosed");
        fail(
            "m1",
            &missing,
            format!("at least {wished}"),
            Suitability::Doubtful,
            format!("alpha = {} was not diagnosed", alpha.value()),
        );
    }
    let values = figures.calibration_values;
    if minimum_values(alpha).is_some_and(|minimum| values < minimum) {
        let minimum = minimum_values(alpha).unwrap_or_default();
        fail(
            "calibration values",
            &Measure::of(values as f64),
            format!("at least {minimum}"),
            Suitability::Doubtful,
            format!(
                "half of the questions give {values} calibration values, alpha = {} needs {minimum}: {UNAVAILABLE}",
                alpha.value()
            ),
        );
    }
    let auroc = &diagnostics.auroc;
    if auroc.value().is_none_or(|value| value < LEAST_AUROC) {
        fail(
            "AUROC",
            auroc,
            format!("at least {LEAST_AUROC}"),
            Suitability::Doubtful,
            format!(
                "AUROC of the retrieval score is {auroc:.3}, below {LEAST_AUROC}: wrong retrieved chunks score \
                 about as high as correct ones"
            ),
        );
    }
    failures.sort_by_key(|failure| std::cmp::Reverse(failure.suitability as u8));
    let suitability = failures.first().map_or(Suitability::Suitable, |failure| failure.suitability);
    Verdict { suitability, alpha, mode, failures }
}

#[cfg(test)]
mod tests {
    use super::super::diagnostics::{DiagnosticsSettings, diagnose};
    use super::super::scores::QuestionScores;
    use super::*;
    use crate::metrics::Random;

    /// 400 questions: a correct chunk in the top 3 with probability `found`, whose score lies `apart`
    /// above those of wrong chunks.
    fn verdict(found: f64, apart: f64, questions: usize) -> Verdict {
        let mut random = Random::new(11);
        let questions: Vec<QuestionScores> = (0..questions)
            .map(|number| {
                let correct = (random.uniform() < found).then(|| random.below(3));
                let mut hits: Vec<(f64, bool)> = (0..3)
                    .map(|at| {
                        let right = correct == Some(at);
                        (random.uniform() + if right { apart } else { 0.0 }, right)
                    })
                    .collect();
                hits.sort_by(|a, b| b.0.total_cmp(&a.0));
                QuestionScores { split_key: number.to_string(), hits, reachable: true }
            })
            .collect();
        let settings = DiagnosticsSettings { k: 3, ..DiagnosticsSettings::default() };
        judge(&diagnose(&questions, &settings).unwrap(), Alpha::default(), CalibrationMode::default())
    }

    fn failed(verdict: &Verdict) -> Vec<&str> {
        verdict.failures.iter().map(|failure| failure.measure.as_str()).collect()
    }

    #[test]
    fn a_retriever_that_finds_and_separates_is_suitable() {
        let found = verdict(0.99, 0.8, 400);
        assert_eq!(found.suitability, Suitability::Suitable, "{found}");
        assert!(found.to_string().starts_with("suitable at alpha = 0.1"));
    }

    #[test]
    fn low_recall_is_unsuitable_even_where_m1_is_high() {
        let found = verdict(0.75, 0.2, 400);
        assert_eq!(found.suitability, Suitability::Unsuitable);
        assert_eq!(failed(&found)[0], "recall@3", "{found}");
        assert!(!failed(&found).contains(&"m1"), "{found}");
    }

    #[test]
    fn a_score_that_does_not_separate_is_doubtful() {
        let found = verdict(0.99, 0.0, 400);
        assert_eq!((found.suitability, failed(&found)), (Suitability::Doubtful, vec!["AUROC"]), "{found}");
        assert!(found.to_string().contains("AUROC of the retrieval score is 0."), "{found}");
    }

    #[test]
    fn where_no_chunk_is_trusted_for_many_questions_m1_fails() {
        // Six of ten questions find a correct chunk far above all wrong ones: the rest trusts nothing.
        let found = verdict(0.6, 5.0, 400);
        assert_eq!((found.suitability, failed(&found)), (Suitability::Unsuitable, vec!["recall@3", "m1"]));
    }

    #[test]
    fn too_few_questions_are_doubtful_not_suitable() {
        let found = verdict(1.0, 0.8, 12);
        assert_eq!(found.suitability, Suitability::Doubtful, "{found}");
        assert!(failed(&found).contains(&"calibration values"));
    }
}
