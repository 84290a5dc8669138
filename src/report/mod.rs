//! What is handed to people who were not there: evidence and thresholds as one web page, Markdown,
//! JSON or plain text.
//!
//! [`Report`] takes every decision once; the four faces only show it. Nothing here touches a file:
//! they return strings. All text of data sets is treated as hostile: characters that act on a terminal
//! or on the order of text are shown as symbols, and each face escapes for its own medium.
//!
//! | face | for |
//! |---|---|
//! | [`html`] | one self-contained page to file, mail and print |
//! | [`markdown`] | issues, notebooks, reviews |
//! | [`json`] | other programs; see [`Report`] for the layout |
//! | [`exports`] | files that other tools read: tables, annotations, code scanning |
//! | [`plain`] | terminals without a screen, and screen readers |
//!
//! [`verify`] holds a written page, Markdown or JSON against the evidence again.

mod context;
mod excerpt;
pub mod exports;
mod html;
mod json;
mod markdown;
mod marking;
mod number;
mod plain;
mod provenance;
mod record;
mod sentence;
mod statement;
mod summary;
pub mod verify;

pub use context::{CertificateFacts, Context, HighlightingFacts, RunFacts};
pub use html::html;
pub use json::json;
pub use markdown::markdown;
pub use plain::plain;
pub use provenance::ProvenanceField;
pub use record::{ChunkReport, ExampleReport, REPORT_SCHEMA, Report, SpanReport};
pub use summary::{Agreement, Summary};
