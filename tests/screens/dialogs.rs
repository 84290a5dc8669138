//! Dialogs: what they look like, and that no size breaks them.

use ragscope::evidence::Annotations;
use ragscope::inspect::{AnswerNews, Message};
use ragscope::tui::{
    Action, Annotating, Command, DialogKey, Effect, ExportFailure, Model, Pane, Theme, update,
};

use super::{THEMES, act, complete, demo, dump, partial, screen, tell};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

pub fn keys(model: &mut Model, keys: &[DialogKey]) {
    for key in keys {
        update(model, Action::Dialog(key.clone()));
    }
}

pub fn snapshots(state: &str, model: &mut Model) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_snapshot_path("../snapshots");
    settings.bind(|| {
        for (width, height) in SIZES {
            for (name, theme) in THEMES {
                let (buffer, _) = screen(model, &theme, width, height);
                insta::assert_snapshot!(format!("{state}_{width}x{height}_{name}"), dump::dump(&buffer));
            }
        }
    });
    for width in [0, 1, 39, 40, 41, 60, 79, 120, 250] {
        for height in [0, 1, 7, 8, 9, 16, 24, 80] {
            screen(model, &Theme::DARK, width, height);
        }
    }
}

#[test]
fn the_export_dialog_offers_scope_form_and_name() {
    let mut model = complete();
    act(&mut model, Command::ExportDialog);
    snapshots("export", &mut model);
}

#[test]
fn the_export_dialog_asks_before_it_replaces() {
    let mut model = complete();
    act(&mut model, Command::ExportDialog);
    keys(&mut model, &[DialogKey::Accept]);
    update(&mut model, Action::Exported(Err(ExportFailure::Exists("ragscope-report.html".into()))));
    snapshots("export_exists", &mut model);
}

fn text(text: &str) -> DialogKey {
    DialogKey::Text(text.to_owned())
}

#[test]
fn a_question_is_typed_over_the_screen_and_waits_for_a_run_that_goes_on() {
    let mut model = partial();
    model.asking = Ok(());
    act(&mut model, Command::Ask);
    let question = "Who built the 石の桟橋 (the stone pier), when was it finished, and may a family with two \
                    dogs 🐕🐕 walk on it in winter?";
    keys(&mut model, &[text(question), DialogKey::WordLeft, DialogKey::NextField]);
    snapshots("ask", &mut model);
}

#[test]
fn an_answer_is_seen_while_it_is_written() {
    let mut model = complete();
    model.asking = Ok(());
    act(&mut model, Command::Ask);
    keys(&mut model, &[text("When does the last ferry sail?")]);
    let effects = update(&mut model, Action::Dialog(DialogKey::Accept));
    let [Effect::Ask(request)] = &effects[..] else { panic!("{effects:?}") };
    let mut evidence = demo::unread(demo::all().remove(0));
    (evidence.row, evidence.id, evidence.answer) = (request.row, request.id.clone(), None);
    evidence.question = "When does the last ferry sail?".to_owned();
    tell(&mut model, Message::Evidence(Box::new(evidence)));
    let row = request.row;
    for news in [
        AnswerNews::Stage("writing the answer from all passages".to_owned()),
        AnswerNews::Piece("The last boat leaves Norsund at half past".to_owned()),
        AnswerNews::Piece(" eight in the evening".to_owned()),
    ] {
        tell(&mut model, Message::Answer { row, news });
    }
    snapshots("answering", &mut model);
}

/// The first answer with a wrong flag, a missed span, and a selection under way.
fn marked() -> Model {
    let mut model = complete();
    model.annotating =
        Annotating::new(Annotations::default(), None, "harbour-faq.jsonl.annotations.jsonl".into());
    act(&mut model, Command::Focus(Pane::Answer));
    act(&mut model, Command::MarkFalseAlarm);
    act(&mut model, Command::First);
    act(&mut model, Command::SelectTokens);
    for _ in 0..4 {
        act(&mut model, Command::Right);
    }
    act(&mut model, Command::MarkMissed);
    model
}

#[test]
fn marks_stand_under_the_answer_and_a_selection_is_seen() {
    let mut model = marked();
    for _ in 0..6 {
        act(&mut model, Command::Right);
    }
    act(&mut model, Command::SelectTokens);
    for _ in 0..5 {
        act(&mut model, Command::Right);
    }
    snapshots("marked", &mut model);
}

#[test]
fn the_list_of_marks_counts_the_agreement() {
    let mut model = marked();
    model.select(2);
    act(&mut model, Command::Checked);
    act(&mut model, Command::Marks);
    keys(&mut model, &[DialogKey::Down]);
    snapshots("marks", &mut model);
}
