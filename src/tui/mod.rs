//! The terminal inspector.
//!
//! Event -> [`Action`] -> [`update`] -> [`Effect`]s -> worker -> event; [`view`] draws the [`Model`] and
//! says what stands where. One thread reads the terminal, one the inspection, one writes exports; the
//! screen's thread sleeps until one of them has something to say.
//!
//! | file | holds |
//! |---|---|
//! | `session` | the entry, the loop |
//! | `terminal` | modes of the terminal, taken and given back; panics; signals |
//! | `event`, `action`, `hit` | what came in, the table of commands, what stands where |
//! | `model`, `update` | the state, and all that changes it |
//! | `views`, `widgets`, `theme`, `heat_scale` | the screen |
//! | `marks_writer` | marks of the reader, written as they are made |
//! | `clipboard`, `picture` | copying through the terminal, a screen as SVG |

#![allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "a theme is passed as what it is, however small it is today"
)]

pub mod action;
mod clipboard;
mod event;
mod heat_scale;
mod hit;
mod marks_writer;
mod model;
mod picture;
mod session;
mod terminal;
mod theme;
mod update;
mod views;
mod widgets;

pub use action::{
    Action, Command, DialogKey, ExportKind, Key, KeyMap, KeyMapNote, availability, key_list, key_list_json,
    key_list_markdown, key_list_toml,
};
pub use event::{Event, actions, coalesce};
pub use heat_scale::Scale;
pub use hit::{HitMap, Limits, Target};
pub use marks_writer::KeptMarks;
pub use model::{
    Annotating, AnswerView, AskDialog, AskState, Asked, AttentionCursor, AttentionView, CertificateFigures,
    Certification, CertifiedLevel, Chosen, Compared, Comparison, Curve, CurvePoint, Dialog, DialogItem,
    ExportDialog, ExportField, ExportScope, ExportStage, Figures, Filter, GroupRate, Guarantee, Highlighting,
    Histogram, LineInput, Lock, Model, Overlay, Overview, OverviewList, Page, Pages, Pane, Partner, Passage,
    Phase, Preset, PresetAnswer, PresetFailure, PresetRequest, Rate, Row, Rows, RunState, SecondOpinion,
    Share, Show, SliderEffect, SliderName, Sort, Strip, Subject, Tally, Toast, TokenUnits, Tone, WorstAnswer,
};
pub use picture::svg;
pub use session::{Export, ExportRequest, Outcome, Preferences, PresetStore, Session, TuiError, run};
pub use theme::{Borders, ColourDepth, Palette, Role, Theme, ThemeChoice};
pub use update::{
    Effect, Existing, ExportFailure, ExportOrder, update, why_not_again, why_not_ask, why_not_mark,
};
pub use views::{draw, view};
