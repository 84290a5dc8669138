//! What the keys do on the pages.

use ratatui::crossterm::event::KeyCode;

use super::keys::{DOWN, FIRST, LAST, LEFT, RIGHT, UP, control, entry, named, plain, shifted};
use crate::tui::action::{Command, Context, Entry};
use crate::tui::model::Page;

const OVERVIEW: Context = Context::Page(Page::Overview);
const DIAGNOSTICS: Context = Context::Page(Page::Diagnostics);
const SCORES: Context = Context::Page(Page::Scores);
const COMPARISON: Context = Context::Page(Page::Comparison);

pub const PAGES: &[Entry] = &[
    entry(OVERVIEW, "overview-down", Command::Down, DOWN, Some("next"), "next line of the list"),
    entry(OVERVIEW, "overview-up", Command::Up, UP, None, "previous line of the list"),
    entry(OVERVIEW, "overview-first", Command::First, FIRST, None, "first line of the list"),
    entry(OVERVIEW, "overview-last", Command::Last, LAST, None, "last line of the list"),
    entry(
        OVERVIEW,
        "overview-open",
        Command::Open,
        &[named(KeyCode::Enter)],
        Some("open"),
        "go to the answer; of a group, show only its examples",
    ),
    entry(
        OVERVIEW,
        "overview-view",
        Command::View,
        &[plain('v')],
        Some("list"),
        "next list: worst, groups, passages",
    ),
    entry(DIAGNOSTICS, "alpha-down", Command::StepDown, LEFT, Some("lower alpha"), "lower alpha by a step"),
    entry(DIAGNOSTICS, "alpha-up", Command::StepUp, RIGHT, Some("raise"), "raise alpha by a step"),
    entry(
        DIAGNOSTICS,
        "alpha-leap-down",
        Command::LeapDown,
        &[plain('H'), shifted(KeyCode::Left)],
        None,
        "ten steps down",
    ),
    entry(
        DIAGNOSTICS,
        "alpha-leap-up",
        Command::LeapUp,
        &[plain('L'), shifted(KeyCode::Right)],
        None,
        "ten steps up",
    ),
    entry(
        DIAGNOSTICS,
        "alpha-type",
        Command::TypeNumber,
        &[plain('=')],
        Some("type"),
        "type alpha, then Enter",
    ),
    entry(
        DIAGNOSTICS,
        "alpha-reset",
        Command::Reset,
        &[plain('r')],
        Some("reset"),
        "alpha back to its default",
    ),
    entry(
        DIAGNOSTICS,
        "diagnostics-view",
        Command::View,
        &[plain('v')],
        Some("curve"),
        "m1, m2 or coverage, where one fits",
    ),
    entry(
        SCORES,
        "threshold-down",
        Command::StepDown,
        LEFT,
        Some("lower"),
        "lower the token threshold by a step",
    ),
    entry(SCORES, "threshold-up", Command::StepUp, RIGHT, Some("raise threshold"), "raise it by a step"),
    entry(
        SCORES,
        "threshold-leap-down",
        Command::LeapDown,
        &[plain('H'), shifted(KeyCode::Left)],
        None,
        "ten steps down",
    ),
    entry(
        SCORES,
        "threshold-leap-up",
        Command::LeapUp,
        &[plain('L'), shifted(KeyCode::Right)],
        None,
        "ten steps up",
    ),
    entry(
        SCORES,
        "threshold-type",
        Command::TypeNumber,
        &[plain('=')],
        Some("type"),
        "type the threshold, then Enter",
    ),
    entry(
        SCORES,
        "threshold-reset",
        Command::Reset,
        &[plain('r')],
        Some("reset"),
        "the threshold back to its default",
    ),
    entry(
        SCORES,
        "scores-view",
        Command::View,
        &[plain('v')],
        Some("run/answer"),
        "scores of the run, or of this answer",
    ),
    entry(
        SCORES,
        "scores-scale",
        Command::Scale,
        &[plain('s')],
        Some("log"),
        "bars for counts, or for their logarithms",
    ),
    entry(
        COMPARISON,
        "comparison-view",
        Command::View,
        &[plain('v')],
        Some("answers/detectors"),
        "two answers, or two detectors on this one",
    ),
    entry(COMPARISON, "comparison-down", Command::Down, DOWN, Some("scroll"), "scroll down"),
    entry(COMPARISON, "comparison-up", Command::Up, UP, None, "scroll up"),
    entry(
        COMPARISON,
        "comparison-page-down",
        Command::PageDown,
        &[named(KeyCode::PageDown), control('d')],
        None,
        "a page down",
    ),
    entry(
        COMPARISON,
        "comparison-page-up",
        Command::PageUp,
        &[named(KeyCode::PageUp), control('u')],
        None,
        "a page up",
    ),
    entry(COMPARISON, "comparison-first", Command::First, FIRST, None, "to the top"),
    entry(COMPARISON, "comparison-last", Command::Last, LAST, None, "to the end"),
    entry(COMPARISON, "comparison-next-token", Command::Right, RIGHT, Some("token"), "next answer token"),
    entry(COMPARISON, "comparison-previous-token", Command::Left, LEFT, None, "previous answer token"),
];
