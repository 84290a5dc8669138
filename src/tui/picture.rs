//! A screen as SVG: for the README, without a terminal and without a font file.
//!
//! Block elements, shades and lines are drawn as shapes, so that heat maps have no gaps whatever font
//! the viewer has; every other character has its own place.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::style::{Color, Modifier};

use super::heat_scale::indexed_rgb;
use super::theme::Theme;

/// Size of a cell, in units of the picture.
const CELL: (f64, f64) = (8.0, 18.0);
/// Room round the screen.
const MARGIN: f64 = 10.0;
const FONT_SIZE: f64 = 13.2;

type Rgb = (u8, u8, u8);

/// Draws the whole buffer on a page of the theme.
pub fn svg(buffer: &Buffer, theme: &Theme, title: &str) -> String {
    let (columns, rows) = (f64::from(buffer.area.width), f64::from(buffer.area.height));
    let (width, height) = (columns * CELL.0 + 2.0 * MARGIN, rows * CELL.1 + 2.0 * MARGIN);
    let (page, ink) = theme.page();
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>rect{{shape-rendering:crispEdges}}</style>\n<rect width=\"{width}\" height=\"{height}\" \
         rx=\"6\" fill=\"{}\"/>\n<g font-family=\"monospace\" font-size=\"{FONT_SIZE}\" xml:space=\"preserve\">\n",
        escaped(title),
        hex(page)
    );
    for row in 0..buffer.area.height {
        let mut cells: Vec<Glyph> = (0..buffer.area.width)
            .map(|column| Glyph::of(&buffer[(buffer.area.x + column, buffer.area.y + row)], page, ink))
            .collect();
        // A wide character covers the cell after it, which the buffer leaves empty.
        for at in 1..cells.len() {
            if cells[at - 1].width > 1 {
                cells[at].background = cells[at - 1].background;
            }
        }
        draw_row(&mut out, &cells, MARGIN + f64::from(row) * CELL.1, page);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// A cell with its colours resolved.
#[derive(Clone, PartialEq)]
struct Glyph {
    symbol: String,
    width: usize,
    foreground: Rgb,
    background: Rgb,
    modifiers: Modifier,
}

impl Glyph {
    fn of(cell: &Cell, page: Rgb, ink: Rgb) -> Self {
        let (mut foreground, mut background) = (rgb(cell.fg, ink), rgb(cell.bg, page));
        if cell.modifier.contains(Modifier::REVERSED) {
            std::mem::swap(&mut foreground, &mut background);
        }
        if cell.modifier.contains(Modifier::DIM) {
            foreground = mix(foreground, background, 0.45);
        }
        let symbol = cell.symbol().to_owned();
        let width = usize::from(symbol.cell_width().max(1));
        let modifiers = cell.modifier & (Modifier::BOLD | Modifier::UNDERLINED);
        Self { symbol, width, foreground, background, modifiers }
    }

    fn like(&self, other: &Self) -> bool {
        self.foreground == other.foreground && self.modifiers == other.modifiers
    }
}

fn draw_row(out: &mut String, cells: &[Glyph], top: f64, page: Rgb) {
    let left = |column: usize| MARGIN + column as f64 * CELL.0;
    runs(
        cells,
        |one, other| one.background == other.background,
        |from, to| {
            if cells[from].background != page {
                rectangle(out, left(from), top, left(to) - left(from), CELL.1, cells[from].background, 1.0);
            }
        },
    );
    runs(cells, Glyph::like, |from, to| draw_text(out, &cells[from..to], left(from), top));
    runs(
        cells,
        |one, other| one == other,
        |from, to| {
            if let Some(shape) = cells[from].symbol.chars().next() {
                draw_shape(out, shape, left(from), top, to - from, cells[from].foreground);
            }
        },
    );
    let lines_alike = |one: &Glyph, other: &Glyph| one.like(other);
    runs(cells, lines_alike, |from, to| {
        if cells[from].modifiers.contains(Modifier::UNDERLINED) {
            rectangle(out, left(from), top + 15.5, left(to) - left(from), 1.0, cells[from].foreground, 1.0);
        }
    });
}

/// Calls `each` with the ends of every run of cells that are alike.
fn runs(cells: &[Glyph], alike: impl Fn(&Glyph, &Glyph) -> bool, mut each: impl FnMut(usize, usize)) {
    let mut from = 0;
    for at in 1..=cells.len() {
        if at == cells.len() || !alike(&cells[from], &cells[at]) {
            if from < at {
                each(from, at);
            }
            from = at;
        }
    }
}

/// The letters of a run of one style, each at its own x.
fn draw_text(out: &mut String, cells: &[Glyph], left: f64, top: f64) {
    let mut places = String::new();
    let mut text = String::new();
    let mut column = 0;
    while column < cells.len() {
        let cell = &cells[column];
        let blank = cell.symbol.trim().is_empty();
        let drawn = cell.symbol.chars().next().is_some_and(is_shape);
        let x = left + column as f64 * CELL.0;
        if blank || drawn {
            flush_text(out, &mut places, &mut text, &cells[0], top);
        } else if cell.symbol.chars().nth(1).is_some() {
            // Positions count characters: a letter with marks stands alone.
            flush_text(out, &mut places, &mut text, &cells[0], top);
            places = number(x);
            text.clone_from(&cell.symbol);
            flush_text(out, &mut places, &mut text, &cells[0], top);
        } else {
            if !places.is_empty() {
                places.push(' ');
            }
            places.push_str(&number(x));
            text.push_str(&cell.symbol);
        }
        column += cell.width;
    }
    flush_text(out, &mut places, &mut text, &cells[0], top);
}

fn flush_text(out: &mut String, places: &mut String, text: &mut String, style: &Glyph, top: f64) {
    if text.is_empty() {
        return;
    }
    let weight = if style.modifiers.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let _ = writeln!(
        out,
        "<text x=\"{places}\" y=\"{}\" fill=\"{}\"{weight}>{}</text>",
        number(top + 13.0),
        hex(style.foreground),
        escaped(text)
    );
    places.clear();
    text.clear();
}

fn is_shape(glyph: char) -> bool {
    matches!(glyph, '\u{2801}'..='\u{28ff}' | '▀'..='▔' | '─' | '│' | '━' | '┃' | '╌' | '╭' | '╮' | '╰' | '╯' | '●' | '○')
}

/// A run of `count` equal block, line or knob glyphs.
fn draw_shape(out: &mut String, glyph: char, left: f64, top: f64, count: usize, colour: Rgb) {
    let (width, height) = (CELL.0 * count as f64, CELL.1);
    let middle = top + height / 2.0;
    let each = |index: usize| left + index as f64 * CELL.0;
    match glyph {
        '▀' => rectangle(out, left, top, width, height / 2.0, colour, 1.0),
        '▔' => rectangle(out, left, top + 1.0, width, 2.0, colour, 1.0),
        '▁'..='█' => {
            let part = height * f64::from(glyph as u32 - 0x2580) / 8.0;
            rectangle(out, left, top + height - part, width, part, colour, 1.0);
        }
        '▉'..='▏' => {
            let part = CELL.0 * f64::from(0x2590 - glyph as u32) / 8.0;
            for index in 0..count {
                rectangle(out, each(index), top, part, height, colour, 1.0);
            }
        }
        '▐' => {
            for index in 0..count {
                rectangle(out, each(index) + CELL.0 / 2.0, top, CELL.0 / 2.0, height, colour, 1.0);
            }
        }
        '░' => rectangle(out, left, top, width, height, colour, 0.25),
        '▒' => rectangle(out, left, top, width, height, colour, 0.5),
        '▓' => rectangle(out, left, top, width, height, colour, 0.75),
        '─' => rectangle(out, left, middle - 0.5, width, 1.0, colour, 1.0),
        '━' => rectangle(out, left, middle - 1.0, width, 2.0, colour, 1.0),
        '╌' => {
            for index in 0..count {
                rectangle(out, each(index) + 1.0, middle - 0.5, 2.5, 1.0, colour, 1.0);
                rectangle(out, each(index) + 5.0, middle - 0.5, 2.5, 1.0, colour, 1.0);
            }
        }
        '│' | '┃' => {
            let thick = if glyph == '│' { 1.0 } else { 2.0 };
            for index in 0..count {
                let x = each(index) + (CELL.0 - thick) / 2.0;
                rectangle(out, x, top, thick, height, colour, 1.0);
            }
        }
        '\u{2801}'..='\u{28ff}' => {
            for index in 0..count {
                dots(out, glyph as u32 - 0x2800, each(index), top, colour);
            }
        }
        '╭' | '╮' | '╰' | '╯' => {
            for index in 0..count {
                corner(out, glyph, each(index), top, colour);
            }
        }
        '●' | '○' => {
            for index in 0..count {
                let fill = if glyph == '●' { hex(colour) } else { "none".into() };
                let _ = writeln!(
                    out,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"3.4\" fill=\"{fill}\" stroke=\"{}\"/>",
                    number(each(index) + CELL.0 / 2.0),
                    number(middle),
                    hex(colour)
                );
            }
        }
        _ => {}
    }
}

/// The dots of a braille pattern: bits 0 to 2 go down on the left, 3 to 5 on the right, 6 and 7 are below.
fn dots(out: &mut String, pattern: u32, left: f64, top: f64, colour: Rgb) {
    const PLACES: [(u8, u8); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    const SIDE: f64 = 2.0;
    let middle = |cells: f64, count: f64, at: u8| (f64::from(at) + 0.5) * cells / count - SIDE / 2.0;
    for (bit, (column, row)) in PLACES.into_iter().enumerate() {
        if pattern >> bit & 1 == 1 {
            let (x, y) = (left + middle(CELL.0, 2.0, column), top + middle(CELL.1, 4.0, row));
            rectangle(out, x, y, SIDE, SIDE, colour, 1.0);
        }
    }
}

fn corner(out: &mut String, glyph: char, left: f64, top: f64, colour: Rgb) {
    let (x, y) = (left + CELL.0 / 2.0, top + CELL.1 / 2.0);
    let (right, bottom) = (left + CELL.0, top + CELL.1);
    let (from, to) = match glyph {
        '╭' => ((x, bottom), (right, y)),
        '╮' => ((x, bottom), (left, y)),
        '╰' => ((x, top), (right, y)),
        _ => ((x, top), (left, y)),
    };
    let _ = writeln!(
        out,
        "<path d=\"M{} {}Q{} {} {} {}\" fill=\"none\" stroke=\"{}\"/>",
        number(from.0),
        number(from.1),
        number(x),
        number(y),
        number(to.0),
        number(to.1),
        hex(colour)
    );
}

fn rectangle(out: &mut String, x: f64, y: f64, width: f64, height: f64, fill: Rgb, opacity: f64) {
    let opacity = if opacity < 1.0 { format!(" opacity=\"{opacity}\"") } else { String::new() };
    let _ = writeln!(
        out,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{opacity}/>",
        number(x),
        number(y),
        number(width),
        number(height),
        hex(fill)
    );
}

/// At most two decimals, none where there are none.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn mix(one: Rgb, other: Rgb, share: f64) -> Rgb {
    let part = |one: u8, other: u8| (f64::from(one) * (1.0 - share) + f64::from(other) * share) as u8;
    (part(one.0, other.0), part(one.1, other.1), part(one.2, other.2))
}

fn rgb(colour: Color, otherwise: Rgb) -> Rgb {
    let index = match colour {
        Color::Reset => return otherwise,
        Color::Rgb(red, green, blue) => return (red, green, blue),
        Color::Indexed(index) => index,
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
    };
    indexed_rgb(index)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(crate::text::visible_char(c).unwrap_or(c)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn letters_have_places_blocks_are_shapes_and_markup_is_escaped() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        buffer.set_string(0, 0, "a<市", Style::new());
        buffer.set_string(4, 0, "▀▀", Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Rgb(4, 5, 6)));
        let picture = svg(&buffer, &Theme::DARK, "a & b");
        assert!(picture.contains("<title>a &amp; b</title>"));
        assert!(picture.contains("<text x=\"10 18 26\" y=\"23\" fill=\"#d5dae2\">a&lt;市</text>"));
        assert!(picture.contains("<rect x=\"42\" y=\"10\" width=\"16\" height=\"18\" fill=\"#040506\"/>"));
        assert!(picture.contains("<rect x=\"42\" y=\"10\" width=\"16\" height=\"9\" fill=\"#010203\"/>"));
    }

    #[test]
    fn a_braille_pattern_is_drawn_as_its_dots() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 1, 1));
        // Dots 1 and 8: above on the left, below on the right.
        buffer.set_string(0, 0, "\u{2881}", Style::new().fg(Color::Rgb(1, 2, 3)));
        let picture = svg(&buffer, &Theme::DARK, "");
        assert!(!picture.contains("<text"));
        assert_eq!(picture.matches("fill=\"#010203\"").count(), 2);
        assert!(picture.contains("<rect x=\"11\" y=\"11.25\" width=\"2\" height=\"2\""), "{picture}");
        assert!(picture.contains("<rect x=\"15\" y=\"24.75\" width=\"2\" height=\"2\""), "{picture}");
    }
}
