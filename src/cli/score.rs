//! `ragscope score`: evidence, one JSON line per record, in order, flushed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueEnum};

use crate::certify::Alpha;
use crate::data::formats::{jsonl::Records, own};
use crate::data::{BadRow, Dataset, DatasetStream, Row};
use crate::evidence::{Evidence, Status};
use crate::inspect::{
    ChunkFilter, Generation, GivenScores, HeadFiles, Inspector, Plan, bind_detectors, is_generated,
    is_generated_without_passage, same_prompt_runs,
};
use crate::model::{GenerationSettings, LanguageModel, ModelLocation};

use super::data_set::{DataArguments, LayoutArguments, Opened};
use super::open::InspectionArguments;
use super::progress::progress_bar;
use super::session::{failure_of, tell_on_standard_error};
use super::signals::{cancel_on_interrupt, cancelled};
use super::thresholds::alpha_of;
use super::{Failure, Outcome, Shared, output};

mod shard;
mod sink;

use shard::Shard;
use sink::{Done, Sink};

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
    /// Score only shard I of N: the rows whose number, from 0, leaves the remainder I - 1 when divided by N
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Continue the output file: whole lines stay, a torn last line is cut off, the rest is scored
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Read neighbours with the same question and passages together: faster, and the last digits may differ
    /// from those of a shard or a stream (the lines say so)
    #[arg(long, conflicts_with_all = ["shard", "resume"])]
    together: bool,
    #[command(flatten)]
    stream: StreamArguments,
    #[command(flatten)]
    generation: GenerationArguments,
}

/// What a stream cannot say of itself, so that its lines fit those of the whole data.
#[derive(Debug, Args)]
struct StreamArguments {
    /// Name of the data that standard input is, or is a part of
    #[arg(long, value_name = "NAME")]
    data_name: Option<String>,
    /// Its hash, as the lines of other parts carry it
    #[arg(long, value_name = "HASH")]
    data_hash: Option<String>,
    /// Row number of the first record of standard input
    #[arg(long, value_name = "ROW", default_value_t = 0)]
    first_row: usize,
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

impl StreamArguments {
    fn named(&self) -> bool {
        self.data_name.is_some() || self.data_hash.is_some() || self.first_row > 0
    }
}

/// Scores a data set or a stream.
pub fn run(shared: &Shared, arguments: &ScoreArguments) -> Outcome {
    let generation = arguments.generation.generation()?;
    let from_input = arguments.data.as_os_str() == "-";
    if !from_input && arguments.stream.named() {
        return Err(Failure::Usage(
            "--data-name, --data-hash and --first-row describe a stream: they go with DATA `-`".to_owned(),
        ));
    }
    if arguments.resume && arguments.output.as_os_str() == "-" {
        return Err(Failure::Usage(
            "--resume continues a file: name it with --output (standard output cannot be read back)"
                .to_owned(),
        ));
    }
    let Parted { mut dataset, streamed, known_scores } = if from_input {
        let name = arguments.stream.data_name.as_deref().unwrap_or("standard input");
        Parted::whole(Dataset::stream(name))
    } else {
        let data = DataArguments { data: arguments.data.clone(), layout: arguments.layout.clone() };
        // Neighbours can be read together, and data calibrate themselves, only where all of them are held.
        let held = arguments.together || arguments.inspection.calibrates_on_server();
        if held {
            Parted::whole(data.open()?)
        } else {
            Parted::open(&data, arguments.inspection.calibrates_itself())?
        }
    };
    if let Some(hash) = &arguments.stream.data_hash {
        dataset.hash.clone_from(hash);
    }
    let plan = Plan { known_scores, ..arguments.inspection.plan(shared, dataset)? };
    let location = ModelLocation::parse(plan.model.as_deref(), &plan.cache).map_err(Failure::model)?;
    let model = LanguageModel::open_on(&location, &plan.cache, plan.placement)
        .map_err(Failure::model)?
        .reading_at_most(plan.context);
    let mut inspector = inspector(&plan, &model, arguments.together)?;
    let (sink, done) = if arguments.resume {
        Sink::resume(&arguments.output, inspector.provenance())?
    } else {
        (Sink::open(&arguments.output, arguments.force)?, Done::default())
    };
    let cancel = cancel_on_interrupt();
    if let Some((settings, filter)) = generation {
        inspector = inspector.with_generation(Generation { settings, filter, cancel: Arc::clone(&cancel) });
    }
    let mut scoring = Scoring { inspector, sink, done, cancel, tally: Tally::default() };
    let ours = |row: usize| arguments.shard.is_none_or(|shard| shard.holds(row));
    let read_on = if from_input {
        scoring.stream(arguments.stream.first_row, &ours)?
    } else if let Some(rows) = &streamed {
        scoring.rows(rows, &ours)?
    } else {
        let rows: Vec<&Row> = plan.dataset.rows.iter().filter(|row| ours(number_of(row))).collect();
        scoring.data_set(&rows, arguments.together)?
    };
    if !read_on {
        return Ok(());
    }
    scoring.done.finish()?;
    scoring.sink.finish()?;
    let tally = &scoring.tally;
    if arguments.resume {
        output::tell(&format!("{} records were there already", scoring.done.len()));
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

/// What is known of the data, and its rows where they are not held with it.
struct Parted {
    dataset: Dataset,
    streamed: Option<DatasetStream>,
    known_scores: Option<GivenScores>,
}

impl Parted {
    fn whole(dataset: Dataset) -> Self {
        Self { dataset, streamed: None, known_scores: None }
    }

    /// `calibrating`: passages with scores are certified by the data itself.
    fn open(data: &DataArguments, calibrating: bool) -> Outcome<Self> {
        let stream = match data.open_rows()? {
            Opened::Whole(dataset) => return Ok(Self::whole(dataset)),
            Opened::Stream(stream) => stream,
        };
        let mut known_scores = None;
        if stream.scored_passages {
            // They are certified over all records, of which the scores are enough: one more pass.
            let mut given = GivenScores::new(calibrating);
            for row in stream.rows().map_err(Failure::input)? {
                if let Row::Example(example) = row.map_err(Failure::input)? {
                    given.add(&example);
                }
            }
            known_scores = Some(given);
        }
        let dataset = Dataset {
            format: stream.format,
            because: stream.because.clone(),
            hash: stream.hash.clone(),
            // Where only the kind of the records counts, one of them stands for all.
            rows: stream.sample.clone(),
            ..Dataset::stream(&stream.name)
        };
        Ok(Self { dataset, streamed: Some(stream), known_scores })
    }
}

fn number_of(row: &Row) -> usize {
    match row {
        Row::Example(example) => example.row,
        Row::Bad(bad) => bad.row,
    }
}

/// A run on its way.
struct Scoring<'m> {
    inspector: Inspector<'m>,
    sink: Sink,
    done: Done,
    cancel: Arc<AtomicBool>,
    tally: Tally,
}

impl Scoring<'_> {
    /// Standard input, whose first record is row `first`; `false` when nobody reads the output any more.
    fn stream(&mut self, first: usize, ours: &dyn Fn(usize) -> bool) -> Outcome<bool> {
        for record in Records::new(io::stdin().lock(), "standard input") {
            let record = record.map_err(Failure::input)?;
            let number = first.saturating_add(record.row);
            if !ours(number) {
                continue;
            }
            let row = match record.content {
                Ok(line) => own::parse_line(&line, number, record.line),
                Err(reason) => Row::Bad(BadRow { row: number, id: None, line: Some(record.line), reason }),
            };
            if !self.done.holds(&row)? && !self.write(&[&row])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rows of a data set that is not held, in order.
    fn rows(&mut self, data: &DatasetStream, ours: &dyn Fn(usize) -> bool) -> Outcome<bool> {
        let bar = progress_bar("records");
        bar.set_length(data.rows as u64);
        for row in data.rows().map_err(Failure::input)? {
            let row = row.map_err(Failure::input)?;
            bar.inc(1);
            if !ours(number_of(&row)) || self.done.holds(&row)? {
                continue;
            }
            let read_on = self.write(&[&row]);
            if !matches!(read_on, Ok(true)) {
                bar.finish_and_clear();
                return read_on;
            }
        }
        bar.finish_and_clear();
        Ok(true)
    }

    /// The rows of a data set, in order.
    fn data_set(&mut self, rows: &[&Row], together: bool) -> Outcome<bool> {
        let mut there = 0;
        while there < rows.len() && self.done.holds(rows[there])? {
            there += 1;
        }
        let rows = &rows[there..];
        let bar = progress_bar("records");
        bar.set_length(rows.len() as u64);
        let runs: Vec<&[&Row]> =
            if together { same_prompt_runs(rows).collect() } else { rows.chunks(1).collect() };
        for run in runs {
            let read_on = self.write(run);
            if !matches!(read_on, Ok(true)) {
                bar.finish_and_clear();
                return read_on;
            }
            bar.inc(run.len() as u64);
        }
        bar.finish_and_clear();
        Ok(true)
    }

    /// Inspects neighbours and writes a line for each.
    fn write(&mut self, rows: &[&Row]) -> Outcome<bool> {
        if cancelled(&self.cancel) {
            return Err(Failure::Interrupted);
        }
        for evidence in self.inspector.inspect_many(rows) {
            // An answer that was being written is no evidence of anything.
            if cancelled(&self.cancel) && evidence.reading.is_none() {
                return Err(Failure::Interrupted);
            }
            if !self.sink.write(&evidence)? {
                return Ok(false);
            }
            self.tally.count(&evidence);
        }
        Ok(true)
    }
}

/// An inspector with model and detectors, for every command that reads without a screen.
pub(super) fn inspector<'m>(plan: &Plan, model: &'m LanguageModel, together: bool) -> Outcome<Inspector<'m>> {
    let heads = HeadFiles::read(&plan.heads).map_err(failure_of)?;
    let (detectors, notice) = bind_detectors(model, &plan.heads, &heads).map_err(failure_of)?;
    if let Some(notice) = notice {
        output::tell(&format!("note: {notice}"));
    }
    let (source, summary) = plan.chunk_source(&mut tell_on_standard_error).map_err(failure_of)?;
    if let Some(corpus) = &source.corpus
        && let Some(notice) = heads.retriever_notice(&corpus.score_kind()).map_err(failure_of)?
    {
        output::tell(&format!("note: {notice}"));
    }
    let mut provenance = plan.provenance(&source, summary.as_ref()).map_err(failure_of)?;
    provenance.model = Some(model.text.facts.name.clone());
    provenance.model_hash = Some(model.text.facts.short_hash().to_owned());
    provenance.head_hash = heads.hash_for(model.text.facts.short_hash()).map_err(failure_of)?;
    if together {
        provenance.settings.insert("answers_of_one_prompt".to_owned(), "read together".to_owned());
    }
    Ok(Inspector::new(source, provenance).with_model(model, detectors))
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
