//! What lies over the screen, takes every key, and is left with Esc: one question to the user at a time.
//!
//! | file | asks for |
//! |---|---|
//! | `ask` | a question of one's own |
//! | `marks` | which mark to go to |
//! | `export` | what is written, in which form, under which name |

mod ask;
mod export;
mod marks;

pub use ask::AskDialog;
pub use export::{ExportDialog, ExportField, ExportScope, ExportStage};
pub use marks::{MarkEntry, MarksDialog};

/// The dialog that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialog {
    Ask(AskDialog),
    Export(ExportDialog),
    Marks(MarksDialog),
}

/// A part of a dialog that can be pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogItem {
    Scope(ExportScope),
    Form(crate::tui::action::ExportKind),
    /// Whether an answer is written from trusted passages only.
    TrustedOnly(bool),
    /// A line of a list.
    Line(usize),
    /// The text that is typed.
    Text,
    /// Nothing in particular.
    Inside,
}
