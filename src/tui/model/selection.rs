//! The linked selection, and the one that is locked beside it.

/// A selection that stays while the cursors move on, to be compared with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    /// Index of the example; on another one the lock waits.
    pub example: usize,
    pub token: usize,
    pub chunk: usize,
    pub layer: usize,
    pub head: usize,
}

/// What the answer pane shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerView {
    #[default]
    Text,
    /// The flagged spans as a table.
    Spans,
}

impl AnswerView {
    /// In the order of the key.
    pub const ALL: [Self; 2] = [Self::Text, Self::Spans];

    /// The other view.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Text => Self::Spans,
            Self::Spans => Self::Text,
        }
    }

    /// Name in the pane's title.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Spans => "spans",
        }
    }
}
