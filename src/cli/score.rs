//! `ragscope score`: evidence, one JSON line per record, in order, flushed.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::data::formats::{jsonl::Records, own};
use crate::data::{BadRow, Dataset, Row};
use crate::evidence::{Evidence, Status, write_line};
use crate::inspect::{HeadFiles, Inspector, Plan, bind_detectors};
use crate::model::{LanguageModel, ModelLocation};

use super::data_set::{DataArguments, LayoutArguments};
use super::open::InspectionArguments;
use super::progress::progress_bar;
use super::session::failure_of;
use super::signals::{cancel_on_interrupt, cancelled};
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope score`.
#[derive(Debug, Args)]
pub struct ScoreArguments {
    /// A data set; `-` reads ragscope's own JSONL from standard input
    #[arg(value_name = "DATA")]
    data: PathBuf,
    #[command(flatten)]
    layout: LayoutArguments,
    #[command(flatten)]
    inspection: InspectionArguments,
    /// Where evidence goes; `-` is standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,
}

/// Scores a data set or a stream.
pub fn run(shared: &Shared, arguments: &ScoreArguments) -> Outcome {
    let from_input = arguments.data.as_os_str() == "-";
    let dataset = if from_input {
        Dataset::stream("standard input")
    } else {
        DataArguments { data: arguments.data.clone(), layout: arguments.layout.clone() }.open()?
    };
    let plan = arguments.inspection.plan(shared, dataset)?;
    let location = ModelLocation::parse(plan.model.as_deref(), &plan.cache).map_err(Failure::model)?;
    let model = LanguageModel::open(&location, &plan.cache).map_err(Failure::model)?;
    let mut inspector = inspector(&plan, &model)?;
    let mut sink = Sink::open(&arguments.output, arguments.force)?;
    let cancel = cancel_on_interrupt();
    let mut tally = Tally::default();
    if from_input {
        let stdin = io::stdin().lock();
        for record in Records::new(stdin, "standard input") {
            if cancelled(&cancel) {
                return Err(Failure::Interrupted);
            }
            let record = record.map_err(Failure::input)?;
            let row = match record.content {
                Ok(line) => own::parse_line(&line, record.row, record.line),
                Err(reason) => {
                    Row::Bad(BadRow { row: record.row, id: None, line: Some(record.line), reason })
                }
            };
            let Some(status) = sink.write(&inspector.inspect(&row))? else { return Ok(()) };
            tally.count(status);
        }
    } else {
        let bar = progress_bar("records");
        bar.set_length(plan.dataset.rows.len() as u64);
        for row in &plan.dataset.rows {
            if cancelled(&cancel) {
                bar.finish_and_clear();
                return Err(Failure::Interrupted);
            }
            let Some(status) = sink.write(&inspector.inspect(row))? else { return Ok(()) };
            tally.count(status);
            bar.inc(1);
        }
        bar.finish_and_clear();
    }
    output::tell(&format!(
        "{} records: {} ok, {} partial, {} in error",
        tally.all(),
        tally.ok,
        tally.partial,
        tally.error
    ));
    Ok(())
}

fn inspector<'m>(plan: &Plan, model: &'m LanguageModel) -> Outcome<Inspector<'m>> {
    let heads = HeadFiles::read(&plan.heads).map_err(failure_of)?;
    let (detectors, notice) = bind_detectors(model, &plan.heads, &heads).map_err(failure_of)?;
    if let Some(notice) = notice {
        output::tell(&format!("note: {notice}"));
    }
    let (source, summary) = plan.chunk_source().map_err(failure_of)?;
    let mut provenance = plan.provenance(&source, summary.as_ref()).map_err(failure_of)?;
    provenance.model = Some(model.text.facts.name.clone());
    provenance.model_hash = Some(model.text.facts.short_hash().to_owned());
    provenance.head_hash = heads.hash_for(model.text.facts.short_hash()).map_err(failure_of)?;
    Ok(Inspector::new(source, provenance).with_model(model, detectors))
}

/// Where lines go. A file appears under its name only as a whole... line by line: what was flushed is
/// kept when the run is killed.
struct Sink {
    out: Box<dyn Write>,
}

impl Sink {
    fn open(path: &Path, force: bool) -> Outcome<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self { out: Box::new(io::stdout()) });
        }
        let mut options = std::fs::OpenOptions::new();
        options.write(true);
        let opened = if force {
            options.create(true).truncate(true).open(path)
        } else {
            options.create_new(true).open(path)
        };
        match opened {
            Ok(file) => Ok(Self { out: Box::new(file) }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Failure::Usage(format!(
                "{} exists already; choose another name with --output, or say --force to replace it",
                path.display()
            ))),
            Err(error) => Err(Failure::input_message(format!("cannot write {}: {error}", path.display()))),
        }
    }

    /// `None` when nobody reads any more (`| head`): a quiet end, not an error.
    fn write(&mut self, evidence: &Evidence) -> Outcome<Option<Status>> {
        match write_line(evidence, &mut self.out).and_then(|()| self.out.flush()) {
            Ok(()) => Ok(Some(evidence.status)),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
            Err(error) => Err(Failure::input_message(format!("cannot write evidence: {error}"))),
        }
    }
}

#[derive(Default)]
struct Tally {
    ok: usize,
    partial: usize,
    error: usize,
}

impl Tally {
    fn count(&mut self, status: Status) {
        match status {
            Status::Ok => self.ok += 1,
            Status::Partial => self.partial += 1,
            Status::Error => self.error += 1,
        }
    }

    fn all(&self) -> usize {
        self.ok + self.partial + self.error
    }
}
