//! The report as one self-contained web page.
//!
//! The page asks for nothing over the network and says so to the browser: its content security policy
//! allows the one style sheet and the one script inside, by hash. Without the script the page is
//! complete; with it the thresholds can be moved and the list filtered.

mod answer;
mod heat;
mod policy;
mod script_data;
mod section;
mod strip;
mod view;

use minijinja::{AutoEscape, Environment};

use crate::evidence::{Evidence, Thresholds};

use super::context::Context;
use super::record::Report;

const TEMPLATE: &str = include_str!("../../../assets/report.html");
const STYLE: &str = include_str!("../../../assets/report.css");
const SCRIPT: &str = include_str!("../../../assets/report.js");

/// Edges of the score bands, shared by the page, its style sheet and its script: band b holds scores from
/// edge b - 1 up to edge b.
const BAND_EDGES: [f64; 4] = [0.25, 0.5, 0.7, 0.9];

/// The report as one HTML file without remote assets.
#[must_use]
pub fn html(evidence: &[Evidence], thresholds: &Thresholds, context: &Context) -> String {
    let report = Report::new(evidence, thresholds, context);
    let page = view::page(&report, evidence);
    render(&page).unwrap_or_else(|error| without_template(&error))
}

fn render(page: &view::Page) -> Result<String, minijinja::Error> {
    let mut templates = Environment::new();
    // Every value is escaped unless the template says `safe`.
    templates.set_auto_escape_callback(|_| AutoEscape::Html);
    templates.set_trim_blocks(true);
    templates.set_lstrip_blocks(true);
    templates.add_template("report", TEMPLATE)?;
    templates.get_template("report")?.render(page)
}

/// The template is part of the program and tested with it; should it fail all the same, the page says so
/// and not nothing.
fn without_template(error: &minijinja::Error) -> String {
    format!(
        "<!doctype html>\n<title>Report not made</title>\n<p>The report could not be made: {}. Please use the \
         Markdown or JSON form.</p>\n",
        escape(&error.to_string())
    )
}

/// Number of the band that `score` lies in, from 0.
fn band(score: f64) -> usize {
    BAND_EDGES.iter().filter(|edge| score >= **edge).count()
}

/// Text for element content and quoted attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_begin_at_their_edges() {
        assert_eq!([0.0, 0.249, 0.25, 0.5, 0.7, 0.9, 1.0].map(band), [0, 0, 1, 2, 3, 4, 4]);
    }

    #[test]
    fn escaped_text_ends_no_element_and_no_attribute() {
        assert_eq!(escape("</p>\"'&"), "&lt;/p&gt;&quot;&#39;&amp;");
    }
}
