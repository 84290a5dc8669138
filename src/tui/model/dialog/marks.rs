//! The list of marks.

use std::ops::Range;

use crate::evidence::{AnnotationAgreement, MarkKind};

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkEntry {
    pub id: String,
    pub answer_hash: String,
    /// Index of the row that has this answer; `None`: no row has it any more.
    pub index: Option<usize>,
    /// Kind, bytes and text of a mark; `None`: the answer was checked as a whole.
    pub mark: Option<(MarkKind, Range<usize>, String)>,
}

/// The dialog.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarksDialog {
    pub entries: Vec<MarkEntry>,
    /// The line that has the cursor.
    pub at: usize,
    /// Flags of the present thresholds against the marks.
    pub agreement: AnnotationAgreement,
}
