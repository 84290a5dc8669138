//! Whether a written report says what the evidence says.
//!
//! A report states its thresholds and what it says of itself. From these and the evidence it is made again
//! and compared: JSON value by value, a page and Markdown line by line. So a changed verdict, number or
//! word is found wherever it stands, in what people read as well as in what programs read.

mod lines;
mod stated;
mod values;

use crate::evidence::Evidence;
use crate::text::visible_line;

use super::context::Context;
use super::excerpt::short;

pub use stated::{Face, Stated, VerifyError};

/// Characters of a value that a difference shows.
const SHOWN: usize = 120;

/// One place where the report says something else than the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// For example `examples[3] (id q4).spans[0].end`, or `line 120, in example 4`.
    pub place: String,
    /// What the report says there; `None`: nothing.
    pub stated: Option<String>,
    /// What follows from the evidence; `None`: nothing.
    pub found: Option<String>,
}

impl Difference {
    /// Both values shortened and made visible.
    #[must_use]
    pub fn new(place: &str, stated: Option<&str>, found: Option<&str>) -> Self {
        let shown = |text: &str| short(&visible_line(text), SHOWN).into_owned();
        Self { place: visible_line(place).into_owned(), stated: stated.map(shown), found: found.map(shown) }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(
            f,
            "{}: the report says {}, the evidence gives {}",
            self.place,
            shown(&self.stated),
            shown(&self.found)
        )
    }
}

/// Every place where `report`, whose statement is `stated`, differs from what `evidence` gives under the
/// stated thresholds and `expected`, in order. Empty: they match.
#[must_use]
pub fn differences(
    report: &str,
    stated: &Stated,
    evidence: &[Evidence],
    expected: &Context,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let thresholds = &stated.thresholds;
    if stated.face == Face::Json {
        values::compare_text("", report, &super::json(evidence, thresholds, expected), &mut found);
        return found;
    }
    let json = |context: &Context| serde_json::to_string(context).unwrap_or_default();
    values::compare_text("context", &json(&stated.context), &json(expected), &mut found);
    // What is said of the evidence was compared by name: the rest is compared as the report itself has it.
    let made = match stated.face {
        Face::Html => super::html(evidence, thresholds, &stated.context),
        _ => super::markdown(evidence, thresholds, &stated.context),
    };
    lines::compare(report, &made, &mut found);
    found
}
