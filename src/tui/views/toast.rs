//! A message over the last lines: as many as it needs, so that its next step is never cut.

use ratatui::layout::Rect;

use crate::tui::action::{Command, Context};
use crate::tui::model::{Model, Toast, Tone};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, width, wrap};

/// Draws the message so that its last line is `line`; the lines above it are taken from what is there.
pub fn draw(canvas: &mut Canvas<'_>, line: Rect, model: &Model, toast: &Toast) {
    let (role, note) = match toast.tone {
        Tone::Information => (Role::Toast, String::new()),
        Tone::Error => {
            (Role::Error, format!("{} closes", model.keys.label_in(Context::Anywhere, Command::Back)))
        }
    };
    let (style, muted) = (canvas.style(role), canvas.style(Role::Muted));
    let room = line.width.saturating_sub(4);
    // The note follows the last word, as if it were a part of the text.
    let glued = note.replace(' ', "\u{a0}");
    let text = crate::text::visible_line(&toast.text).into_owned();
    let full = if note.is_empty() { text } else { format!("{text}  {glued}") };
    let wrapped = wrap(&full, room, &[]);
    let above = line.y.saturating_sub(canvas.buffer.area.y);
    let lines = (wrapped.lines.len() as u16).min(above / 2 + 1).max(1);
    let area = Rect { y: line.y - (lines - 1), height: lines, ..line };
    canvas.clear(area);
    for (row, content) in wrapped.lines.iter().take(usize::from(lines)).enumerate() {
        let row = row as u16;
        let is_last = row + 1 == lines;
        let mut shown = wrapped.shown(content).trim_end().to_owned();
        let has_note = is_last && !glued.is_empty() && shown.ends_with(&glued);
        if has_note {
            shown.truncate(shown.len() - glued.len());
            shown.truncate(shown.trim_end().len());
        } else if is_last && usize::from(lines) < wrapped.lines.len() {
            shown.push('…');
        }
        let end = if shown.is_empty() { 1 } else { canvas.write(area, 1, row, &format!(" {shown} "), style) };
        if lines > 1 && !is_last {
            // A block, not a ragged edge.
            let rest = Rect {
                x: area.x + end,
                y: area.y + row,
                height: 1,
                width: (line.width - 1).saturating_sub(end),
            };
            canvas.tint(rest, style);
        }
        if has_note {
            canvas.write(area, end + 1, row, &note, muted);
        }
    }
    debug_assert!(width(&note) < 40);
}
