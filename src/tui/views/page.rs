//! A page: tabs above, one view below.

use ratatui::layout::Rect;

use super::{comparison, diagnostics, histogram, overview};
use crate::tui::action::Command;
use crate::tui::hit::Target;
use crate::tui::model::{Model, Page};
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

pub fn draw(canvas: &mut Canvas<'_>, tabs: Rect, body: Rect, model: &Model, page: Page) {
    draw_tabs(canvas, tabs, model, page);
    match page {
        Page::Overview => overview::draw(canvas, body, model),
        Page::Diagnostics => diagnostics::draw(canvas, body, model),
        Page::Scores => histogram::draw(canvas, body, model),
        Page::Comparison => comparison::draw(canvas, body, model),
    }
}

fn draw_tabs(canvas: &mut Canvas<'_>, area: Rect, model: &Model, present: Page) {
    let mut column = 1;
    for page in Page::ALL {
        let label = model.keys.label(Command::Page(page));
        let here = page == present;
        let key = canvas.style(if here { Role::Selected } else { Role::Key });
        let name = canvas.style(if here { Role::Selected } else { Role::Muted });
        let start = column;
        // On narrow screens the other pages are known by their keys.
        let title = if here || area.width >= 60 { format!("{} ", page.title()) } else { String::new() };
        column = canvas.write_all(area, column, 0, &[(&format!(" {label} "), key), (&title, name)]);
        let width = column.saturating_sub(start);
        canvas.hits.add(Rect { x: area.x + start, width, ..area }.intersection(area), Target::Page(page));
    }
}
