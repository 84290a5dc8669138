//! `ragscope keys`: every action with its keys, and whether a key map fits.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::tui::{KeyMap, KeyMapNote, key_list, key_list_json, key_list_markdown, key_list_toml};

use super::config::{Configuration, ConfigurationFolder, read_if_there};
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope keys`.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "one switch a form of the list")]
pub struct KeysArguments {
    /// A table for a README
    #[arg(long, conflicts_with_all = ["json", "toml", "check"])]
    markdown: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["toml", "check"])]
    json: bool,
    /// A key map file to begin with
    #[arg(long, conflicts_with = "check")]
    toml: bool,
    /// Only say whether the key map fits; exit code 3 where it does not
    #[arg(long)]
    check: bool,
    /// The keys as they are without a key map
    #[arg(long, conflicts_with = "file")]
    defaults: bool,
    /// A key map [default: keys.toml of the configuration folder]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Prints or checks.
pub fn run(shared: &Shared, arguments: &KeysArguments) -> Outcome {
    let (map, warnings) = match &arguments.file {
        _ if arguments.defaults => (KeyMap::default(), Vec::new()),
        Some(path) => match read(path)? {
            Some(read) => read,
            None => return Err(Failure::input_message(format!("there is no key map {}", path.display()))),
        },
        None => key_map(&shared.configuration)?,
    };
    if arguments.check {
        let path = arguments.file.clone().or_else(|| Some(shared.configuration.folder()?.keys()));
        let shown = path.as_deref().map_or_else(String::new, crate::text::visible_path);
        let fits = if path.is_some_and(|path| path.exists()) {
            format!("{shown} fits")
        } else {
            format!("there is no {shown}: the keys are those of ragscope")
        };
        let lines: Vec<String> = warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
        return output::print(&format!("{}{fits}\n", lines.concat()));
    }
    for warning in &warnings {
        output::tell(&format!("warning: {warning}"));
    }
    if arguments.json {
        return output::print_json(&key_list_json(&map));
    }
    output::print(&match arguments {
        KeysArguments { markdown: true, .. } => key_list_markdown(&map),
        KeysArguments { toml: true, .. } => key_list_toml(&map),
        _ => key_list(&map),
    })
}

/// The user's keys, with what they should know of their file; those of the table where there is no file.
pub fn key_map(configuration: &Configuration) -> Outcome<(KeyMap, Vec<String>)> {
    configuration.folder().map_or_else(|| Ok((KeyMap::default(), Vec::new())), key_map_in)
}

/// The same for a folder.
pub fn key_map_in(folder: &ConfigurationFolder) -> Outcome<(KeyMap, Vec<String>)> {
    Ok(read(&folder.keys())?.unwrap_or_default())
}

fn read(path: &Path) -> Outcome<Option<(KeyMap, Vec<String>)>> {
    let shown = crate::text::visible_path(path);
    let Some(text) = read_if_there(path).map_err(Failure::input_message)? else { return Ok(None) };
    let told = |notes: Vec<KeyMapNote>| -> Vec<String> {
        notes.into_iter().map(|note| format!("{shown}, line {}: {}", note.line, note.text)).collect()
    };
    match KeyMap::parse(&text) {
        Ok((map, warnings)) => Ok(Some((map, told(warnings)))),
        Err(wrong) => Err(Failure::input_message(told(wrong).join("\n"))),
    }
}
