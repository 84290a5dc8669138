//! The palette: any action by its name, with its key, and the reason where it does nothing now.

use ratatui::layout::Rect;
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::action::{Context, Offer, context_title, offers};
use crate::tui::hit::Target;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, width};

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, query: &str, selected: usize) {
    canvas.clear(area);
    let focus = canvas.style(Role::Focus);
    let offers = offers(model, query);
    let read_out = match offers.len() {
        1 => "1 action".to_owned(),
        count => format!("{count} actions"),
    };
    let inside = canvas.frame(area, &[("Actions", focus)], &read_out, true);
    canvas.hits.add(area, Target::Overlay);
    let muted = canvas.style(Role::Muted);
    if inside.height < 2 {
        return;
    }
    let (key, strong, cursor) =
        (canvas.style(Role::Key), canvas.style(Role::Strong), canvas.style(Role::Cursor));
    let end = canvas.write_all(inside, 1, 0, &[(":", key), (query, strong), (" ", cursor)]);
    if query.is_empty() {
        canvas.write(inside, end + 1, 0, "type a part of what it does", muted);
    }
    let list = Rect { y: inside.y + 1, height: inside.height - 1, ..inside };
    if offers.is_empty() {
        canvas.write(list, 1, 0, "No action matches.", muted);
        return;
    }
    let selected = selected.min(offers.len() - 1);
    let height = usize::from(list.height);
    // The list follows its cursor.
    let first = (selected + 1).saturating_sub(height);
    for (row, (at, offer)) in offers.iter().enumerate().skip(first).take(height).enumerate() {
        let line = Rect { y: list.y + row as u16, height: 1, ..list };
        draw_offer(canvas, line, model, offer, at == selected);
        canvas.hits.add(line, Target::OverlayLine(at));
    }
}

fn draw_offer(canvas: &mut Canvas<'_>, line: Rect, model: &Model, offer: &Offer, selected: bool) {
    let entry = offer.entry;
    let available = offer.unavailable.is_none();
    let base = canvas.style(match (selected, available) {
        (true, _) => Role::Selected,
        (false, true) => Role::Text,
        (false, false) => Role::Dropped,
    });
    let aside = if selected { base } else { canvas.style(Role::Muted) };
    if selected {
        canvas.tint(line, base);
        canvas.glyph(line, 0, 0, '▌', canvas.style(Role::Focus));
    }
    let keys: Vec<String> = model.keys.keys(entry).iter().take(2).map(|key| key.label()).collect();
    let keys = keys.join(" ");
    let key_style = if selected || !available { base } else { canvas.style(Role::Key) };
    let right = Rect { width: line.width.saturating_sub(1), ..line };
    let key_start = canvas.write_right(right, 0, &keys, key_style);
    let room = Rect { width: key_start.saturating_sub(1), ..line };
    let matched = base.patch(canvas.style(Role::Strong)).add_modifier(ratatui::style::Modifier::UNDERLINED);
    let mut column = 2;
    if let Context::Pane(pane) = entry.context
        && pane != model.focus
    {
        column = canvas.write_all(room, column, 0, &[(context_title(entry.context), aside), (": ", aside)]);
    }
    // Help is plain text of the table: a grapheme is a character there, and if not, only the mark is off.
    for (at, grapheme) in entry.help.graphemes(true).enumerate() {
        if column + width(grapheme) > room.width {
            break;
        }
        let style = if offer.matched.contains(&at) { matched } else { base };
        column = canvas.write(room, column, 0, grapheme, style);
    }
    if let Some(reason) = &offer.unavailable {
        let style = if selected { base } else { canvas.style(Role::Warning) };
        canvas.write_all(room, column, 0, &[("  ", base), (reason, style)]);
    } else if column + 4 + entry.name.len() as u16 <= room.width {
        let names = Rect { width: room.width.saturating_sub(1), ..room };
        canvas.write_right(names, 0, entry.name, aside);
    }
}
