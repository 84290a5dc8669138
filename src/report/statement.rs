//! What a page or a Markdown report states for programs: under which thresholds it was decided, and what
//! it says of itself. With the evidence that is enough to make it again.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::evidence::Thresholds;
use crate::text::escaped_json;

use super::context::Context;
use super::record::Report;

/// Thresholds and context, as JSON inside another medium.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement<'r> {
    /// Layout of the report.
    pub schema: Cow<'r, str>,
    pub thresholds: Cow<'r, Thresholds>,
    pub context: Cow<'r, Context>,
}

impl<'r> Statement<'r> {
    /// What `report` states.
    pub fn of(report: &'r Report) -> Self {
        Self {
            schema: Cow::Borrowed(&report.schema),
            thresholds: Cow::Borrowed(&report.thresholds),
            context: Cow::Borrowed(&report.context),
        }
    }
}

/// Begins the comment that closes a Markdown report.
pub const COMMENT_BEGINS: &str = "<!-- ragscope states ";
/// Ends it.
pub const COMMENT_ENDS: &str = " -->";

/// The statement as a comment that Markdown does not show.
pub fn comment(report: &Report) -> String {
    // Every map key of the record is a string, so writing into memory cannot fail.
    let json = serde_json::to_string(&Statement::of(report)).unwrap_or_default();
    format!("{COMMENT_BEGINS}{}{COMMENT_ENDS}\n", inert(&json))
}

/// JSON whose strings can neither end an element or a comment, begin a link, nor act on a terminal. In JSON
/// these characters stand inside strings only.
pub fn inert(json: &str) -> String {
    escaped_json(json)
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace("//", "\\/\\/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_string_ends_what_it_stands_in_and_every_string_comes_back() {
        let hostile = "--> </script> <!-- http://x.example // /// \\/ \u{2028}\u{1b} &lt;";
        let report = Report::new(
            &[],
            &Thresholds::default(),
            &Context { title: hostile.to_owned(), ..Context::default() },
        );
        let comment = comment(&report);
        assert_eq!(comment.matches("-->").count(), 1);
        assert!(!comment.contains("http://") && !comment.contains("</") && !comment.contains('\u{1b}'));
        let json = comment
            .trim_end()
            .strip_prefix(COMMENT_BEGINS)
            .and_then(|rest| rest.strip_suffix(COMMENT_ENDS))
            .unwrap();
        let read: Statement<'_> = serde_json::from_str(json).unwrap();
        assert_eq!(read.context.title, hostile);
        assert_eq!(*read.thresholds, Thresholds::default());
    }
}
