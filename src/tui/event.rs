//! What reaches the inspector, and which action it means.

use std::path::PathBuf;

use ratatui::crossterm::event::{
    self as terminal, KeyEvent, KeyEventKind, MouseButton, MouseEvent, MouseEventKind,
};

use super::action::{self, Action, Context};
use super::hit::HitMap;
use super::model::{Model, PresetAnswer, PresetRequest};
use super::update::ExportFailure;
use crate::evidence::SavedAnnotations;
use crate::inspect::Message;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize(u16, u16),
    /// The program was stopped and goes on: the screen is not what it was.
    Resumed,
    Message(Box<Message>),
    /// The inspection ended its side; with what a panic there said.
    MessagesEnded(Option<String>),
    Exported(Result<PathBuf, ExportFailure>),
    /// What the store of presets answered, and to what.
    Presets(PresetRequest, PresetAnswer),
    /// The marks are written, or why not.
    MarksSaved(Box<Result<SavedAnnotations, String>>),
    /// The terminal can no longer be read.
    InputEnded(String),
}

impl Event {
    /// From the terminal; `None` for what the inspector does not use (focus, key releases, motion).
    pub fn of_terminal(event: terminal::Event) -> Option<Self> {
        match event {
            terminal::Event::Key(key) if key.kind == KeyEventKind::Release => None,
            terminal::Event::Key(key) => Some(Self::Key(key)),
            terminal::Event::Mouse(mouse) if mouse.kind == MouseEventKind::Moved => None,
            terminal::Event::Mouse(mouse) => Some(Self::Mouse(mouse)),
            terminal::Event::Paste(text) => Some(Self::Paste(text)),
            terminal::Event::Resize(width, height) => Some(Self::Resize(width, height)),
            terminal::Event::FocusGained | terminal::Event::FocusLost => None,
        }
    }

    fn is_drag(&self) -> bool {
        matches!(self, Self::Mouse(MouseEvent { kind: MouseEventKind::Drag(_), .. }))
    }
}

/// Of drags and resizes that follow each other only the last one counts.
pub fn coalesce(events: &mut Vec<Event>) {
    let mut at = 0;
    while at + 1 < events.len() {
        let (one, next) = (&events[at], &events[at + 1]);
        let both_drag = one.is_drag() && next.is_drag();
        let both_resize = matches!((one, next), (Event::Resize(..), Event::Resize(..)));
        let both_progress = matches!((one, next), (Event::Message(one), Event::Message(next))
            if matches!((&**one, &**next), (Message::Progress { .. }, Message::Progress { .. })));
        if both_drag || both_resize || both_progress {
            events.remove(at);
        } else {
            at += 1;
        }
    }
}

/// The actions an event means, given what is on the screen.
pub fn actions(event: Event, model: &Model, hits: &HitMap) -> Vec<Action> {
    let context = action::context(model);
    match event {
        Event::Key(key) => action::action_for(&model.keys, context, key).into_iter().collect(),
        Event::Mouse(mouse) => pointer(mouse, hits).into_iter().collect(),
        Event::Paste(text) if context == Context::Dialog => {
            vec![Action::Dialog(action::DialogKey::Text(text))]
        }
        Event::Paste(text) if context == Context::Prompt => {
            text.chars().filter(|c| !c.is_control()).map(Action::Type).collect()
        }
        Event::Paste(_) => Vec::new(),
        Event::Resize(..) | Event::Resumed => vec![Action::Redraw],
        Event::Message(message) => vec![Action::Message(*message)],
        Event::MessagesEnded(panic) => vec![Action::MessagesEnded(panic)],
        Event::Exported(result) => vec![Action::Exported(result)],
        Event::Presets(request, answer) => vec![Action::Presets(request, answer)],
        Event::MarksSaved(result) => vec![Action::MarksSaved(result)],
        Event::InputEnded(_) => vec![Action::Do(action::Command::Quit)],
    }
}

fn pointer(mouse: MouseEvent, hits: &HitMap) -> Option<Action> {
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            let (area, target) = hits.at(mouse.column, mouse.row)?;
            Some(Action::Press { target, column: mouse.column, track: (area.x, area.width) })
        }
        MouseEventKind::Drag(MouseButton::Left) => {
            let over = hits.at(mouse.column, mouse.row).map(|(_, target)| target);
            Some(Action::Drag { column: mouse.column, over })
        }
        MouseEventKind::Up(MouseButton::Left) => Some(Action::Release),
        MouseEventKind::ScrollDown => {
            Some(Action::Wheel { pane: hits.pane_at(mouse.column, mouse.row), lines: 3 })
        }
        MouseEventKind::ScrollUp => {
            Some(Action::Wheel { pane: hits.pane_at(mouse.column, mouse.row), lines: -3 })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::KeyModifiers;

    use super::*;

    fn mouse(kind: MouseEventKind, column: u16) -> Event {
        Event::Mouse(MouseEvent { kind, column, row: 0, modifiers: KeyModifiers::NONE })
    }

    #[test]
    fn a_row_of_drags_is_its_last_one_and_other_events_keep_their_order() {
        let drag = MouseEventKind::Drag(MouseButton::Left);
        let up = MouseEventKind::Up(MouseButton::Left);
        let mut events = vec![
            mouse(drag, 1),
            mouse(drag, 2),
            mouse(drag, 3),
            mouse(up, 3),
            Event::Resize(80, 24),
            Event::Resize(90, 24),
            mouse(drag, 4),
        ];
        coalesce(&mut events);
        assert_eq!(events, [mouse(drag, 3), mouse(up, 3), Event::Resize(90, 24), mouse(drag, 4)]);
    }

    #[test]
    fn motion_and_key_releases_are_no_events() {
        let moved =
            MouseEvent { kind: MouseEventKind::Moved, column: 1, row: 1, modifiers: KeyModifiers::NONE };
        assert_eq!(Event::of_terminal(terminal::Event::Mouse(moved)), None);
        let mut key = KeyEvent::new(terminal::KeyCode::Char('j'), KeyModifiers::NONE);
        assert!(Event::of_terminal(terminal::Event::Key(key)).is_some());
        key.kind = KeyEventKind::Release;
        assert_eq!(Event::of_terminal(terminal::Event::Key(key)), None);
    }
}
