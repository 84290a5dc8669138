//! The scores of labelled questions: what calibrations and diagnostics are made of.

use serde::{Deserialize, Serialize};

use super::{Calibration, CertifyError};

/// What the retriever gave for one question, labelled.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionScores {
    /// Questions with the same key never straddle a split.
    pub split_key: String,
    /// (raw score, correct) in rank order; higher is better.
    pub hits: Vec<(f64, bool)>,
    /// Whether the corpus holds a source document of the question at all.
    pub reachable: bool,
}

impl QuestionScores {
    /// Number of chunks above the first correct one; `None` when none was retrieved.
    #[must_use]
    pub fn first_correct(&self) -> Option<usize> {
        self.hits.iter().position(|&(_, correct)| correct)
    }

    /// The score of the best-scored correct chunk.
    #[must_use]
    pub fn best_correct(&self) -> Option<f64> {
        self.correct_scores().max_by(f64::total_cmp)
    }

    /// The scores of all correct chunks.
    pub fn correct_scores(&self) -> impl Iterator<Item = f64> {
        self.hits.iter().filter(|(_, correct)| *correct).map(|&(score, _)| score)
    }
}

/// What one calibration value stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationMode {
    /// One value per question, its best-scored correct chunk: valid split conformal prediction over
    /// questions.
    #[default]
    PerQuestion,
    /// One value per correct chunk, as in the paper; chunks of one question are not exchangeable.
    Pooled,
}

impl CalibrationMode {
    /// The nonconformities -score of the correct retrieved chunks that this mode counts.
    ///
    /// # Errors
    /// A score that is not finite.
    pub fn calibrate<'a>(
        self,
        questions: impl IntoIterator<Item = &'a QuestionScores>,
    ) -> Result<Calibration, CertifyError> {
        let mut values = Vec::new();
        for question in questions {
            match self {
                Self::PerQuestion => values.extend(question.best_correct().map(|score| -score)),
                Self::Pooled => values.extend(question.correct_scores().map(|score| -score)),
            }
        }
        Calibration::new(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_gives_one_value_or_one_per_correct_chunk() {
        let questions = [
            QuestionScores {
                split_key: "a".into(),
                hits: vec![(9.0, false), (7.0, true), (8.0, true)],
                reachable: true,
            },
            QuestionScores { split_key: "b".into(), hits: vec![(5.0, false)], reachable: true },
        ];
        let per_question = CalibrationMode::PerQuestion.calibrate(&questions).unwrap();
        assert_eq!(per_question.nonconformities(), [-8.0]);
        let pooled = CalibrationMode::Pooled.calibrate(&questions).unwrap();
        assert_eq!(pooled.nonconformities(), [-8.0, -7.0]);
        assert_eq!((questions[0].first_correct(), questions[1].best_correct()), (Some(1), None));
    }
}
