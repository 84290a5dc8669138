//! Writing files: whole or not at all, and never over something unasked.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Failure, Outcome, log};
use crate::disk::{FileAccess, write_whole_with};
use crate::text::{escaped_json, visible, visible_line};

/// Writes `bytes` through a temporary file beside the target, synced and renamed. An existing file is
/// left alone unless `force`.
pub fn write_new(path: &Path, bytes: &[u8], force: bool) -> Outcome {
    write_new_with(path, force, &|out| out.write_all(bytes))
}

/// The same for what is written piece by piece.
pub fn write_new_with(path: &Path, force: bool, write: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> Outcome {
    if path.exists() && !force {
        return Err(Failure::Usage(format!(
            "{} exists already; choose another name with --output, or say --force to replace it",
            path.display()
        )));
    }
    write_whole_with(path, FileAccess::Shared, write)
        .map_err(|error| Failure::input_message(format!("cannot write {}: {error}", path.display())))
}

/// Makes a folder and those above it.
pub fn make_folder(path: &Path) -> Outcome {
    std::fs::create_dir_all(path).map_err(|error| {
        Failure::input_message(format!("cannot make the folder {}: {error}", path.display()))
    })
}

/// `name.ending`, or `name-2.ending` ... whichever does not exist yet.
#[must_use]
pub fn free_name(folder: &Path, name: &str, ending: &str) -> PathBuf {
    let first = folder.join(format!("{name}.{ending}"));
    if !first.exists() {
        return first;
    }
    (2..=9_999)
        .map(|number| folder.join(format!("{name}-{number}.{ending}")))
        .find(|path| !path.exists())
        .unwrap_or(first)
}

/// Prints to standard output; a closed pipe (`| head`) is a quiet end, not an error.
pub fn print(text: &str) -> Outcome {
    print_bytes(text.as_bytes())
}

/// The same for bytes that need be no text.
pub fn print_bytes(bytes: &[u8]) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::input_message(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// One line on standard error, with control characters made visible. Nobody has to listen.
pub fn tell(line: &str) {
    // It may quote a data set.
    log::told(log::Level::Debug, line);
    let _ = writeln!(io::stderr(), "{}", visible_line(line));
}

/// The same for a text that has lines of its own.
pub fn tell_lines(text: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(text.trim_end()));
}

/// Says where a file was written.
pub fn tell_written(path: &Path) {
    log::told(log::Level::Info, format!("written: {}", path.display()));
    tell(&format!("written: {}", path.display()));
}

/// Pretty JSON on standard output.
pub fn print_json(value: &impl serde::Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(value).map_err(Failure::input)?;
    print(&(escaped_json(&text).into_owned() + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_never_replaced_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        write_new(&path, b"first", false).unwrap();
        assert!(matches!(write_new(&path, b"second", false), Err(Failure::Usage(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        write_new(&path, b"second", true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        assert_eq!(free_name(folder.path(), "report", "html"), folder.path().join("report-2.html"));
    }
}
