//! The list of marks, and how the flags agree with them.

use ratatui::layout::Rect;

use super::frame;
use crate::certify::guarantee::MARKS_ONLY;
use crate::evidence::{AnnotationAgreement, MarkKind};
use crate::tui::hit::Target;
use crate::tui::model::{DialogItem, MarkEntry, MarksDialog, Model};
use crate::tui::theme::Role;
use crate::tui::views::words::counted;
use crate::tui::widgets::Canvas;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, dialog: &MarksDialog) {
    let height = (dialog.entries.len() + 9).clamp(8, 30) as u16;
    let inside =
        frame(canvas, area, (84, height), "Marks", "Enter goes there, x removes, u undoes, Esc closes");
    let muted = canvas.style(Role::Muted);
    let text = canvas.style(Role::Text);
    if dialog.entries.is_empty() {
        let words = "Nothing is marked yet. In the answer: - marks the flagged span under the cursor as wrong, + \
                     marks the word under the cursor as missed, V selects tokens for either, c says that all of \
                     the answer is checked.";
        canvas.write_wrapped(inside, words, muted);
        return;
    }
    let head = canvas.write_wrapped(
        Rect { height: inside.height.min(4), ..inside },
        &agreement_words(&dialog.agreement),
        text,
    );
    let foot = u16::from(inside.height > head + 4);
    let list =
        Rect { y: inside.y + head + foot, height: inside.height.saturating_sub(head + 2 * foot), ..inside };
    let height = usize::from(list.height);
    let count = dialog.entries.len();
    let first = dialog.at.saturating_sub(height / 2).min(count.saturating_sub(height));
    for (row, (line, entry)) in dialog.entries.iter().enumerate().skip(first).take(height).enumerate() {
        let place = Rect { y: list.y + row as u16, height: 1, ..list };
        canvas.hits.add(place, Target::Dialog(DialogItem::Line(line)));
        draw_entry(canvas, place, entry, line == dialog.at);
    }
    if foot > 0 {
        let place = Rect { y: inside.bottom() - 1, height: 1, ..inside };
        canvas.write(place, 0, 0, &format!("kept in {}", model.annotating.place), muted);
    }
}

fn draw_entry(canvas: &mut Canvas<'_>, area: Rect, entry: &MarkEntry, selected: bool) {
    let (glyph, kind, role) = match &entry.mark {
        Some((MarkKind::FalseAlarm, ..)) => ("-", "false alarm", Role::Trusted),
        Some((MarkKind::Missed, ..)) => ("+", "missed", Role::Error),
        None => ("✓", "checked", Role::Muted),
    };
    if selected {
        let style = canvas.style(Role::Selected);
        canvas.tint(area, style);
    }
    let plain = canvas.style(if selected {
        Role::Selected
    } else if entry.index.is_some() {
        Role::Text
    } else {
        Role::Muted
    });
    let style = canvas.style(role);
    let end = canvas.write(area, 1, 0, glyph, style);
    let end = canvas.write(area, end + 1, 0, &format!("{kind:<12}"), plain);
    let id = Rect { width: (end + 22).min(area.width), ..area };
    canvas.write(id, end, 0, &entry.id, plain);
    let what = match (&entry.mark, entry.index) {
        (_, None) => "its answer is not here: changed, or of other data".to_owned(),
        (Some((_, _, text)), _) => crate::tui::views::words::quoted(text, 60),
        (None, _) => "what is not marked is right".to_owned(),
    };
    canvas.write(area, end + 23, 0, &what, plain);
}

/// Counts, and what they are no guarantee of.
fn agreement_words(agreement: &AnnotationAgreement) -> String {
    if agreement.answers == 0 {
        return "None of the marked answers is on the screen.".to_owned();
    }
    let share =
        |value: Option<f64>| value.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.2}"));
    format!(
        "{}: {} agreed, {} false alarms, {} missed. {MARKS_ONLY}: precision {}, recall {}.",
        counted(agreement.answers, "marked answer", "marked answers"),
        counted(agreement.agreed, "token", "tokens"),
        agreement.false_alarms,
        agreement.missed,
        share(agreement.precision()),
        share(agreement.recall()),
    )
}
