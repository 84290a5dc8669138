//! The heads as a list, from the highest look-back ratio down.

use ratatui::layout::Rect;

use super::head_grid::subject;
use super::words::digits;
use crate::evidence::Lookback;
use crate::tui::heat_scale::Extent;
use crate::tui::hit::Target;
use crate::tui::model::{Model, chunk_ratio, context_ratio};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, share_bar};

/// Columns before the bar.
const LABEL: u16 = 19;
/// Columns of the figures after it.
const FIGURES: u16 = 15;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, lookback: &Lookback) {
    if area.height < 2 {
        return;
    }
    let cursor = &model.attention;
    let ranked = cursor.ranked(lookback, model.chunk);
    let Some(extent) = Extent::of(ranked.iter().map(|(_, _, ratio)| *ratio), cursor.scale) else {
        super::absent(canvas, area, "No look-back ratio of this subject is in the record.", Role::Muted);
        return;
    };
    let (muted, strong) = (canvas.style(Role::Muted), canvas.style(Role::Strong));
    let with_figures = area.width >= LABEL + FIGURES + 8;
    let bar = area.width.saturating_sub(LABEL + if with_figures { FIGURES } else { 1 }).min(40);
    let head = Rect { height: 1, ..area };
    canvas.write_all(
        head,
        1,
        0,
        &[("rank head   ", muted), (&subject(model), strong), (", ", muted), (cursor.scale.name(), muted)],
    );
    let figures_at = LABEL + bar + 1;
    if with_figures {
        canvas.write(head, figures_at, 0, "chunk context", muted);
    }
    let list = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let here = (cursor.layer, cursor.head);
    let at = ranked.iter().position(|(layer, head, _)| (*layer, *head) == here).unwrap_or(0);
    let height = usize::from(list.height);
    let first = at.saturating_sub(height / 2).min(ranked.len().saturating_sub(height));
    for (row, (rank, (layer, head, ratio))) in ranked.iter().enumerate().skip(first).take(height).enumerate()
    {
        let line = Rect { y: list.y + row as u16, height: 1, ..list };
        canvas.hits.add(line, Target::Head { layer: *layer, head: *head });
        let selected = (*layer, *head) == here;
        if selected {
            let style = canvas.style(Role::Selected);
            canvas.tint(line, style);
        }
        let style = canvas.style(if selected { Role::Selected } else { Role::Text });
        let locked = model.locked().is_some_and(|lock| (lock.layer, lock.head) == (*layer, *head));
        let mark = if locked { '*' } else { ' ' };
        let text = format!("{:>4} L{layer:02} H{head:02}{mark} {}", rank + 1, digits(*ratio));
        canvas.write(line, 1, 0, &text, style);
        let place = Rect { x: line.x + LABEL.min(line.width), width: bar, ..line }.intersection(line);
        share_bar(canvas, place, extent.place(*ratio));
        if with_figures {
            let chunk = chunk_ratio(lookback, model.chunk, *layer, *head).map_or("  –".into(), digits);
            let context = context_ratio(lookback, *layer, *head).map_or("  –".into(), digits);
            canvas.write(line, figures_at, 0, &format!("{chunk:<5} {context}"), style);
        }
        if selected {
            let focus = canvas.style(Role::Focus);
            canvas.glyph(line, 0, 0, '▌', focus);
        }
    }
}
