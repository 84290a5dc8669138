//! The sliders as command-line options.

use clap::Args;

use crate::certify::Alpha;
use crate::evidence::Thresholds;

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

fn within(option: &str, value: f64, low: f64, high: f64) -> Outcome<f64> {
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
