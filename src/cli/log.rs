//! A log on disk, for questions like "what did last night's job say?".
//!
//! `RAGSCOPE_LOG` is `off`, `error`, `warn` (the default), `info` or `debug`; the file is
//! `ragscope.log` in `$XDG_STATE_HOME/ragscope` (else `~/.local/state/ragscope`). It is begun at the first line,
//! holds a megabyte, and keeps one older file, `ragscope.log.1`. Above `debug` no line holds text of a data set:
//! only names of files, numbers, hashes and kinds of failures. That a log cannot be written stops nothing.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use etcetera::BaseStrategy;

use crate::text::visible_line;

/// Bytes after which a file is put aside.
const LARGEST: u64 = 1 << 20;
/// Characters of one line.
const LONGEST: usize = 2000;

/// How much is told. What is behind a level is told at it and at those that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Off,
    Error,
    Warn,
    Info,
    /// Messages that may quote a data set.
    Debug,
}

impl Level {
    const ALL: [(&'static str, Self); 5] = [
        ("off", Self::Off),
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
    ];

    /// As `RAGSCOPE_LOG` has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, level)| *level == self).map_or("off", |(name, _)| name)
    }
}

/// Where lines go, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// `None`: there is no home directory to keep it in.
    pub path: Option<PathBuf>,
    pub level: Level,
    /// A value of `RAGSCOPE_LOG` that names no level.
    pub misunderstood: Option<String>,
}

impl Log {
    /// As the environment has it.
    pub fn from_environment(variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let said = variable("RAGSCOPE_LOG").map(|value| value.to_string_lossy().trim().to_ascii_lowercase());
        let known = |said: &String| Level::ALL.iter().find(|(name, _)| name == said).map(|(_, level)| *level);
        let level = said.as_ref().and_then(known);
        let state = variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let state = state.or_else(|| etcetera::choose_base_strategy().ok().and_then(|base| base.state_dir()));
        Self {
            path: state.map(|state| state.join("ragscope").join("ragscope.log")),
            level: level.unwrap_or(Level::Warn),
            misunderstood: said.filter(|said| level.is_none() && !said.is_empty()),
        }
    }

    /// Adds a line, where its level is told at all.
    pub fn line(&self, level: Level, text: &str) {
        if level > self.level || level == Level::Off {
            return;
        }
        // Whoever reads a log cannot mend it from here.
        let _ = self.path.as_deref().map(|path| append(path, level, text));
    }
}

fn append(path: &Path, level: Level, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    if std::fs::metadata(path).is_ok_and(|file| file.len() > LARGEST) {
        std::fs::rename(path, path.with_extension("log.1"))?;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let text: String = visible_line(text).chars().take(LONGEST).collect();
    let line = format!("{} {:<5} [{}] {text}\n", utc(now), level.name(), std::process::id());
    // One write: lines of several processes do not mix.
    OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}

/// `2026-11-30T08:15:00Z`. Days to date after Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// The log of this process.
pub fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| Log::from_environment(&|name| std::env::var_os(name)))
}

/// Adds a line to the log of this process.
pub fn told(level: Level, text: impl AsRef<str>) {
    log().line(level, text.as_ref());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(folder: &Path, level: &'static str) -> Log {
        let folder = folder.as_os_str().to_owned();
        Log::from_environment(&move |name| match name {
            "RAGSCOPE_LOG" => Some(level.into()),
            "XDG_STATE_HOME" => Some(folder.clone()),
            _ => None,
        })
    }

    #[test]
    fn a_line_is_kept_when_its_level_is_told_and_acts_on_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), "info");
        log.line(Level::Debug, "a question of the data");
        assert!(!folder.path().join("ragscope").exists(), "nothing to tell, nothing begun");
        log.line(Level::Info, "opened a\u{1b}[2J\nfile");
        log.line(Level::Error, "ended");
        let text = std::fs::read_to_string(folder.path().join("ragscope/ragscope.log")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains("Z info  [") && lines[0].ends_with("opened a␛[2J␊file"), "{}", lines[0]);
    }

    #[test]
    fn a_full_file_is_put_aside_and_only_one_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), "debug");
        for _ in 0..3 {
            log.line(Level::Debug, "x");
            let path = log.path.as_ref().unwrap();
            std::fs::write(path, "y".repeat(LARGEST as usize + 1)).unwrap();
        }
        log.line(Level::Debug, "after");
        let size = |name: &str| std::fs::metadata(folder.path().join("ragscope").join(name)).unwrap().len();
        assert!(size("ragscope.log") < 100);
        assert_eq!(size("ragscope.log.1"), LARGEST + 1);
        assert_eq!(std::fs::read_dir(folder.path().join("ragscope")).unwrap().count(), 2);
    }

    #[test]
    fn a_level_that_is_none_is_kept_for_the_doctor_and_warnings_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), "loud");
        assert_eq!((log.level, log.misunderstood.as_deref()), (Level::Warn, Some("loud")));
        assert_eq!(super::Log::from_environment(&|_| None).level, Level::Warn);
    }

    #[test]
    fn seconds_become_the_date_they_are() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(utc(1_796_026_500), "2026-11-30T08:15:00Z");
    }
}
