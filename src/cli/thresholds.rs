//! The sliders as command-line options.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::certify::Alpha;
use crate::certify::highlighting::{HighlightingArtefact, HighlightingGuarantee};
use crate::evidence::{Evidence, Thresholds, scores_of};

use super::{Failure, Outcome};

/// Thresholds for a decision made without the inspector.
#[derive(Debug, Clone, Default, Args)]
pub struct ThresholdArguments {
    /// Miscoverage level of the chunk certificate, between 0 and 1 in thousandths [default: 0.1]
    #[arg(long, value_name = "LEVEL")]
    pub alpha: Option<f64>,
    /// Smoothed score from which a token is flagged [default: the head's own]
    #[arg(long, value_name = "SCORE")]
    pub token_threshold: Option<f64>,
    /// Label persistence P(stay) of the smoothing [default: 0.993]
    #[arg(long, value_name = "P_STAY")]
    pub rho: Option<f64>,
    /// Factuality from which an answer is called consistent [default: 0.5]
    #[arg(long, value_name = "PROBABILITY")]
    pub factuality: Option<f64>,
}

impl ThresholdArguments {
    /// `defaults` with what was said on the command line.
    pub fn over(&self, defaults: &Thresholds) -> Outcome<Thresholds> {
        let mut thresholds = defaults.clone();
        if let Some(level) = self.alpha {
            thresholds.alpha = alpha_of(level)?;
        }
        if let Some(score) = self.token_threshold {
            thresholds.token = within("--token-threshold", score, 0.0, 1.0)?;
        }
        if let Some(stay) = self.rho {
            thresholds.rho = within("--rho", stay, 0.5, 0.9999)?;
        }
        if let Some(probability) = self.factuality {
            thresholds.factuality = within("--factuality", probability, 0.0, 1.0)?;
        }
        Ok(thresholds)
    }
}

/// A token threshold that comes from a promise instead of a number. Only for runs that are scored already:
/// whether the calibration fits is seen in their lines.
#[derive(Debug, Clone, Default, Args)]
pub struct HighlightingThreshold {
    /// Share of an answer's unsupported tokens that the highlighting may miss in expectation; sets the
    /// token threshold
    #[arg(long, value_name = "SHARE", requires = "highlighting", conflicts_with = "token_threshold")]
    beta: Option<f64>,
    /// A calibration written by `ragscope highlighting`
    #[arg(long, value_name = "FILE", requires = "beta")]
    highlighting: Option<PathBuf>,
}

/// What stands behind a token threshold that came from a beta.
#[derive(Debug, Clone)]
pub struct CertifiedHighlighting {
    pub guarantee: HighlightingGuarantee,
    /// The options that give the same threshold again.
    pub options: String,
    /// Whether the run is made of the data of the calibration.
    pub same_data: bool,
}

impl HighlightingThreshold {
    /// Sets the token threshold where a beta was said.
    ///
    /// # Errors
    /// The calibration is unreadable, was made for other scores than those of the run, or has no
    /// threshold for this beta.
    pub fn apply(
        &self,
        thresholds: &mut Thresholds,
        run: &[Evidence],
    ) -> Outcome<Option<CertifiedHighlighting>> {
        let (Some(beta), Some(path)) = (self.beta, &self.highlighting) else { return Ok(None) };
        let beta = within("--beta", beta, 0.0, 1.0)?;
        let artefact = read_highlighting(path)?;
        let scored = scores_of(run, thresholds).map_err(Failure::input)?;
        artefact.admits(&scored).map_err(Failure::input)?;
        thresholds.token = artefact.controlled(beta).map_err(Failure::input)?.threshold;
        Ok(Some(CertifiedHighlighting {
            guarantee: artefact.guarantee(beta),
            options: format!("--beta {beta} --highlighting {}", crate::text::visible_path(path)),
            same_data: scored.data_hash.is_some() && scored.data_hash == artefact.source.data_hash,
        }))
    }
}

/// Reads a calibration of the highlighting.
fn read_highlighting(path: &Path) -> Outcome<HighlightingArtefact> {
    let shown = crate::text::visible_path(path);
    let text = super::open::read_settings(path).map_err(|error| {
        Failure::input_message(format!("cannot read the calibration of the highlighting {shown}: {error}"))
    })?;
    HighlightingArtefact::from_json(&text).map_err(Failure::input)
}

/// A level given as a decimal, in whole thousandths.
pub fn alpha_of(level: f64) -> Outcome<Alpha> {
    let level = within("--alpha", level, 0.0, 1.0)?;
    let thousandths = (level * 1000.0).round();
    if (level * 1000.0 - thousandths).abs() > 1e-6 {
        return Err(Failure::Usage(format!(
            "--alpha takes whole thousandths (0.1, 0.025), but {level} came; the nearest is {}",
            thousandths / 1000.0
        )));
    }
    Ok(Alpha::from_thousandths(thousandths as u16))
}

/// `value`, or a refusal that names the option and its range.
pub fn within(option: &str, value: f64, low: f64, high: f64) -> Outcome<f64> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(Failure::Usage(format!("{option} takes a number from {low} to {high}, but {value} came")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_taken_in_whole_thousandths_or_refused() {
        assert_eq!(alpha_of(0.1).unwrap().thousandths(), 100);
        assert_eq!(alpha_of(0.29).unwrap().thousandths(), 290);
        assert!(alpha_of(0.0005).is_err());
        assert!(alpha_of(f64::NAN).is_err());
        assert!(alpha_of(1.5).is_err());
    }
}
