//! Chunks in rank order with their certificate, and the selected one in full.

use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::same_words::SameWords;
use super::words::{counted, percent, quoted};
use super::{absent, pane_frame, sentence};
use crate::evidence::{ChunkEvidence, Status};
use crate::tui::hit::Target;
use crate::tui::model::{Model, Pane, mass};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Line, p_value_bar, wrap};

/// Bytes of a chunk that are laid out: far beyond any chunk, short of what would make keys wait.
const MOST_BYTES: usize = 64 * 1024;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let chunks = model.evidence().map_or(&[][..], |evidence| &evidence.chunks);
    let trusted = model.findings.as_ref().map_or(&[][..], |findings| &findings.trusted);
    let kept = trusted.iter().filter(|trusted| **trusted == Some(true)).count();
    let decided = trusted.iter().flatten().count();
    let read_out = if decided > 0 {
        format!("{kept} of {} trusted at alpha {:.3}", chunks.len(), model.thresholds.alpha.value())
    } else if chunks.is_empty() {
        String::new()
    } else {
        counted(chunks.len(), "chunk", "chunks")
    };
    let inside = pane_frame(canvas, area, model, Pane::Chunks, "", &read_out);
    if chunks.is_empty() {
        let (text, role) = why_empty(model);
        absent(canvas, inside, &text, role);
        return;
    }
    let same = SameWords::of(model, chunks.get(model.chunk).map_or("", |chunk| shown_text(&chunk.text)));
    let most = match inside.height {
        ..10 => 2,
        10..14 => 3,
        _ => 4,
    };
    let body = sentence(canvas, inside, &words(model, chunks, &same), most);
    let list_height = (chunks.len() as u16).min((body.height / 2).max(1));
    let list = Rect { height: list_height, ..body };
    draw_list(canvas, list, model, chunks, trusted);
    if body.height > list_height + 1 {
        let rule = Rect { y: body.y + list_height, height: 1, ..body };
        let text = Rect {
            y: rule.y + 1,
            x: body.x + 1,
            width: body.width.saturating_sub(2),
            height: body.height - list_height - 1,
        };
        draw_text(canvas, rule, text, model, chunks, trusted, &same);
    }
}

/// The part of a chunk that is laid out.
fn shown_text(text: &str) -> &str {
    &text[..boundary(text, MOST_BYTES)]
}

fn why_empty(model: &Model) -> (String, Role) {
    match (model.row(), model.evidence()) {
        (None, _) => ("No example is selected.".into(), Role::Muted),
        (Some(_), None) if model.run.is_running() => ("Not looked at yet.".into(), Role::Muted),
        (Some(_), None) => ("The run ended before it came to this example.".into(), Role::Muted),
        (Some(_), Some(evidence)) => match (&evidence.status, &evidence.reason) {
            (Status::Error, Some(reason)) => (reason.clone(), Role::Error),
            (_, Some(reason)) => (format!("No chunk: {reason}"), Role::Warning),
            _ => ("This example has no chunk.".into(), Role::Muted),
        },
    }
}

fn draw_list(
    canvas: &mut Canvas<'_>,
    area: Rect,
    model: &Model,
    chunks: &[ChunkEvidence],
    trusted: &[Option<bool>],
) {
    let height = usize::from(area.height);
    let first = model.chunk.saturating_sub(height / 2).min(chunks.len().saturating_sub(height));
    for (line, (index, chunk)) in chunks.iter().enumerate().skip(first).take(height).enumerate() {
        let row = Rect { y: area.y + line as u16, height: 1, ..area };
        canvas.hits.add(row, Target::Chunk(index));
        draw_chunk(canvas, row, model, (index, chunk), trusted.get(index).copied().flatten());
    }
}

fn draw_chunk(
    canvas: &mut Canvas<'_>,
    area: Rect,
    model: &Model,
    (index, chunk): (usize, &ChunkEvidence),
    trusted: Option<bool>,
) {
    let selected = index == model.chunk;
    if selected {
        let style = canvas.style(Role::Selected);
        canvas.tint(area, style);
        let bar = canvas.style(Role::Focus);
        canvas.glyph(area, 0, 0, '▌', bar);
    }
    let (word, role) = match trusted {
        Some(true) => ("TRUSTED", Role::Trusted),
        Some(false) => ("dropped", Role::Dropped),
        None => ("no p   ", Role::Warning),
    };
    let (verdict, muted) = (canvas.style(role), canvas.style(Role::Muted));
    let rank = format!("{:>2} ", index + 1);
    let score = chunk.score.map_or_else(|| format!("{:>8}", "no score"), |score| format!("{score:>8.2}"));
    let column = canvas.write_all(area, 1, 0, &[(&rank, muted), (word, verdict), ("  ", muted)]);
    // Score and origin stand in columns of their own, whether there is a p-value or not.
    let bar_at = column + 8;
    let bar_width = area.width.saturating_sub(bar_at + 23).clamp(6, 24);
    let score_at = bar_at + bar_width + 1;
    if let Some(p) = chunk.p_value {
        let text = format!("p {:.3} ", p.value());
        canvas.write(area, column, 0, &text, verdict);
        if area.width > score_at {
            let bar = Rect { x: area.x + bar_at, width: bar_width, ..area };
            let alpha = model.thresholds.alpha.value();
            p_value_bar(canvas, bar, p.value(), alpha, trusted == Some(true));
        }
    } else {
        let reason = chunk.p_value_absent.as_deref().unwrap_or("it was not calibrated");
        let style = canvas.style(Role::Warning);
        let room = Rect { width: score_at.min(area.width), ..area };
        canvas.write(room, column.saturating_sub(9), 0, &format!("no p-value: {reason}"), style);
    }
    let column = canvas.write(area, score_at, 0, &score, muted);
    let column = draw_look(canvas, area, column, model, index);
    let origin = chunk.document.as_deref().unwrap_or(&chunk.id);
    canvas.write_all(area, column, 0, &[("  ", muted), (origin, muted)]);
}

/// Share of its attention that the token under the cursor gave this chunk; a mark where that is most.
fn draw_look(canvas: &mut Canvas<'_>, area: Rect, column: u16, model: &Model, index: usize) -> u16 {
    let Some(lookback) = model.reading().and_then(|reading| reading.lookback.as_ref()) else { return column };
    let Some(share) = mass(lookback, model.chunk_count(), model.token, index) else { return column };
    let most = model.looked_at().is_some_and(|(chunk, _)| chunk == index);
    let style = canvas.style(if most { Role::Key } else { Role::Muted });
    let text = format!(" {}{:>3.0}%", if most { '◂' } else { ' ' }, share * 100.0);
    canvas.write(area, column, 0, &text, style)
}

/// Lights up the words that the token under the cursor has in common with the chunk.
fn light_up(canvas: &mut Canvas<'_>, area: Rect, row: u16, line: &Line, same: &SameWords) {
    let style = canvas.style(Role::Key).add_modifier(Modifier::UNDERLINED);
    for piece in line.pieces.iter().filter(|piece| same.holds(&piece.range)) {
        let cell = Rect {
            x: area.x + piece.column,
            y: area.y + row,
            width: piece.width.min(area.width.saturating_sub(piece.column)),
            height: 1,
        };
        canvas.tint(cell, style);
    }
}

fn draw_text(
    canvas: &mut Canvas<'_>,
    rule: Rect,
    area: Rect,
    model: &Model,
    chunks: &[ChunkEvidence],
    trusted: &[Option<bool>],
    same: &SameWords,
) {
    let Some(chunk) = chunks.get(model.chunk) else { return };
    let end = shown_text(&chunk.text).len();
    let wrapped = wrap(&chunk.text[..end], area.width, &[]);
    let lines = u16::try_from(wrapped.lines.len()).unwrap_or(u16::MAX);
    let furthest = lines.saturating_sub(area.height);
    canvas.hits.limits.chunk_scroll = furthest;
    canvas.hits.limits.chunk_page = area.height;
    let first = model.chunk_scroll.min(furthest);
    let (border, muted) = (canvas.style(Role::Border), canvas.style(Role::Muted));
    for column in 0..rule.width {
        canvas.glyph(rule, column, 0, '─', border);
    }
    let label = format!(" {} · {} ", model.chunk + 1, chunk.id);
    canvas.write(Rect { width: rule.width / 2, ..rule }, 2, 0, &label, muted);
    if furthest > 0 {
        let place = format!(" lines {}–{} of {lines} ", first + 1, (first + area.height).min(lines));
        let narrow = Rect { width: rule.width.saturating_sub(2), ..rule };
        canvas.write_right(narrow, 0, &place, muted);
    }
    let role = if trusted.get(model.chunk) == Some(&Some(false)) { Role::Dropped } else { Role::Text };
    let style = canvas.style(role);
    for (row, line) in
        wrapped.lines.iter().skip(usize::from(first)).take(usize::from(area.height)).enumerate()
    {
        canvas.write(area, 0, row as u16, wrapped.shown(line).trim_end(), style);
        light_up(canvas, area, row as u16, line, same);
    }
    if end < chunk.text.len() && first == furthest {
        let rest = format!("… {} more bytes are not shown", chunk.text.len() - end);
        canvas.write(area, 0, area.height.saturating_sub(1), &rest, muted);
    }
}

/// The last place at or before `most` where the text can be cut.
fn boundary(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// What the selected chunk's certificate says.
fn words(model: &Model, chunks: &[ChunkEvidence], same: &SameWords) -> String {
    let Some(chunk) = chunks.get(model.chunk) else { return String::new() };
    let alpha = model.thresholds.alpha;
    let number = model.chunk + 1;
    let mut text = match chunk.p_value {
        Some(p) if p.exceeds(alpha) => format!(
            "Chunk {number} is kept: {} of {} correct calibration chunks scored no better (p {:.3} > {:.3}).",
            p.count.saturating_sub(1),
            p.out_of.saturating_sub(1),
            p.value(),
            alpha.value(),
        ),
        Some(p) => format!(
            "Chunk {number} is dropped: only {} of {} correct calibration chunks scored no better (p {:.3}, alpha {:.3}).",
            p.count.saturating_sub(1),
            p.out_of.saturating_sub(1),
            p.value(),
            alpha.value(),
        ),
        None => format!(
            "Chunk {number} can be neither trusted nor dropped: {}.",
            chunk.p_value_absent.as_deref().unwrap_or("it was not calibrated").trim_end_matches('.')
        ),
    };
    if chunk.correct == Some(true) {
        text.push_str(" It comes from a document that holds the answer.");
    }
    let share = model
        .reading()
        .and_then(|reading| mass(reading.lookback.as_ref()?, model.chunk_count(), model.token, model.chunk));
    if let (Some(share), Some(token)) = (share, model.token_text(model.token)) {
        text.push_str(&format!(" {} looked {} at it", quoted(token, 12), percent(share)));
        if same.count() > 0 {
            let places = counted(same.count(), "place", "places");
            text.push_str(&format!("; its word stands in it at {places}, underlined"));
        }
        text.push('.');
    }
    text
}
