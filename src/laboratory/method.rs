//! What is compared: the features and the classifier of each row.

use serde::Serialize;

use crate::detect::{
    CortexSettings, FeatureBlock, FeatureRows, LogisticRegression, LogisticSettings, Mlp, MlpSettings,
    SparseAutoencoderSettings, Standardisation, TokenModel, layer_name,
};
use crate::reading::StateLayer;

use super::{EvaluationError, FeaturePool, StoreHeader};

/// How token features become a probability.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "classifier", rename_all = "snake_case")]
pub enum TokenClassifier {
    /// CORTEX eq. 7.
    Mlp(MlpSettings),
    /// On features standardised to the training tokens.
    Logistic(LogisticSettings),
    /// The one feature that separates best on the training tokens, as a logistic regression.
    BestColumn(LogisticSettings),
    /// The most telling features of a sparse autoencoder trained on the training tokens (`RAGLens`).
    Dictionary {
        /// The autoencoder.
        autoencoder: SparseAutoencoderSettings,
        /// What reads its features.
        mlp: MlpSettings,
    },
    /// Another classifier on the first principal components of the training tokens.
    PrincipalComponents {
        /// How many.
        components: usize,
        /// What reads them.
        head: Box<TokenClassifier>,
    },
}

impl TokenClassifier {
    /// Trains on the chosen rows; `labels`: one per row of `features`.
    ///
    /// # Errors
    /// Also for a classifier that has no form as a head.
    pub fn train(
        &self,
        features: &FeatureRows<'_>,
        labels: &[bool],
        rows: &[usize],
    ) -> Result<TokenModel, EvaluationError> {
        match self {
            Self::Mlp(settings) => Ok(TokenModel::Mlp(Mlp::train(features, labels, rows, settings)?)),
            Self::Logistic(settings) => {
                let standardisation = Standardisation::fit(features, rows)?;
                let model = LogisticRegression::fit_rows(features, labels, rows, &standardisation, settings)?;
                Ok(TokenModel::Logistic { model, standardisation })
            }
            Self::BestColumn(_) | Self::Dictionary { .. } | Self::PrincipalComponents { .. } => {
                Err(EvaluationError::NoHead)
            }
        }
    }
}

/// One row of the comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum TokenMethod {
    /// What a shortcut would score: which model wrote the answer and where the token stands.
    Control(TokenClassifier),
    /// Negative log-likelihood, untrained.
    NegativeLogLikelihood,
    /// A trained detector.
    Trained {
        /// Name in the table.
        name: String,
        /// Its features.
        blocks: Vec<FeatureBlock>,
        /// Its classifier.
        classifier: TokenClassifier,
    },
    /// Whether the token's word occurs in the passages, untrained.
    LexicalSupport,
    /// The mean of several trained detectors.
    Ensemble {
        /// Name in the table.
        name: String,
        /// Features and classifier of each.
        members: Vec<(Vec<FeatureBlock>, TokenClassifier)>,
        /// Whether the log-odds are multiplied, before smoothing, by the factor that is best on the scores of the other
        /// folds.
        tempered: bool,
    },
    /// Another row, smoothed by the chain that the labels of its own training answers have (stay probabilities inside
    /// and outside a span, prior) instead of the paper's symmetric one, for tokens and for the answer.
    FittedChain {
        /// Name in the table.
        name: String,
        /// What is smoothed.
        of: Box<TokenMethod>,
    },
}

impl TokenMethod {
    /// Name in the table.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Control(_) => "generator + position control",
            Self::NegativeLogLikelihood => "NLL",
            Self::LexicalSupport => "lexical support control",
            Self::Trained { name, .. } | Self::Ensemble { name, .. } | Self::FittedChain { name, .. } => name,
        }
    }

    /// Whether it learns from labels.
    pub(super) const fn is_trained(&self) -> bool {
        !matches!(self, Self::NegativeLogLikelihood | Self::LexicalSupport)
    }

    /// Whether its paper scores an answer by the mean of its tokens, not by the highest.
    pub(super) fn averages(&self) -> bool {
        matches!(self, Self::Trained { classifier: TokenClassifier::BestColumn(_), .. })
    }

    fn trained(name: String, blocks: Vec<FeatureBlock>, classifier: TokenClassifier) -> Self {
        Self::Trained { name, blocks, classifier }
    }

    /// D and [D; c] of CORTEX for one layer, with the perceptron of the paper.
    #[must_use]
    pub fn cortex(layer: StateLayer, mlp: &MlpSettings) -> [Self; 2] {
        [("D", false), ("D + c", true)].map(|(features, with_residual)| {
            let blocks = CortexSettings { layer, with_residual, renormalised: false }.blocks();
            let scaling = if mlp.standardise { "" } else { ", unscaled" };
            let name = format!("{features}, {}{scaling}", layer_name(layer));
            Self::trained(name, blocks, TokenClassifier::Mlp(mlp.clone()))
        })
    }

    /// Control, NLL, D and D + c for every stored layer, the shipped head, and what costs little: attention mass and
    /// look-back ratios with logistic regression, attention mass with likelihoods, and that with D.
    #[must_use]
    pub fn standard(header: &StoreHeader, mlp: &MlpSettings) -> Vec<Self> {
        let mut methods = vec![Self::Control(TokenClassifier::Mlp(mlp.clone())), Self::NegativeLogLikelihood];
        let layers = stored_layers(header);
        for &layer in &layers {
            methods.extend(Self::cortex(layer, mlp));
        }
        let weak = || TokenClassifier::Logistic(LogisticSettings { c: 0.01, ..LogisticSettings::default() });
        let small = || TokenClassifier::Mlp(MlpSettings { seed: mlp.seed, ..MlpSettings::regularised() });
        let (mass, likelihood) = (FeatureBlock::LogChunkMass, FeatureBlock::Likelihood);
        methods.push(Self::trained("log chunk mass, logistic".to_owned(), vec![mass], weak()));
        let ratio = vec![FeatureBlock::ContextRatio];
        methods.push(Self::trained("look-back ratios, logistic".to_owned(), ratio, weak()));
        let name = "log chunk mass + likelihoods".to_owned();
        methods.push(Self::trained(name, vec![mass, likelihood], small()));
        if let Some(&layer) =
            layers.iter().find(|layer| matches!(layer, StateLayer::Block(_))).or(layers.first())
        {
            let blocks = CortexSettings { layer, with_residual: true, renormalised: false }.blocks();
            methods.push(Self::trained(
                format!("D + c, {}, regularised", layer_name(layer)),
                blocks,
                small(),
            ));
            let blocks = vec![FeatureBlock::Difference { layer }, mass, likelihood];
            methods.push(Self::trained(format!("fusion with D, {}", layer_name(layer)), blocks, small()));
        }
        methods.retain(|method| method.blocks().iter().all(|block| header.blocks.contains(block)));
        methods
    }

    /// Every published detector and our own, in the order of the table.
    #[must_use]
    pub fn laboratory(header: &StoreHeader, mlp: &MlpSettings) -> Vec<Self> {
        let layers = stored_layers(header);
        let shape = header.model.shape;
        let middle = StateLayer::Block((shape.layers / 2).max(1));
        let deep = StateLayer::Block((shape.layers * 3 / 4).max(1));
        let paper = || TokenClassifier::Mlp(mlp.clone());
        let small = |seed: u64| TokenClassifier::Mlp(MlpSettings { seed, ..MlpSettings::regularised() });
        let weak = || TokenClassifier::Logistic(LogisticSettings { c: 0.01, ..LogisticSettings::default() });
        let scalars = [FeatureBlock::Likelihood, FeatureBlock::Divergence, FeatureBlock::LexicalSupport];
        let with_scalars = |blocks: &[FeatureBlock]| [blocks, &scalars].concat();
        let (mass, difference) = (FeatureBlock::LogChunkMass, FeatureBlock::Difference { layer: deep });
        let light = with_scalars(&[mass]);
        let fusion = with_scalars(&[difference, mass]);
        let own = |name: &str, blocks: &[FeatureBlock], classifier: TokenClassifier| {
            Self::trained(name.to_owned(), blocks.to_vec(), classifier)
        };
        let mut methods = vec![
            Self::Control(paper()),
            Self::LexicalSupport,
            Self::NegativeLogLikelihood,
            own(
                "LLM-Check, attention, best layer",
                &[FeatureBlock::SelfAttention],
                TokenClassifier::BestColumn(LogisticSettings::default()),
            ),
            own("ICR Probe", &[FeatureBlock::InformationContribution], paper()),
            own("Lookback Lens, per token", &[FeatureBlock::ContextRatio], weak()),
            own("Lookback Lens, windows of 8", &[FeatureBlock::WindowedContextRatio], weak()),
            own("SAPLMA, middle layer", &[FeatureBlock::State { layer: middle }], paper()),
            own("SAPLMA, last layer", &[FeatureBlock::State { layer: StateLayer::FinalNorm }], paper()),
            own(
                "RAGLens, middle layer",
                &[FeatureBlock::State { layer: middle }],
                TokenClassifier::Dictionary {
                    autoencoder: SparseAutoencoderSettings::default(),
                    mlp: mlp.clone(),
                },
            ),
        ];
        for &layer in layers.iter().filter(|layer| **layer != middle) {
            methods.extend(Self::cortex(layer, mlp));
        }
        let residual = FeatureBlock::Residual { layer: deep, renormalised: false };
        methods.extend([
            own(
                &format!("D + c, {}, regularised", layer_name(deep)),
                &[difference, residual],
                small(mlp.seed),
            ),
            own("six scalars", &scalars, paper()),
            own("log chunk mass, logistic", &[mass], weak()),
            own("log chunk mass + six scalars, logistic", &light, weak()),
            own("log chunk mass + six scalars", &light, small(mlp.seed)),
            own("fusion, logistic", &fusion, weak()),
            own("fusion", &fusion, small(mlp.seed)),
            own(
                "fusion of two layers",
                &[&[FeatureBlock::Difference { layer: middle }], &fusion[..]].concat(),
                small(mlp.seed),
            ),
        ]);
        let seeds = || (0..4).map(|number| mlp.seed + number);
        let of_fusion: Vec<_> = seeds().map(|seed| (fusion.clone(), small(seed))).collect();
        let of_light = seeds().map(|seed| (light.clone(), small(seed)));
        let both: Vec<_> = of_fusion.iter().cloned().chain(of_light).collect();
        let ensemble =
            |name: &str, members, tempered| Self::Ensemble { name: name.to_owned(), members, tempered };
        methods.push(ensemble("fusion, four seeds", of_fusion, false));
        methods.push(ensemble("fusion and light, four seeds each", both.clone(), false));
        methods.push(ensemble("fusion and light, tempered", both, true));
        methods.retain(|method| method.blocks().iter().all(|block| header.blocks.contains(block)));
        methods
    }

    /// [`Self::standard`], and for every layer D and D + c on unscaled features and the state alone (SAPLMA).
    #[must_use]
    pub fn thorough(header: &StoreHeader, mlp: &MlpSettings) -> Vec<Self> {
        let mut methods = Self::standard(header, mlp);
        let unscaled = MlpSettings { standardise: false, ..mlp.clone() };
        for layer in stored_layers(header) {
            methods.extend(Self::cortex(layer, &unscaled));
            let name = format!("state (SAPLMA), {}", layer_name(layer));
            let blocks = vec![FeatureBlock::State { layer }];
            methods.push(Self::trained(name, blocks, TokenClassifier::Mlp(mlp.clone())));
        }
        methods.retain(|method| method.blocks().iter().all(|block| header.blocks.contains(block)));
        methods
    }

    /// The stored blocks it reads.
    pub(super) fn blocks(&self) -> Vec<FeatureBlock> {
        match self {
            Self::Trained { blocks, .. } => blocks.clone(),
            Self::Ensemble { members, .. } => members.iter().flat_map(|member| member.0.clone()).collect(),
            Self::FittedChain { of, .. } => of.blocks(),
            Self::NegativeLogLikelihood => vec![FeatureBlock::Likelihood],
            Self::LexicalSupport => vec![FeatureBlock::LexicalSupport],
            Self::Control(_) => Vec::new(),
        }
    }
}

fn stored_layers(header: &StoreHeader) -> Vec<StateLayer> {
    let mut layers = Vec::new();
    for block in &header.blocks {
        if let FeatureBlock::Difference { layer } = *block {
            layers.push(layer);
        }
    }
    layers
}

/// Features of the control, [tokens, width], and width: one-hot generator, then position t, ln(1 + t), t / T; and the
/// generators in the order of their columns.
pub(super) fn control_features(pool: &FeaturePool<'_>) -> (Vec<f32>, usize, Vec<Option<String>>) {
    let answers = pool.answers();
    let mut generators: Vec<Option<&str>> =
        answers.iter().map(|answer| answer.labelled.generator.as_deref()).collect();
    generators.sort_unstable();
    generators.dedup();
    let width = generators.len() + 3;
    let mut values = Vec::with_capacity(pool.token_count() * width);
    for answer in answers {
        let own = generators.binary_search(&answer.labelled.generator.as_deref()).unwrap_or(0);
        let tokens = answer.token_ranges.len();
        for token in 0..tokens {
            values.extend((0..generators.len()).map(|other| f32::from(u8::from(other == own))));
            values.extend([token as f32, (token as f32).ln_1p(), token as f32 / tokens as f32]);
        }
    }
    let generators = generators.into_iter().map(|generator| generator.map(str::to_owned)).collect();
    (values, width, generators)
}
