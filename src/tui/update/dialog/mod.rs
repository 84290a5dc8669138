//! Keys and presses of the dialog that is open.

mod export;

use super::{Effect, annotating, asking};
use crate::tui::action::DialogKey;
use crate::tui::model::{Dialog, DialogItem, LineInput, Model};

pub use export::{at_once as export_at_once, exported, open as open_export};

/// A key for the dialog.
pub fn key(model: &mut Model, key: &DialogKey) -> Vec<Effect> {
    match &model.dialog {
        Some(Dialog::Ask(_)) => asking::key(model, key),
        Some(Dialog::Export(_)) => export::key(model, key),
        Some(Dialog::Marks(_)) => annotating::key(model, key),
        None => Vec::new(),
    }
}

/// A press of the pointer while a dialog is open; outside of it nothing happens, so that no typed text is
/// lost by a slip.
pub fn press(model: &mut Model, item: DialogItem) {
    match (&mut model.dialog, item) {
        (Some(Dialog::Ask(dialog)), item) => asking::press(dialog, item),
        (Some(Dialog::Export(dialog)), item) => export::press(dialog, item),
        (Some(Dialog::Marks(dialog)), item) => annotating::press(dialog, item),
        (None, _) => {}
    }
}

/// Edits a line of text; `false` where the key is none of an editor.
pub(super) fn edit(input: &mut LineInput, key: &DialogKey) -> bool {
    match key {
        DialogKey::Text(text) => {
            input.insert(text);
        }
        DialogKey::Erase => input.erase(),
        DialogKey::Delete => input.delete(),
        DialogKey::EraseWord => input.erase_word(),
        DialogKey::EraseToStart => input.erase_to_start(),
        DialogKey::Left => input.left(),
        DialogKey::Right => input.right(),
        DialogKey::WordLeft => input.word_left(),
        DialogKey::WordRight => input.word_right(),
        DialogKey::Home => input.home(),
        DialogKey::End => input.end(),
        _ => return false,
    }
    true
}
