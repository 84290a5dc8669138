//! Who may know whom: the `use crate::…` paths of every room, held against the table of the design.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Rooms each room may use. `text` and `disk` know nobody and may be used by all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("disk", &[]),
    ("data", &[]),
    ("metrics", &["data"]),
    ("certify", &["data", "metrics"]),
    // `model` for the encoder of dense retrieval alone; see below.
    ("retrieval", &["data", "model"]),
    ("model", &[]),
    ("reading", &["data", "model"]),
    ("detect", &["reading", "metrics", "model"]),
    ("evidence", &["data", "certify", "detect"]),
    ("inspect", &["data", "metrics", "certify", "retrieval", "model", "reading", "detect", "evidence"]),
    // `inspect` for passages retrieved and answers grouped as a run does.
    ("laboratory", &["data", "metrics", "certify", "retrieval", "model", "reading", "detect", "inspect"]),
    // `detect` for the rules that join tokens to display units and spans: one rule, every face.
    ("report", &["evidence", "certify", "detect"]),
    ("tui", &["evidence", "report", "inspect", "certify", "detect"]),
];

/// Packages a room must not touch.
const NEVER: &[(&str, &[&str])] = &[
    ("text", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("disk", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("data", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("metrics", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("certify", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("retrieval", &["candle_core", "candle_nn", "tokenizers", "ratatui", "clap"]),
    ("model", &["tantivy", "ratatui", "clap"]),
    ("reading", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("detect", &["tantivy", "tokenizers", "ratatui", "clap"]),
    ("evidence", &["candle_core", "candle_nn", "tantivy", "tokenizers", "ratatui", "clap"]),
    ("inspect", &["tantivy", "tokenizers", "ratatui", "clap"]),
    ("laboratory", &["tantivy", "tokenizers", "ratatui", "clap"]),
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
                if is_room
                    && used != *room
                    && !["text", "disk"].contains(&used.as_str())
                    && !allowed.contains(&used.as_str())
                {
                    offences.push(format!("{}: uses crate::{used}", file.display()));
                }
            }
        }
    }
    assert!(offences.is_empty(), "forbidden use:\n{}", offences.join("\n"));
}

#[test]
fn retrieval_knows_a_model_only_as_the_encoder_of_dense_retrieval() {
    for file in rust_files(&source().join("retrieval")) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let uses: Vec<String> = code(&file)
            .lines()
            .filter(|line| line.contains("crate::model"))
            .map(|line| line.trim().to_owned())
            .collect();
        let allowed: &[&str] = match name.as_str() {
            "dense.rs" => &["use crate::model::SentenceEncoder;"],
            "error.rs" => &["use crate::model::EncoderError;"],
            _ => &[],
        };
        assert!(uses.iter().all(|line| allowed.contains(&line.as_str())), "{name}: {uses:?}");
    }
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
            let touches = code.contains("std::fs") || code.contains("crate::disk");
            assert!(!touches, "{} touches files", file.display());
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

/// The string literals of a piece of code, raw ones included.
fn literals(code: &str) -> Vec<String> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let raw = bytes[at] == b'r' && matches!(bytes.get(at + 1), Some(b'"' | b'#'));
        if raw {
            let marks = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
            if bytes.get(at + 1 + marks) == Some(&b'"') {
                let start = at + 2 + marks;
                let end = format!("\"{}", "#".repeat(marks));
                let length = code[start..].find(&end).unwrap_or(code.len() - start);
                found.push(code[start..start + length].to_owned());
                at = start + length + end.len();
                continue;
            }
        }
        match bytes[at] {
            // A character in quotes, which may be a quote.
            b'\'' if bytes.get(at + 1) == Some(&b'\\') => at += 4,
            b'\'' if bytes.get(at + 2) == Some(&b'\'') => at += 3,
            b'"' => {
                let start = at + 1;
                at = start;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                found.push(code[start..at.min(code.len())].to_owned());
                at += 1;
            }
            _ => at += 1,
        }
    }
    found
}

/// Literals outside of the guarantee module that may name a guarantee: headings and labels, no statements.
const NAMES_OF_GUARANTEES: [&str; 5] =
    ["What is guaranteed", "## What is guaranteed", "guarantee: ", "guarantee: {}", "no guarantee"];

#[test]
fn only_the_guarantee_module_words_a_guarantee_or_the_lack_of_one() {
    let room = source().join("certify/guarantee");
    let mut offences = Vec::new();
    for file in rust_files(&source()).into_iter().filter(|file| !file.starts_with(&room)) {
        for literal in literals(&code(&file)) {
            let plain = literal.to_lowercase().replace("\\n", " ");
            let words =
                ["guarant", "promise", "with probability at", ">= 1 - alpha", "≥ 1 - alpha", "1 − alpha"];
            let heading = plain.trim().trim_end_matches(':');
            let named = NAMES_OF_GUARANTEES.iter().any(|name| {
                name.to_lowercase().trim_end_matches([':', ' ']) == heading
                    || name.to_lowercase().trim() == plain.trim()
            });
            if !named && words.iter().any(|word| plain.contains(word)) {
                offences.push(format!("{}: {literal:?}", file.display()));
            }
        }
    }
    assert!(offences.is_empty(), "sentences for certify/guarantee:\n{}", offences.join("\n"));
}

#[test]
fn the_reader_of_literals_sees_every_literal() {
    let code = "f(\"a \\\" b\", 'c', '\"', '\\'', r#\"d \"e\" f\"#, r\"g\")";
    assert_eq!(literals(code), ["a \\\" b", "d \"e\" f", "g"]);
}

/// Name of a file below the source, with slashes.
fn name_in_source(file: &Path) -> String {
    file.strip_prefix(source()).expect("a file of the source").display().to_string().replace('\\', "/")
}

#[test]
fn files_are_written_whole_and_only_the_known_streams_are_not() {
    // What grows line by line or block by block, each with its own rule for a torn end; a log; locks.
    let streams = [
        "disk/lock.rs",
        "disk/write.rs",
        "disk/lock.rs",
        "inspect/cache.rs",
        "cli/score/sink.rs",
        "model/hub.rs",
        "model/fetch.rs",
        "model/pip.rs",
        "cli/log.rs",
        "evidence/annotations/file.rs",
    ];
    let mut offences = Vec::new();
    for file in rust_files(&source()) {
        let name = name_in_source(&file);
        let ours = code(&file);
        let writes = [
            "fs::write(",
            "File::create",
            "OpenOptions",
            "File::options",
            "tempfile",
            "persist(",
            "fs::rename",
        ]
        .iter()
        .filter(|word| ours.contains(**word))
        // The options of opening a data set have the same name.
        .filter(|word| **word != "OpenOptions" || ours.contains("fs::OpenOptions") || ours.contains("fs::{"))
        .count();
        let other = name.ends_with("tests.rs") || name.contains("small_") || name.starts_with("data/");
        if writes > 0 && !other && !streams.contains(&name.as_str()) {
            offences.push(name);
        }
    }
    assert!(offences.is_empty(), "use disk::write_whole:\n{}", offences.join("\n"));
}

#[test]
fn only_what_was_asked_for_knows_a_network() {
    // Model files, and search servers that the user names.
    let may = ["model/hub.rs", "model/pip.rs", "retrieval/search_server.rs"];
    let mut offences = Vec::new();
    for file in rust_files(&source()) {
        let name = name_in_source(&file);
        let ours = code(&file);
        let words = ["ureq", "std::net", "TcpStream", "UdpSocket", "Command::new", "process::Command"];
        let tests = name.contains("_tests");
        if !tests && words.iter().any(|word| ours.contains(word)) && !may.contains(&name.as_str()) {
            offences.push(name);
        }
    }
    assert!(offences.is_empty(), "these could reach a network:\n{}", offences.join("\n"));
}

#[test]
fn nothing_is_unsafe_and_nothing_is_logged() {
    let lib = std::fs::read_to_string(source().join("lib.rs")).expect("lib.rs");
    assert!(lib.contains("#![forbid(unsafe_code)]"));
    let main = std::fs::read_to_string(source().join("main.rs")).expect("main.rs");
    assert!(main.contains("#![forbid(unsafe_code)]"));
    // Files that only tests build say why they skip.
    let of_tests =
        |file: &PathBuf| ["test", "small_"].iter().any(|part| file.display().to_string().contains(part));
    for file in rust_files(&source()).into_iter().filter(|file| !of_tests(file)) {
        let ours = code(&file);
        for word in [
            "unsafe ",
            "allow(unsafe",
            "tracing::",
            "log::info",
            "log::debug",
            "println!",
            "eprintln!",
            "dbg!",
        ] {
            assert!(!ours.contains(word), "{} has {word}", file.display());
        }
    }
}

#[test]
fn every_test_that_the_page_about_trust_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/trust.md")).expect("docs/trust.md");
    let mut code = String::new();
    for folder in ["src", "tests"] {
        for file in rust_files(&root.join(folder)) {
            code += &std::fs::read_to_string(file).expect("a source file is UTF-8");
        }
    }
    let names: BTreeSet<&str> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| {
            name.matches('_').count() >= 3 && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
        .collect();
    assert!(names.len() > 80, "{} tests are named", names.len());
    let missing: Vec<&&str> = names.iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
