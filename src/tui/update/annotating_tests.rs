//! Marking: keys, pointer, undo, the list, and saving.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::tests::{act, evidence, model as plain_model, tell};
use super::*;
use crate::evidence::{Annotations, MarkKind, SavedAnnotations, ShownFlags};
use crate::inspect::Message;
use crate::tui::action::{action_for, context};
use crate::tui::hit::Target;
use crate::tui::model::{Annotating, Dialog};

/// Three answers of ten words `w0` to `w9`; flagged are w2 w3 of the first and w5 of the last.
fn model() -> Model {
    let mut model = plain_model();
    model.annotating = Annotating::new(Annotations::default(), None, "marks.jsonl".into());
    model.focus = Pane::Answer;
    model.token = 0;
    model
}

fn keys(model: &mut Model, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for c in keys.chars() {
        let code = match c {
            '\r' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            c => KeyCode::Char(c),
        };
        let action = action_for(&model.keys, context(model), KeyEvent::new(code, KeyModifiers::NONE));
        if let Some(action) = action {
            effects.extend(update(model, action));
        }
    }
    effects
}

/// Marks of the answer on the screen, shortly: `-w2 w3`.
fn marks(model: &Model) -> Vec<String> {
    let sign = |kind| if kind == MarkKind::FalseAlarm { "-" } else { "+" };
    model.marked().map_or_else(Vec::new, |marked| {
        marked.marks.iter().map(|mark| format!("{}{}", sign(mark.kind), mark.text)).collect()
    })
}

fn saves(effects: &[Effect]) -> usize {
    effects.iter().filter(|effect| matches!(effect, Effect::SaveMarks(_))).count()
}

#[test]
fn keys_mark_what_the_cursor_is_on_or_what_is_selected() {
    for (pressed, expected) in [
        ("lll-", vec!["-w2 w3"]),
        ("+", vec!["+w0"]),
        ("Vll+", vec!["+w0 w1 w2"]),
        ("lllllVhh-", vec!["-w3 w4 w5"]),
        ("Vl\u{1b}l+", vec!["+w2"]),
        ("VlVl+", vec!["+w2"]),
        ("Vlll+h-", vec!["+w0 w1 ", "-w2 w3"]),
        ("+l+", vec!["+w0", "+w1"]),
        ("Vl+", vec!["+w0 w1"]),
        ("Vl+hx", vec![]),
        ("-", vec![]),
        ("lll-u", vec![]),
        ("lll-uU", vec!["-w2 w3"]),
        ("+ll+uu", vec![]),
        ("+ll+uuUU", vec!["+w0", "+w2"]),
        ("+ll+u+", vec!["+w0", "+w2"]),
    ] {
        let mut model = model();
        keys(&mut model, pressed);
        assert_eq!(marks(&model), expected, "{pressed:?}");
    }
}

#[test]
fn a_selection_belongs_to_its_answer_and_escape_gives_it_up_before_anything_else() {
    let mut model = model();
    keys(&mut model, "Vll");
    assert_eq!(model.selection(), Some(0..3));
    keys(&mut model, "}");
    assert_eq!(model.selection(), None);
    model.select(0);
    keys(&mut model, "V");
    model.run.phase = Phase::Running;
    assert!(keys(&mut model, "\u{1b}").is_empty());
    assert_eq!((model.selection(), &model.run.phase), (None, &Phase::Running));
}

#[test]
fn the_pointer_selects_by_dragging_over_tokens() {
    let mut model = model();
    let press = |target| Action::Press { target, column: 3, track: (0, 9) };
    let drag = |over| Action::Drag { column: 5, over };
    update(&mut model, press(Target::Token(2)));
    update(&mut model, drag(Some(Target::Token(2))));
    assert_eq!(model.selection(), None, "a click is no selection");
    update(&mut model, drag(Some(Target::Token(5))));
    update(&mut model, drag(Some(Target::Pane(Pane::Chunks))));
    update(&mut model, Action::Release);
    assert_eq!(model.selection(), Some(2..6));
    update(&mut model, drag(Some(Target::Token(9))));
    assert_eq!(model.selection(), Some(2..6), "it was let go");
    keys(&mut model, "+");
    assert_eq!(marks(&model), ["+w2 w3 w4 w5"]);
    update(&mut model, press(Target::Token(1)));
    assert_eq!(model.selection(), None);
}

#[test]
fn every_change_is_written_one_after_the_other() {
    let mut model = model();
    assert_eq!(saves(&keys(&mut model, "+")), 1);
    assert_eq!(saves(&keys(&mut model, "ll+c")), 0, "the first one is still being written");
    let saved = |joined| {
        let path = "marks.jsonl".into();
        Action::MarksSaved(Box::new(Ok(SavedAnnotations { path, joined })))
    };
    let effects = update(&mut model, saved(None));
    let [Effect::SaveMarks(sent)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(sent, model.annotating.marks());
    assert!(model.marked().is_some_and(|marked| marked.checked && marked.marks.len() == 2));
    // Meanwhile the file got a mark of somebody else, and this one another of ours.
    let mut theirs = sent.clone();
    let other = evidence(2, 5..6);
    theirs.mark(&other, 0..2, MarkKind::FalseAlarm, ShownFlags::default());
    keys(&mut model, "ll+");
    let effects = update(&mut model, saved(Some(theirs)));
    assert_eq!(saves(&effects), 1);
    assert_eq!(model.annotating.marks().mark_count(), 4);
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains("somebody else")));
    assert!(update(&mut model, saved(None)).is_empty());
}

#[test]
fn taking_back_ones_own_mark_leaves_what_somebody_else_marked_in_the_same_answer() {
    let mut model = model();
    let effects = keys(&mut model, "+");
    let [Effect::SaveMarks(sent)] = &effects[..] else { panic!("{effects:?}") };
    let mut theirs = sent.clone();
    let answer = model.evidence().cloned().expect("an answer is shown");
    theirs.mark(&answer, 6..8, MarkKind::FalseAlarm, ShownFlags::default());
    let saved = SavedAnnotations { path: "marks.jsonl".into(), joined: Some(theirs) };
    update(&mut model, Action::MarksSaved(Box::new(Ok(saved))));
    assert_eq!(marks(&model), ["+w0", "-w2"]);
    keys(&mut model, "u");
    assert_eq!(marks(&model), ["-w2"]);
    keys(&mut model, "U");
    assert_eq!(marks(&model), ["+w0", "-w2"]);
}

#[test]
fn what_could_not_be_written_is_told_kept_and_tried_again() {
    let mut model = model();
    keys(&mut model, "+");
    update(&mut model, Action::MarksSaved(Box::new(Err("the folder takes no file".into()))));
    assert_eq!(model.toast.as_ref().map(|toast| toast.tone), Some(Tone::Error));
    assert_eq!(marks(&model), ["+w0"]);
    assert!(model.annotating.is_unsaved());
    assert_eq!(saves(&keys(&mut model, "ll+")), 1);
}

#[test]
fn the_list_goes_to_a_mark_and_removes_it_and_counts_the_agreement() {
    let mut model = model();
    keys(&mut model, "lll-");
    model.select(2);
    model.token = 9;
    keys(&mut model, "+");
    model.select(1);
    keys(&mut model, "A");
    let list = |model: &Model| match &model.dialog {
        Some(Dialog::Marks(list)) => list.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(list(&model).entries.len(), 2);
    let agreement = list(&model).agreement;
    // w2 and w3 are false alarms, w5 was left alone, w9 was missed.
    assert_eq!((agreement.answers, agreement.agreed, agreement.false_alarms, agreement.missed), (2, 1, 2, 1));
    keys(&mut model, "j\r");
    assert_eq!((model.selected, model.token, model.focus), (2, 9, Pane::Answer));
    assert!(model.dialog.is_none());
    keys(&mut model, "Ax");
    assert_eq!(list(&model).entries.len(), 1);
    keys(&mut model, "u");
    assert_eq!(list(&model).entries.len(), 2);
    keys(&mut model, "q");
    assert!(model.dialog.is_none());
}

#[test]
fn marks_of_another_answer_are_listed_and_lead_nowhere() {
    let mut model = model();
    keys(&mut model, "lll-");
    let mut changed = evidence(0, 2..4);
    changed.answer = Some("w0 w1 w2 w3 w4 w5 w6 w7 w8 wX".into());
    tell(&mut model, Message::Evidence(Box::new(changed)));
    assert!(model.marked().is_none());
    keys(&mut model, "A\r");
    assert!(model.dialog.is_some());
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains("q0")));
    keys(&mut model, "x");
    assert_eq!(model.annotating.marks().mark_count(), 1, "it stays in the file");
}

#[test]
fn where_nothing_can_be_marked_the_keys_say_why() {
    let commands = [
        Command::SelectTokens,
        Command::MarkFalseAlarm,
        Command::MarkMissed,
        Command::Unmark,
        Command::Checked,
    ];
    let mut model = model();
    model.annotating.closed = Some("it is somebody else's file".into());
    for command in commands.into_iter().chain([Command::Marks]) {
        model.toast = None;
        assert!(act(&mut model, command).is_empty());
        assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains("somebody")), "{command:?}");
        assert!(model.dialog.is_none() && model.selection().is_none());
    }
    model.annotating.closed = None;
    let mut unread = evidence(1, 0..0);
    unread.reading = None;
    tell(&mut model, Message::Evidence(Box::new(unread)));
    model.select(1);
    for command in commands {
        act(&mut model, command);
        assert!(why_not_mark(&model).is_some_and(|reason| reason.contains("not been read")));
        assert!(model.annotating.marks().is_empty(), "{command:?}");
    }
}
