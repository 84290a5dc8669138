//! Counts as columns over [0, 1], with the threshold as a line between them.

use ratatui::layout::Rect;

use super::Canvas;
use crate::tui::theme::Role;

const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws `counts` as columns of equal width, the axis under them on the last line, and a line at
/// `threshold`. Any count above zero is seen.
pub fn bars(canvas: &mut Canvas<'_>, area: Rect, counts: &[u64], threshold: f64, logarithmic: bool) {
    let bar = (usize::from(area.width) / counts.len().max(1)) as u16;
    if area.height < 2 || bar == 0 || counts.is_empty() {
        return;
    }
    let width = bar * counts.len() as u16;
    let plot = Rect { width, height: area.height - 1, ..area };
    let size = |count: u64| {
        let count = count as f64;
        if logarithmic { (count + 1.0).ln() } else { count }
    };
    let highest = size(counts.iter().copied().max().unwrap_or(0)).max(1e-9);
    let eighths = u32::from(plot.height) * 8;
    let tick = ((threshold.clamp(0.0, 1.0) * f64::from(width)).round() as u16).min(width - 1);
    let (high, low) = (canvas.style(Role::BarHigh), canvas.style(Role::BarLow));
    let (line, muted) = (canvas.style(Role::Tick), canvas.style(Role::Muted));
    for row in 0..plot.height {
        canvas.glyph(plot, tick, row, '┃', line);
    }
    for (index, count) in counts.iter().enumerate() {
        if *count == 0 {
            continue;
        }
        let filled = ((size(*count) / highest * f64::from(eighths)).round() as u32).clamp(1, eighths);
        let middle = (index as f64 + 0.5) / counts.len() as f64;
        let style = if middle >= threshold { high } else { low };
        for row in 0..plot.height {
            let above = u32::from(plot.height - 1 - row) * 8;
            let part = filled.saturating_sub(above).min(8);
            if part == 0 {
                continue;
            }
            for column in 0..bar {
                let at = index as u16 * bar + column;
                // The line stays in sight where a column is only partly filled.
                if at != tick || part == 8 {
                    canvas.glyph(plot, at, row, HEIGHTS[part as usize - 1], style);
                }
            }
        }
    }
    let axis = Rect { y: plot.bottom(), height: 1, width, ..area };
    for (share, label) in [(0.0, "0"), (0.25, ".25"), (0.5, ".5"), (0.75, ".75"), (1.0, "1")] {
        let at = (share * f64::from(width)) as u16;
        let at = at.saturating_sub(label.len() as u16 / 2).min(width.saturating_sub(label.len() as u16));
        // The foot of the line takes the place of a label.
        let free = !(at..at + label.len() as u16).contains(&tick);
        if free && (width >= 24 || share == 0.0 || share == 1.0) {
            canvas.write(axis, at, 0, label, muted);
        }
    }
    canvas.glyph(axis, tick, 0, '┻', line);
}
