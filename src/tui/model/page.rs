//! The pages: views of more than one example, each on the whole screen.

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Page {
    /// The run: rates, worst answers, passages.
    Overview,
    /// Whether retriever and data suit certification.
    Diagnostics,
    /// How token scores are spread.
    Scores,
    /// Two answers, or two detectors, side by side.
    Comparison,
}

impl Page {
    /// In the order of Tab.
    pub const ALL: [Self; 4] = [Self::Overview, Self::Diagnostics, Self::Scores, Self::Comparison];

    /// Title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Diagnostics => "Diagnostics",
            Self::Scores => "Scores",
            Self::Comparison => "Comparison",
        }
    }

    /// The page `steps` further, round the end.
    #[must_use]
    pub fn moved(self, steps: usize) -> Self {
        let at = Self::ALL.iter().position(|page| *page == self).unwrap_or(0);
        Self::ALL[(at + steps) % Self::ALL.len()]
    }
}

/// The list of the overview that has the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OverviewList {
    #[default]
    Worst,
    Groups,
    Passages,
}

impl OverviewList {
    /// In the order of the key.
    pub const ALL: [Self; 3] = [Self::Worst, Self::Groups, Self::Passages];

    /// Its place in [`Self::ALL`].
    pub fn number(self) -> usize {
        self as usize
    }

    /// The next list, round the end.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self.number() + 1) % Self::ALL.len()]
    }
}

/// A figure of the certificate drawn over alpha.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Curve {
    /// Share of questions with a trusted chunk.
    #[default]
    M1,
    /// Share of chunks that are trusted.
    M2,
    /// Share of correct retrieved chunks that are trusted.
    Coverage,
}

impl Curve {
    /// From left to right.
    pub const ALL: [Self; 3] = [Self::M1, Self::M2, Self::Coverage];

    /// The next one, round the end.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::M1 => Self::M2,
            Self::M2 => Self::Coverage,
            Self::Coverage => Self::M1,
        }
    }

    /// Name.
    pub fn name(self) -> &'static str {
        match self {
            Self::M1 => "m1",
            Self::M2 => "m2",
            Self::Coverage => "coverage",
        }
    }

    /// What it counts.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::M1 => "questions with a trusted chunk",
            Self::M2 => "chunks that are trusted",
            Self::Coverage => "correct retrieved chunks kept",
        }
    }
}

/// What the comparison compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compared {
    #[default]
    Answers,
    Detectors,
}

impl Compared {
    /// In the order of the key.
    pub const ALL: [Self; 2] = [Self::Answers, Self::Detectors];

    /// The other one.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Answers => Self::Detectors,
            Self::Detectors => Self::Answers,
        }
    }

    /// Name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Detectors => "detectors",
        }
    }
}

/// Which page is open, and what each remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pages {
    pub open: Option<Page>,
    pub list: OverviewList,
    /// Line of the cursor in each list of the overview.
    pub at: [usize; 3],
    pub curve: Curve,
    /// Whether the scores are those of the selected answer alone.
    pub one_answer: bool,
    /// Whether the bars of the histogram stand for logarithms.
    pub logarithmic: bool,
    pub compared: Compared,
    /// Lines that the comparison is scrolled.
    pub scroll: u16,
    /// Whether it scrolls further where the token under the cursor would be out of sight.
    pub follows_token: bool,
}
