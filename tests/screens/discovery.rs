//! Help, palette, presets, messages: all of the action table that can be seen.

use std::path::Path;
use std::sync::Arc;

use ragscope::evidence::Thresholds;
use ragscope::tui::{
    Action, Command, KeyMap, Model, Pane, Preset, PresetFailure, PresetRequest, Theme, svg, update,
};

use super::{THEMES, act, complete, dump, screen, snapshots, snapshots_at};

/// Sizes of the new screens.
const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn typed(model: &mut Model, text: &str) {
    for c in text.chars() {
        update(model, Action::Type(c));
    }
}

fn palette(query: &str) -> Model {
    let mut model = complete();
    act(&mut model, Command::Focus(Pane::Answer));
    act(&mut model, Command::Palette);
    typed(&mut model, query);
    model
}

fn with_presets() -> Model {
    let mut model = complete();
    model.presets =
        [("sign-off", 0.35, 0.05), ("für die Prüfung: ein langer Name 市長", 0.5, 0.1), ("x", 0.9, 0.2)]
            .into_iter()
            .map(|(name, token, alpha): (&str, f64, f64)| {
                let alpha = ragscope::certify::Alpha::from_thousandths((alpha * 1000.0).round() as u16);
                Preset::of(name, &Thresholds { token, alpha, ..model.thresholds.clone() })
            })
            .collect();
    act(&mut model, Command::Presets);
    act(&mut model, Command::Down);
    model
}

fn asked() -> Model {
    let mut model = with_presets();
    act(&mut model, Command::SavePreset);
    typed(&mut model, "sign-off");
    update(&mut model, Action::Accept);
    model
}

fn failed() -> Model {
    let mut model = complete();
    act(&mut model, Command::Focus(Pane::Answer));
    let reason = "cannot write the presets of the configuration folder: the disk is full, make room on it or set \
                  RAGSCOPE_CONFIG_DIR to a folder that lies on another one";
    let answer = Err(PresetFailure::Failed(reason.into()));
    update(&mut model, Action::Presets(PresetRequest::List, answer));
    model
}

#[test]
fn the_help_shows_more_where_there_is_room() {
    let mut model = complete();
    act(&mut model, Command::Focus(Pane::Answer));
    act(&mut model, Command::Help);
    snapshots_at(&[(200, 60)], "help", &mut model);
}

#[test]
fn the_palette_begins_with_the_pane_that_has_the_keys() {
    snapshots_at(&SIZES, "palette", &mut palette(""));
}

#[test]
fn the_palette_shows_what_matched_and_why_an_action_does_nothing() {
    snapshots_at(&SIZES, "palette_query", &mut palette("reset"));
}

#[test]
fn presets_show_their_values_and_which_of_them_holds() {
    snapshots_at(&SIZES, "presets", &mut with_presets());
}

#[test]
fn a_preset_of_the_same_name_is_only_replaced_after_a_yes() {
    snapshots_at(&SIZES, "presets_question", &mut asked());
}

#[test]
fn a_long_message_takes_the_lines_it_needs() {
    snapshots("toast", &mut failed());
}

#[test]
fn the_next_step_of_a_message_is_never_cut() {
    for width in [40, 60, 80, 100, 120] {
        let mut model = failed();
        let (buffer, _) = screen(&mut model, &Theme::MONO, width, 24);
        let text = dump::dump(&buffer);
        let text = text.split("--- styles").next().unwrap();
        let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["the disk is full", "another one", "Esc closes"] {
            assert!(words.contains(part), "{part:?} at {width} columns:\n{text}");
        }
    }
}

#[test]
fn help_palette_and_footer_show_the_users_keys() {
    let (map, _) =
        KeyMap::parse("next-span = [\"F7\"]\nprevious-span = []\nhelp = \"F1\"\nfocus-chunks = \"Ctrl-x\"\n")
            .unwrap();
    let shown = |command: Option<Command>| {
        let mut model = complete();
        model.keys = Arc::new(map.clone());
        if let Some(command) = command {
            act(&mut model, command);
        }
        let (buffer, _) = screen(&mut model, &Theme::MONO, 120, 60);
        dump::dump(&buffer).split("--- styles").next().unwrap().to_owned()
    };
    let line = |text: &str, part: &str| {
        text.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}:\n{text}")).to_owned()
    };
    let panes = shown(None);
    assert!(line(&panes, "F1 help").contains("F7 span"), "{panes}");
    assert!(panes.contains("Ctrl-x Chunks"), "{panes}");
    let help = shown(Some(Command::Help));
    assert!(line(&help, "  next flagged span").contains("F7"), "{help}");
    // What has no key is named as the palette finds it.
    assert!(line(&help, "previous flagged span").contains(":previous-span"), "{help}");
    let palette = shown(Some(Command::Palette));
    assert!(line(&palette, " next flagged span").contains("F7"), "{palette}");
}

/// A state with its name.
type State = (&'static str, fn() -> Model);

/// Pictures for looking at.
pub fn pictures(folder: &Path, name: &str, theme: &Theme) {
    let states: [State; 5] = [
        ("palette", || palette("")),
        ("palette-query", || palette("reset")),
        ("presets", with_presets),
        ("presets-question", asked),
        ("toast", failed),
    ];
    debug_assert!(THEMES.iter().any(|(known, _)| *known == name));
    for (state, make) in states {
        for (width, height) in [(80, 24), (100, 30), (120, 40)] {
            let mut model = make();
            let (buffer, _) = screen(&mut model, theme, width, height);
            let file = folder.join(format!("{state}_{width}x{height}_{name}.svg"));
            std::fs::write(file, svg(&buffer, theme, state)).unwrap();
        }
    }
}
