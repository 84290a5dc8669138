//! The last line: the prompt that is open, else a message, else the keys that matter here.

use ratatui::layout::Rect;

use crate::tui::action::{self, Command};
use crate::tui::model::{Model, Overlay, Tone};
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let (key, muted, cursor) =
        (canvas.style(Role::Key), canvas.style(Role::Muted), canvas.style(Role::Cursor));
    if let Some((label, text, note)) = prompt(model) {
        let strong = canvas.style(Role::Strong);
        let end = canvas.write_all(area, 1, 0, &[(label.as_str(), key), (text, strong), (" ", cursor)]);
        canvas.write(area, end + 2, 0, &note, muted);
        return;
    }
    if let Some(toast) = &model.toast {
        let (role, note) = match toast.tone {
            Tone::Information => (Role::Toast, ""),
            Tone::Error => (Role::Error, "  Esc closes"),
        };
        let style = canvas.style(role);
        let text = Rect { width: area.width.saturating_sub(note.len() as u16 + 1), ..area };
        let end = canvas.write(text, 1, 0, &format!(" {} ", toast.text), style);
        canvas.write(area, end, 0, note, muted);
        return;
    }
    let context = action::context(model);
    let mut column = 1;
    let help = "? help   q quit";
    let room = Rect { width: area.width.saturating_sub(help.len() as u16 + 2), ..area };
    for entry in action::hints(context) {
        if matches!(entry.command, Command::Help | Command::Close) {
            continue;
        }
        let (Some(hint), Some(first)) = (entry.hint, entry.keys.first()) else { continue };
        let label = first.label();
        let needed = label.chars().count() + hint.chars().count() + 4;
        if usize::from(column) + needed > usize::from(room.width) {
            break;
        }
        column =
            canvas.write_all(room, column, 0, &[(&label, key), (" ", muted), (hint, muted), ("   ", muted)]);
    }
    let open = model.overlay.is_some() || model.pages.open.is_some();
    let close = if open { " close" } else { " quit" };
    let pieces = [("?", key), (" help   ", muted), ("q", key), (close, muted)];
    let start = area.width.saturating_sub(help.len() as u16 + 2);
    canvas.write_all(area, start, 0, &pieces);
}

/// Label, text and note of the open prompt.
fn prompt(model: &Model) -> Option<(String, &str, String)> {
    if let Some(Overlay::Help { query, typing: true, .. }) = &model.overlay {
        return Some(("search help: ".into(), query, "Enter keeps, Esc clears".into()));
    }
    if model.filter.typing {
        let note =
            format!("{} of {} · Enter keeps, Esc goes back", model.rows.shown().len(), model.rows.len());
        return Some(("filter: ".into(), &model.filter.text, note));
    }
    let typed = model.typed.as_ref()?;
    let (low, high) = model.slider.range();
    let note = format!("{low} to {high} · Enter sets, Esc leaves it");
    Some((format!("{} = ", model.slider.label()), typed, note))
}
