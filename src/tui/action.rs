//! The one table of commands: it drives the keys, the help, the footer and the printed key list.

use std::fmt::Write as _;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::hit::Target;
use super::model::{Model, Overlay, Pane};
use crate::inspect::Message;

/// Everything that can change the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A command of the table.
    Do(Command),
    /// A character typed into the open prompt.
    Type(char),
    /// The last character of the open prompt goes.
    Erase,
    /// The open prompt is done.
    Accept,
    /// A press of the pointer; the track of a slider with its first column and width.
    Press { target: Target, column: u16, track: (u16, u16) },
    /// The pointer moved while pressed.
    Drag { column: u16 },
    /// The pointer was let go.
    Release,
    /// The wheel turned over a pane; down is positive.
    Wheel { pane: Option<Pane>, lines: i32 },
    /// News of the inspection.
    Message(Message),
    /// The inspection's side of the channel is gone. With what a panic said, if it panicked.
    MessagesEnded(Option<String>),
    /// An export is done, or why not.
    Exported(Result<std::path::PathBuf, String>),
    /// A sentence to show.
    Say(String),
    /// The screen has another size: only drawn anew.
    Redraw,
}

/// A command with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Quit,
    Close,
    Back,
    Help,
    Notices,
    NextPane,
    PreviousPane,
    Focus(Pane),
    Zoom,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    HalfUp,
    HalfDown,
    First,
    Last,
    Open,
    Search,
    NextSpan,
    PreviousSpan,
    NextFlagged,
    PreviousFlagged,
    NextDetector,
    CycleStrip,
    Subject,
    Scale,
    PreviousToken,
    NextToken,
    StepDown,
    StepUp,
    LeapDown,
    LeapUp,
    Minimum,
    Maximum,
    Reset,
    ResetAll,
    TypeNumber,
    /// The same, with the zero that every number here begins with.
    TypeZero,
    Export(ExportKind),
    Copy,
    CopyAnswer,
    Mouse,
}

/// Form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportKind {
    Html,
    Markdown,
    Json,
}

/// Where a key means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    Anywhere,
    Pane(Pane),
    /// Help or notices are open.
    Overlay,
    /// A prompt takes characters.
    Prompt,
}

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub code: KeyCode,
    pub modifiers: KeyModifiers,
}

impl Key {
    /// How help writes it.
    pub fn label(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "Space".to_owned(),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::Up => "↑".into(),
            KeyCode::Down => "↓".into(),
            KeyCode::Left => "←".into(),
            KeyCode::Right => "→".into(),
            KeyCode::Enter => "Enter".into(),
            KeyCode::Esc => "Esc".into(),
            KeyCode::Tab => "Tab".into(),
            KeyCode::BackTab => "Shift-Tab".into(),
            KeyCode::PageUp => "PgUp".into(),
            KeyCode::PageDown => "PgDn".into(),
            KeyCode::Home => "Home".into(),
            KeyCode::End => "End".into(),
            other => format!("{other:?}"),
        };
        let mut label = String::new();
        if self.modifiers.contains(KeyModifiers::CONTROL) {
            label.push_str("Ctrl-");
        }
        if self.modifiers.contains(KeyModifiers::SHIFT) {
            label.push_str("Shift-");
        }
        label + &name
    }

    /// What a terminal reports, without the Shift that is already in the character.
    fn of(event: KeyEvent) -> Self {
        let mut modifiers =
            event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::SHIFT | KeyModifiers::ALT);
        if matches!(event.code, KeyCode::Char(_) | KeyCode::BackTab) {
            modifiers -= KeyModifiers::SHIFT;
        }
        Self { code: event.code, modifiers }
    }
}

const fn plain(c: char) -> Key {
    Key { code: KeyCode::Char(c), modifiers: KeyModifiers::NONE }
}

const fn control(c: char) -> Key {
    Key { code: KeyCode::Char(c), modifiers: KeyModifiers::CONTROL }
}

const fn named(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::NONE }
}

const fn shifted(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::SHIFT }
}

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Name, as a key map would write it.
    pub name: &'static str,
    pub command: Command,
    pub keys: &'static [Key],
    pub context: Context,
    /// What it does, in one line.
    pub help: &'static str,
    /// Short form for the footer; none: not shown there.
    pub hint: Option<&'static str>,
}

const fn entry(
    context: Context,
    name: &'static str,
    command: Command,
    keys: &'static [Key],
    hint: Option<&'static str>,
    help: &'static str,
) -> Entry {
    Entry { name, command, keys, context, help, hint }
}

const ANYWHERE: Context = Context::Anywhere;
const EXAMPLES: Context = Context::Pane(Pane::Examples);
const CHUNKS: Context = Context::Pane(Pane::Chunks);
const ANSWER: Context = Context::Pane(Pane::Answer);
const ATTENTION: Context = Context::Pane(Pane::Attention);
const SLIDERS: Context = Context::Pane(Pane::Sliders);
const OVERLAY: Context = Context::Overlay;

const UP: &[Key] = &[plain('k'), named(KeyCode::Up)];
const DOWN: &[Key] = &[plain('j'), named(KeyCode::Down)];
const LEFT: &[Key] = &[plain('h'), named(KeyCode::Left)];
const RIGHT: &[Key] = &[plain('l'), named(KeyCode::Right)];
const FIRST: &[Key] = &[plain('g'), named(KeyCode::Home)];
const LAST: &[Key] = &[plain('G'), named(KeyCode::End)];
const HALF_DOWN: &[Key] = &[control('d')];
const HALF_UP: &[Key] = &[control('u')];
const PAGE_DOWN: &[Key] = &[named(KeyCode::PageDown)];
const PAGE_UP: &[Key] = &[named(KeyCode::PageUp)];

/// Every command with its keys. Within a context no key stands twice (a test says so).
pub static ACTIONS: &[Entry] = &[
    entry(EXAMPLES, "example-down", Command::Down, DOWN, Some("next"), "next example"),
    entry(EXAMPLES, "example-up", Command::Up, UP, None, "previous example"),
    entry(
        EXAMPLES,
        "example-open",
        Command::Open,
        &[named(KeyCode::Enter)],
        Some("open"),
        "go to its answer",
    ),
    entry(EXAMPLES, "example-first", Command::First, FIRST, None, "first example"),
    entry(EXAMPLES, "example-last", Command::Last, LAST, None, "last example"),
    entry(EXAMPLES, "examples-half-down", Command::HalfDown, HALF_DOWN, None, "half a page down"),
    entry(EXAMPLES, "examples-half-up", Command::HalfUp, HALF_UP, None, "half a page up"),
    entry(EXAMPLES, "examples-page-down", Command::PageDown, PAGE_DOWN, None, "a page down"),
    entry(EXAMPLES, "examples-page-up", Command::PageUp, PAGE_UP, None, "a page up"),
    entry(CHUNKS, "chunk-down", Command::Down, DOWN, Some("next chunk"), "next chunk"),
    entry(CHUNKS, "chunk-up", Command::Up, UP, None, "previous chunk"),
    entry(CHUNKS, "chunk-first", Command::First, FIRST, None, "first chunk"),
    entry(CHUNKS, "chunk-last", Command::Last, LAST, None, "last chunk"),
    entry(
        CHUNKS,
        "chunk-text-half-down",
        Command::HalfDown,
        HALF_DOWN,
        Some("scroll text"),
        "scroll its text half a page down",
    ),
    entry(CHUNKS, "chunk-text-half-up", Command::HalfUp, HALF_UP, None, "scroll its text half a page up"),
    entry(CHUNKS, "chunk-text-page-down", Command::PageDown, PAGE_DOWN, None, "scroll its text a page down"),
    entry(CHUNKS, "chunk-text-page-up", Command::PageUp, PAGE_UP, None, "scroll its text a page up"),
    entry(
        CHUNKS,
        "chunk-open",
        Command::Open,
        &[named(KeyCode::Enter)],
        Some("attention"),
        "see which heads looked at it",
    ),
    entry(ANSWER, "token-right", Command::Right, RIGHT, Some("next token"), "next token"),
    entry(ANSWER, "token-left", Command::Left, LEFT, None, "previous token"),
    entry(ANSWER, "line-down", Command::Down, DOWN, None, "token on the next line"),
    entry(ANSWER, "line-up", Command::Up, UP, None, "token on the previous line"),
    entry(ANSWER, "token-first", Command::First, FIRST, None, "first token"),
    entry(ANSWER, "token-last", Command::Last, LAST, None, "last token"),
    entry(
        ANSWER,
        "strip",
        Command::CycleStrip,
        &[plain('s')],
        Some("score rows"),
        "choose the score rows under the lines",
    ),
    entry(
        ANSWER,
        "answer-open",
        Command::Open,
        &[named(KeyCode::Enter)],
        None,
        "see what the model looked at for this token",
    ),
    entry(ATTENTION, "layer-down", Command::Down, DOWN, Some("layer"), "next layer"),
    entry(ATTENTION, "layer-up", Command::Up, UP, None, "previous layer"),
    entry(ATTENTION, "head-right", Command::Right, RIGHT, Some("head"), "next head"),
    entry(ATTENTION, "head-left", Command::Left, LEFT, None, "previous head"),
    entry(
        ATTENTION,
        "subject",
        Command::Subject,
        &[plain('c')],
        Some("chunk/context"),
        "look-back ratio of the selected chunk, or of the whole context",
    ),
    entry(
        ATTENTION,
        "scale",
        Command::Scale,
        &[plain('s')],
        Some("linear/log"),
        "linear or logarithmic colours",
    ),
    entry(
        ATTENTION,
        "attention-previous-token",
        Command::PreviousToken,
        &[plain(',')],
        None,
        "previous answer token",
    ),
    entry(
        ATTENTION,
        "attention-next-token",
        Command::NextToken,
        &[plain('.')],
        Some("next token"),
        "next answer token",
    ),
    entry(ATTENTION, "layer-first", Command::First, FIRST, None, "first layer"),
    entry(ATTENTION, "layer-last", Command::Last, LAST, None, "last layer"),
    entry(SLIDERS, "slider-down", Command::Down, DOWN, Some("next slider"), "next slider"),
    entry(SLIDERS, "slider-up", Command::Up, UP, None, "previous slider"),
    entry(SLIDERS, "step-up", Command::StepUp, RIGHT, Some("raise"), "a step up"),
    entry(SLIDERS, "step-down", Command::StepDown, LEFT, Some("lower"), "a step down"),
    entry(SLIDERS, "leap-up", Command::LeapUp, &[plain('L'), shifted(KeyCode::Right)], None, "ten steps up"),
    entry(
        SLIDERS,
        "leap-down",
        Command::LeapDown,
        &[plain('H'), shifted(KeyCode::Left)],
        None,
        "ten steps down",
    ),
    entry(SLIDERS, "minimum", Command::Minimum, &[named(KeyCode::Home)], None, "the least value"),
    entry(SLIDERS, "maximum", Command::Maximum, &[named(KeyCode::End)], None, "the greatest value"),
    entry(
        SLIDERS,
        "type-number",
        Command::TypeNumber,
        &[named(KeyCode::Enter), plain('=')],
        Some("type"),
        "type a number, then Enter",
    ),
    entry(SLIDERS, "type-zero", Command::TypeZero, &[plain('0')], None, "start a number: 0.25, then Enter"),
    entry(SLIDERS, "reset", Command::Reset, &[plain('r')], Some("reset"), "back to its default"),
    entry(SLIDERS, "reset-all", Command::ResetAll, &[plain('R')], None, "all four back to their defaults"),
    entry(OVERLAY, "overlay-down", Command::Down, DOWN, Some("scroll"), "scroll down"),
    entry(OVERLAY, "overlay-up", Command::Up, UP, None, "scroll up"),
    entry(
        OVERLAY,
        "overlay-page-down",
        Command::PageDown,
        &[named(KeyCode::PageDown), control('d')],
        None,
        "a page down",
    ),
    entry(
        OVERLAY,
        "overlay-page-up",
        Command::PageUp,
        &[named(KeyCode::PageUp), control('u')],
        None,
        "a page up",
    ),
    entry(OVERLAY, "overlay-first", Command::First, FIRST, None, "to the top"),
    entry(OVERLAY, "overlay-last", Command::Last, LAST, None, "to the end"),
    entry(OVERLAY, "overlay-search", Command::Search, &[plain('/')], Some("search"), "search the help"),
    entry(ANYWHERE, "next-span", Command::NextSpan, &[plain(']')], Some("span"), "next flagged span"),
    entry(ANYWHERE, "previous-span", Command::PreviousSpan, &[plain('[')], None, "previous flagged span"),
    entry(
        ANYWHERE,
        "next-flagged",
        Command::NextFlagged,
        &[plain('}')],
        Some("flagged example"),
        "next example with a flagged span",
    ),
    entry(
        ANYWHERE,
        "previous-flagged",
        Command::PreviousFlagged,
        &[plain('{')],
        None,
        "previous example with a flagged span",
    ),
    entry(
        ANYWHERE,
        "search",
        Command::Search,
        &[plain('/')],
        Some("filter"),
        "filter the examples by id or question",
    ),
    entry(ANYWHERE, "next-pane", Command::NextPane, &[named(KeyCode::Tab)], Some("pane"), "next pane"),
    entry(
        ANYWHERE,
        "previous-pane",
        Command::PreviousPane,
        &[named(KeyCode::BackTab)],
        None,
        "previous pane",
    ),
    entry(ANYWHERE, "focus-examples", Command::Focus(Pane::Examples), &[plain('1')], None, "to the examples"),
    entry(ANYWHERE, "focus-chunks", Command::Focus(Pane::Chunks), &[plain('2')], None, "to the chunks"),
    entry(ANYWHERE, "focus-answer", Command::Focus(Pane::Answer), &[plain('3')], None, "to the answer"),
    entry(
        ANYWHERE,
        "focus-attention",
        Command::Focus(Pane::Attention),
        &[plain('4')],
        None,
        "to the attention",
    ),
    entry(ANYWHERE, "focus-sliders", Command::Focus(Pane::Sliders), &[plain('5')], None, "to the sliders"),
    entry(
        ANYWHERE,
        "zoom",
        Command::Zoom,
        &[plain('z')],
        Some("zoom"),
        "the pane fills the screen, or goes back",
    ),
    entry(
        ANYWHERE,
        "detector",
        Command::NextDetector,
        &[plain('d')],
        None,
        "scores of the next detector of the record",
    ),
    entry(
        ANYWHERE,
        "copy",
        Command::Copy,
        &[plain('y')],
        None,
        "copy the span, chunk or id that has the cursor",
    ),
    entry(ANYWHERE, "copy-answer", Command::CopyAnswer, &[plain('Y')], None, "copy the whole answer"),
    entry(
        ANYWHERE,
        "export-html",
        Command::Export(ExportKind::Html),
        &[plain('e')],
        Some("export"),
        "write an HTML report",
    ),
    entry(
        ANYWHERE,
        "export-markdown",
        Command::Export(ExportKind::Markdown),
        &[plain('E')],
        None,
        "write a Markdown report",
    ),
    entry(
        ANYWHERE,
        "export-json",
        Command::Export(ExportKind::Json),
        &[plain('X')],
        None,
        "write a JSON report",
    ),
    entry(
        ANYWHERE,
        "mouse",
        Command::Mouse,
        &[plain('m')],
        None,
        "give the mouse back to the terminal to select text, or take it",
    ),
    entry(ANYWHERE, "notices", Command::Notices, &[plain('!')], None, "read the notices"),
    entry(ANYWHERE, "help", Command::Help, &[plain('?')], Some("help"), "this help"),
    entry(
        ANYWHERE,
        "back",
        Command::Back,
        &[named(KeyCode::Esc)],
        None,
        "one level back; at the top it stops the work that runs",
    ),
    entry(
        ANYWHERE,
        "close",
        Command::Close,
        &[plain('q')],
        Some("quit"),
        "close what is open; at the top quit",
    ),
    entry(ANYWHERE, "quit", Command::Quit, &[control('c')], None, "quit at once"),
];

/// Where keys go now.
pub fn context(model: &Model) -> Context {
    match &model.overlay {
        Some(Overlay::Help { typing: true, .. }) => Context::Prompt,
        Some(_) => Context::Overlay,
        None if model.filter.typing || model.typed.is_some() => Context::Prompt,
        None => Context::Pane(model.focus),
    }
}

/// What a key does in a context.
pub fn action_for(context: Context, event: KeyEvent) -> Option<Action> {
    let key = Key::of(event);
    if context == Context::Prompt {
        return match (key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
            (KeyCode::Char('c'), true) => Some(Action::Do(Command::Quit)),
            (KeyCode::Char(c), false) => Some(Action::Type(c)),
            (KeyCode::Backspace, _) => Some(Action::Erase),
            (KeyCode::Enter, _) => Some(Action::Accept),
            (KeyCode::Esc, _) => Some(Action::Do(Command::Back)),
            (KeyCode::Down, _) => Some(Action::Do(Command::Down)),
            (KeyCode::Up, _) => Some(Action::Do(Command::Up)),
            _ => None,
        };
    }
    let found =
        |wanted: Context| ACTIONS.iter().find(|entry| entry.context == wanted && entry.keys.contains(&key));
    // What lies under an overlay cannot be seen, so it is not moved.
    let general = found(ANYWHERE).filter(|entry| context != Context::Overlay || works_over(entry.command));
    found(context).or(general).map(|entry| Action::Do(entry.command))
}

fn works_over(command: Command) -> bool {
    matches!(
        command,
        Command::Quit | Command::Close | Command::Back | Command::Help | Command::Notices | Command::Mouse
    )
}

/// Entries that the footer shows in a context, the nearest first.
pub fn hints(context: Context) -> impl Iterator<Item = &'static Entry> {
    let anywhere = matches!(context, Context::Pane(_));
    ACTIONS
        .iter()
        .filter(move |entry| entry.context == context || (anywhere && entry.context == ANYWHERE))
        .filter(|entry| entry.hint.is_some())
}

/// Title of a context in the help.
pub fn context_title(context: Context) -> &'static str {
    match context {
        Context::Anywhere => "Anywhere",
        Context::Pane(pane) => pane.title(),
        Context::Overlay => "Help and notices",
        Context::Prompt => "Prompt",
    }
}

/// The key list as plain text, one line per entry, for `--help` pages and the README.
pub fn key_list() -> String {
    let mut text = String::new();
    let mut contexts: Vec<Context> = Vec::new();
    for entry in ACTIONS {
        if !contexts.contains(&entry.context) {
            contexts.push(entry.context);
        }
    }
    for context in contexts {
        text.push_str(context_title(context));
        text.push('\n');
        for entry in ACTIONS.iter().filter(|entry| entry.context == context) {
            let keys: Vec<String> = entry.keys.iter().map(|key| key.label()).collect();
            let _ = writeln!(text, "  {:<16} {}", keys.join(" "), entry.help);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(context: Context, code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
        action_for(context, KeyEvent::new(code, modifiers))
    }

    #[test]
    fn no_key_stands_twice_in_a_context_and_no_name_twice_at_all() {
        for (at, one) in ACTIONS.iter().enumerate() {
            for other in &ACTIONS[at + 1..] {
                assert_ne!(one.name, other.name);
                if one.context == other.context {
                    assert!(
                        one.keys.iter().all(|key| !other.keys.contains(key)),
                        "{} {}",
                        one.name,
                        other.name
                    );
                }
            }
        }
    }

    #[test]
    fn no_key_is_one_that_multiplexers_and_terminals_take() {
        for entry in ACTIONS {
            for key in entry.keys {
                let taken = key.modifiers.contains(KeyModifiers::CONTROL)
                    && matches!(
                        key.code,
                        KeyCode::Char('a' | 'b' | 'h' | 'i' | 'j' | 'k' | 'l' | 'm' | 's' | 'q' | ' ')
                    );
                assert!(!taken && !key.modifiers.contains(KeyModifiers::ALT), "{}", entry.name);
            }
        }
    }

    #[test]
    fn a_capital_is_the_same_with_and_without_the_shift_that_a_terminal_reports() {
        let leap = Some(Action::Do(Command::LeapUp));
        assert_eq!(press(SLIDERS, KeyCode::Char('L'), KeyModifiers::SHIFT), leap);
        assert_eq!(press(SLIDERS, KeyCode::Char('L'), KeyModifiers::NONE), leap);
        assert_eq!(press(SLIDERS, KeyCode::Right, KeyModifiers::SHIFT), leap);
    }

    #[test]
    fn a_prompt_takes_letters_that_are_commands_elsewhere_and_control_c_still_quits() {
        assert_eq!(press(Context::Prompt, KeyCode::Char('q'), KeyModifiers::NONE), Some(Action::Type('q')));
        assert_eq!(
            press(Context::Prompt, KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(Action::Do(Command::Quit))
        );
        assert_eq!(press(Context::Pane(Pane::Answer), KeyCode::Char('x'), KeyModifiers::CONTROL), None);
    }

    #[test]
    fn every_entry_is_in_the_printed_key_list() {
        let list = key_list();
        assert!(ACTIONS.iter().all(|entry| list.contains(entry.help) && !entry.keys.is_empty()));
    }
}
