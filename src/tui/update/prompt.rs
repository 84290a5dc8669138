//! The prompts: filter, help search, palette, the name of a preset, a slider's number.

use super::{Effect, palette, presets, say, sliders};
use crate::tui::action::Command;
use crate::tui::model::{LONGEST_NAME, Model, Overlay, Pane};

/// Opens the filter of the examples, or the search of the help that is open.
pub fn search(model: &mut Model) {
    match &mut model.overlay {
        Some(Overlay::Help { typing, scroll, .. }) => {
            *typing = true;
            *scroll = 0;
        }
        Some(_) => say(model, "only the help can be searched"),
        None => {
            model.focus = Pane::Examples;
            model.filter.before = (model.filter.text.clone(), model.selected);
            model.filter.typing = true;
        }
    }
}

/// A character for the open prompt.
pub fn type_character(model: &mut Model, c: char) {
    if let Some(Overlay::Help { query, typing: true, scroll }) = &mut model.overlay {
        query.push(c);
        *scroll = 0;
    } else if let Some(Overlay::Palette { query, selected }) = &mut model.overlay {
        query.push(c);
        *selected = 0;
    } else if let Some(name) = naming(model) {
        if name.chars().count() < LONGEST_NAME {
            name.push(c);
        }
    } else if model.filter.typing {
        model.filter.text.push(c);
        filtered(model);
    } else if let Some(typed) = &mut model.typed
        && (c.is_ascii_digit() || c == '.')
        && typed.len() < 8
    {
        typed.push(c);
    }
}

/// Takes the last character of the open prompt away.
pub fn erase(model: &mut Model) {
    if let Some(Overlay::Help { query, typing: true, .. }) = &mut model.overlay {
        query.pop();
    } else if let Some(Overlay::Palette { query, selected }) = &mut model.overlay {
        query.pop();
        *selected = 0;
    } else if let Some(name) = naming(model) {
        name.pop();
    } else if model.filter.typing {
        model.filter.text.pop();
        filtered(model);
    } else if let Some(typed) = &mut model.typed {
        typed.pop();
    }
}

/// The name of a preset that is being typed.
fn naming(model: &mut Model) -> Option<&mut String> {
    match &mut model.overlay {
        Some(Overlay::Presets(list)) => list.naming.as_mut(),
        _ => None,
    }
}

/// Closes the open prompt and takes what was typed or chosen.
pub fn accept(model: &mut Model) -> Vec<Effect> {
    match &model.overlay {
        Some(Overlay::Palette { .. }) => return palette::accept(model),
        Some(Overlay::Presets(_)) => return presets::accept_name(model),
        _ => {}
    }
    if let Some(Overlay::Help { typing, .. }) = &mut model.overlay {
        *typing = false;
    } else if model.filter.typing {
        model.filter.typing = false;
    } else if let Some(typed) = model.typed.take() {
        match typed.parse::<f64>() {
            Ok(value) => sliders::set(model, model.slider, value),
            Err(_) if typed.is_empty() => {}
            Err(_) => {
                let (low, high) = model.slider.range();
                say(model, format!("{typed:?} is no number between {low} and {high}: nothing changed"));
            }
        }
    }
    Vec::new()
}

/// Closes the open prompt and goes back to what was before it; `false` where none is open.
pub fn leave(model: &mut Model) -> bool {
    if let Some(Overlay::Help { query, typing, .. }) = &mut model.overlay {
        if *typing || !query.is_empty() {
            *typing = false;
            query.clear();
            return true;
        }
        return false;
    }
    if let Some(Overlay::Presets(list)) = &mut model.overlay {
        return list.question.take().is_some() || list.naming.take().is_some();
    }
    if model.filter.typing {
        model.filter.typing = false;
        let (text, selected) = model.filter.before.clone();
        model.filter.text = text;
        model.rows.filter(&model.filter);
        model.select(selected);
        return true;
    }
    model.typed.take().is_some()
}

/// The list follows the filter, and the selection stays inside the list.
pub fn filtered(model: &mut Model) {
    model.rows.filter(&model.filter);
    let shown = model.rows.shown();
    if !shown.contains(&model.selected)
        && let Some(first) = shown.first().copied()
    {
        model.select(first);
    }
}

/// The next order, the next choice of what is shown, or the next group.
pub fn narrow(model: &mut Model, command: Command) {
    let said = match command {
        Command::Sort => {
            model.filter.sort = model.filter.sort.next();
            format!("examples: {}", model.filter.sort.name())
        }
        Command::ShowGroup => {
            let Some(said) = next_group(model) else {
                let key = model.keys.label(Command::Search);
                let why = "no group of this data set has few enough values to go through";
                say(model, format!("{why}: {key} filters by text"));
                return;
            };
            said
        }
        _ => {
            model.filter.show = model.filter.show.next();
            format!("showing {}", model.filter.show.name())
        }
    };
    filtered(model);
    say(model, format!("{said}, {} of {}", model.rows.shown().len(), model.rows.len()));
}

/// Values of a group that a key can go through.
const MOST_VALUES: usize = 30;

/// Goes to the next value of the groups that have few, and after the last to none.
fn next_group(model: &mut Model) -> Option<String> {
    let mut values: Vec<(String, String)> = Vec::new();
    let all: Vec<&(String, String)> = model.rows.groups().keys().collect();
    for group in all.chunk_by(|one, other| one.0 == other.0).filter(|group| group.len() <= MOST_VALUES) {
        values.extend(group.iter().map(|pair| (*pair).clone()));
    }
    if values.is_empty() {
        return None;
    }
    let now = model.filter.group.as_ref().and_then(|group| values.iter().position(|value| value == group));
    let next = now.map_or(0, |at| at + 1);
    model.filter.group = values.get(next).cloned();
    Some(match &model.filter.group {
        Some((name, value)) => format!("{name} = {value}"),
        None => "all groups".to_owned(),
    })
}
