//! Two detectors on one answer: where they agree, and where only one of them flags.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::words::quoted;
use super::{absent, sentence};
use crate::evidence::Findings;
use crate::tui::hit::Target;
use crate::tui::model::{Model, SecondOpinion, TokenUnits};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Canvas, score_strip, wrap};

/// Columns that name the rows.
const GUTTER: u16 = 2;
/// Rows of a line: text, agreement, both strips.
const ROWS: u16 = 4;

/// Who flags a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flagged {
    Neither,
    First,
    Second,
    Both,
}

impl Flagged {
    fn of(one: bool, other: bool) -> Self {
        match (one, other) {
            (false, false) => Self::Neither,
            (true, false) => Self::First,
            (false, true) => Self::Second,
            (true, true) => Self::Both,
        }
    }

    fn glyph(self) -> char {
        match self {
            Self::Neither => ' ',
            Self::First => 'a',
            Self::Second => 'b',
            Self::Both => '=',
        }
    }
}

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let (Some(reading), Some(findings), Some(evidence)) =
        (model.reading(), &model.findings, model.evidence())
    else {
        absent(canvas, area, "This answer has not been read.", Role::Muted);
        return;
    };
    let (Some(second), Some(first), Some(answer)) =
        (&model.comparison.second, model.detector(), &evidence.answer)
    else {
        absent(canvas, area, "This record holds the scores of one detector only.", Role::Muted);
        return;
    };
    let body = sentence(canvas, area, &words(model, &first.name, findings, second), 3);
    if body.height == 0 {
        return;
    }
    let muted = canvas.style(Role::Muted);
    let head = format!(
        "a {}   b {}   = both flag",
        crate::text::visible_line(&first.name),
        crate::text::visible_line(&second.name)
    );
    canvas.write(body, GUTTER, 0, &head, muted);
    let used = 2.min(body.height);
    let body = Rect { y: body.y + used, height: body.height - used, ..body };
    let text = Rect { x: body.x + GUTTER.min(body.width), width: body.width.saturating_sub(GUTTER), ..body };
    let wrapped = wrap(answer, text.width, &[]);
    let units = TokenUnits::new(&reading.tokens);
    let threshold = model.thresholds.token;
    let flagged = |scores: &[f64], range: &std::ops::Range<usize>| {
        units.score(range, scores).is_some_and(|score| score >= threshold)
    };
    let cursor = reading.tokens.get(model.token).map_or(0..0, |[start, end]| *start..*end);
    let shown = usize::from(body.height.div_ceil(ROWS));
    let all = wrapped.lines.len();
    let furthest = all.saturating_sub(usize::from(body.height / ROWS).max(1));
    canvas.hits.limits.page_scroll = u16::try_from(furthest).unwrap_or(u16::MAX);
    canvas.hits.limits.page_lines = (body.height / ROWS).max(1);
    let kept = wrapped.line_at(&cursor).filter(|_| model.pages.follows_token);
    let whole = usize::from(body.height / ROWS).max(1);
    let first_line = wrapped.first_shown(model.pages.scroll, whole, kept);
    canvas.hits.limits.page_at = u16::try_from(first_line).unwrap_or(u16::MAX);
    let (error, plain) = (canvas.style(Role::Error), canvas.style(Role::Text));
    for (place, line) in wrapped.lines.iter().skip(first_line).take(shown).enumerate() {
        let top = place as u16 * ROWS;
        for piece in &line.pieces {
            let who = Flagged::of(
                flagged(&findings.smoothed, &piece.range),
                flagged(&second.findings.smoothed, &piece.range),
            );
            let style = if piece.range.start < cursor.end && cursor.start < piece.range.end {
                canvas.style(Role::Cursor)
            } else {
                style_of(canvas.theme, who, plain)
            };
            canvas.write(text, piece.column, top, &piece.text, style);
            for column in piece.column..piece.column.saturating_add(piece.width) {
                canvas.glyph(
                    text,
                    column,
                    top + 1,
                    who.glyph(),
                    if who == Flagged::Both { error } else { muted },
                );
            }
            let tokens = units.overlapping(&piece.range);
            if !tokens.is_empty() && top < text.height {
                let cell = Rect { x: text.x + piece.column, y: text.y + top, width: piece.width, height: 1 };
                canvas.hits.add(cell.intersection(text), Target::Token(tokens.start));
            }
        }
        canvas.glyph(body, 0, top + 2, 'a', muted);
        score_strip(canvas, text, top + 2, line, threshold, &|range| units.score(&range, &findings.smoothed));
        canvas.glyph(body, 0, top + 3, 'b', muted);
        score_strip(canvas, text, top + 3, line, threshold, &|range| {
            units.score(&range, &second.findings.smoothed)
        });
    }
}

fn style_of(theme: &Theme, who: Flagged, plain: Style) -> Style {
    match who {
        Flagged::Neither => plain,
        Flagged::First | Flagged::Second => theme.style(Role::UnsupportedLow),
        Flagged::Both => theme.style(Role::UnsupportedHigh),
    }
}

/// How far the two agree, and about the token under the cursor.
fn words(model: &Model, name: &str, first: &Findings, second: &SecondOpinion) -> String {
    let threshold = model.thresholds.token;
    let mut counts = [0_usize; 4];
    for (one, other) in first.smoothed.iter().zip(&second.findings.smoothed) {
        counts[Flagged::of(*one >= threshold, *other >= threshold) as usize] += 1;
    }
    let [neither, only_first, only_second, both] = counts;
    let (name, other) = (crate::text::visible_line(name), crate::text::visible_line(&second.name));
    let mut text = format!(
        "They agree on {} of {} tokens at {threshold:.2}: both flag {both}, only {name} {only_first}, only {other} \
         {only_second}.",
        neither + both,
        neither + both + only_first + only_second,
    );
    let at = model.token;
    if let (Some(one), Some(two), Some(token)) =
        (first.smoothed.get(at), second.findings.smoothed.get(at), model.token_text(at))
    {
        text.push_str(&format!(" {}: {one:.2} and {two:.2}.", quoted(token, 16)));
    }
    text.push_str(" One threshold serves both, though their scores need not mean the same.");
    text
}
