//! `ragscope open`: a data set or a run of evidence in the inspector.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::certify::CalibrationArtefact;
use crate::data::Dataset;
use crate::evidence::{beside, is_evidence};
use crate::inspect::{HeadFiles, HeadSource, Plan};

use super::data_set::{LayoutArguments, describe};
use super::models::cache_directory;
use super::retriever::{GivenScoresArguments, RetrieverArguments};
use super::session::{Showing, failure_of, show_plan, show_run};
use super::thresholds::{MovableHighlightingThreshold, ThresholdArguments, shell_word};
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope open`.
#[derive(Debug, Args)]
pub struct OpenArguments {
    /// A data set, or evidence written by `ragscope score`
    #[arg(value_name = "PATH")]
    path: PathBuf,
    #[command(flatten)]
    layout: LayoutArguments,
    #[command(flatten)]
    inspection: InspectionArguments,
    #[command(flatten)]
    thresholds: ThresholdArguments,
    #[command(flatten)]
    highlighting: MovableHighlightingThreshold,
    /// Keep marks of the reader in this file [default: beside the data, under its name with .annotations.jsonl]
    #[arg(long, value_name = "FILE")]
    annotations: Option<PathBuf>,
    /// Linear text instead of the screen, also for screen readers
    #[arg(long)]
    plain: bool,
}

/// Options of every command that inspects a data set.
#[derive(Debug, Clone, Args)]
pub struct InspectionArguments {
    /// Chunks retrieved per question, and read by the model [default: the calibration's K, else 5]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    top_k: Option<u16>,
    /// A calibration written by `ragscope certify` [default: the data set calibrates itself, each half by
    /// the other]
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    #[command(flatten)]
    retriever: RetrieverArguments,
    #[command(flatten)]
    given: GivenScoresArguments,
    /// Tokens of prompt and answer that are read at most; what is cut is told [default: what the model reads].
    /// The memory for keys and values grows with them
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(64..))]
    context: Option<u32>,
}

impl InspectionArguments {
    /// Whether the data are searched for on a server and calibrate themselves: then all of them are needed.
    #[must_use]
    pub fn calibrates_on_server(&self) -> bool {
        self.calibration.is_none() && self.retriever.is_server()
    }

    /// Whether scores that came with the data would calibrate themselves.
    #[must_use]
    pub fn calibrates_itself(&self) -> bool {
        self.calibration.is_none()
    }

    /// A plan for `dataset`.
    pub fn plan(&self, shared: &Shared, dataset: Dataset) -> Outcome<Plan> {
        let calibration = self.calibration.as_deref().map(read_calibration).transpose()?;
        let defaults = Plan::new(dataset, cache_directory()?);
        let calibrated_k = calibration.as_ref().map(|artefact| artefact.source.k);
        Ok(Plan {
            model: shared.model.clone(),
            placement: shared.placement()?,
            heads: head_source(shared),
            top_k: self
                .top_k
                .map(usize::from)
                .or(calibrated_k)
                .or(shared.configuration.count("top_k"))
                .unwrap_or(defaults.top_k),
            retriever: self.retriever.settings(calibration.as_ref())?,
            given_scores: self.given.given_scores.clone(),
            calibration,
            context: self.context.map(|tokens| tokens as usize),
            ..defaults
        })
    }
}

/// Opens whatever the path holds.
pub fn run(shared: &Shared, arguments: &OpenArguments) -> Outcome {
    let path = &arguments.path;
    let shown = crate::text::visible_path(path);
    let own =
        HeadFiles::read(&head_source(shared)).and_then(|files| files.thresholds()).map_err(failure_of)?;
    let defaults = shared.thresholds(&own);
    let mut thresholds = arguments.thresholds.over(&defaults)?;
    let highlighting = arguments.highlighting.read(&mut thresholds)?;
    let showing = Showing {
        title: format!("ragscope on {shown}"),
        command: format!("ragscope open {}", shell_word(&shown)),
        run: std::sync::Arc::default(),
        thresholds,
        highlighting,
        defaults,
        plain: arguments.plain,
        annotations: arguments.annotations.clone().unwrap_or_else(|| beside(path)),
        write_html: false,
    };
    if path.is_file() && is_evidence(&first_line(path)) {
        return show_run(shared, path, &showing);
    }
    let dataset = Dataset::open(path, &arguments.layout.options()?).map_err(Failure::input)?;
    for line in describe(&dataset) {
        output::tell(&line);
    }
    show_plan(shared, arguments.inspection.plan(shared, dataset)?, &showing)
}

/// Heads named on the command line, else the shipped ones.
pub fn head_source(shared: &Shared) -> HeadSource {
    shared.heads.clone().map_or(HeadSource::Shipped, HeadSource::Folder)
}

/// Reads a calibration artefact.
pub fn read_calibration(path: &Path) -> Outcome<CalibrationArtefact> {
    let shown = crate::text::visible_path(path);
    let text = read_settings(path)
        .map_err(|error| Failure::input_message(format!("cannot read the calibration {shown}: {error}")))?;
    CalibrationArtefact::from_json(&text).map_err(Failure::input)
}

/// Text of a file that the user names, which may be a pipe.
pub fn read_settings(path: &Path) -> std::io::Result<String> {
    let bytes = crate::disk::read_at_most(path, crate::disk::LONGEST_SETTINGS)?;
    String::from_utf8(bytes).map_err(std::io::Error::other)
}

/// The first line of a file, or what can be read of it; looked at to tell evidence from data.
fn first_line(path: &Path) -> String {
    const LONGEST: u64 = 64 << 20;
    let mut line = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        let _ = BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut line);
    }
    String::from_utf8_lossy(&line).into_owned()
}
