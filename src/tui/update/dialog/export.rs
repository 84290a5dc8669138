//! The export dialog: what, in which form, under which name.

use std::sync::Arc;

use super::edit;
use crate::evidence::Evidence;
use crate::tui::action::{DialogKey, ExportKind};
use crate::tui::model::{
    Dialog, DialogItem, ExportDialog, ExportField, ExportScope, ExportStage, LineInput, Model,
};
use crate::tui::update::{Effect, Existing, ExportFailure, ExportOrder, fail, say};

/// Opens it with the choices of the last export.
pub fn open(model: &mut Model) {
    if model.rows.evidence().is_empty() {
        say(model, "there is nothing to export yet");
        return;
    }
    let (scope, form) = model.last_export;
    let id = model.row().map_or("", |row| row.id.as_str());
    model.dialog = Some(Dialog::Export(ExportDialog::new(scope, form, id)));
}

/// Writes all examples under a name that is free, without asking.
pub fn at_once(model: &mut Model, kind: ExportKind) -> Vec<Effect> {
    let evidence = evidence(model, ExportScope::All);
    if evidence.is_empty() {
        say(model, "there is nothing to export yet");
        return Vec::new();
    }
    say(model, "exporting …");
    vec![Effect::Export(ExportOrder {
        kind,
        evidence,
        thresholds: model.thresholds.clone(),
        name: None,
        existing: Existing::Ask,
        picture: None,
    })]
}

/// Evidence of a scope, in the order of the list.
fn evidence(model: &Model, scope: ExportScope) -> Vec<Arc<Evidence>> {
    let of = |index: usize| model.rows.get(index).and_then(|row| row.evidence.clone());
    match scope {
        ExportScope::Example => of(model.selected).into_iter().collect(),
        ExportScope::Shown => model.rows.shown().iter().filter_map(|index| of(*index)).collect(),
        ExportScope::All => model.rows.evidence(),
    }
}

pub fn key(model: &mut Model, key: &DialogKey) -> Vec<Effect> {
    let Some(Dialog::Export(dialog)) = &mut model.dialog else { return Vec::new() };
    match (&dialog.stage, key) {
        (ExportStage::Writing | ExportStage::Choosing, DialogKey::Leave) => model.dialog = None,
        (ExportStage::Writing, _) => {}
        (ExportStage::Exists(_), key) => return existing(model, key),
        (_, DialogKey::Accept) => return write(model, Existing::Ask),
        (ExportStage::Refused(_), DialogKey::Leave) => dialog.stage = ExportStage::Choosing,
        (_, DialogKey::NextField | DialogKey::Down) => dialog.field = dialog.field.moved(1),
        (_, DialogKey::PreviousField | DialogKey::Up) => dialog.field = dialog.field.moved(2),
        (_, key) => field_key(dialog, key),
    }
    Vec::new()
}

/// The answer to "it is there already".
fn existing(model: &mut Model, key: &DialogKey) -> Vec<Effect> {
    match key {
        DialogKey::Text(text) if matches!(text.as_str(), "y" | "Y") => write(model, Existing::Replace),
        DialogKey::Text(text) if matches!(text.as_str(), "b" | "B") => write(model, Existing::Beside),
        DialogKey::Text(text) if !matches!(text.as_str(), "n" | "N") => Vec::new(),
        // Enter is pressed without reading: it replaces nothing.
        DialogKey::Text(_) | DialogKey::Leave => {
            if let Some(Dialog::Export(dialog)) = &mut model.dialog {
                dialog.stage = ExportStage::Choosing;
                dialog.field = ExportField::Name;
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn field_key(dialog: &mut ExportDialog, key: &DialogKey) {
    dialog.stage = ExportStage::Choosing;
    if dialog.field == ExportField::Name {
        let before = dialog.name.text().to_owned();
        edit(&mut dialog.name, key);
        dialog.named |= dialog.name.text() != before;
        return;
    }
    let step = match key {
        DialogKey::Left => false,
        DialogKey::Right => true,
        DialogKey::Text(text) => match text.as_str() {
            "h" => false,
            "l" | " " => true,
            _ => return,
        },
        _ => return,
    };
    match dialog.field {
        ExportField::Scope if dialog.has_scope() => {
            dialog.choose_scope(stepped(&ExportScope::ALL, dialog.scope, step));
        }
        ExportField::Form => dialog.choose_form(stepped(&ExportKind::ALL, dialog.form, step)),
        _ => {}
    }
}

/// The next choice (the one before), round the end.
fn stepped<T: Copy + PartialEq>(all: &[T], now: T, forwards: bool) -> T {
    let at = all.iter().position(|one| *one == now).unwrap_or(0);
    all[(at + if forwards { 1 } else { all.len() - 1 }) % all.len()]
}

pub fn press(dialog: &mut ExportDialog, item: DialogItem) {
    if !matches!(dialog.stage, ExportStage::Choosing | ExportStage::Refused(_)) {
        return;
    }
    dialog.stage = ExportStage::Choosing;
    match item {
        DialogItem::Scope(scope) if dialog.has_scope() => {
            dialog.field = ExportField::Scope;
            dialog.choose_scope(scope);
        }
        DialogItem::Form(form) => {
            dialog.field = ExportField::Form;
            dialog.choose_form(form);
        }
        DialogItem::Text => dialog.field = ExportField::Name,
        _ => {}
    }
}

fn write(model: &mut Model, existing: Existing) -> Vec<Effect> {
    let Some(Dialog::Export(dialog)) = &mut model.dialog else { return Vec::new() };
    let name = dialog.name.text().trim().to_owned();
    if name.is_empty() {
        dialog.stage = ExportStage::Refused("a file needs a name: type one".to_owned());
        dialog.field = ExportField::Name;
        return Vec::new();
    }
    dialog.name = LineInput::new(&name);
    dialog.stage = ExportStage::Writing;
    let (kind, scope) = (dialog.form, dialog.scope);
    model.last_export = (scope, kind);
    let evidence = if kind == ExportKind::Svg { Vec::new() } else { evidence(model, scope) };
    if evidence.is_empty()
        && kind != ExportKind::Svg
        && let Some(Dialog::Export(dialog)) = &mut model.dialog
    {
        let refusal = match scope {
            ExportScope::Example => "this example has no evidence yet: choose all, or wait until it is read",
            _ => "no example of the list has evidence yet: choose all, or clear the filter",
        };
        dialog.stage = ExportStage::Refused(refusal.to_owned());
        return Vec::new();
    }
    vec![Effect::Export(ExportOrder {
        kind,
        evidence,
        thresholds: model.thresholds.clone(),
        name: Some(name),
        existing,
        picture: None,
    })]
}

/// What came of an export.
pub fn exported(model: &mut Model, result: Result<std::path::PathBuf, ExportFailure>) {
    match (result, &mut model.dialog) {
        (Ok(path), dialog) => {
            if matches!(dialog, Some(Dialog::Export(dialog)) if dialog.stage == ExportStage::Writing) {
                *dialog = None;
            }
            say(model, format!("wrote {}", path.display()));
        }
        (Err(ExportFailure::Exists(path)), Some(Dialog::Export(dialog))) => {
            dialog.stage = ExportStage::Exists(path.display().to_string());
        }
        (Err(ExportFailure::Failed(reason)), Some(Dialog::Export(dialog))) => {
            dialog.field = ExportField::Name;
            dialog.stage = ExportStage::Refused(reason);
        }
        (Err(failure), _) => fail(model, format!("nothing was exported: {failure}")),
    }
}
