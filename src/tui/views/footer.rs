//! The last line: the prompt that is open, else the keys that matter here.

use ratatui::layout::Rect;

use crate::tui::action::{self, Command, availability};
use crate::tui::model::{Model, Overlay};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, width};

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let (key, muted, cursor) =
        (canvas.style(Role::Key), canvas.style(Role::Muted), canvas.style(Role::Cursor));
    if let Some((label, text, note)) = prompt(model) {
        let strong = canvas.style(Role::Strong);
        let end = canvas.write_all(area, 1, 0, &[(label.as_str(), key), (text, strong), (" ", cursor)]);
        canvas.write(area, end + 2, 0, &note, muted);
        return;
    }
    let context = action::context(model);
    let (help, close) = (model.keys.label(Command::Help), model.keys.label(Command::Close));
    let open = model.overlay.is_some() || model.pages.open.is_some();
    let closes = if open { " close" } else { " quit" };
    let always = width(&help) + width(&close) + 8 + closes.len() as u16;
    let room = Rect { width: area.width.saturating_sub(always + 2), ..area };
    let dropped = canvas.style(Role::Dropped);
    let mut column = 1;
    for entry in action::hints(context) {
        if matches!(entry.command, Command::Help | Command::Close) {
            continue;
        }
        let (Some(hint), Some(first)) = (entry.hint, model.keys.keys(entry).first()) else { continue };
        let label = first.label();
        if column + width(&label) + width(hint) + 4 > room.width {
            break;
        }
        // What does nothing now stays where the hand knows it, but dim.
        let (key, muted) = match availability(entry.command, entry.context, model) {
            Ok(()) => (key, muted),
            Err(_) => (dropped, dropped),
        };
        column =
            canvas.write_all(room, column, 0, &[(&label, key), (" ", muted), (hint, muted), ("   ", muted)]);
    }
    let pieces = [(help.as_str(), key), (" help   ", muted), (&close, key), (closes, muted)];
    canvas.write_all(area, area.width.saturating_sub(always + 1), 0, &pieces);
}

/// Label, text and note of the open prompt.
fn prompt(model: &Model) -> Option<(String, &str, String)> {
    let in_prompt = |command| model.keys.label_in(action::Context::Prompt, command);
    let (accept, leave) = (in_prompt(Command::Accept), in_prompt(Command::Back));
    match &model.overlay {
        Some(Overlay::Help { query, typing: true, .. }) => {
            return Some(("search help: ".into(), query, format!("{accept} keeps, {leave} clears")));
        }
        Some(Overlay::Palette { query, selected }) => {
            let offers = action::offers(model, query);
            let note = match offers.get(*selected).map(|offer| &offer.unavailable) {
                None => format!("{leave} closes"),
                Some(Some(reason)) => format!("not now: {reason}"),
                Some(None) => format!("{accept} does it, {leave} closes"),
            };
            return Some((":".into(), query, note));
        }
        Some(Overlay::Presets(list)) => {
            let name = list.naming.as_ref().filter(|_| list.question.is_none())?;
            return Some(("save as: ".into(), name, format!("{accept} saves, {leave} leaves it")));
        }
        _ => {}
    }
    if model.filter.typing {
        let (shown, all) = (model.rows.shown().len(), model.rows.len());
        let note = format!("{shown} of {all} · {accept} keeps, {leave} goes back");
        return Some(("filter: ".into(), &model.filter.text, note));
    }
    let typed = model.typed.as_ref()?;
    let (low, high) = model.slider.range();
    let note = format!("{low} to {high} · {accept} sets, {leave} leaves it");
    Some((format!("{} = ", model.slider.label()), typed, note))
}
