//! The only place that changes the model: an action in, effects out. No terminal, no file, no clock.

mod annotating;
mod asking;
mod dialog;
mod export;
mod messages;
mod navigate;
mod pages;
mod palette;
mod pointer;
mod presets;
mod prompt;
mod sliders;

use super::action::{self, Action, Command};
use super::model::{Filter, Model, Overlay, Pane, Phase, PresetRequest, SliderName, Subject, Toast, Tone};
use crate::evidence::{Annotations, MarkKind};
use crate::inspect::{Cancel, Request};

pub use annotating::why_not_mark;
pub use asking::{why_not_again, why_not_ask};
pub use export::{Existing, ExportFailure, ExportOrder};

/// What is to be done outside the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Quit,
    /// Tell the inspection to stop.
    CancelRun,
    /// Write a report; the answer comes as [`Action::Exported`].
    Export(ExportOrder),
    /// Write the marks; the answer comes as [`Action::MarksSaved`].
    SaveMarks(Annotations),
    /// Have a question answered; news come as messages.
    Ask(Request),
    /// An answer is no longer wanted.
    CancelAnswer(Cancel),
    /// Put text on the clipboard.
    Copy(String),
    /// Take the mouse, or give it back.
    Mouse(bool),
    /// Ask the store of presets; the answer comes as [`Action::Presets`].
    Presets(PresetRequest),
    /// Stop the program as Ctrl-z does, until the shell continues it.
    Suspend,
}

/// Applies one action. What it does to the thresholds can be undone.
pub fn update(model: &mut Model, action: Action) -> Vec<Effect> {
    let is_key = matches!(action, Action::Do(_) | Action::Type(_) | Action::Dialog(_) | Action::Press { .. });
    if is_key && model.toast.as_ref().is_some_and(|toast| toast.tone == Tone::Information) {
        model.toast = None;
    }
    if matches!(action, Action::Message(_)) {
        return apply(model, action);
    }
    let (before, was_held) = (model.thresholds.clone(), model.drag.is_some());
    let (selected, token) = (model.selected, model.token);
    let effects = apply(model, action);
    if (selected, token) != (model.selected, model.token) {
        model.pages.scroll = model.limits.page_at;
        model.pages.follows_token = true;
    }
    model.history.note(before, was_held, &model.thresholds, model.drag.is_some());
    effects
}

fn apply(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::Do(command) => match action::availability(command, action::context(model), model) {
            Ok(()) => command_effects(model, command),
            Err(reason) => quietly(|| say(model, reason)),
        },
        Action::Type(c) => quietly(|| prompt::type_character(model, c)),
        Action::Erase => quietly(|| prompt::erase(model)),
        Action::Accept => prompt::accept(model),
        Action::Press { target, column, track } => pointer::press(model, target, column, track),
        Action::Drag { column, over } => quietly(|| pointer::drag(model, column, over)),
        Action::Release => quietly(|| pointer::release(model)),
        Action::Wheel { pane, lines } => quietly(|| pointer::wheel(model, pane, lines)),
        Action::Message(message) => quietly(|| messages::receive(model, message)),
        Action::MessagesEnded(panic) => quietly(|| messages::ended(model, panic)),
        Action::Dialog(key) => dialog::key(model, &key),
        Action::MarksSaved(result) => annotating::saved(model, *result),
        Action::Exported(result) => quietly(|| dialog::exported(model, result)),
        Action::Presets(request, answer) => quietly(|| presets::answered(model, request, answer)),
        Action::Say(text) => quietly(|| say(model, text)),
        Action::Redraw => Vec::new(),
    }
}

fn quietly(change: impl FnOnce()) -> Vec<Effect> {
    change();
    Vec::new()
}

/// Shows a sentence until the next key.
pub(crate) fn say(model: &mut Model, text: impl Into<String>) {
    model.toast = Some(Toast { text: text.into(), tone: Tone::Information });
}

/// Shows a sentence until Esc.
fn fail(model: &mut Model, text: impl Into<String>) {
    model.toast = Some(Toast { text: text.into(), tone: Tone::Error });
}

fn command_effects(model: &mut Model, command: Command) -> Vec<Effect> {
    if palette::go(model, command) {
        return Vec::new();
    }
    if let Some(effects) = presets::command(model, command) {
        return effects;
    }
    match command {
        Command::Quit => return vec![Effect::CancelRun, Effect::Quit],
        Command::Close => {
            if model.overlay.take().is_none() && !pages::close(model) {
                return vec![Effect::CancelRun, Effect::Quit];
            }
        }
        Command::Suspend => return vec![Effect::Suspend],
        Command::Back => return back(model),
        Command::SelectTokens => annotating::select(model),
        Command::MarkFalseAlarm => return annotating::mark(model, MarkKind::FalseAlarm),
        Command::MarkMissed => return annotating::mark(model, MarkKind::Missed),
        Command::Unmark => return annotating::unmark(model),
        Command::Checked => return annotating::check(model),
        Command::UndoMark => match annotating::undo(model) {
            Some(effects) => return effects,
            // Everywhere else the same key takes thresholds back.
            None if model.history.can_undo() => sliders::undo(model),
            None => say(model, "there is no mark to undo, and no threshold has been changed"),
        },
        Command::RedoMark => match annotating::redo(model) {
            Some(effects) => return effects,
            None => say(model, "there is no mark to make again"),
        },
        Command::Marks => annotating::open_list(model),
        Command::Ask => asking::open(model),
        Command::AnswerAgain => return asking::again(model),
        Command::ExportDialog => dialog::open_export(model),
        Command::Export(kind) => return dialog::export_at_once(model, kind),
        Command::Copy => return copy(model),
        Command::CopyAnswer => {
            let answer = model.evidence().and_then(|evidence| evidence.answer.clone());
            return copied(model, answer, "the answer");
        }
        Command::Mouse => {
            model.mouse = !model.mouse;
            pointer::release(model);
            let text = if model.mouse {
                "the mouse works in the inspector again".to_owned()
            } else {
                let key = model.keys.label(Command::Mouse);
                format!("the mouse is the terminal's: select text as usual, {key} takes it back")
            };
            say(model, text);
            return vec![Effect::Mouse(model.mouse)];
        }
        Command::Help if matches!(model.overlay, Some(Overlay::Help { .. })) => model.overlay = None,
        Command::Help => {
            model.overlay = Some(Overlay::Help { query: String::new(), typing: false, scroll: 0 });
        }
        Command::Notices => model.overlay = Some(Overlay::Notices { scroll: 0 }),
        Command::NextPane | Command::PreviousPane if model.pages.open.is_some() => {
            pages::turn(model, command == Command::NextPane);
        }
        Command::NextPane => model.focus = model.focus.moved(1),
        Command::PreviousPane => model.focus = model.focus.moved(Pane::ALL.len() - 1),
        Command::Focus(pane) => {
            pages::close(model);
            model.focus = pane;
        }
        Command::Page(page) if model.pages.open == Some(page) => {
            pages::close(model);
        }
        Command::Page(page) => pages::open(model, page),
        Command::Mark => pages::mark(model),
        Command::View => pages::view(model),
        Command::Lock => navigate::lock(model),
        Command::Elsewhere => model.attention.elsewhere = !model.attention.elsewhere,
        Command::Sort | Command::Show | Command::ShowGroup => prompt::narrow(model, command),
        Command::Zoom => model.zoom = !model.zoom,
        Command::Search => prompt::search(model),
        Command::NextDetector => next_detector(model),
        Command::CycleStrip => {
            model.strip = model.strip.next();
            say(model, model.strip.name());
        }
        Command::Subject => {
            let attention = &mut model.attention;
            attention.subject = match attention.subject {
                Subject::Chunk => Subject::Context,
                Subject::Context => Subject::Chunk,
            };
        }
        Command::Scale => {
            if model.pages.open.is_some() {
                model.pages.logarithmic = !model.pages.logarithmic;
            } else {
                model.attention.scale = model.attention.scale.next();
            }
        }
        Command::StepUp => sliders::step(model, 1.0),
        Command::StepDown => sliders::step(model, -1.0),
        Command::LeapUp => sliders::step(model, 10.0),
        Command::LeapDown => sliders::step(model, -10.0),
        Command::Minimum => sliders::set(model, model.slider, model.slider.range().0),
        Command::Maximum => sliders::set(model, model.slider, model.slider.range().1),
        Command::Reset => sliders::reset(model, &[model.slider]),
        Command::ResetAll => sliders::reset(model, &SliderName::ALL),
        Command::TypeNumber => model.typed = Some(String::new()),
        Command::TypeZero => model.typed = Some("0".into()),
        Command::Palette => palette::open(model),
        Command::Undo => sliders::undo(model),
        Command::Redo => sliders::redo(model),
        Command::Presets => return presets::open(model),
        Command::SavePreset => return presets::name(model),
        Command::Accept => return prompt::accept(model),
        Command::Erase => prompt::erase(model),
        // Only the list of presets takes them.
        Command::DeletePreset | Command::Yes | Command::No => {}
        other => navigate::go(model, other),
    }
    Vec::new()
}

/// One level back: prompt, overlay, error message, page, filter, zoom, and at last the work that runs.
fn back(model: &mut Model) -> Vec<Effect> {
    if pointer::put_back(model) {
        say(model, "the slider is back where it was taken");
        return Vec::new();
    }
    if prompt::leave(model) || model.annotating.anchor.take().is_some() {
        return Vec::new();
    }
    if model.overlay.take().is_some() || model.toast.take().is_some() {
        return Vec::new();
    }
    if let Some(effect) = asking::stop(model) {
        return vec![effect];
    }
    if pages::close(model) {
        return Vec::new();
    }
    if !model.filter.text.is_empty() || model.filter.is_narrowed() {
        model.filter = Filter { sort: model.filter.sort, ..Filter::default() };
        model.rows.filter(&model.filter);
        return Vec::new();
    }
    if model.zoom {
        model.zoom = false;
        return Vec::new();
    }
    if model.run.phase == Phase::Running {
        model.run.phase = Phase::Stopping;
        let quit = model.keys.label(Command::Close);
        say(model, format!("stopping: what has been read stays, {quit} quits"));
        return vec![Effect::CancelRun];
    }
    let quit = model.keys.label(Command::Close);
    say(model, format!("nothing to go back from: {quit} quits"));
    Vec::new()
}

fn copy(model: &mut Model) -> Vec<Effect> {
    let (text, what) = match model.focus {
        Pane::Examples | Pane::Sliders => (model.row().map(|row| row.id.clone()), "the id"),
        Pane::Chunks => {
            let chunk = model.evidence().and_then(|evidence| evidence.chunks.get(model.chunk));
            (chunk.map(|chunk| chunk.text.clone()), "the chunk")
        }
        Pane::Answer | Pane::Attention => {
            let span = model.span_at_cursor().and_then(|index| model.findings.as_ref()?.spans.get(index));
            let text = span.and_then(|span| model.evidence()?.answer.as_ref()?.get(span.range.clone()));
            (text.map(str::to_owned), "the span")
        }
    };
    copied(model, text, what)
}

/// Copies what there is; where there is nothing, the command was not available.
fn copied(model: &mut Model, text: Option<String>, what: &str) -> Vec<Effect> {
    let Some(text) = text else { return Vec::new() };
    say(model, format!("copied {what} ({} characters) through the terminal", text.chars().count()));
    vec![Effect::Copy(text)]
}

fn next_detector(model: &mut Model) {
    let Some(reading) = model.reading() else { return };
    let names: Vec<String> = reading.detectors.iter().map(|scores| scores.name.clone()).collect();
    let at = model.detector().and_then(|now| names.iter().position(|name| *name == now.name)).unwrap_or(0);
    let Some(name) = names.get((at + 1) % names.len().max(1)).cloned() else { return };
    say(model, format!("scores of {name}"));
    model.thresholds.detector = Some(name);
    model.decide_anew();
}

#[cfg(test)]
#[path = "update_tests.rs"]
pub(super) mod tests;

#[cfg(test)]
#[path = "key_sequence_tests.rs"]
mod key_sequences;

#[cfg(test)]
#[path = "export_tests.rs"]
mod export_tests;

#[cfg(test)]
#[path = "asking_tests.rs"]
mod asking_tests;

#[cfg(test)]
#[path = "annotating_tests.rs"]
mod annotating_tests;
