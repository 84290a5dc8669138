//! What stands where on the screen, so that a pointer finds it.

use ratatui::layout::{Position, Rect};

use super::model::{DialogItem, OverviewList, Page, Pane, SliderName};

/// Something that can be pointed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Pane(Pane),
    /// Position in the filtered list.
    Example(usize),
    Chunk(usize),
    Token(usize),
    Head {
        layer: usize,
        head: usize,
    },
    /// A place in the map of tokens and chunks.
    Cell {
        token: usize,
        chunk: usize,
    },
    /// A flagged span, in the table.
    Span(usize),
    Page(Page),
    /// A line of a list of the overview.
    OverviewLine(OverviewList, usize),
    Slider(SliderName),
    /// The part of a slider where a click sets the value.
    Track(SliderName),
    /// What lies over the panes.
    Overlay,
    /// A line of the list that lies over the panes, from 0.
    OverlayLine(usize),
    /// A part of the dialog that is open.
    Dialog(DialogItem),
}

/// What only the layout knows and the next key needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// How far the text of the selected chunk can scroll.
    pub chunk_scroll: u16,
    /// How far the overlay can scroll.
    pub overlay_scroll: u16,
    /// Lines of a page of the examples list.
    pub example_page: u16,
    /// Lines of a page of the chunk text.
    pub chunk_page: u16,
    /// Column and token of every token drawn first on its line, line by line.
    pub answer_lines: Vec<Vec<(u16, usize)>>,
    /// How far the page can scroll, how far it is scrolled, and its lines.
    pub page_scroll: u16,
    pub page_at: u16,
    pub page_lines: u16,
}

/// Areas in drawing order: the last one drawn is on top.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HitMap {
    areas: Vec<(Rect, Target)>,
    pub limits: Limits,
}

impl HitMap {
    /// Adds an area on top of what is there.
    pub fn add(&mut self, area: Rect, target: Target) {
        if !area.is_empty() {
            self.areas.push((area, target));
        }
    }

    /// What lies on top at a place, and its area.
    pub fn at(&self, column: u16, row: u16) -> Option<(Rect, Target)> {
        let position = Position::new(column, row);
        self.areas.iter().rev().find(|(area, _)| area.contains(position)).copied()
    }

    /// The pane at a place, whatever lies on top of it inside.
    pub fn pane_at(&self, column: u16, row: u16) -> Option<Pane> {
        let position = Position::new(column, row);
        self.areas.iter().rev().find_map(|(area, target)| match target {
            Target::Pane(pane) if area.contains(position) => Some(*pane),
            _ => None,
        })
    }

    /// The first area of a target: where tests and pictures point.
    pub fn area_of(&self, wanted: Target) -> Option<Rect> {
        self.areas.iter().find(|(_, target)| *target == wanted).map(|(area, _)| *area)
    }
}
