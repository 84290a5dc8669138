//! Layers by heads, coloured by look-back ratio.

use ratatui::layout::Rect;

use super::{absent, legend};
use crate::evidence::Lookback;
use crate::tui::heat_scale::Extent;
use crate::tui::hit::Target;
use crate::tui::model::{Model, Subject};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, HeatMap};

/// Columns of the layer labels.
const LABELS: u16 = 4;
/// Columns of the legend and the ranking beside the map of heads.
const SIDE: u16 = 12;

/// Columns that the grid with its legend would like to have.
pub fn width(lookback: &Lookback) -> u16 {
    let heads = u16::try_from(lookback.heads).unwrap_or(u16::MAX);
    heads.saturating_mul(2).saturating_add(LABELS + SIDE + 2).clamp(30, 86)
}

/// What the ratios are about.
pub fn subject(model: &Model) -> String {
    match model.attention.subject {
        Subject::Chunk => format!("chunk {}", model.chunk + 1),
        Subject::Context => "context".into(),
    }
}

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, lookback: &Lookback) {
    let subject = subject(model);
    let (muted, strong) = (canvas.style(Role::Muted), canvas.style(Role::Strong));
    let cursor = &model.attention;
    let ranked = cursor.ranked(lookback, model.chunk);
    let Some(extent) = Extent::of(ranked.iter().map(|(_, _, ratio)| *ratio), cursor.scale) else {
        absent(canvas, area, "No look-back ratio of this subject is in the record.", Role::Muted);
        return;
    };
    let heads = u32::try_from(lookback.heads).unwrap_or(u32::MAX);
    let cell_width = if u32::from(LABELS) + heads.saturating_mul(2) <= u32::from(area.width) { 2 } else { 1 };
    let map_width = heads.saturating_mul(u32::from(cell_width)).saturating_add(u32::from(LABELS));
    let beside = u32::from(area.width) > map_width + u32::from(SIDE);
    let map = HeatMap {
        rows: lookback.layers,
        columns: lookback.heads,
        value: &|layer, head| cursor.ratio(lookback, model.chunk, layer, head),
        extent: extent.clone(),
        cursor: Some((cursor.layer, cursor.head)),
        cell_width,
    };
    let mut below = area;
    if !beside {
        let shown = map.shown_columns(area.width.saturating_sub(LABELS));
        let all = shown.len() == lookback.heads;
        let line = Rect { height: 1.min(area.height), ..area };
        let end = canvas.write_all(line, 0, 0, &[(&subject, strong), ("  ", muted)]);
        let end = legend(canvas, line, (end, 0), &extent, if all { 8 } else { 4 });
        canvas.write_all(line, end, 0, &[(" ", muted), (cursor.scale.name(), muted)]);
        let mut used = 1;
        if !all {
            // Not all heads fit: which ones are shown, and where the others are.
            let (before, after) = (shown.start > 0, shown.end < lookback.heads);
            let text = format!(
                "{}heads {}–{} of {}{}",
                if before { "‹ " } else { "" },
                shown.start,
                shown.end.saturating_sub(1),
                lookback.heads,
                if after { " ›" } else { "" }
            );
            let line = Rect { y: area.y + 1, height: 1.min(area.height.saturating_sub(1)), ..area };
            let style = canvas.style(Role::Warning);
            canvas.write(line, LABELS, 0, &text, style);
            used = 2;
        }
        let used = used.min(area.height);
        below = Rect { y: area.y + used, height: area.height - used, ..area };
    }
    draw_map(canvas, below, model, &map);
    if beside {
        let left = map_width as u16 + 2;
        let side = Rect { x: below.x + left, width: below.width.saturating_sub(left), ..below };
        canvas.write(side, 0, 0, &subject, strong);
        legend(canvas, side, (0, 1), &extent, 4);
        canvas.write(side, 0, 2, cursor.scale.name(), muted);
        let list = Rect { y: side.y + 4, height: side.height.saturating_sub(4), ..side };
        draw_ranking(canvas, list.intersection(side), model, &ranked);
    }
}

fn draw_map(canvas: &mut Canvas<'_>, area: Rect, model: &Model, map: &HeatMap<'_>) {
    let grid = Rect { x: area.x + LABELS.min(area.width), width: area.width.saturating_sub(LABELS), ..area };
    let per_line = if canvas.theme.heat_has_colour() { 2 } else { 1 };
    let (focus, muted) = (canvas.style(Role::HeatCursor), canvas.style(Role::Muted));
    let cursor = &model.attention;
    let first = map.shown_columns(grid.width).start;
    for (layer, head, cell) in map.draw(canvas, grid) {
        if head == first {
            let row = cell.y - area.y;
            let cursor_line = layer / per_line == cursor.layer / per_line;
            let label = format!("L{layer:02}");
            if layer == cursor.layer {
                canvas.write(area, 0, row, &label, focus);
            } else if layer % 4 == 0 && !cursor_line {
                canvas.write(area, 0, row, &label, muted);
            }
        }
        // Of two layers on a line a press takes the one that has the cursor's parity.
        if per_line == 1 || layer % 2 == cursor.layer % 2 {
            canvas.hits.add(cell, Target::Head { layer, head });
        }
    }
}

/// The heads that look back most, beside the map.
fn draw_ranking(canvas: &mut Canvas<'_>, area: Rect, model: &Model, ranked: &[(usize, usize, f64)]) {
    let (muted, text, focus) =
        (canvas.style(Role::Muted), canvas.style(Role::Text), canvas.style(Role::HeatCursor));
    for (row, (layer, head, ratio)) in ranked.iter().take(usize::from(area.height).min(9)).enumerate() {
        let row = row as u16;
        let here = (*layer, *head) == (model.attention.layer, model.attention.head);
        let name = format!("L{layer:02} H{head:02} ");
        let digits = super::words::digits(*ratio);
        let pieces = [(name.as_str(), if here { focus } else { muted }), (&digits, text)];
        canvas.write_all(area, 0, row, &pieces);
        let line = Rect { y: area.y + row, height: 1, ..area };
        canvas.hits.add(line, Target::Head { layer: *layer, head: *head });
    }
}
