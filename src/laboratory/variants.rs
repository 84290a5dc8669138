//! Variants of CORTEX, one change at a time: the paper's own switches, and what usually helps where labels are few.

use crate::detect::{CortexSettings, FeatureBlock, LogisticSettings, MlpSettings, layer_name};
use crate::reading::StateLayer;

use super::method::TokenMethod;
use super::{Comparison, EvaluationSettings, StoreHeader, TokenClassifier};

impl TokenMethod {
    /// The recipe of the shipped head: D and c at three quarters of the depth, the regularised perceptron.
    #[must_use]
    pub fn shipped(header: &StoreHeader, mlp: &MlpSettings) -> Self {
        let layer = StoreHeader::default_layers(header.model.shape.layers)[1];
        Self::Trained {
            name: format!("D + c, {}, regularised", layer_name(layer)),
            blocks: CortexSettings { layer, with_residual: true, renormalised: false }.blocks(),
            classifier: small(mlp.seed),
        }
    }

    /// CORTEX as its paper has it (last layer, after the norm), and each of its switches turned by itself: c, the scale
    /// of the features, which attention eq. 5 takes, the layer, the norm. For a store of
    /// [`FeatureSet::CortexSwitches`](super::FeatureSet).
    #[must_use]
    pub fn cortex_switches(header: &StoreHeader, mlp: &MlpSettings) -> Vec<Self> {
        let depth = header.model.shape.layers;
        let [last, deep] = StoreHeader::default_layers(depth);
        let [middle, before_norm] = [depth / 2, depth].map(|block| StateLayer::Block(block.max(1)));
        let renormalised = |layer| {
            let blocks = CortexSettings { layer, with_residual: true, renormalised: true }.blocks();
            trained(&format!("D + c, {}, renormalised", layer_name(layer)), &blocks, paper(mlp))
        };
        let pooled = |layer| {
            let blocks = [FeatureBlock::Difference { layer }, FeatureBlock::PooledResidual { layer }];
            trained(&format!("D + c, {}, attention of all layers", layer_name(layer)), &blocks, paper(mlp))
        };
        let mut methods = Self::cortex(last, mlp).to_vec();
        let [_, unscaled] = Self::cortex(last, &MlpSettings { standardise: false, ..mlp.clone() });
        methods.extend([unscaled, renormalised(last), pooled(last)]);
        let [_, own] = Self::cortex(before_norm, mlp);
        methods.push(own.renamed("D + c, before the final norm"));
        for layer in [deep, middle].into_iter().take(if middle == deep { 1 } else { 2 }) {
            let [_, own] = Self::cortex(layer, mlp);
            methods.push(own);
        }
        methods.extend([renormalised(deep), pooled(deep)]);
        methods.retain(|method| method.blocks().iter().all(|block| header.blocks.contains(block)));
        methods
    }

    /// What usually helps where labels are few, each by itself on the shipped recipe, then the fusion of two layers with
    /// what can be had together: components instead of features, a linear head, stronger regularisation, several seeds,
    /// several layers, the chain that the labels have.
    #[must_use]
    pub fn recipes(header: &StoreHeader, mlp: &MlpSettings) -> Vec<Self> {
        let depth = header.model.shape.layers;
        let [last, deep] = StoreHeader::default_layers(depth);
        let middle = StateLayer::Block((depth / 2).max(1));
        let shipped = Self::shipped(header, mlp);
        let (cortex, name) = (shipped.blocks(), format!("D + c, {}", layer_name(deep)));
        let own = |change: &str, classifier| trained(&format!("{name}, {change}"), &cortex, classifier);
        let linear = TokenClassifier::Logistic(LogisticSettings { c: 0.01, ..LogisticSettings::default() });
        let components = |components, head: &TokenClassifier| TokenClassifier::PrincipalComponents {
            components,
            head: Box::new(head.clone()),
        };
        let regularised = small(mlp.seed);
        let stronger = |change: MlpSettings| TokenClassifier::Mlp(MlpSettings { seed: mlp.seed, ..change });
        let three_layers = [
            &cortex[..],
            &CortexSettings { layer: last, with_residual: true, renormalised: false }.blocks(),
            &[FeatureBlock::Difference { layer: middle }],
        ]
        .concat();
        let fusion = [
            FeatureBlock::Difference { layer: middle },
            FeatureBlock::Difference { layer: deep },
            FeatureBlock::LogChunkMass,
            FeatureBlock::Likelihood,
            FeatureBlock::Divergence,
            FeatureBlock::LexicalSupport,
        ];
        let fused = "fusion of two layers";
        let seeds = |name: &str, blocks: &[FeatureBlock]| Self::Ensemble {
            name: name.to_owned(),
            members: (0..4).map(|more| (blocks.to_vec(), small(mlp.seed + more))).collect(),
            tempered: false,
        };
        let fitted = |of: &Self| Self::FittedChain {
            name: format!("{}, asymmetric chain", of.name()),
            of: Box::new(of.clone()),
        };
        let of_shipped = seeds(&format!("{}, four seeds", shipped.name()), &cortex);
        let of_fusion = seeds(&format!("{fused}, four seeds"), &fusion);
        let mut methods = vec![
            shipped.clone(),
            own("linear head", linear.clone()),
            own("32 components", components(32, &regularised)),
            own("128 components", components(128, &regularised)),
            own("128 components, linear head", components(128, &linear)),
            own(
                "dropout 0.7, 32 and 16 units",
                stronger(MlpSettings { hidden: vec![32, 16], dropout: 0.7, ..MlpSettings::regularised() }),
            ),
            own(
                "weight decay 10",
                stronger(MlpSettings { weight_decay: 10.0, ..MlpSettings::regularised() }),
            ),
            trained("D of three layers + c of two, regularised", &three_layers, regularised.clone()),
            fitted(&shipped),
            of_shipped.clone(),
            fitted(&of_shipped),
            trained(fused, &fusion, regularised.clone()),
            trained(&format!("{fused}, 128 components"), &fusion, components(128, &regularised)),
            of_fusion.clone(),
            fitted(&of_fusion),
        ];
        methods.retain(|method| method.blocks().iter().all(|block| header.blocks.contains(block)));
        methods
    }

    fn renamed(self, name: &str) -> Self {
        match self {
            Self::Trained { blocks, classifier, .. } => {
                Self::Trained { name: name.to_owned(), blocks, classifier }
            }
            other => other,
        }
    }
}

impl EvaluationSettings {
    /// What usually helps where labels are few, each against the shipped recipe.
    #[must_use]
    pub fn recipes(header: &StoreHeader, mlp: &MlpSettings) -> Self {
        let methods = TokenMethod::recipes(header, mlp);
        let shipped = TokenMethod::shipped(header, mlp).name().to_owned();
        let others = methods.iter().map(TokenMethod::name).filter(|name| **name != *shipped);
        let comparisons = others.map(|name| Comparison::smoothed(name, &shipped)).collect();
        Self { methods, comparisons, lookback_rows: false, ..Self::standard(header) }
    }

    /// Every switch of CORTEX against CORTEX as its paper has it.
    #[must_use]
    pub fn cortex_switches(header: &StoreHeader, mlp: &MlpSettings) -> Self {
        let methods = TokenMethod::cortex_switches(header, mlp);
        let [last, deep] = StoreHeader::default_layers(header.model.shape.layers)
            .map(|layer| format!("D + c, {}", layer_name(layer)));
        let names: Vec<String> = methods.iter().map(|method| method.name().to_owned()).collect();
        let at_deep = format!("{deep}, ");
        let comparisons = names
            .iter()
            .filter(|name| **name != last)
            .map(|name| Comparison::smoothed(name, if name.starts_with(&at_deep) { &deep } else { &last }))
            .collect();
        Self { methods, comparisons, lookback_rows: false, ..Self::standard(header) }
    }
}

fn paper(mlp: &MlpSettings) -> TokenClassifier {
    TokenClassifier::Mlp(mlp.clone())
}

fn small(seed: u64) -> TokenClassifier {
    TokenClassifier::Mlp(MlpSettings { seed, ..MlpSettings::regularised() })
}

fn trained(name: &str, blocks: &[FeatureBlock], classifier: TokenClassifier) -> TokenMethod {
    TokenMethod::Trained { name: name.to_owned(), blocks: blocks.to_vec(), classifier }
}
