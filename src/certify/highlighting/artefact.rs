//! The calibration of the highlighting on disk.

use serde::{Deserialize, Serialize};

use super::HighlightingGuarantee;
use super::answers::{AnswerLoss, Population};
use super::curve::{CurveRow, HighlightingCurve};
use crate::certify::CertifyError;
use crate::text::quoted;

/// Version of the layout. Another one is refused.
pub const HIGHLIGHTING_SCHEMA: &str = "ragscope-highlighting/1";

/// Whose scores were calibrated. Hashes as in the provenance of evidence.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HighlightingSource {
    pub detector: String,
    /// Label persistence of the smoothing.
    pub rho: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_hash: Option<String>,
    /// Whether the head is known to have been trained on these data.
    #[serde(default)]
    pub trained_on_data: bool,
}

/// All that turns a beta into a token threshold, and says for which runs it may.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HighlightingArtefact {
    /// Always [`HIGHLIGHTING_SCHEMA`].
    pub schema: String,
    /// `ragscope <version>`
    pub tool: String,
    #[serde(flatten)]
    pub source: HighlightingSource,
    pub answers: usize,
    pub clean_answers: usize,
    pub tokens: usize,
    pub curve: HighlightingCurve,
}

impl HighlightingArtefact {
    #[must_use]
    pub fn new(source: HighlightingSource, answers: &[AnswerLoss], population: Population) -> Self {
        Self {
            schema: HIGHLIGHTING_SCHEMA.to_owned(),
            tool: format!("ragscope {}", env!("CARGO_PKG_VERSION")),
            source,
            answers: answers.len(),
            clean_answers: answers.iter().filter(|answer| answer.is_clean()).count(),
            tokens: answers.iter().map(AnswerLoss::tokens).sum(),
            curve: HighlightingCurve::new(answers, population),
        }
    }

    /// What it says at `beta`.
    #[must_use]
    pub const fn guarantee(&self, beta: f64) -> HighlightingGuarantee {
        HighlightingGuarantee {
            beta,
            sources: self.curve.sources,
            population: self.curve.population,
            trained_on_calibration: self.source.trained_on_data,
        }
    }

    /// The token threshold for `beta`, with its loss and price.
    ///
    /// # Errors
    /// No threshold can promise that; the reason says how many sources are needed.
    pub fn controlled(&self, beta: f64) -> Result<&CurveRow, CertifyError> {
        let guarantee = self.guarantee(beta);
        self.curve
            .controlled(beta)
            .filter(|_| guarantee.feasible())
            .ok_or_else(|| CertifyError::NoHighlightingThreshold { reason: guarantee.statement() })
    }

    /// Refuses a run whose scores are not those that were calibrated.
    ///
    /// # Errors
    /// Everything that differs of detector, label persistence, head and model.
    pub fn admits(&self, run: &HighlightingSource) -> Result<(), CertifyError> {
        let hash = |hash: &Option<String>| hash.clone().unwrap_or_else(|| "none".to_owned());
        let pairs = [
            ("detector", self.source.detector.clone(), run.detector.clone()),
            ("rho", self.source.rho.to_string(), run.rho.to_string()),
            ("head", hash(&self.source.head_hash), hash(&run.head_hash)),
            ("model", hash(&self.source.model_hash), hash(&run.model_hash)),
        ];
        let differences: Vec<String> = pairs
            .into_iter()
            .filter(|(_, own, other)| own != other)
            .map(|(what, own, other)| {
                format!("{what} {} was calibrated, the run has {}", quoted(&own), quoted(&other))
            })
            .collect();
        if differences.is_empty() {
            return Ok(());
        }
        Err(CertifyError::OtherHighlighting { differences: differences.join("; ") })
    }

    /// One line of JSON.
    ///
    /// # Errors
    /// None in practice: every field has a JSON form.
    pub fn to_json(&self) -> Result<String, CertifyError> {
        serde_json::to_string(self).map_err(|error| unreadable(&error))
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    /// Another schema, or text that is not such a calibration: the curve must rise from no loss.
    pub fn from_json(json: &str) -> Result<Self, CertifyError> {
        #[derive(Deserialize)]
        struct Header {
            schema: String,
        }
        let header: Header = serde_json::from_str(json).map_err(|error| unreadable(&error))?;
        if header.schema != HIGHLIGHTING_SCHEMA {
            return Err(CertifyError::OtherHighlightingSchema { found: header.schema });
        }
        let artefact: Self = serde_json::from_str(json).map_err(|error| unreadable(&error))?;
        let rows = &artefact.curve.rows;
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let starts_at_nothing_missed = rows.first().is_some_and(|row| row.mean_loss == 0.0);
        let rises = rows
            .windows(2)
            .all(|pair| pair[0].threshold < pair[1].threshold && pair[0].mean_loss <= pair[1].mean_loss);
        if starts_at_nothing_missed
            && rises
            && rows.iter().all(|row| share(row.threshold) && share(row.mean_loss))
        {
            Ok(artefact)
        } else {
            Err(CertifyError::UnreadableHighlighting {
                reason: "its curve does not rise from no loss between 0 and 1".to_owned(),
            })
        }
    }
}

fn unreadable(error: &serde_json::Error) -> CertifyError {
    CertifyError::UnreadableHighlighting { reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Random;

    fn artefact() -> HighlightingArtefact {
        let mut random = Random::new(2);
        let answers: Vec<AnswerLoss> = (0..40)
            .map(|source| {
                let scores: Vec<f64> = (0..20).map(|_| random.uniform()).collect();
                let labels: Vec<bool> = (0..20).map(|_| random.uniform() < 0.2).collect();
                AnswerLoss::new((source / 2).to_string(), &scores, &labels).unwrap()
            })
            .collect();
        let source = HighlightingSource {
            detector: "cortex".to_owned(),
            rho: 0.993,
            head_hash: Some("aa".to_owned()),
            model_hash: Some("mm".to_owned()),
            ..HighlightingSource::default()
        };
        HighlightingArtefact::new(source, &answers, Population::All)
    }

    #[test]
    fn an_artefact_comes_back_from_its_json_with_the_same_thresholds() {
        let made = artefact();
        let read = HighlightingArtefact::from_json(&made.to_json().unwrap()).unwrap();
        assert_eq!(read, made);
        assert_eq!((made.curve.sources, made.answers, made.tokens), (20, 40, 800));
        for beta in [0.05, 0.1, 0.25] {
            assert_eq!(read.controlled(beta).unwrap(), made.controlled(beta).unwrap());
        }
        let refused = made.controlled(0.04).unwrap_err().to_string();
        assert!(refused.contains("below 24 sources at beta = 0.04: 20 were"), "{refused}");
    }

    #[test]
    fn a_run_with_other_scores_is_refused_with_all_that_differs() {
        let made = artefact();
        made.admits(&made.source).unwrap();
        let other = HighlightingSource {
            detector: "nll".to_owned(),
            rho: 0.9,
            head_hash: Some("bb".to_owned()),
            ..made.source.clone()
        };
        let refused = made.admits(&other).unwrap_err().to_string();
        for words in [
            "detector cortex was calibrated, the run has nll",
            "rho 0.993 was calibrated, the run has 0.9",
            "head aa was calibrated, the run has bb",
            "ragscope highlighting",
        ] {
            assert!(refused.contains(words), "{words} not in {refused}");
        }
        assert!(!refused.contains("model "));
        let elsewhere = HighlightingSource { data_hash: Some("dd".to_owned()), ..made.source.clone() };
        made.admits(&elsewhere).unwrap();
    }

    #[test]
    fn other_layouts_and_curves_that_fall_are_refused() {
        let json = artefact().to_json().unwrap();
        let other = json.replace("ragscope-highlighting/1", "ragscope-highlighting/9");
        assert!(HighlightingArtefact::from_json(&other).unwrap_err().to_string().contains("highlighting/9"));
        let mut falling = artefact();
        falling.curve.rows.reverse();
        assert!(HighlightingArtefact::from_json(&falling.to_json().unwrap()).is_err());
        let mut lossy = artefact();
        lossy.curve.rows.remove(0);
        lossy.curve.rows.remove(0);
        assert!(HighlightingArtefact::from_json(&lossy.to_json().unwrap()).is_err());
        assert!(HighlightingArtefact::from_json("{").is_err());
    }
}
