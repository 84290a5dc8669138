//! `ragscope eval`: detectors compared by grouped cross-validation.

use std::path::PathBuf;

use clap::Args;

use crate::detect::MlpSettings;
use crate::laboratory::{
    EvaluationSettings, FeaturePool, FeatureSet, Protocol, ScoreCache, TokenMethod, evaluate,
};

use super::data_set::DataArguments;
use super::features::{FeatureArguments, Features};
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope eval`.
#[derive(Debug, Args)]
pub struct EvalArguments {
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    features: FeatureArguments,
    /// Folds; answers to one source never straddle them
    #[arg(long, default_value_t = 5)]
    folds: usize,
    /// Seed of folds, training and resampling
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Also the rows without feature scaling and the state alone
    #[arg(long)]
    thorough: bool,
    /// Print JSON instead of tables
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown tables
    #[arg(long)]
    markdown: bool,
    /// Write what is printed to a file as well
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Extracts features (once), cross-validates, prints the tables.
pub fn run(shared: &Shared, arguments: &EvalArguments) -> Outcome {
    let features =
        super::features::extract(shared, &arguments.data, &arguments.features, FeatureSet::default())?;
    let folds = features.folds(arguments.folds, arguments.seed);
    let Features { store, .. } = features;
    let mlp = MlpSettings { seed: arguments.seed, ..MlpSettings::default() };
    let standard = EvaluationSettings::standard(store.header());
    let settings = EvaluationSettings {
        methods: if arguments.thorough {
            TokenMethod::thorough(store.header(), &mlp)
        } else {
            TokenMethod::standard(store.header(), &mlp)
        },
        seed: arguments.seed,
        ..standard
    };
    let pool = FeaturePool::of(&store);
    let protocol = Protocol::cross_validation(&pool, &folds).map_err(Failure::input)?;
    let report =
        evaluate(&pool, &protocol, &settings, &mut ScoreCache::default(), &mut |step| output::tell(step))
            .map_err(Failure::input)?;
    let text = if arguments.json {
        let json = serde_json::to_string_pretty(&report).map_err(Failure::input)?;
        crate::text::escaped_json(&json).into_owned() + "\n"
    } else if arguments.markdown {
        report.to_markdown()
    } else {
        report.to_text()
    };
    if let Some(path) = &arguments.output {
        output::write_new(path, text.as_bytes(), false)?;
    }
    output::print(&text)
}
