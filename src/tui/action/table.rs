//! Every command with its keys, where they work and what they do.

mod pages;

use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use super::{Command, Context, Entry, ExportKind, Key};
use crate::tui::model::{Page, Pane};

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
const PRESETS: Context = Context::Presets;
const QUESTION: Context = Context::Question;
const PROMPT: Context = Context::Prompt;

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
pub static ACTIONS: &[Entry] = &joined::<{ PANES.len() + pages::PAGES.len() }>(&[PANES, pages::PAGES]);

/// One table of several, in their order.
const fn joined<const N: usize>(parts: &[&[Entry]]) -> [Entry; N] {
    let mut all = [parts[0][0]; N];
    let (mut part, mut filled) = (0, 0);
    while part < parts.len() {
        let mut at = 0;
        while at < parts[part].len() {
            all[filled] = parts[part][at];
            filled += 1;
            at += 1;
        }
        part += 1;
    }
    assert!(filled == N, "the sizes of the parts add up to the whole");
    all
}

const PANES: &[Entry] = &[
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
    entry(
        EXAMPLES,
        "show",
        Command::Show,
        &[plain('f')],
        Some("flagged/clean"),
        "show all, flagged, clean, or unusable examples",
    ),
    entry(
        EXAMPLES,
        "sort",
        Command::Sort,
        &[plain('s')],
        Some("sort"),
        "file order, worst, most spans, by id",
    ),
    entry(EXAMPLES, "show-group", Command::ShowGroup, &[plain('F')], None, "only the next group of examples"),
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
        "answer-view",
        Command::View,
        &[plain('v')],
        Some("spans table"),
        "the text, or its flagged spans as a table",
    ),
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
        "select-tokens",
        Command::SelectTokens,
        &[plain('v')],
        Some("select"),
        "select tokens from here on, to mark them; again: give it up",
    ),
    entry(
        ANSWER,
        "mark-false-alarm",
        Command::MarkFalseAlarm,
        &[plain('-')],
        Some("wrong flag"),
        "mark the selection, or the flagged span here, as a false alarm",
    ),
    entry(
        ANSWER,
        "mark-missed",
        Command::MarkMissed,
        &[plain('+')],
        Some("missed"),
        "mark the selection, or the word here, as missed",
    ),
    entry(ANSWER, "unmark", Command::Unmark, &[plain('x')], None, "take the mark here away"),
    entry(
        ANSWER,
        "checked",
        Command::Checked,
        &[plain('c')],
        None,
        "the whole answer is checked: what is not marked is right",
    ),
    entry(ANSWER, "undo-mark", Command::UndoMark, &[plain('u')], None, "undo the last mark"),
    entry(ANSWER, "redo-mark", Command::RedoMark, &[plain('U')], None, "make the mark again that was undone"),
    entry(
        ANSWER,
        "answer-open",
        Command::Open,
        &[named(KeyCode::Enter)],
        None,
        "see what the model looked at for this token",
    ),
    entry(
        ATTENTION,
        "attention-view",
        Command::View,
        &[plain('v')],
        Some("grid/tokens/heads"),
        "grid of heads, map of tokens and chunks, or list of heads",
    ),
    entry(
        ATTENTION,
        "layer-down",
        Command::Down,
        DOWN,
        Some("down"),
        "next layer; in the map the next chunk, in the list the next head",
    ),
    entry(ATTENTION, "layer-up", Command::Up, UP, None, "previous layer, chunk or head of the list"),
    entry(
        ATTENTION,
        "head-right",
        Command::Right,
        RIGHT,
        Some("right"),
        "next head; in the map the next token, in the list the next chunk",
    ),
    entry(ATTENTION, "head-left", Command::Left, LEFT, None, "previous head, token or chunk"),
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
        Some("scale"),
        "linear, logarithmic or rank colours",
    ),
    entry(
        ATTENTION,
        "elsewhere",
        Command::Elsewhere,
        &[plain('o')],
        None,
        "show or hide the attention that went to no chunk",
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
    entry(ATTENTION, "layer-first", Command::First, FIRST, None, "first layer, token or head of the list"),
    entry(ATTENTION, "layer-last", Command::Last, LAST, None, "last layer, token or head of the list"),
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
    // Presets, questions, prompts.
    entry(PRESETS, "preset-down", Command::Down, DOWN, None, "next preset"),
    entry(PRESETS, "preset-up", Command::Up, UP, None, "previous preset"),
    entry(PRESETS, "preset-first", Command::First, FIRST, None, "first preset"),
    entry(PRESETS, "preset-last", Command::Last, LAST, None, "last preset"),
    entry(
        PRESETS,
        "preset-use",
        Command::Open,
        &[named(KeyCode::Enter)],
        Some("use"),
        "set the thresholds to this preset's",
    ),
    entry(
        PRESETS,
        "preset-add",
        Command::SavePreset,
        &[plain('s')],
        Some("save present"),
        "save the present thresholds under a name",
    ),
    entry(
        PRESETS,
        "preset-delete",
        Command::DeletePreset,
        &[plain('d'), named(KeyCode::Delete)],
        Some("delete"),
        "delete this preset, after a question",
    ),
    entry(QUESTION, "question-yes", Command::Yes, &[plain('y')], Some("yes"), "yes"),
    entry(
        QUESTION,
        "question-no",
        Command::No,
        &[plain('n'), named(KeyCode::Esc)],
        Some("no"),
        "no: nothing changes",
    ),
    entry(
        PROMPT,
        "prompt-accept",
        Command::Accept,
        &[named(KeyCode::Enter)],
        None,
        "take what was typed or chosen",
    ),
    entry(PROMPT, "prompt-leave", Command::Back, &[named(KeyCode::Esc)], None, "back to what was before"),
    entry(
        PROMPT,
        "prompt-erase",
        Command::Erase,
        &[named(KeyCode::Backspace)],
        None,
        "take the last character away",
    ),
    entry(
        PROMPT,
        "prompt-down",
        Command::Down,
        &[named(KeyCode::Down), control('n')],
        None,
        "next line of what the prompt found",
    ),
    entry(
        PROMPT,
        "prompt-up",
        Command::Up,
        &[named(KeyCode::Up), control('p')],
        None,
        "previous line of what the prompt found",
    ),
    entry(
        PROMPT,
        "prompt-page-down",
        Command::PageDown,
        PAGE_DOWN,
        None,
        "a page down in what the prompt found",
    ),
    entry(PROMPT, "prompt-page-up", Command::PageUp, PAGE_UP, None, "a page up in what the prompt found"),
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
    // Discovery, undo, presets.
    entry(
        ANYWHERE,
        "palette",
        Command::Palette,
        &[plain(':')],
        Some("actions"),
        "find any action by its name and do it",
    ),
    entry(
        ANYWHERE,
        "undo",
        Command::Undo,
        &[plain('u')],
        Some("undo"),
        "take the last change of a threshold back",
    ),
    entry(
        ANYWHERE,
        "redo",
        Command::Redo,
        &[control('r')],
        None,
        "make the change of a threshold again that was taken back",
    ),
    entry(
        ANYWHERE,
        "presets",
        Command::Presets,
        &[plain('p')],
        None,
        "thresholds saved under a name: use, save, delete",
    ),
    entry(
        ANYWHERE,
        "preset-save",
        Command::SavePreset,
        &[plain('P')],
        None,
        "save the present thresholds under a name",
    ),
    // Pages and the lock.
    entry(
        ANYWHERE,
        "overview",
        Command::Page(Page::Overview),
        &[plain('O')],
        Some("overview"),
        "the run: rates, worst answers, passages",
    ),
    entry(
        ANYWHERE,
        "diagnostics",
        Command::Page(Page::Diagnostics),
        &[plain('D')],
        None,
        "whether retriever and data suit certification",
    ),
    entry(
        ANYWHERE,
        "scores",
        Command::Page(Page::Scores),
        &[plain('S')],
        None,
        "how token scores are spread",
    ),
    entry(
        ANYWHERE,
        "compare",
        Command::Page(Page::Comparison),
        &[plain('C')],
        None,
        "two answers, or two detectors, side by side",
    ),
    entry(
        ANYWHERE,
        "mark",
        Command::Mark,
        &[plain('b')],
        None,
        "mark this answer to compare others with it, or unmark it",
    ),
    entry(
        ANYWHERE,
        "lock",
        Command::Lock,
        &[plain(' ')],
        Some("lock"),
        "keep token, chunk and head to compare others with, or let them go",
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
        "marks",
        Command::Marks,
        &[plain('A')],
        None,
        "all marks, and how the flags agree with them",
    ),
    entry(
        ANYWHERE,
        "ask",
        Command::Ask,
        &[plain('a')],
        Some("ask"),
        "ask a question of your own: retrieved, certified, answered and scored here",
    ),
    entry(
        ANYWHERE,
        "answer-again",
        Command::AnswerAgain,
        &[plain('T')],
        None,
        "answer this question once more from trusted passages only, to compare",
    ),
    entry(
        ANYWHERE,
        "export",
        Command::ExportDialog,
        &[plain('e')],
        Some("export"),
        "choose what to export: HTML, Markdown, JSON, CSV, or this screen as SVG",
    ),
    entry(
        ANYWHERE,
        "export-html",
        Command::Export(ExportKind::Html),
        &[plain('E')],
        None,
        "write an HTML report of everything at once, under a free name",
    ),
    entry(
        ANYWHERE,
        "export-json",
        Command::Export(ExportKind::Json),
        &[plain('X')],
        None,
        "write a JSON report of everything at once, under a free name",
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
    entry(ANYWHERE, "suspend", Command::Suspend, &[control('z')], None, "to the shell; `fg` comes back"),
    entry(ANYWHERE, "quit", Command::Quit, &[control('c')], None, "quit at once"),
];
