//! A row under a line of text that shows what a reader marked.

use std::ops::Range;

use ratatui::layout::Rect;

use super::{Canvas, Line};
use crate::evidence::MarkKind;
use crate::tui::theme::Role;

/// `-` under what is marked as supported, `+` under what is marked as missed.
pub fn marks_line(
    canvas: &mut Canvas<'_>,
    area: Rect,
    row: u16,
    line: &Line,
    kind: &dyn Fn(&Range<usize>) -> Option<MarkKind>,
) {
    for piece in line.pieces.iter().filter(|piece| piece.mark.is_none()) {
        let (glyph, role) = match kind(&piece.range) {
            Some(MarkKind::FalseAlarm) => ('-', Role::Trusted),
            Some(MarkKind::Missed) => ('+', Role::Error),
            None => continue,
        };
        let style = canvas.style(role);
        for column in piece.column..piece.column + piece.width {
            canvas.glyph(area, column, row, glyph, style);
        }
    }
}
