//! What is written, and why it was not.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::evidence::{Evidence, Thresholds};
use crate::tui::action::ExportKind;

/// What happens to a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// It stays, and the user is asked.
    #[default]
    Ask,
    /// It is replaced.
    Replace,
    /// It stays, and the new one gets a number.
    Beside,
}

/// An export to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportOrder {
    pub kind: ExportKind,
    pub evidence: Vec<Arc<Evidence>>,
    pub thresholds: Thresholds,
    /// `None`: a usual name that is free.
    pub name: Option<String>,
    pub existing: Existing,
    /// The screen, where a picture is wanted: drawn by whoever has the screen.
    pub picture: Option<String>,
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportFailure {
    /// The file is there, and nobody said that it may be replaced.
    Exists(PathBuf),
    /// In plain words, with the next step.
    Failed(String),
}

impl fmt::Display for ExportFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(path) => write!(formatter, "{} is there already", path.display()),
            Self::Failed(reason) => formatter.write_str(reason),
        }
    }
}
