//! The one table of commands: it drives the keys, the help, the footer and the printed key list.

use std::fmt::Write as _;

mod dialog_keys;
mod table;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::hit::Target;
use super::model::{Model, Overlay, Page, Pane};
use super::update::ExportFailure;
use crate::evidence::SavedAnnotations;
use crate::inspect::Message;

pub use dialog_keys::DialogKey;
pub use table::ACTIONS;

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
    /// A key for the dialog that is open.
    Dialog(DialogKey),
    /// A press of the pointer; the track of a slider with its first column and width.
    Press { target: Target, column: u16, track: (u16, u16) },
    /// The pointer moved while pressed; what lies under it.
    Drag { column: u16, over: Option<Target> },
    /// The pointer was let go.
    Release,
    /// The wheel turned over a pane; down is positive.
    Wheel { pane: Option<Pane>, lines: i32 },
    /// News of the inspection.
    Message(Message),
    /// The inspection's side of the channel is gone. With what a panic said, if it panicked.
    MessagesEnded(Option<String>),
    /// An export is done, or why not.
    Exported(Result<std::path::PathBuf, ExportFailure>),
    /// Marks are written, or why not.
    MarksSaved(Box<Result<SavedAnnotations, String>>),
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
    /// Begin a selection of tokens, or give it up.
    SelectTokens,
    MarkFalseAlarm,
    MarkMissed,
    Unmark,
    /// The whole answer was looked at.
    Checked,
    UndoMark,
    RedoMark,
    /// The list of marks.
    Marks,
    /// Ask a question of one's own.
    Ask,
    /// Answer the question on the screen once more, from trusted passages only.
    AnswerAgain,
    /// Ask what is to be exported.
    ExportDialog,
    /// Export everything at once.
    Export(ExportKind),
    Copy,
    CopyAnswer,
    Mouse,
    /// The next view of the pane or page.
    View,
    /// Keep the selection beside the cursors, or let it go.
    Lock,
    /// Show or hide the attention that no chunk got.
    Elsewhere,
    Sort,
    Show,
    ShowGroup,
    Page(Page),
    /// Mark the answer, to compare others with it.
    Mark,
    /// To the shell, until it continues the program.
    Suspend,
}

/// Form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportKind {
    Html,
    Markdown,
    Json,
    Csv,
    /// The screen as a picture.
    Svg,
}

impl ExportKind {
    /// In the order in which a dialog offers them.
    pub const ALL: [Self; 5] = [Self::Html, Self::Markdown, Self::Json, Self::Csv, Self::Svg];

    /// Ending of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Svg => "svg",
        }
    }
}

/// Where a key means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    Anywhere,
    Pane(Pane),
    Page(Page),
    /// Help or notices are open.
    Overlay,
    /// A prompt takes characters.
    Prompt,
    /// A dialog is open.
    Dialog,
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

/// Where keys go now.
pub fn context(model: &Model) -> Context {
    if model.dialog.is_some() {
        return Context::Dialog;
    }
    match &model.overlay {
        Some(Overlay::Help { typing: true, .. }) => Context::Prompt,
        Some(_) => Context::Overlay,
        None if model.filter.typing || model.typed.is_some() => Context::Prompt,
        None if model.pages.open.is_some() => model.pages.open.map_or(Context::Anywhere, Context::Page),
        None => Context::Pane(model.focus),
    }
}

/// What a key does in a context.
pub fn action_for(context: Context, event: KeyEvent) -> Option<Action> {
    if context == Context::Dialog {
        return dialog_keys::dialog_action(event);
    }
    let key = Key::of(event);
    if context == Context::Prompt {
        return match (key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
            (KeyCode::Char('c'), true) => Some(Action::Do(Command::Quit)),
            (KeyCode::Char('z'), true) => Some(Action::Do(Command::Suspend)),
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
    let general = found(Context::Anywhere).filter(|entry| match context {
        Context::Overlay => works_over(entry.command),
        Context::Page(_) => works_over(entry.command) || works_on_pages(entry.command),
        _ => true,
    });
    found(context).or(general).map(|entry| Action::Do(entry.command))
}

fn works_over(command: Command) -> bool {
    matches!(
        command,
        Command::Quit
            | Command::Close
            | Command::Back
            | Command::Help
            | Command::Notices
            | Command::Mouse
            | Command::Suspend
    )
}

/// Pages cover the panes; what is about the example, the run or the pages themselves works on them.
fn works_on_pages(command: Command) -> bool {
    matches!(
        command,
        Command::Page(_)
            | Command::NextPane
            | Command::PreviousPane
            | Command::Focus(_)
            | Command::NextSpan
            | Command::PreviousSpan
            | Command::NextFlagged
            | Command::PreviousFlagged
            | Command::NextDetector
            | Command::Mark
            | Command::Export(_)
    )
}

/// Entries that the footer shows in a context, the nearest first.
pub fn hints(context: Context) -> impl Iterator<Item = &'static Entry> {
    let here = ACTIONS.iter().filter(move |entry| entry.context == context);
    let general = ACTIONS.iter().filter(move |entry| {
        entry.context == Context::Anywhere
            && match context {
                Context::Pane(_) => true,
                Context::Page(_) => works_on_pages(entry.command),
                _ => false,
            }
    });
    here.chain(general).filter(|entry| entry.hint.is_some())
}

/// Title of a context in the help.
pub fn context_title(context: Context) -> &'static str {
    match context {
        Context::Anywhere => "Anywhere",
        Context::Pane(pane) => pane.title(),
        Context::Page(page) => page.title(),
        Context::Overlay => "Help and notices",
        Context::Prompt => "Prompt",
        Context::Dialog => "Dialog",
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
        assert_eq!(press(Context::Pane(Pane::Sliders), KeyCode::Char('L'), KeyModifiers::SHIFT), leap);
        assert_eq!(press(Context::Pane(Pane::Sliders), KeyCode::Char('L'), KeyModifiers::NONE), leap);
        assert_eq!(press(Context::Pane(Pane::Sliders), KeyCode::Right, KeyModifiers::SHIFT), leap);
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
