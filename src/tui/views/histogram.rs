//! How the token scores are spread, before and after smoothing, with the threshold between them.

use ratatui::layout::{Constraint, Layout, Rect};

use super::sentence;
use super::words::{counted, percent};
use crate::tui::model::{Histogram, Model};
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, bars};

/// What is shown: the run's sums, or the scores of one answer.
struct Shown<'a> {
    raw: std::borrow::Cow<'a, Histogram>,
    smoothed: std::borrow::Cow<'a, Histogram>,
    raw_flagged: usize,
    flagged: usize,
    tokens: usize,
    spans: usize,
}

fn of_run(model: &Model) -> Shown<'_> {
    let (figures, total) = (model.rows.figures(), model.rows.total());
    Shown {
        raw: std::borrow::Cow::Borrowed(&figures.raw),
        smoothed: std::borrow::Cow::Borrowed(&figures.smoothed),
        raw_flagged: figures.raw_flagged,
        flagged: total.flagged_tokens,
        tokens: figures.tokens,
        spans: total.spans,
    }
}

fn of_answer(model: &Model) -> Shown<'static> {
    let raw: Vec<f64> =
        model.detector().map_or_else(Vec::new, |scores| scores.raw.iter().copied().map(f64::from).collect());
    let smoothed = model.findings.as_ref().map_or(&[][..], |findings| &findings.smoothed);
    let threshold = model.thresholds.token;
    Shown {
        raw_flagged: raw.iter().filter(|score| **score >= threshold).count(),
        tokens: raw.len(),
        raw: std::borrow::Cow::Owned(Histogram::of(raw)),
        smoothed: std::borrow::Cow::Owned(Histogram::of(smoothed.iter().copied())),
        flagged: model.findings.as_ref().map_or(0, |findings| findings.flagged_tokens),
        spans: model.findings.as_ref().map_or(0, |findings| findings.spans.len()),
    }
}

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let one = model.pages.one_answer;
    let shown = if one { of_answer(model) } else { of_run(model) };
    let id = model.row().map_or("no answer", |row| row.id.as_str());
    let subject = if one { format!("answer {id}") } else { "the run".to_owned() };
    let (focus, muted) = (canvas.style(Role::Focus), canvas.style(Role::Muted));
    let threshold = model.thresholds.token;
    let read_out = format!("threshold {threshold:.2}");
    let title = [("Token scores", focus), (" of ", muted), (subject.as_str(), muted)];
    let inside = canvas.frame(area, &title, &read_out, true);
    let body = sentence(canvas, inside, &words(model, &shown), 3);
    if shown.tokens == 0 {
        let text = if one { "This answer has no token scores." } else { "No answer has been scored yet." };
        super::absent(canvas, body, text, Role::Muted);
        return;
    }
    let [above, below] = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(body);
    let both = body.height >= 10;
    if both {
        draw_one(canvas, above, model, "raw", &shown.raw, shown.raw_flagged);
    }
    let place = if both { below } else { body };
    draw_one(canvas, place, model, "smoothed", &shown.smoothed, shown.flagged);
}

fn draw_one(
    canvas: &mut Canvas<'_>,
    area: Rect,
    model: &Model,
    name: &str,
    histogram: &Histogram,
    flagged: usize,
) {
    if area.height < 3 {
        return;
    }
    let counts = histogram.bars(usize::from(area.width.saturating_sub(2)));
    let highest = counts.iter().copied().max().unwrap_or(0);
    let (strong, muted) = (canvas.style(Role::Strong), canvas.style(Role::Muted));
    let scale = if model.pages.logarithmic { "logarithms of counts" } else { "counts" };
    let share = percent(flagged as f64 / (histogram.total() as f64).max(1.0));
    let note = format!("  {flagged} at or above the line ({share}) · highest bar {highest} · {scale}");
    canvas.write_all(area, 1, 0, &[(name, strong), (&note, muted)]);
    let plot =
        Rect { x: area.x + 1, y: area.y + 1, width: area.width.saturating_sub(2), height: area.height - 1 };
    bars(canvas, plot, &counts, model.thresholds.token, model.pages.logarithmic);
}

fn words(model: &Model, shown: &Shown<'_>) -> String {
    if shown.tokens == 0 {
        return String::new();
    }
    let detector = model.detector().map_or_else(String::new, |scores| {
        format!(" Scores of {}.", crate::text::visible_line(&scores.name))
    });
    format!(
        "{} of {} reach {:.2} after smoothing ({} before), in {}. A score says how unsupported a token looks to \
         the detector; it is no probability unless calibrated.{detector}",
        shown.flagged,
        counted(shown.tokens, "token", "tokens"),
        model.thresholds.token,
        shown.raw_flagged,
        counted(shown.spans, "span", "spans"),
    )
}
