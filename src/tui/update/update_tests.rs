use std::sync::Arc;

use super::*;
use crate::certify::PValue;
use crate::evidence::{ChunkEvidence, DetectorScores, Provenance, Reading, SCHEMA, Status};
use crate::evidence::{Evidence, Thresholds};
use crate::inspect::{Message, Planned};
use crate::tui::action::ExportKind;
use crate::tui::hit::Target;
use crate::tui::model::{CertifiedLevel, Highlighting, Phase, SliderName, Strip};

/// An answer of ten words; those in `hot` score .9, the others .1.
pub(in crate::tui) fn evidence(row: usize, hot: std::ops::Range<usize>) -> Evidence {
    let answer = "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9";
    let raw = (0..10).map(|word| if hot.contains(&word) { 0.9 } else { 0.1 }).collect();
    Evidence {
        schema: SCHEMA.into(),
        id: format!("q{row}"),
        row,
        status: Status::Ok,
        reason: None,
        notices: Vec::new(),
        question: format!("Question {row}?"),
        answer: Some(answer.into()),
        references: Vec::new(),
        groups: std::collections::BTreeMap::new(),
        chunks: vec![ChunkEvidence {
            id: "c".into(),
            document: None,
            text: "text".into(),
            range: None,
            score: None,
            p_value: Some(PValue { count: 3, out_of: 20 }),
            p_value_absent: None,
            correct: None,
            tokens_read: None,
        }],
        reading: Some(Reading {
            tokens: (0..10).map(|word| [word * 3, word * 3 + 2]).collect(),
            log_prob_with: vec![-1.0; 10],
            log_prob_without: vec![-2.0; 10],
            detectors: vec![DetectorScores { name: "cortex".into(), raw }],
            lookback: None,
            factuality: Some(0.4),
            factuality_absent: None,
        }),
        gold_spans: None,
        provenance: Provenance::default(),
    }
}

/// Three answers: the first and the last have a flagged span.
pub(super) fn model() -> Model {
    // Without smoothing a score is its token's own.
    let thresholds = Thresholds { rho: 0.5, ..Thresholds::default() };
    let guarantee: crate::tui::Guarantee = Arc::new(|alpha| vec![format!("{alpha:?}")]);
    let mut model = Model::new("t", thresholds.clone(), thresholds, guarantee);
    for (row, hot) in [(0, 2..4), (1, 0..0), (2, 5..6)] {
        tell(&mut model, Message::Evidence(Box::new(evidence(row, hot))));
    }
    model
}

pub(super) fn tell(model: &mut Model, message: Message) {
    assert_eq!(update(model, Action::Message(message)), []);
    settle(model);
}

pub(super) fn act(model: &mut Model, command: Command) -> Vec<Effect> {
    let effects = update(model, Action::Do(command));
    settle(model);
    effects
}

fn typed(model: &mut Model, text: &str) {
    for c in text.chars() {
        update(model, Action::Type(c));
    }
}

pub(super) fn settle(model: &mut Model) {
    while model.rows.has_pending() {
        model.rows.decide_slice();
    }
}

#[test]
fn planned_rows_fill_the_list_before_any_evidence_and_evidence_replaces_them() {
    let mut model = model();
    let planned = |row: usize| Planned { row, id: format!("q{row}"), question: "?".into() };
    tell(&mut model, Message::Planned((0..5).map(planned).collect()));
    assert_eq!((model.rows.len(), model.rows.total().read), (5, 3));
    tell(&mut model, Message::Evidence(Box::new(evidence(4, 1..3))));
    assert_eq!((model.rows.len(), model.rows.total().spans), (5, 3));
    tell(&mut model, Message::Evidence(Box::new(evidence(4, 0..0))));
    assert_eq!((model.rows.total().read, model.rows.total().spans), (4, 2));
}

#[test]
fn a_slider_decides_at_once_and_says_what_it_changed_against_its_default() {
    let mut model = model();
    act(&mut model, Command::Focus(Pane::Sliders));
    act(&mut model, Command::Down);
    assert_eq!(model.slider, SliderName::Token);
    assert_eq!(model.effect(SliderName::Token), None);
    for _ in 0..5 {
        act(&mut model, Command::LeapUp);
    }
    assert_eq!(model.thresholds.token, 1.0);
    let effect = model.effect(SliderName::Token).unwrap();
    assert_eq!((effect.before, effect.after, effect.changed), (2, 0, 2));
    assert!(model.findings.as_ref().is_some_and(|findings| !findings.flagged));
    act(&mut model, Command::Reset);
    assert_eq!(model.thresholds, model.defaults);
    assert_eq!(model.rows.total().spans, 2);
}

#[test]
fn effects_count_evidence_that_arrives_after_the_slider_moved() {
    let mut model = model();
    act(&mut model, Command::Focus(Pane::Sliders));
    act(&mut model, Command::Maximum);
    assert_eq!(model.effect(SliderName::Alpha).unwrap().before, 3);
    tell(&mut model, Message::Evidence(Box::new(evidence(7, 0..1))));
    let effect = model.effect(SliderName::Alpha).unwrap();
    assert_eq!((effect.before, effect.after, effect.changed), (4, 0, 4));
    assert_eq!(model.guarantee, ["Alpha(1000)"]);
}

#[test]
fn a_number_can_be_typed_and_nonsense_changes_nothing() {
    let mut model = model();
    act(&mut model, Command::Focus(Pane::Sliders));
    act(&mut model, Command::TypeZero);
    typed(&mut model, ".25x");
    update(&mut model, Action::Accept);
    assert_eq!(model.thresholds.alpha.thousandths(), 250);
    act(&mut model, Command::TypeNumber);
    typed(&mut model, "1.2.3");
    update(&mut model, Action::Accept);
    assert_eq!(model.thresholds.alpha.thousandths(), 250);
    assert!(model.toast.is_some());
    act(&mut model, Command::TypeNumber);
    typed(&mut model, "0.9");
    act(&mut model, Command::Back);
    assert_eq!((model.thresholds.alpha.thousandths(), &model.typed), (250, &None));
}

#[test]
fn a_press_on_a_track_sets_the_value_and_a_drag_beyond_its_end_stops_there() {
    let mut model = model();
    let target = Target::Track(SliderName::Token);
    update(&mut model, Action::Press { target, column: 20, track: (10, 21) });
    assert_eq!((model.thresholds.token, model.focus), (0.5, Pane::Sliders));
    update(&mut model, Action::Drag { column: 15, over: None });
    assert_eq!(model.thresholds.token, 0.25);
    update(&mut model, Action::Drag { column: 500, over: None });
    assert_eq!(model.thresholds.token, 1.0);
    update(&mut model, Action::Release);
    update(&mut model, Action::Drag { column: 12, over: None });
    assert_eq!(model.thresholds.token, 1.0);
}

#[test]
fn spans_and_flagged_examples_are_visited_round_the_end() {
    let mut model = model();
    assert_eq!(model.token, 2);
    act(&mut model, Command::NextSpan);
    assert_eq!(model.token, 2);
    act(&mut model, Command::NextFlagged);
    assert_eq!((model.selected, model.token), (2, 5));
    act(&mut model, Command::NextFlagged);
    assert_eq!(model.selected, 0);
    act(&mut model, Command::PreviousFlagged);
    assert_eq!(model.selected, 2);
    model.select(1);
    act(&mut model, Command::NextSpan);
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains("0.50")));
}

#[test]
fn the_filter_narrows_as_it_is_typed_and_escape_goes_back() {
    let mut model = model();
    act(&mut model, Command::Search);
    typed(&mut model, "question 2");
    assert_eq!((model.rows.shown(), model.selected), (&[2][..], 2));
    act(&mut model, Command::Back);
    assert_eq!((model.rows.shown().len(), model.selected), (3, 0));
    act(&mut model, Command::Search);
    typed(&mut model, "nothing like this");
    update(&mut model, Action::Accept);
    act(&mut model, Command::Down);
    assert!(model.rows.shown().is_empty());
    act(&mut model, Command::Back);
    assert_eq!(model.rows.shown().len(), 3);
}

#[test]
fn close_closes_what_is_open_and_quits_only_at_the_top() {
    let mut model = model();
    act(&mut model, Command::Help);
    assert_eq!(act(&mut model, Command::Close), []);
    assert_eq!(act(&mut model, Command::Close), [Effect::CancelRun, Effect::Quit]);
}

#[test]
fn escape_backs_out_level_by_level_and_stops_the_work_last() {
    let mut model = model();
    act(&mut model, Command::Zoom);
    act(&mut model, Command::Help);
    act(&mut model, Command::Search);
    typed(&mut model, "span");
    for _ in 0..3 {
        assert_eq!(act(&mut model, Command::Back), []);
    }
    assert!(model.overlay.is_none() && !model.zoom);
    assert_eq!(act(&mut model, Command::Back), [Effect::CancelRun]);
    assert_eq!(model.run.phase, Phase::Stopping);
    update(&mut model, Action::MessagesEnded(None));
    assert_eq!(model.run.phase, Phase::Finished);
    assert_eq!(act(&mut model, Command::Back), []);
}

#[test]
fn a_run_that_ends_without_a_word_has_failed_and_its_panic_is_kept() {
    let mut model = model();
    update(&mut model, Action::MessagesEnded(Some("index out of bounds".into())));
    assert!(matches!(&model.run.phase, Phase::Failed(why) if why.contains("index out of bounds")));
    // The message stays over the footer until Esc.
    act(&mut model, Command::Down);
    assert!(model.toast.is_some());
    act(&mut model, Command::Back);
    assert!(model.toast.is_none() && model.notices.len() == 1);
}

#[test]
fn a_finished_run_may_hang_up() {
    let mut model = model();
    tell(&mut model, Message::Finished);
    update(&mut model, Action::MessagesEnded(None));
    assert_eq!(model.run.phase, Phase::Finished);
}

#[test]
fn copy_takes_what_the_cursor_is_on() {
    let mut model = model();
    assert_eq!(act(&mut model, Command::Copy), [Effect::Copy("q0".into())]);
    act(&mut model, Command::Focus(Pane::Chunks));
    assert_eq!(act(&mut model, Command::Copy), [Effect::Copy("text".into())]);
    act(&mut model, Command::Focus(Pane::Answer));
    assert_eq!(act(&mut model, Command::Copy), [Effect::Copy("w2 w3".into())]);
    act(&mut model, Command::First);
    assert_eq!(act(&mut model, Command::Copy), []);
}

#[test]
fn an_export_says_where_it_went_and_a_failed_one_why() {
    let mut model = model();
    let effects = act(&mut model, Command::Export(ExportKind::Markdown));
    assert!(
        matches!(&effects[..], [Effect::Export(order)] if order.kind == ExportKind::Markdown && order.evidence.len() == 3)
    );
    update(&mut model, Action::Exported(Ok("report-2.md".into())));
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text == "wrote report-2.md"));
    update(&mut model, Action::Exported(Err(ExportFailure::Failed("the disk is full".into()))));
    assert!(model.toast.as_ref().is_some_and(|toast| toast.tone == Tone::Error));
}

#[test]
fn the_wheel_scrolls_what_is_under_the_pointer_and_moves_no_slider() {
    let mut model = model();
    act(&mut model, Command::Focus(Pane::Answer));
    update(&mut model, Action::Wheel { pane: Some(Pane::Examples), lines: 3 });
    assert_eq!((model.selected, model.focus), (1, Pane::Answer));
    let before = model.thresholds.clone();
    update(&mut model, Action::Wheel { pane: Some(Pane::Sliders), lines: 3 });
    assert_eq!(model.thresholds, before);
}

#[test]
fn switches_go_round() {
    let mut model = model();
    for _ in 0..4 {
        act(&mut model, Command::CycleStrip);
    }
    assert_eq!(model.strip, Strip::Automatic);
    assert_eq!(act(&mut model, Command::Mouse), [Effect::Mouse(false)]);
    assert_eq!(act(&mut model, Command::Mouse), [Effect::Mouse(true)]);
    for _ in 0..5 {
        act(&mut model, Command::NextPane);
    }
    assert_eq!(model.focus, Pane::Examples);
    act(&mut model, Command::PreviousPane);
    assert_eq!(model.focus, Pane::Sliders);
}

#[test]
fn no_command_breaks_an_empty_model() {
    for entry in crate::tui::action::ACTIONS {
        for pane in Pane::ALL {
            let thresholds = Thresholds::default();
            let mut model = Model::new("", thresholds.clone(), thresholds, Arc::new(|_| Vec::new()));
            model.focus = pane;
            act(&mut model, entry.command);
            act(&mut model, entry.command);
            assert_eq!(model.rows.len(), 0);
        }
    }
}

#[test]
fn what_is_guaranteed_is_asked_again_when_the_calibration_may_have_become_known() {
    let calibrated = Arc::new(std::sync::OnceLock::new());
    let own = Arc::clone(&calibrated);
    let guarantee: crate::tui::Guarantee =
        Arc::new(move |_| vec![own.get().map_or("not yet", |()| "kept").into()]);
    let mut model = Model::new("t", Thresholds::default(), Thresholds::default(), guarantee);
    tell(&mut model, Message::Stage("indexing".into()));
    assert_eq!(model.guarantee, ["not yet"]);
    calibrated.set(()).unwrap();
    tell(&mut model, Message::Stage("loading the model".into()));
    assert_eq!(model.guarantee, ["kept"]);
}

fn calibration(sources: usize) -> Highlighting {
    use crate::certify::highlighting::{AnswerLoss, HighlightingArtefact, HighlightingSource, Population};
    let answers: Vec<AnswerLoss> = (0..sources)
        .map(|source| {
            AnswerLoss::new(source.to_string(), &[source as f64 / sources as f64], &[true]).unwrap()
        })
        .collect();
    let source = HighlightingSource { detector: "cortex".into(), rho: 0.5, ..HighlightingSource::default() };
    Highlighting::new(HighlightingArtefact::new(source, &answers, Population::All))
}

#[test]
fn the_token_threshold_follows_a_beta_and_says_so_until_it_is_moved_by_hand() {
    let mut model = model();
    assert_eq!(model.sliders().len(), 4);
    model.certify_highlighting(calibration(40));
    assert_eq!(model.sliders().last(), Some(&SliderName::Beta));
    let by_hand = model.thresholds.token;
    act(&mut model, Command::Focus(Pane::Sliders));
    model.slider = SliderName::Beta;
    for _ in 0..2 {
        act(&mut model, Command::LeapUp);
    }
    // The largest threshold with (missed + 1) / 41 <= 0.2: seven sources may be missed.
    assert_eq!((model.thresholds.beta, model.thresholds.token), (Some(0.2), 7.0 / 40.0));
    assert!(model.follows_beta());
    model.slider = SliderName::Token;
    act(&mut model, Command::StepUp);
    assert_eq!((model.thresholds.beta, model.follows_beta()), (None, false));
    assert!(model.toast.as_ref().unwrap().text.contains("beta is off"));
    act(&mut model, Command::ResetAll);
    assert_eq!((model.thresholds.token, model.thresholds.beta), (by_hand, None));
}

#[test]
fn a_beta_that_cannot_hold_moves_nothing_and_says_why_in_words() {
    let mut model = model();
    model.certify_highlighting(calibration(40));
    let before = model.thresholds.token;
    let refused = |model: &Model| match &model.certified_level {
        Some(CertifiedLevel::Refused(why)) => why.clone(),
        other => panic!("{other:?} is no refusal"),
    };
    sliders::set(&mut model, SliderName::Beta, 0.02);
    assert!(refused(&model).contains("below 49 sources at beta = 0.02: 40 were"), "{}", refused(&model));
    assert_eq!(model.thresholds.token, before);
    sliders::set(&mut model, SliderName::Beta, 0.2);
    assert!(model.follows_beta());
    let followed = model.thresholds.token;
    // Another smoothing makes other scores: the promise was not about these.
    sliders::set(&mut model, SliderName::Rho, 0.9);
    assert!(refused(&model).contains("rho"), "{}", refused(&model));
    assert_eq!(model.thresholds.token, followed);
    act(&mut model, Command::Focus(Pane::Sliders));
    model.slider = SliderName::Rho;
    act(&mut model, Command::Reset);
    assert!(model.follows_beta());
    let mut other = evidence(9, 0..1);
    other.provenance.head_hash = Some("another head".into());
    tell(&mut model, Message::Evidence(Box::new(other)));
    assert!(refused(&model).contains("head"), "{}", refused(&model));
    sliders::set(&mut model, SliderName::Beta, 0.0);
    assert_eq!((model.thresholds.beta, &model.certified_level), (None, &None));
}

#[test]
fn a_slider_that_is_held_says_its_effect_since_it_was_taken_and_escape_puts_it_back() {
    let mut model = model();
    let press = |column| Action::Press { target: Target::Track(SliderName::Token), column, track: (10, 101) };
    update(&mut model, press(60));
    update(&mut model, Action::Release);
    settle(&mut model);
    assert_eq!((model.thresholds.token, &model.held), (0.5, &None));
    update(&mut model, press(60));
    update(&mut model, Action::Drag { column: 110, over: None });
    settle(&mut model);
    assert_eq!(model.thresholds.token, 1.0);
    let effect = model.effect(SliderName::Token).unwrap();
    assert_eq!((effect.before, effect.after, effect.changed), (2, 0, 2));
    act(&mut model, Command::Back);
    assert_eq!((model.thresholds.token, model.drag), (0.5, None));
    // The pointer still moves, but holds nothing.
    update(&mut model, Action::Drag { column: 10, over: None });
    assert_eq!(model.thresholds.token, 0.5);
}
