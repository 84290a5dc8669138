//! The screen, drawn from the model and nothing else. One file per view.

mod answer;
mod asked;
mod attention;
mod chunks;
mod comparison;
mod detectors;
mod diagnostics;
mod dialog;
mod examples;
mod footer;
mod head_grid;
mod header;
mod help;
mod histogram;
mod layout;
mod notices;
mod overview;
mod page;
mod palette;
mod presets;
mod question;
mod same_words;
mod sliders;
mod spans;
mod toast;
mod token_map;
mod top_heads;
mod words;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::action::{Command, Context, context};
use super::heat_scale::Extent;
use super::hit::{HitMap, Target};
use super::model::{Model, Overlay, Pane};
use super::theme::{Role, Theme};
use super::widgets::{Canvas, heat_cell};
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
    let mut toasts_on = None;
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
            toasts_on = Some(footer);
        }
        Arrangement::Page { page, header, tabs, body, footer } => {
            header::draw(&mut canvas, header, model);
            page::draw(&mut canvas, tabs, body, model, page);
            footer::draw(&mut canvas, footer, model);
            toasts_on = Some(footer);
        }
    }
    if area.width >= layout::LEAST.0 && area.height >= layout::LEAST.1 {
        match &model.overlay {
            Some(Overlay::Help { query, typing, scroll }) => {
                help::draw(&mut canvas, layout::overlay(area), model, (query, *typing), *scroll);
            }
            Some(Overlay::Notices { scroll }) => {
                notices::draw(&mut canvas, layout::overlay(area), model, *scroll);
            }
            Some(Overlay::Palette { query, selected }) => {
                palette::draw(&mut canvas, layout::overlay(area), model, query, *selected);
            }
            Some(Overlay::Presets(list)) => {
                presets::draw(&mut canvas, layout::overlay(area), model, list);
            }
            None => {}
        }
        if let Some(dialog) = &model.dialog {
            dialog::draw(&mut canvas, area, model, dialog);
        }
    }
    // Over whatever is open; a prompt keeps its line.
    if let (Some(line), Some(toast)) = (toasts_on, &model.toast)
        && context(model) != Context::Prompt
    {
        toast::draw(&mut canvas, line, model, toast);
    }
    if theme.ascii {
        super::theme::write_in_ascii(buffer);
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
    let number = model.keys.label(Command::Focus(pane));
    let name = canvas.style(if focused { Role::Focus } else { Role::Strong });
    let key = canvas.style(Role::Key);
    let rest = canvas.style(Role::Muted);
    let mut pieces = vec![(number.as_str(), key), (" ", rest), (pane.title(), name)];
    if !title.is_empty() {
        pieces.extend([(" ", rest), (title, rest)]);
    }
    canvas.frame(area, &pieces, read_out, focused)
}

/// The same with the names of the pane's views, the present one standing out.
fn pane_frame_with_views(
    canvas: &mut Canvas<'_>,
    area: Rect,
    model: &Model,
    pane: Pane,
    views: &[(&str, bool)],
    read_out: &str,
) -> Rect {
    let focused = model.focus == pane && model.overlay.is_none();
    let number = pane.number().to_string();
    let name = canvas.style(if focused { Role::Focus } else { Role::Strong });
    let (key, muted, strong) =
        (canvas.style(Role::Key), canvas.style(Role::Muted), canvas.style(Role::Strong));
    let mut pieces = vec![(number.as_str(), key), (" ", muted), (pane.title(), name)];
    for (view, present) in views {
        pieces.extend([(" ", muted), (*view, if *present { strong } else { muted })]);
    }
    canvas.frame(area, &pieces, read_out, focused)
}

/// Least value, ramp, greatest value at a place of `area`; returns the column after it.
fn legend(
    canvas: &mut Canvas<'_>,
    area: Rect,
    (column, row): (u16, u16),
    extent: &Extent,
    cells: u16,
) -> u16 {
    let muted = canvas.style(Role::Muted);
    let low = extent.foot();
    let low = if low > 0.0 && low < 0.005 { format!("{low:.0e}") } else { words::digits(low) };
    let end = canvas.write_all(area, column, row, &[(&low, muted), (" ", muted)]);
    for step in 0..cells {
        heat_cell(canvas, area, end + step, row, f64::from(step) / f64::from(cells.saturating_sub(1).max(1)));
    }
    canvas.write_all(area, end + cells, row, &[(" ", muted), (&words::digits(extent.high), muted)])
}

/// The plain sentence at the foot of a pane; returns what is left above it.
fn sentence(canvas: &mut Canvas<'_>, inside: Rect, text: &str, most_lines: u16) -> Rect {
    if inside.height < 3 || text.is_empty() {
        return inside;
    }
    let lines = sentence_lines(text, inside.width).min(most_lines).min(inside.height - 1);
    let foot = Rect { y: inside.bottom() - lines, height: lines, ..inside };
    let style = canvas.style(Role::Muted);
    canvas.write_wrapped(foot, text, style);
    Rect { height: inside.height - lines, ..inside }
}

/// Lines that a sentence takes.
fn sentence_lines(text: &str, width: u16) -> u16 {
    super::widgets::wrap(&crate::text::visible_line(text), width, &[]).lines.len() as u16
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
        let number = format!(" {} ", model.keys.label(Command::Focus(pane)));
        let title = format!("{} ", pane.title());
        column = canvas.write_all(area, column, 0, &[(&number, key), (&title, name)]);
        let tab = Rect { x: area.x + start, width: column.saturating_sub(start), ..area };
        canvas.hits.add(tab, Target::Pane(pane));
    }
}
