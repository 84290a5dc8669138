//! The answer with its flagged spans, and the scores under its lines.

use std::fmt::Write as _;

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::words::{counted, percent, quoted};
use super::{absent, pane_frame_with_views, sentence, spans, token_map};
use crate::evidence::{Evidence, Findings, LabelledSpan, MarkKind, Reading, Status};
use crate::inspect::{StaleAnswer, stale_answer};
use crate::text::visible_line;
use crate::tui::hit::Target;
use crate::tui::model::{AnswerView, Model, Pane, Strip, TokenUnits};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Canvas, Line, Mark, Wrapped, gold_line, marks_line, score_strip, wrap};

/// Columns before the text that name its rows.
const GUTTER: u16 = 2;

/// All that is drawn per piece of the answer.
struct Scored<'a> {
    units: TokenUnits,
    smoothed: &'a [f64],
    raw: Vec<f64>,
    findings: &'a Findings,
    gold: &'a [LabelledSpan],
    marks: &'a [crate::evidence::Mark],
    /// Bytes that are selected to be marked.
    selection: std::ops::Range<usize>,
    threshold: f64,
    cursor: std::ops::Range<usize>,
    locked: std::ops::Range<usize>,
    /// Whether a press on it moves the cursor.
    can_be_pressed: bool,
}

impl Scored<'_> {
    fn span(&self, range: &std::ops::Range<usize>) -> Option<usize> {
        self.findings.spans.iter().position(|span| overlap(&span.range, range))
    }

    fn mark(&self, range: &std::ops::Range<usize>) -> Option<MarkKind> {
        self.marks.iter().find(|mark| overlap(&mark.range(), range)).map(|mark| mark.kind)
    }

    fn is_gold(&self, range: &std::ops::Range<usize>) -> bool {
        self.gold.iter().any(|span| overlap(&(span.start..span.end), range))
    }
}

fn overlap(one: &std::ops::Range<usize>, other: &std::ops::Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, with_map: bool) {
    let views = AnswerView::ALL.map(|one| (one.name(), one == model.answer_view));
    let inside = pane_frame_with_views(canvas, area, model, Pane::Answer, &views, &read_out(model));
    if super::asked::draw(canvas, inside, model) {
        return;
    }
    let (Some(evidence), Some(findings)) = (model.evidence(), &model.findings) else {
        let text = if model.run.is_running() { "Not looked at yet." } else { "There is no answer to show." };
        absent(canvas, inside, text, Role::Muted);
        return;
    };
    let Some(answer) = &evidence.answer else {
        let text = evidence.reason.as_deref().unwrap_or("This example has no answer.");
        let role = if evidence.status == Status::Error { Role::Error } else { Role::Muted };
        absent(canvas, inside, text, role);
        return;
    };
    let Some(reading) = &evidence.reading else {
        draw_unread(canvas, inside, model, evidence, answer);
        return;
    };
    let mut body = sentence(
        canvas,
        inside,
        &words(model, evidence, reading, findings),
        match inside.height {
            ..8 => 1,
            8..14 => 3,
            _ => 4,
        },
    );
    if model.answer_view == AnswerView::Spans {
        spans::draw(canvas, body, model, reading, answer);
        return;
    }
    let chunks = token_map::rows(model);
    if with_map && body.height >= 12 && chunks > 0 && reading.lookback.is_some() {
        let height = chunks.min(body.height / 4);
        let map = Rect { y: body.bottom() - height, height, ..body };
        token_map::draw_strips(canvas, map, model);
        body.height -= height + 1;
    }
    let place =
        |token: usize| reading.tokens.get(token).map_or(0..0, |[start, end]| trimmed(answer, *start..*end));
    let scored = Scored {
        units: TokenUnits::new(&reading.tokens),
        smoothed: &findings.smoothed,
        raw: model
            .detector()
            .map_or_else(Vec::new, |scores| scores.raw.iter().copied().map(f64::from).collect()),
        findings,
        gold: evidence.gold_spans.as_deref().unwrap_or_default(),
        marks: model.marked().map_or(&[], |marked| &marked.marks),
        selection: selected_bytes(model, reading),
        threshold: model.thresholds.token,
        cursor: place(model.token),
        locked: model.locked().map_or(0..0, |lock| place(lock.token)),
        can_be_pressed: true,
    };
    let text = Rect { x: body.x + GUTTER, width: body.width.saturating_sub(GUTTER), ..body };
    let wrapped = wrap(answer, text.width, &span_marks(findings));
    canvas.hits.limits.answer_lines = wrapped.lines.iter().map(|line| first_tokens(line, &scored)).collect();
    draw_lines(canvas, body, text, model, &wrapped, &scored);
}

/// One of two answers that stand side by side.
pub struct Side<'a> {
    pub evidence: Option<&'a Evidence>,
    pub findings: &'a Findings,
    pub threshold: f64,
    /// The token under the cursor, on the side that has it.
    pub cursor: Option<usize>,
    pub scroll: u16,
    /// Whether it scrolls further to have the cursor in sight.
    pub follows_cursor: bool,
}

/// Draws the text with its spans; gives the first line shown, and the furthest that can be.
pub fn draw_side(canvas: &mut Canvas<'_>, area: Rect, side: &Side<'_>) -> (u16, u16) {
    let answer = side.evidence.and_then(|evidence| evidence.answer.as_deref());
    let (Some(evidence), Some(answer)) = (side.evidence, answer) else {
        absent(canvas, area, "This example has no answer.", Role::Muted);
        return (0, 0);
    };
    let tokens = evidence.reading.as_ref().map_or(&[][..], |reading| &reading.tokens);
    let place = |token: usize| tokens.get(token).map_or(0..0, |[start, end]| trimmed(answer, *start..*end));
    let scored = Scored {
        units: TokenUnits::new(tokens),
        smoothed: &side.findings.smoothed,
        raw: Vec::new(),
        findings: side.findings,
        gold: &[],
        marks: &[],
        selection: 0..0,
        threshold: side.threshold,
        cursor: side.cursor.map_or(0..0, place),
        locked: 0..0,
        can_be_pressed: side.cursor.is_some(),
    };
    let wrapped = wrap(answer, area.width, &span_marks(side.findings));
    let furthest = wrapped.lines.len().saturating_sub(usize::from(area.height));
    let kept = wrapped.line_at(&scored.cursor).filter(|_| side.follows_cursor);
    let first = wrapped.first_shown(side.scroll, usize::from(area.height), kept);
    for (row, line) in wrapped.lines.iter().skip(first).take(usize::from(area.height)).enumerate() {
        draw_text(canvas, area, row as u16, line, &scored);
    }
    let narrow = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
    (narrow(first), narrow(furthest))
}

/// The numbers of the spans, each where its span ends.
fn span_marks(findings: &Findings) -> Vec<Mark> {
    let spans = findings.spans.iter().enumerate();
    spans.map(|(index, span)| Mark { at: span.range.end, text: format!("[{}]", index + 1) }).collect()
}

/// Bytes of the selected tokens.
fn selected_bytes(model: &Model, reading: &Reading) -> std::ops::Range<usize> {
    let tokens = model.selection().and_then(|tokens| reading.tokens.get(tokens));
    match tokens.map(|tokens| (tokens.first(), tokens.last())) {
        Some((Some([start, _]), Some([_, end]))) => *start..*end,
        _ => 0..0,
    }
}

/// A token without the blanks before it, which would hang at the end of the line above.
fn trimmed(answer: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let Some(text) = answer.get(range.clone()) else { return range };
    let start = range.start + text.len() - text.trim_start().len();
    if start < range.end { start..range.end } else { range }
}

/// The answer before it was read, or when it could not be.
fn draw_unread(canvas: &mut Canvas<'_>, inside: Rect, model: &Model, evidence: &Evidence, answer: &str) {
    let why = match &evidence.reason {
        Some(reason) => format!("Not read: {reason}"),
        None if model.run.is_running() => "Waiting to be read by the model.".into(),
        None => "This answer has not been read.".into(),
    };
    let body = sentence(canvas, inside, &why, 3);
    let muted = canvas.style(Role::Muted);
    canvas.write_wrapped(body, answer, muted);
}

/// Column and token of the tokens of a line, each where it is first seen.
fn first_tokens(line: &Line, scored: &Scored<'_>) -> Vec<(u16, usize)> {
    let mut found: Vec<(u16, usize)> = Vec::new();
    for piece in line.pieces.iter().filter(|piece| piece.mark.is_none()) {
        let tokens = scored.units.overlapping(&piece.range);
        if !tokens.is_empty() && found.last().is_none_or(|(_, last)| *last < tokens.start) {
            found.push((piece.column, tokens.start));
        }
    }
    found
}

/// Which score rows are shown: smoothed, raw.
fn strips(model: &Model, lines: usize, gold_lines: usize, height: u16) -> (bool, bool) {
    let fits = |rows: usize| lines * rows + gold_lines <= usize::from(height);
    match model.strip {
        Strip::Both => (true, true),
        Strip::Smoothed => (true, false),
        Strip::Off => (false, false),
        Strip::Automatic => (fits(2) || height >= 4, fits(3)),
    }
}

fn draw_lines(
    canvas: &mut Canvas<'_>,
    body: Rect,
    text: Rect,
    model: &Model,
    wrapped: &Wrapped,
    scored: &Scored<'_>,
) {
    let has_gold = |line: &Line| line.pieces.iter().any(|piece| scored.is_gold(&piece.range));
    let has_mark = |line: &Line| line.pieces.iter().any(|piece| scored.mark(&piece.range).is_some());
    let marked_lines = |line: &&Line| usize::from(has_gold(line)) + usize::from(has_mark(line));
    let gold_lines: usize = wrapped.lines.iter().map(|line| marked_lines(&line)).sum();
    let (smoothed, raw) = strips(model, wrapped.lines.len(), gold_lines, body.height);
    let rows = |line: &Line| 1 + marked_lines(&line) as u16 + u16::from(smoothed) + u16::from(raw);
    let cursor_line = wrapped.line_at(&scored.cursor).unwrap_or(0);
    let first = first_line(wrapped, cursor_line, body.height, &rows);
    let muted = canvas.style(Role::Muted);
    let mut row = 0;
    for line in &wrapped.lines[first..] {
        if row >= body.height {
            break;
        }
        draw_text(canvas, text, row, line, scored);
        if line.pieces.iter().any(|piece| scored.span(&piece.range).is_some()) {
            let style = canvas.style(Role::Error);
            canvas.glyph(body, 0, row, '!', style);
        }
        row += 1;
        if has_gold(line) {
            let style = canvas.style(Role::Gold);
            canvas.glyph(body, 0, row, 'g', style);
            gold_line(canvas, text, row, line, &|range| scored.is_gold(&range));
            row += 1;
        }
        if has_mark(line) {
            let style = canvas.style(Role::Key);
            canvas.glyph(body, 0, row, 'm', style);
            marks_line(canvas, text, row, line, &|range| scored.mark(range));
            row += 1;
        }
        if smoothed {
            canvas.glyph(body, 0, row, 's', muted);
            score_strip(canvas, text, row, line, scored.threshold, &|range| {
                scored.units.score(&range, scored.smoothed)
            });
            row += 1;
        }
        if raw {
            canvas.glyph(body, 0, row, 'r', muted);
            score_strip(canvas, text, row, line, scored.threshold, &|range| {
                scored.units.score(&range, &scored.raw)
            });
            row += 1;
        }
    }
}

/// The first line shown, so that the cursor's line stands whole and near the middle.
fn first_line(wrapped: &Wrapped, cursor: usize, height: u16, rows: &dyn Fn(&Line) -> u16) -> usize {
    let all: u32 = wrapped.lines.iter().map(|line| u32::from(rows(line))).sum();
    if all <= u32::from(height) {
        return 0;
    }
    let mut first = cursor;
    let mut used = wrapped.lines.get(cursor).map_or(0, rows);
    while first > 0 && used + rows(&wrapped.lines[first - 1]) <= height.div_ceil(2) {
        first -= 1;
        used += rows(&wrapped.lines[first]);
    }
    // At the end of the text the lines before fill what would stay empty.
    let mut tail: u16 = wrapped.lines[first..].iter().map(rows).fold(0, u16::saturating_add);
    while first > 0 && tail.saturating_add(rows(&wrapped.lines[first - 1])) <= height {
        first -= 1;
        tail += rows(&wrapped.lines[first]);
    }
    first
}

fn draw_text(canvas: &mut Canvas<'_>, area: Rect, row: u16, line: &Line, scored: &Scored<'_>) {
    let plain = canvas.style(Role::Text);
    // Blanks at the end of a line belong to no band.
    let ends = line.pieces.iter().rposition(|piece| !piece.text.trim().is_empty()).map_or(0, |last| last + 1);
    for (at, piece) in line.pieces.iter().enumerate() {
        let style = match piece.mark {
            Some(_) => canvas.style(Role::Error),
            None if overlap(&piece.range, &scored.cursor) => canvas.style(Role::Cursor),
            None if overlap(&piece.range, &scored.locked) || overlap(&piece.range, &scored.selection) => {
                canvas.style(Role::Selected)
            }
            None if at >= ends => plain,
            None => match scored.span(&piece.range).and_then(|index| scored.findings.spans.get(index)) {
                Some(span) => span_style(canvas.theme, span.score, scored.threshold),
                None => plain,
            },
        };
        canvas.write(area, piece.column, row, &piece.text, style);
        let tokens = scored.units.overlapping(&piece.range);
        if scored.can_be_pressed && piece.mark.is_none() && !tokens.is_empty() && row < area.height {
            let cell = Rect { x: area.x + piece.column, y: area.y + row, width: piece.width, height: 1 };
            canvas.hits.add(cell, Target::Token(tokens.start));
        }
    }
}

fn span_style(theme: &Theme, score: f64, threshold: f64) -> Style {
    theme.style(Theme::unsupported(score, threshold))
}

/// The sentence that marks an answer as written from other chunks than those trusted now.
fn stale(answer: &StaleAnswer) -> String {
    let StaleAnswer { written_at, written_from, trusted, unread } = *answer;
    let added =
        if unread > 0 { format!(", {unread} of them unread when it was written") } else { String::new() };
    format!(
        "STALE: written from the {} trusted at alpha {:.3}; now {trusted} are{added}. ",
        counted(written_from, "chunk", "chunks"),
        written_at.value()
    )
}

fn read_out(model: &Model) -> String {
    let (Some(reading), Some(findings)) = (model.reading(), &model.findings) else { return String::new() };
    let Some(score) = findings.smoothed.get(model.token) else { return String::new() };
    let text = model.token_text(model.token).map_or_else(String::new, |text| quoted(text, 12));
    let span = model.span_at_cursor().map_or_else(String::new, |index| format!(" [{}]", index + 1));
    let here = format!("{}/{} {text} {score:.2}{span}", model.token + 1, reading.tokens.len());
    match model.locked().and_then(|lock| Some((lock.token, *findings.smoothed.get(lock.token)?))) {
        Some((token, locked)) => {
            format!("{here} · locked {} {locked:.2} ({:+.2})", token + 1, score - locked)
        }
        None => here,
    }
}

/// What the answer's scores say, and about the token under the cursor.
fn words(model: &Model, evidence: &Evidence, reading: &Reading, findings: &Findings) -> String {
    let threshold = model.thresholds.token;
    let mut text = super::asked::marked_words(model);
    text += &stale_answer(evidence, model.thresholds.alpha).as_ref().map_or_else(String::new, stale);
    text += &match (reading.factuality, findings.consistent, &reading.factuality_absent) {
        (Some(value), Some(true), _) => {
            format!("Consistent: factuality {value:.2} ≥ {:.2}. ", model.thresholds.factuality)
        }
        (Some(value), Some(false), _) => {
            format!("Inconsistent: factuality {value:.2} < {:.2}. ", model.thresholds.factuality)
        }
        (_, _, Some(reason)) => format!("No factuality: {}. ", reason.trim_end_matches('.')),
        _ => String::new(),
    };
    let _ = match findings.spans.len() {
        0 => write!(text, "No span reaches {threshold:.2}"),
        1 => write!(text, "1 span reaches {threshold:.2}"),
        many => write!(text, "{many} spans reach {threshold:.2}"),
    };
    let _ = match evidence.gold_spans.as_ref().map(Vec::len) {
        None => Ok(()),
        Some(0) => write!(text, ", the labels mark none"),
        Some(marked) => write!(text, ", the labels mark {marked}"),
    };
    text.push('.');
    if let (Some(score), Some(token)) = (findings.smoothed.get(model.token), model.token_text(model.token)) {
        let raw = model.detector().and_then(|scores| scores.raw.get(model.token));
        let raw = raw.map_or_else(String::new, |raw| format!(", raw {raw:.2}"));
        let _ = write!(text, " {}: score {score:.2}{raw}", quoted(token, 16));
        let probability = |log: &[f32]| log.get(model.token).map(|log| f64::from(*log).exp());
        if let (Some(with), Some(without)) =
            (probability(&reading.log_prob_with), probability(&reading.log_prob_without))
        {
            let _ = write!(text, "; {} likely with chunks, {} without", percent(with), percent(without));
        }
        text.push('.');
    }
    if let Some(name) = model.detector().map(|scores| &scores.name)
        && reading.detectors.len() > 1
    {
        let _ = write!(text, " Scores of {}.", visible_line(name));
    }
    if let Some(lock) = model.locked()
        && let (Some(here), Some(there), Some(token)) = (
            findings.smoothed.get(model.token),
            findings.smoothed.get(lock.token),
            model.token_text(lock.token),
        )
    {
        let _ = write!(text, " Locked {}: score {there:.2}, here {:+.2}.", quoted(token, 16), here - there);
    }
    text
}
