//! The gallery of `docs/`: which screens it shows, and the page that shows them.

use std::fmt::Write as _;

use ragscope::certify::highlighting::{AnswerLoss, HighlightingArtefact, HighlightingSource, Population};
use ragscope::evidence::Thresholds;
use ragscope::tui::{Command, Highlighting, Model, Page, Pane, SliderName, Theme};
use ratatui::buffer::Buffer;

/// A screen of the gallery.
pub struct Shown {
    /// Of the file, without theme and ending.
    pub name: &'static str,
    /// What one sees, in one line.
    pub caption: &'static str,
    pub model: Model,
    pub size: (u16, u16),
}

/// Themes of the gallery, with the names of their files.
pub static THEMES: [(&str, &str, Theme); 4] = [
    ("dark", "Dark", Theme::DARK),
    ("light", "Light", Theme::LIGHT),
    ("colour-blind", "Colour-blind, dark", Theme::COLOUR_BLIND_DARK),
    ("colour-blind-light", "Colour-blind, light", Theme::COLOUR_BLIND_LIGHT),
];

/// The main screen in every theme, the others in the two that most people use.
pub fn themes_of(name: &str) -> &'static [(&'static str, &'static str, Theme)] {
    if matches!(name, "answer" | "attention") { &THEMES } else { &THEMES[..2] }
}

/// The page.
pub fn page(shown: &[Shown]) -> String {
    let mut page = String::from(
        "# Screens\n\nEvery picture is the inspector's own screen, drawn by `ragscope::tui::svg` from an invented run. One \
         command makes them all, and this page:\n\n```sh\nRAGSCOPE_BLESS=1 cargo test --release --test screens gallery\n```\n\n\
         A test fails when a picture is not the present screen. With `RAGSCOPE_PICTURES=folder` the ignored test `pictures` \
         also writes each of them as PNG, with letters of DejaVu Sans Mono, which has no Chinese or Japanese ones.\n",
    );
    for one in shown {
        let _ = write!(page, "\n## {}\n", one.caption);
        for (file, title, _) in themes_of(one.name) {
            let _ = write!(
                page,
                "\n{title}:\n\n![{}: {}](gallery/{}-{file}.svg)\n",
                title, one.caption, one.name
            );
        }
    }
    page
}

/// An invented calibration: sixty sources, each with one answer of one unsupported token.
fn calibration() -> Highlighting {
    let answers: Vec<AnswerLoss> = (0..60)
        .map(|source| {
            let score = 0.3 + f64::from(source) / 100.0;
            AnswerLoss::new(source.to_string(), &[score, 0.05], &[true, false])
                .expect("scores and labels fit")
        })
        .collect();
    let source = HighlightingSource {
        detector: "cortex".into(),
        rho: Thresholds::default().rho,
        ..HighlightingSource::default()
    };
    Highlighting::new(HighlightingArtefact::new(source, &answers, Population::Unsupported))
}

/// Every screen of the gallery.
pub fn all(
    complete: &dyn Fn() -> Model,
    act: &dyn Fn(&mut Model, Command),
    screen: &dyn Fn(&mut Model, &Theme, u16, u16) -> Buffer,
) -> Vec<Shown> {
    let with = |name, caption, size: (u16, u16), change: &dyn Fn(&mut Model)| {
        let mut model = complete();
        // What only a drawn screen knows is known before keys are pressed.
        screen(&mut model, &Theme::DARK, size.0, size.1);
        change(&mut model);
        Shown { name, caption, model, size }
    };
    let focus = |pane| move |model: &mut Model| act(model, Command::Focus(pane));
    vec![
        with("answer", "Everything about one answer", (132, 42), &focus(Pane::Answer)),
        with("small", "The same at 80x24", (80, 24), &focus(Pane::Answer)),
        with("sliders", "A slider says what it changes", (132, 42), &|model| {
            act(model, Command::Focus(Pane::Sliders));
            act(model, Command::LeapUp);
            act(model, Command::LeapUp);
        }),
        with("attention", "Heads that looked at a passage", (132, 42), &|model| {
            act(model, Command::Focus(Pane::Attention));
            act(model, Command::Zoom);
        }),
        with("beta", "A certified level sets the token threshold", (132, 42), &|model| {
            model.certify_highlighting(calibration());
            act(model, Command::Focus(Pane::Sliders));
            model.slider = SliderName::Beta;
            act(model, Command::LeapUp);
            act(model, Command::LeapUp);
        }),
        with("spans", "The flagged spans as a table", (132, 42), &|model| {
            act(model, Command::Focus(Pane::Answer));
            act(model, Command::View);
        }),
        with("token-map", "Which token looked at which passage", (132, 42), &|model| {
            act(model, Command::Focus(Pane::Attention));
            act(model, Command::View);
            act(model, Command::Zoom);
        }),
        with("top-heads", "The heads that look back most", (132, 42), &|model| {
            act(model, Command::Focus(Pane::Attention));
            act(model, Command::View);
            act(model, Command::View);
        }),
        with("run", "The whole run", (132, 42), &|model| act(model, Command::Page(Page::Overview))),
        with("diagnostics", "What can be certified, over alpha", (132, 42), &|model| {
            act(model, Command::Page(Page::Diagnostics));
        }),
        with("scores", "Token scores on both sides of the threshold", (132, 42), &|model| {
            act(model, Command::Page(Page::Scores));
        }),
        with("answers", "Two answers to one question", (132, 42), &|model| {
            act(model, Command::Page(Page::Comparison));
        }),
        with("detectors", "Two detectors on one answer", (132, 42), &|model| {
            act(model, Command::Page(Page::Comparison));
            act(model, Command::View);
        }),
        with("help", "The keys", (132, 42), &|model| act(model, Command::Help)),
    ]
}
