//! Thresholds under a name, and the list of them over the panes.

use crate::certify::Alpha;
use crate::evidence::Thresholds;
use crate::tui::action::Context;

/// Thresholds under a name: what the sliders stand for, not the detector whose scores are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    pub name: String,
    pub alpha: Alpha,
    /// The token threshold, rho and the factuality threshold.
    pub token: f64,
    pub rho: f64,
    pub factuality: f64,
    /// The certified level that the token threshold follows, where one was set.
    pub beta: Option<f64>,
}

impl Preset {
    /// The present thresholds under a name.
    pub fn of(name: &str, thresholds: &Thresholds) -> Self {
        let Thresholds { alpha, token, rho, factuality, beta, .. } = thresholds;
        Self {
            name: name.to_owned(),
            alpha: *alpha,
            token: *token,
            rho: *rho,
            factuality: *factuality,
            beta: *beta,
        }
    }

    /// Sets the thresholds that it holds.
    pub fn apply(&self, thresholds: &mut Thresholds) {
        thresholds.alpha = self.alpha;
        thresholds.token = self.token;
        thresholds.rho = self.rho;
        thresholds.factuality = self.factuality;
        thresholds.beta = self.beta;
    }

    /// Whether the thresholds are its own.
    pub fn is_set(&self, thresholds: &Thresholds) -> bool {
        *self == Self::of(&self.name, thresholds)
    }
}

/// Longest name, in characters.
pub const LONGEST_NAME: usize = 40;

/// What the store of presets is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub enum PresetRequest {
    /// Only tell what is there.
    List,
    /// Save one; over one of the same name only where `replace` says so.
    Save {
        preset: Preset,
        replace: bool,
    },
    Delete {
        name: String,
    },
}

/// What the store of presets answers: all presets as they are stored now, or why nothing was done.
pub type PresetAnswer = Result<Vec<Preset>, PresetFailure>;

/// Why the store did nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresetFailure {
    /// There is one of this name, perhaps of another window; nothing was replaced.
    Exists,
    /// A sentence with what came and what to do.
    Failed(String),
}

/// The list over the panes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PresetList {
    pub selected: usize,
    /// The name that is being typed.
    pub naming: Option<String>,
    /// What waits for a yes.
    pub question: Option<PresetQuestion>,
}

/// What is only done after a yes.
#[derive(Debug, Clone, PartialEq)]
pub enum PresetQuestion {
    Replace(Preset),
    Delete(String),
}

impl PresetList {
    /// Where keys go.
    pub fn context(&self) -> Context {
        match (&self.question, &self.naming) {
            (Some(_), _) => Context::Question,
            (None, Some(_)) => Context::Prompt,
            (None, None) => Context::Presets,
        }
    }
}
