//! `ragscope report`: what is handed to those who must sign off.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::evidence::{Thresholds, read_hashed_run};
use crate::inspect::{HeadFiles, HeadSource};
use crate::report::{Report, exports, html, json, markdown, plain};

use super::report_context::{certificate_in, context, run_facts, with_highlighting};
use super::session::failure_of;
use super::thresholds::{HighlightingThreshold, ThresholdArguments, shell_word};
use super::{Failure, Outcome, Shared, output};

mod verify;

/// Options of `ragscope report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Evidence written by `ragscope score`
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value_t = Face::Html)]
    format: Face,
    /// Where to; `-` is standard output [default: ragscope-report and the ending of the format; text to standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Write nothing: make this report (HTML, Markdown or JSON) again from RUN with the thresholds that it
    /// states, and say whether they match; exit code 1 where they do not
    #[arg(long, value_name = "REPORT", conflicts_with_all =
        ["format", "output", "force", "alpha", "token_threshold", "rho", "factuality", "beta"])]
    verify: Option<PathBuf>,
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
    /// One JSON line an example
    Jsonl,
    /// A table that starts no formula
    Csv,
    Parquet,
    /// Annotations of traces for Phoenix and others
    Openinference,
    /// Predictions as `LettuceDetect` writes them
    LettuceDetect,
    /// Results for code scanning
    Sarif,
}

impl Face {
    /// As `--format` takes it.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Reads the run, decides, writes.
pub fn run(shared: &Shared, arguments: &ReportArguments) -> Outcome {
    let run = read_hashed_run(&arguments.run).map_err(Failure::input)?;
    if let Some(notice) = &run.notice {
        output::tell(&format!("note: {notice}"));
    }
    if let Some(report) = &arguments.verify {
        return verify::verify(report, &arguments.run, &run, &arguments.highlighting);
    }
    let evidence = run.evidence;
    let defaults: Thresholds =
        HeadFiles::read(&HeadSource::Shipped).and_then(|files| files.thresholds()).map_err(failure_of)?;
    let mut thresholds = arguments.thresholds.over(&shared.thresholds(&defaults))?;
    let highlighting = arguments.highlighting.apply(&mut thresholds, &evidence)?;
    let shown = crate::text::visible_path(&arguments.run);
    let mut context = context(
        &format!("ragscope report on {shown}"),
        &format!("ragscope report {} --format {}", shell_word(&shown), arguments.format.name()),
        certificate_in(&evidence).as_ref(),
        &thresholds,
    );
    context.run = Some(run_facts(&arguments.run, &run.sha256));
    if let Some(highlighting) = &highlighting {
        context = with_highlighting(context, highlighting, &thresholds);
    }
    let report = || Report::new(&evidence, &thresholds, &context);
    let text = |text: String, ending| Ok::<_, Failure>((text.into_bytes(), Some(ending)));
    let (bytes, ending) = match arguments.format {
        Face::Html => text(html(&evidence, &thresholds, &context), "html")?,
        Face::Markdown => text(markdown(&evidence, &thresholds, &context), "md")?,
        Face::Json => text(json(&evidence, &thresholds, &context), "json")?,
        Face::Text => (plain(&evidence, &thresholds, &context).into_bytes(), None),
        Face::Jsonl => text(exports::jsonl(&report()), "jsonl")?,
        Face::Csv => text(exports::csv(&report()), "csv")?,
        Face::Parquet => (exports::parquet(&report()).map_err(Failure::input)?, Some("parquet")),
        Face::Openinference => text(exports::openinference(&report()), "annotations.jsonl")?,
        Face::LettuceDetect => text(exports::lettuce_detect(&report()), "predictions.json")?,
        Face::Sarif => text(exports::sarif(&report(), &shown), "sarif")?,
    };
    let target = match (&arguments.output, ending) {
        (Some(path), _) if path.as_os_str() == "-" => None,
        (Some(path), _) => Some(path.clone()),
        (None, Some(ending)) => Some(PathBuf::from(format!("ragscope-report.{ending}"))),
        (None, None) => None,
    };
    match target {
        None => output::print_bytes(&bytes),
        Some(path) => {
            output::write_new(&path, &bytes, arguments.force)?;
            output::tell_written(&path);
            Ok(())
        }
    }
}
