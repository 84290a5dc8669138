//! The panes, and what can lie over them.

use super::presets::PresetList;

/// A part of the screen that can have the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pane {
    Examples,
    Chunks,
    Answer,
    Attention,
    Sliders,
}

impl Pane {
    /// In the order of Tab and of the keys 1 to 5.
    pub const ALL: [Self; 5] = [Self::Examples, Self::Chunks, Self::Answer, Self::Attention, Self::Sliders];

    /// Key that jumps to it.
    pub fn number(self) -> usize {
        Self::ALL.iter().position(|pane| *pane == self).map_or(0, |at| at + 1)
    }

    /// Title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Examples => "Examples",
            Self::Chunks => "Chunks",
            Self::Answer => "Answer",
            Self::Attention => "Attention",
            Self::Sliders => "Sliders",
        }
    }

    /// The pane `steps` further, round the end.
    #[must_use]
    pub fn moved(self, steps: usize) -> Self {
        Self::ALL[(self.number() - 1 + steps) % Self::ALL.len()]
    }
}

/// What lies over the panes.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// The action table, filtered.
    Help { query: String, typing: bool, scroll: u16 },
    /// What the run had to say.
    Notices { scroll: u16 },
    /// Any action, found by its name.
    Palette { query: String, selected: usize },
    /// Thresholds under a name.
    Presets(PresetList),
}

impl Overlay {
    /// How far it is scrolled; `None` for lists that follow their cursor.
    pub fn scroll_mut(&mut self) -> Option<&mut u16> {
        match self {
            Self::Help { scroll, .. } | Self::Notices { scroll } => Some(scroll),
            Self::Palette { .. } | Self::Presets(_) => None,
        }
    }
}

/// Which rows of scores stand under the lines of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strip {
    /// Both where they fit, else the smoothed one.
    #[default]
    Automatic,
    Both,
    Smoothed,
    Off,
}

impl Strip {
    /// The next choice, round the end.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Automatic => Self::Both,
            Self::Both => Self::Smoothed,
            Self::Smoothed => Self::Off,
            Self::Off => Self::Automatic,
        }
    }

    /// Name for the message that says what is shown now.
    pub fn name(self) -> &'static str {
        match self {
            Self::Automatic => "as many score rows as fit",
            Self::Both => "smoothed and raw scores",
            Self::Smoothed => "smoothed scores",
            Self::Off => "no score rows",
        }
    }
}
