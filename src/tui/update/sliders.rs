//! Moving thresholds.

use super::say;
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
