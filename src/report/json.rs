//! The report for other programs.

use std::fmt::Write;

use crate::evidence::{Evidence, Thresholds};
use crate::text::visible_char;

use super::context::Context;
use super::record::Report;

/// The report as JSON in the layout of [`Report`], indented, with a line feed at the end.
///
/// Strings are exact. Characters that act on a terminal, on line ends or on the order of text (C0, DEL,
/// C1, U+2028, U+2029, bidirectional controls) are written as `\u` escapes.
#[must_use]
pub fn json(evidence: &[Evidence], thresholds: &Thresholds, context: &Context) -> String {
    let report = Report::new(evidence, thresholds, context);
    // Every map key of the record is a string, so writing into memory cannot fail.
    let written = serde_json::to_string_pretty(&report).unwrap_or_default();
    escape_acting_characters(&written) + "\n"
}

/// Outside strings JSON text holds none of these characters but line feeds, which the indenting made:
/// an escape always lands inside a string.
fn escape_acting_characters(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && visible_char(c).is_some() {
            // All of them lie in the basic plane: one escape of four digits is enough.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}
