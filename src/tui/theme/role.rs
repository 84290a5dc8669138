//! What a piece of the screen means: views name roles, never colours.

/// What a piece of the screen means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Reading text: the terminal's own colours.
    Text,
    /// Secondary text.
    Muted,
    /// Borders and rules.
    Border,
    /// Border and title of the pane that has the keys.
    Focus,
    /// Headings, and numbers that matter.
    Strong,
    /// A key that can be pressed.
    Key,
    /// The selected line of a list.
    Selected,
    /// The token or head under the cursor.
    Cursor,
    /// A chunk above alpha.
    Trusted,
    /// A chunk at or below alpha, and its text.
    Dropped,
    Warning,
    Error,
    /// An unsupported span just above the threshold.
    UnsupportedLow,
    UnsupportedMiddle,
    /// An unsupported span near certainty.
    UnsupportedHigh,
    /// The bar of a score that reaches the threshold.
    BarHigh,
    /// The bar of a score below it.
    BarLow,
    /// What a labeller marked.
    Gold,
    /// The empty part of a bar or a slider.
    Track,
    /// The filled part of a slider.
    Fill,
    /// The mark of alpha or of a default.
    Tick,
    /// A message over the screen.
    Toast,
    /// The cursor in a heat map: a hue that the heat scale does not have.
    HeatCursor,
}

impl Role {
    /// Every role, in the order of the legend.
    pub const ALL: [Self; 23] = [
        Self::Text,
        Self::Muted,
        Self::Border,
        Self::Focus,
        Self::Strong,
        Self::Key,
        Self::Selected,
        Self::Cursor,
        Self::Trusted,
        Self::Dropped,
        Self::Warning,
        Self::Error,
        Self::UnsupportedLow,
        Self::UnsupportedMiddle,
        Self::UnsupportedHigh,
        Self::BarHigh,
        Self::BarLow,
        Self::Gold,
        Self::Track,
        Self::Fill,
        Self::Tick,
        Self::Toast,
        Self::HeatCursor,
    ];
}
