//! The pages, and which view of a pane is shown.

use super::navigate::{self, moved, steps};
use super::{prompt, say};
use crate::tui::action::Command;
use crate::tui::model::{Model, OverviewList, Page, Pane, SliderName};

/// Opens a page; the slider that belongs to it is the one that its keys move.
pub fn open(model: &mut Model, page: Page) {
    model.pages.open = Some(page);
    (model.pages.scroll, model.pages.follows_token) = (0, true);
    match page {
        Page::Diagnostics => model.slider = SliderName::Alpha,
        Page::Scores => model.slider = SliderName::Token,
        Page::Overview | Page::Comparison => {}
    }
    model.compare();
}

/// Closes the page; `false` where none is open.
pub fn close(model: &mut Model) -> bool {
    let was_open = model.pages.open.take().is_some();
    model.compare();
    was_open
}

/// The next or the previous page.
pub fn turn(model: &mut Model, forwards: bool) {
    if let Some(page) = model.pages.open {
        open(model, page.moved(if forwards { 1 } else { Page::ALL.len() - 1 }));
    }
}

/// Marks the selected answer, or takes its mark away.
pub fn mark(model: &mut Model) {
    let id = model.row().map(|row| row.id.clone());
    let Some(id) = id else {
        say(model, "there is no answer to mark");
        return;
    };
    if model.marked == Some(model.selected) {
        model.marked = None;
        say(model, format!("{id} is no longer marked"));
    } else {
        model.marked = Some(model.selected);
        let key = model.keys.label(Command::Page(Page::Comparison));
        say(model, format!("{id} is marked: go to another answer, then {key} compares them"));
    }
    model.compare();
}

/// The next view of the page or of the pane with the keys.
pub fn view(model: &mut Model) {
    let pages = &mut model.pages;
    match (pages.open, model.focus) {
        (Some(Page::Overview), _) => pages.list = pages.list.next(),
        (Some(Page::Diagnostics), _) => pages.curve = pages.curve.next(),
        (Some(Page::Scores), _) => pages.one_answer = !pages.one_answer,
        (Some(Page::Comparison), _) => {
            pages.compared = pages.compared.next();
            (pages.scroll, pages.follows_token) = (0, true);
        }
        (None, Pane::Answer) => model.answer_view = model.answer_view.next(),
        (None, Pane::Attention) => model.attention.view = model.attention.view.next(),
        (None, _) => say(model, "this pane has one view"),
    }
}

/// Applies a movement on the open page.
pub fn go(model: &mut Model, command: Command) {
    match model.pages.open {
        Some(Page::Overview) => overview(model, command),
        Some(Page::Comparison) => comparison(model, command),
        Some(Page::Diagnostics | Page::Scores) | None => {}
    }
}

fn overview(model: &mut Model, command: Command) {
    let list = model.pages.list;
    let at = model.pages.at[list.number()];
    let found = model.rows.overview();
    let count = match list {
        OverviewList::Worst => found.worst.len(),
        OverviewList::Groups => found.groups.len(),
        OverviewList::Passages => found.passages.len(),
    };
    if let Some(steps) = steps(command, 10) {
        model.pages.at[list.number()] = moved(at.min(count.saturating_sub(1)), steps, count);
        return;
    }
    if command != Command::Open {
        return;
    }
    let at = at.min(count.saturating_sub(1));
    match list {
        OverviewList::Worst => {
            let Some(answer) = found.worst.get(at).copied() else { return };
            go_to(model, answer.example);
        }
        OverviewList::Passages => {
            let Some(example) = found.passages.get(at).map(|passage| passage.example) else { return };
            go_to(model, example);
        }
        OverviewList::Groups => {
            let Some(group) = found.groups.get(at) else { return };
            model.filter.group = Some((group.name.clone(), group.value.clone()));
            close(model);
            model.focus = Pane::Examples;
            prompt::filtered(model);
        }
    }
}

/// Shows an answer in the panes; a filter that hides it stays, since it is a choice of the user.
fn go_to(model: &mut Model, example: usize) {
    close(model);
    model.focus = Pane::Answer;
    model.select(example);
}

fn comparison(model: &mut Model, command: Command) {
    match command {
        Command::Left => navigate::token(model, -1),
        Command::Right => navigate::token(model, 1),
        other => {
            if let Some(steps) = steps(other, model.limits.page_lines) {
                let count = usize::from(model.limits.page_scroll) + 1;
                let at = usize::from(model.limits.page_at).min(count - 1);
                model.pages.scroll = moved(at, steps, count) as u16;
                model.pages.follows_token = false;
                // Several keys may come before the next frame.
                model.limits.page_at = model.pages.scroll;
            }
        }
    }
}
