//! The screen, drawn from the model and nothing else. One file per view.

mod answer;
mod asked;
mod attention;
mod chunks;
mod dialog;
mod examples;
mod footer;
mod header;
mod help;
mod layout;
mod notices;
mod question;
mod sliders;
mod words;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::hit::{HitMap, Target};
use super::model::{Model, Overlay, Pane};
use super::theme::{Role, Theme};
use super::widgets::Canvas;
use layout::Arrangement;
pub(super) use words::quoted;

/// Draws the model and says what stands where.
pub fn view(model: &Model, theme: &Theme, frame: &mut Frame<'_>) -> HitMap {
    let area = frame.area();
    draw(model, theme, frame.buffer_mut(), area)
}

/// Draws into a buffer: for pictures and tests.
pub fn draw(model: &Model, theme: &Theme, buffer: &mut Buffer, area: Rect) -> HitMap {
    let mut hits = HitMap::default();
    let area = area.intersection(buffer.area);
    let mut canvas = Canvas { buffer, theme, hits: &mut hits };
    match layout::arrange(area, model) {
        Arrangement::TooSmall => {
            let text = format!("need 40x8, have {}x{}", area.width, area.height);
            canvas.write(area, 0, 0, &text, theme.style(Role::Warning));
        }
        Arrangement::Shown { header, strip, tabs, question, panes, footer } => {
            header::draw(&mut canvas, header, model);
            if let Some(strip) = strip {
                examples::draw_strip(&mut canvas, strip, model);
            }
            if let Some(tabs) = tabs {
                draw_tabs(&mut canvas, tabs, model);
            }
            if let Some(question) = question {
                question::draw(&mut canvas, question, model);
            }
            // Where the attention is not on the screen, the answer carries its token map.
            let with_map = panes.iter().all(|(pane, _)| *pane != Pane::Attention);
            for (pane, area) in panes {
                draw_pane(&mut canvas, area, model, pane, with_map);
            }
            footer::draw(&mut canvas, footer, model);
            match &model.overlay {
                Some(Overlay::Help { query, typing, scroll }) => {
                    help::draw(&mut canvas, layout::overlay(area), model, (query, *typing), *scroll);
                }
                Some(Overlay::Notices { scroll }) => {
                    notices::draw(&mut canvas, layout::overlay(area), model, *scroll);
                }
                None => {}
            }
            if let Some(dialog) = &model.dialog {
                dialog::draw(&mut canvas, area, model, dialog);
            }
        }
    }
    hits
}

fn draw_pane(canvas: &mut Canvas<'_>, area: Rect, model: &Model, pane: Pane, with_map: bool) {
    canvas.hits.add(area, Target::Pane(pane));
    match pane {
        Pane::Examples => examples::draw(canvas, area, model),
        Pane::Chunks => chunks::draw(canvas, area, model),
        Pane::Answer => answer::draw(canvas, area, model, with_map),
        Pane::Attention => attention::draw(canvas, area, model),
        Pane::Sliders => sliders::draw(canvas, area, model),
    }
}

/// A pane's frame with its number and title; returns the inside.
fn pane_frame(
    canvas: &mut Canvas<'_>,
    area: Rect,
    model: &Model,
    pane: Pane,
    title: &str,
    read_out: &str,
) -> Rect {
    let focused = model.focus == pane && model.overlay.is_none();
    let number = pane.number().to_string();
    let name = canvas.style(if focused { Role::Focus } else { Role::Strong });
    let key = canvas.style(Role::Key);
    let rest = canvas.style(Role::Muted);
    let mut pieces = vec![(number.as_str(), key), (" ", rest), (pane.title(), name)];
    if !title.is_empty() {
        pieces.extend([(" ", rest), (title, rest)]);
    }
    canvas.frame(area, &pieces, read_out, focused)
}

/// The plain sentence at the foot of a pane; returns what is left above it.
fn sentence(canvas: &mut Canvas<'_>, inside: Rect, text: &str, most_lines: u16) -> Rect {
    if inside.height < 3 || text.is_empty() {
        return inside;
    }
    let wrapped = super::widgets::wrap(&crate::text::visible_line(text), inside.width, &[]);
    let lines = (wrapped.lines.len() as u16).min(most_lines).min(inside.height - 1);
    let foot = Rect { y: inside.bottom() - lines, height: lines, ..inside };
    let style = canvas.style(Role::Muted);
    canvas.write_wrapped(foot, text, style);
    Rect { height: inside.height - lines, ..inside }
}

/// A pane that has nothing to show says why, in the middle of its upper part.
fn absent(canvas: &mut Canvas<'_>, inside: Rect, text: &str, role: Role) {
    let area = inside.inner(ratatui::layout::Margin::new(1.min(inside.width / 8), 0));
    let style = canvas.style(role);
    canvas.write_wrapped(area, text, style);
}

fn draw_tabs(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let mut column = 1;
    for pane in Pane::ALL {
        let focused = pane == model.focus;
        let start = column;
        let key = canvas.style(if focused { Role::Selected } else { Role::Key });
        let name = canvas.style(if focused { Role::Selected } else { Role::Muted });
        let number = format!(" {} ", pane.number());
        let title = format!("{} ", pane.title());
        column = canvas.write_all(area, column, 0, &[(&number, key), (&title, name)]);
        let tab = Rect { x: area.x + start, width: column.saturating_sub(start), ..area };
        canvas.hits.add(tab, Target::Pane(pane));
    }
}
