//! The thresholds, and what moving them changed.

use ratatui::layout::Rect;

use super::{pane_frame, sentence, sentence_lines};
use crate::tui::action::{Command, Context};
use crate::tui::hit::Target;
use crate::tui::model::{CertifiedLevel, Model, Pane, SliderName};
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
    let sliders = model.sliders();
    let count = sliders.len() as u16;
    // The longest sentence decides, so that no slider moves when another one is selected.
    let said =
        sliders.iter().map(|name| sentence_lines(&words(model, *name), inside.width)).max().unwrap_or(0);
    let effects = Effects::that_fit(inside.height, count, said);
    let room = inside.height.saturating_sub(effects.lines(count));
    let body = if room > 0 { sentence(canvas, inside, &words(model, model.slider), room) } else { inside };
    let mut top = 0;
    for name in sliders.iter().copied() {
        if top >= body.height {
            break;
        }
        let lines = effects.lines_of(name == model.slider).min(body.height - top);
        let place = Rect { y: body.y + top, height: lines, ..body };
        canvas.hits.add(place, Target::Slider(name));
        draw_slider(canvas, place, model, name);
        top += lines;
    }
}

/// Which sliders have a second line that says what moving them changed.
#[derive(Clone, Copy)]
enum Effects {
    All,
    Selected,
    None,
}

impl Effects {
    /// What is said of a slider, a guarantee among it, stands whole before the effects of the others.
    fn that_fit(height: u16, count: u16, said: u16) -> Self {
        if height >= 2 * count + said.min(height / 2) {
            Self::All
        } else if height > count {
            Self::Selected
        } else {
            Self::None
        }
    }

    fn lines_of(self, selected: bool) -> u16 {
        match self {
            Self::All => 2,
            Self::Selected if selected => 2,
            Self::Selected | Self::None => 1,
        }
    }

    fn lines(self, count: u16) -> u16 {
        match self {
            Self::All => 2 * count,
            Self::Selected => count + 1,
            Self::None => count,
        }
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

/// `14 → 9 spans, 3 answers change`: since the default, or while it is held since it was taken.
fn effect(model: &Model, name: SliderName) -> String {
    if name == SliderName::Beta {
        match &model.certified_level {
            None => return "off: the token threshold is set by hand".into(),
            Some(CertifiedLevel::Refused(why)) => return format!("not in force: {why}"),
            Some(CertifiedLevel::InForce(_)) => {}
        }
    }
    let counted = match (model.baseline(name), model.effect(name)) {
        (None, _) => name.counted(name.measure(&model.rows.total())),
        (Some(_), None) => "counting …".into(),
        (Some(_), Some(effect)) => format!(
            "{} → {} {}, {} {}",
            effect.before,
            effect.after,
            name.unit(),
            effect.changed,
            name.changes(effect.changed)
        ),
    };
    let stale = model.rows.total().stale;
    if name == SliderName::Alpha && stale > 0 {
        return format!("{counted}; {stale} stale");
    }
    if name == SliderName::Token && model.follows_beta() { format!("by beta: {counted}") } else { counted }
}

/// What a slider does; for alpha and beta, what is guaranteed.
fn words(model: &Model, name: SliderName) -> String {
    match (name, model.guarantee.first(), &model.highlighting) {
        (SliderName::Alpha, Some(first), _) => first.clone(),
        (SliderName::Beta, _, Some(highlighting)) => highlighting.words(&model.thresholds),
        _ => name.meaning().to_owned(),
    }
}
