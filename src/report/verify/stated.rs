//! What a written report states.

use serde_json::Value;

use crate::evidence::Thresholds;
use crate::text::quoted;

use super::super::context::Context;
use super::super::record::REPORT_SCHEMA;
use super::super::statement::{COMMENT_BEGINS, COMMENT_ENDS, Statement};

/// Which face of a report a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Html,
    Markdown,
    Json,
}

/// What a report states for programs.
#[derive(Debug, Clone, PartialEq)]
pub struct Stated {
    pub face: Face,
    pub thresholds: Thresholds,
    pub context: Context,
}

/// Why a file cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It is none of the three faces that state what they were made with.
    #[error(
        "expected a report of `ragscope report --format html`, `markdown` or `json`, found {found}; other faces do \
         not state what they were made with",
        found = quoted(.found)
    )]
    NoReport {
        /// What came.
        found: String,
    },
    /// The statement cannot be read.
    #[error("the report's own statement of its thresholds cannot be read: {problem}", problem = quoted(.problem))]
    Statement {
        /// What is wrong with it.
        problem: String,
    },
    /// Written in another layout.
    #[error(
        "the report has the layout {found:?}, this ragscope reads {REPORT_SCHEMA:?}; verify it with the version \
         that it names",
        found = quoted(.found)
    )]
    Schema {
        /// Its layout.
        found: String,
    },
}

impl Stated {
    /// Reads the statement of a report.
    ///
    /// # Errors
    /// It is no report, one that states nothing, or one of another layout.
    pub fn read(report: &str) -> Result<Self, VerifyError> {
        let start = report.trim_start();
        let (face, statement) = if start.starts_with('{') {
            (Face::Json, json(report)?)
        } else if start.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("<!doctype")) {
            (Face::Html, html(report)?)
        } else {
            (Face::Markdown, markdown(report)?)
        };
        if statement.schema != REPORT_SCHEMA {
            return Err(VerifyError::Schema { found: statement.schema.to_string() });
        }
        Ok(Self {
            face,
            thresholds: statement.thresholds.into_owned(),
            context: statement.context.into_owned(),
        })
    }
}

fn json(report: &str) -> Result<Statement<'static>, VerifyError> {
    let mut value: Value = serde_json::from_str(report)
        .map_err(|error| VerifyError::NoReport { found: format!("text that is no JSON: {error}") })?;
    let fields = value.as_object_mut().filter(|fields| fields.contains_key("examples"));
    let Some(fields) = fields else {
        return Err(VerifyError::NoReport { found: "JSON without the field `examples`".to_owned() });
    };
    fields.retain(|name, _| ["schema", "thresholds", "context"].contains(&name.as_str()));
    statement(value)
}

fn html(report: &str) -> Result<Statement<'static>, VerifyError> {
    let none = || VerifyError::NoReport { found: "a page without the data of a report".to_owned() };
    let data = page_data(report).ok_or_else(none)?;
    let mut data: Value =
        serde_json::from_str(data).map_err(|error| VerifyError::Statement { problem: error.to_string() })?;
    statement(data.get_mut("statement").map(Value::take).ok_or_else(none)?)
}

fn markdown(report: &str) -> Result<Statement<'static>, VerifyError> {
    // The last one: what stands before it may be text of the data.
    let text = report
        .rsplit_once(COMMENT_BEGINS)
        .and_then(|(_, rest)| rest.split_once(COMMENT_ENDS))
        .map(|(text, _)| text)
        .ok_or_else(|| VerifyError::NoReport {
            found: "text without the statement of a report".to_owned(),
        })?;
    statement(
        serde_json::from_str(text).map_err(|error| VerifyError::Statement { problem: error.to_string() })?,
    )
}

fn statement(value: Value) -> Result<Statement<'static>, VerifyError> {
    serde_json::from_value(value).map_err(|error| VerifyError::Statement { problem: error.to_string() })
}

/// The data block of a page.
pub(super) fn page_data(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once(DATA_BEGINS)?;
    Some(rest.split_once("</script>")?.0)
}

/// Begins the data block of a page; data text cannot hold it, because every `<` of it is escaped.
pub(super) const DATA_BEGINS: &str = "<script type=\"application/json\" id=\"evidence\">";
