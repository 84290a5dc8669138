//! Everything a user can move without the model being asked again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::certify::Alpha;

/// The sliders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Thresholds {
    /// Miscoverage level of the chunk certificate, in thousandths.
    pub alpha: Alpha,
    /// A token is flagged iff its smoothed score is at least this, in [0, 1].
    pub token: f64,
    /// Label persistence P(stay) of the smoothing, in [0.5, 0.9999].
    pub rho: f64,
    /// Label persistence used for the answer score.
    pub rho_answer: f64,
    /// An answer is called consistent iff its factuality is at least this, in [0, 1].
    pub factuality: f64,
    /// Certified level of the highlighting that `token` follows; `None`: `token` was chosen by hand. It
    /// decides nothing by itself: whether it is in force is for a calibration to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Name of the detector whose scores are shown; `None`: the first of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detector: Option<String>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            alpha: Alpha::default(),
            token: 0.5,
            rho: 0.993,
            rho_answer: 0.93,
            factuality: 0.5,
            beta: None,
            detector: None,
        }
    }
}
