//! The dialog that is open: one file per question. A dialog says by itself which keys it takes.

mod ask;
mod export;
mod marks;

use ratatui::layout::Rect;

use crate::tui::hit::Target;
use crate::tui::model::{Dialog, DialogItem, LineInput, Model};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, width, wrap};

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, dialog: &Dialog) {
    match dialog {
        Dialog::Ask(dialog) => ask::draw(canvas, area, model, dialog),
        Dialog::Export(dialog) => export::draw(canvas, area, model, dialog),
        Dialog::Marks(dialog) => marks::draw(canvas, area, model, dialog),
    }
}

/// A box in the middle of `area`, emptied and framed; returns its inside.
fn frame(canvas: &mut Canvas<'_>, area: Rect, size: (u16, u16), title: &str, keys: &str) -> Rect {
    let width = size.0.min(area.width.saturating_sub(2));
    let height = size.1.min(area.height.saturating_sub(2));
    let place =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    canvas.clear(place);
    let focus = canvas.style(Role::Focus);
    canvas.hits.add(place, Target::Dialog(DialogItem::Inside));
    let inside = canvas.frame(place, &[(title, focus)], keys, true);
    Rect { x: inside.x + 1, width: inside.width.saturating_sub(2), ..inside }
}

/// A typed text over the lines of `area`, the cursor in view; returns the lines used.
fn text_field(canvas: &mut Canvas<'_>, area: Rect, input: &LineInput, has_keys: bool) -> u16 {
    if area.is_empty() {
        return 0;
    }
    let strong = canvas.style(Role::Strong);
    let cursor_style = canvas.style(Role::Cursor);
    // A blank behind the text is where the cursor stands at its end.
    let shown = format!("{} ", input.text());
    let wrapped = wrap(&shown, area.width, &[]);
    let at = input.cursor();
    let line_of = |at: usize| {
        let holds = |line: &crate::tui::widgets::Line| line.pieces.iter().any(|piece| piece.range.end > at);
        wrapped.lines.iter().position(holds).unwrap_or(wrapped.lines.len().saturating_sub(1))
    };
    let lines = (wrapped.lines.len() as u16).min(area.height);
    let first = line_of(at).saturating_sub(usize::from(lines.saturating_sub(1)));
    let mut drawn = false;
    for (row, line) in wrapped.lines.iter().skip(first).take(usize::from(lines)).enumerate() {
        for piece in &line.pieces {
            let here = has_keys && !drawn && piece.range.end > at;
            drawn |= here;
            let style = if here { cursor_style } else { strong };
            canvas.write(area, piece.column, row as u16, &piece.text, style);
        }
    }
    canvas.hits.add(Rect { height: lines, ..area }, Target::Dialog(DialogItem::Text));
    lines
}

/// Choices of which one is taken, one after the other; goes to the next line where the room ends. Returns
/// the lines used.
fn choices(
    canvas: &mut Canvas<'_>,
    area: Rect,
    options: &[(String, bool, DialogItem)],
    has_keys: bool,
    can_choose: bool,
) -> u16 {
    let (text, muted) = (canvas.style(Role::Text), canvas.style(Role::Muted));
    let chosen = canvas.style(if has_keys { Role::Selected } else { Role::Strong });
    let (mut column, mut row) = (0, 0);
    for (label, taken, item) in options {
        let label = format!("{} {label}", if *taken { '●' } else { '○' });
        let needed = width(&crate::text::visible_line(&label)) + 2;
        if column > 0 && column + needed > area.width + 2 {
            (column, row) = (0, row + 1);
        }
        if row >= area.height {
            break;
        }
        let style = match (can_choose, *taken) {
            (false, _) => muted,
            (true, true) => chosen,
            (true, false) => text,
        };
        let end = canvas.write(area, column, row, &label, style);
        let place = Rect { x: area.x + column, y: area.y + row, width: end - column, height: 1 };
        canvas.hits.add(place, Target::Dialog(*item));
        column = end + 2;
    }
    row + 1
}
