//! The action table for people without the screen: text, Markdown, JSON, and a key map file to begin with.

use serde_json::{Value, json};

use super::{Key, KeyMap, context_title, contexts};

fn names(keys: &[Key]) -> Vec<String> {
    keys.iter().map(|key| key.name()).collect()
}

/// One line per action: keys, what it does, its name; a `*` marks keys that are not the table's.
pub fn key_list(map: &KeyMap) -> String {
    let longest = map.entries().map(|(entry, _)| entry.help.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for context in contexts(None) {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!("{}\n", context_title(context));
        for (entry, keys) in map.entries().filter(|(entry, _)| entry.context == context) {
            let own = if keys == entry.keys { ' ' } else { '*' };
            let written = if keys.is_empty() { "(none)".to_owned() } else { names(keys).join(" ") };
            text += &format!("{own} {written:<18} {:<longest$}  {}\n", entry.help, entry.name);
        }
    }
    text
}

/// A table per context, for the README.
pub fn key_list_markdown(map: &KeyMap) -> String {
    let mut text = String::new();
    for context in contexts(None) {
        text += &format!("\n| {} | | action |\n|---|---|---|\n", context_title(context));
        for (entry, keys) in map.entries().filter(|(entry, _)| entry.context == context) {
            let keys: Vec<String> = names(keys).iter().map(|key| code(key)).collect();
            text += &format!(
                "| {} | {} | {} |\n",
                keys.join(" "),
                entry.help.replace('|', "\\|"),
                code(entry.name)
            );
        }
    }
    text.trim_start().to_owned()
}

/// A code span, whatever stands in it.
fn code(text: &str) -> String {
    let escaped = text.replace('|', "\\|");
    if escaped.contains('`') { format!("`` {escaped} ``") } else { format!("`{escaped}`") }
}

/// A list of actions with name, context, keys, keys of the table, and what they do.
pub fn key_list_json(map: &KeyMap) -> Value {
    let actions: Vec<Value> = map
        .entries()
        .map(|(entry, keys)| {
            json!({
                "action": entry.name,
                "context": context_title(entry.context),
                "keys": names(keys),
                "default_keys": names(entry.keys),
                "does": entry.help,
            })
        })
        .collect();
    Value::Array(actions)
}

/// A key map file that changes nothing: every line is a comment until its `#` goes.
pub fn key_list_toml(map: &KeyMap) -> String {
    let mut text = String::from(
        "# Keys of ragscope. Take the # before a line away and change its keys; `[]` leaves an action without a key.\n\
         # `ragscope keys --check` says what does not fit.\n",
    );
    for context in contexts(None) {
        text += &format!("\n# {}\n", context_title(context));
        for (entry, keys) in map.entries().filter(|(entry, _)| entry.context == context) {
            let mark = if keys == entry.keys { "# " } else { "" };
            let keys: Vec<String> = names(keys).iter().map(|key| format!("{key:?}")).collect();
            text += &format!("{mark}{} = [{}]  # {}\n", entry.name, keys.join(", "), entry.help);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::tui::action::ACTIONS;

    #[test]
    fn every_action_is_in_every_list() {
        let map = KeyMap::default();
        let lists =
            [key_list(&map), key_list_markdown(&map), key_list_toml(&map), key_list_json(&map).to_string()];
        for list in lists {
            for entry in ACTIONS {
                assert!(list.contains(entry.name) && list.contains(entry.help), "{}", entry.name);
            }
        }
    }

    #[test]
    fn a_map_of_the_users_own_is_printed_with_its_keys() {
        let (map, _) = KeyMap::parse("next-span = [\"Ctrl-n\"]\nprevious-span = []\n").unwrap();
        let list = key_list(&map);
        let line = |name: &str| list.lines().find(|line| line.ends_with(name)).unwrap().to_owned();
        assert!(line(" next-span").starts_with("* Ctrl-n "));
        assert!(line(" previous-span").starts_with("* (none) "));
        assert!(line(" next-flagged").starts_with("  } "));
        assert_eq!(KeyMap::parse(&key_list_toml(&map)).unwrap().0, map);
    }

    #[test]
    fn the_file_to_begin_with_changes_nothing_with_or_without_its_marks() {
        let text = key_list_toml(&KeyMap::default());
        assert_eq!(KeyMap::parse(&text).unwrap().0, KeyMap::default());
        let all: String = text
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|line| line.contains(" = [")).unwrap_or(""))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(KeyMap::parse(&all).unwrap().0, KeyMap::default());
    }

    /// `RAGSCOPE_BLESS=1` writes the table anew.
    #[test]
    fn the_table_of_the_readme_is_the_action_table() {
        const BEGIN: &str = "<!-- keys: `ragscope keys --markdown` -->\n";
        const END: &str = "<!-- end of keys -->";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
        let readme = std::fs::read_to_string(&path).unwrap();
        let begin = readme.find(BEGIN).expect("the README marks where the keys begin") + BEGIN.len();
        let end = readme.find(END).expect("the README marks where the keys end");
        let wanted = format!("\n{}\n", key_list_markdown(&KeyMap::default()));
        if std::env::var_os("RAGSCOPE_BLESS").is_some() {
            std::fs::write(&path, format!("{}{wanted}{}", &readme[..begin], &readme[end..])).unwrap();
            return;
        }
        assert!(
            readme[begin..end] == wanted,
            "the keys in README.md are not those of the table: run with RAGSCOPE_BLESS=1"
        );
    }
}
