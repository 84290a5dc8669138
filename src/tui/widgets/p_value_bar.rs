//! A p-value as a bar against alpha.

use ratatui::layout::Rect;

use super::Canvas;
use crate::tui::theme::Role;

/// Left part of a block, in eighths.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Draws `share` in [0, 1] as a bar without a track.
pub fn share_bar(canvas: &mut Canvas<'_>, area: Rect, share: f64) {
    let style = canvas.style(Role::Fill);
    let filled = (share.clamp(0.0, 1.0) * f64::from(area.width) * 8.0).round() as u16;
    for column in 0..area.width {
        match filled.saturating_sub(column * 8) {
            0 => break,
            eighths => {
                let glyph = EIGHTHS[usize::from(eighths.min(8)) - 1];
                canvas.glyph(area, column, 0, glyph, style);
            }
        }
    }
}

/// Draws `p` in [0, 1] as a bar, with a tick where alpha is; the bar has the colour of the decision.
///
/// The tick stands between the columns left and right of alpha as well as one column can say it: the
/// decision itself is told in words beside the bar.
pub fn p_value_bar(canvas: &mut Canvas<'_>, area: Rect, p: f64, alpha: f64, trusted: bool) {
    if area.width == 0 {
        return;
    }
    let columns = f64::from(area.width);
    let bar = canvas.style(if trusted { Role::Trusted } else { Role::Dropped });
    let track = canvas.style(Role::Track);
    let filled = (p.clamp(0.0, 1.0) * columns * 8.0).round() as u16;
    for column in 0..area.width {
        let eighths = filled.saturating_sub(column * 8);
        match eighths {
            0 => canvas.glyph(area, column, 0, '╌', track),
            1..=7 => canvas.glyph(area, column, 0, EIGHTHS[usize::from(eighths) - 1], bar),
            _ => canvas.glyph(area, column, 0, '█', bar),
        }
    }
    let tick = ((alpha.clamp(0.0, 1.0) * columns).floor() as u16).min(area.width - 1);
    canvas.glyph(area, tick, 0, '┃', canvas.style(Role::Tick));
}
