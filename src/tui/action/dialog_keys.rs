//! Keys of dialogs: they take text, so a letter is a letter.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Action, Command};

/// What a key says to a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogKey {
    /// A character typed, or a text pasted.
    Text(String),
    Erase,
    Delete,
    EraseWord,
    EraseToStart,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Up,
    Down,
    PageUp,
    PageDown,
    NextField,
    PreviousField,
    Accept,
    Leave,
}

/// What a key does while a dialog is open.
pub fn dialog_action(event: KeyEvent) -> Option<Action> {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let by_word = event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    let key = match event.code {
        KeyCode::Char('c') if control => return Some(Action::Do(Command::Quit)),
        KeyCode::Char('w') if control => DialogKey::EraseWord,
        KeyCode::Char('u') if control => DialogKey::EraseToStart,
        KeyCode::Char('e') if control => DialogKey::End,
        KeyCode::Char('n') if control => DialogKey::Down,
        KeyCode::Char('p') if control => DialogKey::Up,
        KeyCode::Char(_) if by_word => return None,
        KeyCode::Char(c) => DialogKey::Text(c.to_string()),
        KeyCode::Backspace if by_word => DialogKey::EraseWord,
        KeyCode::Backspace => DialogKey::Erase,
        KeyCode::Delete => DialogKey::Delete,
        KeyCode::Left if by_word => DialogKey::WordLeft,
        KeyCode::Right if by_word => DialogKey::WordRight,
        KeyCode::Left => DialogKey::Left,
        KeyCode::Right => DialogKey::Right,
        KeyCode::Home => DialogKey::Home,
        KeyCode::End => DialogKey::End,
        KeyCode::Up => DialogKey::Up,
        KeyCode::Down => DialogKey::Down,
        KeyCode::PageUp => DialogKey::PageUp,
        KeyCode::PageDown => DialogKey::PageDown,
        KeyCode::Tab => DialogKey::NextField,
        KeyCode::BackTab => DialogKey::PreviousField,
        KeyCode::Enter => DialogKey::Accept,
        KeyCode::Esc => DialogKey::Leave,
        _ => return None,
    };
    Some(Action::Dialog(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
        dialog_action(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn letters_are_text_and_control_c_still_quits() {
        let text = |text: &str| Some(Action::Dialog(DialogKey::Text(text.into())));
        assert_eq!(press(KeyCode::Char('q'), KeyModifiers::NONE), text("q"));
        assert_eq!(press(KeyCode::Char('Q'), KeyModifiers::SHIFT), text("Q"));
        assert_eq!(press(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Action::Do(Command::Quit)));
        assert_eq!(press(KeyCode::Char('x'), KeyModifiers::CONTROL), None);
        let word = Some(Action::Dialog(DialogKey::WordLeft));
        assert_eq!(press(KeyCode::Left, KeyModifiers::ALT), word);
    }
}
