//! Keys in, state out: tables of a start, keys, and what holds after them.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyEvent, KeyEventKind};

use super::*;
use crate::evidence::Thresholds;
use crate::tui::action::{Key, KeyMap};
use crate::tui::event::{Event, actions};
use crate::tui::hit::{HitMap, Target};
use crate::tui::model::{Preset, PresetAnswer, PresetFailure};

/// Three answers; the first and the last have a flagged span.
fn start() -> Model {
    super::tests::model()
}

fn with_presets() -> Model {
    let mut model = start();
    let preset = |name: &str, token| Preset::of(name, &Thresholds { token, ..model.thresholds.clone() });
    model.presets = vec![preset("loose", 0.8), preset("strict", 0.2)];
    model
}

/// Presses keys, written as key maps write them and separated by blanks; `'text'` types a text.
fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for word in keys.split_whitespace() {
        let typed: Vec<Key> = match word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) {
            Some(text) => text.chars().map(|c| c.to_string().parse().unwrap()).collect(),
            None => vec![word.parse().unwrap_or_else(|error| panic!("{error}"))],
        };
        for key in typed {
            let event = KeyEvent::new_with_kind(key.code, key.modifiers, KeyEventKind::Press);
            for action in actions(Event::Key(event), model, &HitMap::default()) {
                effects.extend(update(model, action));
            }
            while model.rows.has_pending() {
                model.rows.decide_slice();
            }
        }
    }
    effects
}

/// What a table looks at.
fn state(model: &Model) -> String {
    let overlay = match &model.overlay {
        None => "-".to_owned(),
        Some(Overlay::Help { query, typing, .. }) => format!("help {query:?} {typing}"),
        Some(Overlay::Notices { .. }) => "notices".into(),
        Some(Overlay::Palette { query, selected }) => format!("palette {query:?} {selected}"),
        Some(Overlay::Presets(list)) => {
            format!("presets {} {:?} {}", list.selected, list.naming, list.question.is_some())
        }
        #[allow(unreachable_patterns, reason = "other overlays have tables of their own")]
        Some(_) => "other".into(),
    };
    let toast = model.toast.as_ref().map_or("", |toast| toast.text.as_str());
    format!(
        "{:?} {} token {:.2} alpha {:.3} [{overlay}] {toast}",
        model.focus,
        model.selected,
        model.thresholds.token,
        model.thresholds.alpha.value()
    )
    .trim_end()
    .to_owned()
}

#[track_caller]
fn table(start: impl Fn() -> Model, rows: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (keys, expected) in rows {
        let mut model = start();
        press(&mut model, keys);
        if state(&model) != *expected {
            wrong.push(format!("{keys}\n  expected {expected}\n  came     {}", state(&model)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_palette_finds_an_action_and_does_it_where_it_belongs() {
    table(
        start,
        &[
            (":", "Examples 0 token 0.50 alpha 0.100 [palette \"\" 0]"),
            (": Esc", "Examples 0 token 0.50 alpha 0.100 [-]"),
            (": Down Down Up", "Examples 0 token 0.50 alpha 0.100 [palette \"\" 1]"),
            (": Ctrl-n Ctrl-n Ctrl-p", "Examples 0 token 0.50 alpha 0.100 [palette \"\" 1]"),
            (": Up", "Examples 0 token 0.50 alpha 0.100 [palette \"\" 0]"),
            (": 'toanswer' Enter", "Answer 0 token 0.50 alpha 0.100 [-]"),
            (": 'tot' Backspace 'sliders' Enter", "Sliders 0 token 0.50 alpha 0.100 [-]"),
            // An action of another pane takes the keys there.
            (": 'greatest' Enter", "Sliders 0 token 0.50 alpha 1.000 [-]"),
            // Names count as well as what they do.
            (": 'previous-flagged' Enter", "Examples 2 token 0.50 alpha 0.100 [-]"),
            // What does nothing now stays in the palette, with its reason there.
            (": 'resetall' Enter", "Examples 0 token 0.50 alpha 0.100 [palette \"resetall\" 0]"),
            (": 'zzzz' Enter", "Examples 0 token 0.50 alpha 0.100 [palette \"zzzz\" 0]"),
            ("? :", "Examples 0 token 0.50 alpha 0.100 [palette \"\" 0]"),
            (": 'thishelp' Enter", "Examples 0 token 0.50 alpha 0.100 [help \"\" false]"),
        ],
    );
}

#[test]
fn changes_of_thresholds_are_undone_and_redone_step_by_step() {
    table(
        start,
        &[
            ("5 j l l", "Sliders 0 token 0.52 alpha 0.100 [-]"),
            (
                "5 j l l u",
                "Sliders 0 token 0.51 alpha 0.100 [-] undone: token 0.52 → 0.51; Ctrl-r does it again",
            ),
            ("5 j l l u u Ctrl-r", "Sliders 0 token 0.51 alpha 0.100 [-] done again: token 0.50 → 0.51"),
            (
                "5 l j l u u",
                "Sliders 0 token 0.50 alpha 0.100 [-] undone: alpha 0.105 → 0.100; Ctrl-r does it again",
            ),
            ("u", "Examples 0 token 0.50 alpha 0.100 [-] no threshold has been changed"),
            (
                "5 l u Ctrl-r Ctrl-r",
                "Sliders 0 token 0.50 alpha 0.105 [-] no change of a threshold was taken back",
            ),
            // A new change forgets what was taken back.
            (
                "5 j l u L Ctrl-r",
                "Sliders 0 token 0.60 alpha 0.100 [-] no change of a threshold was taken back",
            ),
            (
                "5 j = '0.25' Enter u",
                "Sliders 0 token 0.50 alpha 0.100 [-] undone: token 0.25 → 0.50; Ctrl-r does it again",
            ),
            (
                "5 j L l R u",
                "Sliders 0 token 0.61 alpha 0.100 [-] undone: token 0.50 → 0.61; Ctrl-r does it again",
            ),
            // In the answer the same key takes back a mark, and where there is none a threshold.
            (
                "5 j l l 3 u u",
                "Answer 0 token 0.50 alpha 0.100 [-] undone: token 0.51 → 0.50; Ctrl-r does it again",
            ),
            ("5 j l l 3 u Ctrl-r", "Answer 0 token 0.52 alpha 0.100 [-] done again: token 0.51 → 0.52"),
            // A key that changes nothing is no step.
            ("5 j End End l u u", "Sliders 0 token 0.50 alpha 0.100 [-] no threshold has been changed"),
        ],
    );
}

#[test]
fn a_drag_is_one_step() {
    let mut model = start();
    let target = Target::Track(SliderName::Token);
    for (first, further) in [(20, [18, 16, 14]), (12, [13, 15, 30])] {
        update(&mut model, Action::Press { target, column: first, track: (10, 21) });
        for column in further {
            update(&mut model, Action::Drag { column, over: None });
        }
        update(&mut model, Action::Release);
    }
    assert_eq!(model.thresholds.token, 1.0);
    press(&mut model, "u");
    assert_eq!(model.thresholds.token, 0.2);
    press(&mut model, "u");
    assert_eq!(model.thresholds.token, 0.5);
    press(&mut model, "Ctrl-r Ctrl-r");
    assert_eq!(model.thresholds.token, 1.0);
    // Undone while the slider is still held: it is let go.
    update(&mut model, Action::Press { target, column: 20, track: (10, 21) });
    press(&mut model, "u");
    assert_eq!((model.drag, model.thresholds.token), (None, 1.0));
}

#[test]
fn presets_are_listed_used_named_and_deleted_after_a_question() {
    table(
        with_presets,
        &[
            ("p", "Examples 0 token 0.50 alpha 0.100 [presets 0 None false]"),
            ("p j j", "Examples 0 token 0.50 alpha 0.100 [presets 1 None false]"),
            ("p j Enter", "Examples 0 token 0.20 alpha 0.100 [-] thresholds of strict"),
            (
                "p j Enter u",
                "Examples 0 token 0.50 alpha 0.100 [-] undone: token 0.20 → 0.50; Ctrl-r does it again",
            ),
            ("p s 'mine'", "Examples 0 token 0.50 alpha 0.100 [presets 0 Some(\"mine\") false]"),
            ("P 'mine'", "Examples 0 token 0.50 alpha 0.100 [presets 0 Some(\"mine\") false]"),
            ("P 'mine' Esc", "Examples 0 token 0.50 alpha 0.100 [presets 0 None false]"),
            // A name that is there is asked about, and q types.
            ("P 'strict' Enter", "Examples 0 token 0.50 alpha 0.100 [presets 1 None true]"),
            ("P 'strict' Enter n", "Examples 0 token 0.50 alpha 0.100 [presets 1 None false]"),
            ("P 'strict' Enter Enter", "Examples 0 token 0.50 alpha 0.100 [presets 1 None true]"),
            ("P 'q' Backspace Enter", "Examples 0 token 0.50 alpha 0.100 [presets 0 None false]"),
            ("p d", "Examples 0 token 0.50 alpha 0.100 [presets 0 None true]"),
            ("p d Esc", "Examples 0 token 0.50 alpha 0.100 [presets 0 None false]"),
            ("p Esc", "Examples 0 token 0.50 alpha 0.100 [-]"),
            ("p d q", "Examples 0 token 0.50 alpha 0.100 [-]"),
        ],
    );
    table(
        start,
        &[("p Enter", "Examples 0 token 0.50 alpha 0.100 [presets 0 None false] there is no preset yet")],
    );
}

#[test]
fn only_what_was_confirmed_reaches_the_store_as_a_replacement() {
    let mut model = with_presets();
    let preset = |name: &str, model: &Model| Preset::of(name, &model.thresholds);
    let list = Effect::Presets(PresetRequest::List);
    let saved = press(&mut model, "P 'mine' Enter");
    let new = PresetRequest::Save { preset: preset("mine", &model), replace: false };
    assert_eq!(saved, [list.clone(), Effect::Presets(new.clone())]);
    assert_eq!(press(&mut model, "s 'strict' Enter"), []);
    let replaced = PresetRequest::Save { preset: preset("strict", &model), replace: true };
    assert_eq!(press(&mut model, "y"), [Effect::Presets(replaced)]);
    let deleted = PresetRequest::Delete { name: "strict".into() };
    assert_eq!(press(&mut model, "d y"), [Effect::Presets(deleted)]);
    // Another window has saved one of the same name meanwhile: the store refuses, and it is asked.
    press(&mut model, "Esc");
    answer(&mut model, new, Err(PresetFailure::Exists));
    let overwrite = PresetRequest::Save { preset: preset("mine", &model), replace: true };
    assert_eq!(press(&mut model, "y"), [Effect::Presets(overwrite)]);
}

fn answer(model: &mut Model, request: PresetRequest, answer: PresetAnswer) {
    assert_eq!(update(model, Action::Presets(request, answer)), []);
}

#[test]
fn what_the_store_answers_is_shown_and_a_failure_stays_until_escape() {
    let mut model = with_presets();
    press(&mut model, "p j");
    let all = model.presets.clone();
    let preset = all[0].clone();
    answer(&mut model, PresetRequest::Save { preset, replace: false }, Ok(all));
    assert_eq!(state(&model), "Examples 0 token 0.50 alpha 0.100 [presets 0 None false] saved as loose");
    answer(&mut model, PresetRequest::Delete { name: "loose".into() }, Ok(Vec::new()));
    assert_eq!(state(&model), "Examples 0 token 0.50 alpha 0.100 [presets 0 None false] deleted loose");
    let reason = "cannot write presets.toml: the disk is full";
    answer(&mut model, PresetRequest::List, Err(PresetFailure::Failed(reason.into())));
    press(&mut model, "Esc j");
    assert_eq!(state(&model), format!("Examples 1 token 0.50 alpha 0.100 [-] {reason}"));
}

#[test]
fn a_disabled_key_says_why() {
    let empty = || Model::new("", Thresholds::default(), Thresholds::default(), Arc::new(|_| Vec::new()));
    table(
        empty,
        &[
            ("j", "Examples 0 token 0.50 alpha 0.100 [-] there is no example yet"),
            ("2 j", "Chunks 0 token 0.50 alpha 0.100 [-] this example has no chunks"),
            ("3 l", "Answer 0 token 0.50 alpha 0.100 [-] this answer has not been read"),
            (
                "]",
                "Examples 0 token 0.50 alpha 0.100 [-] this answer has not been read, so nothing is flagged",
            ),
            ("}", "Examples 0 token 0.50 alpha 0.100 [-] no answer of the list is flagged at 0.50"),
            ("E", "Examples 0 token 0.50 alpha 0.100 [-] there is nothing to export yet"),
            ("y", "Examples 0 token 0.50 alpha 0.100 [-] there is no example to copy"),
            ("Y", "Examples 0 token 0.50 alpha 0.100 [-] there is no answer to copy"),
            ("d", "Examples 0 token 0.50 alpha 0.100 [-] this answer has not been read"),
            ("5 r", "Sliders 0 token 0.50 alpha 0.100 [-] alpha is at its default"),
            ("5 R", "Sliders 0 token 0.50 alpha 0.100 [-] every threshold is at its default"),
        ],
    );
    table(
        start,
        &[
            (
                "/ 'zzz' Enter j",
                "Examples 0 token 0.50 alpha 0.100 [-] no example passes the filter: Esc clears it",
            ),
            ("d", "Examples 0 token 0.50 alpha 0.100 [-] this record holds the scores of one detector only"),
            (
                "3 g y",
                "Answer 0 token 0.50 alpha 0.100 [-] the cursor is on no flagged span: ] goes to the next, Y copies \
                 the answer",
            ),
        ],
    );
}

#[test]
fn the_users_keys_do_what_the_tables_did_and_the_tables_keys_nothing() {
    let text = "next-flagged = [\")\"]\nprevious-flagged = [\"(\"]\nnext-span = [\"Ctrl-n\"]\nquit = [\"Ctrl-x\"]\n\
                palette = [\"%\"]\nprompt-accept = [\"Tab\"]\nprompt-leave = [\"Ctrl-g\"]\nclose = [\"Q\"]\n";
    let (map, warnings) = KeyMap::parse(text).unwrap();
    assert_eq!(warnings, []);
    let own = || {
        let mut model = start();
        model.keys = Arc::new(map.clone());
        model
    };
    table(
        own,
        &[
            (")", "Examples 2 token 0.50 alpha 0.100 [-]"),
            ("(", "Examples 2 token 0.50 alpha 0.100 [-]"),
            ("} {", "Examples 0 token 0.50 alpha 0.100 [-]"),
            ("% 'toanswer' Tab", "Answer 0 token 0.50 alpha 0.100 [-]"),
            ("% 'toanswer' Enter", "Examples 0 token 0.50 alpha 0.100 [palette \"toanswer\" 0]"),
            ("% Ctrl-g", "Examples 0 token 0.50 alpha 0.100 [-]"),
            ("Esc", "Examples 0 token 0.50 alpha 0.100 [-] stopping: what has been read stays, Q quits"),
        ],
    );
    assert_eq!(press(&mut own(), "Ctrl-c q"), []);
    assert_eq!(press(&mut own(), "Ctrl-x"), [Effect::CancelRun, Effect::Quit]);
}

#[test]
fn a_press_on_a_line_of_the_palette_does_it_and_beside_it_closes_it() {
    let mut model = start();
    press(&mut model, ": 'toanswer'");
    let on = |target| Action::Press { target, column: 3, track: (0, 9) };
    update(&mut model, on(Target::OverlayLine(0)));
    assert_eq!((model.focus, &model.overlay), (Pane::Answer, &None));
    press(&mut model, ":");
    update(&mut model, on(Target::Overlay));
    assert!(model.overlay.is_some());
    update(&mut model, on(Target::Pane(Pane::Examples)));
    assert_eq!((model.focus, &model.overlay), (Pane::Answer, &None));
    let mut model = with_presets();
    press(&mut model, "p");
    update(&mut model, on(Target::OverlayLine(1)));
    assert_eq!(model.thresholds.token, 0.5);
    update(&mut model, on(Target::OverlayLine(1)));
    assert_eq!((model.thresholds.token, &model.overlay), (0.2, &None));
}
