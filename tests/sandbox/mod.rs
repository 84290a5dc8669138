//! The real binary in a clean place: own home, own cache, own working folder, no inherited environment.

#![allow(dead_code)] // Every test crate uses a part of it.

pub mod tiny_model;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ragscope::evidence::{Evidence, parse_line};
use ragscope::model::{CacheDirectory, DEFAULT_MODEL};
use tempfile::TempDir;

pub const BINARY: &str = env!("CARGO_BIN_EXE_ragscope");

/// A folder of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Where one test runs the binary.
pub struct Sandbox {
    root: TempDir,
}

impl Sandbox {
    /// Empty home, empty cache: no model.
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        for folder in ["home", "cache", "work", "tmp"] {
            std::fs::create_dir(root.path().join(folder)).expect("a folder in a temporary folder");
        }
        Self { root }
    }

    /// A sandbox whose cache holds the default model, or `None` and a printed reason where it is not here.
    pub fn with_real_model(test: &str) -> Option<Self> {
        let model = real_model(test)?;
        let sandbox = Self::new();
        let place = CacheDirectory::at(sandbox.cache()).model_path(&DEFAULT_MODEL);
        std::fs::create_dir_all(place.parent().expect("models lie in a folder")).expect("a folder");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&model, &place).expect("a link to the model");
        #[cfg(not(unix))]
        std::fs::copy(&model, &place).map(drop).expect("a copy of the model");
        Some(sandbox)
    }

    pub fn cache(&self) -> PathBuf {
        self.root.path().join("cache")
    }

    /// The working folder of the binary.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Writes a file into the working folder.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().expect("it lies in the working folder")).expect("a folder");
        std::fs::write(&path, bytes).expect("a file in a temporary folder");
        path
    }

    /// Writes one JSON value a line.
    pub fn write_lines(&self, name: &str, records: &[serde_json::Value]) -> PathBuf {
        let lines: Vec<String> = records.iter().map(ToString::to_string).collect();
        self.write(name, lines.join("\n") + "\n")
    }

    /// Text of a file of the working folder.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Names in the working folder, sorted.
    pub fn listing(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.work())
            .expect("the working folder is there")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Variables that the binary sees; nothing else.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let folder = |name: &str| self.root.path().join(name).to_string_lossy().into_owned();
        let mut variables = vec![
            ("HOME", folder("home")),
            ("RAGSCOPE_CACHE", folder("cache")),
            ("TMPDIR", folder("tmp")),
            ("LANG", "C.UTF-8".to_owned()),
            ("PATH", std::env::var("PATH").unwrap_or_default()),
        ];
        if cfg!(windows) {
            variables.push(("SystemRoot", std::env::var("SystemRoot").unwrap_or_default()));
        }
        variables
    }

    /// The command, not started.
    pub fn command<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(BINARY);
        command.env_clear().envs(self.environment()).current_dir(self.work()).args(arguments);
        command
    }

    /// Runs it to the end without input.
    pub fn run<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Ran {
        self.run_with_input(arguments, b"")
    }

    /// Runs it to the end with at most so many KiB of address space, where the system can limit that.
    pub fn run_within<S: AsRef<std::ffi::OsStr>>(&self, kibibytes: u64, arguments: &[S]) -> Ran {
        if cfg!(not(unix)) {
            return self.run(arguments);
        }
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -v {kibibytes}; exec \"$0\" \"$@\"")).arg(BINARY);
        // Each thread takes address space, and a machine may have many cores.
        command.env_clear().envs(self.environment()).env("RAYON_NUM_THREADS", "2");
        command.current_dir(self.work()).args(arguments).stdin(Stdio::null());
        let output = command.output().expect("a shell is there");
        Ran::new(&command, output)
    }

    /// Runs it to the end with `input` on standard input.
    pub fn run_with_input<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S], input: &[u8]) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("standard input is piped");
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            // A binary that does not read its input closes it; that is no failure of the test.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().expect("the binary ends");
        writer.join().expect("the writer ends");
        Ran::new(&command, output)
    }
}

/// What a run gave.
pub struct Ran {
    pub command: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn new(command: &Command, output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Self {
            command: format!("{command:?}"),
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// It ended with this exit code, without a panic.
    #[track_caller]
    pub fn code(self, expected: i32) -> Self {
        assert_eq!(self.code, Some(expected), "exit code of {self}");
        assert!(!self.stderr.contains("panicked"), "a panic in {self}");
        self
    }

    /// Standard error says each of these.
    #[track_caller]
    pub fn complains(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part), "standard error lacks {part:?} in {self}");
        }
        self
    }

    /// Standard output says each of these.
    #[track_caller]
    pub fn prints(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stdout.contains(part), "standard output lacks {part:?} in {self}");
        }
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}) from {self}"))
    }

    /// Standard output as evidence lines.
    #[track_caller]
    pub fn evidence(&self) -> Vec<Evidence> {
        let parsed = self.stdout.lines().enumerate().map(|(at, line)| parse_line(line, at + 1));
        parsed.map(|one| one.unwrap_or_else(|error| panic!("{error} from {self}"))).collect()
    }

    /// Nothing that acts on a terminal left the binary.
    #[track_caller]
    pub fn harmless(self) -> Self {
        for (name, text) in [("standard output", &self.stdout), ("standard error", &self.stderr)] {
            let acting = text.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(acting, None, "a control character on {name} of {self}");
        }
        self
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\n-- exit code: {:?}\n-- standard output:\n{}\n-- standard error:\n{}",
            self.command, self.code, self.stdout, self.stderr
        )
    }
}

/// The default model: `RAGSCOPE_TEST_MODEL`, else the cache of whoever runs the tests. Says so when it
/// is not here.
pub fn real_model(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("RAGSCOPE_TEST_MODEL").filter(|path| !path.is_empty()).map(PathBuf::from);
    let cached = || {
        let cache = CacheDirectory::from_environment(&|name| std::env::var_os(name)).ok()?;
        Some(cache.model_path(&DEFAULT_MODEL))
    };
    let path = named.or_else(cached).filter(|path| path.is_file());
    if path.is_none() {
        println!(
            "{test}: skipped, the default model is not here (`ragscope models fetch`, or RAGSCOPE_TEST_MODEL=PATH)"
        );
    }
    path.and_then(|path| path.canonicalize().ok())
}
