//! The one table of commands: it drives the keys, the help, the palette, the footer and the printed lists.

mod availability;
mod dialog_keys;
mod fuzzy;
mod key;
mod key_map;
mod palette;
mod printed;
mod table;

use ratatui::crossterm::event::KeyEvent;

use super::hit::Target;
use super::model::{Model, Overlay, Page, Pane, PresetAnswer, PresetRequest};
use super::update::ExportFailure;
use crate::evidence::SavedAnnotations;
use crate::inspect::Message;

pub use availability::availability;
pub use dialog_keys::DialogKey;
pub use key::{Key, KeyError};
pub use key_map::{KeyMap, KeyMapNote};
pub use palette::{Offer, offers};
pub use printed::{key_list, key_list_json, key_list_markdown, key_list_toml};
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
    /// What the store of presets answered, and to what.
    Presets(PresetRequest, PresetAnswer),
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
    Palette,
    Undo,
    Redo,
    Presets,
    SavePreset,
    DeletePreset,
    /// The answers to a question over the screen.
    Yes,
    No,
    /// What a prompt holds is meant.
    Accept,
    /// The last character of a prompt goes.
    Erase,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    Anywhere,
    Pane(Pane),
    Page(Page),
    /// Help or notices are open.
    Overlay,
    /// The list of presets is open.
    Presets,
    /// A question waits for yes or no.
    Question,
    /// A prompt takes characters.
    Prompt,
    /// A dialog is open.
    Dialog,
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
        Some(Overlay::Help { typing: true, .. } | Overlay::Palette { .. }) => Context::Prompt,
        Some(Overlay::Presets(presets)) => presets.context(),
        Some(_) => Context::Overlay,
        None if model.filter.typing || model.typed.is_some() => Context::Prompt,
        None => context_below(model),
    }
}

/// Where keys go once nothing lies over the panes or the page.
pub fn context_below(model: &Model) -> Context {
    model.pages.open.map_or(Context::Pane(model.focus), Context::Page)
}

/// What a key does in a context.
pub fn action_for(keys: &KeyMap, context: Context, event: KeyEvent) -> Option<Action> {
    let key = Key::of(event);
    if let Some(entry) = keys.find(context, key) {
        return Some(match entry.command {
            Command::Accept => Action::Accept,
            Command::Erase => Action::Erase,
            command => Action::Do(command),
        });
    }
    let general = keys.find(Context::Anywhere, key).map(|entry| entry.command);
    match (general.filter(|command| works_in(*command, context)), context) {
        (Some(command), _) => Some(Action::Do(command)),
        // A prompt takes what can be typed.
        (None, Context::Prompt) => key.typed().map(Action::Type),
        (None, Context::Dialog) => dialog_keys::dialog_action(event),
        (None, _) => None,
    }
}

/// Whether a command of anywhere works in a context. What lies under an overlay cannot be seen, so it is
/// not moved.
pub fn works_in(command: Command, context: Context) -> bool {
    match context {
        Context::Anywhere | Context::Pane(_) => true,
        Context::Page(_) => works_over(command) || works_on_pages(command),
        Context::Prompt | Context::Dialog => matches!(command, Command::Quit | Command::Suspend),
        Context::Overlay | Context::Presets | Context::Question => works_over(command),
    }
}

/// Whether a command of anywhere works while something lies over the panes.
fn works_over(command: Command) -> bool {
    matches!(
        command,
        Command::Quit
            | Command::Close
            | Command::Back
            | Command::Help
            | Command::Notices
            | Command::Mouse
            | Command::Palette
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
            | Command::ExportDialog
            | Command::Undo
            | Command::Redo
            | Command::Presets
            | Command::SavePreset
    )
}

/// Entries that the footer shows in a context, the nearest first.
pub fn hints(context: Context) -> impl Iterator<Item = &'static Entry> {
    let of = |wanted: Context| ACTIONS.iter().filter(move |entry| entry.context == wanted);
    let general = of(Context::Anywhere).filter(move |entry| match context {
        Context::Pane(_) | Context::Page(_) => works_in(entry.command, context),
        _ => false,
    });
    of(context).chain(general).filter(|entry| entry.hint.is_some())
}

/// Every context of the table: `first`, then what works anywhere, then the others in the table's order.
pub fn contexts(first: Option<Context>) -> Vec<Context> {
    let mut contexts: Vec<Context> = first.into_iter().collect();
    for context in std::iter::once(Context::Anywhere).chain(ACTIONS.iter().map(|entry| entry.context)) {
        if !contexts.contains(&context) {
            contexts.push(context);
        }
    }
    contexts
}

/// Title of a context in the help.
pub fn context_title(context: Context) -> &'static str {
    match context {
        Context::Anywhere => "Anywhere",
        Context::Pane(pane) => pane.title(),
        Context::Page(page) => page.title(),
        Context::Overlay => "Help and notices",
        Context::Presets => "Presets",
        Context::Question => "A question",
        Context::Prompt => "Prompts and palette",
        Context::Dialog => "Dialog",
    }
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::{KeyCode, KeyModifiers};

    use super::*;

    fn press(context: Context, code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
        action_for(&KeyMap::default(), context, KeyEvent::new(code, modifiers))
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
                assert_eq!(key.taken_by(), None, "{} {}", entry.name, key.name());
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
    fn every_context_of_the_table_is_listed_once_and_the_wanted_one_first() {
        let first = Context::Pane(Pane::Answer);
        let contexts = contexts(Some(first));
        assert_eq!(contexts[..2], [first, Context::Anywhere]);
        let once: std::collections::HashSet<_> = contexts.iter().collect();
        assert_eq!(once.len(), contexts.len());
        assert!(ACTIONS.iter().all(|entry| contexts.contains(&entry.context)));
    }

    #[test]
    fn a_prompt_takes_nothing_that_can_be_typed_for_a_command() {
        let in_prompt = ACTIONS.iter().filter(|entry| entry.context == Context::Prompt);
        for entry in in_prompt {
            assert!(entry.keys.iter().all(|key| key.typed().is_none()), "{}", entry.name);
        }
    }

    #[test]
    fn the_footer_begins_with_what_is_nearest() {
        let shown: Vec<Context> = hints(Context::Pane(Pane::Sliders)).map(|entry| entry.context).collect();
        let first_general = shown.iter().position(|context| *context == Context::Anywhere).unwrap();
        assert!(
            first_general > 0 && shown[first_general..].iter().all(|context| *context == Context::Anywhere)
        );
    }
}
