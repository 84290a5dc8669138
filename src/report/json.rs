//! The report for other programs.

use crate::evidence::{Evidence, Thresholds};
use crate::text::escaped_json;

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
    escaped_json(&written).into_owned() + "\n"
}
