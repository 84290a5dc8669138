//! How the table writes its lines, their keys and contexts.

use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use crate::tui::action::{Command, Context, Entry, Key};
use crate::tui::model::Pane;

pub(super) const fn plain(c: char) -> Key {
    Key { code: KeyCode::Char(c), modifiers: KeyModifiers::NONE }
}

pub(super) const fn control(c: char) -> Key {
    Key { code: KeyCode::Char(c), modifiers: KeyModifiers::CONTROL }
}

pub(super) const fn named(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::NONE }
}

pub(super) const fn shifted(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::SHIFT }
}

pub(super) const UP: &[Key] = &[plain('k'), named(KeyCode::Up)];
pub(super) const DOWN: &[Key] = &[plain('j'), named(KeyCode::Down)];
pub(super) const LEFT: &[Key] = &[plain('h'), named(KeyCode::Left)];
pub(super) const RIGHT: &[Key] = &[plain('l'), named(KeyCode::Right)];
pub(super) const FIRST: &[Key] = &[plain('g'), named(KeyCode::Home)];
pub(super) const LAST: &[Key] = &[plain('G'), named(KeyCode::End)];
pub(super) const HALF_DOWN: &[Key] = &[control('d')];
pub(super) const HALF_UP: &[Key] = &[control('u')];
pub(super) const PAGE_DOWN: &[Key] = &[named(KeyCode::PageDown)];
pub(super) const PAGE_UP: &[Key] = &[named(KeyCode::PageUp)];

pub(super) const fn entry(
    context: Context,
    name: &'static str,
    command: Command,
    keys: &'static [Key],
    hint: Option<&'static str>,
    help: &'static str,
) -> Entry {
    Entry { name, command, keys, context, help, hint }
}

pub(super) const ANYWHERE: Context = Context::Anywhere;
pub(super) const EXAMPLES: Context = Context::Pane(Pane::Examples);
pub(super) const CHUNKS: Context = Context::Pane(Pane::Chunks);
pub(super) const ANSWER: Context = Context::Pane(Pane::Answer);
pub(super) const ATTENTION: Context = Context::Pane(Pane::Attention);
pub(super) const SLIDERS: Context = Context::Pane(Pane::Sliders);
pub(super) const OVERLAY: Context = Context::Overlay;
pub(super) const PRESETS: Context = Context::Presets;
pub(super) const QUESTION: Context = Context::Question;
pub(super) const PROMPT: Context = Context::Prompt;
