//! Asking: keys, news, and what is on the screen meanwhile.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::tests::{act, evidence, model as plain_model, tell};
use super::*;
use crate::evidence::Evidence;
use crate::inspect::{AnswerNews, ChunkFilter, Message, RequestSubject};
use crate::tui::action::{action_for, context};
use crate::tui::event::{Event, actions};
use crate::tui::hit::HitMap;
use crate::tui::model::{AskState, Dialog};

fn model() -> Model {
    let mut model = plain_model();
    model.asking = Ok(());
    tell(&mut model, Message::Finished);
    model
}

fn press(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    let action = action_for(&model.keys, context(model), KeyEvent::new(code, KeyModifiers::NONE));
    action.map_or_else(Vec::new, |action| update(model, action))
}

fn typed(model: &mut Model, text: &str) {
    for c in text.chars() {
        assert!(press(model, KeyCode::Char(c)).is_empty());
    }
}

/// Asks by keys; the request.
fn asked(model: &mut Model, question: &str) -> Request {
    press(model, KeyCode::Char('a'));
    typed(model, question);
    let effects = press(model, KeyCode::Enter);
    let [Effect::Ask(request)] = &effects[..] else { panic!("{effects:?}") };
    request.clone()
}

fn news(model: &mut Model, row: usize, news: AnswerNews) {
    tell(model, Message::Answer { row, news });
}

fn answered(row: usize) -> Evidence {
    let mut evidence = evidence(row, 6..8);
    evidence.id = "asked-1".into();
    evidence
}

#[test]
fn a_question_becomes_the_last_row_at_once_and_its_answer_is_heard_word_by_word() {
    let mut model = model();
    let request = asked(&mut model, "who qa?");
    assert_eq!(request.subject, RequestSubject::Question("who qa?".into()));
    assert_eq!((request.row, request.id.as_str(), request.filter), (3, "asked-1", ChunkFilter::All));
    assert_eq!((model.selected, model.focus, model.rows.len()), (3, Pane::Answer, 4));
    let mut unread = answered(3);
    (unread.reading, unread.answer) = (None, None);
    tell(&mut model, Message::Evidence(Box::new(unread)));
    news(&mut model, 3, AnswerNews::Stage("writing".into()));
    for piece in ["w0", " w1"] {
        news(&mut model, 3, AnswerNews::Piece(piece.into()));
    }
    let row = model.row().unwrap();
    assert_eq!(row.asked.as_ref().unwrap().streamed, "w0 w1");
    tell(&mut model, Message::Evidence(Box::new(answered(3))));
    news(&mut model, 3, AnswerNews::Done);
    assert_eq!(model.row().unwrap().asked.as_ref().unwrap().state, AskState::Done);
    assert_eq!((model.token, model.rows.total().read), (6, 4));
}

#[test]
fn escape_stops_the_answer_on_the_screen_and_not_the_run() {
    let mut model = model();
    let request = asked(&mut model, "q?");
    model.run.phase = Phase::Running;
    model.toast = None;
    assert_eq!(act(&mut model, Command::Back), [Effect::CancelAnswer(request.cancel)]);
    assert_eq!(model.run.phase, Phase::Running);
    news(&mut model, 3, AnswerNews::Failed("stopped".into()));
    model.toast = None;
    assert_eq!(act(&mut model, Command::Back), [Effect::CancelRun], "the next one is the run's");
}

#[test]
fn a_question_can_be_pasted_edited_and_asked_of_trusted_passages_only() {
    let mut model = model();
    press(&mut model, KeyCode::Char('a'));
    let hits = HitMap::default();
    for action in actions(Event::Paste("who\nwas\u{1b}[2J né?".into()), &model, &hits) {
        update(&mut model, action);
    }
    for code in [KeyCode::Left, KeyCode::Backspace, KeyCode::Char('ó'), KeyCode::Tab] {
        press(&mut model, code);
    }
    let effects = press(&mut model, KeyCode::Enter);
    let [Effect::Ask(request)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(request.subject, RequestSubject::Question("who was[2J nó?".into()));
    assert_eq!(request.filter, ChunkFilter::Trusted(model.thresholds.alpha));
    // The last question comes back with one key.
    press(&mut model, KeyCode::Char('a'));
    press(&mut model, KeyCode::Up);
    let Some(Dialog::Ask(dialog)) = &model.dialog else { panic!() };
    assert_eq!(dialog.question.text(), "who was[2J nó?");
}

#[test]
fn a_blank_question_is_not_asked_and_escape_leaves_the_prompt() {
    let mut model = model();
    press(&mut model, KeyCode::Char('a'));
    typed(&mut model, "  ");
    assert!(press(&mut model, KeyCode::Enter).is_empty());
    assert!(matches!(&model.dialog, Some(Dialog::Ask(dialog)) if dialog.refusal.is_some()));
    press(&mut model, KeyCode::Esc);
    assert!(model.dialog.is_none());
    assert_eq!(model.rows.len(), 3);
}

#[test]
fn where_nothing_can_be_asked_the_key_says_why() {
    let mut model = plain_model();
    for (command, reason) in
        [(Command::Ask, "no documents here"), (Command::AnswerAgain, "no documents here")]
    {
        model.asking = Err("no documents here".into());
        assert!(act(&mut model, command).is_empty());
        assert!(model.dialog.is_none());
        assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains(reason)));
    }
    // A run that ends early takes its questions with it.
    model.asking = Ok(());
    let request = asked(&mut model, "q?");
    tell(&mut model, Message::Failed("the model is not here".into()));
    assert_eq!(why_not_ask(&model).as_deref(), Some("the model is not here"));
    let index = model.rows.index_of(request.row).unwrap();
    let state = &model.rows.get(index).unwrap().asked.as_ref().unwrap().state;
    assert_eq!(*state, AskState::Failed("the model is not here".into()));
}

#[test]
fn once_more_from_trusted_passages_makes_a_pair() {
    let mut model = model();
    let effects = act(&mut model, Command::AnswerAgain);
    let [Effect::Ask(request)] = &effects[..] else { panic!("{effects:?}") };
    assert!(matches!(&request.subject, RequestSubject::Again(of) if of.id == "q0"));
    assert_eq!(request.filter, ChunkFilter::Trusted(model.thresholds.alpha));
    assert_eq!(model.rows.get(0).unwrap().sibling, Some(3));
    assert_eq!(model.row().unwrap().sibling, Some(0));
    model.select(0);
    let mut uncertified = evidence(0, 0..0);
    uncertified.chunks[0].p_value = None;
    tell(&mut model, Message::Evidence(Box::new(uncertified)));
    assert!(why_not_again(&model).is_some_and(|reason| reason.contains("certified")));
    assert!(act(&mut model, Command::AnswerAgain).is_empty());
}

#[test]
fn while_the_run_goes_on_a_question_is_queued_and_said_to_be() {
    let mut model = model();
    model.run.phase = Phase::Running;
    asked(&mut model, "q?");
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.starts_with("queued")));
    let row = model.row().map_or(0, |row| row.row);
    news(&mut model, row, AnswerNews::Stage("writing".into()));
    assert_eq!(model.toast, None, "its turn has come");
    model.filter.text = "nothing has this".into();
    model.rows.filter(&model.filter);
    let request = asked(&mut model, "another?");
    assert_eq!(request.id, "asked-2");
    assert!(model.rows.shown().contains(&model.selected), "an old filter does not hide it");
}
