//! A question that is being typed.

use crate::tui::model::LineInput;

/// The dialog.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AskDialog {
    pub question: LineInput,
    /// The answer is to be written from trusted passages only.
    pub trusted_only: bool,
    /// Why it was not asked.
    pub refusal: Option<String>,
}
