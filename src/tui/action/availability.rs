//! Whether an action can do anything now; if not, why.

use super::{Command, Context};
use crate::tui::model::{Model, Pane, SliderName};
use crate::tui::update::{why_not_again, why_not_ask, why_not_mark};

/// Whether a command that comes from a context does anything now. The reason is a sentence for the screen.
///
/// What a prompt or a list over the panes takes is always possible.
pub fn availability(command: Command, context: Context, model: &Model) -> Result<(), String> {
    match command {
        Command::NextSpan | Command::PreviousSpan => has_flagged_span(model),
        Command::NextFlagged | Command::PreviousFlagged => has_flagged_example(model),
        Command::NextToken | Command::PreviousToken => has_been_read(model),
        Command::NextDetector => has_another_detector(model),
        Command::Copy => has_something_to_copy(model),
        Command::CopyAnswer => match model.evidence().and_then(|evidence| evidence.answer.as_ref()) {
            Some(_) => Ok(()),
            None => Err("there is no answer to copy".into()),
        },
        Command::Export(_) if !model.rows.has_evidence() => Err("there is nothing to export yet".into()),
        Command::Reset if !model.slider.is_moved(&model.thresholds, &model.defaults) => {
            Err(format!("{} is at its default", model.slider.label()))
        }
        Command::ResetAll
            if !SliderName::ALL.iter().any(|one| one.is_moved(&model.thresholds, &model.defaults)) =>
        {
            Err("every threshold is at its default".into())
        }
        Command::Ask => why_not_ask(model).map_or(Ok(()), Err),
        Command::AnswerAgain => why_not_again(model).map_or(Ok(()), Err),
        Command::SelectTokens | Command::MarkFalseAlarm | Command::MarkMissed | Command::Unmark => {
            why_not_mark(model).map_or(Ok(()), Err)
        }
        Command::Undo if !model.history.can_undo() && model.drag.is_none() => {
            Err("no threshold has been changed".into())
        }
        Command::Redo if !model.history.can_redo() => Err("no change of a threshold was taken back".into()),
        Command::Open | Command::DeletePreset if context == Context::Presets && model.presets.is_empty() => {
            Err("there is no preset yet".into())
        }
        command => match context {
            Context::Pane(pane) => pane_has_content(pane, command, model),
            _ => Ok(()),
        },
    }
}

/// Movements, and what opens from a list, need something in the pane.
fn pane_has_content(pane: Pane, command: Command, model: &Model) -> Result<(), String> {
    let moves = matches!(
        command,
        Command::Up
            | Command::Down
            | Command::Left
            | Command::Right
            | Command::First
            | Command::Last
            | Command::HalfUp
            | Command::HalfDown
            | Command::PageUp
            | Command::PageDown
            | Command::Open
    );
    if !moves {
        return Ok(());
    }
    match pane {
        Pane::Examples if model.rows.is_empty() => Err("there is no example yet".into()),
        Pane::Examples if model.rows.shown().is_empty() => {
            let clear = model.keys.label(Command::Back);
            Err(format!("no example passes the filter: {clear} clears it"))
        }
        Pane::Chunks if model.chunk_count() == 0 => Err("this example has no chunks".into()),
        Pane::Answer => has_been_read(model),
        Pane::Attention => match model.reading().map(|reading| reading.lookback.is_some()) {
            Some(true) => Ok(()),
            Some(false) => Err("no attention was kept for this answer".into()),
            None => has_been_read(model),
        },
        _ => Ok(()),
    }
}

fn has_been_read(model: &Model) -> Result<(), String> {
    if model.token_count() > 0 { Ok(()) } else { Err("this answer has not been read".into()) }
}

fn has_flagged_span(model: &Model) -> Result<(), String> {
    if model.reading().is_none() {
        return Err("this answer has not been read, so nothing is flagged".into());
    }
    match &model.findings {
        Some(findings) if !findings.spans.is_empty() => Ok(()),
        _ => Err(format!("no span of this answer is flagged at {:.2}", model.thresholds.token)),
    }
}

fn has_flagged_example(model: &Model) -> Result<(), String> {
    if model.rows.has_flagged() {
        return Ok(());
    }
    Err(format!("no answer of the list is flagged at {:.2}", model.thresholds.token))
}

fn has_another_detector(model: &Model) -> Result<(), String> {
    match model.reading().map(|reading| reading.detectors.len()) {
        None => Err("this answer has not been read".into()),
        Some(0 | 1) => Err("this record holds the scores of one detector only".into()),
        Some(_) => Ok(()),
    }
}

fn has_something_to_copy(model: &Model) -> Result<(), String> {
    let missing = match model.focus {
        Pane::Examples | Pane::Sliders if model.row().is_none() => "there is no example to copy".to_owned(),
        Pane::Chunks if model.chunk_count() == 0 => "there is no chunk to copy".to_owned(),
        Pane::Answer | Pane::Attention if model.span_at_cursor().is_none() => format!(
            "the cursor is on no flagged span: {} goes to the next, {} copies the answer",
            model.keys.label(Command::NextSpan),
            model.keys.label(Command::CopyAnswer)
        ),
        _ => return Ok(()),
    };
    Err(missing)
}
