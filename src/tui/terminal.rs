//! The terminal's modes: taken at the start, given back whatever happens.
//!
//! The hook for panics is installed before any mode is switched on. It gives the terminal back only for
//! a panic of the thread that draws; a panic elsewhere is written down, and the screen lives on.
//! Giving back is idempotent: guard, hook and signals may all do it.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};

use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste};
use ratatui::crossterm::style::ResetColor;
use ratatui::crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{Command, queue};

/// Whether the terminal is ours.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Whether the mouse is wanted.
static MOUSE: AtomicBool = AtomicBool::new(true);
/// The thread that draws.
static SCREEN_THREAD: Mutex<Option<ThreadId>> = Mutex::new(None);
/// Held while a frame is written, so that a signal does not give the terminal back in its middle.
static OUTPUT: Mutex<()> = Mutex::new(());
/// What panics of other threads said.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Presses, drags and the wheel, in SGR coordinates; not bare motion, which would wake the inspector
/// with every move of the pointer.
#[derive(Debug, Clone, Copy)]
pub struct TakeMouse;

impl Command for TakeMouse {
    fn write_ansi(&self, out: &mut impl std::fmt::Write) -> std::fmt::Result {
        out.write_str("\u{1b}[?1000h\u{1b}[?1002h\u{1b}[?1006h")
    }

    #[cfg(windows)]
    fn execute_winapi(&self) -> io::Result<()> {
        ratatui::crossterm::event::EnableMouseCapture.execute_winapi()
    }

    #[cfg(windows)]
    fn is_ansi_code_supported(&self) -> bool {
        false
    }
}

/// Switches all modes on but raw mode.
pub fn write_enter(out: &mut impl Write) -> io::Result<()> {
    queue!(out, EnterAlternateScreen)?;
    write_modes(out)
}

/// The modes that hold on the screen that is there.
fn write_modes(out: &mut impl Write) -> io::Result<()> {
    queue!(out, Hide, EnableBracketedPaste, TakeMouse)?;
    out.flush()
}

/// Switches all modes off but raw mode; harmless where they are off.
pub fn write_leave(out: &mut impl Write) -> io::Result<()> {
    queue!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        ResetColor,
        LeaveAlternateScreen,
        Show
    )?;
    out.flush()
}

/// Takes or gives back the mouse alone.
pub fn write_mouse(out: &mut impl Write, take: bool) -> io::Result<()> {
    MOUSE.store(take, Ordering::SeqCst);
    if take {
        queue!(out, TakeMouse)?;
    } else {
        queue!(out, DisableMouseCapture)?;
    }
    out.flush()
}

/// Collects a frame and writes it at once. What was not flushed is lost when it is dropped: after a
/// panic the rest of a frame must not follow the terminal that was already given back.
#[derive(Debug)]
pub struct FrameWriter<W> {
    out: W,
    waiting: Vec<u8>,
}

impl<W: Write> FrameWriter<W> {
    pub fn new(out: W) -> Self {
        Self { out, waiting: Vec::with_capacity(64 * 1024) }
    }
}

impl<W: Write> Write for FrameWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.write_all(&self.waiting);
        self.waiting.clear();
        result?;
        self.out.flush()
    }
}

/// Asks the terminal for the colour of its page (OSC 11); `None` where it does not say.
///
/// Before the terminal is taken: its answer comes the way keys come. A terminal that knows no such question
/// answers the one sent after it, which all of them know; only one that answers neither is waited for.
pub fn page_is_light() -> Option<bool> {
    let options = terminal_colorsaurus::QueryOptions::default();
    let colour = terminal_colorsaurus::background_color(options).ok()?;
    Some(colour.perceived_lightness() >= 0.5)
}

/// Holds the terminal; dropping it gives the terminal back.
#[derive(Debug)]
pub struct TerminalGuard(());

impl TerminalGuard {
    /// Takes the terminal for the calling thread.
    pub fn enter() -> io::Result<Self> {
        install_hook();
        *locked(&SCREEN_THREAD) = Some(thread::current().id());
        ACTIVE.store(true, Ordering::SeqCst);
        MOUSE.store(true, Ordering::SeqCst);
        // From here on an early return gives back what was taken.
        let guard = Self(());
        enable_raw_mode()?;
        write_enter(&mut io::stdout())?;
        Ok(guard)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was found. Errors are ignored: there is nobody left to tell.
pub fn restore() {
    if ACTIVE.swap(false, Ordering::SeqCst) {
        give_back();
    }
}

fn give_back() {
    let _ = write_leave(&mut io::stdout());
    let _ = disable_raw_mode();
}

/// Keeps signals out while a frame is written.
pub fn hold_output() -> MutexGuard<'static, ()> {
    locked(&OUTPUT)
}

/// What panics of other threads said since the last call.
pub fn take_panics() -> Vec<String> {
    std::mem::take(&mut *locked(&PANICS))
}

fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !ACTIVE.load(Ordering::SeqCst) {
                before(panic);
            } else if *locked(&SCREEN_THREAD) == Some(thread::current().id()) {
                restore();
                before(panic);
            } else {
                // Printing would go across the screen that is still alive.
                locked(&PANICS).push(panic.to_string());
            }
        }));
    });
}

/// What a signal does here: SIGINT, SIGTERM, SIGHUP and SIGQUIT give the terminal back and end the
/// program with 128 + signal; SIGTSTP gives it back and stops; SIGCONT takes it again and calls `resumed`,
/// since nothing of the screen can be trusted any more.
#[cfg(unix)]
pub fn watch_signals(resumed: impl Fn() + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let held = hold_output_for_a_moment();
            let ours = ACTIVE.load(Ordering::SeqCst);
            match signal {
                SIGTSTP => {
                    if ours {
                        give_back();
                    }
                    // Stops this process as SIGTSTP would have, had it not been caught; the system ignores
                    // both where no shell is there to continue it.
                    let _ = signal_hook::low_level::raise(SIGTTIN);
                    if ours && ACTIVE.load(Ordering::SeqCst) {
                        take_again(true);
                    }
                }
                // After SIGSTOP, which nobody can catch, the shell has changed the modes.
                SIGCONT if ours => take_again(false),
                SIGCONT => {}
                _ => {
                    restore();
                    std::process::exit(128 + signal);
                }
            }
            // The screen's thread may be waiting to write before it takes what is sent to it.
            drop(held);
            if ours {
                resumed();
            }
        }
    })?;
    Ok(())
}

/// A frame is written in milliseconds; a terminal that takes none must not keep a signal waiting.
#[cfg(unix)]
fn hold_output_for_a_moment() -> Option<MutexGuard<'static, ()>> {
    for _ in 0..40 {
        match OUTPUT.try_lock() {
            Ok(held) => return Some(held),
            Err(std::sync::TryLockError::Poisoned(held)) => return Some(held.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => thread::sleep(std::time::Duration::from_millis(5)),
        }
    }
    None
}

#[cfg(unix)]
fn take_again(from_outside: bool) {
    let mut out = io::stdout();
    // Raw mode is only set again where it is known to be off.
    let _ = disable_raw_mode();
    let _ = enable_raw_mode();
    let _ = if from_outside { write_enter(&mut out) } else { write_modes(&mut out) };
    if !MOUSE.load(Ordering::SeqCst) {
        let _ = write_mouse(&mut out, false);
    }
}

/// Stops the job that this process is part of, as Ctrl-z does outside of raw mode.
#[cfg(unix)]
pub fn suspend() -> io::Result<()> {
    Ok(rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?)
}

/// Signals of Unix do not exist here.
#[cfg(not(unix))]
pub fn watch_signals(_: impl Fn() + Send + 'static) -> io::Result<()> {
    Ok(())
}

/// There is no job to stop.
#[cfg(not(unix))]
pub fn suspend() -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_frame_is_lost_when_its_writer_is_dropped() {
        let mut written = Vec::new();
        let mut writer = FrameWriter::new(&mut written);
        writer.write_all(b"whole").unwrap();
        writer.flush().unwrap();
        writer.write_all(b"half").unwrap();
        drop(writer);
        assert_eq!(written, b"whole");
    }

    #[test]
    fn leaving_undoes_all_that_entering_switched_on() {
        let mut bytes = Vec::new();
        write_enter(&mut bytes).unwrap();
        let mut parser = vt100::Parser::new(24, 80, 0);
        parser.process(&bytes);
        assert!(parser.screen().alternate_screen() && parser.screen().hide_cursor());
        assert!(parser.screen().bracketed_paste());
        assert_eq!(parser.screen().mouse_protocol_mode(), vt100::MouseProtocolMode::ButtonMotion);
        let mut bytes = Vec::new();
        write_leave(&mut bytes).unwrap();
        // Twice, because guard, hook and signal may all come.
        parser.process(&bytes);
        parser.process(&bytes);
        assert!(!parser.screen().alternate_screen() && !parser.screen().hide_cursor());
        assert!(!parser.screen().bracketed_paste());
        assert_eq!(parser.screen().mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    }
}
