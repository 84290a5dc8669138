//! What the run had to say: stays here until the end.

use ratatui::layout::Rect;

use crate::tui::action::Command;
use crate::tui::hit::Target;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, wrap};

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, scroll: u16) {
    canvas.clear(area);
    let focus = canvas.style(Role::Focus);
    let inside = canvas.frame(
        area,
        &[("Notices", focus)],
        &format!("{} closes", model.keys.label(Command::Close)),
        true,
    );
    canvas.hits.add(area, Target::Overlay);
    let mut texts: Vec<String> = model.notices.clone();
    texts.extend(model.guarantee.iter().cloned());
    if let Some(evidence) = model.evidence() {
        texts.extend(evidence.notices.iter().map(|notice| format!("{}: {notice}", evidence.id)));
    }
    if texts.is_empty() {
        texts.push("There is nothing to tell.".into());
    }
    let mut lines: Vec<String> = Vec::new();
    for text in &texts {
        let wrapped = wrap(&crate::text::visible_line(text), inside.width.saturating_sub(4), &[]);
        for (at, line) in wrapped.lines.iter().enumerate() {
            let lead = if at == 0 { "• " } else { "  " };
            lines.push(format!("{lead}{}", wrapped.shown(line).trim_end()));
        }
    }
    let furthest = (lines.len() as u16).saturating_sub(inside.height);
    canvas.hits.limits.overlay_scroll = furthest;
    let style = canvas.style(Role::Text);
    let first = usize::from(scroll.min(furthest));
    for (row, line) in lines.iter().skip(first).take(usize::from(inside.height)).enumerate() {
        canvas.write(inside, 1, row as u16, line, style);
    }
}
