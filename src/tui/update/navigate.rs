//! Moving: through examples, chunks, tokens, heads and overlays.

use super::{pages, say};
use crate::tui::action::Command;
use crate::tui::model::{AnswerView, AttentionView, Lock, Model, Overlay, Pane};

/// Applies a movement where the keys are.
pub fn go(model: &mut Model, command: Command) {
    match command {
        Command::NextSpan => span(model, true),
        Command::PreviousSpan => span(model, false),
        Command::NextFlagged => flagged(model, false),
        Command::PreviousFlagged => flagged(model, true),
        Command::NextToken => token(model, 1),
        Command::PreviousToken => token(model, -1),
        other if model.overlay.is_some() => overlay(model, other),
        other if model.pages.open.is_some() => pages::go(model, other),
        other => match model.focus {
            Pane::Examples => examples(model, other),
            Pane::Chunks => chunks(model, other),
            Pane::Answer => answer(model, other),
            Pane::Attention => attention(model, other),
            Pane::Sliders => sliders(model, other),
        },
    }
}

/// `at` moved by `steps`, kept inside 0..`count`.
pub fn moved(at: usize, steps: i64, count: usize) -> usize {
    let last = count.saturating_sub(1) as i64;
    (at as i64).saturating_add(steps).clamp(0, last.max(0)) as usize
}

/// Steps of a movement along a list with pages of `page` lines.
pub fn steps(command: Command, page: u16) -> Option<i64> {
    let page = i64::from(page.max(1));
    Some(match command {
        Command::Up => -1,
        Command::Down => 1,
        Command::HalfUp => -(page / 2).max(1),
        Command::HalfDown => (page / 2).max(1),
        Command::PageUp => -page,
        Command::PageDown => page,
        Command::First => i64::from(i32::MIN),
        Command::Last => i64::from(i32::MAX),
        _ => return None,
    })
}

/// Moves the selection along the filtered list.
pub fn example(model: &mut Model, steps: i64) {
    let shown = model.rows.shown();
    if shown.is_empty() {
        return;
    }
    // A selection that the filter hides lies between two rows of the list.
    let (at, steps) = match model.rows.place(model.selected) {
        Ok(at) => (at, steps),
        Err(at) => (at, if steps > 0 { steps - 1 } else { steps }),
    };
    let next = shown[moved(at, steps, shown.len())];
    model.select(next);
}

fn examples(model: &mut Model, command: Command) {
    if command == Command::Open {
        model.focus = Pane::Answer;
    } else if let Some(steps) = steps(command, model.limits.example_page) {
        example(model, steps);
    }
}

/// Scrolls the text of the selected chunk.
pub fn scroll_chunk(model: &mut Model, lines: i64) {
    let count = usize::from(model.limits.chunk_scroll) + 1;
    model.chunk_scroll = moved(usize::from(model.chunk_scroll), lines, count) as u16;
}

/// Selects a chunk.
pub fn select_chunk(model: &mut Model, chunk: usize) {
    if chunk != model.chunk {
        model.chunk_scroll = 0;
    }
    model.chunk = chunk;
}

fn chunks(model: &mut Model, command: Command) {
    match command {
        Command::Open => model.focus = Pane::Attention,
        Command::HalfUp | Command::HalfDown | Command::PageUp | Command::PageDown => {
            if let Some(lines) = steps(command, model.limits.chunk_page) {
                scroll_chunk(model, lines);
            }
        }
        _ => {
            if let Some(steps) = steps(command, 1) {
                let chunk = moved(model.chunk, steps, model.chunk_count());
                select_chunk(model, chunk);
            }
        }
    }
}

/// Moves the token cursor.
pub fn token(model: &mut Model, steps: i64) {
    model.token = moved(model.token, steps, model.token_count());
}

/// Puts the token cursor at the start of a flagged span.
pub fn select_span(model: &mut Model, index: usize) {
    let span = model.findings.as_ref().and_then(|findings| findings.spans.get(index));
    if let Some(start) = span.map(|span| span.tokens.start) {
        model.token = start;
    }
}

/// Moves along the table of spans, from the one at the cursor or the next one before it.
fn spans(model: &mut Model, steps: i64) {
    let Some(findings) = &model.findings else { return };
    let after = findings.spans.partition_point(|span| span.tokens.start <= model.token);
    let inside = model.span_at_cursor();
    // Between two spans a step forwards goes to the one after, a step backwards to the one before.
    let at = inside.unwrap_or(after.saturating_sub(1));
    let steps = if inside.is_none() && after == 0 && steps > 0 { steps - 1 } else { steps };
    let steps = if inside.is_none() && after > 0 && steps < 0 { steps + 1 } else { steps };
    let next = moved(at, steps, findings.spans.len());
    select_span(model, next);
}

/// Keeps what is selected now beside the cursors, or lets go of it.
pub fn lock(model: &mut Model) {
    if model.locked().is_some() {
        model.lock = None;
        say(model, "the lock is released");
        return;
    }
    if model.token_count() == 0 {
        say(model, "this answer has not been read, so there is nothing to lock");
        return;
    }
    model.lock = Some(Lock {
        example: model.selected,
        token: model.token,
        chunk: model.chunk,
        layer: model.attention.layer,
        head: model.attention.head,
    });
    let key = model.keys.label(Command::Lock);
    say(model, format!("token {} is locked: move on and read both, {key} releases it", model.token + 1));
}

fn answer(model: &mut Model, command: Command) {
    if model.answer_view == AnswerView::Spans {
        match command {
            Command::Open => model.answer_view = AnswerView::Text,
            Command::Right => token(model, 1),
            Command::Left => token(model, -1),
            other => {
                if let Some(steps) = steps(other, 10) {
                    spans(model, steps);
                }
            }
        }
        return;
    }
    match command {
        Command::Right => token(model, 1),
        Command::Left => token(model, -1),
        Command::First => model.token = 0,
        Command::Last => model.token = model.token_count().saturating_sub(1),
        Command::Down | Command::HalfDown | Command::PageDown => line(model, 1),
        Command::Up | Command::HalfUp | Command::PageUp => line(model, -1),
        Command::Open => model.focus = Pane::Attention,
        _ => {}
    }
}

/// The token under or over the cursor, on the next line that has tokens.
pub fn line(model: &mut Model, step: i64) {
    let lines: Vec<&Vec<(u16, usize)>> =
        model.limits.answer_lines.iter().filter(|line| !line.is_empty()).collect();
    let at = lines.iter().rposition(|line| line.first().is_some_and(|(_, token)| *token <= model.token));
    let Some(at) = at else { return };
    let column = lines[at].iter().rfind(|(_, token)| *token <= model.token).map_or(0, |(column, _)| *column);
    let goal = lines[moved(at, step, lines.len())];
    let nearest = goal.iter().min_by_key(|(other, _)| other.abs_diff(column));
    if let Some((_, token)) = nearest {
        model.token = (*token).min(model.token_count().saturating_sub(1));
    }
}

fn attention(model: &mut Model, command: Command) {
    match model.attention.view {
        AttentionView::Grid => grid(model, command),
        AttentionView::Tokens => token_map(model, command),
        AttentionView::Heads => top_heads(model, command),
    }
}

fn token_map(model: &mut Model, command: Command) {
    match command {
        Command::Left => token(model, -1),
        Command::Right => token(model, 1),
        Command::First => model.token = 0,
        Command::Last => model.token = model.token_count().saturating_sub(1),
        other => {
            if let Some(steps) = steps(other, 4) {
                let chunk = moved(model.chunk, steps, model.chunk_count());
                select_chunk(model, chunk);
            }
        }
    }
}

fn top_heads(model: &mut Model, command: Command) {
    let sideways = match command {
        Command::Left => -1,
        Command::Right => 1,
        _ => 0,
    };
    if sideways != 0 {
        let chunk = moved(model.chunk, sideways, model.chunk_count());
        select_chunk(model, chunk);
        return;
    }
    let Some(lookback) = model.reading().and_then(|reading| reading.lookback.as_ref()) else { return };
    let ranked = model.attention.ranked(lookback, model.chunk);
    let here = (model.attention.layer, model.attention.head);
    let at = ranked.iter().position(|(layer, head, _)| (*layer, *head) == here).unwrap_or(0);
    if let Some(steps) = steps(command, 10)
        && let Some((layer, head, _)) = ranked.get(moved(at, steps, ranked.len())).copied()
    {
        (model.attention.layer, model.attention.head) = (layer, head);
    }
}

fn grid(model: &mut Model, command: Command) {
    let lookback = model.reading().and_then(|reading| reading.lookback.as_ref());
    let (layers, heads) = lookback.map_or((0, 0), |lookback| (lookback.layers, lookback.heads));
    let cursor = &mut model.attention;
    match command {
        Command::Left => cursor.head = moved(cursor.head, -1, heads),
        Command::Right => cursor.head = moved(cursor.head, 1, heads),
        _ => {
            if let Some(steps) = steps(command, 4) {
                cursor.layer = moved(cursor.layer, steps, layers);
            }
        }
    }
}

fn sliders(model: &mut Model, command: Command) {
    if let Some(steps) = steps(command, 1) {
        let sliders = model.sliders();
        let at = sliders.iter().position(|slider| *slider == model.slider).unwrap_or(0);
        model.slider = sliders[moved(at, steps, sliders.len())];
    }
}

/// Scrolls help or notices.
pub fn overlay(model: &mut Model, command: Command) {
    let count = usize::from(model.limits.overlay_scroll) + 1;
    if let Some(steps) = steps(command, 10)
        && let Some(scroll) = model.overlay.as_mut().and_then(Overlay::scroll_mut)
    {
        *scroll = moved(usize::from(*scroll).min(count - 1), steps, count) as u16;
    }
}

fn span(model: &mut Model, forwards: bool) {
    let spans = model.findings.as_ref().map_or(&[][..], |findings| &findings.spans);
    let starts: Vec<usize> = spans.iter().map(|span| span.tokens.start).collect();
    let next = if forwards {
        starts.iter().find(|start| **start > model.token).or(starts.first())
    } else {
        starts.iter().rev().find(|start| **start < model.token).or(starts.last())
    };
    if let Some(start) = next {
        model.token = *start;
    }
}

fn flagged(model: &mut Model, backwards: bool) {
    if let Some(index) = model.rows.next_flagged(model.selected, backwards) {
        model.select(index);
    }
}
