//! How far the work behind the screen is.

/// The state of the inspection.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunState {
    pub phase: Phase,
    /// What is being done, in plain words.
    pub stage: String,
    pub done: usize,
    pub total: usize,
    pub seconds_left: Option<f64>,
}

/// Where the inspection stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Phase {
    #[default]
    Running,
    /// The user asked it to stop; what is there stays.
    Stopping,
    Finished,
    /// It ended early, and why.
    Failed(String),
}

impl RunState {
    /// Whether more may come.
    pub fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::Stopping)
    }
}

/// How a toast is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Goes with the next key.
    Information,
    /// Stays until Esc.
    Error,
}

/// A sentence over the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub text: String,
    pub tone: Tone,
}
