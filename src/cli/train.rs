//! `ragscope train`: token and answer heads from labelled answers.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::detect::{AnswerFeatures, CortexSettings, FeatureBlock, MlpSettings};
use crate::laboratory::{
    EvaluationSettings, FeaturePool, FeatureSet, StoreHeader, TokenClassifier, train_answer_head,
    train_token_head,
};
use crate::reading::StateLayer;

use super::data_set::DataArguments;
use super::features::{FeatureArguments, Features};
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope train`.
#[derive(Debug, Args)]
pub struct TrainArguments {
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    features: FeatureArguments,
    /// Train on this data set as well; thresholds and figures come from DATA alone; may be given several times
    #[arg(long, value_name = "MORE")]
    also_train: Vec<PathBuf>,
    /// Folder for token.safetensors, answer.safetensors and card.md
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
    /// Layer of the hidden states
    #[arg(long, value_enum, default_value_t = Layer::ThreeQuarters)]
    layer: Layer,
    /// Features of the token head
    #[arg(long, value_enum, default_value_t = CortexFeatures::DifferenceAndResidual)]
    cortex: CortexFeatures,
    /// How the token head is trained
    #[arg(long, value_enum, default_value_t = Perceptron::Regularised)]
    perceptron: Perceptron,
    /// Folds on whose held-out scores the threshold is chosen
    #[arg(long, default_value_t = 5)]
    folds: usize,
    /// Seed of folds and training
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Replace heads that are there already
    #[arg(long)]
    force: bool,
}

/// Layers that can be trained on.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Layer {
    /// After the final norm, as in the paper
    Final,
    /// The block at three quarters of the depth
    ThreeQuarters,
}

/// What CORTEX's perceptron sees.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum CortexFeatures {
    /// D: the difference of the hidden states with and without references
    Difference,
    /// [D; c]: the difference and the contextual residual
    DifferenceAndResidual,
}

/// Settings of the token head's perceptron.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Perceptron {
    /// As in the paper: 256 and 128 units, dropout 0.1, weight decay 1e-4
    Paper,
    /// For hundreds of answers rather than thousands: 64 and 32 units, dropout 0.5, weight decay 0.1
    Regularised,
}

impl Perceptron {
    fn settings(self, seed: u64) -> MlpSettings {
        let settings = match self {
            Self::Paper => MlpSettings::default(),
            Self::Regularised => MlpSettings::regularised(),
        };
        MlpSettings { seed, ..settings }
    }
}

/// C of the look-back regression in the paper (scikit-learn's default). Tuning it by inner cross-validation
/// gave nothing on RAGTruth (AUROC .815 tuned, .822 untuned).
const PAPER_C: f64 = 1.0;

/// Extracts features (once), trains both heads, writes them with their card.
pub fn run(shared: &Shared, arguments: &TrainArguments) -> Outcome {
    let extract = |data: &DataArguments, features: &FeatureArguments| {
        super::features::extract(shared, data, features, FeatureSet::Laboratory)
    };
    let features = extract(&arguments.data, &arguments.features)?;
    let folds = features.folds(arguments.folds, arguments.seed);
    let Features { store, dataset } = features;
    let in_cache = arguments.features.in_cache();
    let others: Vec<Features> = arguments
        .also_train
        .iter()
        .map(|path| extract(&DataArguments::of(path), &in_cache))
        .collect::<Outcome<_>>()?;
    let settings =
        EvaluationSettings { seed: arguments.seed, ..EvaluationSettings::standard(store.header()) };
    let layer = match arguments.layer {
        Layer::Final => StateLayer::FinalNorm,
        Layer::ThreeQuarters => StoreHeader::default_layers(store.header().model.shape.layers)[1],
    };
    let with_residual = matches!(arguments.cortex, CortexFeatures::DifferenceAndResidual);
    let blocks: Vec<FeatureBlock> = CortexSettings { layer, with_residual, renormalised: false }.blocks();
    let mlp = arguments.perceptron.settings(arguments.seed);
    let stores = std::iter::once(&store).chain(others.iter().map(|other| &other.store)).collect();
    let pool = FeaturePool::new(stores).map_err(Failure::input)?;
    let mut progress = |step: &str| output::tell(step);
    let token = train_token_head(
        &pool,
        &folds,
        "cortex",
        &blocks,
        &TokenClassifier::Mlp(mlp),
        &settings,
        &mut progress,
    )
    .map_err(Failure::input)?;
    progress("look-back, full context");
    let answer =
        train_answer_head(&pool, &folds, "lookback", AnswerFeatures::FullContext, Some(PAPER_C), &settings)
            .map_err(Failure::input)?;
    output::make_folder(&arguments.output)?;
    let write =
        |name: &str, bytes: &[u8]| output::write_new(&arguments.output.join(name), bytes, arguments.force);
    write("token.safetensors", &token.to_bytes().map_err(Failure::model)?)?;
    write("answer.safetensors", &answer.to_bytes().map_err(Failure::model)?)?;
    let card = card(
        &dataset.name,
        &token.card().making.training,
        &answer.card().making.training,
        token.card().threshold,
        &blocks,
    );
    write("card.md", card.as_bytes())?;
    output::print(&format!("{}\n\nwritten to {}\n", card, crate::text::visible_path(&arguments.output)))
}

fn card(
    data: &str,
    token: &std::collections::BTreeMap<String, String>,
    answer: &std::collections::BTreeMap<String, String>,
    threshold: f64,
    blocks: &[FeatureBlock],
) -> String {
    let names: Vec<String> = blocks.iter().map(|block| block.name()).collect();
    let table = |rows: &std::collections::BTreeMap<String, String>| {
        rows.iter()
            .map(|(key, value)| format!("| {key} | {} |\n", value.replace('|', "\\|")))
            .collect::<String>()
    };
    format!(
        "# Heads trained on {}\n\n## Token head\n\nFeatures: {}. Threshold {threshold:.4} on smoothed scores, \
         chosen by span F1 on held-out folds.\n\n| setting | value |\n|---|---|\n{}\n## Answer head\n\n\
         Full-context look-back ratios, logistic regression.\n\n| setting | value |\n|---|---|\n{}\n\
         The figures are out-of-fold, grouped by source, on the training data itself; on other data expect \
         less.\n",
        crate::text::visible_line(data),
        names.join(", "),
        table(token),
        table(answer),
    )
}
