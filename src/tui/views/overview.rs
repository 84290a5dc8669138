//! The run as a whole: how much is flagged, in which groups, which answers are worst, and which passages
//! unsupported spans looked at. All figures come from the model, ranked before anything is drawn.

use std::fmt::Write as _;

use ratatui::layout::{Constraint, Layout, Rect};

use super::sentence;
use super::words::{counted, interval, percent};
use crate::tui::hit::Target;
use crate::tui::model::{Model, Overview, OverviewList};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, share_bar, width};

/// From this width on the lists stand side by side.
const SIDE_BY_SIDE: u16 = 100;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let focus = canvas.style(Role::Focus);
    let read_out = if model.rows.has_pending() { "counting …".to_owned() } else { String::new() };
    let inside = canvas.frame(area, &[("Overview of the run", focus)], &read_out, true);
    let found = model.rows.overview();
    let body = sentence(canvas, inside, &words(found), 3);
    if body.height < 2 {
        return;
    }
    let lines = summary(canvas, body, model);
    let used = (lines + 1).min(body.height);
    let lists = Rect { y: body.y + used, height: body.height - used, ..body };
    if lists.width >= SIDE_BY_SIDE {
        let [left, right] =
            Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).spacing(2).areas(lists);
        let groups = (found.groups.len() as u16 + 2).clamp(3, (right.height / 2).max(3));
        let [above, below] = Layout::vertical([Constraint::Length(groups), Constraint::Fill(1)]).areas(right);
        draw_list(canvas, left, model, OverviewList::Worst);
        draw_list(canvas, above, model, OverviewList::Groups);
        draw_list(canvas, below, model, OverviewList::Passages);
        return;
    }
    // One above the other; where they do not fit, the one with the cursor alone.
    if lists.height < 12 {
        draw_list(canvas, lists, model, model.pages.list);
        return;
    }
    let share = |list| if list == model.pages.list { Constraint::Fill(2) } else { Constraint::Fill(1) };
    let areas: [Rect; 3] = Layout::vertical(OverviewList::ALL.map(share)).areas(lists);
    for (list, area) in OverviewList::ALL.into_iter().zip(areas) {
        draw_list(canvas, area, model, list);
    }
}

/// The figures of the run over a few lines; returns how many.
fn summary(canvas: &mut Canvas<'_>, area: Rect, model: &Model) -> u16 {
    let total = model.rows.total();
    let figures = model.rows.figures();
    let mut text = format!(
        "{}, {} read: {} flagged, {}, {} of {} tokens.",
        counted(model.rows.len(), "example", "examples"),
        total.read,
        total.flagged,
        counted(total.spans, "span", "spans"),
        total.flagged_tokens,
        figures.tokens,
    );
    if total.decided_chunks > 0 {
        let _ = write!(text, " {} of {} chunks trusted.", total.trusted, total.decided_chunks);
    }
    if total.judged > 0 {
        let _ = write!(text, " {} of {} answers called consistent.", total.consistent, total.judged);
    }
    if model.rows.errors() > 0 {
        let _ = write!(text, " {} unusable.", counted(model.rows.errors(), "record", "records"));
    }
    let style = canvas.style(Role::Text);
    let place =
        Rect { x: area.x + 1, width: area.width.saturating_sub(2), height: area.height.min(3), ..area };
    canvas.write_wrapped(place.intersection(area), &text, style)
}

fn title(list: OverviewList) -> (&'static str, &'static str) {
    match list {
        OverviewList::Worst => ("Worst answers", "score, spans"),
        OverviewList::Groups => ("Flagged by group", "flagged/read, rate, 95 % interval"),
        OverviewList::Passages => ("Passages that flagged spans looked at most", "spans"),
    }
}

fn draw_list(canvas: &mut Canvas<'_>, area: Rect, model: &Model, list: OverviewList) {
    if area.height < 2 {
        return;
    }
    let found = model.rows.overview();
    let here = model.pages.list == list;
    let (name, what) = title(list);
    let (border, muted) = (canvas.style(Role::Border), canvas.style(Role::Muted));
    let head = Rect { height: 1, ..area };
    let style = canvas.style(if here { Role::Focus } else { Role::Strong });
    let end = canvas.write_all(head, 1, 0, &[(" ", style), (name, style), (": ", muted)]);
    let end = canvas.write(head, end, 0, &format!("{what} "), muted);
    // The rule goes round the title: under it, its colour would shine through.
    for column in (0..1).chain(end..head.width) {
        canvas.glyph(head, column, 0, '─', border);
    }
    let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let count = match list {
        OverviewList::Worst => found.worst.len(),
        OverviewList::Groups => found.groups.len(),
        OverviewList::Passages => found.passages.len(),
    };
    if count == 0 {
        canvas.write(body, 2, 0, nothing(found, list), muted);
        return;
    }
    let height = usize::from(body.height);
    let at = model.pages.at[list.number()].min(count - 1);
    let first = at.saturating_sub(height / 2).min(count.saturating_sub(height));
    for (row, index) in (first..count).take(height).enumerate() {
        let line = Rect { y: body.y + row as u16, height: 1, ..body };
        canvas.hits.add(line, Target::OverviewLine(list, index));
        let selected = here && index == at;
        if selected {
            let style = canvas.style(Role::Selected);
            canvas.tint(line, style);
            canvas.glyph(line, 0, 0, '▌', canvas.style(Role::Focus));
        }
        let inner = Rect { x: line.x + 2, width: line.width.saturating_sub(2), ..line }.intersection(line);
        match list {
            OverviewList::Worst => draw_answer(canvas, inner, model, index, selected),
            OverviewList::Groups => draw_group(canvas, inner, found, index, selected),
            OverviewList::Passages => draw_passage(canvas, inner, found, index, selected),
        }
    }
}

fn nothing(found: &Overview, list: OverviewList) -> &'static str {
    match list {
        OverviewList::Worst => "No answer has been scored yet.",
        OverviewList::Groups if found.left_out.is_empty() => "The examples belong to no group.",
        OverviewList::Groups => "Every group has too many values to list.",
        OverviewList::Passages if found.unattributed > 0 => {
            "The records do not say where their spans looked."
        }
        OverviewList::Passages => "No span is flagged.",
    }
}

fn draw_answer(canvas: &mut Canvas<'_>, line: Rect, model: &Model, index: usize, selected: bool) {
    let Some(answer) = model.rows.overview().worst.get(index) else { return };
    let Some(row) = model.rows.get(answer.example) else { return };
    let text = canvas.style(if selected { Role::Selected } else { Role::Text });
    let muted = canvas.style(if selected { Role::Selected } else { Role::Muted });
    let mark = canvas.style(if answer.spans > 0 { Role::Error } else { Role::Muted });
    let figures = format!("{:.2} ", answer.score);
    let spans = format!("{:>2}  ", answer.spans);
    let end = canvas.write_all(line, 0, 0, &[(&figures, text), (&spans, mark)]);
    let id = Rect { width: (end + 14).min(line.width), ..line };
    canvas.write(id, end, 0, &row.id, muted);
    canvas.write(line, end + 15, 0, &row.question, text);
}

fn draw_group(canvas: &mut Canvas<'_>, line: Rect, found: &Overview, index: usize, selected: bool) {
    let Some(group) = found.groups.get(index) else { return };
    let text = canvas.style(if selected { Role::Selected } else { Role::Text });
    let share = group.rate.share().unwrap_or(0.0);
    let bounds = group.interval.map_or_else(String::new, interval);
    let counts = format!("{}/{}", group.rate.flagged, group.rate.read);
    let figures = format!("{counts:>9} {share:.2} {bounds}");
    let figures_width = width(&figures) + 1;
    let bar = if line.width >= 56 { 10 } else { 0 };
    let room = line.width.saturating_sub(figures_width + bar + 1);
    let name = Rect { width: room, ..line };
    canvas.write(name, 0, 0, &format!("{} = {}", group.name, group.value), text);
    canvas.write(line, room, 0, &figures, text);
    let place = Rect { x: line.x + room + figures_width, width: bar, ..line };
    share_bar(canvas, place.intersection(line), share);
}

fn draw_passage(canvas: &mut Canvas<'_>, line: Rect, found: &Overview, index: usize, selected: bool) {
    let Some(passage) = found.passages.get(index) else { return };
    let text = canvas.style(if selected { Role::Selected } else { Role::Text });
    let muted = canvas.style(if selected { Role::Selected } else { Role::Muted });
    let spans = format!("{:>5}  ", passage.spans);
    let end = canvas.write_all(line, 0, 0, &[(&spans, text), (&passage.id, text)]);
    if let Some(document) = passage.document.as_ref().filter(|document| **document != passage.id) {
        canvas.write(line, end + 2, 0, document, muted);
    }
}

/// What the figures say, and how far they go.
fn words(found: &Overview) -> String {
    let (Some(share), Some(bounds)) = (found.all.share(), found.interval) else {
        return "No answer has been read yet.".to_owned();
    };
    let mut text = format!(
        "{} of {} read answers are flagged: {}, 95 % interval {} as if answers were drawn one by one.",
        found.all.flagged,
        found.all.read,
        percent(share),
        interval(bounds)
    );
    if found.attributed > 0 {
        text.push_str(
            " A flagged span counts for the passage its tokens looked at most, which is no proof of a cause.",
        );
    }
    if found.unattributed > 0 {
        let _ = write!(
            text,
            " {} of records without look-back {} for none.",
            counted(found.unattributed, "span", "spans"),
            if found.unattributed == 1 { "counts" } else { "count" }
        );
    }
    if !found.left_out.is_empty() {
        let _ = write!(text, " Not listed, too many values: {}.", found.left_out.join(", "));
    }
    text
}
