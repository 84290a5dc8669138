//! Who may know whom: the `use crate::…` paths of every room, held against the table of the design.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Rooms each room may use. `text` knows nobody and may be used by all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("data", &[]),
    ("metrics", &["data"]),
    ("certify", &["data", "metrics"]),
    ("retrieval", &["data"]),
    ("model", &[]),
    ("reading", &["data", "model"]),
    ("detect", &["reading", "metrics", "model"]),
    ("evidence", &["data", "certify", "detect"]),
    ("inspect", &["data", "metrics", "certify", "retrieval", "model", "reading", "detect", "evidence"]),
    // `detect` for the rules that join tokens to display units and spans: one rule, every face.
    ("report", &["evidence", "certify", "detect"]),
    ("tui", &["evidence", "report", "inspect", "certify", "detect"]),
];

/// Packages a room must not touch.
const NEVER: &[(&str, &[&str])] = &[
    ("text", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("data", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("metrics", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("certify", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("retrieval", &["candle_core", "candle_nn", "tokenizers", "ratatui", "clap"]),
    ("model", &["tantivy", "ratatui", "clap"]),
    ("reading", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("detect", &["tantivy", "tokenizers", "ratatui", "clap"]),
    ("evidence", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("inspect", &["tantivy", "tokenizers", "ratatui", "clap"]),
    ("report", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("tui", &["candle_core", "candle_nn", "tantivy", "tokenizers", "clap", "crossterm"]),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a room is a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}

/// The code of a file without comments and without its unit tests (which may build other rooms' types).
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("a source file is UTF-8");
    let end = text.find("#[cfg(test)]").unwrap_or(text.len());
    text[..end].lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Names that follow `crate::` in a file.
fn rooms_used(code: &str) -> BTreeSet<String> {
    code.match_indices("crate::")
        .filter(|(at, _)| !code[..*at].ends_with('$'))
        .flat_map(|(at, found)| {
            let rest = &code[at + found.len()..];
            match rest.strip_prefix('{') {
                Some(group) => group[..group.find(';').unwrap_or(group.len())]
                    .split(',')
                    .map(|name| first_name(name.trim()))
                    .collect::<Vec<_>>(),
                None => vec![first_name(rest)],
            }
        })
        .collect()
}

fn first_name(path: &str) -> String {
    path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn every_room_uses_only_the_rooms_it_may_use() {
    let rooms: BTreeSet<&str> = MAY_USE.iter().map(|(room, _)| *room).collect();
    let mut offences = Vec::new();
    for (room, allowed) in MAY_USE {
        for file in rust_files(&source().join(room)) {
            for used in rooms_used(&code(&file)) {
                let is_room = rooms.contains(used.as_str()) || used == "cli";
                if is_room && used != *room && used != "text" && !allowed.contains(&used.as_str()) {
                    offences.push(format!("{}: uses crate::{used}", file.display()));
                }
            }
        }
    }
    assert!(offences.is_empty(), "forbidden use:\n{}", offences.join("\n"));
}

#[test]
fn no_room_touches_a_package_it_must_not_know() {
    let mut offences = Vec::new();
    for (room, packages) in NEVER {
        for file in rust_files(&source().join(room)) {
            let code = code(&file);
            for package in *packages {
                let used = code.contains(&format!("use {package}::"))
                    || code.match_indices(&format!("{package}::")).any(|(at, _)| {
                        !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
                    });
                if used {
                    offences.push(format!("{}: uses {package}", file.display()));
                }
            }
        }
    }
    assert!(offences.is_empty(), "forbidden package:\n{}", offences.join("\n"));
}

#[test]
fn the_certificate_and_the_measures_read_no_files() {
    for room in ["certify", "metrics", "report"] {
        for file in rust_files(&source().join(room)) {
            let code = code(&file);
            assert!(!code.contains("std::fs"), "{} touches files", file.display());
        }
    }
}

#[test]
fn source_files_stay_short() {
    let long: Vec<String> = rust_files(&source())
        .into_iter()
        .filter_map(|file| {
            let lines = std::fs::read_to_string(&file).ok()?.lines().count();
            (lines > 600).then(|| format!("{} ({lines} lines)", file.display()))
        })
        .collect();
    assert!(long.is_empty(), "over 600 lines, one concept each?\n{}", long.join("\n"));
}

#[test]
fn main_is_under_sixty_lines() {
    let text = std::fs::read_to_string(source().join("main.rs")).expect("main.rs");
    assert!(text.lines().count() < 60);
}

#[test]
fn every_room_of_the_map_exists_and_has_a_map_of_its_own() {
    for (room, _) in MAY_USE {
        let map = std::fs::read_to_string(source().join(room).join("mod.rs")).expect("mod.rs");
        assert!(map.starts_with("//! "), "{room}/mod.rs begins with what the room is");
        assert!(!map.contains("under construction"), "{room}");
    }
}

/// The part of a `tables.md` under a title, or what stands before the first title.
fn section(tables: &str, title: &str) -> Option<String> {
    let mut parts = tables.split("\n### ");
    let head = parts.next()?;
    if title == "head" {
        return Some(head.trim().to_owned());
    }
    let part = parts.find_map(|part| part.strip_prefix(title)?.strip_prefix('\n'))?;
    Some(part.split("\nNot evaluated:").next()?.trim().to_owned())
}

/// The page with every part between `<!-- lab/NAME/tables.md: TITLE -->` and `<!-- end -->` as the laboratory wrote it.
fn with_tables(page: &str, docs: &Path) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("<!-- lab/") {
        let (marker, after) = after.split_once(" -->").expect("a marker ends");
        let (file, title) = marker.split_once(": ").expect("a marker names a file and a title");
        let tables = std::fs::read_to_string(docs.join("lab").join(file)).expect(file);
        let part = section(&tables, title).unwrap_or_else(|| panic!("{file} has no part {title}"));
        let (_, after) = after.split_once("<!-- end -->").expect("a part ends");
        out += &format!("{before}<!-- lab/{marker} -->\n{part}\n<!-- end -->");
        rest = after;
    }
    out + rest
}

/// `WRITE_DOCS=1 cargo test --test architecture` writes the tables into the page.
#[test]
fn the_page_about_accuracy_shows_the_tables_that_the_laboratory_wrote() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let path = docs.join("how-good-is-it.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let wanted = with_tables(&page, &docs);
    if std::env::var_os("WRITE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
        return;
    }
    assert_eq!(page.lines().collect::<Vec<_>>(), wanted.lines().collect::<Vec<_>>());
    for entry in std::fs::read_dir(docs.join("lab")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        assert!(
            page.contains(&format!("<!-- lab/{name}/tables.md: Tokens -->")),
            "{name} is not on the page"
        );
    }
}

#[test]
fn the_tables_of_the_laboratory_hold_the_figures_of_its_json() {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/lab");
    for entry in std::fs::read_dir(lab).unwrap().flatten() {
        let read = |name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap();
        let tables = read("tables.md");
        let report: serde_json::Value = serde_json::from_str(&read("lab.json")).unwrap();
        let rows = report["rows"].as_array().unwrap();
        assert!(!rows.is_empty());
        let tokens = section(&tables, "Tokens").unwrap();
        for row in rows {
            let name = row["name"].as_str().unwrap();
            let precision =
                row["tokens_smoothed"]["average_precision"]["estimate"]["value"].as_f64().unwrap();
            let cells = format!("| {name} ");
            let of_row = |line: &&str| {
                line.strip_prefix(&cells).is_some_and(|rest| rest.trim_start().starts_with('|'))
            };
            let line = tokens.lines().find(of_row).unwrap_or_else(|| panic!("no row {name}"));
            assert!(line.contains(&format!("{precision:.3} [")), "{name}: {precision} in {line}");
        }
    }
}
