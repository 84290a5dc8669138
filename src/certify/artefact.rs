//! The calibration on disk: made once, named by its hash in every line of evidence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::labels::{ChunkLabels, LabelSettings};
use super::scores::{CalibrationMode, QuestionScores};
use super::{Calibration, CertifyError, PValue};

/// Version of the layout. Another one is refused.
pub const ARTEFACT_SCHEMA: &str = "ragscope-calibration/1";

/// Everything that is needed to give a chunk its p-value, and to know whether it may have one: the
/// retriever must be the one that was calibrated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationArtefact {
    /// Always [`ARTEFACT_SCHEMA`].
    pub schema: String,
    /// `ragscope <version>`
    pub tool: String,
    #[serde(flatten)]
    pub source: CalibrationSource,
    pub counts: CalibrationCounts,
    /// The similarity threshold; absent when the document id alone decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity_threshold: Option<f64>,
    /// Nonconformities, one per question with a correct chunk in its top K.
    pub per_question: Calibration,
    /// Nonconformities, one per correct chunk.
    pub pooled: Calibration,
}

/// What a calibration was made from and with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CalibrationSource {
    /// Chunks retrieved per question.
    pub k: usize,
    pub retriever: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retriever_settings: BTreeMap<String, String>,
    pub labels: LabelSettings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_hash: Option<String>,
    pub seed: u64,
}

/// How much the calibration rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CalibrationCounts {
    pub questions: usize,
    /// Questions with a correct chunk in the top K.
    pub with_correct_chunk: usize,
    /// Questions whose source document is in the corpus.
    pub reachable: usize,
    /// Correct chunks in all top K.
    pub correct_chunks: usize,
    /// Texts in which the similarity saw no word.
    pub texts_without_words: usize,
}

impl CalibrationArtefact {
    /// Calibrates both modes on labelled questions.
    ///
    /// # Errors
    /// A score that is not finite.
    pub fn new(
        source: CalibrationSource,
        questions: &[QuestionScores],
        labels: &ChunkLabels,
    ) -> Result<Self, CertifyError> {
        let per_question = CalibrationMode::PerQuestion.calibrate(questions)?;
        let pooled = CalibrationMode::Pooled.calibrate(questions)?;
        Ok(Self {
            schema: ARTEFACT_SCHEMA.to_owned(),
            tool: format!("ragscope {}", env!("CARGO_PKG_VERSION")),
            source,
            counts: CalibrationCounts {
                questions: questions.len(),
                with_correct_chunk: per_question.len(),
                reachable: questions.iter().filter(|question| question.reachable).count(),
                correct_chunks: pooled.len(),
                texts_without_words: labels.texts_without_words,
            },
            similarity_threshold: labels.threshold,
            per_question,
            pooled,
        })
    }

    /// The calibration values of a mode.
    #[must_use]
    pub const fn calibration(&self, mode: CalibrationMode) -> &Calibration {
        match mode {
            CalibrationMode::PerQuestion => &self.per_question,
            CalibrationMode::Pooled => &self.pooled,
        }
    }

    /// The p-value of a chunk with this raw retrieval score.
    ///
    /// # Errors
    /// The reason why the chunk has none: no score, a score that is not finite, no calibration value.
    pub fn p_value(&self, score: Option<f64>, mode: CalibrationMode) -> Result<PValue, CertifyError> {
        self.calibration(mode).p_value(-score.ok_or(CertifyError::NoScore)?)
    }

    /// One line of JSON; no value in it is infinite or missing without a reason.
    ///
    /// # Errors
    /// None in practice: every field has a JSON form.
    pub fn to_json(&self) -> Result<String, CertifyError> {
        serde_json::to_string(self).map_err(|error| CertifyError::Unreadable { reason: error.to_string() })
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    /// Another schema, or text that is not a calibration.
    pub fn from_json(json: &str) -> Result<Self, CertifyError> {
        #[derive(Deserialize)]
        struct Header {
            schema: String,
        }
        let unreadable = |error: serde_json::Error| CertifyError::Unreadable { reason: error.to_string() };
        let header: Header = serde_json::from_str(json).map_err(unreadable)?;
        if header.schema != ARTEFACT_SCHEMA {
            return Err(CertifyError::OtherSchema { found: header.schema });
        }
        serde_json::from_str(json).map_err(unreadable)
    }

    /// SHA-256 of its JSON, the first 16 hexadecimal digits.
    ///
    /// # Errors
    /// As [`Self::to_json`].
    pub fn hash(&self) -> Result<String, CertifyError> {
        let digest = Sha256::digest(self.to_json()?.as_bytes());
        Ok(crate::text::hexadecimal(&digest[..8]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::Alpha;

    fn artefact(scores: &[f64]) -> CalibrationArtefact {
        let questions: Vec<QuestionScores> = scores
            .iter()
            .map(|&score| QuestionScores {
                split_key: score.to_string(),
                hits: vec![(score, true), (score - 0.5, true), (0.0, false)],
                reachable: true,
            })
            .collect();
        let labels = ChunkLabels {
            correct: Vec::new(),
            threshold: Some(0.25),
            wrong_document_chunks: 0,
            texts_without_words: 3,
        };
        let source = CalibrationSource {
            k: 3,
            retriever: "bm25".into(),
            retriever_settings: BTreeMap::from([("k1".into(), "1.2".into())]),
            data: Some("public".into()),
            seed: 42,
            ..CalibrationSource::default()
        };
        CalibrationArtefact::new(source, &questions, &labels).unwrap()
    }

    #[test]
    fn an_artefact_comes_back_from_its_json_with_the_same_hash() {
        let made = artefact(&[3.0, 1.5, 2.25]);
        let json = made.to_json().unwrap();
        let read = CalibrationArtefact::from_json(&json).unwrap();
        assert_eq!(read, made);
        assert_eq!(read.hash().unwrap(), made.hash().unwrap());
        assert_eq!(made.hash().unwrap().len(), 16);
        assert_ne!(artefact(&[3.0, 1.5]).hash().unwrap(), made.hash().unwrap());
        assert!(!json.contains("inf") && !json.contains("NaN"));
        assert_eq!((made.counts.with_correct_chunk, made.counts.correct_chunks), (3, 6));
        assert_eq!(made.counts.texts_without_words, 3);
    }

    #[test]
    fn p_values_differ_by_mode_and_say_why_there_is_none() {
        let made = artefact(&[3.0, 1.5, 2.25]);
        let p = |score, mode| made.p_value(score, mode).unwrap();
        assert_eq!(p(Some(2.25), CalibrationMode::PerQuestion), PValue { count: 3, out_of: 4 });
        assert_eq!(p(Some(2.25), CalibrationMode::Pooled), PValue { count: 5, out_of: 7 });
        assert!(p(Some(0.0), CalibrationMode::PerQuestion).exceeds(Alpha::from_thousandths(200)));
        assert!(matches!(made.p_value(None, CalibrationMode::Pooled), Err(CertifyError::NoScore)));
        let empty = artefact(&[]);
        assert!(matches!(
            empty.p_value(Some(1.0), CalibrationMode::default()),
            Err(CertifyError::NotCalibrated)
        ));
        assert_eq!(CalibrationArtefact::from_json(&empty.to_json().unwrap()).unwrap(), empty);
    }

    #[test]
    fn another_schema_and_broken_files_are_refused_with_the_reason() {
        let other = artefact(&[1.0]).to_json().unwrap().replace("calibration/1", "calibration/2");
        let refused = CalibrationArtefact::from_json(&other).unwrap_err().to_string();
        assert!(refused.contains("ragscope-calibration/2") && refused.contains("expected"), "{refused}");
        assert!(matches!(CalibrationArtefact::from_json("{}"), Err(CertifyError::Unreadable { .. })));
        assert!(CalibrationArtefact::from_json("").is_err());
    }
}
