//! The certified level of the highlighting: a beta that sets the token threshold.

use std::sync::Arc;

use crate::certify::highlighting::{HighlightingArtefact, HighlightingGuarantee};
use crate::evidence::{Evidence, Thresholds, scores_of};

/// A calibration of the highlighting beside a run, and whether it may speak about it.
#[derive(Debug, Clone)]
pub struct Highlighting {
    artefact: Arc<HighlightingArtefact>,
    /// Why the scores of this run are not those that were calibrated.
    foreign: Option<String>,
    /// The detector of the records while none is chosen.
    first_detector: Option<String>,
    /// Whether a record comes from the data of the calibration.
    same_data: bool,
}

/// What a beta comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum CertifiedLevel {
    /// The token threshold follows.
    InForce(f64),
    /// It does not, and why.
    Refused(String),
}

impl Highlighting {
    pub fn new(artefact: HighlightingArtefact) -> Self {
        Self { artefact: Arc::new(artefact), foreign: None, first_detector: None, same_data: false }
    }

    /// Compares a record of the run with the calibration; whether anything changed by it.
    pub fn look_at(&mut self, evidence: &Evidence) -> bool {
        let Some(reading) = &evidence.reading else { return false };
        let made = &evidence.provenance;
        let own = &self.artefact.source;
        let mut changed = false;
        if !self.same_data && made.data_hash.is_some() && made.data_hash == own.data_hash {
            self.same_data = true;
            changed = true;
        }
        if self.first_detector.is_none() {
            self.first_detector = reading.detectors.first().map(|scores| scores.name.clone());
            changed = true;
        }
        let same = made.head_hash == own.head_hash && made.model_hash == own.model_hash;
        if self.foreign.is_none() && !same {
            self.foreign = self.difference(evidence);
            changed = true;
        }
        changed
    }

    /// Detector and label persistence are the user's to choose; what made the scores is not.
    fn difference(&self, evidence: &Evidence) -> Option<String> {
        let own = &self.artefact.source;
        let as_calibrated =
            Thresholds { rho: own.rho, detector: Some(own.detector.clone()), ..Thresholds::default() };
        match scores_of(std::slice::from_ref(evidence), &as_calibrated) {
            Ok(scored) => self.artefact.admits(&scored).err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// What the thresholds' beta comes to; `None` while they have none.
    pub fn level(&self, thresholds: &Thresholds) -> Option<CertifiedLevel> {
        let beta = thresholds.beta?;
        let own = &self.artefact.source;
        if let Some(foreign) = &self.foreign {
            return Some(CertifiedLevel::Refused(foreign.clone()));
        }
        if thresholds.rho != own.rho {
            let why = format!("rho {} was calibrated, not {}: bring rho back", own.rho, thresholds.rho);
            return Some(CertifiedLevel::Refused(why));
        }
        let detector = thresholds.detector.as_ref().or(self.first_detector.as_ref());
        if let Some(detector) = detector.filter(|detector| **detector != own.detector) {
            let why = format!("the scores of {} were calibrated, not those of {detector}", own.detector);
            return Some(CertifiedLevel::Refused(why));
        }
        Some(match self.artefact.controlled(beta) {
            Ok(row) => CertifiedLevel::InForce(row.threshold),
            Err(_) => CertifiedLevel::Refused(self.guarantee(beta).statement()),
        })
    }

    fn guarantee(&self, beta: f64) -> HighlightingGuarantee {
        self.artefact.guarantee(beta)
    }

    /// What holds at the present beta, in one sentence or two.
    pub fn words(&self, thresholds: &Thresholds) -> String {
        let Some(beta) = thresholds.beta else {
            let sources = self.artefact.curve.sources;
            return format!(
                "Off: the token threshold is set by hand. Raise it to let {sources} calibration sources set it."
            );
        };
        if let Some(CertifiedLevel::Refused(why)) = self.level(thresholds) {
            return format!("Not in force: {why}.");
        }
        let mut words = capitalised(&self.guarantee(beta).statement());
        words.push('.');
        if self.same_data {
            words.push_str(" It was calibrated on the data of this run: it speaks of further sources.");
        }
        words
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
