//! The prompt for a question of one's own.

use ratatui::layout::Rect;

use super::{choices, frame, text_field};
use crate::tui::model::{AskDialog, DialogItem, Model};
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, dialog: &AskDialog) {
    let inside = frame(canvas, area, (78, 13), "Ask the documents", "Enter asks, Tab passages, Esc closes");
    let mut row = u16::from(inside.height >= 9);
    let rest = |row: u16, keep: u16| Rect {
        y: inside.y + row.min(inside.height),
        height: inside.height.saturating_sub(row + keep),
        ..inside
    };
    let field = Rect { height: rest(row, 3).height.min(4), ..rest(row, 3) };
    row += text_field(canvas, field, &dialog.question, true).max(1);
    row += u16::from(inside.height > row + 5);
    let options = [
        ("from all passages".to_owned(), !dialog.trusted_only, DialogItem::TrustedOnly(false)),
        (
            format!("trusted only, at alpha {:.3}", model.thresholds.alpha.value()),
            dialog.trusted_only,
            DialogItem::TrustedOnly(true),
        ),
    ];
    row += choices(canvas, rest(row, 0), &options, false, true);
    row += u16::from(inside.height > row + 3);
    let (text, role) = words(model, dialog);
    let style = canvas.style(role);
    canvas.write_wrapped(rest(row, 0), &text, style);
}

fn words(model: &Model, dialog: &AskDialog) -> (String, Role) {
    if let Some(refusal) = &dialog.refusal {
        return (refusal.clone(), Role::Warning);
    }
    let mut text = String::new();
    if model.run.is_running() {
        text.push_str("The run goes on: the model finishes the answer that it reads, then yours comes. ");
    }
    text.push_str(
        "Passages are retrieved and certified, the model here writes an answer, and the answer is read and \
         scored like every other.",
    );
    if !model.last_question.is_empty() {
        text.push_str(" ↑ brings the last question back.");
    }
    (text, Role::Muted)
}
