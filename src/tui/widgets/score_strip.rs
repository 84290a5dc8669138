//! Rows under a line of text: scores as bars of eight heights, and what a labeller marked.

use ratatui::layout::Rect;

use super::{Canvas, Line};
use crate::tui::theme::Role;

const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws one bar under each column of `line`: `score` gives the value of a byte range in [0, 1].
pub fn score_strip(
    canvas: &mut Canvas<'_>,
    area: Rect,
    row: u16,
    line: &Line,
    threshold: f64,
    score: &dyn Fn(std::ops::Range<usize>) -> Option<f64>,
) {
    let (high, low) = (canvas.style(Role::BarHigh), canvas.style(Role::BarLow));
    for piece in line.pieces.iter().filter(|piece| piece.mark.is_none()) {
        let Some(value) = score(piece.range.clone()) else { continue };
        let height = ((value.clamp(0.0, 1.0) * 8.0).floor() as usize).min(HEIGHTS.len() - 1);
        let style = if value >= threshold { high } else { low };
        for column in piece.column..piece.column.saturating_add(piece.width) {
            canvas.glyph(area, column, row, HEIGHTS[height], style);
        }
    }
}

/// Draws a line under the pieces that `marked` says a labeller marked.
pub fn gold_line(
    canvas: &mut Canvas<'_>,
    area: Rect,
    row: u16,
    line: &Line,
    marked: &dyn Fn(std::ops::Range<usize>) -> bool,
) {
    let style = canvas.style(Role::Gold);
    for piece in line.pieces.iter().filter(|piece| piece.mark.is_none() && marked(piece.range.clone())) {
        for column in piece.column..piece.column.saturating_add(piece.width) {
            canvas.glyph(area, column, row, '▔', style);
        }
    }
}
