//! Where the model looked: the pane with its three views.

use std::fmt::Write as _;

use ratatui::layout::{Constraint, Layout, Rect};

use super::words::{percent, quoted};
use super::{absent, head_grid, pane_frame_with_views, sentence, token_map, top_heads};
use crate::evidence::Lookback;
use crate::tui::model::{AttentionView, Lock, Model, Pane, Subject};
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

/// From this width on the grid has the map of tokens beside it.
const SIDE_BY_SIDE: u16 = 64;

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let lookback = model.reading().and_then(|reading| reading.lookback.as_ref());
    let lookback = lookback.filter(|lookback| lookback.layers > 0 && lookback.heads > 0);
    let read_out = lookback.map_or_else(String::new, |lookback| read_out(model, lookback, area.width));
    let view = model.attention.view;
    let views = AttentionView::ALL.map(|one| (one.name(), one == view));
    let inside = pane_frame_with_views(canvas, area, model, Pane::Attention, &views, &read_out);
    let Some(lookback) = lookback else {
        absent(canvas, inside, why_absent(model), Role::Muted);
        return;
    };
    let lines = if inside.height > 30 { 4 } else { 2 };
    let lines = if model.locked().is_some() { lines + 1 } else { lines };
    let body = sentence(canvas, inside, &words(model, lookback), lines);
    match view {
        AttentionView::Grid => grid(canvas, body, model, lookback),
        AttentionView::Tokens => token_map::draw(canvas, body, model, lookback),
        AttentionView::Heads => top_heads::draw(canvas, body, model, lookback),
    }
}

/// The grid of heads, with the map of tokens beside or under it.
fn grid(canvas: &mut Canvas<'_>, body: Rect, model: &Model, lookback: &Lookback) {
    let chunks = token_map::rows(model);
    if body.width >= SIDE_BY_SIDE {
        let width = head_grid::width(lookback).min(body.width.saturating_sub(22));
        let [heads, tokens] =
            Layout::horizontal([Constraint::Length(width), Constraint::Min(20)]).spacing(2).areas(body);
        head_grid::draw(canvas, heads, model, lookback);
        let title = Rect { height: 1.min(tokens.height), ..tokens };
        let muted = canvas.style(Role::Muted);
        canvas.write(title, 0, 0, "attention on each chunk, by token", muted);
        let map = Rect { y: tokens.y + 1, height: chunks.min(tokens.height.saturating_sub(1)), ..tokens };
        token_map::draw_strips(canvas, map, model);
    } else {
        let tokens = chunks.min(body.height / 4);
        let map = Rect { y: body.bottom() - tokens, height: tokens, ..body };
        let heads = body.height.saturating_sub(tokens + u16::from(tokens > 0));
        head_grid::draw(canvas, Rect { height: heads, ..body }, model, lookback);
        token_map::draw_strips(canvas, map, model);
    }
}

fn why_absent(model: &Model) -> &str {
    match model.evidence() {
        None => "Not looked at yet.",
        Some(evidence) => match (&evidence.reading, &evidence.reason) {
            (None, Some(reason)) => reason,
            (None, None) if model.run.is_running() => "Waiting to be read by the model.",
            (None, None) => "This answer has not been read.",
            (Some(_), _) => "This record holds no look-back ratios.",
        },
    }
}

fn read_out(model: &Model, lookback: &Lookback, width: u16) -> String {
    let cursor = &model.attention;
    if cursor.view == AttentionView::Tokens {
        let text = model.token_text(model.token).map_or_else(String::new, |text| quoted(text, 10));
        return format!("{}/{} {text}", model.token + 1, model.token_count());
    }
    let ratio = cursor.ratio(lookback, model.chunk, cursor.layer, cursor.head);
    ratio.map_or_else(String::new, |ratio| {
        let word = if width >= 56 { "look-back " } else { "" };
        format!("L{:02} H{:02} {word}{ratio:.2}", cursor.layer, cursor.head)
    })
}

/// What the views say about the token and the head under their cursors.
fn words(model: &Model, lookback: &Lookback) -> String {
    let mut text = String::new();
    if let (Some((chunk, share)), Some(token)) = (model.looked_at(), model.token_text(model.token)) {
        let _ =
            write!(text, "{} looked most at chunk {} ({}).", quoted(token, 12), chunk + 1, percent(share));
    }
    let cursor = &model.attention;
    if cursor.view == AttentionView::Tokens {
        if cursor.elsewhere {
            text.push_str(" “else” is all that no chunk got: first token, instructions, question, answer.");
        }
    } else if let Some(ratio) = cursor.ratio(lookback, model.chunk, cursor.layer, cursor.head) {
        let ranked = cursor.ranked(lookback, model.chunk);
        let rank = ranked.iter().filter(|(_, _, other)| *other > ratio).count() + 1;
        let subject = match cursor.subject {
            Subject::Chunk => format!("at chunk {}", model.chunk + 1),
            Subject::Context => "at the context".to_owned(),
        };
        let _ = write!(
            text,
            " L{:02} H{:02} ranks {rank} of {} {subject}.",
            cursor.layer,
            cursor.head,
            ranked.len()
        );
    }
    if let Some(lock) = model.locked() {
        text.push_str(&locked_words(model, lookback, lock));
    }
    text
}

/// The locked token and head beside those under the cursors.
fn locked_words(model: &Model, lookback: &Lookback, lock: Lock) -> String {
    let mut text = String::new();
    if let (Some((chunk, share)), Some(token)) =
        (model.looked_at_by(lock.token), model.token_text(lock.token))
    {
        let _ =
            write!(text, " Locked {}: most at chunk {} ({})", quoted(token, 12), chunk + 1, percent(share));
    }
    let cursor = &model.attention;
    let here = cursor.ratio(lookback, model.chunk, cursor.layer, cursor.head);
    let there = cursor.ratio(lookback, lock.chunk, lock.layer, lock.head);
    if let (Some(here), Some(there)) = (here, there)
        && cursor.view != AttentionView::Tokens
    {
        let _ = write!(text, "; L{:02} H{:02} {there:.2}, here {:+.2}", lock.layer, lock.head, here - there);
    }
    if !text.is_empty() {
        text.push('.');
    }
    text
}
