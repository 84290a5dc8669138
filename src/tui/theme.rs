//! Roles, and what each looks like at every colour depth.
//!
//! A view names a role, never a colour. Plain text keeps the terminal's own colours; every role that
//! carries meaning also has a form without colour (a modifier here, a glyph or word in the view).

mod borders;
mod colour_blind;
mod depth;
mod paint;
mod role;

use std::str::FromStr;

use ratatui::style::{Color, Style};

use super::heat_scale;

pub use borders::{Borders, write_in_ascii};
pub use depth::ColourDepth;
pub use role::Role;

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThemeChoice {
    /// Dark, unless the terminal says that its background is light.
    #[default]
    Auto,
    Dark,
    Light,
    /// Colours for those who confuse red and green; on a dark or light page as [`Self::Auto`] finds it.
    ColourBlind,
    ColourBlindDark,
    ColourBlindLight,
    /// No colour at all.
    Mono,
}

impl ThemeChoice {
    /// Every choice with its name, in the order of messages.
    pub const ALL: [(&'static str, Self); 7] = [
        ("auto", Self::Auto),
        ("dark", Self::Dark),
        ("light", Self::Light),
        ("colour-blind", Self::ColourBlind),
        ("colour-blind-dark", Self::ColourBlindDark),
        ("colour-blind-light", Self::ColourBlindLight),
        ("mono", Self::Mono),
    ];
}

impl FromStr for ThemeChoice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let wanted = name.replace("color", "colour");
        let found = Self::ALL.into_iter().find(|(known, _)| *known == wanted);
        found.map(|(_, choice)| choice).ok_or_else(|| {
            let names = Self::ALL.map(|(known, _)| known);
            format!("there is no theme {name:?}: choose one of {}", names.join(", "))
        })
    }
}

/// Which colours stand for the roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Palette {
    #[default]
    Usual,
    /// Okabe and Ito's colours, and cividis for heat.
    ColourBlind,
}

/// A resolved theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    pub light: bool,
    pub depth: ColourDepth,
    pub palette: Palette,
    /// Lines, blocks and marks in ASCII.
    pub ascii: bool,
}

impl Theme {
    /// Decides once, at the start, from the user's choice, the environment and, where they leave it open,
    /// from what the terminal says of its page: `page_is_light` is called at most once.
    pub fn choose(
        choice: ThemeChoice,
        depth: Option<ColourDepth>,
        variable: &dyn Fn(&str) -> Option<String>,
        page_is_light: impl FnOnce() -> Option<bool>,
    ) -> Self {
        let depth = match (choice, depth) {
            (ThemeChoice::Mono, _) => ColourDepth::Mono,
            (_, Some(depth)) => depth,
            _ => ColourDepth::detect(variable),
        };
        let light = match choice {
            ThemeChoice::Light | ThemeChoice::ColourBlindLight => true,
            ThemeChoice::Dark | ThemeChoice::ColourBlindDark | ThemeChoice::Mono => false,
            ThemeChoice::Auto | ThemeChoice::ColourBlind => {
                // What a multiplexer answers is not what the terminal round it shows.
                let alone = variable("TMUX").is_none() && variable("STY").is_none();
                let said = (alone && depth != ColourDepth::Mono).then(page_is_light).flatten();
                said.unwrap_or_else(|| background_is_light(variable("COLORFGBG").as_deref()))
            }
        };
        let palette = match choice {
            ThemeChoice::ColourBlind | ThemeChoice::ColourBlindDark | ThemeChoice::ColourBlindLight => {
                Palette::ColourBlind
            }
            _ => Palette::Usual,
        };
        Self { light, depth, palette, ascii: false }
    }

    /// The theme without any colour.
    pub const MONO: Self = Self { depth: ColourDepth::Mono, ..Self::DARK };
    /// Dark with all colours.
    pub const DARK: Self =
        Self { light: false, depth: ColourDepth::True, palette: Palette::Usual, ascii: false };
    /// Light with all colours.
    pub const LIGHT: Self = Self { light: true, ..Self::DARK };
    /// For colour-blind people, on a dark page.
    pub const COLOUR_BLIND_DARK: Self = Self { palette: Palette::ColourBlind, ..Self::DARK };
    /// For colour-blind people, on a light page.
    pub const COLOUR_BLIND_LIGHT: Self = Self { palette: Palette::ColourBlind, ..Self::LIGHT };

    /// Style of a role.
    pub fn style(&self, role: Role) -> Style {
        let paint = match (self.palette, self.light) {
            (Palette::ColourBlind, light) => colour_blind::paint(role, light),
            (Palette::Usual, true) => paint::light(role),
            (Palette::Usual, false) => paint::dark(role),
        };
        let mut style = Style::new();
        if self.depth == ColourDepth::Mono {
            return style.add_modifier(paint.mono);
        }
        if let Some(foreground) = paint.foreground {
            style = style.fg(foreground.at(self.depth));
        }
        if let Some(background) = paint.background {
            style = style.bg(background.at(self.depth));
        }
        style.add_modifier(paint.modifiers)
    }

    /// The band of a flagged span: how far its score lies between the threshold and 1.
    pub fn unsupported(score: f64, threshold: f64) -> Role {
        let room = (1.0 - threshold).max(1e-9);
        match (score - threshold) / room {
            share if share >= 2.0 / 3.0 => Role::UnsupportedHigh,
            share if share >= 1.0 / 3.0 => Role::UnsupportedMiddle,
            _ => Role::UnsupportedLow,
        }
    }

    /// Whether heat is shown by colour (two rows to a line) or by shade glyphs (one row to a line).
    pub fn heat_has_colour(&self) -> bool {
        !self.ascii && matches!(self.depth, ColourDepth::True | ColourDepth::Indexed)
    }

    /// Colour of `share` in [0, 1]; high stands out from the background.
    pub fn heat(&self, share: f64) -> Color {
        let scale = match self.palette {
            Palette::Usual => &heat_scale::VIRIDIS,
            Palette::ColourBlind => &heat_scale::CIVIDIS,
        };
        match self.depth {
            ColourDepth::True => scale.true_colour(share, self.light),
            ColourDepth::Indexed => scale.indexed(share, self.light),
            ColourDepth::Ansi | ColourDepth::Mono => Color::Reset,
        }
    }

    /// Style of text on the heat colour of `share`: black or white, whichever is read better.
    pub fn text_on_heat(&self, share: f64) -> Style {
        let background = self.heat(share);
        let rgb = match background {
            Color::Rgb(red, green, blue) => (red, green, blue),
            Color::Indexed(index) => heat_scale::indexed_rgb(index),
            _ => return Style::new(),
        };
        let (black, white) = match self.depth {
            ColourDepth::True => (Color::Rgb(0, 0, 0), Color::Rgb(255, 255, 255)),
            _ => (Color::Indexed(16), Color::Indexed(231)),
        };
        // Both reach at least 4.58 to 1 on the brightness where they are equal.
        let dark_is_better = heat_scale::luminance(rgb) > 0.179;
        Style::new().bg(background).fg(if dark_is_better { black } else { white })
    }

    /// Background and foreground of the page in pictures, where no terminal gives them.
    pub fn page(&self) -> ((u8, u8, u8), (u8, u8, u8)) {
        if self.light {
            ((0xfc, 0xfc, 0xfa), (0x24, 0x29, 0x2f))
        } else {
            ((0x12, 0x16, 0x1d), (0xd5, 0xda, 0xe2))
        }
    }
}

/// `COLORFGBG` is `foreground;background` in the 16 colours; 7 and 15 are whites.
fn background_is_light(colours: Option<&str>) -> bool {
    colours.and_then(|value| value.rsplit(';').next()).is_some_and(|last| matches!(last, "7" | "15"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every theme with colours that are known as numbers.
    fn coloured() -> impl Iterator<Item = Theme> {
        [Theme::DARK, Theme::LIGHT, Theme::COLOUR_BLIND_DARK, Theme::COLOUR_BLIND_LIGHT]
            .into_iter()
            .flat_map(|theme| [ColourDepth::True, ColourDepth::Indexed].map(|depth| Theme { depth, ..theme }))
    }

    fn rgb(colour: Option<Color>, otherwise: (u8, u8, u8)) -> (u8, u8, u8) {
        match colour {
            Some(Color::Rgb(red, green, blue)) => (red, green, blue),
            Some(Color::Indexed(index)) => heat_scale::indexed_rgb(index),
            _ => otherwise,
        }
    }

    #[test]
    fn the_terminals_own_word_about_its_page_counts_more_than_variables_but_not_inside_a_multiplexer() {
        let light = |choice, depth, variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                variables.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned())
            };
            Theme::choose(choice, Some(depth), &variable, || Some(true)).light
        };
        let auto = |variables| light(ThemeChoice::Auto, ColourDepth::True, variables);
        assert!(auto(&[]));
        assert!(auto(&[("COLORFGBG", "15;0")]));
        assert!(!auto(&[("TMUX", "/tmp/tmux")]));
        assert!(auto(&[("TMUX", "/tmp/tmux"), ("COLORFGBG", "0;15")]));
        assert!(!auto(&[("STY", "1.pts")]));
        assert!(light(ThemeChoice::ColourBlind, ColourDepth::Indexed, &[]));
        assert!(!light(ThemeChoice::Dark, ColourDepth::True, &[]), "a choice is not asked about");
        assert!(!light(ThemeChoice::Auto, ColourDepth::Mono, &[]), "without colours nothing is asked");
    }

    #[test]
    fn the_background_is_dark_unless_the_terminal_says_otherwise() {
        let of = |value: Option<&str>| {
            Theme::choose(ThemeChoice::Auto, Some(ColourDepth::True), &|_| value.map(str::to_owned), || None)
                .light
        };
        assert!(!of(None));
        assert!(!of(Some("15;0")));
        assert!(of(Some("0;15")));
        assert!(of(Some("0;default;15")));
    }

    #[test]
    fn every_text_reaches_four_and_a_half_to_one_against_what_is_behind_it() {
        let mut failed = Vec::new();
        for theme in coloured() {
            let (page, ink) = theme.page();
            for role in Role::ALL {
                // Lines and bars are not read as letters.
                if matches!(role, Role::Border | Role::Track | Role::BarLow | Role::BarHigh) {
                    continue;
                }
                let style = theme.style(role);
                let contrast = heat_scale::contrast(rgb(style.fg, ink), rgb(style.bg, page));
                if contrast < 4.5 {
                    failed.push(format!("{role:?} of {theme:?} has {contrast:.2}"));
                }
            }
        }
        assert!(failed.is_empty(), "{failed:#?}");
    }

    #[test]
    fn what_stands_on_the_selected_line_is_read_on_its_colour() {
        let mut failed = Vec::new();
        for theme in coloured() {
            let (page, ink) = theme.page();
            let behind = rgb(theme.style(Role::Selected).bg, page);
            let least = |role| match role {
                Role::Trusted | Role::Warning | Role::Error | Role::Text => 4.5,
                // Said in words as well, and secondary.
                _ => 3.5,
            };
            for role in
                [Role::Text, Role::Trusted, Role::Warning, Role::Error, Role::Muted, Role::Dropped, Role::Key]
            {
                let contrast = heat_scale::contrast(rgb(theme.style(role).fg, ink), behind);
                if contrast < least(role) {
                    failed.push(format!("{role:?} of {theme:?} has {contrast:.2}"));
                }
            }
        }
        assert!(failed.is_empty(), "{failed:#?}");
        // In sixteen colours nobody knows the numbers: no colour of a word is that of the line.
        for light in [false, true] {
            let theme = Theme { light, depth: ColourDepth::Ansi, ..Theme::DARK };
            let behind = theme.style(Role::Selected).bg;
            for role in Role::ALL {
                assert!(theme.style(role).fg.is_none_or(|colour| Some(colour) != behind || {
                    matches!(role, Role::Border | Role::Track | Role::Muted | Role::Dropped)
                }));
            }
        }
    }

    #[test]
    fn bars_and_tracks_stand_out_from_the_page_and_from_each_other() {
        for theme in coloured() {
            let (page, _) = theme.page();
            let of = |role| rgb(theme.style(role).fg, page);
            for role in [Role::BarHigh, Role::BarLow, Role::Fill] {
                let contrast = heat_scale::contrast(of(role), page);
                assert!(contrast >= 2.0, "{role:?} of {theme:?} has {contrast:.2}");
            }
            assert_ne!(of(Role::BarHigh), of(Role::BarLow));
        }
    }

    #[test]
    fn every_text_on_a_heat_cell_reaches_four_and_a_half_to_one() {
        for theme in coloured() {
            for step in 0..=200 {
                let style = theme.text_on_heat(f64::from(step) / 200.0);
                let contrast = heat_scale::contrast(rgb(style.fg, (1, 2, 3)), rgb(style.bg, (1, 2, 3)));
                assert!(contrast >= 4.5, "{step} of {theme:?} has {contrast:.2}");
            }
        }
        assert_eq!(Theme::MONO.text_on_heat(0.5), Style::new());
    }

    #[test]
    fn the_bands_of_the_colour_blind_themes_differ_in_brightness_not_in_hue_alone() {
        for theme in [Theme::COLOUR_BLIND_DARK, Theme::COLOUR_BLIND_LIGHT] {
            let bands = [Role::UnsupportedLow, Role::UnsupportedMiddle, Role::UnsupportedHigh]
                .map(|role| heat_scale::luminance(rgb(theme.style(role).bg, theme.page().0)));
            let rising = bands.windows(2).all(|pair| (pair[0] < pair[1]) != theme.light);
            assert!(rising, "{theme:?}: {bands:?}");
            for pair in bands.windows(2) {
                let (one, other) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
                assert!((other + 0.05) / (one + 0.05) > 1.25, "{theme:?}: {bands:?}");
            }
        }
    }

    #[test]
    fn a_theme_is_found_by_its_name_in_either_spelling() {
        for (name, choice) in ThemeChoice::ALL {
            assert_eq!(name.parse::<ThemeChoice>(), Ok(choice));
        }
        assert_eq!("color-blind-light".parse::<ThemeChoice>(), Ok(ThemeChoice::ColourBlindLight));
        let refused = "solarized".parse::<ThemeChoice>().unwrap_err();
        assert!(refused.contains("solarized") && refused.contains("colour-blind-dark, "), "{refused}");
        let chosen = |choice| Theme::choose(choice, Some(ColourDepth::True), &|_| None, || None);
        assert_eq!(chosen(ThemeChoice::ColourBlind), Theme::COLOUR_BLIND_DARK);
        assert_eq!(chosen(ThemeChoice::ColourBlindLight), Theme::COLOUR_BLIND_LIGHT);
    }

    #[test]
    fn without_colour_no_role_names_a_colour_and_meaning_keeps_a_modifier() {
        for role in Role::ALL {
            let style = Theme::MONO.style(role);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
        for role in [Role::Selected, Role::Cursor, Role::UnsupportedLow, Role::UnsupportedHigh, Role::Trusted]
        {
            assert!(!Theme::MONO.style(role).add_modifier.is_empty(), "{role:?}");
        }
    }

    #[test]
    fn the_bands_divide_what_lies_above_the_threshold() {
        assert_eq!(Theme::unsupported(0.5, 0.5), Role::UnsupportedLow);
        assert_eq!(Theme::unsupported(0.7, 0.5), Role::UnsupportedMiddle);
        assert_eq!(Theme::unsupported(1.0, 0.5), Role::UnsupportedHigh);
        assert_eq!(Theme::unsupported(1.0, 1.0), Role::UnsupportedLow);
    }
}
