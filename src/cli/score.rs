//! `ragscope score`: evidence, one JSON line per record, in order, flushed.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use crate::certify::Alpha;
use crate::data::formats::{jsonl::Records, own};
use crate::data::{BadRow, Dataset, Row};
use crate::evidence::{Evidence, Status, write_line};
use crate::inspect::{
    ChunkFilter, Generation, HeadFiles, Inspector, Plan, bind_detectors, is_generated,
    is_generated_without_passage, same_prompt_runs,
};
use crate::model::{GenerationSettings, LanguageModel, ModelLocation};

use super::data_set::{DataArguments, LayoutArguments};
use super::open::InspectionArguments;
use super::progress::progress_bar;
use super::session::failure_of;
use super::signals::{cancel_on_interrupt, cancelled};
use super::thresholds::alpha_of;
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
    #[command(flatten)]
    generation: GenerationArguments,
}

/// How answers are written where the data has none.
#[derive(Debug, Args)]
struct GenerationArguments {
    /// Let the model write an answer for every record that has none
    #[arg(long)]
    generate: bool,
    /// Tokens of a written answer at most
    #[arg(long, default_value_t = 128, value_name = "TOKENS", requires = "generate")]
    max_new_tokens: usize,
    /// 0 takes the most likely token every time; more draws from the others as well
    #[arg(long, default_value_t = 0.0, requires = "generate")]
    temperature: f64,
    /// Draw from the most likely tokens that reach this probability together
    #[arg(long, value_name = "PROBABILITY", requires = "generate")]
    top_p: Option<f64>,
    /// Draw from this many of the most likely tokens
    #[arg(long, value_name = "TOKENS", requires = "generate")]
    sample_top_k: Option<usize>,
    /// Seed of the draws
    #[arg(long, default_value_t = 42, requires = "generate")]
    seed: u64,
    /// Chunks that an answer is written from
    #[arg(long, value_enum, default_value_t = Filter::All, requires = "generate")]
    filter: Filter,
    /// With --filter trusted: the level at which a chunk is trusted [default: 0.1]
    #[arg(long, value_name = "LEVEL", requires = "generate")]
    alpha: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Filter {
    /// All chunks of the record
    All,
    /// Chunks whose p-value exceeds alpha; where there is none, the prompt says that no passage was found
    Trusted,
}

impl GenerationArguments {
    fn generation(&self) -> Outcome<Option<(GenerationSettings, ChunkFilter)>> {
        if !self.generate {
            return Ok(None);
        }
        let filter = match (self.filter, self.alpha) {
            (Filter::All, None) => ChunkFilter::All,
            (Filter::All, Some(_)) => {
                return Err(Failure::Usage("--alpha goes with --filter trusted".to_owned()));
            }
            (Filter::Trusted, None) => ChunkFilter::Trusted(Alpha::default()),
            (Filter::Trusted, Some(level)) => ChunkFilter::Trusted(alpha_of(level)?),
        };
        let settings = GenerationSettings {
            max_new_tokens: self.max_new_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.sample_top_k,
            seed: self.seed,
        };
        settings.validated().map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(Some((settings, filter)))
    }
}

/// Scores a data set or a stream.
pub fn run(shared: &Shared, arguments: &ScoreArguments) -> Outcome {
    let generation = arguments.generation.generation()?;
    let from_input = arguments.data.as_os_str() == "-";
    let dataset = if from_input {
        Dataset::stream("standard input")
    } else {
        DataArguments { data: arguments.data.clone(), layout: arguments.layout.clone() }.open()?
    };
    let plan = arguments.inspection.plan(shared, dataset)?;
    let location = ModelLocation::parse(plan.model.as_deref(), &plan.cache).map_err(Failure::model)?;
    let model = LanguageModel::open_on(&location, &plan.cache, plan.placement).map_err(Failure::model)?;
    let mut inspector = inspector(&plan, &model)?;
    let mut sink = Sink::open(&arguments.output, arguments.force)?;
    let cancel = cancel_on_interrupt();
    if let Some((settings, filter)) = generation {
        inspector = inspector.with_generation(Generation { settings, filter, cancel: Arc::clone(&cancel) });
    }
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
            let evidence = inspector.inspect(&row);
            // An answer that was being written is no evidence of anything.
            if cancelled(&cancel) && evidence.reading.is_none() {
                return Err(Failure::Interrupted);
            }
            if !sink.write(&evidence)? {
                return Ok(());
            }
            tally.count(&evidence);
        }
    } else {
        let bar = progress_bar("records");
        bar.set_length(plan.dataset.rows.len() as u64);
        for run in same_prompt_runs(&plan.dataset.rows) {
            if cancelled(&cancel) {
                bar.finish_and_clear();
                return Err(Failure::Interrupted);
            }
            for evidence in inspector.inspect_many(run) {
                // An answer that was being written is no evidence of anything.
                if cancelled(&cancel) && evidence.answer.is_none() {
                    bar.finish_and_clear();
                    return Err(Failure::Interrupted);
                }
                if !sink.write(&evidence)? {
                    return Ok(());
                }
                tally.count(&evidence);
                bar.inc(1);
            }
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
    if arguments.generation.generate {
        output::tell(&tally.generated_words());
    }
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

    /// `false` when nobody reads any more (`| head`): a quiet end, not an error.
    fn write(&mut self, evidence: &Evidence) -> Outcome<bool> {
        match write_line(evidence, &mut self.out).and_then(|()| self.out.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::input_message(format!("cannot write evidence: {error}"))),
        }
    }
}

#[derive(Default)]
struct Tally {
    ok: usize,
    partial: usize,
    error: usize,
    generated: usize,
    without_passage: usize,
}

impl Tally {
    fn count(&mut self, evidence: &Evidence) {
        self.generated += usize::from(is_generated(evidence));
        self.without_passage += usize::from(is_generated_without_passage(evidence));
        match evidence.status {
            Status::Ok => self.ok += 1,
            Status::Partial => self.partial += 1,
            Status::Error => self.error += 1,
        }
    }

    fn all(&self) -> usize {
        self.ok + self.partial + self.error
    }

    fn generated_words(&self) -> String {
        format!(
            "{} answers written by the model: {} from chunks, {} without any (none was there, or none trusted)",
            self.generated,
            self.generated - self.without_passage,
            self.without_passage
        )
    }
}
