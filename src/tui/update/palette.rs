//! The palette: choosing an action and doing it.

use super::{Effect, command_effects, navigate, pages};
use crate::tui::action::{Command, Context, offers};
use crate::tui::model::{Model, Overlay};

/// Lines of a page.
const PAGE: u16 = 10;

/// Opens the palette over whatever was open.
pub fn open(model: &mut Model) {
    model.overlay = Some(Overlay::Palette { query: String::new(), selected: 0 });
}

/// Moves along the offers; `false` where the palette is not open or the command is no movement.
pub fn go(model: &mut Model, command: Command) -> bool {
    let Some(Overlay::Palette { query, selected }) = &model.overlay else { return false };
    let Some(steps) = navigate::steps(command, PAGE) else { return false };
    let next = navigate::moved(*selected, steps, offers(model, query).len());
    select(model, next);
    true
}

/// Puts the cursor on an offer.
pub fn select(model: &mut Model, at: usize) {
    if let Some(Overlay::Palette { selected, .. }) = &mut model.overlay {
        *selected = at;
    }
}

/// Does the chosen action, in the pane that it belongs to. What does nothing now stays, with its reason.
pub fn accept(model: &mut Model) -> Vec<Effect> {
    let Some(Overlay::Palette { query, selected }) = &model.overlay else { return Vec::new() };
    let Some(offer) = offers(model, query).into_iter().nth(*selected) else { return Vec::new() };
    if offer.unavailable.is_some() {
        return Vec::new();
    }
    model.overlay = None;
    if let Context::Pane(pane) = offer.entry.context {
        pages::close(model);
        model.focus = pane;
    }
    command_effects(model, offer.entry.command)
}
