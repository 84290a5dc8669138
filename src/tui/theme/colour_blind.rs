//! Colours that stay apart for people who confuse red and green: those of Okabe and Ito ("Color universal
//! design", 2008), and severity told by brightness within one hue.

use ratatui::style::Color;

use super::paint::{Ink, Paint, dark, ink, light};
use super::role::Role;

/// The paint of a role: colours of this theme, modifiers of the usual one.
pub fn paint(role: Role, on_light: bool) -> Paint {
    let usual = if on_light { light(role) } else { dark(role) };
    let own = if on_light { on_light_page(role) } else { on_dark_page(role) };
    match own {
        Some((foreground, background)) => Paint { foreground, background, ..usual },
        None => usual,
    }
}

/// `None`: as in the usual theme.
fn on_dark_page(role: Role) -> Option<(Option<Ink>, Option<Ink>)> {
    let inks = match role {
        Role::Focus | Role::Fill => (ink(0x56, 0xb4, 0xe9, 74, Color::Cyan), None),
        Role::Key => (ink(0xf0, 0xe4, 0x42, 227, Color::Yellow), None),
        Role::Trusted => (ink(0x1a, 0xb8, 0x8a, 36, Color::Cyan), None),
        Role::Warning | Role::Tick => (ink(0xe6, 0x9f, 0x00, 214, Color::Yellow), None),
        Role::Error => (ink(0xf2, 0x78, 0x20, 208, Color::LightRed), None),
        Role::BarHigh => (ink(0xd5, 0x5e, 0x00, 166, Color::Yellow), None),
        Role::BarLow => (ink(0x00, 0x72, 0xb2, 25, Color::Blue), None),
        Role::Gold => (ink(0xcc, 0x79, 0xa7, 175, Color::LightMagenta), None),
        Role::UnsupportedLow => {
            (ink(0xff, 0xe3, 0xae, 230, Color::White), ink(0x45, 0x33, 0x06, 58, Color::DarkGray))
        }
        Role::UnsupportedMiddle => {
            (ink(0xff, 0xf4, 0xdc, 231, Color::Black), ink(0x80, 0x55, 0x04, 94, Color::Yellow))
        }
        Role::UnsupportedHigh => {
            (ink(0x00, 0x00, 0x00, 16, Color::White), ink(0xe6, 0x9f, 0x00, 214, Color::Red))
        }
        // The scale runs from blue over grey to yellow: white is on none of its steps.
        Role::HeatCursor => (ink(0xff, 0xff, 0xff, 231, Color::White), None),
        _ => return None,
    };
    Some(inks)
}

fn on_light_page(role: Role) -> Option<(Option<Ink>, Option<Ink>)> {
    let inks = match role {
        Role::Focus | Role::Fill => (ink(0x00, 0x69, 0xa6, 25, Color::Blue), None),
        Role::Trusted => (ink(0x00, 0x68, 0x4c, 23, Color::Cyan), None),
        Role::Warning | Role::Tick => (ink(0x85, 0x58, 0x00, 94, Color::Magenta), None),
        Role::Error => (ink(0xa8, 0x43, 0x00, 124, Color::Red), None),
        Role::BarHigh => (ink(0xd5, 0x5e, 0x00, 166, Color::Red), None),
        Role::BarLow => (ink(0x56, 0xb4, 0xe9, 74, Color::Blue), None),
        Role::Gold => (ink(0x8f, 0x42, 0x6d, 89, Color::Magenta), None),
        Role::UnsupportedLow => {
            (ink(0x2b, 0x22, 0x00, 16, Color::Black), ink(0xff, 0xf0, 0xc8, 230, Color::Gray))
        }
        Role::UnsupportedMiddle => {
            (ink(0x2b, 0x1e, 0x00, 16, Color::Black), ink(0xf7, 0xcf, 0x77, 222, Color::Yellow))
        }
        Role::UnsupportedHigh => {
            (ink(0x00, 0x00, 0x00, 16, Color::White), ink(0xe6, 0x9f, 0x00, 214, Color::Red))
        }
        Role::HeatCursor => (ink(0x00, 0x00, 0x00, 16, Color::Black), None),
        _ => return None,
    };
    Some(inks)
}
