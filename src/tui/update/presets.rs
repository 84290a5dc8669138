//! Presets: the list, a name, a question, and what the store answers.

use super::{Effect, fail, navigate, say};
use crate::tui::action::Command;
use crate::tui::model::{
    Model, Overlay, Preset, PresetAnswer, PresetFailure, PresetList, PresetQuestion, PresetRequest,
};

/// Opens the list, over whatever was open.
pub fn open(model: &mut Model) -> Vec<Effect> {
    model.overlay = Some(Overlay::Presets(PresetList::default()));
    vec![Effect::Presets(PresetRequest::List)]
}

/// Opens the list with a name to be typed.
pub fn name(model: &mut Model) -> Vec<Effect> {
    let list = PresetList { naming: Some(String::new()), ..PresetList::default() };
    model.overlay = Some(Overlay::Presets(list));
    vec![Effect::Presets(PresetRequest::List)]
}

/// A command while the list is open; `None` where it is none of the list's.
pub fn command(model: &mut Model, command: Command) -> Option<Vec<Effect>> {
    let Some(Overlay::Presets(list)) = &mut model.overlay else { return None };
    match command {
        Command::Yes => {
            let question = list.question.take();
            return Some(
                question.map_or_else(Vec::new, |question| vec![Effect::Presets(confirmed(question))]),
            );
        }
        Command::No => list.question = None,
        Command::SavePreset => list.naming = Some(String::new()),
        Command::DeletePreset => {
            if let Some(preset) = model.presets.get(list.selected) {
                list.question = Some(PresetQuestion::Delete(preset.name.clone()));
            }
        }
        Command::Open => {
            let chosen = model.presets.get(list.selected).cloned();
            if let Some(preset) = chosen {
                model.overlay = None;
                preset.apply(&mut model.thresholds);
                model.decide_anew();
                say(model, format!("thresholds of {}", preset.name));
            }
        }
        command => {
            let steps = navigate::steps(command, 10)?;
            list.selected = navigate::moved(list.selected, steps, model.presets.len());
        }
    }
    Some(Vec::new())
}

fn confirmed(question: PresetQuestion) -> PresetRequest {
    match question {
        PresetQuestion::Replace(preset) => PresetRequest::Save { preset, replace: true },
        PresetQuestion::Delete(name) => PresetRequest::Delete { name },
    }
}

/// The typed name is taken: saved at once where it is new, else after a question.
pub fn accept_name(model: &mut Model) -> Vec<Effect> {
    let Some(Overlay::Presets(list)) = &mut model.overlay else { return Vec::new() };
    let Some(name) = list.naming.take() else { return Vec::new() };
    let name = name.trim();
    if name.is_empty() {
        return Vec::new();
    }
    let preset = Preset::of(name, &model.thresholds);
    if let Some(at) = model.presets.iter().position(|known| known.name == name) {
        list.selected = at;
        list.question = Some(PresetQuestion::Replace(preset));
        return Vec::new();
    }
    vec![Effect::Presets(PresetRequest::Save { preset, replace: false })]
}

/// What came of a request.
pub fn answered(model: &mut Model, request: PresetRequest, answer: PresetAnswer) {
    match answer {
        Ok(presets) => {
            model.presets = presets;
            let name = match &request {
                PresetRequest::Save { preset, .. } => Some(preset.name.clone()),
                PresetRequest::List | PresetRequest::Delete { .. } => None,
            };
            if let Some(Overlay::Presets(list)) = &mut model.overlay {
                let saved =
                    name.as_ref().and_then(|name| model.presets.iter().position(|one| one.name == *name));
                list.selected = saved.unwrap_or(list.selected).min(model.presets.len().saturating_sub(1));
            }
            match request {
                PresetRequest::List => {}
                PresetRequest::Save { preset, .. } => say(model, format!("saved as {}", preset.name)),
                PresetRequest::Delete { name } => say(model, format!("deleted {name}")),
            }
        }
        Err(PresetFailure::Exists) => {
            if let PresetRequest::Save { preset, .. } = request {
                let question = Some(PresetQuestion::Replace(preset));
                model.overlay = Some(Overlay::Presets(PresetList { question, ..PresetList::default() }));
            }
        }
        Err(PresetFailure::Failed(reason)) => fail(model, reason),
    }
}
