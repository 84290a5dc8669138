//! News of the inspection.

use super::{asking, fail};
use crate::inspect::Message;
use crate::tui::model::{CertificateFigures, Model, Phase};

/// Takes one message in.
pub fn receive(model: &mut Model, message: Message) {
    match message {
        Message::Stage(stage) => {
            model.run.stage = stage;
            model.ask_what_is_guaranteed();
        }
        Message::Planned(planned) => {
            model.run.total = model.run.total.max(planned.len());
            model.rows.plan(planned);
            model.refresh();
        }
        Message::Evidence(evidence) => {
            let first_reading = model.reading().is_none();
            let level_changed =
                model.highlighting.as_mut().is_some_and(|highlighting| highlighting.look_at(&evidence));
            let index = model.rows.put(*evidence);
            if level_changed {
                model.decide_anew();
            }
            if index == model.selected {
                model.refresh();
                if first_reading && model.reading().is_some() {
                    model.token = model.first_flagged_token();
                }
            }
        }
        Message::Progress { done, total, seconds_left } => {
            model.run.done = done;
            model.run.total = total;
            model.run.seconds_left = seconds_left;
        }
        Message::Certified(summary) => {
            model.certificate = Some(CertificateFigures::new(*summary, model.thresholds.alpha));
            model.ask_what_is_guaranteed();
        }
        Message::Notice(text) => model.notices.push(text),
        Message::Finished => {
            model.ask_what_is_guaranteed();
            model.run.phase = Phase::Finished;
            model.run.stage.clear();
            model.run.seconds_left = None;
        }
        Message::Stopped => {
            model.run.phase = Phase::Finished;
            model.run.stage = "stopped".into();
            model.run.seconds_left = None;
        }
        Message::Answer { row, news } => asking::receive(model, row, news),
        Message::Failed(reason) => failed(model, reason),
    }
}

/// The other side hung up. Without a last word that is a failure, unless it was asked to stop.
pub fn ended(model: &mut Model, panic: Option<String>) {
    if model.asking.is_ok() {
        asking::ended(model, panic.as_deref().unwrap_or("the inspection has ended"));
    }
    match (&model.run.phase, panic) {
        (Phase::Stopping, None) => {
            model.run.phase = Phase::Finished;
            model.run.stage = "stopped".into();
            model.run.seconds_left = None;
        }
        (Phase::Running | Phase::Stopping, panic) => {
            let why = panic.unwrap_or_else(|| "it did not say why".into());
            failed(model, format!("the inspection ended unexpectedly ({why}); what has been read stays"));
        }
        _ => {}
    }
}

fn failed(model: &mut Model, reason: String) {
    if model.asking.is_ok() {
        asking::ended(model, &reason);
    }
    fail(model, reason.clone());
    model.notices.push(reason.clone());
    model.run.phase = Phase::Failed(reason);
    model.run.seconds_left = None;
}
