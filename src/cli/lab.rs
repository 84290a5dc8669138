//! `ragscope lab`: every detector of the papers and our own, compared fairly on one data set, or trained on one and
//! tested on another.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};

use crate::detect::MlpSettings;
use crate::laboratory::{
    EvaluationReport, EvaluationSettings, FeaturePool, FeatureSet, FeatureStore, MoreTraining, Protocol,
    ScoreCache, StoreHeader, evaluate,
};

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
    /// What is compared
    #[arg(long, value_enum, default_value_t = Compared::Detectors)]
    compare: Compared,
    /// Train on all of DATA and judge on this data set; thresholds come from out-of-fold scores of DATA
    #[arg(long, value_name = "OTHER")]
    test: Option<PathBuf>,
    /// Every trained row once more with this data set in all its trainings; may be given several times
    #[arg(long, value_name = "MORE")]
    also_train: Vec<PathBuf>,
    /// Who trains and who is judged
    #[arg(long, value_enum, default_value_t = Splits::Auto, conflicts_with = "test")]
    splits: Splits,
    /// Folds; answers to one source never straddle them
    #[arg(long, default_value_t = 5)]
    folds: usize,
    /// Seed of folds, training and resampling
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Only rows of these names, or whose name contains one of these (names have commas: a semicolon divides them)
    #[arg(long, value_name = "NAME;...", value_delimiter = ';')]
    methods: Vec<String>,
    /// Folder for lab.json, tables.md and the pictures of curves
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Replace what is in the folder
    #[arg(long)]
    force: bool,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Compared {
    /// Every detector of the papers and our own
    Detectors,
    /// What usually helps where labels are few, each against the shipped recipe: principal components, a linear head,
    /// stronger regularisation, seeds, layers, the asymmetric chain
    Recipes,
    /// The switches of CORTEX, one at a time (layer, norm, c, attention of eq. 5, scale); the answers are read once
    /// more for features of their own
    Switches,
}

impl Compared {
    const fn features(self) -> FeatureSet {
        match self {
            Self::Detectors | Self::Recipes => FeatureSet::Laboratory,
            Self::Switches => FeatureSet::CortexSwitches,
        }
    }

    fn settings(self, header: &StoreHeader, mlp: &MlpSettings) -> EvaluationSettings {
        match self {
            Self::Detectors => EvaluationSettings::laboratory(header, mlp),
            Self::Recipes => EvaluationSettings::recipes(header, mlp),
            Self::Switches => EvaluationSettings::cortex_switches(header, mlp),
        }
    }
}

/// How a data set is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Splits {
    /// The data set's own splits where its answers name train, dev and test, else folds
    Auto,
    /// Trained on its train split, chosen on dev, judged on test
    Official,
    /// Cross-validation over all answers
    Folds,
}

/// Extracts features (once), trains every detector (each once; an interrupted run goes on), prints and writes the
/// tables.
pub fn run(shared: &Shared, arguments: &LabArguments) -> Outcome {
    let main =
        super::features::extract(shared, &arguments.data, &arguments.features, arguments.compare.features())?;
    let folds = main.folds(arguments.folds, arguments.seed);
    let features = arguments.features.in_cache();
    let others: Vec<(String, FeatureStore)> = arguments
        .test
        .iter()
        .chain(&arguments.also_train)
        .map(|path| {
            let data = DataArguments::of(path);
            let Features { store, .. } =
                super::features::extract(shared, &data, &features, arguments.compare.features())?;
            Ok((short_name(path), store))
        })
        .collect::<Outcome<_>>()?;
    let stores = std::iter::once(&main.store).chain(others.iter().map(|(_, store)| store)).collect();
    let pool = FeaturePool::new(stores).map_err(Failure::input)?;
    let protocol = protocol(&pool, &folds, arguments).map_err(Failure::input)?;
    output::tell(&protocol.kind().sentence());
    let mlp = MlpSettings { seed: arguments.seed, ..MlpSettings::default() };
    let mut settings = arguments.compare.settings(pool.header(), &mlp);
    settings.seed = arguments.seed;
    settings.only.clone_from(&arguments.methods);
    let first = 1 + usize::from(arguments.test.is_some());
    settings.more_training = more_training(&pool, &others[first - 1..], first);
    if !settings.more_training.is_empty() {
        settings = settings.comparing_training(pool.header());
    }
    let mut cache = ScoreCache::on_disk(&main.store.folder().join("scores"));
    let started = Instant::now();
    let report = evaluate(&pool, &protocol, &settings, &mut cache, &mut |step| {
        output::tell(&format!("{:>5.0} s  {step}", started.elapsed().as_secs_f64()));
    })
    .map_err(Failure::input)?;
    if report.rows.is_empty() && report.lookback.is_empty() && report.skipped.is_empty() {
        return Err(Failure::Usage("--methods names no row of the laboratory".to_owned()));
    }
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

fn protocol(
    pool: &FeaturePool<'_>,
    folds: &[usize],
    arguments: &LabArguments,
) -> Result<Protocol, crate::laboratory::EvaluationError> {
    let official = match arguments.splits {
        Splits::Auto => Protocol::has_official_splits(pool),
        Splits::Official => true,
        Splits::Folds => false,
    };
    if arguments.test.is_some() {
        Protocol::transfer(pool, folds)
    } else if official {
        Protocol::official_splits(pool)
    } else {
        Protocol::cross_validation(pool, folds)
    }
}

/// Each further data set by itself, and all together where there are several. `first`: number of the first one's store.
fn more_training(
    pool: &FeaturePool<'_>,
    others: &[(String, FeatureStore)],
    first: usize,
) -> Vec<MoreTraining> {
    let numbered = others.iter().enumerate().map(|(number, (name, _))| (first + number, name));
    let mut all: Vec<MoreTraining> =
        numbered.clone().map(|(store, name)| MoreTraining::new(pool, name, &[store])).collect();
    if others.len() > 1 {
        let stores: Vec<usize> = numbered.map(|(store, _)| store).collect();
        all.push(MoreTraining::new(pool, "all of these", &stores));
    }
    all
}

/// The name of a file without its ending, or of a folder.
fn short_name(path: &Path) -> String {
    path.file_stem().map_or_else(|| "more".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn files(report: &EvaluationReport) -> Outcome<Vec<(String, String)>> {
    let json = serde_json::to_string_pretty(report).map_err(Failure::input)?;
    let json = crate::text::escaped_json(&json).into_owned() + "\n";
    let mut files = vec![("lab.json".to_owned(), json), ("tables.md".to_owned(), report.to_markdown())];
    files.extend(report.curves.iter().cloned());
    Ok(files)
}
