//! The command line: one file per command.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::model::{DeviceChoice, NumberType, Placement};

mod ask;
mod certify;
mod check;
mod completions;
mod convert;
mod corrupt;
mod data_set;
mod demo;
mod doctor;
mod eval;
mod export;
mod failure;
mod features;
mod heads;
mod highlighting;
mod lab;
mod log;
mod merge;
mod models;
mod open;
mod output;
mod progress;
mod report;
mod report_context;
mod retriever;
mod schema;
mod score;
mod session;
mod signals;
mod thresholds;
mod train;

pub use failure::{Failure, Outcome};

/// Inspects retrieval-augmented generation: which chunks can be kept, which answer tokens nothing
/// supports, and what exactly is guaranteed about both. Without a command it opens the sample data.
#[derive(Debug, Parser)]
#[command(name = "ragscope", version, max_term_width = 110)]
struct CommandLine {
    #[command(flatten)]
    shared: Shared,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Shared {
    /// The model that reads: a .gguf file, a Hugging Face directory, or a name of `ragscope models list`
    /// [default: SmolLM2-135M-Instruct from the cache].
    #[arg(long, global = true, value_name = "PATH")]
    pub model: Option<String>,
    /// Heads trained by `ragscope train` [default: those shipped for the default model].
    #[arg(long, global = true, value_name = "DIRECTORY")]
    pub heads: Option<PathBuf>,
    /// Where the model computes: auto, cpu, cuda:N or metal; auto takes the first GPU that this build knows and
    /// that answers. `cpu:tensors` computes the GPUs' way on the CPU: slow, only to check that way.
    #[arg(long, global = true, value_name = "DEVICE", default_value = "auto",
          value_parser = str::parse::<DeviceChoice>)]
    pub device: DeviceChoice,
    /// Numbers of weights, keys and values: auto (f32), f32, bf16 or f16; half precision on GPUs only.
    #[arg(long, global = true, value_name = "TYPE", default_value = "auto",
          value_parser = str::parse::<NumberType>)]
    pub dtype: NumberType,
    /// Colours of the terminal inspector: auto, dark, light, colour-blind (or colour-blind-dark, -light), mono.
    #[arg(long, global = true, value_name = "THEME", default_value = "auto")]
    pub theme: String,
    /// Lines and marks of the terminal inspector: auto, unicode, or ascii where the terminal draws lines wrongly.
    #[arg(long, global = true, value_name = "BORDERS", default_value = "auto")]
    pub borders: String,
}

impl Shared {
    /// Where the model goes; what this build can never do is a fault of the command line.
    pub fn placement(&self) -> Outcome<Placement> {
        let placement = Placement { device: self.device, dtype: self.dtype };
        match placement.check() {
            Ok(()) => Ok(placement),
            Err(error) => Err(Failure::Usage(format!("--device, --dtype: {error}"))),
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Open a data set or a run of evidence in the inspector
    Open(open::OpenArguments),
    /// Ask the documents of a data set a question: retrieve, certify, answer with the model, score
    Ask(ask::AskArguments),
    /// Certify retrieval: calibrate, print m1, m2, coverage, recall and the verdict over alpha
    Certify(certify::CertifyArguments),
    /// Write any data set as ragscope's own JSONL, and say what was tolerated
    Convert(convert::ConvertArguments),
    /// Certify the highlighting: the token threshold that misses at most a share beta of unsupported tokens
    Highlighting(highlighting::HighlightingArguments),
    /// Make labelled answers: clean and corrupted copies of grounded ones, as ragscope's own JSONL
    Corrupt(corrupt::CorruptArguments),
    /// Train the token and answer heads on labelled answers
    Train(train::TrainArguments),
    /// Read answers and write evidence, one JSON line per record, in order
    Score(score::ScoreArguments),
    /// Join shards of a run by row number, and say how its scores rank what is labelled
    Merge(merge::MergeArguments),
    /// Hold a run against limits: exit code 1 where one is not met
    Check(check::CheckArguments),
    /// Compare detectors by grouped cross-validation on labelled answers
    Eval(eval::EvalArguments),
    /// Compare every detector of the papers and our own on labelled answers
    Lab(lab::LabArguments),
    /// Write a report of a run: HTML, Markdown, JSON or plain text
    Report(report::ReportArguments),
    /// List or show trained heads: what they need, how good they are, and whether they fit the model
    Heads(heads::HeadsArguments),
    /// List, fetch, show or verify models (the only command that uses the network)
    Models(models::ModelsArguments),
    /// Print the JSON Schema of evidence, reports or thresholds
    Schema(schema::SchemaArguments),
    /// Print the completions of a shell
    Completions(completions::CompletionsArguments),
    /// Print the manual page, or write the pages of all commands
    Man(completions::ManArguments),
    /// Say what is found on this machine: cache, models, heads, terminal
    Doctor(doctor::DoctorArguments),
}

/// Says why the command line was refused (or prints the help that was asked for). The message quotes
/// arguments, and a shell's `*` may have put hostile file names there.
fn refused(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if crate::text::visible(&text) == text {
        // Nothing in it acts on a terminal: with its colours, where there are some.
        let _ = error.print();
    } else {
        output::tell_lines(&text);
    }
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// Parses the command line, runs the command and gives the exit code.
pub fn main() -> ExitCode {
    if let Err(error) = color_eyre::install() {
        output::tell(&format!("ragscope: {error}"));
    }
    let CommandLine { shared, command } = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => return refused(&error),
    };
    let began = std::time::Instant::now();
    let name = std::env::args_os()
        .skip(1)
        .filter_map(|word| word.into_string().ok())
        .find(|word| CommandLine::command().find_subcommand(word).is_some());
    let name = name.unwrap_or_else(|| "the inspector".to_owned());
    log::told(log::Level::Info, format!("ragscope {} begins: {name}", env!("CARGO_PKG_VERSION")));
    let outcome = match command {
        None => demo::run(&shared),
        Some(Command::Open(arguments)) => open::run(&shared, &arguments),
        Some(Command::Ask(arguments)) => ask::run(&shared, &arguments),
        Some(Command::Certify(arguments)) => certify::run(&shared, &arguments),
        Some(Command::Convert(arguments)) => convert::run(&arguments),
        Some(Command::Highlighting(arguments)) => highlighting::run(&shared, &arguments),
        Some(Command::Corrupt(arguments)) => corrupt::run(&arguments),
        Some(Command::Train(arguments)) => train::run(&shared, &arguments),
        Some(Command::Score(arguments)) => score::run(&shared, &arguments),
        Some(Command::Merge(arguments)) => merge::run(&arguments),
        Some(Command::Check(arguments)) => check::run(&arguments),
        Some(Command::Eval(arguments)) => eval::run(&shared, &arguments),
        Some(Command::Lab(arguments)) => lab::run(&shared, &arguments),
        Some(Command::Report(arguments)) => report::run(&arguments),
        Some(Command::Heads(arguments)) => heads::run(&shared, &arguments),
        Some(Command::Models(arguments)) => models::run(&shared, &arguments),
        Some(Command::Schema(arguments)) => schema::run(&arguments),
        Some(Command::Completions(arguments)) => completions::completions(&arguments),
        Some(Command::Man(arguments)) => completions::man(&arguments),
        Some(Command::Doctor(arguments)) => doctor::run(&shared, &arguments),
    };
    match outcome {
        Ok(()) => {
            log::told(
                log::Level::Info,
                format!("{name} ended well after {} ms", began.elapsed().as_millis()),
            );
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let (level, after) = (failure.level(), began.elapsed().as_millis());
            log::told(level, format!("{name} ended after {after} ms: {}", failure.kind()));
            log::told(log::Level::Debug, failure.message());
            output::tell_lines(&format!("ragscope: {}", failure.message()));
            failure.exit_code()
        }
    }
}
