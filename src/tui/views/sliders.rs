//! The thresholds, and what moving them changed.

use ratatui::layout::Rect;

use super::{pane_frame, sentence};
use crate::tui::action::{Command, Context};
use crate::tui::hit::Target;
use crate::tui::model::{Model, Pane, SliderName};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, Slider, slider};

/// Columns of label and value before the track.
const LABEL: u16 = 10;
const VALUE: u16 = 8;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let moved = SliderName::ALL
        .into_iter()
        .filter(|slider| slider.is_moved(&model.thresholds, &model.defaults))
        .count();
    let read_out = match moved {
        0 => "at defaults".to_owned(),
        moved => {
            let key = model.keys.label_in(Context::Pane(Pane::Sliders), Command::ResetAll);
            format!("{moved} moved, {key} resets")
        }
    };
    let inside = pane_frame(canvas, area, model, Pane::Sliders, "", &read_out);
    let two_lines = inside.height >= 8;
    let room = inside.height.saturating_sub(if two_lines { 8 } else { 4 });
    let body = if room > 0 { sentence(canvas, inside, &words(model), room.min(4)) } else { inside };
    let step = if two_lines { 2 } else { 1 };
    for (index, name) in SliderName::ALL.into_iter().enumerate() {
        let top = index as u16 * step;
        if top >= body.height {
            break;
        }
        let place = Rect { y: body.y + top, height: step.min(body.height - top), ..body };
        canvas.hits.add(place, Target::Slider(name));
        draw_slider(canvas, place, model, name);
    }
}

fn draw_slider(canvas: &mut Canvas<'_>, area: Rect, model: &Model, name: SliderName) {
    let selected = model.slider == name;
    let value = name.value(&model.thresholds);
    let default = name.value(&model.defaults);
    let label = canvas.style(if selected { Role::Focus } else { Role::Text });
    let number = canvas.style(Role::Strong);
    let muted = canvas.style(Role::Muted);
    if selected {
        canvas.glyph(area, 0, 0, '▌', label);
    }
    canvas.write(area, 1, 0, name.label(), label);
    let typed = model.typed.as_deref().filter(|_| selected);
    let text = typed.map_or_else(|| name.text(value), |typed| format!("{typed}▏"));
    canvas.write(area, LABEL, 0, &text, number);
    let track = Rect {
        x: area.x + LABEL + VALUE,
        width: area.width.saturating_sub(LABEL + VALUE + 1),
        height: 1,
        ..area
    };
    let track = track.intersection(area);
    canvas.hits.add(track, Target::Track(name));
    let shown = Slider { value: name.place(value), default: name.place(default), selected };
    slider(canvas, track, shown);
    if area.height > 1 {
        let text = effect(model, name);
        canvas.write(area, 1, 1, &text, muted);
    }
}

/// `14 → 9 spans, 3 answers change`, against the default.
fn effect(model: &Model, name: SliderName) -> String {
    if !name.is_moved(&model.thresholds, &model.defaults) {
        return name.counted(name.measure(&model.rows.total()));
    }
    match model.effect(name) {
        None => "counting …".into(),
        Some(effect) => format!(
            "{} → {} {}, {} {}",
            effect.before,
            effect.after,
            name.unit(),
            effect.changed,
            name.changes(effect.changed)
        ),
    }
}

/// What the selected slider does; for alpha, what is guaranteed.
fn words(model: &Model) -> String {
    match model.guarantee.first() {
        Some(first) if model.slider == SliderName::Alpha => first.clone(),
        _ => model.slider.meaning().to_owned(),
    }
}
