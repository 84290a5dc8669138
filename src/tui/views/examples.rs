//! The list of examples, and the one line that stands for it on small screens.

use std::fmt::Write as _;

use ratatui::layout::Rect;

use super::words::counted;
use super::{pane_frame, sentence};
use crate::evidence::Status;
use crate::tui::action::Command;
use crate::tui::hit::Target;
use crate::tui::model::{AskState, Model, Pane, Row, Show, Sort, Tally};
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

/// Glyph and role of how far an example got and what was decided.
fn status(row: &Row, tally: Option<Tally>) -> (&'static str, Role) {
    match row.asked.as_ref().map(|asked| &asked.state) {
        Some(AskState::Waiting) => return ("·", Role::Warning),
        Some(AskState::Working(_)) => return ("…", Role::Warning),
        _ => {}
    }
    let Some(evidence) = &row.evidence else { return ("·", Role::Muted) };
    match evidence.status {
        Status::Error => ("×", Role::Error),
        _ if tally.is_some_and(|tally| tally.flagged > 0) => ("!", Role::Error),
        Status::Partial => ("~", Role::Warning),
        Status::Ok if evidence.reading.is_none() => ("○", Role::Muted),
        Status::Ok => ("✓", Role::Trusted),
    }
}

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let shown = model.rows.shown();
    let at = model.rows.place(model.selected).unwrap_or_else(|at| at);
    let read_out = read_out(model, at);
    let inside = pane_frame(canvas, area, model, Pane::Examples, "", &read_out);
    let list = sentence(canvas, inside, &words(model), 4);
    canvas.hits.limits.example_page = list.height;
    if shown.is_empty() {
        let back = model.keys.label(Command::Back);
        let filtered = format!("No example is left by the filter. {back} shows all.");
        let text = if model.rows.is_empty() {
            if model.run.is_running() { "Nothing is planned yet." } else { "There are no examples." }
        } else {
            &filtered
        };
        super::absent(canvas, list, text, Role::Muted);
        return;
    }
    let height = usize::from(list.height);
    let first = at.min(shown.len() - 1).saturating_sub(height / 2).min(shown.len().saturating_sub(height));
    for (line, index) in shown.iter().skip(first).take(height).enumerate() {
        let Some(row) = model.rows.get(*index) else { continue };
        let line_area = Rect { y: list.y + line as u16, height: 1, ..list };
        canvas.hits.add(line_area, Target::Example(*index));
        let marks = (*index == model.selected, model.marked == Some(*index));
        draw_row(canvas, line_area, row, model.rows.tally(*index), marks);
    }
}

fn draw_row(
    canvas: &mut Canvas<'_>,
    area: Rect,
    row: &Row,
    tally: Option<Tally>,
    (selected, marked): (bool, bool),
) {
    let (glyph, role) = status(row, tally);
    let spans = tally.map_or(0, |tally| tally.spans);
    let count = if spans > 0 { format!("{spans:>2}") } else { "  ".into() };
    let style = canvas.style(role);
    let text = canvas.style(if row.evidence.is_some() { Role::Text } else { Role::Muted });
    if selected {
        let selected = canvas.style(Role::Selected);
        canvas.tint(area, selected);
    }
    // On the selected line the glyph keeps its own colour, the rest takes the line's.
    let text = if selected { canvas.style(Role::Selected) } else { text };
    let mark = if marked { "*" } else { " " };
    let end = canvas.write_all(area, 1, 0, &[(glyph, style), (&count, style), (mark, text)]);
    let key = canvas.style(if selected { Role::Selected } else { Role::Key });
    canvas.write_all(area, end, 0, &[(asked_mark(row), key), (&row.question, text)]);
    if selected {
        let bar = canvas.style(Role::Focus);
        canvas.glyph(area, 0, 0, '▌', bar);
    }
}

/// Place in the list, and what is left out of it.
fn read_out(model: &Model, at: usize) -> String {
    let filter = &model.filter;
    let shown = model.rows.shown().len();
    let mut parts: Vec<String> = Vec::new();
    if !filter.text.is_empty() {
        parts.push(format!("/{}", filter.text));
    }
    if let Some((_, value)) = &filter.group {
        parts.push(value.clone());
    }
    if filter.show != Show::All {
        parts.push(filter.show.name().to_owned());
    }
    if filter.sort != Sort::File {
        parts.push(filter.sort.name().to_owned());
    }
    let place = (at + 1).min(shown);
    parts.push(format!("{place}/{shown}"));
    parts.join(" · ")
}

/// What stands before a question that was asked here.
fn asked_mark(row: &Row) -> &'static str {
    match &row.asked {
        None => "",
        Some(asked) if asked.trusted_only => "»✓ ",
        Some(_) => "» ",
    }
}

/// What the list says.
fn words(model: &Model) -> String {
    let total = model.rows.total();
    if total.read == 0 {
        return String::new();
    }
    let mut text = format!(
        "{} of {} flagged at {:.2}: {}.",
        total.flagged,
        counted(total.read, "read answer", "read answers"),
        model.thresholds.token,
        counted(total.spans, "span", "spans"),
    );
    let failed = model.rows.errors();
    if failed > 0 {
        let _ = write!(text, " {} could not be read.", counted(failed, "record", "records"));
    }
    text
}

/// One line instead of the list.
pub fn draw_strip(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let Some(row) = model.row() else { return };
    let tally = model.rows.tally(model.selected);
    let (glyph, role) = status(row, tally);
    let shown = model.rows.shown();
    let at = model.rows.place(model.selected).unwrap_or_else(|at| at);
    let place = format!("{}/{} ", (at + 1).min(shown.len()), shown.len());
    let (strong, muted, style) = (canvas.style(Role::Strong), canvas.style(Role::Muted), canvas.style(role));
    let spans =
        tally.filter(|tally| tally.spans > 0).map(|tally| format!("{} ", tally.spans)).unwrap_or_default();
    let pieces = [
        (place.as_str(), muted),
        (glyph, style),
        (" ", style),
        (spans.as_str(), style),
        (row.id.as_str(), muted),
        ("  ", muted),
        (asked_mark(row), muted),
        (row.question.as_str(), strong),
    ];
    canvas.write_all(area, 1, 0, &pieces);
    canvas.hits.add(area, Target::Pane(Pane::Examples));
}
