//! Two answers side by side, or two detectors on one answer.

use std::collections::HashSet;
use std::fmt::Write as _;

use ratatui::layout::{Constraint, Layout, Rect};

use super::answer::{Side, draw_side};
use super::words::counted;
use super::{absent, detectors, sentence};
use crate::evidence::{Evidence, Findings};
use crate::tui::model::{Compared, Model, Row};
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

/// From this width on two answers stand side by side.
const SIDE_BY_SIDE: u16 = 76;
/// Bytes of an answer whose words are compared.
const MOST_BYTES: usize = 64 * 1024;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let compared = model.pages.compared;
    let (focus, muted, strong) =
        (canvas.style(Role::Focus), canvas.style(Role::Muted), canvas.style(Role::Strong));
    let mut title = vec![("Comparison of", focus)];
    for one in Compared::ALL {
        title.extend([(" ", muted), (one.name(), if one == compared { strong } else { muted })]);
    }
    let id = model.row().map_or("", |row| row.id.as_str());
    let inside = canvas.frame(area, &title, id, true);
    match compared {
        Compared::Detectors => detectors::draw(canvas, inside, model),
        Compared::Answers => draw_answers(canvas, inside, model),
    }
}

fn draw_answers(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let (Some(row), Some(findings)) = (model.row(), &model.findings) else {
        absent(canvas, area, "There is no answer to compare yet.", Role::Muted);
        return;
    };
    let partner = model.comparison.partner.as_ref();
    let other = partner.and_then(|partner| Some((partner, model.rows.get(partner.example)?)));
    let Some((partner, other)) = other else {
        let text = "No other answer to this question, and none from the same source. b marks an answer; on \
                    another one this page then compares the two.";
        absent(canvas, area, text, Role::Muted);
        return;
    };
    let text = words((row, findings), (other, &partner.findings));
    let body = sentence(canvas, area, &text, 3);
    let halves: [Rect; 2] = if body.width >= SIDE_BY_SIDE {
        Layout::horizontal([Constraint::Fill(1); 2]).spacing(2).areas(body)
    } else {
        Layout::vertical([Constraint::Fill(1); 2]).areas(body)
    };
    let same_question = row.question == other.question;
    let sides = [(row, findings, "this", true), (other, &partner.findings, partner.chosen.words(), false)];
    let mut scroll = model.pages.scroll;
    let mut furthest = 0;
    let mut lines = 1;
    for (half, (row, findings, why, present)) in halves.into_iter().zip(sides) {
        if half.height == 0 {
            continue;
        }
        let (strong, muted) = (canvas.style(Role::Strong), canvas.style(Role::Muted));
        let head = Rect { height: 1, ..half };
        canvas.write_all(head, 0, 0, &[(&row.id, strong), ("  ", muted), (why, muted)]);
        let figures = figures(row.evidence.as_deref(), findings);
        let mut used = 1 + canvas.write_wrapped(
            Rect { y: half.y + 1, height: half.height.saturating_sub(1).min(2), ..half },
            &figures,
            muted,
        );
        if !same_question && half.height > used + 4 {
            let place = Rect { y: half.y + used, height: 2, ..half };
            used += canvas.write_wrapped(place, &row.question, strong);
        }
        let used = (used + 1).min(half.height);
        let place = Rect { y: half.y + used, height: half.height - used, ..half };
        let side = Side {
            evidence: row.evidence.as_deref(),
            findings,
            threshold: model.thresholds.token,
            cursor: present.then_some(model.token),
            scroll,
            follows_cursor: model.pages.follows_token,
        };
        let (first, last) = draw_side(canvas, place, &side);
        furthest = furthest.max(last);
        if present && model.pages.follows_token {
            scroll = first;
        }
        lines = lines.max(place.height);
    }
    canvas.hits.limits.page_scroll = furthest;
    canvas.hits.limits.page_at = scroll.min(furthest);
    canvas.hits.limits.page_lines = lines;
}

/// The figures of one answer.
fn figures(evidence: Option<&Evidence>, findings: &Findings) -> String {
    let mut text = counted(findings.spans.len(), "span", "spans");
    let _ = write!(text, ", {} of {} tokens", findings.flagged_tokens, findings.smoothed.len());
    if let Some(score) = findings.answer_score {
        let _ = write!(text, ", answer {score:.2}");
    }
    let reading = evidence.and_then(|evidence| evidence.reading.as_ref());
    if let Some(factuality) = reading.and_then(|reading| reading.factuality) {
        let _ = write!(text, ", factuality {factuality:.2}");
    }
    let decided = findings.trusted.iter().flatten().count();
    if decided > 0 {
        let trusted = findings.trusted.iter().filter(|trusted| **trusted == Some(true)).count();
        let _ = write!(text, ", {trusted} of {decided} chunks trusted");
    }
    text
}

/// Lower-cased words of an answer.
fn words_of(row: &Row) -> HashSet<String> {
    let answer = row.evidence.as_deref().and_then(|evidence| evidence.answer.as_deref()).unwrap_or_default();
    let end = (0..=answer.len().min(MOST_BYTES)).rev().find(|at| answer.is_char_boundary(*at)).unwrap_or(0);
    crate::text::words(&answer[..end]).into_iter().map(|word| word.text).collect()
}

/// What the two have in common, and which one is flagged more.
fn words(this: (&Row, &Findings), other: (&Row, &Findings)) -> String {
    let (here, there) = (words_of(this.0), words_of(other.0));
    let shared = here.intersection(&there).count();
    // In whole per cent, as it is said: what looks alike is called alike.
    let share = |findings: &Findings| {
        let tokens = findings.smoothed.len();
        (tokens > 0).then(|| (100.0 * findings.flagged_tokens as f64 / tokens as f64).round())
    };
    let verdict = match (share(this.1), share(other.1)) {
        (None, _) | (_, None) => "One of the two has not been read.".to_owned(),
        (Some(one), Some(other)) if one == other => format!("The same share of both is flagged ({one} %)."),
        (Some(one), Some(other)) => format!(
            "{} share of this answer is flagged ({one} % against {other} %).",
            if one > other { "A greater" } else { "A smaller" },
        ),
    };
    let chunks = |row: &Row| -> HashSet<String> {
        let evidence = row.evidence.as_deref();
        evidence.map_or_else(HashSet::new, |evidence| {
            evidence.chunks.iter().map(|chunk| chunk.id.clone()).collect()
        })
    };
    let (one, two) = (chunks(this.0), chunks(other.0));
    format!(
        "{verdict} {shared} of its {} stand in the other answer too; {} of {} have the same id.",
        counted(here.len(), "word", "words"),
        one.intersection(&two).count(),
        counted(one.len(), "chunk", "chunks"),
    )
}
