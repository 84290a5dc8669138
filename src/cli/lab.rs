//! `ragscope lab`: every detector of the papers and our own, compared fairly on one data set.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use crate::detect::MlpSettings;
use crate::inspect::evaluation::{EvaluationReport, EvaluationSettings, ScoreCache, evaluate};

use super::data_set::DataArguments;
use super::features::{FeatureArguments, Features};
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope lab`.
#[derive(Debug, Args)]
pub struct LabArguments {
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
    /// Only the rows whose name contains one of these (names have commas: a semicolon divides them)
    #[arg(long, value_name = "NAME;...", value_delimiter = ';')]
    methods: Vec<String>,
    /// Folder for lab.json, tables.md and the pictures of curves
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Replace what is in the folder
    #[arg(long)]
    force: bool,
}

/// Extracts features (once), trains every detector by grouped cross-validation (each once; an interrupted run goes on),
/// prints and writes the tables.
pub fn run(shared: &Shared, arguments: &LabArguments) -> Outcome {
    let features = super::features::extract(shared, &arguments.data, &arguments.features)?;
    let folds = features.folds(arguments.folds, arguments.seed);
    let Features { store, .. } = features;
    let mlp = MlpSettings { seed: arguments.seed, ..MlpSettings::default() };
    let mut settings = EvaluationSettings::laboratory(store.header(), &mlp);
    settings.seed = arguments.seed;
    if !arguments.methods.is_empty() {
        let wanted = |name: &str| arguments.methods.iter().any(|part| name.contains(part.as_str()));
        settings.methods.retain(|method| wanted(method.name()));
        if settings.methods.is_empty() {
            return Err(Failure::Usage("--methods names no row of the laboratory".to_owned()));
        }
    }
    let mut cache = ScoreCache::on_disk(&store.folder().join("scores"));
    let started = Instant::now();
    let report = evaluate(&store, &folds, &settings, &mut cache, &mut |step| {
        output::tell(&format!("{:>5.0} s  {step}", started.elapsed().as_secs_f64()));
    })
    .map_err(Failure::input)?;
    output::tell(&format!("compared in {:.0} s", started.elapsed().as_secs_f64()));
    if let Some(folder) = &arguments.output {
        output::make_folder(folder)?;
        for (name, content) in files(&report)? {
            output::write_new(&folder.join(name), content.as_bytes(), arguments.force)?;
        }
        output::tell_written(folder);
    }
    output::print(&report.to_text())
}

fn files(report: &EvaluationReport) -> Outcome<Vec<(String, String)>> {
    let json = serde_json::to_string_pretty(report).map_err(Failure::input)? + "\n";
    let mut files = vec![("lab.json".to_owned(), json), ("tables.md".to_owned(), report.to_markdown())];
    files.extend(report.curves.iter().cloned());
    Ok(files)
}
