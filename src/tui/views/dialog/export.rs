//! The export dialog.

use ratatui::layout::Rect;

use super::{choices, frame, text_field};
use crate::tui::action::ExportKind;
use crate::tui::model::{DialogItem, ExportDialog, ExportField, ExportScope, ExportStage, Model};
use crate::tui::theme::Role;
use crate::tui::views::words::counted;
use crate::tui::widgets::Canvas;

/// Columns of the field names.
const NAMES: u16 = 7;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, dialog: &ExportDialog) {
    let keys = match dialog.stage {
        ExportStage::Choosing | ExportStage::Refused(_) => "Enter writes, Tab next, Esc closes",
        ExportStage::Writing => "Esc closes",
        ExportStage::Exists(_) => "y, b or n",
    };
    let inside = frame(canvas, area, (70, 12), "Export", keys);
    let mut row = u16::from(inside.height >= 9);
    let line = |row: u16, height: u16| Rect {
        x: inside.x + NAMES.min(inside.width),
        y: inside.y + row.min(inside.height),
        width: inside.width.saturating_sub(NAMES),
        height: height.min(inside.height.saturating_sub(row)),
    };
    let busy = !matches!(dialog.stage, ExportStage::Choosing | ExportStage::Refused(_));
    let has = |field: ExportField| dialog.field == field && !busy;

    name(canvas, inside, row, "what", has(ExportField::Scope));
    let scopes: Vec<(String, bool, DialogItem)> = ExportScope::ALL
        .into_iter()
        .map(|scope| (scope_words(scope, model), scope == dialog.scope, DialogItem::Scope(scope)))
        .collect();
    row += choices(canvas, line(row, 2), &scopes, has(ExportField::Scope), dialog.has_scope() && !busy);

    name(canvas, inside, row, "as", has(ExportField::Form));
    let forms: Vec<(String, bool, DialogItem)> = ExportKind::ALL
        .into_iter()
        .map(|form| (form_name(form).to_owned(), form == dialog.form, DialogItem::Form(form)))
        .collect();
    row += choices(canvas, line(row, 2), &forms, has(ExportField::Form), !busy);

    name(canvas, inside, row, "file", has(ExportField::Name));
    row += text_field(canvas, line(row, 2), &dialog.name, has(ExportField::Name));

    row += u16::from(inside.height > row + 3);
    let foot =
        Rect { y: inside.y + row.min(inside.height), height: inside.height.saturating_sub(row), ..inside };
    let (text, role) = foot_words(dialog);
    let style = canvas.style(role);
    canvas.write_wrapped(foot, &text, style);
}

fn name(canvas: &mut Canvas<'_>, inside: Rect, row: u16, name: &str, has_keys: bool) {
    let style = canvas.style(if has_keys { Role::Focus } else { Role::Muted });
    let area = Rect { width: NAMES.min(inside.width), ..inside };
    canvas.write(area, 0, row, name, style);
}

fn scope_words(scope: ExportScope, model: &Model) -> String {
    let shown = model.rows.shown().len();
    match scope {
        ExportScope::Example => "this example".to_owned(),
        ExportScope::Shown if shown == 1 => "the 1 listed".to_owned(),
        ExportScope::Shown => format!("the {shown} listed"),
        ExportScope::All => format!("all {}", counted(model.rows.len(), "example", "examples")),
    }
}

fn form_name(form: ExportKind) -> &'static str {
    match form {
        ExportKind::Html => "HTML",
        ExportKind::Markdown => "Markdown",
        ExportKind::Json => "JSON",
        ExportKind::Csv => "CSV",
        ExportKind::Svg => "SVG",
    }
}

fn foot_words(dialog: &ExportDialog) -> (String, Role) {
    match &dialog.stage {
        ExportStage::Choosing => {
            let text = match dialog.form {
                ExportKind::Html => "One web page that needs no other file: to mail, to print, to sign off.",
                ExportKind::Markdown => "For issues, notebooks and reviews.",
                ExportKind::Json => "For other programs: every score, span and certificate.",
                ExportKind::Csv => "A table, one row an example; no cell starts a formula.",
                ExportKind::Svg => "This screen as it is behind the dialog, as a picture.",
            };
            (text.to_owned(), Role::Muted)
        }
        ExportStage::Writing => ("writing …".to_owned(), Role::Text),
        ExportStage::Exists(path) => (
            format!("{path} is there already: y replaces it, b writes beside it, n goes back."),
            Role::Warning,
        ),
        ExportStage::Refused(reason) => (format!("Nothing was written: {reason}"), Role::Error),
    }
}
