//! The command line: one file per command.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::certify::Alpha;
use crate::evidence::Thresholds;
use crate::model::{DeviceChoice, NumberType, Placement};
use crate::tui::{Borders, ColourDepth, Scale, ThemeChoice};

mod ask;
mod certify;
mod check;
mod completions;
mod config;
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
mod keys;
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

use config::{Configuration, Value};
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

/// Heading of the options that any command takes: a command's own come first.
const OF_EVERY_COMMAND: &str = "Of every command";

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Shared {
    /// The model that reads: a .gguf file, a Hugging Face directory, or a name of `ragscope models list`
    /// [default: SmolLM2-135M-Instruct from the cache].
    #[arg(long, global = true, help_heading = OF_EVERY_COMMAND, value_name = "PATH")]
    pub model: Option<String>,
    /// Heads trained by `ragscope train` [default: those shipped for the default model].
    #[arg(long, global = true, help_heading = OF_EVERY_COMMAND, value_name = "DIRECTORY")]
    pub heads: Option<PathBuf>,
    /// Where the model computes: auto, cpu, cuda:N or metal; auto takes the first GPU that this build knows and
    /// that answers. `cpu:tensors` computes the GPUs' way on the CPU: slow, only to check that way
    /// [default: auto].
    #[arg(long, global = true, help_heading = OF_EVERY_COMMAND, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Numbers of weights, keys and values: auto (f32), f32, bf16 or f16; half precision on GPUs only
    /// [default: auto].
    #[arg(long, global = true, help_heading = OF_EVERY_COMMAND, value_name = "TYPE")]
    pub dtype: Option<String>,
    /// Theme of the terminal inspector: auto, dark, light, colour-blind (or colour-blind-dark, -light), mono
    /// [default: auto].
    #[arg(long, global = true, help_heading = OF_EVERY_COMMAND, value_name = "THEME")]
    pub theme: Option<String>,
    /// Lines and marks of the terminal inspector: auto, unicode, or ascii where the terminal draws lines
    /// wrongly [default: auto].
    #[arg(long, global = true, help_heading = OF_EVERY_COMMAND, value_name = "BORDERS")]
    pub borders: Option<String>,
    /// Colours of the terminal inspector: auto, true, 256, 16 or none [default: auto].
    #[arg(long, global = true, help_heading = OF_EVERY_COMMAND, value_name = "COLOURS")]
    pub colour: Option<String>,
    /// All layers of the configuration, the command line over the others.
    #[arg(skip)]
    pub configuration: Configuration,
}

impl Shared {
    /// Puts what the options say over file and environment, and what those say under the options.
    fn configure(&mut self) -> Outcome {
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let names: Vec<String> = names.filter(|name| name.starts_with("RAGSCOPE_")).collect();
        let mut configuration = Configuration::load(&|name| std::env::var_os(name), &names)?;
        let heads = self.heads.as_ref().map(|path| path.to_string_lossy().into_owned());
        for (name, value) in [
            ("model", &self.model),
            ("heads", &heads),
            ("device", &self.device),
            ("dtype", &self.dtype),
            ("theme", &self.theme),
            ("borders", &self.borders),
            ("colour", &self.colour),
        ] {
            configuration.say(name, value.clone().map(Value::Text))?;
        }
        self.model = configuration.text("model").map(str::to_owned);
        // What the command line said stays as it is: a path need be no text.
        self.heads = self.heads.take().or_else(|| configuration.text("heads").map(PathBuf::from));
        self.configuration = configuration;
        Ok(())
    }

    /// Where the model goes; what this build can never do is a fault of the command line.
    pub fn placement(&self) -> Outcome<Placement> {
        let placement = Placement {
            device: self.chosen::<DeviceChoice>("device"),
            dtype: self.chosen::<NumberType>("dtype"),
        };
        match placement.check() {
            Ok(()) => Ok(placement),
            Err(error) => Err(Failure::Usage(format!("--device, --dtype: {error}"))),
        }
    }

    /// The theme of the inspector.
    pub fn theme(&self) -> ThemeChoice {
        self.chosen("theme")
    }

    /// Lines and marks of the inspector.
    pub fn borders(&self) -> Borders {
        self.chosen("borders")
    }

    /// Colours of the terminal; `None`: to be found out.
    pub fn depth(&self) -> Option<ColourDepth> {
        self.configuration.text("colour").and_then(|name| ColourDepth::named(name).ok().flatten())
    }

    /// Colours of the heat maps.
    pub fn scale(&self) -> Scale {
        self.chosen("scale")
    }

    /// Thresholds where the command line says nothing: the built-in ones, or those of the configuration.
    pub fn thresholds(&self, built_in: &Thresholds) -> Thresholds {
        let mut thresholds = built_in.clone();
        let number = |name| self.configuration.number(name);
        if let Some(alpha) = number("alpha") {
            thresholds.alpha = Alpha::from_thousandths((alpha * 1000.0).round() as u16);
        }
        thresholds.token = number("token_threshold").unwrap_or(thresholds.token);
        thresholds.rho = number("rho").unwrap_or(thresholds.rho);
        thresholds.factuality = number("factuality").unwrap_or(thresholds.factuality);
        thresholds
    }

    /// A word of the configuration as what it means; every layer has checked it.
    fn chosen<T: std::str::FromStr + Default>(&self, name: &str) -> T {
        self.configuration.text(name).and_then(|word| word.parse().ok()).unwrap_or_default()
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
    /// List, fetch, show or verify models (the only command that downloads)
    Models(models::ModelsArguments),
    /// Print the JSON Schema of evidence, reports or thresholds
    Schema(schema::SchemaArguments),
    /// Print every key of the inspector, or check a key map
    Keys(keys::KeysArguments),
    /// Print the configuration that holds: built in, file, environment, command line
    Config(config::ConfigArguments),
    /// Print the completions of a shell
    Completions(completions::CompletionsArguments),
    /// Print the manual page, or write the pages of all commands
    Man(completions::ManArguments),
    /// Say what is found on this machine: configuration, cache, models, heads, terminal
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
    let CommandLine { mut shared, command } = match CommandLine::try_parse() {
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
    let configured = shared.configure();
    let outcome = match command {
        // It says itself what is wrong with the configuration.
        Some(Command::Doctor(arguments)) => doctor::run(&shared, &configured, &arguments),
        _ if configured.is_err() => configured,
        None => demo::run(&shared),
        Some(Command::Open(arguments)) => open::run(&shared, &arguments),
        Some(Command::Ask(arguments)) => ask::run(&shared, &arguments),
        Some(Command::Certify(arguments)) => certify::run(&shared, &arguments),
        Some(Command::Convert(arguments)) => convert::run(&arguments),
        Some(Command::Highlighting(arguments)) => highlighting::run(&shared, &arguments),
        Some(Command::Corrupt(arguments)) => corrupt::run(&arguments),
        Some(Command::Train(arguments)) => train::run(&shared, &arguments),
        Some(Command::Score(arguments)) => score::run(&shared, &arguments),
        Some(Command::Merge(arguments)) => merge::run(&shared, &arguments),
        Some(Command::Check(arguments)) => check::run(&shared, &arguments),
        Some(Command::Eval(arguments)) => eval::run(&shared, &arguments),
        Some(Command::Lab(arguments)) => lab::run(&shared, &arguments),
        Some(Command::Report(arguments)) => report::run(&shared, &arguments),
        Some(Command::Heads(arguments)) => heads::run(&shared, &arguments),
        Some(Command::Models(arguments)) => models::run(&shared, &arguments),
        Some(Command::Schema(arguments)) => schema::run(&arguments),
        Some(Command::Keys(arguments)) => keys::run(&shared, &arguments),
        Some(Command::Config(arguments)) => config::run(&shared, &arguments),
        Some(Command::Completions(arguments)) => completions::completions(&arguments),
        Some(Command::Man(arguments)) => completions::man(&arguments),
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
