//! The entry of the inspector, and its loop.

use std::io::{self, IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TryRecvError};
use std::thread;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event as terminal_event;
use ratatui::crossterm::queue;
use ratatui::crossterm::style::force_color_output;
use ratatui::crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::layout::{Rect, Size};

use super::action::{Action, ExportKind, KeyMap};
use super::event::{self, Event};
use super::heat_scale::Scale;
use super::hit::HitMap;
use super::marks_writer::{KeptMarks, MarksWriter};
use super::model::{Guarantee, Highlighting, Model, Phase, PresetAnswer, PresetFailure, PresetRequest};
use super::terminal::{self, FrameWriter, TerminalGuard};
use super::theme::{Borders, ColourDepth, Theme, ThemeChoice};
use super::update::{self, Effect, Existing, ExportFailure, ExportOrder};
use super::{clipboard, views};
use crate::certify::highlighting::HighlightingArtefact;
use crate::evidence::{Evidence, Thresholds};
use crate::inspect::{AnswerNews, Message, Request};

/// Events that may wait: a run that is read faster than it is decided about waits itself, so that a key
/// never stands behind all of it.
const EVENTS_WAITING: usize = 128;
/// Events taken in before the next frame.
const EVENTS_A_FRAME: usize = 256;

/// What is to be written.
#[derive(Debug, Clone, Copy)]
pub struct ExportRequest<'a> {
    pub kind: ExportKind,
    /// The evidence that was chosen, in file order.
    pub evidence: &'a [Evidence],
    /// The sliders as they stand.
    pub thresholds: &'a Thresholds,
    /// The name that the user gave; `None`: a usual one that is free.
    pub name: Option<&'a str>,
    /// What happens to a file of that name.
    pub existing: Existing,
    /// The screen as SVG, where that was asked for.
    pub picture: Option<&'a str>,
}

/// Writes an export and says where.
pub type Export = Box<dyn Fn(ExportRequest<'_>) -> Result<PathBuf, ExportFailure> + Send>;

/// Keeps presets somewhere; never replaces one of the same name unasked.
pub type PresetStore = Box<dyn Fn(&PresetRequest) -> PresetAnswer + Send>;

/// How the screen starts, where a user has a wish.
#[derive(Debug, Clone, Default)]
pub struct Preferences {
    /// The user's keys.
    pub keys: KeyMap,
    /// Leaves the mouse to the terminal at the start.
    pub without_mouse: bool,
    /// Colours of the heat maps.
    pub scale: Scale,
    /// What the user should know of the configuration.
    pub notices: Vec<String>,
}

/// Everything that an inspection on the screen needs.
pub struct Session {
    /// Data set and model, for the header.
    pub title: String,
    /// News of the inspection. The sender is dropped when it ends.
    pub messages: Receiver<Message>,
    /// The sliders at the start.
    pub thresholds: Thresholds,
    /// What `r` goes back to.
    pub defaults: Thresholds,
    /// Set when the user stops the work or leaves.
    pub cancel: Arc<AtomicBool>,
    /// What is guaranteed at an alpha, in plain sentences, the most important first.
    pub guarantee: Guarantee,
    /// A calibration of the highlighting: with it a certified level can set the token threshold.
    pub highlighting: Option<HighlightingArtefact>,
    pub export: Export,
    pub presets: PresetStore,
    pub preferences: Preferences,
    /// Where questions go, or why none can be asked. When the sender is dropped, nobody asks any more.
    pub asking: Result<Sender<Request>, String>,
    /// Marks of the reader, and where they are kept.
    pub marks: KeptMarks,
    pub theme: ThemeChoice,
    pub borders: Borders,
    /// `None`: found out from the environment.
    pub depth: Option<ColourDepth>,
}

/// What remains when the screen is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The sliders as they were left.
    pub thresholds: Thresholds,
    /// Files that were written.
    pub exported: Vec<PathBuf>,
    /// What the run had to say: printing across the screen was not possible.
    pub notices: Vec<String>,
    /// Why the inspection ended early, if it did.
    pub failed: Option<String>,
}

/// Why there is no screen.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    #[error(
        "the inspector needs a terminal, and standard output is none: run it without a pipe, or use \
         `ragscope report` for a file"
    )]
    NotATerminal,
    #[error("the terminal failed while {doing}: {source}")]
    Terminal {
        /// What was being done.
        doing: &'static str,
        source: io::Error,
    },
}

fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> TuiError {
    move |source| TuiError::Terminal { doing, source }
}

/// Runs the inspector on this thread until the user leaves.
///
/// # Errors
/// When standard output is no terminal, or the terminal fails.
pub fn run(session: Session) -> Result<Outcome, TuiError> {
    if !io::stdout().is_terminal() {
        return Err(TuiError::NotATerminal);
    }
    let variable = |name: &str| std::env::var(name).ok();
    let (ascii, why_ascii) = session.borders.in_ascii(&variable);
    let theme =
        Theme { ascii, ..Theme::choose(session.theme, session.depth, &variable, terminal::page_is_light) };
    // The theme has decided about colour. crossterm's own NO_COLOR writes empty colour codes, which
    // cancel bold and reverse as well.
    force_color_output(true);
    let (sender, events) = mpsc::sync_channel(EVENTS_WAITING);
    let guard = TerminalGuard::enter().map_err(failed("taking the screen"))?;
    let resumed = sender.clone();
    let resumed = move || drop(resumed.send(Event::Resumed));
    terminal::watch_signals(resumed).map_err(failed("watching for signals"))?;
    // Listens for changes of size from here on: one that comes before the first key is waited for would
    // be lost, and the screen would keep its old shape.
    terminal_event::poll(Duration::ZERO).map_err(failed("starting to listen for changes of size"))?;
    read_terminal(sender.clone()).map_err(failed("starting to read keys"))?;
    forward(session.messages, sender.clone()).map_err(failed("starting to listen to the run"))?;
    let presets =
        preset_keeper(session.presets, sender.clone()).map_err(failed("starting the store of presets"))?;
    let exports =
        exporter(session.export, sender.clone()).map_err(failed("starting the writer of exports"))?;
    let mut model = Model::new(&session.title, session.thresholds, session.defaults, session.guarantee);
    let Preferences { keys, without_mouse, scale, notices } = session.preferences;
    model.keys = Arc::new(keys);
    model.attention.scale = scale;
    model.notices = notices;
    if without_mouse {
        model.mouse = false;
        terminal::write_mouse(&mut io::stdout(), false).map_err(failed("leaving the mouse alone"))?;
    }
    if let Some(artefact) = session.highlighting {
        model.certify_highlighting(Highlighting::new(artefact));
    }
    if let Some(why) = why_ascii {
        update::update(&mut model, Action::Say(why));
    }
    model.annotating = session.marks.annotating();
    model.notices.extend(session.marks.notices);
    model.asking = session.asking.as_ref().map(drop).map_err(Clone::clone);
    let marks = session.marks.file.ok().map(|file| MarksWriter::start(file, sender)).transpose();
    let marks = marks.map_err(failed("starting the writer of marks"))?;
    let out = FrameWriter::new(io::stdout());
    let mut screen = Terminal::new(CrosstermBackend::new(out)).map_err(failed("measuring the screen"))?;
    let mut exported = Vec::new();
    let asking = session.asking.as_ref().ok();
    let mut outside = Outside {
        cancel: &session.cancel,
        exports: &exports,
        presets: &presets,
        asking,
        marks: marks.as_ref(),
    };
    let result = drive(&mut screen, &mut model, &theme, &events, &mut exported, &mut outside);
    session.cancel.store(true, Ordering::SeqCst);
    model.rows.open_answers().for_each(|asked| asked.cancel.cancel());
    drop(guard);
    // Whoever waits to tell something is let go: nobody listens any more.
    drop(events);
    let unsaved = marks.and_then(|marks| marks.finish(&mut model.annotating));
    result.map_err(failed("drawing"))?;
    let mut notices = model.notices;
    notices.extend(terminal::take_panics());
    notices.extend(unsaved);
    let failed = match model.run.phase {
        Phase::Failed(reason) => Some(reason),
        _ => None,
    };
    Ok(Outcome { thresholds: model.thresholds, exported, notices, failed })
}

/// Where effects go.
trait Effects {
    /// Does it; an action says what came of it at once.
    fn perform(&mut self, effect: Effect, out: &mut dyn Write) -> io::Result<Option<Action>>;
}

struct Outside<'a> {
    cancel: &'a AtomicBool,
    exports: &'a Sender<ExportOrder>,
    presets: &'a Sender<PresetRequest>,
    asking: Option<&'a Sender<Request>>,
    marks: Option<&'a MarksWriter>,
}

impl Effects for Outside<'_> {
    fn perform(&mut self, effect: Effect, mut out: &mut dyn Write) -> io::Result<Option<Action>> {
        match effect {
            Effect::Quit => {}
            Effect::CancelRun => self.cancel.store(true, Ordering::SeqCst),
            Effect::Export(order) => {
                if self.exports.send(order).is_err() {
                    let failure = ExportFailure::Failed("the writer of exports has ended".into());
                    return Ok(Some(Action::Exported(Err(failure))));
                }
            }
            Effect::Ask(request) => {
                let row = request.row;
                if self.asking.is_none_or(|asking| asking.send(request).is_err()) {
                    let news = AnswerNews::Failed("the inspection has ended".into());
                    return Ok(Some(Action::Message(Message::Answer { row, news })));
                }
            }
            Effect::CancelAnswer(cancel) => cancel.cancel(),
            Effect::SaveMarks(marks) => {
                if self.marks.is_none_or(|writer| !writer.send(marks)) {
                    let failure = Err("the writer of marks has ended".to_owned());
                    return Ok(Some(Action::MarksSaved(Box::new(failure))));
                }
            }
            Effect::Copy(text) => {
                let Some(sequence) = clipboard::sequence(&text) else {
                    let text = "too long for the terminal's clipboard: e writes it to a file".to_owned();
                    return Ok(Some(Action::Say(text)));
                };
                out.write_all(sequence.as_bytes())?;
                out.flush()?;
            }
            Effect::Mouse(take) => terminal::write_mouse(&mut out, take)?,
            Effect::Presets(request) => {
                if let Err(unsent) = self.presets.send(request) {
                    let failure = PresetFailure::Failed("the store of presets has ended".into());
                    return Ok(Some(Action::Presets(unsent.0, Err(failure))));
                }
            }
            Effect::Suspend => {
                if let Err(error) = terminal::suspend() {
                    return Ok(Some(Action::Say(format!("cannot go to the background: {error}"))));
                }
            }
        }
        Ok(None)
    }
}

/// A backend that effects can write through, and that can hold a frame together.
trait Screen: Backend<Error = io::Error> {
    fn out(&mut self) -> &mut dyn Write;
}

impl<W: Write> Screen for CrosstermBackend<W> {
    fn out(&mut self) -> &mut dyn Write {
        self
    }
}

/// The loop: draw when something changed, sleep until something happens, take all that waits.
fn drive<S: Screen>(
    screen: &mut Terminal<S>,
    model: &mut Model,
    theme: &Theme,
    events: &Receiver<Event>,
    exported: &mut Vec<PathBuf>,
    effects: &mut dyn Effects,
) -> io::Result<()> {
    let mut dirty = true;
    let mut hits = HitMap::default();
    loop {
        if dirty {
            hits = draw(screen, model, theme)?;
            model.limits = hits.limits.clone();
            dirty = false;
        }
        let first = if model.rows.has_pending() {
            match events.try_recv() {
                Ok(event) => Some(event),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        } else {
            match events.recv() {
                Ok(event) => Some(event),
                Err(_) => return Ok(()),
            }
        };
        let Some(first) = first else {
            model.rows.decide_slice();
            dirty = true;
            continue;
        };
        let mut waiting: Vec<Event> =
            std::iter::once(first).chain(events.try_iter().take(EVENTS_A_FRAME - 1)).collect();
        event::coalesce(&mut waiting);
        for event in waiting {
            if let Event::Exported(Ok(path)) = &event {
                exported.push(path.clone());
            }
            if event == Event::Resumed {
                // The next frame is written as a whole. `Terminal::clear` would ask the terminal for its
                // cursor, and the answer would go to the thread that reads keys.
                screen.backend_mut().clear_region(ClearType::All)?;
                screen.swap_buffers();
            }
            for action in event::actions(event, model, &hits) {
                dirty = true;
                for mut effect in update::update(model, action) {
                    if let Effect::Export(order) = &mut effect
                        && order.kind == ExportKind::Svg
                    {
                        order.picture = Some(picture_of(model, theme, screen.size()?));
                    }
                    if effect == Effect::Quit {
                        return Ok(());
                    }
                    if let Some(answer) = effects.perform(effect, screen.backend_mut().out())? {
                        update::update(model, answer);
                    }
                }
            }
        }
    }
}

/// One frame, written as a whole: the terminal shows it when it is complete.
fn draw<S: Screen>(screen: &mut Terminal<S>, model: &Model, theme: &Theme) -> io::Result<HitMap> {
    let _held = terminal::hold_output();
    let mut out = screen.backend_mut().out();
    queue!(&mut out, BeginSynchronizedUpdate)?;
    // `Terminal::draw` would hide the cursor with every frame.
    screen.autoresize()?;
    let mut frame = screen.get_frame();
    let hits = views::view(model, theme, &mut frame);
    screen.flush()?;
    screen.swap_buffers();
    let mut out = screen.backend_mut().out();
    queue!(&mut out, EndSynchronizedUpdate)?;
    Backend::flush(screen.backend_mut())?;
    Ok(hits)
}

fn read_terminal(sender: SyncSender<Event>) -> io::Result<()> {
    let read = move || {
        loop {
            let event = match terminal_event::read() {
                Ok(event) => Event::of_terminal(event),
                Err(error) => {
                    let _ = sender.send(Event::InputEnded(error.to_string()));
                    return;
                }
            };
            if let Some(event) = event
                && sender.send(event).is_err()
            {
                return;
            }
        }
    };
    thread::Builder::new().name("keys".into()).spawn(read).map(drop)
}

fn forward(messages: Receiver<Message>, sender: SyncSender<Event>) -> io::Result<()> {
    let listen = move || {
        for message in messages {
            if sender.send(Event::Message(Box::new(message))).is_err() {
                return;
            }
        }
        let panics = terminal::take_panics();
        let said = (!panics.is_empty()).then(|| panics.join("; "));
        let _ = sender.send(Event::MessagesEnded(said));
    };
    thread::Builder::new().name("messages".into()).spawn(listen).map(drop)
}

/// The screen as SVG, without the dialog that asked for it.
fn picture_of(model: &mut Model, theme: &Theme, size: Size) -> String {
    let dialog = model.dialog.take();
    let area = Rect::new(0, 0, size.width, size.height);
    let mut buffer = Buffer::empty(area);
    views::draw(model, theme, &mut buffer, area);
    model.dialog = dialog;
    super::picture::svg(&buffer, theme, &model.title)
}

/// The thread that writes exports, one after the other. A panic of a writer is its answer.
fn exporter(export: Export, sender: SyncSender<Event>) -> io::Result<Sender<ExportOrder>> {
    let (jobs, waiting) = mpsc::channel::<ExportOrder>();
    let write = move || {
        for job in waiting {
            let evidence: Vec<Evidence> = job.evidence.iter().map(|one| Evidence::clone(one)).collect();
            let request = ExportRequest {
                kind: job.kind,
                evidence: &evidence,
                thresholds: &job.thresholds,
                name: job.name.as_deref(),
                existing: job.existing,
                picture: job.picture.as_deref(),
            };
            let result = catch_unwind(AssertUnwindSafe(|| export(request)));
            let result = result.unwrap_or_else(|_| Err(ExportFailure::Failed("the writer panicked".into())));
            if sender.send(Event::Exported(result)).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("exports".into()).spawn(write)?;
    Ok(jobs)
}

/// The thread that keeps presets: a slow disk never holds the screen up.
fn preset_keeper(store: PresetStore, sender: SyncSender<Event>) -> io::Result<Sender<PresetRequest>> {
    let (requests, waiting) = mpsc::channel::<PresetRequest>();
    let keep = move || {
        for request in waiting {
            let answer = catch_unwind(AssertUnwindSafe(|| store(&request)));
            let answer =
                answer.unwrap_or_else(|_| Err(PresetFailure::Failed("the store of presets panicked".into())));
            if sender.send(Event::Presets(request, answer)).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("presets".into()).spawn(keep)?;
    Ok(requests)
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
