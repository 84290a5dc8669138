//! An answer on its way: what is written so far, and what is being done.

use ratatui::layout::Rect;

use super::sentence;
use crate::evidence::MarkKind;
use crate::tui::action::Command;
use crate::tui::model::{AskState, Asked, Model};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, wrap};

/// Draws the answer of the selected row where it was asked for and is not read yet; `false`: it is none.
pub fn draw(canvas: &mut Canvas<'_>, inside: Rect, model: &Model) -> bool {
    let Some(asked) = model.row().and_then(|row| row.asked.as_ref()) else { return false };
    if model.reading().is_some() || asked.state == AskState::Done {
        return false;
    }
    let body = sentence(canvas, inside, &words(model, asked), 3);
    let is_open = asked.is_open();
    let style = canvas.style(if is_open { Role::Text } else { Role::Muted });
    let cursor = canvas.style(Role::Cursor);
    let shown = format!("{} ", asked.streamed);
    let wrapped = wrap(&shown, body.width, &[]);
    // What is written now is in view: the end of the text.
    let first = wrapped.lines.len().saturating_sub(usize::from(body.height));
    let mut end = (0, 0);
    for (row, line) in wrapped.lines[first..].iter().enumerate() {
        canvas.write(body, 0, row as u16, wrapped.shown(line), style);
        end = (line.pieces.last().map_or(0, |piece| piece.column), row as u16);
    }
    if is_open && !body.is_empty() && !asked.streamed.is_empty() {
        canvas.glyph(body, end.0, end.1, ' ', cursor);
    }
    true
}

/// What a selection can become, and what is marked on the answer; blank where nothing is.
pub fn marked_words(model: &Model) -> String {
    if let Some(tokens) = model.selection() {
        let count = super::words::counted(tokens.len(), "token", "tokens");
        return format!("{count} selected: - marks a wrong flag, + something missed, Esc gives up. ");
    }
    let other = model.evidence().and_then(|evidence| {
        let answer = evidence.answer.as_deref()?;
        Some(model.annotating.marks().marks_of_other_answers(&evidence.id, answer)).filter(|count| *count > 0)
    });
    let Some(marked) = model.marked() else {
        return other.map_or_else(String::new, |count| {
            format!(
                "{} of another answer to this record: not shown. ",
                super::words::counted(count, "mark", "marks")
            )
        });
    };
    let of = |kind| marked.marks.iter().filter(|mark| mark.kind == kind).count();
    let mut parts = Vec::new();
    for kind in [MarkKind::FalseAlarm, MarkKind::Missed] {
        match of(kind) {
            0 => {}
            count => parts.push(format!("{count} {}", kind.name())),
        }
    }
    if marked.checked {
        parts.push("all of it checked".to_owned());
    }
    format!("Marked: {}. ", parts.join(", "))
}

fn words(model: &Model, asked: &Asked) -> String {
    let back = model.keys.label(Command::Back);
    match &asked.state {
        AskState::Waiting if model.run.is_running() => format!(
            "Waiting: the model finishes the answer that it reads, then this one comes. {back} takes it back."
        ),
        AskState::Waiting => format!("Waiting for the model. {back} takes it back."),
        AskState::Working(stage) if asked.cancel.is_cancelled() => format!("Stopping: {stage}."),
        AskState::Working(stage) => {
            let from = if asked.trusted_only { " (trusted passages only)" } else { "" };
            let stage = if stage.contains("trusted") { stage.clone() } else { format!("{stage}{from}") };
            format!("Now: {stage}. {back} stops it.")
        }
        AskState::Failed(reason) => format!("Not answered: {reason}."),
        AskState::Done => String::new(),
    }
}
