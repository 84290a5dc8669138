//! The question of the selected example, with its id.

use ratatui::layout::Rect;

use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let Some(row) = model.row() else { return };
    let (muted, strong) = (canvas.style(Role::Muted), canvas.style(Role::Strong));
    let line = Rect { height: 1, ..area };
    let id = format!("{}  row {}", row.id, row.row);
    let mut pieces = vec![(id.as_str(), muted)];
    let groups: Vec<String> = row
        .evidence
        .as_ref()
        .map(|evidence| evidence.groups.values().take(3).map(|value| format!(" · {value}")).collect())
        .unwrap_or_default();
    pieces.extend(groups.iter().map(|group| (group.as_str(), muted)));
    canvas.write_all(line, 2, 0, &pieces);
    let text = Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(1),
    };
    canvas.write_wrapped(text.intersection(area), &row.question, strong);
}
