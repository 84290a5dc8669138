//! Keys of the export dialog.

use std::path::PathBuf;
use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::tests::{act, model, tell};
use super::*;
use crate::evidence::Thresholds;
use crate::inspect::Message;
use crate::tui::action::{ExportKind, action_for, context};
use crate::tui::hit::Target;
use crate::tui::model::{Dialog, DialogItem, ExportField, ExportScope, ExportStage};

fn press(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    let action = action_for(&model.keys, context(model), KeyEvent::new(code, KeyModifiers::NONE));
    action.map_or_else(Vec::new, |action| update(model, action))
}

fn presses(model: &mut Model, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for c in keys.chars() {
        let code = match c {
            '\t' => KeyCode::Tab,
            '\r' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            '\u{8}' => KeyCode::Backspace,
            '>' => KeyCode::Right,
            '<' => KeyCode::Left,
            c => KeyCode::Char(c),
        };
        effects.extend(press(model, code));
    }
    effects
}

fn orders(effects: Vec<Effect>) -> Vec<(ExportKind, usize, Option<String>, Existing)> {
    effects
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Export(order) => {
                Some((order.kind, order.evidence.len(), order.name.clone(), order.existing))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn keys_choose_what_is_written_in_which_form_and_under_which_name() {
    use ExportKind::{Csv, Html, Json, Markdown, Svg};
    // From the form: > and < choose, Tab goes to the name and then to the scope.
    for (keys, kind, examples, name) in [
        ("e\r", Html, 3, "ragscope-report.html"),
        ("e>\r", Markdown, 3, "ragscope-report.md"),
        ("e>>\r", Json, 3, "ragscope-report.json"),
        ("ell l\r", Svg, 0, "ragscope-view.svg"),
        ("e<\r", Svg, 0, "ragscope-view.svg"),
        ("e>>>\t\t>\r", Csv, 1, "ragscope-q0.csv"),
        ("e\t\t<\r", Html, 3, "ragscope-report.html"),
        ("e\t2\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}-b.html\r", Html, 3, "ragscope-report-b.html"),
        ("/q1\re\t\t<\r", Html, 1, "ragscope-report.html"),
    ] {
        let mut model = model();
        let effects = presses(&mut model, keys);
        assert_eq!(orders(effects), [(kind, examples, Some(name.to_owned()), Existing::Ask)], "{keys:?}");
    }
}

#[test]
fn the_choices_of_the_last_export_are_there_again() {
    let mut model = model();
    presses(&mut model, "e>\t\t>\r");
    update(&mut model, Action::Exported(Ok(PathBuf::from("ragscope-q0.md"))));
    assert!(model.dialog.is_none());
    assert_eq!(model.toast.as_ref().map(|toast| toast.text.as_str()), Some("wrote ragscope-q0.md"));
    act(&mut model, Command::ExportDialog);
    let Some(Dialog::Export(dialog)) = &model.dialog else { panic!("{:?}", model.dialog) };
    assert_eq!((dialog.scope, dialog.form), (ExportScope::Example, ExportKind::Markdown));
}

#[test]
fn a_file_that_is_there_is_replaced_only_when_y_says_so() {
    for (answer, expected) in [
        ("y", vec![Existing::Replace]),
        ("b", vec![Existing::Beside]),
        ("n", vec![]),
        ("\r", vec![]),
        ("\u{1b}", vec![]),
    ] {
        let mut model = model();
        presses(&mut model, "e\r");
        update(&mut model, Action::Exported(Err(ExportFailure::Exists(PathBuf::from("x.html")))));
        let effects = presses(&mut model, answer);
        let existing: Vec<Existing> = orders(effects).into_iter().map(|(.., existing)| existing).collect();
        assert_eq!(existing, expected, "{answer:?}");
        let Some(Dialog::Export(dialog)) = &model.dialog else { panic!("{:?}", model.dialog) };
        if matches!(answer, "n" | "\u{1b}") {
            assert_eq!((&dialog.stage, dialog.field), (&ExportStage::Choosing, ExportField::Name));
        }
    }
}

#[test]
fn a_refusal_stays_in_the_dialog_until_a_key_and_the_screen_stays_alive() {
    let mut model = model();
    presses(&mut model, "e\r");
    let failure = ExportFailure::Failed("the disk is full; free some".into());
    update(&mut model, Action::Exported(Err(failure)));
    let stage = |model: &Model| match &model.dialog {
        Some(Dialog::Export(dialog)) => dialog.stage.clone(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(stage(&model), ExportStage::Refused(_)));
    presses(&mut model, "\u{1b}");
    assert_eq!(stage(&model), ExportStage::Choosing);
    presses(&mut model, "\u{1b}");
    assert!(model.dialog.is_none());
    // Without a dialog a failure is a message that Esc closes.
    update(&mut model, Action::Exported(Err(ExportFailure::Failed("no".into()))));
    assert_eq!(model.toast.as_ref().map(|toast| toast.tone), Some(Tone::Error));
    act(&mut model, Command::Back);
    assert_eq!(model.toast, None);
}

#[test]
fn what_cannot_be_written_says_why_before_anything_is_tried() {
    let mut model = model();
    let effects = presses(&mut model, "e\t\u{8}\u{8}\u{8}");
    assert!(effects.is_empty());
    let Some(Dialog::Export(dialog)) = &mut model.dialog else { panic!() };
    dialog.name = crate::tui::model::LineInput::new("  ");
    assert!(presses(&mut model, "\r").is_empty());
    let Some(Dialog::Export(dialog)) = &model.dialog else { panic!() };
    assert!(matches!(&dialog.stage, ExportStage::Refused(reason) if reason.contains("needs a name")));
    let mut empty = Model::new("t", Thresholds::default(), Thresholds::default(), Arc::new(|_| Vec::new()));
    tell(&mut empty, Message::Stage("x".into()));
    act(&mut empty, Command::ExportDialog);
    assert!(empty.dialog.is_none() && empty.toast.is_some());
}

#[test]
fn a_press_chooses_and_a_press_beside_the_dialog_loses_nothing() {
    let mut model = model();
    presses(&mut model, "e");
    for target in [
        Target::Dialog(DialogItem::Form(ExportKind::Csv)),
        Target::Dialog(DialogItem::Scope(ExportScope::Shown)),
        Target::Example(1),
    ] {
        update(&mut model, Action::Press { target, column: 0, track: (0, 1) });
    }
    let Some(Dialog::Export(dialog)) = &model.dialog else { panic!("{:?}", model.dialog) };
    assert_eq!((dialog.scope, dialog.form), (ExportScope::Shown, ExportKind::Csv));
    assert_eq!(model.selected, 0);
}
