//! The gallery of `docs/`: which screens it shows, and the page that shows them.

use std::fmt::Write as _;

use ragscope::tui::{Command, Model, Pane, Theme};
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
        with("help", "The keys", (132, 42), &|model| act(model, Command::Help)),
    ]
}
