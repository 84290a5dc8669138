//! Where the model looked: a map of heads, and a map of answer tokens and chunks.

use std::fmt::Write as _;

use ratatui::layout::{Constraint, Layout, Rect};

use super::words::{percent, quoted};
use super::{absent, pane_frame, sentence};
use crate::evidence::Lookback;
use crate::tui::heat_scale::{Extent, Scale};
use crate::tui::hit::Target;
use crate::tui::model::{Model, Pane, Subject, mass};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, HeatMap, heat_cell};

/// Columns of the layer labels.
const LABELS: u16 = 4;
/// Columns of the legend and the ranking beside the map of heads.
const SIDE: u16 = 12;
/// From this width on the two maps stand side by side.
const SIDE_BY_SIDE: u16 = 64;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let lookback = model.reading().and_then(|reading| reading.lookback.as_ref());
    let lookback = lookback.filter(|lookback| lookback.layers > 0 && lookback.heads > 0);
    let ratio = lookback.and_then(|lookback| ratio_at_cursor(model, lookback));
    let read_out = ratio.map_or_else(String::new, |ratio| {
        let word = if area.width >= 44 { "look-back " } else { "" };
        format!("L{:02} H{:02} {word}{ratio:.2}", model.attention.layer, model.attention.head)
    });
    let inside = pane_frame(canvas, area, model, Pane::Attention, "", &read_out);
    let Some(lookback) = lookback else {
        absent(canvas, inside, why_absent(model), Role::Muted);
        return;
    };
    let body = sentence(canvas, inside, &words(model, lookback), if inside.height > 30 { 4 } else { 2 });
    let chunks = model.chunk_count() as u16;
    if body.width >= SIDE_BY_SIDE {
        let [heads, tokens] =
            Layout::horizontal([Constraint::Length(head_map_width(lookback)), Constraint::Min(20)])
                .spacing(2)
                .areas(body);
        draw_head_map(canvas, heads, model, lookback);
        let title = Rect { height: 1.min(tokens.height), ..tokens };
        let muted = canvas.style(Role::Muted);
        canvas.write(title, 0, 0, "attention on each chunk, by token", muted);
        let map = Rect { y: tokens.y + 1, height: chunks.min(tokens.height.saturating_sub(1)), ..tokens };
        draw_token_map(canvas, map, model);
    } else {
        let tokens = chunks.min(body.height / 4);
        let map = Rect { y: body.bottom() - tokens, height: tokens, ..body };
        let heads = body.height.saturating_sub(tokens + u16::from(tokens > 0));
        draw_head_map(canvas, Rect { height: heads, ..body }, model, lookback);
        draw_token_map(canvas, map, model);
    }
}

fn why_absent(model: &Model) -> &str {
    match model.evidence() {
        None => "Not looked at yet.",
        Some(evidence) => match (&evidence.reading, &evidence.reason) {
            (None, Some(reason)) => reason,
            (None, None) if model.run.is_running() => "Waiting to be read by the model.",
            (None, None) => "This answer has not been read.",
            (Some(_), _) => "This record holds no look-back ratios.",
        },
    }
}

fn head_map_width(lookback: &Lookback) -> u16 {
    (LABELS + lookback.heads as u16 * 2 + SIDE + 2).clamp(30, 52)
}

fn ratio_at_cursor(model: &Model, lookback: &Lookback) -> Option<f64> {
    let cursor = &model.attention;
    cursor.ratio(lookback, model.chunk, cursor.layer, cursor.head)
}

/// Heads from the highest ratio down.
fn ranked(model: &Model, lookback: &Lookback) -> Vec<(usize, usize, f64)> {
    let heads = (0..lookback.layers).flat_map(|layer| (0..lookback.heads).map(move |head| (layer, head)));
    let mut ranked: Vec<(usize, usize, f64)> = heads
        .filter_map(|(layer, head)| {
            Some((layer, head, model.attention.ratio(lookback, model.chunk, layer, head)?))
        })
        .collect();
    ranked.sort_by(|one, other| other.2.total_cmp(&one.2));
    ranked
}

fn draw_head_map(canvas: &mut Canvas<'_>, area: Rect, model: &Model, lookback: &Lookback) {
    let subject = match model.attention.subject {
        Subject::Chunk => format!("chunk {}", model.chunk + 1),
        Subject::Context => "context".into(),
    };
    let (muted, strong) = (canvas.style(Role::Muted), canvas.style(Role::Strong));
    let ranked = ranked(model, lookback);
    let Some(extent) = Extent::of(ranked.iter().map(|(_, _, ratio)| *ratio), model.attention.scale) else {
        absent(canvas, area, "No look-back ratio of this subject is in the record.", Role::Muted);
        return;
    };
    let cell_width = if LABELS + lookback.heads as u16 * 2 <= area.width { 2 } else { 1 };
    let map_width = LABELS + lookback.heads as u16 * cell_width;
    let beside = area.width > map_width + SIDE;
    let mut below = area;
    if !beside {
        let line = Rect { height: 1.min(area.height), ..area };
        let end = canvas.write_all(line, 0, 0, &[(&subject, strong), ("  ", muted)]);
        let end = legend(canvas, line, end, extent, 8);
        canvas.write(line, end + 1, 0, model.attention.scale.name(), muted);
        below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    }
    let map = HeatMap {
        rows: lookback.layers,
        columns: lookback.heads,
        value: &|layer, head| model.attention.ratio(lookback, model.chunk, layer, head),
        extent,
        cursor: Some((model.attention.layer, model.attention.head)),
        cell_width,
    };
    let grid = Rect { x: below.x + LABELS, width: below.width.saturating_sub(LABELS), ..below };
    let per_line = if canvas.theme.heat_has_colour() { 2 } else { 1 };
    let focus = canvas.style(Role::HeatCursor);
    for (layer, head, cell) in map.draw(canvas, grid) {
        if head == 0 {
            let row = cell.y - below.y;
            let label = format!(
                "L{:02}",
                if layer == model.attention.layer { layer } else { layer - layer % per_line }
            );
            let cursor_line = layer / per_line == model.attention.layer / per_line;
            if layer == model.attention.layer {
                canvas.write(below, 0, row, &label, focus);
            } else if layer % 4 == 0 && !cursor_line {
                canvas.write(below, 0, row, &label, muted);
            }
        }
        // Of two layers on a line a press takes the one that has the cursor's parity.
        if per_line == 1 || layer % 2 == model.attention.layer % 2 {
            canvas.hits.add(cell, Target::Head { layer, head });
        }
    }
    if beside {
        let side =
            Rect { x: below.x + map_width + 2, width: below.width.saturating_sub(map_width + 2), ..below };
        canvas.write(side, 0, 0, &subject, strong);
        legend(canvas, side, 0, extent, 4);
        canvas.write(side, 0, 2, model.attention.scale.name(), muted);
        draw_ranking(
            canvas,
            Rect { y: side.y + 4, height: side.height.saturating_sub(4), ..side },
            model,
            &ranked,
        );
    }
}

/// The heads that look back most, beside the map.
fn draw_ranking(canvas: &mut Canvas<'_>, area: Rect, model: &Model, ranked: &[(usize, usize, f64)]) {
    let (muted, text, focus) =
        (canvas.style(Role::Muted), canvas.style(Role::Text), canvas.style(Role::HeatCursor));
    for (row, (layer, head, ratio)) in ranked.iter().take(usize::from(area.height).min(9)).enumerate() {
        let here = (*layer, *head) == (model.attention.layer, model.attention.head);
        let name = format!("L{layer:02} H{head:02} ");
        let pieces = [(name.as_str(), if here { focus } else { muted }), (&digits(*ratio), text)];
        canvas.write_all(area, 0, row as u16, &pieces);
    }
}

/// `.83`, `1.0`: three columns.
fn digits(share: f64) -> String {
    let text = format!("{share:.2}");
    text.strip_prefix('0').map_or_else(|| "1.0".to_owned(), str::to_owned)
}

/// Least value, ramp, greatest value; returns the column after it. The short form stands on the second
/// line, under the subject.
fn legend(canvas: &mut Canvas<'_>, area: Rect, column: u16, extent: Extent, cells: u16) -> u16 {
    let row = u16::from(cells < 8);
    let muted = canvas.style(Role::Muted);
    let low = match extent.scale {
        Scale::Linear => extent.low,
        Scale::Logarithmic if extent.least_positive.is_finite() => extent.least_positive,
        Scale::Logarithmic => 0.0,
    };
    let low = if low > 0.0 && low < 0.005 { format!("{low:.0e}") } else { digits(low) };
    let end = canvas.write_all(area, column, row, &[(&low, muted), (" ", muted)]);
    for step in 0..cells {
        heat_cell(canvas, area, end + step, row, f64::from(step) / f64::from(cells - 1));
    }
    canvas.write_all(area, end + cells, row, &[(" ", muted), (&digits(extent.high), muted)])
}

/// Rows are chunks, columns answer tokens round the cursor; digits for the token under it.
pub fn draw_token_map(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let (Some(lookback), tokens, chunks) = (
        model.reading().and_then(|reading| reading.lookback.as_ref()),
        model.token_count(),
        model.chunk_count(),
    ) else {
        return;
    };
    let (label, digits_width) = (LABELS, 4);
    if area.width < label + digits_width + 4 || tokens == 0 {
        return;
    }
    let all = (0..tokens).flat_map(|token| (0..chunks).map(move |chunk| (token, chunk)));
    let values = all.filter_map(|(token, chunk)| mass(lookback, chunks, token, chunk));
    let Some(extent) = Extent::of(values, model.attention.scale) else { return };
    let columns = usize::from(area.width - label - digits_width).min(tokens);
    let first_token = model.token.saturating_sub(columns / 2).min(tokens - columns);
    let height = usize::from(area.height).min(chunks);
    let first_chunk = model.chunk.saturating_sub(height / 2).min(chunks - height);
    let muted = canvas.style(Role::Muted);
    for row in 0..height {
        let chunk = first_chunk + row;
        let line = Rect { y: area.y + row as u16, height: 1, ..area };
        let selected = chunk == model.chunk;
        let style = canvas.style(if selected { Role::Focus } else { Role::Muted });
        let name = format!("{}{:>2}", if selected { "▌" } else { " " }, chunk + 1);
        canvas.write(line, 0, 0, &name, style);
        canvas.hits.add(Rect { width: label, ..line }, Target::Chunk(chunk));
        for column in 0..columns {
            let token = first_token + column;
            let Some(value) = mass(lookback, chunks, token, chunk) else { continue };
            let at = label + column as u16;
            let share = extent.place(value);
            heat_cell(canvas, line, at, 0, share);
            if token == model.token {
                mark_cursor(canvas, line, at, share);
            }
            let cell = Rect { x: line.x + at, width: 1, ..line };
            canvas.hits.add(cell, Target::Token(token));
        }
        if let Some(value) = mass(lookback, chunks, model.token, chunk) {
            canvas.write_all(line, label + columns as u16, 0, &[(" ", muted), (&digits(value), style)]);
        }
    }
}

/// The column under the cursor: a bar over the heat.
fn mark_cursor(canvas: &mut Canvas<'_>, line: Rect, column: u16, share: f64) {
    let style = canvas.style(Role::HeatCursor);
    if canvas.theme.heat_has_colour() {
        let heat = canvas.theme.heat(share);
        canvas.glyph(line, column, 0, '┃', style.bg(heat));
    } else {
        canvas.tint(Rect { x: line.x + column, width: 1, ..line }, style);
    }
}

/// What the maps say about the token and the head under their cursors.
fn words(model: &Model, lookback: &Lookback) -> String {
    let chunks = model.chunk_count();
    let mut text = String::new();
    let most = (0..chunks)
        .filter_map(|chunk| Some((chunk, mass(lookback, chunks, model.token, chunk)?)))
        .max_by(|one, other| one.1.total_cmp(&other.1));
    let token = model.reading().and_then(|reading| reading.tokens.get(model.token));
    let answer = model.evidence().and_then(|evidence| evidence.answer.as_deref());
    if let (Some((chunk, share)), Some([start, end]), Some(answer)) = (most, token, answer) {
        let token = answer.get(*start..*end).unwrap_or_default();
        let _ =
            write!(text, "{} looked most at chunk {} ({}).", quoted(token, 12), chunk + 1, percent(share));
    }
    if let Some(ratio) = ratio_at_cursor(model, lookback) {
        let ranked = ranked(model, lookback);
        let rank = ranked.iter().filter(|(_, _, other)| *other > ratio).count() + 1;
        let cursor = &model.attention;
        let _ = write!(text, " L{:02} H{:02} ranks {rank} of {}.", cursor.layer, cursor.head, ranked.len());
    }
    text
}
