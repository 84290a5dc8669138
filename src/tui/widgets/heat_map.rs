//! Heat maps: half blocks where there is colour, shade glyphs where there is none.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::Canvas;
use crate::tui::heat_scale::{Extent, shade};
use crate::tui::theme::Role;

/// A grid of values, row-major.
pub struct HeatMap<'a> {
    pub rows: usize,
    pub columns: usize,
    /// Value at (row, column); `None` is drawn as nothing.
    pub value: &'a dyn Fn(usize, usize) -> Option<f64>,
    pub extent: Extent,
    /// Row and column under the cursor.
    pub cursor: Option<(usize, usize)>,
    /// Screen columns per grid column.
    pub cell_width: u16,
}

impl HeatMap<'_> {
    /// Draws the map into `area` and tells where each grid cell is: (row, column, its area).
    ///
    /// Two grid rows share a line of half blocks; without colour each row has its own line, and the
    /// window follows the cursor.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) -> Vec<(usize, usize, Rect)> {
        let mut places = Vec::new();
        let per_line = if canvas.theme.heat_has_colour() { 2 } else { 1 };
        let columns = self.shown_columns(area.width);
        let first = self.first_row(area.height, per_line);
        for line in 0..area.height {
            let row = first + usize::from(line) * per_line;
            if row >= self.rows {
                break;
            }
            for (place, column) in columns.clone().enumerate() {
                let cell = Rect {
                    x: area.x + place as u16 * self.cell_width,
                    y: area.y + line,
                    width: self.cell_width,
                    height: 1,
                };
                if per_line == 2 {
                    self.half_blocks(canvas, cell, row, column);
                } else {
                    self.shade(canvas, cell, row, column);
                }
                for row in row..(row + per_line).min(self.rows) {
                    places.push((row, column, cell));
                }
            }
        }
        places
    }

    /// The grid columns that fit into `width`: all, or a window that follows the cursor.
    pub fn shown_columns(&self, width: u16) -> std::ops::Range<usize> {
        let shown = usize::from(width) / usize::from(self.cell_width.max(1));
        if shown >= self.columns {
            return 0..self.columns;
        }
        let cursor = self.cursor.map_or(0, |(_, column)| column);
        let first = cursor.saturating_sub(shown / 2).min(self.columns - shown);
        first..first + shown
    }

    /// The first grid row shown when `height` lines cannot hold all.
    pub fn first_row(&self, height: u16, per_line: usize) -> usize {
        let shown = usize::from(height) * per_line;
        if self.rows <= shown {
            return 0;
        }
        let cursor = self.cursor.map_or(0, |(row, _)| row);
        let first = cursor.saturating_sub(shown / 2).min(self.rows - shown);
        first - first % per_line
    }

    fn half_blocks(&self, canvas: &mut Canvas<'_>, cell: Rect, row: usize, column: usize) {
        let colour = |row: usize| {
            let value = if row < self.rows { (self.value)(row, column) } else { None };
            value.map(|value| canvas.theme.heat(self.extent.place(value)))
        };
        let (upper, lower) = (colour(row), colour(row + 1));
        let (glyph, style) = match (upper, lower) {
            (Some(upper), Some(lower)) => ('▀', Style::new().fg(upper).bg(lower)),
            (Some(upper), None) => ('▀', Style::new().fg(upper)),
            (None, Some(lower)) => ('▄', Style::new().fg(lower)),
            (None, None) => (' ', Style::new()),
        };
        for at in 0..cell.width {
            canvas.glyph(cell, at, 0, glyph, style);
        }
        if let Some((cursor_row, cursor_column)) = self.cursor
            && cursor_column == column
            && (row..row + 2).contains(&cursor_row)
        {
            let glyph = if cursor_row == row { '▀' } else { '▄' };
            // The cursor's half in its own hue, the other half as it was.
            let other = if cursor_row == row { lower } else { upper };
            let marked = Style { bg: other, ..canvas.style(Role::HeatCursor) };
            for at in 0..cell.width {
                canvas.glyph(cell, at, 0, glyph, marked);
            }
        }
    }

    fn shade(&self, canvas: &mut Canvas<'_>, cell: Rect, row: usize, column: usize) {
        let glyph = (self.value)(row, column).map_or(' ', |value| shade(self.extent.place(value)));
        let style =
            canvas.style(if self.cursor == Some((row, column)) { Role::HeatCursor } else { Role::Text });
        for at in 0..cell.width {
            canvas.glyph(cell, at, 0, glyph, style);
        }
    }
}

/// One cell of a map whose rows are a full line high.
pub fn heat_cell(canvas: &mut Canvas<'_>, area: Rect, column: u16, row: u16, share: f64) {
    if canvas.theme.heat_has_colour() {
        let style = Style::new().fg(canvas.theme.heat(share));
        canvas.glyph(area, column, row, '█', style);
    } else {
        canvas.glyph(area, column, row, shade(share), canvas.style(Role::Text));
    }
}
