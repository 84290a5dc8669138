//! The sliders as command-line options.

use std::path::{Path, PathBuf};

use clap::Args;
use sha2::{Digest, Sha256};

use crate::certify::Alpha;
use crate::certify::highlighting::{HighlightingArtefact, HighlightingGuarantee};
use crate::evidence::{Evidence, Thresholds, scores_of};
use crate::text::hexadecimal;

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
    pub beta: Option<f64>,
    /// A calibration written by `ragscope highlighting`; needed with --beta
    #[arg(long, value_name = "FILE")]
    pub highlighting: Option<PathBuf>,
}

/// What stands behind a token threshold that came from a beta.
#[derive(Debug, Clone)]
pub struct CertifiedHighlighting {
    pub guarantee: HighlightingGuarantee,
    /// SHA-256 of the calibration file, in hexadecimal.
    pub sha256: String,
    /// The token threshold.
    pub threshold: f64,
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
        let (beta, path) = match (self.beta, &self.highlighting) {
            (Some(beta), Some(path)) => (within("--beta", beta, 0.0, 1.0)?, path),
            (None, Some(_)) => {
                return Err(Failure::Usage(
                    "--highlighting needs --beta: the share of unsupported tokens that may be missed"
                        .to_owned(),
                ));
            }
            (_, None) => return Ok(None),
        };
        thresholds.beta = Some(beta);
        HighlightingCalibration::read(path)?.apply(thresholds, run).map(Some)
    }
}

/// The same for the inspector, where the beta can be moved.
#[derive(Debug, Clone, Default, Args)]
pub struct MovableHighlightingThreshold {
    /// Share of an answer's unsupported tokens that the highlighting may miss in expectation; sets the
    /// token threshold
    #[arg(long, value_name = "SHARE", requires = "highlighting", conflicts_with = "token_threshold")]
    beta: Option<f64>,
    /// A calibration written by `ragscope highlighting`: the inspector gets a slider for beta
    #[arg(long, value_name = "FILE")]
    highlighting: Option<PathBuf>,
}

impl MovableHighlightingThreshold {
    /// Reads the calibration, where one is named, and puts the beta among the thresholds.
    pub fn read(&self, thresholds: &mut Thresholds) -> Outcome<Option<HighlightingCalibration>> {
        if let Some(beta) = self.beta {
            thresholds.beta = Some(within("--beta", beta, 0.0, 1.0)?);
        }
        self.highlighting.as_deref().map(HighlightingCalibration::read).transpose()
    }
}

/// A calibration of the highlighting, and its file.
#[derive(Debug, Clone)]
pub struct HighlightingCalibration {
    pub artefact: HighlightingArtefact,
    path: PathBuf,
    sha256: String,
}

impl HighlightingCalibration {
    fn read(path: &Path) -> Outcome<Self> {
        let (artefact, sha256) = read_highlighting(path)?;
        Ok(Self { artefact, path: path.to_owned(), sha256 })
    }

    /// Sets the token threshold that the beta of `thresholds` comes to.
    ///
    /// # Errors
    /// There is no beta, the scores of the run are not those that were calibrated, or no threshold can
    /// promise that.
    pub fn apply(&self, thresholds: &mut Thresholds, run: &[Evidence]) -> Outcome<CertifiedHighlighting> {
        let Some(beta) = thresholds.beta else {
            return Err(Failure::Usage("a calibration of the highlighting needs a --beta".to_owned()));
        };
        let scored = scores_of(run, thresholds).map_err(Failure::input)?;
        self.artefact.admits(&scored).map_err(Failure::input)?;
        thresholds.token = self.artefact.controlled(beta).map_err(Failure::input)?.threshold;
        Ok(CertifiedHighlighting {
            guarantee: self.artefact.guarantee(beta),
            sha256: self.sha256.clone(),
            threshold: thresholds.token,
            options: format!(
                "--beta {beta} --highlighting {}",
                shell_word(&crate::text::visible_path(&self.path))
            ),
            same_data: scored.data_hash.is_some() && scored.data_hash == self.artefact.source.data_hash,
        })
    }
}

/// A word of a command line that a POSIX shell takes as it is.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:,=+%@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Reads a calibration of the highlighting, with the hash of its file.
fn read_highlighting(path: &Path) -> Outcome<(HighlightingArtefact, String)> {
    let shown = crate::text::visible_path(path);
    let text = super::open::read_settings(path).map_err(|error| {
        Failure::input_message(format!("cannot read the calibration of the highlighting {shown}: {error}"))
    })?;
    let artefact = HighlightingArtefact::from_json(&text).map_err(Failure::input)?;
    Ok((artefact, hexadecimal(&Sha256::digest(text.as_bytes()))))
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
    fn a_word_for_the_shell_is_quoted_only_where_it_must_be() {
        assert_eq!(shell_word("runs/a-1.jsonl"), "runs/a-1.jsonl");
        assert_eq!(shell_word("my run.jsonl"), "'my run.jsonl'");
        assert_eq!(shell_word("it's; rm"), r"'it'\''s; rm'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn alpha_is_taken_in_whole_thousandths_or_refused() {
        assert_eq!(alpha_of(0.1).unwrap().thousandths(), 100);
        assert_eq!(alpha_of(0.29).unwrap().thousandths(), 290);
        assert!(alpha_of(0.0005).is_err());
        assert!(alpha_of(f64::NAN).is_err());
        assert!(alpha_of(1.5).is_err());
    }
}
