//! The help: the action table, the present context first.

use ratatui::layout::Rect;

use crate::tui::action::{self, ACTIONS, Context, Entry};
use crate::tui::hit::Target;
use crate::tui::model::{Model, Overlay};
use crate::tui::theme::Role;
use crate::tui::widgets::Canvas;

/// Columns of the keys.
const KEYS: u16 = 16;

enum HelpLine {
    Title(&'static str),
    Entry(&'static Entry),
    Text(&'static str),
    Blank,
}

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, (query, typing): (&str, bool), scroll: u16) {
    canvas.clear(area);
    let focus = canvas.style(Role::Focus);
    let found = entries(model, query);
    let count = found.iter().filter(|line| matches!(line, HelpLine::Entry(_))).count();
    let read_out = if query.is_empty() && !typing {
        "/ searches, q closes".to_owned()
    } else {
        format!("/{query} {count} found")
    };
    let inside = canvas.frame(area, &[("Help", focus)], &read_out, true);
    canvas.hits.add(area, Target::Overlay);
    let furthest = (found.len() as u16).saturating_sub(inside.height);
    canvas.hits.limits.overlay_scroll = furthest;
    let first = usize::from(scroll.min(furthest));
    let (key, text, strong) = (canvas.style(Role::Key), canvas.style(Role::Text), canvas.style(Role::Strong));
    let muted = canvas.style(Role::Muted);
    for (row, line) in found.iter().skip(first).take(usize::from(inside.height)).enumerate() {
        let row = row as u16;
        match line {
            HelpLine::Title(title) => {
                canvas.write(inside, 1, row, title, strong);
            }
            HelpLine::Entry(entry) => {
                let labels: Vec<String> = entry.keys.iter().map(|key| key.label()).collect();
                let keys = Rect { width: KEYS.min(inside.width), ..inside };
                canvas.write(keys, 3, row, &labels.join(" "), key);
                canvas.write(inside, KEYS + 1, row, entry.help, text);
            }
            HelpLine::Text(sentence) => {
                canvas.write(inside, 1, row, sentence, muted);
            }
            HelpLine::Blank => {}
        }
    }
    if found.is_empty() {
        canvas.write(inside, 1, 0, "No key does that.", muted);
    }
}

/// Lines of the help that match.
fn entries(model: &Model, query: &str) -> Vec<HelpLine> {
    let here = model.pages.open.map_or(Context::Pane(model.focus), Context::Page);
    debug_assert!(matches!(model.overlay, Some(Overlay::Help { .. })));
    let mut contexts = vec![here, Context::Anywhere];
    for entry in ACTIONS {
        if !contexts.contains(&entry.context) {
            contexts.push(entry.context);
        }
    }
    let query = query.to_lowercase();
    let mut lines = Vec::new();
    for context in contexts {
        let matching: Vec<&'static Entry> =
            ACTIONS.iter().filter(|entry| entry.context == context && matches(entry, &query)).collect();
        if matching.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(HelpLine::Blank);
        }
        lines.push(HelpLine::Title(action::context_title(context)));
        lines.extend(matching.into_iter().map(HelpLine::Entry));
    }
    if query.is_empty() {
        lines.push(HelpLine::Blank);
        lines.push(HelpLine::Title("Reading the screen"));
        lines.extend(LEGEND.iter().copied().map(HelpLine::Text));
    }
    lines
}

fn matches(entry: &Entry, query: &str) -> bool {
    query.is_empty()
        || entry.help.to_lowercase().contains(query)
        || entry.name.contains(query)
        || entry.keys.iter().any(|key| key.label().to_lowercase() == *query)
}

/// What the signs mean.
const LEGEND: &[&str] = &[
    "Examples: ! flagged, with its spans · ✓ clean · ○ not read yet · ~ partly read",
    "          × could not be read · '·' still to come · » asked here, »✓ from trusted chunks only",
    "Answer:   [1] number of a flagged span · s smoothed score · r raw score",
    "          g what a labeller marked, drawn as a line under the text",
    "Chunks:   ◂ most of the token's attention went here · underlined: the token's word, as a word",
    "Attention: ┃ the token at the cursor · ╎ and * what is locked",
    "          m what you marked: - a wrong flag, + something missed",
    "Sliders:  ● value · ┃ default · click or drag the track",
    "Mouse:    the inspector has it; Shift-drag selects text in most terminals, m gives it back",
];
