//! A slider: its track with value and default.

use ratatui::layout::Rect;

use super::Canvas;
use crate::tui::theme::Role;

/// What a slider shows; places are shares of the track in [0, 1].
#[derive(Debug, Clone, Copy)]
pub struct Slider {
    pub value: f64,
    pub default: f64,
    pub selected: bool,
}

/// Draws the track on one line: filled up to the knob, a tick where the default is.
pub fn slider(canvas: &mut Canvas<'_>, area: Rect, slider: Slider) {
    if area.width == 0 {
        return;
    }
    let last = f64::from(area.width - 1);
    let place = |share: f64| (share.clamp(0.0, 1.0) * last).round() as u16;
    let (knob, tick) = (place(slider.value), place(slider.default));
    let (fill, track) = (canvas.style(Role::Fill), canvas.style(Role::Track));
    for column in 0..area.width {
        let (glyph, style) = if column < knob { ('━', fill) } else { ('─', track) };
        canvas.glyph(area, column, 0, glyph, style);
    }
    canvas.glyph(area, tick, 0, '┃', canvas.style(Role::Tick));
    let knob_style = if slider.selected { canvas.style(Role::Focus) } else { fill };
    canvas.glyph(area, knob, 0, if slider.selected { '●' } else { '○' }, knob_style);
}
