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
    queue!(out, EnterAlternateScreen, Hide, EnableBracketedPaste, TakeMouse)?;
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

/// Holds the terminal; dropping it gives the terminal back.
#[derive(Debug)]
pub struct TerminalGuard(());

impl TerminalGuard {
    /// Takes the terminal for the calling thread.
    pub fn enter() -> io::Result<Self> {
        install_hook();
        *locked(&SCREEN_THREAD) = Some(thread::current().id());
        ACTIVE.store(true, Ordering::SeqCst);
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
        let _ = write_leave(&mut io::stdout());
        let _ = disable_raw_mode();
    }
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

/// Gives the terminal back and ends the program with 128 + signal on SIGINT, SIGTERM, SIGHUP and SIGQUIT.
#[cfg(unix)]
pub fn watch_signals() -> io::Result<()> {
    use std::sync::TryLockError;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // A frame is written in milliseconds; a terminal that takes none must not keep us alive.
            let mut tries = 40;
            let _held = loop {
                match OUTPUT.try_lock() {
                    Err(TryLockError::WouldBlock) if tries > 0 => {
                        tries -= 1;
                        thread::sleep(std::time::Duration::from_millis(5));
                    }
                    held => break held,
                }
            };
            restore();
            std::process::exit(128 + signal);
        }
    })?;
    Ok(())
}

/// Signals of Unix do not exist here.
#[cfg(not(unix))]
pub fn watch_signals() -> io::Result<()> {
    Ok(())
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
