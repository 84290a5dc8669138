//! Moving thresholds.

use super::say;
use crate::evidence::Thresholds;
use crate::tui::action::Command;
use crate::tui::model::{Model, SliderName};

/// Sets a slider and decides anew.
pub fn set(model: &mut Model, slider: SliderName, value: f64) {
    let before = model.thresholds.clone();
    slider.set(&mut model.thresholds, value);
    if model.thresholds != before {
        if slider == SliderName::Token && before.beta.is_some() {
            say(model, "the token threshold is set by hand again: beta is off");
        }
        model.decide_anew();
    }
}

/// Moves the selected slider by steps, onto the grid of its steps.
pub fn step(model: &mut Model, steps: f64) {
    let slider = model.slider;
    set(model, slider, slider.value(&model.thresholds) + steps * slider.step());
}

/// Puts sliders back to their defaults.
pub fn reset(model: &mut Model, sliders: &[SliderName]) {
    for slider in sliders {
        slider.reset(&mut model.thresholds, &model.defaults);
    }
    model.decide_anew();
}

/// Takes the last change back. A slider that is held is let go.
pub fn undo(model: &mut Model) {
    let_go(model);
    if let Some(before) = model.history.undo(&model.thresholds) {
        let change = change(&model.thresholds, &before);
        put(model, before);
        let redo = model.keys.label(Command::Redo);
        say(model, format!("undone: {change}; {redo} does it again"));
    }
}

/// Makes the change again that undo took back.
pub fn redo(model: &mut Model) {
    let_go(model);
    if let Some(after) = model.history.redo(&model.thresholds) {
        let change = change(&model.thresholds, &after);
        put(model, after);
        say(model, format!("done again: {change}"));
    }
}

fn let_go(model: &mut Model) {
    super::pointer::release(model);
    model.history.let_go(&model.thresholds);
}

fn put(model: &mut Model, thresholds: Thresholds) {
    model.thresholds = thresholds;
    model.decide_anew();
}

/// `token 0.60 → 0.50`, for everything that differs.
fn change(from: &Thresholds, to: &Thresholds) -> String {
    let moved = SliderName::ALL.into_iter().filter(|slider| slider.is_moved(from, to));
    let mut parts: Vec<String> = moved
        .map(|slider| {
            let text = |thresholds| slider.text(slider.value(thresholds));
            format!("{} {} → {}", slider.label(), text(from), text(to))
        })
        .collect();
    if from.detector != to.detector {
        parts.push(format!("scores of {}", to.detector.as_deref().unwrap_or("the first detector")));
    }
    parts.join(", ")
}
