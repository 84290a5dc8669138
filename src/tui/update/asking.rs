//! Questions of one's own: asked, followed, stopped, asked once more with trusted passages only.

use std::sync::Arc;

use super::{Effect, say};
use crate::inspect::{AnswerNews, ChunkFilter, Request, RequestSubject};
use crate::tui::action::{Command, DialogKey};
use crate::tui::model::{AskDialog, AskState, Asked, Dialog, DialogItem, LineInput, Model, Pane};

use super::dialog::edit;

/// Said while a question waits.
const QUEUED: &str = "queued: the model finishes the answer that it reads, then yours comes";

/// Why no question can be asked now; `None`: one can.
pub fn why_not_ask(model: &Model) -> Option<String> {
    model.asking.as_ref().err().cloned()
}

/// Why the question of the row on the screen cannot be answered from trusted passages; `None`: it can.
pub fn why_not_again(model: &Model) -> Option<String> {
    if let Some(reason) = why_not_ask(model) {
        return Some(reason);
    }
    let evidence = model.evidence()?;
    if evidence.question.trim().is_empty() {
        return Some("this record has no question".to_owned());
    }
    let is_open = model.row().and_then(|row| row.asked.as_ref()).is_some_and(Asked::is_open);
    // With scores there is an answer, even before the last word about it.
    if is_open && model.reading().is_none() {
        let back = model.keys.label(Command::Back);
        return Some(format!("this answer is still being written: {back} stops it"));
    }
    if evidence.chunks.iter().all(|chunk| chunk.p_value.is_none()) {
        return Some("no passage of this example is certified, so none can be trusted".to_owned());
    }
    None
}

/// Opens the prompt.
pub fn open(model: &mut Model) {
    if let Some(reason) = why_not_ask(model) {
        say(model, format!("no question can be asked: {reason}"));
        return;
    }
    model.dialog = Some(Dialog::Ask(AskDialog::default()));
}

pub fn key(model: &mut Model, key: &DialogKey) -> Vec<Effect> {
    let last = model.last_question.clone();
    let Some(Dialog::Ask(dialog)) = &mut model.dialog else { return Vec::new() };
    match key {
        DialogKey::Leave => model.dialog = None,
        DialogKey::NextField | DialogKey::PreviousField => dialog.trusted_only = !dialog.trusted_only,
        DialogKey::Up => dialog.question = LineInput::new(&last),
        DialogKey::Accept => {
            let question = dialog.question.text().trim().to_owned();
            if question.is_empty() {
                dialog.refusal = Some("type a question first".to_owned());
                return Vec::new();
            }
            let trusted_only = dialog.trusted_only;
            model.dialog = None;
            model.last_question.clone_from(&question);
            return ask(model, question.clone(), RequestSubject::Question(question), trusted_only).1;
        }
        key => {
            dialog.refusal = None;
            if let DialogKey::Text(text) = key {
                if !dialog.question.insert(text) {
                    dialog.refusal = Some("the question is too long: its end was left out".to_owned());
                }
            } else {
                edit(&mut dialog.question, key);
            }
        }
    }
    Vec::new()
}

pub fn press(dialog: &mut AskDialog, item: DialogItem) {
    if let DialogItem::TrustedOnly(trusted_only) = item {
        dialog.trusted_only = trusted_only;
    }
}

/// The question of the row on the screen once more, from trusted passages only; both rows know each other.
pub fn again(model: &mut Model) -> Vec<Effect> {
    if let Some(reason) = why_not_again(model) {
        say(model, reason);
        return Vec::new();
    }
    let Some(of) = model.row().and_then(|row| row.evidence.clone()) else {
        say(model, "this example has not been looked at yet");
        return Vec::new();
    };
    let first = model.selected;
    let (second, effects) = ask(model, of.question.clone(), RequestSubject::Again(Arc::clone(&of)), true);
    model.rows.pair(first, second);
    effects
}

/// Adds the row of a request and goes to it.
fn ask(
    model: &mut Model,
    question: String,
    subject: RequestSubject,
    trusted_only: bool,
) -> (usize, Vec<Effect>) {
    let asked = Asked::new(trusted_only);
    let cancel = asked.cancel.clone();
    let filter = if trusted_only { ChunkFilter::Trusted(model.thresholds.alpha) } else { ChunkFilter::All };
    let index = model.rows.ask(question, asked);
    if !model.rows.shown().contains(&index) {
        // What was just asked is not to be hidden by an old filter.
        model.filter.text.clear();
        model.rows.filter(&model.filter);
    }
    model.select(index);
    model.focus = Pane::Answer;
    let Some(row) = model.row() else { return (index, Vec::new()) };
    let request = Request { row: row.row, id: row.id.clone(), subject, filter, cancel };
    if model.run.is_running() {
        say(model, QUEUED);
    }
    (index, vec![Effect::Ask(request)])
}

/// Stops the answer on the screen, where one is on its way.
pub fn stop(model: &mut Model) -> Option<Effect> {
    let asked = model.row()?.asked.as_ref().filter(|asked| asked.is_open())?;
    let cancel = asked.cancel.clone();
    say(model, "stopping the answer");
    Some(Effect::CancelAnswer(cancel))
}

/// News of an answer.
pub fn receive(model: &mut Model, row: usize, news: AnswerNews) {
    let Some(index) = model.rows.index_of(row) else { return };
    let Some(asked) = model.rows.asked_mut(index) else { return };
    match news {
        AnswerNews::Stage(stage) => {
            asked.state = AskState::Working(stage);
            // Its turn has come.
            if model.toast.as_ref().is_some_and(|toast| toast.text == QUEUED) {
                model.toast = None;
            }
            return;
        }
        AnswerNews::Piece(piece) => asked.streamed.push_str(&piece),
        AnswerNews::Done => asked.state = AskState::Done,
        AnswerNews::Failed(reason) => asked.state = AskState::Failed(reason),
    }
    let is_done = asked.state == AskState::Done;
    if index == model.selected {
        model.refresh();
        if is_done {
            model.token = model.first_flagged_token();
        }
    } else if is_done && let Some(row) = model.rows.get(index) {
        let text = format!("{} is answered: it stands at the end of the list", row.id);
        say(model, text);
    }
}

/// Nobody answers any more.
pub fn ended(model: &mut Model, reason: &str) {
    model.asking = Err(reason.to_owned());
    model.rows.end_asking(reason);
}
