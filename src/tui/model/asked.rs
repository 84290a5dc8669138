//! A row that is no part of the data: someone asked for its answer here.

use crate::inspect::Cancel;

/// How far the answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskState {
    /// Its turn has not come.
    Waiting,
    /// What is being done, in plain words.
    Working(String),
    Done,
    /// There is no answer, or it was not read, and why.
    Failed(String),
}

/// What a row knows of its making.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub state: AskState,
    /// The answer as far as it is written.
    pub streamed: String,
    pub cancel: Cancel,
    /// Written from trusted passages only.
    pub trusted_only: bool,
}

impl Asked {
    /// Just asked.
    pub fn new(trusted_only: bool) -> Self {
        Self { state: AskState::Waiting, streamed: String::new(), cancel: Cancel::default(), trusted_only }
    }

    /// Whether more may come.
    pub fn is_open(&self) -> bool {
        matches!(self.state, AskState::Waiting | AskState::Working(_))
    }
}
