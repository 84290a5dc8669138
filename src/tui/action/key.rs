//! A key with its modifiers: how a terminal reports it, how a file names it, how the screen shows it.

use std::str::FromStr;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: KeyCode,
    pub modifiers: KeyModifiers,
}

/// Why a text names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("{0:?} is no key: expected a character (`j`, `]`), a name ({names}), or one of them after Ctrl-, Alt- or Shift-", names = NAMES.map(|(name, _)| name).join(", "))]
    Unknown(String),
    #[error("a terminal does not tell {0:?} from the same key without Shift: expected Ctrl-x or a capital")]
    NotTold(String),
}

/// Keys with a name.
const NAMES: [(&str, KeyCode); 16] = [
    ("Space", KeyCode::Char(' ')),
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Backspace", KeyCode::Backspace),
    ("Delete", KeyCode::Delete),
    ("Insert", KeyCode::Insert),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("PageUp", KeyCode::PageUp),
    ("PageDown", KeyCode::PageDown),
    ("F1..F12", KeyCode::Null),
];

/// Other spellings that are taken.
const SPELLINGS: [(&str, KeyCode); 10] = [
    ("Escape", KeyCode::Esc),
    ("Return", KeyCode::Enter),
    ("PgUp", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("Del", KeyCode::Delete),
    ("Ins", KeyCode::Insert),
    ("↑", KeyCode::Up),
    ("↓", KeyCode::Down),
    ("←", KeyCode::Left),
    ("→", KeyCode::Right),
];

impl Key {
    /// How the screen writes it.
    pub fn label(self) -> String {
        let name = match self.code {
            KeyCode::Up => Some("↑"),
            KeyCode::Down => Some("↓"),
            KeyCode::Left => Some("←"),
            KeyCode::Right => Some("→"),
            KeyCode::PageUp => Some("PgUp"),
            KeyCode::PageDown => Some("PgDn"),
            KeyCode::Delete => Some("Del"),
            KeyCode::Insert => Some("Ins"),
            _ => None,
        };
        self.written(name)
    }

    /// How a key map file and the printed lists write it; reading it gives the same key.
    pub fn name(self) -> String {
        self.written(None)
    }

    fn written(self, name: Option<&str>) -> String {
        let mut text = String::new();
        for (modifier, prefix) in
            [(KeyModifiers::CONTROL, "Ctrl-"), (KeyModifiers::ALT, "Alt-"), (KeyModifiers::SHIFT, "Shift-")]
        {
            if self.modifiers.contains(modifier) {
                text.push_str(prefix);
            }
        }
        let known = NAMES.iter().find(|(_, code)| *code == self.code).map(|(name, _)| *name);
        match (name.or(known), self.code) {
            (Some(name), _) => text + name,
            (None, KeyCode::Char(c)) => format!("{text}{}", crate::text::visible_char(c).unwrap_or(c)),
            (None, KeyCode::BackTab) => text + "Shift-Tab",
            (None, KeyCode::F(number)) => format!("{text}F{number}"),
            (None, other) => format!("{text}{other:?}"),
        }
    }

    /// What a terminal reports, without the Shift that is already in the character.
    pub fn of(event: KeyEvent) -> Self {
        let modifiers = event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::SHIFT | KeyModifiers::ALT);
        let mut key = Self { code: event.code, modifiers };
        if matches!(key.code, KeyCode::Char(_) | KeyCode::BackTab) {
            key.modifiers -= KeyModifiers::SHIFT;
        }
        key
    }

    /// The character that a prompt takes for it.
    pub fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if !self.modifiers.contains(KeyModifiers::CONTROL) => Some(c),
            _ => None,
        }
    }

    /// Why it may never arrive: multiplexers, terminals and other programs take it first.
    pub fn taken_by(self) -> Option<&'static str> {
        if self.modifiers.contains(KeyModifiers::ALT) {
            return Some("Alt types other characters on a Mac, and Zellij takes many of them");
        }
        if let KeyCode::F(_) = self.code {
            return Some("laptops and desktop terminals take function keys");
        }
        if !self.modifiers.contains(KeyModifiers::CONTROL) {
            return None;
        }
        let KeyCode::Char(c) = self.code else { return None };
        Some(match c {
            'a' => "screen takes it, and many set tmux to it",
            'b' => "tmux takes it",
            'h' => "it arrives as Backspace in many terminals, and vim-tmux-navigator takes it",
            'i' => "it arrives as Tab",
            'm' => "it arrives as Enter",
            'j' => "it arrives as Enter in some terminals, and vim-tmux-navigator takes it",
            'k' | 'l' => "vim-tmux-navigator takes it",
            's' | 'q' => "terminals stop and start their output with it",
            '[' => "it arrives as Esc",
            ' ' => "macOS switches the keyboard with it",
            _ => return None,
        })
    }
}

impl FromStr for Key {
    type Err = KeyError;

    /// `j`, `Down`, `Ctrl-n`, `Shift-Right`, `Alt-x`; `+` joins as `-` does, and names have any case.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mut rest = text;
        let mut modifiers = KeyModifiers::NONE;
        while let Some((modifier, after)) = modifier_of(rest) {
            modifiers |= modifier;
            rest = after;
        }
        let mut code = code_of(rest).ok_or_else(|| KeyError::Unknown(text.to_owned()))?;
        if modifiers.contains(KeyModifiers::SHIFT) {
            match code {
                KeyCode::Char(_) if modifiers != KeyModifiers::SHIFT => {
                    return Err(KeyError::NotTold(text.to_owned()));
                }
                KeyCode::Char(c) if c.is_lowercase() && c.to_uppercase().count() == 1 => {
                    code = KeyCode::Char(c.to_uppercase().next().unwrap_or(c));
                    modifiers -= KeyModifiers::SHIFT;
                }
                KeyCode::Char(c) if c.is_uppercase() => modifiers -= KeyModifiers::SHIFT,
                KeyCode::Char(_) => return Err(KeyError::NotTold(text.to_owned())),
                KeyCode::Tab => {
                    code = KeyCode::BackTab;
                    modifiers -= KeyModifiers::SHIFT;
                }
                _ => {}
            }
        }
        if let KeyCode::Char(c) = code
            && modifiers.contains(KeyModifiers::CONTROL)
        {
            code = KeyCode::Char(c.to_ascii_lowercase());
        }
        Ok(Self { code, modifiers })
    }
}

fn modifier_of(text: &str) -> Option<(KeyModifiers, &str)> {
    let at = text.find(['-', '+']).filter(|at| at + 1 < text.len())?;
    let modifier = match text[..at].to_ascii_lowercase().as_str() {
        "ctrl" | "control" | "c" => KeyModifiers::CONTROL,
        "alt" | "meta" | "a" => KeyModifiers::ALT,
        "shift" | "s" => KeyModifiers::SHIFT,
        _ => return None,
    };
    Some((modifier, &text[at + 1..]))
}

fn code_of(name: &str) -> Option<KeyCode> {
    let mut characters = name.chars();
    if let (Some(only), None) = (characters.next(), characters.next())
        && !only.is_control()
        && !SPELLINGS.iter().any(|(spelling, _)| *spelling == name)
    {
        return Some(KeyCode::Char(only));
    }
    let named = NAMES.iter().chain(&SPELLINGS).find(|(known, _)| known.eq_ignore_ascii_case(name));
    if let Some((_, code)) = named {
        return Some(*code).filter(|code| *code != KeyCode::Null);
    }
    let number: u8 = name.strip_prefix(['F', 'f'])?.parse().ok()?;
    (1..=12).contains(&number).then_some(KeyCode::F(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Key {
        Key { code, modifiers }
    }

    #[test]
    fn keys_are_read_from_text() {
        use KeyModifiers as M;
        for (text, code, modifiers) in [
            ("j", KeyCode::Char('j'), M::NONE),
            ("J", KeyCode::Char('J'), M::NONE),
            ("Shift-j", KeyCode::Char('J'), M::NONE),
            ("-", KeyCode::Char('-'), M::NONE),
            ("Ctrl--", KeyCode::Char('-'), M::CONTROL),
            ("ctrl+N", KeyCode::Char('n'), M::CONTROL),
            ("C-n", KeyCode::Char('n'), M::CONTROL),
            ("space", KeyCode::Char(' '), M::NONE),
            ("PGDN", KeyCode::PageDown, M::NONE),
            ("↓", KeyCode::Down, M::NONE),
            ("Shift-Right", KeyCode::Right, M::SHIFT),
            ("Shift-Tab", KeyCode::BackTab, M::NONE),
            ("Alt-x", KeyCode::Char('x'), M::ALT),
            ("F12", KeyCode::F(12), M::NONE),
            ("ö", KeyCode::Char('ö'), M::NONE),
        ] {
            assert_eq!(text.parse(), Ok(key(code, modifiers)), "{text}");
        }
    }

    #[test]
    fn what_is_no_key_says_what_one_is() {
        for text in
            ["", "jj", "Ctrl-", "Hyper-x", "F0", "F13", "F1..F12", "\u{1b}", "Ctrl-Shift-x", "Shift-1"]
        {
            let message = text.parse::<Key>().unwrap_err().to_string();
            assert!(message.contains("expected"), "{text}: {message}");
        }
    }

    #[test]
    fn a_name_reads_back_as_its_key() {
        for text in
            ["j", "Space", "Ctrl-d", "PageUp", "Shift-Tab", "Shift-Left", "F5", "Alt-q", "Ctrl--", "Delete"]
        {
            let key: Key = text.parse().unwrap();
            assert_eq!(key.name(), text);
            assert_eq!(key.label().parse(), Ok(key));
        }
    }
}
