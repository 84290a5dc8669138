//! The flagged spans of the answer as a table.

use std::ops::Range;

use ratatui::layout::Rect;

use super::words::percent;
use crate::evidence::{FlaggedSpan, Reading};
use crate::tui::hit::Target;
use crate::tui::model::{Model, looked_at_most};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::Canvas;

/// Columns of the figures, and of the chunk.
const FIGURES: u16 = 19;
const CHUNK: u16 = 12;

/// Mean of the scores of `tokens`; `None` where a score is missing.
fn mean(scores: &[f64], tokens: Range<usize>) -> Option<f64> {
    let count = tokens.len();
    let scores = scores.get(tokens)?;
    (count > 0).then(|| scores.iter().sum::<f64>() / count as f64)
}

/// The line of the span at the cursor, else of the last one before it.
fn line_at(model: &Model, spans: &[FlaggedSpan]) -> usize {
    let before = spans.partition_point(|span| span.tokens.start <= model.token).saturating_sub(1);
    model.span_at_cursor().unwrap_or(before)
}

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, reading: &Reading, answer: &str) {
    let Some(findings) = &model.findings else { return };
    let spans = &findings.spans;
    if area.height == 0 {
        return;
    }
    if spans.is_empty() {
        let text = format!("No span of this answer reaches {:.2}.", model.thresholds.token);
        super::absent(canvas, area, &text, Role::Muted);
        return;
    }
    let with_chunk = area.width >= 60;
    let text_width = area.width.saturating_sub(5 + FIGURES + if with_chunk { CHUNK } else { 0 });
    let figures_at = 5 + text_width;
    let muted = canvas.style(Role::Muted);
    let head = Rect { height: 1, ..area };
    canvas.write(head, 1, 0, "  # unsupported words", muted);
    canvas.write(head, figures_at, 0, " tokens  mean   max", muted);
    if with_chunk {
        canvas.write(head, figures_at + FIGURES, 0, "  looked at", muted);
    }
    let list = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let height = usize::from(list.height);
    let at = line_at(model, spans);
    let first = at.saturating_sub(height / 2).min(spans.len().saturating_sub(height));
    for (row, (index, span)) in spans.iter().enumerate().skip(first).take(height).enumerate() {
        let line = Rect { y: list.y + row as u16, height: 1, ..list };
        canvas.hits.add(line, Target::Span(index));
        let selected = model.span_at_cursor() == Some(index);
        if selected {
            let style = canvas.style(Role::Selected);
            canvas.tint(line, style);
            let focus = canvas.style(Role::Focus);
            canvas.glyph(line, 0, 0, '▌', focus);
        }
        let plain = canvas.style(if selected { Role::Selected } else { Role::Text });
        let marker = canvas.style(if selected { Role::Selected } else { Role::Error });
        let number = format!("[{}]", index + 1);
        canvas.write(line, 1, 0, &format!("{number:>3}"), marker);
        let band = canvas.style(Theme::unsupported(span.score, model.thresholds.token));
        let text = Rect { x: line.x + 5, width: text_width.saturating_sub(1), ..line }.intersection(line);
        // A span may be long: what a line cannot show need not be looked at.
        let words: String = answer
            .get(span.range.clone())
            .unwrap_or_default()
            .chars()
            .take(usize::from(text_width))
            .collect();
        canvas.write(text, 0, 0, &words, band);
        let mean = mean(&findings.smoothed, span.tokens.clone());
        let mean = mean.map_or_else(|| "   –".into(), |mean| format!("{mean:.2}"));
        let figures = format!("{:>7}  {mean} {:>5.2}", span.tokens.len(), span.score);
        canvas.write(line, figures_at, 0, &figures, plain);
        if with_chunk {
            let looked = reading
                .lookback
                .as_ref()
                .and_then(|lookback| looked_at_most(lookback, model.chunk_count(), span.tokens.clone()));
            let looked = looked.map_or_else(
                || "  –".to_owned(),
                |(chunk, share)| format!("  {} ({})", chunk + 1, percent(share)),
            );
            canvas.write(line, figures_at + FIGURES, 0, &looked, plain);
        }
    }
}
