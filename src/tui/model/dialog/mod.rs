//! What lies over the screen, takes every key, and is left with Esc: one question to the user at a time.
//!
//! | file | asks for |
//! |---|---|
//! | `export` | what is written, in which form, under which name |

mod export;

pub use export::{ExportDialog, ExportField, ExportScope, ExportStage};

/// The dialog that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialog {
    Export(ExportDialog),
}

/// A part of a dialog that can be pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogItem {
    Scope(ExportScope),
    Form(crate::tui::action::ExportKind),
    /// The text that is typed.
    Text,
    /// Nothing in particular.
    Inside,
}
