//! Chunks by answer tokens: how much attention each chunk got when a token was predicted.

use ratatui::layout::Rect;

use super::legend;
use super::words::digits;
use crate::evidence::Lookback;
use crate::tui::heat_scale::Extent;
use crate::tui::hit::Target;
use crate::tui::model::{Model, elsewhere, mass};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, heat_cell, width};

/// Columns of the row labels.
const LABELS: u16 = 4;
/// Columns of the figures at the right: of the token at the cursor, and of a locked one.
const FIGURES: u16 = 4;
const LOCKED: u16 = 9;
/// Columns of a token in the table of figures.
const CELL: u16 = 6;

/// A map being drawn.
struct Map<'a> {
    model: &'a Model,
    lookback: &'a Lookback,
    chunks: usize,
    tokens: usize,
    /// Whether there is a row for what no chunk got.
    elsewhere: bool,
    extent: Extent,
}

impl<'a> Map<'a> {
    fn new(model: &'a Model) -> Option<Self> {
        let lookback = model.reading()?.lookback.as_ref()?;
        let (tokens, chunks) = (model.token_count(), model.chunk_count());
        let with_rest = model.attention.elsewhere;
        let all = (0..tokens).flat_map(|token| (0..chunks).map(move |chunk| (token, chunk)));
        let values = all.filter_map(|(token, chunk)| mass(lookback, chunks, token, chunk));
        let rest =
            (0..if with_rest { tokens } else { 0 }).filter_map(|token| elsewhere(lookback, chunks, token));
        let extent = Extent::of(values.chain(rest), model.attention.scale)?;
        Some(Self { model, lookback, chunks, tokens, elsewhere: with_rest, extent })
    }

    fn rows(&self) -> usize {
        self.chunks + usize::from(self.elsewhere)
    }

    fn value(&self, token: usize, row: usize) -> Option<f64> {
        if row < self.chunks {
            mass(self.lookback, self.chunks, token, row)
        } else {
            elsewhere(self.lookback, self.chunks, token)
        }
    }

    /// Rows shown on `height` lines: all, or a window round the selected chunk.
    fn window(&self, height: u16) -> std::ops::Range<usize> {
        let height = usize::from(height).min(self.rows());
        let first = self.model.chunk.saturating_sub(height / 2).min(self.rows() - height);
        first..first + height
    }

    fn label(&self, canvas: &mut Canvas<'_>, line: Rect, row: usize) {
        let selected = row == self.model.chunk;
        let style = canvas.style(if selected { Role::Focus } else { Role::Muted });
        if row < self.chunks {
            canvas.write(line, 0, 0, &format!("{}{:>2}", if selected { "▌" } else { " " }, row + 1), style);
            canvas.hits.add(Rect { width: LABELS.min(line.width), ..line }, Target::Chunk(row));
        } else {
            canvas.write(line, 0, 0, "else", style);
        }
    }
}

/// Rows that the map would like to have.
pub fn rows(model: &Model) -> u16 {
    u16::try_from(model.chunk_count() + usize::from(model.attention.elsewhere)).unwrap_or(u16::MAX)
}

/// The pane's view: the whole answer as strips, and the tokens round the cursor as a table of figures.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, lookback: &Lookback) {
    let Some(map) = Map::new(model) else {
        let text = if lookback.by_token.is_empty() {
            "This record does not say where its tokens looked."
        } else {
            "No token of this answer has a finite look-back."
        };
        super::absent(canvas, area, text, Role::Muted);
        return;
    };
    if area.height == 0 {
        return;
    }
    let (muted, strong) = (canvas.style(Role::Muted), canvas.style(Role::Strong));
    let line = Rect { height: 1, ..area };
    let end = canvas.write_all(line, 0, 0, &[("attention by token ", strong)]);
    let end = legend(canvas, line, (end, 0), &map.extent, 6);
    canvas.write_all(line, end, 0, &[(" ", muted), (model.attention.scale.name(), muted)]);
    let below = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let rows = rows(model);
    // The table needs a line for the tokens' text, and is worth it from three tokens on.
    let table = rows.saturating_add(2);
    let with_table = below.height >= rows.saturating_add(table) && below.width >= LABELS + 3 * CELL;
    let height = if with_table { rows } else { below.height.min(rows) };
    strips(canvas, Rect { height, ..below }, &map);
    if with_table {
        let place = Rect { y: below.y + rows + 1, height: table - 1, ..below };
        figures(canvas, place, &map);
    }
}

/// Only the strips, where there is no room for more: one column per token round the cursor.
pub fn draw_strips(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    if let Some(map) = Map::new(model) {
        strips(canvas, area, &map);
    }
}

fn strips(canvas: &mut Canvas<'_>, area: Rect, map: &Map<'_>) {
    let model = map.model;
    let lock = model.locked().filter(|lock| lock.token != model.token);
    let wide = area.width >= LABELS + FIGURES + LOCKED + 8;
    let right = FIGURES + if lock.is_some() && wide { LOCKED } else { 0 };
    if area.width < LABELS + right + 4 || map.tokens == 0 {
        return;
    }
    let columns = usize::from(area.width - LABELS - right).min(map.tokens);
    let first_token = model.token.saturating_sub(columns / 2).min(map.tokens - columns);
    let muted = canvas.style(Role::Muted);
    for (place, row) in map.window(area.height).enumerate() {
        let line = Rect { y: area.y + place as u16, height: 1, ..area };
        map.label(canvas, line, row);
        for column in 0..columns {
            let token = first_token + column;
            let Some(value) = map.value(token, row) else { continue };
            let at = LABELS + column as u16;
            let share = map.extent.place(value);
            heat_cell(canvas, line, at, 0, share);
            if token == model.token {
                mark(canvas, line, at, share, '┃');
            } else if lock.is_some_and(|lock| lock.token == token) {
                mark(canvas, line, at, share, '╎');
            }
            let cell = Rect { x: line.x + at, width: 1, ..line };
            let target =
                if row < map.chunks { Target::Cell { token, chunk: row } } else { Target::Token(token) };
            canvas.hits.add(cell, target);
        }
        let at = LABELS + columns as u16;
        let style = canvas.style(if row == model.chunk { Role::Focus } else { Role::Muted });
        let here = map.value(model.token, row);
        if let Some(here) = here {
            canvas.write_all(line, at, 0, &[(" ", muted), (&digits(here), style)]);
        }
        // Beside it the locked token's share, and by how much the cursor's differs.
        if let (Some(here), Some(there)) = (here, lock.and_then(|lock| map.value(lock.token, row)))
            && wide
        {
            let text = format!(" *{} {:+03.0}", digits(there), (here - there) * 100.0);
            canvas.write(line, at + FIGURES, 0, &text, muted);
        }
    }
}

/// A bar over the heat: the column of the cursor, or of the lock.
fn mark(canvas: &mut Canvas<'_>, line: Rect, column: u16, share: f64, glyph: char) {
    let style = canvas.style(Role::HeatCursor);
    if canvas.theme.heat_has_colour() {
        let heat = canvas.theme.heat(share);
        canvas.glyph(line, column, 0, glyph, style.bg(heat));
    } else {
        canvas.tint(Rect { x: line.x + column, width: 1, ..line }, style);
    }
}

/// The tokens round the cursor with their text, and the share of every chunk in figures.
fn figures(canvas: &mut Canvas<'_>, area: Rect, map: &Map<'_>) {
    let model = map.model;
    if area.height < 2 || map.tokens == 0 {
        return;
    }
    let columns = usize::from(area.width.saturating_sub(LABELS) / CELL).min(map.tokens);
    let first = model.token.saturating_sub(columns / 2).min(map.tokens - columns);
    let (muted, cursor, locked) =
        (canvas.style(Role::Muted), canvas.style(Role::Cursor), canvas.style(Role::Selected));
    let lock = model.locked().map(|lock| lock.token);
    for column in 0..columns {
        let token = first + column;
        let style = match token {
            token if token == model.token => cursor,
            token if Some(token) == lock => locked,
            _ => muted,
        };
        let text = crate::text::visible_line(model.token_text(token).unwrap_or_default().trim()).into_owned();
        let head = Rect { x: area.x + LABELS + column as u16 * CELL, width: CELL - 1, height: 1, ..area };
        // Right-aligned where it fits, so that text and figures stand over each other.
        if width(&text) <= head.width {
            canvas.write_right(head, 0, &text, style);
        } else {
            canvas.write(head, 0, 0, &text, style);
        }
        canvas.hits.add(head, Target::Token(token));
    }
    for (place, row) in map.window(area.height - 1).enumerate() {
        let line = Rect { y: area.y + 1 + place as u16, height: 1, ..area };
        map.label(canvas, line, row);
        for column in 0..columns {
            let token = first + column;
            let cell = Rect { x: line.x + LABELS + column as u16 * CELL, width: CELL - 1, ..line };
            let Some(value) = map.value(token, row) else { continue };
            let on_cursor = token == model.token;
            let role = if on_cursor || row == model.chunk { Role::Text } else { Role::Muted };
            let style = canvas.style(if on_cursor && row == model.chunk { Role::Focus } else { role });
            let shown = canvas.write_right(cell, 0, &digits(value), style);
            if shown > 0 {
                heat_cell(canvas, cell, shown - 1, 0, map.extent.place(value));
            }
            let target =
                if row < map.chunks { Target::Cell { token, chunk: row } } else { Target::Token(token) };
            canvas.hits.add(cell, target);
        }
    }
}
