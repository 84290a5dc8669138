//! The first line: what is inspected, and how far the work is.

use ratatui::layout::Rect;

use super::words::{counted, duration};
use crate::tui::action::Command;
use crate::tui::model::{Model, Phase};
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let (text, role) = state(model);
    let style = canvas.style(role);
    let right = Rect { width: area.width.saturating_sub(1), ..area };
    let shown = if area.width < 60 { text.rsplit(" · ").next().unwrap_or(&text).to_owned() } else { text };
    let state_width = (shown.chars().count() as u16 + 2).min(area.width / 2);
    let state = Rect { x: right.right().saturating_sub(state_width), width: state_width, ..right };
    let title = Rect { width: area.width.saturating_sub(state_width + 2), ..area };
    let (name, muted) = (canvas.style(Role::Focus), canvas.style(Role::Muted));
    canvas.write_all(title, 1, 0, &[("ragscope", name), ("  ", muted), (&model.title, muted)]);
    canvas.write_right(state, 0, &shown, style);
}

fn state(model: &Model) -> (String, Role) {
    let run = &model.run;
    let mut parts: Vec<String> = Vec::new();
    let notices = model.keys.label(Command::Notices);
    if !model.notices.is_empty() {
        parts.push(format!("{} ({notices})", counted(model.notices.len(), "notice", "notices")));
    }
    if !model.mouse {
        parts.push(format!("mouse off ({})", model.keys.label(Command::Mouse)));
    }
    let role = match &run.phase {
        Phase::Running => {
            parts.push(if run.stage.is_empty() { "starting".into() } else { run.stage.clone() });
            Role::Text
        }
        Phase::Stopping => {
            parts.push("stopping".into());
            Role::Warning
        }
        Phase::Finished => {
            if !run.stage.is_empty() {
                parts.push(run.stage.clone());
            }
            Role::Muted
        }
        Phase::Failed(_) => {
            parts.push(format!("ended early ({notices})"));
            Role::Error
        }
    };
    if run.total > 0 && run.is_running() {
        parts.push(format!("{}/{}", run.done, run.total));
        if let Some(seconds) = run.seconds_left.filter(|seconds| seconds.is_finite()) {
            parts.push(format!("{} left", duration(seconds)));
        }
    } else if run.phase == Phase::Finished && run.stage.is_empty() {
        parts.push(counted(model.rows.len(), "example", "examples"));
    }
    (parts.join(" · "), role)
}
