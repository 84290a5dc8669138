//! Thresholds saved under a name.

use ratatui::layout::Rect;

use super::sentence;
use crate::tui::action::{Command, Context};
use crate::tui::hit::Target;
use crate::tui::model::{Model, Preset, PresetList, PresetQuestion};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, width};

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, list: &PresetList) {
    canvas.clear(area);
    let focus = canvas.style(Role::Focus);
    let read_out = match model.presets.len() {
        0 => "none saved".to_owned(),
        count => format!("{count} saved"),
    };
    let inside = canvas.frame(area, &[("Presets", focus)], &read_out, true);
    canvas.hits.add(area, Target::Overlay);
    let (muted, strong) = (canvas.style(Role::Muted), canvas.style(Role::Strong));
    let body = match &list.question {
        Some(question) => ask(canvas, inside, model, question),
        None => sentence(canvas, inside, &advice(model), 3),
    };
    if body.height < 2 {
        return;
    }
    let names = name_column(model, body.width);
    let mut column = names;
    for slider in model.sliders() {
        canvas.write(body, column, 0, slider.label(), muted);
        column += VALUE;
    }
    let present = Preset::of("the present thresholds", &model.thresholds);
    draw_preset(canvas, Rect { y: body.y + 1, height: 1, ..body }, model, &present, (strong, false));
    let rows = Rect { y: body.y + 2, height: body.height - 2, ..body };
    let height = usize::from(rows.height);
    let first = (list.selected + 1).saturating_sub(height);
    for (row, (at, preset)) in model.presets.iter().enumerate().skip(first).take(height).enumerate() {
        let line = Rect { y: rows.y + row as u16, height: 1, ..rows };
        let selected = at == list.selected;
        let style = canvas.style(if selected { Role::Selected } else { Role::Text });
        if selected {
            canvas.tint(line, style);
            canvas.glyph(line, 0, 0, '▌', canvas.style(Role::Focus));
        }
        draw_preset(canvas, line, model, preset, (style, preset.is_set(&model.thresholds)));
        canvas.hits.add(line, Target::OverlayLine(at));
    }
}

/// Columns of a value.
const VALUE: u16 = 9;

fn name_column(model: &Model, room: u16) -> u16 {
    let longest = model.presets.iter().map(|preset| width(&crate::text::visible_line(&preset.name))).max();
    let values = VALUE * model.sliders().len() as u16;
    (longest.unwrap_or(0).max(22) + 5).min(room.saturating_sub(values)).max(12)
}

fn draw_preset(
    canvas: &mut Canvas<'_>,
    line: Rect,
    model: &Model,
    preset: &Preset,
    (style, is_set): (ratatui::style::Style, bool),
) {
    let names = name_column(model, line.width);
    if is_set {
        canvas.glyph(line, 1, 0, '●', style);
    }
    let room = Rect { width: names.saturating_sub(1).min(line.width), ..line };
    canvas.write(room, 3, 0, &preset.name, style);
    let mut thresholds = crate::evidence::Thresholds::default();
    preset.apply(&mut thresholds);
    let mut column = names;
    for slider in model.sliders() {
        canvas.write(line, column, 0, &slider.text(slider.value(&thresholds)), style);
        column += VALUE;
    }
}

/// The question at the foot; returns what is left above it.
fn ask(canvas: &mut Canvas<'_>, inside: Rect, model: &Model, question: &PresetQuestion) -> Rect {
    let text = match question {
        PresetQuestion::Replace(preset) => {
            format!("There is a preset “{}” already. Replace it with the present thresholds?", preset.name)
        }
        PresetQuestion::Delete(name) => format!("Delete the preset “{name}”?"),
    };
    let of = |command| model.keys.label_in(Context::Question, command);
    let text = format!("{text}  {} yes   {} no", of(Command::Yes), of(Command::No));
    let foot_height = 3.min(inside.height);
    let foot = Rect { y: inside.bottom() - foot_height, height: foot_height, ..inside };
    let style = canvas.style(Role::Warning);
    canvas.write_wrapped(Rect { x: foot.x + 1, width: foot.width.saturating_sub(2), ..foot }, &text, style);
    Rect { height: inside.height - foot_height, ..inside }
}

fn advice(model: &Model) -> String {
    let of = |command| model.keys.label_in(Context::Presets, command);
    let save = of(Command::SavePreset);
    if model.presets.is_empty() {
        return format!("{save} saves the present thresholds under a name.");
    }
    format!(
        "{} sets the thresholds, {save} saves the present ones, {} deletes. {} takes a change of thresholds back.",
        of(Command::Open),
        of(Command::DeletePreset),
        model.keys.label(Command::Undo)
    )
}
