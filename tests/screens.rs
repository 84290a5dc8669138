//! What the inspector shows, at four sizes and in three themes, and that it survives every size.

#![allow(clippy::trivially_copy_pass_by_ref, reason = "drawn as the inspector draws")]

#[path = "screens/demo.rs"]
mod demo;
#[path = "screens/dialogs.rs"]
mod dialogs;
#[path = "screens/discovery.rs"]
mod discovery;
#[path = "screens/dump.rs"]
mod dump;
#[path = "screens/gallery.rs"]
mod gallery;
#[path = "screens/hostile.rs"]
mod hostile;
#[path = "screens/pages.rs"]
mod pages;
#[path = "screens/raster.rs"]
mod raster;

use std::path::PathBuf;
use std::sync::Arc;

use ragscope::certify::Alpha;
use ragscope::evidence::Thresholds;
use ragscope::inspect::Message;
use ragscope::tui::{
    Action, ColourDepth, Command, Effect, ExportKind, HitMap, Model, Pane, Phase, Target, Theme, draw, svg,
    update,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

fn guarantee(alpha: Alpha) -> Vec<String> {
    vec![
        format!(
            "A correct chunk that was retrieved is kept with probability at least {:.3}.",
            1.0 - alpha.value()
        ),
        "Calibrated on 199 questions; recall at 5 is 0.94.".to_owned(),
    ]
}

fn empty() -> Model {
    let thresholds = Thresholds { token: 0.5, ..Thresholds::default() };
    Model::new(demo::TITLE, thresholds.clone(), thresholds, Arc::new(guarantee))
}

fn tell(model: &mut Model, message: Message) {
    update(model, Action::Message(message));
    while model.rows.has_pending() {
        model.rows.decide_slice();
    }
}

fn act(model: &mut Model, command: Command) -> Vec<Effect> {
    let effects = update(model, Action::Do(command));
    while model.rows.has_pending() {
        model.rows.decide_slice();
    }
    effects
}

/// Planned, three rows read, one with chunks only.
fn partial() -> Model {
    let mut model = empty();
    tell(&mut model, Message::Stage("Reading answers".into()));
    tell(&mut model, demo::planned());
    let mut all = demo::all();
    let last = demo::unread(all.remove(3));
    for evidence in all.into_iter().take(3).chain([last]) {
        tell(&mut model, Message::Evidence(Box::new(evidence)));
    }
    tell(&mut model, Message::Progress { done: 3, total: 10, seconds_left: Some(140.0) });
    model
}

/// All rows there are, finished.
fn complete() -> Model {
    let mut model = empty();
    for evidence in demo::all() {
        tell(&mut model, Message::Evidence(Box::new(evidence)));
    }
    tell(&mut model, Message::Finished);
    model.select(1);
    model.select(0);
    model.attention.layer = 17;
    model.attention.head = 5;
    model
}

fn screen(model: &mut Model, theme: &Theme, width: u16, height: u16) -> (Buffer, HitMap) {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let hits = draw(model, theme, &mut buffer, area);
    model.limits = hits.limits.clone();
    (buffer, hits)
}

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (200, 60), (60, 16)];
const THEMES: [(&str, Theme); 3] = [("dark", Theme::DARK), ("light", Theme::LIGHT), ("mono", Theme::MONO)];

fn snapshots(state: &str, model: &mut Model) {
    snapshots_at(&SIZES, state, model);
}

fn snapshots_at(sizes: &[(u16, u16)], state: &str, model: &mut Model) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for &(width, height) in sizes {
            for (name, theme) in THEMES {
                let (buffer, _) = screen(model, &theme, width, height);
                insta::assert_snapshot!(format!("{state}_{width}x{height}_{name}"), dump::dump(&buffer));
            }
        }
    });
}

#[test]
fn an_empty_screen_says_that_the_work_starts() {
    snapshots("empty", &mut empty());
}

#[test]
fn a_run_on_its_way_lists_what_is_planned_and_shows_what_is_there() {
    snapshots("partial", &mut partial());
}

#[test]
fn a_complete_run_shows_chunks_spans_attention_and_sliders() {
    let mut model = complete();
    act(&mut model, Command::Focus(Pane::Answer));
    snapshots("complete", &mut model);
}

#[test]
fn a_moved_slider_shows_what_it_changed() {
    let mut model = complete();
    act(&mut model, Command::Focus(Pane::Sliders));
    act(&mut model, Command::LeapUp);
    act(&mut model, Command::LeapUp);
    act(&mut model, Command::Down);
    for _ in 0..4 {
        act(&mut model, Command::LeapUp);
    }
    snapshots("sliders", &mut model);
}

#[test]
fn the_attention_of_a_head_is_told_in_numbers() {
    let mut model = complete();
    act(&mut model, Command::Focus(Pane::Attention));
    act(&mut model, Command::Scale);
    snapshots("attention", &mut model);
}

#[test]
fn the_help_is_the_action_table() {
    let mut model = complete();
    act(&mut model, Command::Focus(Pane::Answer));
    act(&mut model, Command::Help);
    snapshots("help", &mut model);
}

#[test]
fn a_record_that_failed_says_why_where_its_content_would_be() {
    let mut model = complete();
    model.select(4);
    snapshots("error", &mut model);
}

#[test]
fn an_answer_in_japanese_keeps_its_columns() {
    let mut model = complete();
    model.select(3);
    act(&mut model, Command::Focus(Pane::Answer));
    snapshots("japanese", &mut model);
}

/// Every pane, overlay and prompt, in models with nothing, something and everything.
fn states() -> Vec<Model> {
    let mut states = Vec::new();
    let makers: [fn() -> Model; 3] = [empty, partial, complete];
    for make in makers {
        for pane in Pane::ALL {
            for zoom in [false, true] {
                let mut model = make();
                model.focus = pane;
                model.zoom = zoom;
                states.push(model);
            }
        }
        for command in [
            Command::Help,
            Command::Notices,
            Command::Search,
            Command::TypeNumber,
            Command::Palette,
            Command::Presets,
            Command::SavePreset,
        ] {
            let mut model = make();
            act(&mut model, command);
            states.push(model);
        }
    }
    for row in [3, 4] {
        let mut model = complete();
        model.select(row);
        model.focus = Pane::Answer;
        states.push(model);
    }
    states
}

#[test]
fn no_size_of_the_terminal_breaks_any_view() {
    let widths = [0, 1, 2, 3, 7, 19, 39, 40, 41, 59, 60, 61, 79, 80, 100, 119, 120, 121, 160, 250];
    let heights = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 35, 36, 37, 50, 80];
    for (index, mut model) in states().into_iter().enumerate() {
        let theme = THEMES[index % THEMES.len()].1;
        for width in widths {
            for height in heights {
                screen(&mut model, &theme, width, height);
            }
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_sequence_of_keys_breaks_any_size(
        width in 0_u16..250,
        height in 0_u16..80,
        keys in proptest::collection::vec(0..ragscope::tui::action::ACTIONS.len(), 0..24),
    ) {
        let mut model = complete();
        for key in keys {
            act(&mut model, ragscope::tui::action::ACTIONS[key].command);
            screen(&mut model, &Theme::DARK, width, height);
        }
        proptest::prop_assert!(model.selected < model.rows.len());
    }
}

#[test]
fn a_very_large_terminal_is_filled() {
    for mut model in states() {
        let (buffer, _) = screen(&mut model, &Theme::DARK, 400, 200);
        assert_eq!(buffer.area.area(), 80_000);
    }
}

/// Case P12: text that talks to the terminal, wherever text can come from.
#[test]
fn control_characters_of_the_data_never_reach_the_terminal() {
    let hostile = "ok \u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]52;c;cm0gLXJm\u{7}\u{9b}31m\r\u{8}\u{7f} end";
    for (width, height) in [(120, 40), (80, 24), (60, 16)] {
        let mut model = Model::new(
            hostile,
            Thresholds::default(),
            Thresholds::default(),
            Arc::new(move |_| vec![hostile.into()]),
        );
        let mut evidence = demo::all().remove(0);
        evidence.id = hostile.into();
        evidence.question = hostile.into();
        evidence.chunks[0].id = hostile.into();
        evidence.chunks[0].text = hostile.into();
        evidence.chunks[0].document = Some(hostile.into());
        evidence.chunks[1].p_value = None;
        evidence.chunks[1].p_value_absent = Some(hostile.into());
        evidence.groups.insert("task".into(), hostile.into());
        evidence.notices.push(hostile.into());
        let answer = format!("{hostile} {}", evidence.answer.take().unwrap());
        evidence.answer = Some(answer);
        let reading = evidence.reading.as_mut().unwrap();
        reading.detectors[0].name = hostile.into();
        reading.factuality = None;
        reading.factuality_absent = Some(hostile.into());
        tell(&mut model, Message::Evidence(Box::new(evidence)));
        tell(&mut model, Message::Stage(hostile.into()));
        tell(&mut model, Message::Notice(hostile.into()));
        let mut written = Vec::new();
        for pane in Pane::ALL {
            model.focus = pane;
            written.extend(streamed(&mut model, width, height));
        }
        act(&mut model, Command::Notices);
        written.extend(streamed(&mut model, width, height));
        act(&mut model, Command::Close);
        model.filter.text = hostile.into();
        written.extend(streamed(&mut model, width, height));
        tell(&mut model, Message::Failed(hostile.into()));
        written.extend(streamed(&mut model, width, height));
        let text = String::from_utf8(written.clone()).unwrap();
        // The inspector itself writes no title, no clipboard, no bell and clears nothing.
        for forbidden in ["\u{7}", "\u{1b}]", "\u{1b}[2J", "\u{9b}", "\r", "\u{8}", "\u{7f}"] {
            assert!(!text.contains(forbidden), "{forbidden:?} at {width}x{height}");
        }
        let mut parser = vt100::Parser::new(height, width, 0);
        parser.process(&written);
        assert!(text.contains('␛') && parser.screen().contents().contains('␛'));
    }
}

/// The bytes that the first frame of a screen sends.
fn streamed(model: &mut Model, width: u16, height: u16) -> Vec<u8> {
    let (buffer, _) = screen(model, &Theme::DARK, width, height);
    let mut written = Vec::new();
    let viewport = ratatui::Viewport::Fixed(buffer.area);
    let mut terminal =
        Terminal::with_options(CrosstermBackend::new(&mut written), ratatui::TerminalOptions { viewport })
            .unwrap();
    *terminal.current_buffer_mut() = buffer;
    terminal.flush().unwrap();
    drop(terminal);
    written
}

#[test]
fn without_colour_no_colour_is_sent_and_the_spans_stay_visible() {
    let mut model = complete();
    let (buffer, _) = screen(&mut model, &Theme::MONO, 120, 40);
    for cell in &buffer.content {
        assert_eq!((cell.fg, cell.bg), (ratatui::style::Color::Reset, ratatui::style::Color::Reset));
    }
    let shown = dump::dump(&buffer);
    assert!(shown.contains("[1]") && shown.contains("underlined"));
}

#[test]
fn with_ascii_borders_every_sign_is_ascii_and_only_letters_of_the_data_are_not() {
    for mut model in states() {
        for theme in [Theme { ascii: true, ..Theme::DARK }, Theme { ascii: true, ..Theme::MONO }] {
            for (width, height) in SIZES {
                let (buffer, _) = screen(&mut model, &theme, width, height);
                for cell in &buffer.content {
                    let letters = |c: char| c.is_ascii() || c.is_alphanumeric() || "、。？".contains(c);
                    assert!(cell.symbol().chars().all(letters), "{:?} at {width}x{height}", cell.symbol());
                }
            }
        }
    }
}

/// Text that runs from right to left is kept in the order in which it is read and written: the terminal or
/// the reader's eye turns it, and offsets into it stay what they are.
#[test]
fn wide_joined_and_right_to_left_characters_keep_their_columns_and_their_order() {
    let texts = [
        ("שלום עולם", "שלוםעולם"),
        ("مرحبا بالعالم", "مرحبابالعالم"),
        ("市長は辞任した。", "市長は辞任した。"),
        ("e\u{301}a\u{308} क्षि", "e\u{301}a\u{308}क्षि"),
        ("🙂👨\u{200d}👩\u{200d}👧🇵🇱", "🙂👨\u{200d}👩\u{200d}👧🇵🇱"),
    ];
    for (text, in_order) in texts {
        let mut evidence = demo::all().remove(0);
        evidence.answer = Some(text.to_owned());
        let reading = evidence.reading.as_mut().unwrap();
        reading.tokens = text.char_indices().map(|(at, c)| [at, at + c.len_utf8()]).collect();
        let tokens = reading.tokens.len();
        reading.detectors.truncate(1);
        reading.detectors[0].raw = (0..tokens).map(|token| if token < 2 { 0.99 } else { 0.01 }).collect();
        reading.log_prob_with = vec![-1.0; tokens];
        reading.log_prob_without = vec![-1.0; tokens];
        reading.lookback = None;
        evidence.gold_spans = None;
        let mut model = empty();
        model.thresholds.rho = 0.5;
        model.decide_anew();
        tell(&mut model, Message::Evidence(Box::new(evidence)));
        act(&mut model, Command::Focus(Pane::Answer));
        act(&mut model, Command::Zoom);
        let (buffer, hits) = screen(&mut model, &Theme::MONO, 60, 20);
        let line = |row: u16| -> Vec<&str> {
            (0..60).map(|column| buffer[(column, row)].symbol()).filter(|symbol| *symbol != " ").collect()
        };
        let first = hits.area_of(Target::Token(0)).expect("the first token is on the screen");
        // Without the frame, the flag in the margin and the number of the span.
        let shown = line(first.y).concat();
        let shown = shown.trim_matches('│').trim_start_matches('!').replace("[1]", "");
        assert_eq!(shown, in_order);
        // Every grapheme has as many bars under it as it has columns, and the rest of the row has none.
        let columns = ratatui::text::Line::from(text.replace(' ', "")).width();
        let bars = line(first.y + 1).into_iter().filter(|symbol| "▁▂▃▄▅▆▇█".contains(symbol));
        let blanks = text.matches(' ').count();
        assert_eq!(bars.count(), columns + blanks, "{text:?}");
        // The frame on the right stands where it stands without any of this.
        assert_eq!(buffer[(59, first.y)].symbol(), "│");
    }
}

#[test]
fn what_is_drawn_can_be_pressed() {
    let mut model = complete();
    let (_, hits) = screen(&mut model, &Theme::DARK, 120, 40);
    for target in [
        Target::Example(2),
        Target::Chunk(3),
        Target::Token(32),
        Target::Head { layer: 3, head: 2 },
        Target::Track(ragscope::tui::SliderName::Token),
    ] {
        assert!(hits.area_of(target).is_some(), "{target:?}");
    }
    let area = hits.area_of(Target::Token(32)).unwrap();
    assert_eq!(hits.at(area.x, area.y).map(|(_, target)| target), Some(Target::Token(32)));
}

#[test]
fn an_export_carries_all_evidence_and_the_present_thresholds() {
    let mut model = complete();
    act(&mut model, Command::Focus(Pane::Sliders));
    act(&mut model, Command::StepUp);
    let effects = act(&mut model, Command::Export(ExportKind::Html));
    let [Effect::Export(order)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(order.kind, ExportKind::Html);
    assert_eq!((order.evidence.len(), order.thresholds.alpha.thousandths()), (8, 105));
    assert_eq!(model.run.phase, Phase::Finished);
}

fn picture(theme: &Theme, width: u16, height: u16) -> String {
    let mut model = complete();
    act(&mut model, Command::Focus(Pane::Answer));
    let (buffer, _) = screen(&mut model, theme, width, height);
    svg(&buffer, theme, "ragscope: an answer about a ferry, with two unsupported spans")
}

/// `RAGSCOPE_BLESS=1` writes the picture anew.
#[test]
fn the_readme_picture_is_the_screen_of_the_demo() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("assets/screen.svg");
    let drawn = picture(&Theme::DARK, 132, 42);
    if std::env::var_os("RAGSCOPE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == drawn, "assets/screen.svg is not the present screen: run with RAGSCOPE_BLESS=1");
}

fn gallery_screens() -> Vec<gallery::Shown> {
    gallery::all(
        &pages::certified,
        &|model, command| drop(act(model, command)),
        &|model, theme, width, height| screen(model, theme, width, height).0,
    )
}

/// `RAGSCOPE_BLESS=1` writes the gallery anew.
#[test]
fn the_gallery_shows_the_present_screens() {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut shown = gallery_screens();
    let mut files = vec![(docs.join("gallery.md"), gallery::page(&shown))];
    for one in &mut shown {
        let (width, height) = one.size;
        for (name, _, theme) in gallery::themes_of(one.name) {
            let (buffer, _) = screen(&mut one.model, theme, width, height);
            let path = docs.join(format!("gallery/{}-{name}.svg", one.name));
            files.push((path, svg(&buffer, theme, one.caption)));
        }
    }
    if std::env::var_os("RAGSCOPE_BLESS").is_some() {
        let _ = std::fs::remove_dir_all(docs.join("gallery"));
        std::fs::create_dir_all(docs.join("gallery")).unwrap();
        for (path, text) in &files {
            std::fs::write(path, text).unwrap();
        }
    }
    let outdated: Vec<String> = files
        .iter()
        .filter(|(path, text)| std::fs::read_to_string(path).unwrap_or_default() != *text)
        .map(|(path, _)| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(outdated.is_empty(), "run with RAGSCOPE_BLESS=1: {outdated:?} are not the present screens");
    assert_eq!(std::fs::read_dir(docs.join("gallery")).unwrap().count() + 1, files.len());
}

#[test]
fn a_picture_as_png_has_the_colours_of_the_screen_where_they_belong() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 2));
    let style = ratatui::style::Style::new()
        .fg(ratatui::style::Color::Rgb(200, 10, 20))
        .bg(ratatui::style::Color::Rgb(1, 2, 3));
    buffer.set_string(0, 0, "█M ▀╭─", style);
    let raster = raster::Raster::of(&svg(&buffer, &Theme::DARK, "a < b"));
    // Six cells of 8x18 with a margin of 10 on all sides, at two pixels to a unit.
    assert_eq!((raster.width, raster.height), (2 * 68, 2 * 56));
    let at = |x: usize, y: usize| raster.pixels[y * raster.width + x];
    let (ink, paper) = ([200, 10, 20], [1, 2, 3]);
    assert_eq!(at(20 + 8, 20 + 18), ink, "the full block");
    assert_eq!(at(20 + 2 * 16 + 8, 20 + 18), paper, "the blank");
    assert_eq!((at(20 + 3 * 16 + 8, 20 + 4), at(20 + 3 * 16 + 8, 20 + 30)), (ink, paper), "the half block");
    assert_eq!(at(20 + 5 * 16 + 8, 20 + 18), ink, "the line");
    let letter: Vec<[u8; 3]> =
        (0..36).flat_map(|y| (0..16).map(move |x| (x, y))).map(|(x, y)| at(36 + x, 20 + y)).collect();
    let (inked, blank) = (letter.contains(&ink), letter.iter().filter(|pixel| **pixel == paper).count());
    assert!(inked && blank > 200, "an M is dark lines on much paper, not {blank} of 576");
    let png = raster.png();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(&png[16..24], [0, 0, 0, 136, 0, 0, 0, 112]);
}

/// For looking at: writes the gallery and several states as SVG and PNG into `RAGSCOPE_PICTURES`.
#[test]
#[ignore = "writes pictures for people"]
fn pictures() {
    let Some(folder) = std::env::var_os("RAGSCOPE_PICTURES").map(PathBuf::from) else { return };
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: String, buffer: &Buffer, theme: &Theme| {
        let picture = svg(buffer, theme, &name);
        std::fs::write(folder.join(format!("{name}.png")), raster::Raster::of(&picture).png()).unwrap();
        std::fs::write(folder.join(format!("{name}.svg")), picture).unwrap();
    };
    for mut one in gallery_screens() {
        for (name, _, theme) in &gallery::THEMES {
            let (buffer, _) = screen(&mut one.model, theme, one.size.0, one.size.1);
            write(format!("gallery_{}_{name}", one.name), &buffer, theme);
        }
    }
    let ascii = Theme { ascii: true, ..Theme::DARK };
    let indexed = Theme { depth: ColourDepth::Indexed, ..Theme::DARK };
    let sixteen = Theme { depth: ColourDepth::Ansi, ..Theme::DARK };
    let more = [("ascii", ascii), ("256", indexed), ("16", sixteen)];
    for (name, theme) in THEMES.into_iter().chain(more) {
        for (width, height) in [(132, 42), (80, 24), (60, 16)] {
            for (state, mut model) in [("partial", partial()), ("complete", complete())] {
                for pane in [Pane::Answer, Pane::Attention] {
                    model.focus = pane;
                    let (buffer, _) = screen(&mut model, &theme, width, height);
                    write(format!("{state}_{width}x{height}_{name}_{}", pane.title()), &buffer, &theme);
                }
            }
        }
        discovery::pictures(&folder, name, &theme);
    }
}
