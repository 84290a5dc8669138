//! Roles, and what each looks like at every colour depth.
//!
//! A view names a role, never a colour. Plain text keeps the terminal's own colours; every role that
//! carries meaning also has a form without colour (a modifier here, a glyph or word in the view).

use std::str::FromStr;

use ratatui::style::{Color, Modifier, Style};

use super::heat_scale;

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThemeChoice {
    /// Dark, unless the terminal says that its background is light.
    #[default]
    Auto,
    Dark,
    Light,
    /// No colour at all.
    Mono,
}

impl FromStr for ThemeChoice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Self::Auto),
            "dark" => Ok(Self::Dark),
            "light" => Ok(Self::Light),
            "mono" => Ok(Self::Mono),
            other => Err(format!("there is no theme {other:?}: choose auto, dark, light or mono")),
        }
    }
}

/// How many colours the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColourDepth {
    True,
    Indexed,
    Ansi,
    Mono,
}

impl ColourDepth {
    /// What a user calls it; `None` for `auto`.
    pub fn named(name: &str) -> Result<Option<Self>, String> {
        Ok(Some(match name {
            "auto" => return Ok(None),
            "true" => Self::True,
            "256" => Self::Indexed,
            "16" => Self::Ansi,
            "none" => Self::Mono,
            other => {
                return Err(format!("there are no colours {other:?}: choose auto, true, 256, 16 or none"));
            }
        }))
    }

    /// Reads `NO_COLOR`, `FORCE_COLOR`, `CLICOLOR_FORCE`, `COLORTERM` and `TERM` through `variable`.
    ///
    /// `NO_COLOR` wins over everything but an explicit choice of the user.
    pub fn detect(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if set("NO_COLOR").is_some() {
            return Self::Mono;
        }
        let term = set("TERM").unwrap_or_default();
        let by_terminal = if matches!(set("COLORTERM").as_deref(), Some("truecolor" | "24bit"))
            || term.ends_with("-direct")
            || set("WT_SESSION").is_some()
        {
            Self::True
        } else if term.contains("256color") {
            Self::Indexed
        } else if term.is_empty() || term == "dumb" {
            Self::Mono
        } else {
            Self::Ansi
        };
        match set("FORCE_COLOR").as_deref() {
            Some("0") => Self::Mono,
            Some("1") => Self::Ansi,
            Some("2") => Self::Indexed,
            Some("3") => Self::True,
            Some(_) if by_terminal == Self::Mono => Self::Ansi,
            _ if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") && by_terminal == Self::Mono => {
                Self::Ansi
            }
            _ => by_terminal,
        }
    }
}

/// What a piece of the screen means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Reading text: the terminal's own colours.
    Text,
    /// Secondary text.
    Muted,
    /// Borders and rules.
    Border,
    /// Border and title of the pane that has the keys.
    Focus,
    /// Headings, and numbers that matter.
    Strong,
    /// A key that can be pressed.
    Key,
    /// The selected line of a list.
    Selected,
    /// The token or head under the cursor.
    Cursor,
    /// A chunk above alpha.
    Trusted,
    /// A chunk at or below alpha, and its text.
    Dropped,
    Warning,
    Error,
    /// An unsupported span just above the threshold.
    UnsupportedLow,
    UnsupportedMiddle,
    /// An unsupported span near certainty.
    UnsupportedHigh,
    /// The bar of a score that reaches the threshold.
    BarHigh,
    /// The bar of a score below it.
    BarLow,
    /// What a labeller marked.
    Gold,
    /// The empty part of a bar or a slider.
    Track,
    /// The filled part of a slider.
    Fill,
    /// The mark of alpha or of a default.
    Tick,
    /// A message over the screen.
    Toast,
    /// The cursor in a heat map: a hue that the heat scale does not have.
    HeatCursor,
}

impl Role {
    /// Every role, in the order of the legend.
    pub const ALL: [Self; 23] = [
        Self::Text,
        Self::Muted,
        Self::Border,
        Self::Focus,
        Self::Strong,
        Self::Key,
        Self::Selected,
        Self::Cursor,
        Self::Trusted,
        Self::Dropped,
        Self::Warning,
        Self::Error,
        Self::UnsupportedLow,
        Self::UnsupportedMiddle,
        Self::UnsupportedHigh,
        Self::BarHigh,
        Self::BarLow,
        Self::Gold,
        Self::Track,
        Self::Fill,
        Self::Tick,
        Self::Toast,
        Self::HeatCursor,
    ];
}

/// One colour at every depth.
#[derive(Clone, Copy)]
struct Ink {
    rgb: (u8, u8, u8),
    indexed: u8,
    ansi: Color,
}

impl Ink {
    fn at(self, depth: ColourDepth) -> Color {
        match depth {
            ColourDepth::True => Color::Rgb(self.rgb.0, self.rgb.1, self.rgb.2),
            ColourDepth::Indexed => Color::Indexed(self.indexed),
            ColourDepth::Ansi => self.ansi,
            ColourDepth::Mono => Color::Reset,
        }
    }
}

struct Paint {
    foreground: Option<Ink>,
    background: Option<Ink>,
    /// Modifiers at every depth with colours.
    modifiers: Modifier,
    /// Modifiers without colours.
    mono: Modifier,
}

#[allow(clippy::unnecessary_wraps, reason = "a paint has a colour or none: the tables read better so")]
const fn ink(red: u8, green: u8, blue: u8, indexed: u8, ansi: Color) -> Option<Ink> {
    Some(Ink { rgb: (red, green, blue), indexed, ansi })
}

const NONE: Modifier = Modifier::empty();
const BOLD: Modifier = Modifier::BOLD;
const UNDERLINED: Modifier = Modifier::UNDERLINED;

/// A resolved theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    pub light: bool,
    pub depth: ColourDepth,
}

impl Theme {
    /// Decides once, at the start, from the user's choice and the environment.
    pub fn choose(
        choice: ThemeChoice,
        depth: Option<ColourDepth>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let depth = match (choice, depth) {
            (ThemeChoice::Mono, _) => ColourDepth::Mono,
            (_, Some(depth)) => depth,
            _ => ColourDepth::detect(variable),
        };
        let light = match choice {
            ThemeChoice::Light => true,
            ThemeChoice::Dark | ThemeChoice::Mono => false,
            ThemeChoice::Auto => background_is_light(variable("COLORFGBG").as_deref()),
        };
        Self { light, depth }
    }

    /// The theme without any colour.
    pub const MONO: Self = Self { light: false, depth: ColourDepth::Mono };
    /// Dark with all colours.
    pub const DARK: Self = Self { light: false, depth: ColourDepth::True };
    /// Light with all colours.
    pub const LIGHT: Self = Self { light: true, depth: ColourDepth::True };

    /// Style of a role.
    pub fn style(&self, role: Role) -> Style {
        let paint = if self.light { light_paint(role) } else { dark_paint(role) };
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
        matches!(self.depth, ColourDepth::True | ColourDepth::Indexed)
    }

    /// Colour of `share` in [0, 1]; high stands out from the background.
    pub fn heat(&self, share: f64) -> Color {
        match self.depth {
            ColourDepth::True => heat_scale::viridis(share, self.light),
            ColourDepth::Indexed => heat_scale::indexed(share, self.light),
            ColourDepth::Ansi | ColourDepth::Mono => Color::Reset,
        }
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

fn dark_paint(role: Role) -> Paint {
    let (foreground, background, modifiers, mono) = match role {
        Role::Text => (None, None, NONE, NONE),
        Role::Muted => (ink(0x8b, 0x95, 0xa5, 246, Color::Gray), None, NONE, NONE),
        Role::Border => (ink(0x45, 0x4e, 0x5c, 239, Color::DarkGray), None, NONE, Modifier::DIM),
        Role::Focus => (ink(0x6c, 0xb6, 0xff, 75, Color::Cyan), None, BOLD, BOLD),
        Role::Strong => (None, None, BOLD, BOLD),
        Role::Key => (ink(0xe0, 0xc0, 0x80, 180, Color::Yellow), None, NONE, BOLD),
        Role::Selected => (
            ink(0xf0, 0xf3, 0xf8, 255, Color::White),
            ink(0x2b, 0x38, 0x4c, 237, Color::Blue),
            NONE,
            Modifier::REVERSED,
        ),
        Role::Cursor => (
            ink(0x10, 0x14, 0x1a, 16, Color::Black),
            ink(0xf0, 0xf3, 0xf8, 255, Color::White),
            BOLD,
            Modifier::REVERSED.union(BOLD),
        ),
        Role::Trusted => (ink(0x7e, 0xcf, 0x8e, 114, Color::Green), None, NONE, BOLD),
        Role::Dropped => (ink(0x7d, 0x87, 0x96, 244, Color::Gray), None, NONE, Modifier::DIM),
        Role::Warning => (ink(0xe8, 0xb5, 0x5e, 215, Color::Yellow), None, NONE, BOLD),
        Role::Error => (ink(0xf4, 0x7f, 0x7f, 210, Color::LightRed), None, NONE, BOLD),
        Role::UnsupportedLow => (
            ink(0xff, 0xe9, 0xc4, 230, Color::Black),
            ink(0x54, 0x41, 0x1c, 58, Color::Yellow),
            UNDERLINED,
            UNDERLINED,
        ),
        Role::UnsupportedMiddle => (
            ink(0xff, 0xe3, 0xcf, 230, Color::White),
            ink(0x74, 0x3f, 0x1a, 94, Color::Magenta),
            UNDERLINED,
            UNDERLINED.union(BOLD),
        ),
        Role::UnsupportedHigh => (
            ink(0xff, 0xff, 0xff, 231, Color::White),
            ink(0x98, 0x2b, 0x36, 88, Color::Red),
            UNDERLINED.union(BOLD),
            UNDERLINED.union(BOLD).union(Modifier::REVERSED),
        ),
        Role::BarHigh => (ink(0xb8, 0x4a, 0x50, 131, Color::Red), None, NONE, BOLD),
        Role::HeatCursor => {
            (ink(0xff, 0x5c, 0x9e, 204, Color::LightMagenta), None, BOLD, Modifier::REVERSED.union(BOLD))
        }
        Role::BarLow => (ink(0x5f, 0x77, 0x95, 67, Color::Blue), None, NONE, NONE),
        Role::Gold => (ink(0xcf, 0x9f, 0xf5, 183, Color::LightMagenta), None, NONE, NONE),
        Role::Track => (ink(0x45, 0x4e, 0x5c, 239, Color::DarkGray), None, NONE, NONE),
        Role::Fill => (ink(0x6c, 0xb6, 0xff, 75, Color::Cyan), None, NONE, BOLD),
        Role::Tick => (ink(0xe8, 0xb5, 0x5e, 215, Color::Yellow), None, NONE, NONE),
        Role::Toast => (
            ink(0x10, 0x14, 0x1a, 16, Color::Black),
            ink(0x9f, 0xcb, 0xf5, 153, Color::Cyan),
            NONE,
            Modifier::REVERSED,
        ),
    };
    Paint { foreground, background, modifiers, mono }
}

fn light_paint(role: Role) -> Paint {
    let (foreground, background) = match role {
        Role::Text | Role::Strong => (None, None),
        Role::Muted => (ink(0x5a, 0x64, 0x70, 241, Color::DarkGray), None),
        Role::Border | Role::Track => (ink(0xb4, 0xbc, 0xc6, 249, Color::Gray), None),
        Role::Focus | Role::Fill => (ink(0x05, 0x5c, 0xb5, 25, Color::Blue), None),
        Role::Key => (ink(0x7d, 0x4e, 0x00, 94, Color::Blue), None),
        Role::Selected => (ink(0x10, 0x18, 0x24, 16, Color::White), ink(0xd4, 0xe4, 0xf7, 153, Color::Blue)),
        Role::Cursor => (ink(0xff, 0xff, 0xff, 231, Color::White), ink(0x1f, 0x26, 0x30, 235, Color::Black)),
        Role::Trusted => (ink(0x14, 0x6c, 0x2e, 22, Color::Green), None),
        Role::Dropped => (ink(0x68, 0x71, 0x7c, 242, Color::DarkGray), None),
        Role::Warning | Role::Tick => (ink(0x8a, 0x50, 0x00, 94, Color::Magenta), None),
        Role::Error => (ink(0xb4, 0x1e, 0x28, 124, Color::Red), None),
        Role::UnsupportedLow => {
            (ink(0x3d, 0x2b, 0x00, 16, Color::Black), ink(0xff, 0xec, 0xb3, 229, Color::Yellow))
        }
        Role::UnsupportedMiddle => {
            (ink(0x3d, 0x1c, 0x00, 16, Color::White), ink(0xff, 0xcb, 0x99, 216, Color::Magenta))
        }
        Role::UnsupportedHigh => {
            (ink(0x38, 0x00, 0x06, 16, Color::White), ink(0xff, 0xa3, 0xa3, 217, Color::Red))
        }
        Role::BarHigh => (ink(0xdb, 0x6b, 0x70, 167, Color::Red), None),
        Role::HeatCursor => (ink(0xd6, 0x00, 0x5c, 161, Color::Magenta), None),
        Role::BarLow => (ink(0x6f, 0x8a, 0xaa, 67, Color::Blue), None),
        Role::Gold => (ink(0x7a, 0x2f, 0xb5, 91, Color::Magenta), None),
        Role::Toast => (ink(0xff, 0xff, 0xff, 231, Color::White), ink(0x05, 0x5c, 0xb5, 25, Color::Blue)),
    };
    let Paint { modifiers, mono, .. } = dark_paint(role);
    Paint { foreground, background, modifiers, mono }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(variables: &[(&str, &str)]) -> ColourDepth {
        ColourDepth::detect(&|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_depth_follows_the_environment_and_no_color_wins() {
        assert_eq!(depth(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), ColourDepth::True);
        assert_eq!(depth(&[("TERM", "xterm-256color")]), ColourDepth::Indexed);
        assert_eq!(depth(&[("TERM", "screen")]), ColourDepth::Ansi);
        assert_eq!(depth(&[("TERM", "dumb")]), ColourDepth::Mono);
        assert_eq!(depth(&[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")]), ColourDepth::Ansi);
        assert_eq!(depth(&[("TERM", "screen"), ("FORCE_COLOR", "3")]), ColourDepth::True);
        assert_eq!(depth(&[("NO_COLOR", "1"), ("FORCE_COLOR", "3")]), ColourDepth::Mono);
        assert_eq!(depth(&[("NO_COLOR", ""), ("TERM", "screen")]), ColourDepth::Ansi);
    }

    #[test]
    fn the_background_is_dark_unless_the_terminal_says_otherwise() {
        let of = |value: Option<&str>| {
            Theme::choose(ThemeChoice::Auto, Some(ColourDepth::True), &|_| value.map(str::to_owned)).light
        };
        assert!(!of(None));
        assert!(!of(Some("15;0")));
        assert!(of(Some("0;15")));
        assert!(of(Some("0;default;15")));
    }

    #[test]
    fn every_text_reaches_four_and_a_half_to_one_against_what_is_behind_it() {
        for theme in [Theme::DARK, Theme::LIGHT] {
            let (page, ink) = theme.page();
            for role in Role::ALL {
                // Lines and bars are not read as letters.
                if matches!(role, Role::Border | Role::Track | Role::BarLow | Role::BarHigh) {
                    continue;
                }
                let style = theme.style(role);
                let of = |colour: Option<Color>, otherwise| match colour {
                    Some(Color::Rgb(red, green, blue)) => (red, green, blue),
                    _ => otherwise,
                };
                let contrast = heat_scale::contrast(of(style.fg, ink), of(style.bg, page));
                assert!(contrast >= 4.5, "{role:?} of {theme:?} has {contrast:.2}");
            }
        }
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
