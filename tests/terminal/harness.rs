//! The binary in a pseudo-terminal whose screen is read back by vt100.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::sandbox::{self, Sandbox, repository};

/// How long a step may take; a loaded machine is slow, a right step is not.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// All panes are on the screen at this size.
pub const COLUMNS: u16 = 120;
pub const ROWS: u16 = 40;

/// What goes before and follows every frame: a terminal shows nothing of a frame before its end.
const BEGIN_OF_FRAME: &[u8] = b"\x1b[?2026h";
const END_OF_FRAME: &[u8] = b"\x1b[?2026l";

/// What the terminal received.
pub struct Received {
    /// The screen after the last whole frame.
    pub parser: vt100::Parser,
    pub bytes: Vec<u8>,
    /// How many of the bytes are on the screen.
    shown: usize,
    ended: bool,
}

impl Received {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ended = bytes.is_empty();
        let waiting = &self.bytes[self.shown..];
        // Half a frame stands beside half of the one before it, and no test may see that.
        let whole = if self.ended { waiting.len() } else { whole_frames(waiting) };
        self.parser.process(&waiting[..whole]);
        self.shown += whole;
    }
}

/// How many bytes there are before a frame that has not ended.
fn whole_frames(bytes: &[u8]) -> usize {
    let find = |sequence: &[u8], from: usize| {
        let found = bytes[from..].windows(sequence.len()).position(|window| window == sequence);
        found.map(|at| from + at)
    };
    let mut from = 0;
    while let Some(begin) = find(BEGIN_OF_FRAME, from) {
        let Some(end) = find(END_OF_FRAME, begin) else { return begin };
        from = end + END_OF_FRAME.len();
    }
    // A sequence that is cut may be the beginning of one.
    let cut =
        (1..BEGIN_OF_FRAME.len()).rev().find(|count| bytes[from..].ends_with(&BEGIN_OF_FRAME[..*count]));
    bytes.len() - cut.unwrap_or(0)
}

type Keys = Arc<Mutex<Box<dyn Write + Send>>>;

/// Which terminal it is: sent by programs that wait for an answer.
const WHO_ARE_YOU: &[u8] = b"\x1b[c";
/// A terminal that knows little.
const A_VT220: &[u8] = b"\x1b[?62;22c";
/// The question after the colour of the page, up to its end.
const PAGE_COLOUR: &[u8] = b"\x1b]11;?";

/// What a terminal answers to questions among these bytes, where its page has a colour that it tells.
fn answers(bytes: &[u8], page: Option<&str>) -> Vec<u8> {
    let asks = |question: &[u8]| bytes.windows(question.len()).any(|window| window == question);
    let mut answers = Vec::new();
    if let Some(page) = page.filter(|_| asks(PAGE_COLOUR)) {
        answers.extend_from_slice(format!("\x1b]11;{page}\x1b\\").as_bytes());
    }
    if asks(WHO_ARE_YOU) {
        answers.extend_from_slice(A_VT220);
    }
    answers
}

/// The binary in its terminal.
pub struct Terminal {
    pub sandbox: Sandbox,
    master: Box<dyn MasterPty + Send>,
    keys: Keys,
    child: Box<dyn Child + Send + Sync>,
    received: Arc<(Mutex<Received>, Condvar)>,
}

/// A variable that names the colour of the terminal's page, as the terminal would; without it nothing is said.
pub const PAGE: &str = "PAGE_OF_THE_TERMINAL";

/// Of the first example, up to where its line ends.
pub const FIRST_QUESTION: &str = "How long should the pump run unloaded";

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

pub fn golden_run() -> String {
    repository("tests/golden/run.jsonl").display().to_string()
}

impl Terminal {
    /// Starts the binary; `None` and a printed reason where no pseudo-terminal can be opened.
    pub fn start(test: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Option<Self> {
        Self::start_in(test, Sandbox::new(), arguments, variables)
    }

    pub fn start_in(
        test: &str,
        sandbox: Sandbox,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Option<Self> {
        Self::start_program(test, sandbox, Path::new(sandbox::BINARY), arguments, variables)
    }

    /// Starts any program with the environment of the binary.
    pub fn start_program(
        test: &str,
        sandbox: Sandbox,
        program: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Option<Self> {
        let pair = match native_pty_system().openpty(size(COLUMNS, ROWS)) {
            Ok(pair) => pair,
            Err(error) => {
                println!("{test}: skipped, no pseudo-terminal can be opened: {error}");
                return None;
            }
        };
        let mut command = CommandBuilder::new(program);
        command.env_clear();
        command.cwd(sandbox.work());
        for (name, value) in sandbox.environment() {
            command.env(name, value);
        }
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        command.args(arguments);
        let child = pair.slave.spawn_command(command).expect("the binary starts");
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("the terminal can be read");
        let keys = pair.master.take_writer().expect("the terminal takes keys");
        let keys: Keys = Arc::new(Mutex::new(keys));
        let page = variables.iter().find(|(name, _)| *name == PAGE).map(|(_, colour)| (*colour).to_owned());
        let parser = vt100::Parser::new(ROWS, COLUMNS, 0);
        let received = Arc::new((
            Mutex::new(Received { parser, bytes: Vec::new(), shown: 0, ended: false }),
            Condvar::new(),
        ));
        let shared = Arc::clone(&received);
        let answering = Arc::clone(&keys);
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                // A terminal whose program has ended reads as its end or as an error.
                let count = reader.read(&mut buffer).unwrap_or(0);
                let mut received = locked(&shared.0);
                let answers = answers(&buffer[..count], page.as_deref());
                if !answers.is_empty() {
                    let mut keys = locked(&answering);
                    let _ = keys.write_all(&answers).and_then(|()| keys.flush());
                }
                received.add(&buffer[..count]);
                shared.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Some(Self { sandbox, master: pair.master, keys, child, received })
    }

    pub fn press(&mut self, keys: &str) {
        let mut terminal = locked(&self.keys);
        terminal.write_all(keys.as_bytes()).and_then(|()| terminal.flush()).expect("the terminal takes keys");
    }

    /// Waits until the screen is as `wanted` says, at the end of a frame as a terminal shows it.
    #[track_caller]
    pub fn wait(&self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        self.wait_received(what, |received| wanted(received.parser.screen()));
    }

    #[track_caller]
    pub fn wait_received(&self, what: &str, wanted: impl Fn(&Received) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut received = locked(&self.received.0);
        while !wanted(&received) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !received.ended,
                "{}: {what}; the screen:\n{}",
                if received.ended { "the program ended before" } else { "waited in vain for" },
                received.parser.screen().contents()
            );
            received = self
                .received
                .1
                .wait_timeout(received, left)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0;
        }
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        self.wait(&format!("{text:?}"), |screen| screen.contents().contains(text));
    }

    /// Waits until the whole golden run is read: before that a key may find one example where the test counts on
    /// six.
    #[track_caller]
    pub fn wait_for_run(&self) {
        self.wait("the whole run, at its first example", |screen| {
            let text = screen.contents();
            text.contains("6 examples") && text.contains(FIRST_QUESTION)
        });
    }

    /// Waits for a prompt that nothing was typed behind: what is typed earlier belongs to the program before.
    #[track_caller]
    pub fn wait_for_prompt(&self, prompt: &str) {
        self.wait(&format!("the prompt {prompt:?}"), |screen| {
            !screen.alternate_screen() && screen.contents().trim_end().ends_with(prompt)
        });
    }

    /// Gives the terminal another size.
    pub fn change_size(&self, columns: u16, rows: u16) {
        locked(&self.received.0).parser.screen_mut().set_size(rows, columns);
        self.master.resize(size(columns, rows)).expect("the terminal can be resized");
    }

    /// Gives the terminal another size and waits for the next frame.
    #[track_caller]
    pub fn resize(&self, columns: u16, rows: u16) {
        let before = locked(&self.received.0).bytes.len();
        self.change_size(columns, rows);
        self.wait_received(&format!("a frame at {columns}x{rows}"), |received| {
            received.bytes.len() > before && received.bytes.ends_with(END_OF_FRAME)
        });
    }

    /// Waits until the first line reaches to the right edge: the frame was drawn for the present size.
    #[track_caller]
    pub fn wait_for_layout(&self) {
        self.wait("a frame of the present size", |screen| {
            let (_, columns) = screen.size();
            let first = screen.rows(0, columns).next().unwrap_or_default();
            let first = first.trim_end();
            first.ends_with("6 examples") && first.chars().count() + 2 >= usize::from(columns)
        });
    }

    /// Waits for the end; gives the exit code and all that was received.
    #[track_caller]
    pub fn end(self) -> (u32, Vec<u8>, Sandbox) {
        let (sender, ended) = std::sync::mpsc::channel();
        let mut killer = self.child.clone_killer();
        let mut child = self.child;
        std::thread::spawn(move || sender.send(child.wait()));
        let Ok(status) = ended.recv_timeout(PATIENCE) else {
            let _ = killer.kill();
            panic!(
                "the program did not end; the screen:\n{}",
                locked(&self.received.0).parser.screen().contents()
            );
        };
        let code = status.expect("the program can be waited for").exit_code();
        // On some systems the end is only read once no one holds the other side.
        *locked(&self.keys) = Box::new(std::io::sink());
        let deadline = Instant::now() + PATIENCE;
        let mut received = locked(&self.received.0);
        while !received.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the terminal did not close");
            received = self
                .received
                .1
                .wait_timeout(received, left)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0;
        }
        let screen = received.parser.screen();
        assert!(!screen.alternate_screen(), "the alternate screen was left on");
        assert!(!screen.hide_cursor(), "the cursor was left hidden");
        assert!(!screen.bracketed_paste(), "bracketed paste was left on");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None, "the mouse was left on");
        let bytes = received.bytes.clone();
        drop(received);
        #[cfg(unix)]
        assert!(is_cooked(&*self.master), "raw mode was left on");
        (code, bytes, self.sandbox)
    }

    pub fn id(&self) -> u32 {
        self.child.process_id().expect("a process has an id")
    }

    #[cfg(unix)]
    pub fn signal(&self, name: &str) {
        let mut kill = std::process::Command::new("kill");
        let sent = kill.arg(format!("-{name}")).arg(self.id().to_string());
        assert!(sent.status().expect("kill is there").success());
    }

    /// SIGKILL, which nothing can catch.
    #[cfg(unix)]
    #[track_caller]
    pub fn kill(mut self) -> Sandbox {
        self.signal("KILL");
        self.child.wait().expect("it ends");
        self.sandbox
    }

    /// Bytes received so far.
    pub fn bytes(&self) -> Vec<u8> {
        locked(&self.received.0).bytes.clone()
    }

    /// Where a text stands: column and row from 0.
    #[track_caller]
    pub fn place_of(&self, text: &str) -> (u16, u16) {
        self.wait_for(text);
        let received = locked(&self.received.0);
        let screen = received.parser.screen();
        let (_, columns) = screen.size();
        let found = screen.rows(0, columns).enumerate().find_map(|(row, line)| {
            let at = line.find(text)?;
            Some((line[..at].chars().count() as u16, row as u16))
        });
        found.unwrap_or_else(|| panic!("{text:?} stands on no line:\n{}", screen.contents()))
    }

    /// A mouse report: `action` is 0 for the left button, 32 for a drag, 64 and 65 for the wheel.
    pub fn mouse(&mut self, action: u8, (column, row): (u16, u16), down: bool) {
        let end = if down { 'M' } else { 'm' };
        self.press(&format!("\u{1b}[<{action};{};{}{end}", column + 1, row + 1));
    }

    /// Whether lines are edited and echoed by the terminal: what raw mode switches off.
    #[cfg(unix)]
    pub fn is_cooked(&self) -> bool {
        is_cooked(&*self.master)
    }
}

#[cfg(unix)]
fn is_cooked(terminal: &dyn MasterPty) -> bool {
    let flags = terminal.get_termios().map(|termios| format!("{:?}", termios.local_flags));
    flags.is_none_or(|flags| flags.contains("ICANON") && flags.contains("ECHO"))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The parameters of every sequence that sets colours or attributes.
pub fn styles(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let sequences = text.split("\u{1b}[").skip(1);
    sequences
        .filter_map(|rest| {
            let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ';' || c == ':'))?;
            rest[end..].starts_with('m').then(|| rest[..end].to_owned())
        })
        .collect()
}

pub fn is_colour(style: &str) -> bool {
    style
        .split([';', ':'])
        .filter_map(|number| number.parse::<u16>().ok())
        .any(|number| matches!(number, 30..=38 | 40..=48 | 90..=97 | 100..=107))
}
