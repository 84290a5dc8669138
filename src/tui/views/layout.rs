//! Which parts of the screen are shown, and where.

use ratatui::layout::{Constraint, Layout, Rect};

use crate::tui::model::{Model, Page, Pane};

/// The parts of one frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Less than 40 columns or 8 lines: one line says so.
    TooSmall,
    Shown {
        header: Rect,
        /// One line about the selected example, where the list is not on the screen.
        strip: Option<Rect>,
        tabs: Option<Rect>,
        question: Option<Rect>,
        panes: Vec<(Pane, Rect)>,
        footer: Rect,
    },
    /// A page instead of the panes.
    Page { page: Page, header: Rect, tabs: Rect, body: Rect, footer: Rect },
}

/// The least columns and lines that anything is drawn in.
pub const LEAST: (u16, u16) = (40, 8);

/// From 120x36 three columns; from 60x16 a strip, tabs and the answer under the chosen pane; below
/// that one pane.
pub fn arrange(area: Rect, model: &Model) -> Arrangement {
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return Arrangement::TooSmall;
    }
    if let Some(page) = model.pages.open {
        let lines = [Constraint::Length(1), Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
        let [header, tabs, body, footer] = Layout::vertical(lines).areas(area);
        return Arrangement::Page { page, header, tabs, body, footer };
    }
    if area.width >= 120 && area.height >= 36 {
        return wide(area, model);
    }
    let single = area.width < 60 || area.height < 16;
    let [header, strip, tabs, body, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(u16::from(!single)),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(area);
    let panes = if single || model.zoom { vec![(model.focus, body)] } else { stacked(body, model.focus) };
    let (question, panes) = with_question(panes, model, single);
    Arrangement::Shown {
        header,
        strip: (!single).then_some(strip),
        tabs: Some(tabs),
        question,
        panes,
        footer,
    }
}

fn wide(area: Rect, model: &Model) -> Arrangement {
    let [header, body, footer] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(area);
    if model.zoom {
        let panes = vec![(model.focus, body)];
        return Arrangement::Shown { header, strip: None, tabs: None, question: None, panes, footer };
    }
    let [left, centre, right] = Layout::horizontal([
        Constraint::Percentage(24),
        Constraint::Min(40),
        Constraint::Length((area.width * 32 / 100).clamp(38, 56)),
    ])
    .areas(body);
    let [question, chunks, answer] = Layout::vertical([
        Constraint::Length(question_height(centre.width, centre.height, model)),
        Constraint::Fill(9),
        Constraint::Fill(10),
    ])
    .areas(centre);
    let [attention, sliders] = Layout::vertical([
        Constraint::Min(8),
        Constraint::Length(sliders_height(model).min(right.height / 2)),
    ])
    .areas(right);
    let panes = vec![
        (Pane::Examples, left),
        (Pane::Chunks, chunks),
        (Pane::Answer, answer),
        (Pane::Attention, attention),
        (Pane::Sliders, sliders),
    ];
    Arrangement::Shown { header, strip: None, tabs: None, question: Some(question), panes, footer }
}

/// The chosen pane above, the answer always below it.
fn stacked(body: Rect, focus: Pane) -> Vec<(Pane, Rect)> {
    if focus == Pane::Answer {
        return vec![(Pane::Answer, body)];
    }
    // The heat maps need lines, the answer can do with its text and one score row.
    let answer = (body.height * 2 / 5).clamp(6, 14);
    let [above, below] = Layout::vertical([Constraint::Min(6), Constraint::Length(answer)]).areas(body);
    vec![(focus, above), (Pane::Answer, below)]
}

/// In the narrow layouts the answer pane carries the question above it when it has the screen.
fn with_question(
    mut panes: Vec<(Pane, Rect)>,
    model: &Model,
    single: bool,
) -> (Option<Rect>, Vec<(Pane, Rect)>) {
    if let [(Pane::Answer, area)] = panes[..]
        && !single
        && !model.zoom
    {
        // The strip above holds it where it is short enough.
        let question = model.row().map_or("", |row| row.question.as_str());
        if crate::tui::widgets::width(&crate::text::visible_line(question)) + 24 < area.width {
            return (None, panes);
        }
        let lines = question_height(area.width, area.height, model).min(3);
        let [question, rest] = Layout::vertical([Constraint::Length(lines), Constraint::Min(6)]).areas(area);
        panes[0].1 = rest;
        return (Some(question), panes);
    }
    (None, panes)
}

/// Two lines for each, a frame, and what is said of one: most of the guarantee that beta gives.
fn sliders_height(model: &Model) -> u16 {
    let count = model.sliders().len() as u16;
    2 * count + 2 + if model.highlighting.is_some() { 5 } else { 3 }
}

fn question_height(width: u16, height: u16, model: &Model) -> u16 {
    let question = model.row().map_or("", |row| row.question.as_str());
    let lines = crate::tui::widgets::wrap(question, width.saturating_sub(4), &[]).lines.len() as u16;
    lines.clamp(1, (height / 6).max(1)) + 1
}

/// The middle of the screen, always inside it.
pub fn overlay(area: Rect) -> Rect {
    let width = area.width.saturating_sub(4).min(84);
    let height = area.height.saturating_sub(2).min(36);
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}
