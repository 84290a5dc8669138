//! The pointer. Everything it does has a key as well.

use super::{Effect, navigate, pages, palette, presets, sliders};
use crate::tui::action::Command;
use crate::tui::hit::Target;
use crate::tui::model::{Model, Overlay, Pane, SliderName};

/// A press selects what is under it and gives its pane the keys.
pub fn press(model: &mut Model, target: Target, column: u16, track: (u16, u16)) -> Vec<Effect> {
    if model.dialog.is_some() {
        if let Target::Dialog(item) = target {
            super::dialog::press(model, item);
        }
        return Vec::new();
    }
    if model.overlay.is_some() {
        return on_overlay(model, target);
    }
    model.typed = None;
    model.filter.typing = false;
    match target {
        Target::Pane(pane) => model.focus = pane,
        Target::Example(index) => {
            model.focus = Pane::Examples;
            model.select(index);
        }
        Target::Chunk(chunk) => {
            model.focus = Pane::Chunks;
            navigate::select_chunk(model, chunk);
        }
        Target::Token(token) => {
            model.focus = Pane::Answer;
            model.token = token;
            model.annotating.anchor = None;
            model.annotating.pressed = Some(token);
        }
        Target::Head { layer, head } => {
            model.focus = Pane::Attention;
            model.attention.layer = layer;
            model.attention.head = head;
        }
        Target::Cell { token, chunk } => {
            model.token = token;
            navigate::select_chunk(model, chunk);
        }
        Target::Span(index) => {
            model.focus = Pane::Answer;
            navigate::select_span(model, index);
        }
        Target::Page(page) => pages::open(model, page),
        Target::OverviewLine(list, line) => {
            model.pages.list = list;
            model.pages.at[list.number()] = line;
        }
        Target::Slider(slider) => select_slider(model, slider),
        Target::Track(slider) => {
            select_slider(model, slider);
            model.drag = Some((slider, track.0, track.1));
            model.held = Some((slider, model.thresholds.clone()));
            drag(model, column, None);
        }
        Target::Overlay | Target::OverlayLine(_) | Target::Dialog(_) => {}
    }
    model.refresh();
    Vec::new()
}

/// Beside an overlay a press closes it. A line of the palette is done at once; a line of the presets is
/// selected, and used when it was selected already.
fn on_overlay(model: &mut Model, target: Target) -> Vec<Effect> {
    match (&mut model.overlay, target) {
        (Some(Overlay::Palette { .. }), Target::OverlayLine(at)) => {
            palette::select(model, at);
            return palette::accept(model);
        }
        (Some(Overlay::Presets(list)), Target::OverlayLine(at)) => {
            if list.question.is_some() || list.naming.is_some() {
                return Vec::new();
            }
            if list.selected == at {
                return presets::command(model, Command::Open).unwrap_or_default();
            }
            list.selected = at;
        }
        (_, Target::Overlay | Target::OverlayLine(_)) => {}
        (overlay, _) => *overlay = None,
    }
    Vec::new()
}

fn select_slider(model: &mut Model, slider: SliderName) {
    model.focus = Pane::Sliders;
    model.slider = slider;
}

/// Lets the slider go that is held.
pub fn release(model: &mut Model) {
    model.drag = None;
    model.annotating.pressed = None;
    if model.held.take().is_some() {
        model.decide_anew();
    }
}

/// Puts the slider that is held back to where it was taken; `false` where none is.
pub fn put_back(model: &mut Model) -> bool {
    model.drag = None;
    let Some((_, before)) = model.held.take() else { return false };
    model.thresholds = before;
    model.decide_anew();
    true
}

/// Sets the slider that is held; beyond its ends it stays at them.
pub fn drag(model: &mut Model, column: u16, over: Option<Target>) {
    if let (Some(pressed), Some(Target::Token(token))) = (model.annotating.pressed, over) {
        drag_over_token(model, pressed, token);
        return;
    }
    let Some((slider, first, width)) = model.drag else { return };
    let place = f64::from(column.saturating_sub(first)) / f64::from(width.saturating_sub(1).max(1));
    sliders::set(model, slider, slider.value_at(place));
}

/// Tokens that the pointer goes over while it is pressed are selected.
fn drag_over_token(model: &mut Model, pressed: usize, token: usize) {
    let began = model.annotating.anchor.is_some();
    if (token == pressed && !began) || super::annotating::why_not_mark(model).is_some() {
        return;
    }
    model.annotating.anchor = Some((model.selected, pressed));
    model.token = token.min(model.token_count().saturating_sub(1));
}

/// The wheel scrolls what is under the pointer, wherever the keys are.
pub fn wheel(model: &mut Model, pane: Option<Pane>, lines: i32) {
    if model.dialog.is_some() {
        return;
    }
    let command = if lines > 0 { Command::Down } else { Command::Up };
    if palette::go(model, command) {
        return;
    }
    if let Some(Overlay::Presets(list)) = &mut model.overlay {
        list.selected = navigate::moved(list.selected, i64::from(lines.signum()), model.presets.len());
        return;
    }
    if model.overlay.is_some() {
        for _ in 0..lines.abs() {
            navigate::overlay(model, command);
        }
        return;
    }
    if model.pages.open.is_some() {
        for _ in 0..lines.abs() {
            pages::go(model, command);
        }
        return;
    }
    match pane {
        Some(Pane::Examples) => navigate::example(model, i64::from(lines.signum())),
        Some(Pane::Chunks) => navigate::scroll_chunk(model, i64::from(lines)),
        Some(Pane::Answer) => navigate::line(model, i64::from(lines.signum())),
        // Under a slider the wheel would change what is decided without a press: it does nothing.
        Some(Pane::Attention | Pane::Sliders) | None => {}
    }
}
