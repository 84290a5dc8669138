//! The help: the action table with the user's keys, the present context first.

use ratatui::layout::Rect;

use crate::tui::action::{self, Command, Context, Entry, availability};
use crate::tui::hit::Target;
use crate::tui::model::Model;
use crate::tui::theme::Role;
use crate::tui::widgets::{Canvas, width, wrap};

/// Least and most columns of the keys.
const KEYS: (u16, u16) = (10, 22);

enum HelpLine {
    Title(&'static str),
    /// Keys, what they do, and whether they do it now; a long help goes on in lines without keys.
    Entry {
        keys: String,
        text: String,
        available: bool,
    },
    Text(String),
    Blank,
}

pub fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, (query, typing): (&str, bool), scroll: u16) {
    canvas.clear(area);
    let focus = canvas.style(Role::Focus);
    let found = found(model, query);
    let read_out = if query.is_empty() && !typing {
        let search = model.keys.label_in(Context::Overlay, Command::Search);
        format!("{search} searches, {} closes", model.keys.label(Command::Close))
    } else {
        format!("/{query} {} found", found.iter().map(|(_, entries)| entries.len()).sum::<usize>())
    };
    let inside = canvas.frame(area, &[("Help", focus)], &read_out, true);
    canvas.hits.add(area, Target::Overlay);
    let column = key_column(model, &found, inside.width);
    let lines = lines(model, &found, query, column, inside.width);
    let furthest = (lines.len() as u16).saturating_sub(inside.height);
    canvas.hits.limits.overlay_scroll = furthest;
    let first = usize::from(scroll.min(furthest));
    let (key, text, strong) = (canvas.style(Role::Key), canvas.style(Role::Text), canvas.style(Role::Strong));
    let (muted, dropped) = (canvas.style(Role::Muted), canvas.style(Role::Dropped));
    for (row, line) in lines.iter().skip(first).take(usize::from(inside.height)).enumerate() {
        let row = row as u16;
        match line {
            HelpLine::Title(title) => {
                canvas.write(inside, 1, row, title, strong);
            }
            HelpLine::Entry { keys, text: help, available } => {
                let room = Rect { width: (column - 1).min(inside.width), ..inside };
                canvas.write(room, 2, row, keys, if *available { key } else { dropped });
                canvas.write(inside, column, row, help, if *available { text } else { dropped });
            }
            HelpLine::Text(sentence) => {
                canvas.write(inside, 1, row, sentence, muted);
            }
            HelpLine::Blank => {}
        }
    }
    if lines.is_empty() {
        canvas.write(inside, 1, 0, "No key does that.", muted);
    }
    let more = usize::from(inside.height) + first < lines.len();
    if more && inside.width > 12 && area.height > 2 {
        let foot = Rect { y: area.bottom() - 1, height: 1, x: area.x + 2, width: area.width - 4 };
        canvas.write_right(foot, 0, " more ↓ ", muted);
    }
}

/// Entries that match, by context.
fn found(model: &Model, query: &str) -> Vec<(Context, Vec<&'static Entry>)> {
    let query = query.to_lowercase();
    let contexts = action::contexts(Some(action::context_below(model)));
    let of = |context: Context| {
        let entries = action::ACTIONS.iter().filter(|entry| entry.context == context);
        (context, entries.filter(|entry| matches(model, entry, &query)).collect::<Vec<_>>())
    };
    contexts.into_iter().map(of).filter(|(_, entries)| !entries.is_empty()).collect()
}

fn matches(model: &Model, entry: &Entry, query: &str) -> bool {
    query.is_empty()
        || entry.help.to_lowercase().contains(query)
        || entry.name.contains(query)
        || model.keys.keys(entry).iter().any(|key| key.label().to_lowercase() == *query)
}

fn written_keys(model: &Model, entry: &Entry) -> String {
    let labels: Vec<String> = model.keys.keys(entry).iter().map(|key| key.label()).collect();
    if labels.is_empty() { format!(":{}", entry.name) } else { labels.join(" ") }
}

/// Where what the keys do begins: after the longest keys, as far as there is room.
fn key_column(model: &Model, found: &[(Context, Vec<&'static Entry>)], room: u16) -> u16 {
    let entries = found.iter().flat_map(|(_, entries)| entries);
    let longest = entries.map(|entry| width(&written_keys(model, entry))).max().unwrap_or(0);
    (longest + 4).clamp(KEYS.0, KEYS.1).min((room / 3).max(KEYS.0))
}

fn lines(
    model: &Model,
    found: &[(Context, Vec<&'static Entry>)],
    query: &str,
    column: u16,
    room: u16,
) -> Vec<HelpLine> {
    let mut lines = Vec::new();
    for (context, entries) in found {
        if !lines.is_empty() {
            lines.push(HelpLine::Blank);
        }
        lines.push(HelpLine::Title(action::context_title(*context)));
        for entry in entries {
            let reason = availability(entry.command, *context, model).err();
            let available = reason.is_none();
            let help = match reason {
                Some(reason) => format!("{} ({reason})", entry.help),
                None => entry.help.to_owned(),
            };
            let wrapped = wrap(&help, room.saturating_sub(column + 1), &[]);
            for (at, line) in wrapped.lines.iter().enumerate() {
                let keys = if at == 0 { written_keys(model, entry) } else { String::new() };
                let text = wrapped.shown(line).trim_end().to_owned();
                lines.push(HelpLine::Entry { keys, text, available });
            }
        }
    }
    if query.is_empty() {
        lines.push(HelpLine::Blank);
        lines.push(HelpLine::Title("Reading the screen"));
        for (what, text) in legend(model) {
            let wrapped = wrap(&text, room.saturating_sub(LEGEND + 2), &[]);
            for (at, line) in wrapped.lines.iter().enumerate() {
                let what = if at == 0 { what } else { "" };
                let shown = wrapped.shown(line).trim_end();
                lines.push(HelpLine::Text(format!("{what:<width$}{shown}", width = usize::from(LEGEND))));
            }
        }
    }
    lines
}

/// Columns of the words that the legend explains.
const LEGEND: u16 = 11;

/// What the signs mean.
fn legend(model: &Model) -> Vec<(&'static str, String)> {
    let mouse = model.keys.label(Command::Mouse);
    vec![
        (
            "Examples",
            "! flagged, with its spans · ✓ clean · ○ not read yet · ~ partly read · × could not be read · \
             '·' still to come · » asked here, »✓ from trusted chunks only"
                .into(),
        ),
        (
            "Answer",
            "[1] number of a flagged span · s smoothed score · r raw score · g what a labeller marked, drawn as a \
             line under the text · m what you marked: - a wrong flag, + something missed"
                .into(),
        ),
        (
            "Chunks",
            "◂ most of the token's attention went here · underlined: the token's word, as a word".into(),
        ),
        ("Attention", "┃ the token at the cursor · ╎ and * what is locked".into()),
        ("Sliders", "● value · ┃ default · click or drag the track".into()),
        (
            "Mouse",
            format!(
                "the inspector has it; Shift-drag selects text in most terminals, {mouse} gives it back to the \
                 terminal"
            ),
        ),
        ("Keys", "keys.toml in the configuration folder changes them; `ragscope keys --toml` begins one".into()),
    ]
}
