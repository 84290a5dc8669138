//! The colours of the roles on dark and on light pages.

use ratatui::style::{Color, Modifier};

use super::depth::ColourDepth;
use super::role::Role;

/// One colour at every depth, each picked by hand: the nearest of 256 is rarely the best of 256.
#[derive(Clone, Copy)]
pub struct Ink {
    pub rgb: (u8, u8, u8),
    pub indexed: u8,
    pub ansi: Color,
}

impl Ink {
    pub fn at(self, depth: ColourDepth) -> Color {
        match depth {
            ColourDepth::True => Color::Rgb(self.rgb.0, self.rgb.1, self.rgb.2),
            ColourDepth::Indexed => Color::Indexed(self.indexed),
            ColourDepth::Ansi => self.ansi,
            ColourDepth::Mono => Color::Reset,
        }
    }
}

pub struct Paint {
    pub foreground: Option<Ink>,
    pub background: Option<Ink>,
    /// Modifiers at every depth with colours.
    pub modifiers: Modifier,
    /// Modifiers without colours.
    pub mono: Modifier,
}

#[allow(clippy::unnecessary_wraps, reason = "a paint has a colour or none: the tables read better so")]
pub const fn ink(red: u8, green: u8, blue: u8, indexed: u8, ansi: Color) -> Option<Ink> {
    Some(Ink { rgb: (red, green, blue), indexed, ansi })
}

const NONE: Modifier = Modifier::empty();
const BOLD: Modifier = Modifier::BOLD;
const UNDERLINED: Modifier = Modifier::UNDERLINED;

pub fn dark(role: Role) -> Paint {
    let (foreground, background, modifiers, mono) = match role {
        Role::Text => (None, None, NONE, NONE),
        Role::Muted => (ink(0x8b, 0x95, 0xa5, 246, Color::Gray), None, NONE, NONE),
        Role::Border => (ink(0x45, 0x4e, 0x5c, 239, Color::DarkGray), None, NONE, Modifier::DIM),
        Role::Focus => (ink(0x6c, 0xb6, 0xff, 75, Color::Cyan), None, BOLD, BOLD),
        Role::Strong => (None, None, BOLD, BOLD),
        Role::Key => (ink(0xe0, 0xc0, 0x80, 180, Color::Yellow), None, NONE, BOLD),
        Role::Selected => (
            ink(0xf0, 0xf3, 0xf8, 255, Color::White),
            ink(0x22, 0x2d, 0x3e, 235, Color::DarkGray),
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

pub fn light(role: Role) -> Paint {
    let (foreground, background) = match role {
        Role::Text | Role::Strong => (None, None),
        Role::Muted => (ink(0x5a, 0x64, 0x70, 241, Color::DarkGray), None),
        Role::Border | Role::Track => (ink(0xb4, 0xbc, 0xc6, 249, Color::Gray), None),
        Role::Focus | Role::Fill => (ink(0x05, 0x5c, 0xb5, 25, Color::Blue), None),
        Role::Key => (ink(0x7d, 0x4e, 0x00, 94, Color::Blue), None),
        Role::Selected => (ink(0x10, 0x18, 0x24, 16, Color::Black), ink(0xdc, 0xe9, 0xf9, 195, Color::Gray)),
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
    let Paint { modifiers, mono, .. } = dark(role);
    Paint { foreground, background, modifiers, mono }
}
