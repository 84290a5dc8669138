//! Writing on the screen: clipped, visible characters only.

use ratatui::buffer::{Buffer, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;

use crate::text::visible_line;
use crate::tui::hit::HitMap;
use crate::tui::theme::{Role, Theme};

/// A frame being drawn. Everything that reaches a cell goes through here.
pub struct Canvas<'a> {
    pub buffer: &'a mut Buffer,
    pub theme: &'a Theme,
    pub hits: &'a mut HitMap,
}

impl Canvas<'_> {
    /// Style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// Writes `text` from `column` on line `row` of `area`, both counted from the area's corner, and
    /// returns the column after it. What does not fit is cut; an ellipsis says so.
    pub fn write(&mut self, area: Rect, column: u16, row: u16, text: &str, style: Style) -> u16 {
        let area = area.intersection(self.buffer.area);
        if row >= area.height || column >= area.width {
            return column;
        }
        let room = area.width - column;
        let shown = visible_line(text);
        let fitted = fit(&shown, room);
        let (end, _) =
            self.buffer.set_stringn(area.x + column, area.y + row, fitted, usize::from(room), style);
        end - area.x
    }

    /// Writes pieces one after the other.
    pub fn write_all(&mut self, area: Rect, column: u16, row: u16, pieces: &[(&str, Style)]) -> u16 {
        pieces.iter().fold(column, |column, (text, style)| self.write(area, column, row, text, *style))
    }

    /// Writes `text` so that it ends at the right edge; returns its first column.
    pub fn write_right(&mut self, area: Rect, row: u16, text: &str, style: Style) -> u16 {
        let width = width(&visible_line(text)).min(area.width);
        let column = area.width - width;
        self.write(area, column, row, text, style);
        column
    }

    /// Writes words over at most `area.height` lines; returns the number of lines.
    pub fn write_wrapped(&mut self, area: Rect, text: &str, style: Style) -> u16 {
        let wrapped = super::wrap(text, area.width, &[]);
        let lines = wrapped.lines.len().min(usize::from(area.height));
        for (row, line) in wrapped.lines.iter().take(lines).enumerate() {
            let cut = row + 1 == lines && lines < wrapped.lines.len();
            let mut content = wrapped.shown(line).trim_end().to_owned();
            if cut {
                content.push_str(" …");
            }
            self.write(area, 0, row as u16, &content, style);
        }
        lines as u16
    }

    /// Puts one glyph of the inspector's own (never of the data) into a cell.
    pub fn glyph(&mut self, area: Rect, column: u16, row: u16, glyph: char, style: Style) {
        let area = area.intersection(self.buffer.area);
        if row < area.height && column < area.width {
            self.buffer[(area.x + column, area.y + row)].set_char(glyph).set_style(style);
        }
    }

    /// Lays a style over cells.
    pub fn tint(&mut self, area: Rect, style: Style) {
        let area = area.intersection(self.buffer.area);
        self.buffer.set_style(area, style);
    }

    /// Empties cells, before an overlay is drawn on them.
    pub fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for row in area.rows() {
            // A wide character cut in half by the overlay's edge would shift the rest of its line.
            if row.x > self.buffer.area.x {
                let before = &mut self.buffer[(row.x - 1, row.y)];
                if before.symbol().cell_width() > 1 {
                    before.reset();
                }
            }
            self.clear_cells(row);
        }
    }

    fn clear_cells(&mut self, area: Rect) {
        for position in area.intersection(self.buffer.area).positions() {
            self.buffer[position].reset();
        }
    }

    /// A pane's border with its number, title and read-out; returns the inside.
    pub fn frame(&mut self, area: Rect, title: &[(&str, Style)], read_out: &str, focused: bool) -> Rect {
        let area = area.intersection(self.buffer.area);
        if area.width < 2 || area.height < 2 {
            return Rect::ZERO;
        }
        let border = self.style(if focused { Role::Focus } else { Role::Border });
        let (right, bottom) = (area.width - 1, area.height - 1);
        for column in 1..right {
            self.glyph(area, column, 0, '─', border);
            self.glyph(area, column, bottom, '─', border);
        }
        for row in 1..bottom {
            self.glyph(area, 0, row, '│', border);
            self.glyph(area, right, row, '│', border);
        }
        for (column, row, corner) in [(0, 0, '╭'), (right, 0, '╮'), (0, bottom, '╰'), (right, bottom, '╯')]
        {
            self.glyph(area, column, row, corner, border);
        }
        let top = Rect { x: area.x + 2, width: area.width.saturating_sub(4), height: 1, ..area };
        let mut end = 0;
        if top.width > 2 {
            // The border's colour must not shine through the title.
            let title_width = title.iter().map(|(text, _)| width(&visible_line(text))).sum::<u16>() + 2;
            self.clear_cells(Rect { width: title_width.min(top.width), ..top });
            end = self.write(top, 0, 0, " ", border);
            end = self.write_all(top, end, 0, title);
            end = self.write(top, end, 0, " ", border);
        }
        let read_out = visible_line(read_out);
        let room = top.width.saturating_sub(end + 3);
        if !read_out.is_empty() && room >= 8 {
            let style = self.style(Role::Muted);
            let shown = format!(" {} ", fit(&read_out, room));
            let columns = width(&shown).min(top.width);
            self.clear_cells(Rect { x: top.right() - columns, width: columns, ..top });
            self.write_right(top, 0, &shown, style);
        }
        area.inner(ratatui::layout::Margin::new(1, 1))
    }
}

/// Columns of a text that holds no control character.
pub fn width(text: &str) -> u16 {
    text.graphemes(true).map(CellWidth::cell_width).fold(0, u16::saturating_add)
}

/// `text`, or as much of it as fits with an ellipsis.
fn fit(text: &str, room: u16) -> std::borrow::Cow<'_, str> {
    if width(text) <= room {
        return text.into();
    }
    let mut used = 0_u16;
    let kept: String = text
        .graphemes(true)
        .take_while(|grapheme| {
            used = used.saturating_add(grapheme.cell_width());
            used < room
        })
        .collect();
    if room == 0 { "".into() } else { format!("{kept}…").into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(width: u16, text: &str) -> String {
        let area = Rect::new(0, 0, width, 1);
        let mut buffer = Buffer::empty(area);
        let mut hits = HitMap::default();
        let mut canvas = Canvas { buffer: &mut buffer, theme: &Theme::MONO, hits: &mut hits };
        canvas.write(area, 0, 0, text, Style::new());
        buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn text_that_does_not_fit_ends_in_an_ellipsis_at_a_whole_character() {
        assert_eq!(drawn(5, "abcde"), "abcde");
        assert_eq!(drawn(4, "abcde"), "abc…");
        assert_eq!(drawn(4, "市長は"), "市 …");
        assert_eq!(drawn(0, "abc"), "");
    }

    #[test]
    fn control_characters_arrive_as_symbols() {
        assert_eq!(drawn(9, "a\u{1b}[2J\u{7}"), "a␛[2J␇");
    }
}
