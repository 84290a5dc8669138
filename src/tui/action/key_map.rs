//! Which keys each action has: those of the table, or the user's.

use std::collections::BTreeMap;

use ratatui::crossterm::event::{KeyCode, KeyModifiers};
use toml::de::{DeTable, DeValue};

use super::{ACTIONS, Command, Context, Entry, Key, context_title, works_in};

/// Something in a key map file that is wrong, or that its writer should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMapNote {
    /// From 1.
    pub line: usize,
    pub text: String,
}

/// Keys of every action of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    /// As long as the table, in its order.
    keys: Vec<Vec<Key>>,
}

impl Default for KeyMap {
    fn default() -> Self {
        Self { keys: ACTIONS.iter().map(|entry| entry.keys.to_vec()).collect() }
    }
}

/// Actions without which nobody gets out.
const NEVER_WITHOUT_KEYS: [&str; 2] = ["quit", "prompt-leave"];

impl KeyMap {
    /// Every action with its keys, in the order of the table.
    pub fn entries(&self) -> impl Iterator<Item = (&'static Entry, &[Key])> {
        ACTIONS.iter().zip(self.keys.iter().map(Vec::as_slice))
    }

    /// Keys of an entry.
    pub fn keys(&self, wanted: &Entry) -> &[Key] {
        self.entries().find(|(entry, _)| entry.name == wanted.name).map_or(&[], |(_, keys)| keys)
    }

    /// The entry that a key means in exactly this context.
    pub fn find(&self, context: Context, key: Key) -> Option<&'static Entry> {
        self.entries()
            .find(|(entry, keys)| entry.context == context && keys.contains(&key))
            .map(|(entry, _)| entry)
    }

    /// How the screen writes the first key of a command in a context, else of the same command anywhere,
    /// else its name in the palette.
    pub fn label_in(&self, context: Context, command: Command) -> String {
        let of = |wanted: Context| {
            self.entries().find(|(entry, _)| entry.command == command && entry.context == wanted)
        };
        match of(context).or_else(|| of(Context::Anywhere)) {
            Some((_, [first, ..])) => first.label(),
            Some((entry, [])) => format!(":{}", entry.name),
            None => String::new(),
        }
    }

    /// The same for what works anywhere.
    pub fn label(&self, command: Command) -> String {
        self.label_in(Context::Anywhere, command)
    }

    /// Reads a key map file: `action = "key"` or `action = ["key", "key"]`, one action a line. Actions that
    /// are not named keep their keys. With what its writer should know.
    ///
    /// # Errors
    /// Everything that is wrong with it, by line.
    pub fn parse(text: &str) -> Result<(Self, Vec<KeyMapNote>), Vec<KeyMapNote>> {
        let line_of = |at: usize| text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
        let table = DeTable::parse(text).map_err(|error| {
            let line = line_of(error.span().map_or(0, |span| span.start));
            let expected = "expected lines like `example-down = [\"j\", \"Down\"]`";
            vec![KeyMapNote { line, text: format!("{}: {expected}", error.message()) }]
        })?;
        let mut map = Self::default();
        let mut wrong = Vec::new();
        // Line of every action that the file names.
        let mut lines: BTreeMap<usize, usize> = BTreeMap::new();
        for (name, value) in table.get_ref() {
            let line = line_of(name.span().start);
            let name = name.get_ref();
            let Some(at) = ACTIONS.iter().position(|entry| entry.name == name.as_ref()) else {
                wrong.push(KeyMapNote { line, text: unknown(name) });
                continue;
            };
            match keys_of(value.get_ref()) {
                Ok(keys) => {
                    lines.insert(at, line);
                    map.keys[at] = keys;
                }
                Err(problem) => wrong.push(KeyMapNote { line, text: format!("{name}: {problem}") }),
            }
        }
        if wrong.is_empty() {
            wrong = map.conflicts(&lines);
        }
        wrong.sort_by_key(|note| note.line);
        if wrong.is_empty() { Ok((map.clone(), map.warnings(&lines))) } else { Err(wrong) }
    }

    /// What cannot be: two actions of a context with one key, keys that a prompt types, no way out.
    fn conflicts(&self, lines: &BTreeMap<usize, usize>) -> Vec<KeyMapNote> {
        let mut found = Vec::new();
        for (at, line) in lines {
            let (entry, keys) = (&ACTIONS[*at], &self.keys[*at]);
            let mut note = |text| found.push(KeyMapNote { line: *line, text });
            if keys.is_empty() && NEVER_WITHOUT_KEYS.contains(&entry.name) {
                note(format!("{}: it needs at least one key, there would be no way out", entry.name));
            }
            for key in keys {
                if entry.context == Context::Prompt && key.typed().is_some() {
                    let name = key.name();
                    note(format!("{}: a prompt types {name:?}; expected Ctrl- or a named key", entry.name));
                }
                if *key == CONTROL_C && entry.command != Command::Quit {
                    note(format!("{}: Ctrl-c always quits; expected another key", entry.name));
                }
            }
            for (other_at, other) in ACTIONS.iter().enumerate() {
                // Of two lines that disagree the later one says so, once.
                let said_there = lines.get(&other_at).is_some_and(|other_line| other_line > line);
                if other_at == *at || other.context != entry.context || said_there {
                    continue;
                }
                for key in keys.iter().filter(|key| self.keys[other_at].contains(key)) {
                    let place = context_title(entry.context);
                    let (name, other) = (entry.name, other.name);
                    let whose = match lines.get(&other_at) {
                        Some(other_line) => format!("line {other_line} gives it to {other} already"),
                        None => {
                            format!("it is {other}'s: give that another key, or none with `{other} = []`")
                        }
                    };
                    note(format!("{name}: {} has two meanings in {place}: {whose}", key.name()));
                }
            }
        }
        found
    }

    /// What works, though perhaps not as meant: keys that never arrive, and keys that hide another action.
    fn warnings(&self, lines: &BTreeMap<usize, usize>) -> Vec<KeyMapNote> {
        let mut found = Vec::new();
        for (at, line) in lines {
            let entry = &ACTIONS[*at];
            let mut note = |text| found.push(KeyMapNote { line: *line, text });
            for key in &self.keys[*at] {
                if let Some(why) = key.taken_by() {
                    note(format!("{}: {} may not arrive: {why}", entry.name, key.name()));
                }
                for (other, _) in self.entries().filter(|(_, keys)| keys.contains(key)) {
                    let (hider, hidden) = match (entry.context, other.context) {
                        (Context::Anywhere, Context::Anywhere) => continue,
                        (Context::Anywhere, place) if works_in(entry.command, place) => (other, entry),
                        (place, Context::Anywhere) if works_in(other.command, place) => (entry, other),
                        _ => continue,
                    };
                    let (key, place) = (key.name(), context_title(hider.context));
                    note(format!("{key} is {} in {place}, so it is not {} there", hider.name, hidden.name));
                }
            }
        }
        found.sort_by_key(|note| note.line);
        found
    }
}

const CONTROL_C: Key = Key { code: KeyCode::Char('c'), modifiers: KeyModifiers::CONTROL };

fn unknown(name: &str) -> String {
    let meant = crate::text::nearest(name, ACTIONS.iter().map(|entry| entry.name));
    match meant {
        Some(meant) => format!("there is no action {name:?}; is it {meant:?}?"),
        None => format!("there is no action {name:?}; `ragscope keys` lists them"),
    }
}

fn keys_of(value: &DeValue<'_>) -> Result<Vec<Key>, String> {
    let one = |value: &DeValue<'_>| match value {
        DeValue::String(text) => text.parse::<Key>().map_err(|error| error.to_string()),
        other => Err(format!("expected a key in quotes, but {} came", other.type_str())),
    };
    let keys = match value {
        DeValue::Array(values) => {
            values.iter().map(|value| one(value.get_ref())).collect::<Result<Vec<_>, _>>()?
        }
        DeValue::String(_) => vec![one(value)?],
        other => {
            return Err(format!(
                "expected a list of keys like [\"j\", \"Down\"], but {} came",
                other.type_str()
            ));
        }
    };
    let mut once: Vec<Key> = Vec::new();
    for key in keys {
        if !once.contains(&key) {
            once.push(key);
        }
    }
    Ok(once)
}

#[cfg(test)]
#[path = "key_map_tests.rs"]
mod tests;
