//! A line over [0, 1] x [0, 1], in dots of braille: the only view that uses them.

use ratatui::layout::Rect;

use super::Canvas;
use crate::tui::theme::Role;

/// Dots of a braille cell, by row and column.
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
/// Columns of the figures beside the y axis.
const LABELS: u16 = 4;

/// What a chart shows. Points have rising x.
pub struct Chart<'a> {
    pub points: &'a [(f64, f64)],
    /// Least and greatest plausible value at some x, drawn as shading.
    pub band: &'a [(f64, f64, f64)],
    /// A second line to be held against, drawn as single dots.
    pub wanted: Option<&'a dyn Fn(f64) -> f64>,
    /// The x of the vertical line.
    pub cursor: f64,
    /// Name of the x axis.
    pub axis: &'a str,
}

impl Chart<'_> {
    /// Draws axes, band, lines and cursor into `area`.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) {
        if area.width < LABELS + 4 || area.height < 3 {
            return;
        }
        let plot =
            Rect { x: area.x + LABELS, width: area.width - LABELS, height: area.height - 1, y: area.y };
        self.draw_axes(canvas, area, plot);
        self.draw_band(canvas, plot);
        let tick =
            ((self.cursor.clamp(0.0, 1.0) * f64::from(plot.width - 1)).round() as u16).min(plot.width - 1);
        let style = canvas.style(Role::Tick);
        for row in 0..plot.height {
            canvas.glyph(plot, tick, row, '│', style);
        }
        let (columns, rows) = (usize::from(plot.width), usize::from(plot.height));
        let mut wanted = vec![0_u8; columns * rows];
        let mut line = vec![0_u8; columns * rows];
        if let Some(value) = self.wanted {
            for column in (0..columns * 2).step_by(4) {
                let value = value(place(column, columns));
                if value.is_finite() {
                    mark(&mut wanted, columns, column, row_of(value, rows));
                }
            }
        }
        let mut before: Option<usize> = None;
        for column in 0..columns * 2 {
            let Some(value) = self.value(place(column, columns)) else {
                before = None;
                continue;
            };
            let row = row_of(value, rows);
            // A steep line stays a line: the dots between two columns are filled.
            let (from, to) = before.map_or((row, row), |before| (before.min(row), before.max(row)));
            for row in from..=to {
                mark(&mut line, columns, column, row);
            }
            before = Some(row);
        }
        let (main, muted) = (canvas.style(Role::Focus), canvas.style(Role::Muted));
        for row in 0..rows {
            for column in 0..columns {
                let at = row * columns + column;
                let (dots, style) = match (line[at], wanted[at]) {
                    (0, 0) => continue,
                    (0, other) => (other, muted),
                    (dots, other) => (dots | other, main),
                };
                if let Some(glyph) = char::from_u32(0x2800 + u32::from(dots)) {
                    canvas.glyph(plot, column as u16, row as u16, glyph, style);
                }
            }
        }
    }

    fn draw_axes(&self, canvas: &mut Canvas<'_>, area: Rect, plot: Rect) {
        let (muted, border) = (canvas.style(Role::Muted), canvas.style(Role::Border));
        for (share, text) in [(0.0, "  1 "), (0.5, " .5 "), (1.0, "  0 ")] {
            let row = (share * f64::from(plot.height - 1)).round() as u16;
            if share != 0.5 || plot.height >= 5 {
                canvas.write(area, 0, row, text, muted);
                for column in 0..plot.width {
                    canvas.glyph(plot, column, row, '╌', border);
                }
            }
        }
        let foot = Rect { x: plot.x, y: area.bottom() - 1, width: plot.width, height: 1 };
        canvas.write(foot, 0, 0, "0", muted);
        canvas.write(foot, (plot.width / 2).saturating_sub(self.axis.len() as u16 / 2), 0, self.axis, muted);
        canvas.write_right(foot, 0, "1", muted);
    }

    fn draw_band(&self, canvas: &mut Canvas<'_>, plot: Rect) {
        let style = canvas.style(Role::Track);
        let rows = f64::from(plot.height);
        for column in 0..plot.width {
            let x = f64::from(column) / f64::from(plot.width - 1);
            let ends = self.band.windows(2).find(|pair| pair[0].0 <= x && x <= pair[1].0);
            let Some([one, other]) = ends else { continue };
            let share = if other.0 > one.0 { (x - one.0) / (other.0 - one.0) } else { 0.0 };
            let low = one.1 + (other.1 - one.1) * share;
            let high = one.2 + (other.2 - one.2) * share;
            let top = ((1.0 - high.clamp(0.0, 1.0)) * rows).floor() as u16;
            let bottom = ((1.0 - low.clamp(0.0, 1.0)) * rows).ceil() as u16;
            for row in top..bottom.max(top + 1).min(plot.height) {
                canvas.glyph(plot, column, row, '░', style);
            }
        }
    }

    /// The line at `x`, between its points; nothing beyond them.
    fn value(&self, x: f64) -> Option<f64> {
        let after = self.points.partition_point(|(other, _)| *other < x);
        let (right, left) = (self.points.get(after), after.checked_sub(1).and_then(|at| self.points.get(at)));
        match (left, right) {
            (_, Some((at, value))) if *at == x => Some(*value),
            (Some((x0, y0)), Some((x1, y1))) => Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0)),
            _ => None,
        }
        .filter(|value| value.is_finite())
    }
}

/// The x of a column of dots.
fn place(column: usize, columns: usize) -> f64 {
    column as f64 / (columns * 2 - 1) as f64
}

/// The row of dots of a value.
fn row_of(value: f64, rows: usize) -> usize {
    let last = rows * 4 - 1;
    (((1.0 - value.clamp(0.0, 1.0)) * last as f64).round() as usize).min(last)
}

fn mark(dots: &mut [u8], columns: usize, column: usize, row: usize) {
    if let Some(cell) = dots.get_mut(row / 4 * columns + column / 2) {
        *cell |= DOTS[row % 4][column % 2];
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::tui::hit::HitMap;
    use crate::tui::theme::Theme;

    fn drawn(chart: &Chart<'_>, width: u16, height: u16) -> Vec<String> {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let mut hits = HitMap::default();
        chart.draw(&mut Canvas { buffer: &mut buffer, theme: &Theme::MONO, hits: &mut hits }, area);
        (0..height)
            .map(|row| (0..width).map(|column| buffer[(column, row)].symbol()).collect::<String>())
            .collect()
    }

    #[test]
    fn a_falling_line_goes_from_the_upper_left_to_the_lower_right_corner() {
        let points = [(0.0, 1.0), (1.0, 0.0)];
        let chart = Chart { points: &points, band: &[], wanted: None, cursor: 0.5, axis: "alpha" };
        let lines = drawn(&chart, 16, 6);
        assert_eq!(lines[0].chars().nth(4), Some('⠙'));
        assert_eq!(lines[4].chars().last(), Some('⢦'));
        assert!(lines[5].starts_with("    0") && lines[5].contains("alpha") && lines[5].ends_with('1'));
    }

    #[test]
    fn a_band_is_shaded_and_values_that_are_no_numbers_leave_a_gap() {
        let points = [(0.0, f64::NAN), (1.0, f64::NAN)];
        let band = [(0.0, 0.4, 0.6), (1.0, 0.4, 0.6)];
        let chart = Chart { points: &points, band: &band, wanted: None, cursor: 9.0, axis: "" };
        let text = drawn(&chart, 20, 10).concat();
        assert!(text.contains('░') && !text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)));
    }
}
