//! A screen as text with its styles: glyphs, a letter per style, and what the letters mean.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, CellWidth};
use ratatui::style::{Color, Modifier, Style};

const LETTERS: &str = ".abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Three blocks. Colours of heat maps are many: beyond the letters they are all `*`.
pub fn dump(buffer: &Buffer) -> String {
    let mut glyphs = String::new();
    let mut styles = String::new();
    let mut seen: Vec<Style> = vec![Style::reset()];
    for row in 0..buffer.area.height {
        let mut column = 0;
        while column < buffer.area.width {
            let cell = &buffer[(column, row)];
            let width = cell.symbol().cell_width().max(1);
            glyphs.push_str(cell.symbol());
            for _ in 0..width {
                let style = cell.style();
                // A heat map has more colours than there are letters: its glyphs stand for themselves.
                let is_heat =
                    matches!(cell.symbol(), "█" | "▀" | "▄") && matches!(style.fg, Some(Color::Rgb(..)));
                let letter = if is_heat {
                    '*'
                } else {
                    let at = seen.iter().position(|known| *known == style).unwrap_or_else(|| {
                        seen.push(style);
                        seen.len() - 1
                    });
                    LETTERS.chars().nth(at).unwrap_or('*')
                };
                styles.push(letter);
            }
            column += width;
        }
        while glyphs.ends_with(' ') {
            glyphs.pop();
        }
        while styles.ends_with('.') {
            styles.pop();
        }
        glyphs.push('\n');
        styles.push('\n');
    }
    let mut legend = String::new();
    for (letter, style) in LETTERS.chars().zip(&seen).skip(1) {
        let _ = writeln!(legend, "{letter} {}", words(style));
    }
    format!("{glyphs}--- styles\n{styles}--- legend\n{legend}")
}

fn words(style: &Style) -> String {
    let colour = |colour: Option<Color>| colour.unwrap_or(Color::Reset).to_string();
    let mut text = format!("{} on {}", colour(style.fg), colour(style.bg));
    for (modifier, name) in [
        (Modifier::BOLD, "bold"),
        (Modifier::DIM, "dim"),
        (Modifier::UNDERLINED, "underlined"),
        (Modifier::REVERSED, "reversed"),
    ] {
        if style.add_modifier.contains(modifier) {
            text.push(' ');
            text.push_str(name);
        }
    }
    text
}
