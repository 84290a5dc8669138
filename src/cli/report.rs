//! `ragscope report`: what is handed to those who must sign off.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::evidence::{Thresholds, read_run};
use crate::inspect::{HeadFiles, HeadSource};
use crate::report::{html, json, markdown, plain};

use super::report_context::{certificate_in, context, with_highlighting};
use super::session::failure_of;
use super::thresholds::{HighlightingThreshold, ThresholdArguments};
use super::{Failure, Outcome, output};

/// Options of `ragscope report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Evidence written by `ragscope score`
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value_t = Face::Html)]
    format: Face,
    /// Where to; `-` is standard output [default: ragscope-report.html, .md, .json; text to standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    thresholds: ThresholdArguments,
    #[command(flatten)]
    highlighting: HighlightingThreshold,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Face {
    Html,
    Markdown,
    Json,
    Text,
}

/// Reads the run, decides, writes.
pub fn run(arguments: &ReportArguments) -> Outcome {
    let (evidence, notice) = read_run(&arguments.run).map_err(Failure::input)?;
    if let Some(notice) = notice {
        output::tell(&format!("note: {notice}"));
    }
    let defaults: Thresholds =
        HeadFiles::read(&HeadSource::Shipped).and_then(|files| files.thresholds()).map_err(failure_of)?;
    let mut thresholds = arguments.thresholds.over(&defaults)?;
    let highlighting = arguments.highlighting.apply(&mut thresholds, &evidence)?;
    let shown = crate::text::visible_path(&arguments.run);
    let mut context = context(
        &format!("ragscope report on {shown}"),
        &format!("ragscope report {shown}"),
        certificate_in(&evidence).as_ref(),
        &thresholds,
    );
    if let Some(highlighting) = &highlighting {
        context = with_highlighting(context, highlighting, &thresholds);
    }
    let (text, ending) = match arguments.format {
        Face::Html => (html(&evidence, &thresholds, &context), Some("html")),
        Face::Markdown => (markdown(&evidence, &thresholds, &context), Some("md")),
        Face::Json => (json(&evidence, &thresholds, &context), Some("json")),
        Face::Text => (plain(&evidence, &thresholds, &context), None),
    };
    let target = match (&arguments.output, ending) {
        (Some(path), _) if path.as_os_str() == "-" => None,
        (Some(path), _) => Some(path.clone()),
        (None, Some(ending)) => Some(PathBuf::from(format!("ragscope-report.{ending}"))),
        (None, None) => None,
    };
    match target {
        None => output::print(&text),
        Some(path) => {
            output::write_new(&path, text.as_bytes(), arguments.force)?;
            output::tell_written(&path);
            Ok(())
        }
    }
}
