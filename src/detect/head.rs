//! Trained token heads: a classifier over feature blocks, bound to one model.

use serde::{Deserialize, Serialize};

use crate::reading::{StateLayer, Trace};

use super::card::{HeadTensor, HeadTensors, Making, read_card, short_hash, write_head};
use super::mlp::Linear;
use super::mlp::gather;
use super::{
    BlockValues, DetectError, FeatureBlock, FeatureRows, LogisticRegression, Mlp, ModelIdentity,
    Standardisation, layers_of,
};

/// What a token head is: everything but its weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenHeadCard {
    /// Always `token`.
    pub kind: String,
    /// Name of the detector, for example `cortex`.
    pub name: String,
    /// The model whose states it reads.
    pub model: ModelIdentity,
    /// Features side by side, in order.
    pub blocks: Vec<FeatureBlock>,
    /// Token threshold on smoothed scores, chosen on held-out folds of the training data.
    pub threshold: f64,
    /// Label persistence that belongs to the threshold.
    pub rho: f64,
    /// Label persistence of the answer score.
    pub rho_answer: f64,
    /// Tool and training data.
    #[serde(flatten)]
    pub making: Making,
}

/// The classifier of a token head.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenModel {
    /// CORTEX eq. 7.
    Mlp(Mlp),
    /// Logistic regression on standardised features.
    Logistic {
        /// Positive = unsupported.
        model: LogisticRegression,
        /// Fitted on the training tokens.
        standardisation: Standardisation,
    },
}

impl TokenModel {
    /// P(unsupported) for the chosen rows, in their order.
    pub fn probabilities(&self, features: &FeatureRows<'_>, rows: &[usize]) -> Result<Vec<f32>, DetectError> {
        features.check_rows(rows)?;
        match self {
            Self::Mlp(mlp) => mlp.probabilities(features, rows),
            Self::Logistic { model, standardisation } => {
                let (expected, found) = (model.coefficients.len(), features.width());
                if expected != found {
                    return Err(DetectError::Mismatch { what: "features per token", expected, found });
                }
                let mut probabilities = Vec::with_capacity(rows.len());
                for rows in rows.chunks(1024) {
                    let values = gather(features, rows, Some(standardisation))?;
                    let probability = |row: &[f32]| model.probability(row) as f32;
                    probabilities.extend(values.chunks_exact(found.max(1)).map(probability));
                }
                Ok(probabilities)
            }
        }
    }
}

/// A trained token head.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenHead {
    card: TokenHeadCard,
    model: TokenModel,
    hash: String,
}

impl TokenHead {
    /// Binds a trained classifier to its card; the number of features must fit the blocks.
    pub fn new(card: TokenHeadCard, model: TokenModel) -> Result<Self, DetectError> {
        let expected = card.blocks.iter().map(|block| block.width(card.model.shape)).sum();
        let found = match &model {
            TokenModel::Mlp(mlp) => mlp.inputs(),
            TokenModel::Logistic { model, .. } => model.coefficients.len(),
        };
        if expected != found {
            return Err(DetectError::Mismatch { what: "features of the head", expected, found });
        }
        let mut head = Self { card, model, hash: String::new() };
        head.hash = short_hash(&head.to_bytes()?);
        Ok(head)
    }

    /// What the head is.
    #[must_use]
    pub const fn card(&self) -> &TokenHeadCard {
        &self.card
    }

    /// The layers whose hidden states a reading must keep for this head.
    #[must_use]
    pub fn layers(&self) -> Vec<StateLayer> {
        layers_of(&self.card.blocks, self.card.model.shape.layers)
    }

    /// First 16 hexadecimal digits of the SHA-256 of its file.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The card of a head file, to see what it is before a model is loaded.
    pub fn card_of(bytes: &[u8]) -> Result<TokenHeadCard, DetectError> {
        let card: TokenHeadCard = read_card(bytes)?;
        if card.kind != "token" {
            let reason = format!("expected a token head, found one of kind `{}`", card.kind);
            return Err(DetectError::BrokenHead { reason });
        }
        Ok(card)
    }

    /// Scores of an answer, `[T]`, in [0, 1], never smoothed.
    pub fn score(&self, trace: &Trace) -> Result<Vec<f32>, DetectError> {
        let shape = self.card.model.shape;
        shape.check(trace)?;
        let tokens = trace.token_ids.len();
        if tokens == 0 {
            return Ok(Vec::new());
        }
        let blocks =
            self.card.blocks.iter().map(|block| block.compute(trace)).collect::<Result<Vec<_>, _>>()?;
        let widths = self.card.blocks.iter().map(|block| block.width(shape));
        let features =
            FeatureRows::new(blocks.iter().map(|values| BlockValues::F32(values)).zip(widths).collect())?;
        self.model.probabilities(&features, &(0..tokens).collect::<Vec<_>>())
    }

    /// The file of the head.
    pub fn to_bytes(&self) -> Result<Vec<u8>, DetectError> {
        let mut tensors = Vec::new();
        let standardisation = match &self.model {
            TokenModel::Mlp(mlp) => {
                for (number, layer) in mlp.layers.iter().enumerate() {
                    let shape = vec![layer.outputs(), layer.inputs()];
                    tensors.push(HeadTensor::f32(format!("layers.{number}.weight"), shape, &layer.weight));
                    let shape = vec![layer.outputs()];
                    tensors.push(HeadTensor::f32(format!("layers.{number}.bias"), shape, &layer.bias));
                }
                mlp.standardisation.as_ref()
            }
            TokenModel::Logistic { model, standardisation } => {
                let width = model.coefficients.len();
                tensors.push(HeadTensor::f64("coefficients", vec![width], &model.coefficients));
                tensors.push(HeadTensor::f64("intercept", vec![1], &[model.intercept]));
                Some(standardisation)
            }
        };
        if let Some(Standardisation { mean, inverse_deviation }) = standardisation {
            tensors.push(HeadTensor::f32("mean", vec![mean.len()], mean));
            tensors.push(HeadTensor::f32("inverse_deviation", vec![mean.len()], inverse_deviation));
        }
        write_head(&self.card, &tensors)
    }

    /// Reads a head for the model in use; a head of another model is refused with what differs.
    pub fn from_bytes(bytes: &[u8], in_use: &ModelIdentity) -> Result<Self, DetectError> {
        let card = Self::card_of(bytes)?;
        card.model.admits(in_use)?;
        let tensors = HeadTensors::read(bytes)?;
        let width: usize = card.blocks.iter().map(|block| block.width(card.model.shape)).sum();
        let standardisation = if tensors.has("mean") {
            let mean = tensors.f32("mean", &[width])?;
            Some(Standardisation { mean, inverse_deviation: tensors.f32("inverse_deviation", &[width])? })
        } else {
            None
        };
        let model = if tensors.has("coefficients") {
            let standardisation = standardisation.ok_or_else(|| DetectError::BrokenHead {
                reason: "a logistic head without the tensor mean".to_owned(),
            })?;
            let coefficients = tensors.f64("coefficients", &[width])?;
            let intercept = tensors.f64("intercept", &[1])?.first().copied().unwrap_or_default();
            let model = LogisticRegression { coefficients, intercept, iterations: 0, gradient_norm: 0.0 };
            TokenModel::Logistic { model, standardisation }
        } else {
            TokenModel::Mlp(Mlp { layers: read_layers(&tensors, width)?, standardisation })
        };
        Ok(Self { card, model, hash: short_hash(bytes) })
    }
}

/// The layers in order, each reading what the one before puts out, the last with one output.
fn read_layers(tensors: &HeadTensors<'_>, mut width: usize) -> Result<Vec<Linear>, DetectError> {
    let mut layers = Vec::new();
    while tensors.has(&format!("layers.{}.weight", layers.len())) {
        let name = format!("layers.{}", layers.len());
        let outputs = tensors.shape(&format!("{name}.bias"))?.first().copied().unwrap_or_default();
        if outputs == 0 {
            return Err(DetectError::BrokenHead { reason: format!("{name} has no outputs") });
        }
        let weight = tensors.f32(&format!("{name}.weight"), &[outputs, width])?;
        layers.push(Linear { weight, bias: tensors.f32(&format!("{name}.bias"), &[outputs])? });
        width = outputs;
    }
    if layers.is_empty() || width != 1 {
        let reason = format!("{} layers, the last with {width} outputs; expected one output", layers.len());
        return Err(DetectError::BrokenHead { reason });
    }
    Ok(layers)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::detect::ModelShape;
    use crate::detect::synthetic::{Planted, trace};
    use crate::detect::{CortexSettings, LogisticSettings, MlpSettings};

    fn identity() -> ModelIdentity {
        let shape = ModelShape { layers: 2, heads: 2, hidden_size: 4 };
        ModelIdentity { name: "tiny".to_owned(), hash: "aa11".to_owned(), shape, text: None }
    }

    fn card(blocks: Vec<FeatureBlock>) -> TokenHeadCard {
        TokenHeadCard {
            kind: "token".to_owned(),
            name: "cortex".to_owned(),
            model: identity(),
            blocks,
            threshold: 0.7,
            rho: 0.993,
            rho_answer: 0.93,
            making: Making::here(BTreeMap::from([("seed".to_owned(), "42".to_owned())])),
        }
    }

    fn example() -> Trace {
        let shifted = (0..40).map(|t| (10..20).contains(&t)).collect();
        trace(&Planted { tokens: 40, shifted, strength: 3.0, ..Planted::default() })
    }

    fn heads() -> Vec<TokenHead> {
        let trace = example();
        let blocks = CortexSettings::default().blocks();
        let values: Vec<Vec<f32>> = blocks.iter().map(|block| block.compute(&trace).unwrap()).collect();
        let features = FeatureRows::new(values.iter().map(|v| (BlockValues::F32(v), 4)).collect()).unwrap();
        let labels: Vec<bool> = (0..40).map(|t| (10..20).contains(&t)).collect();
        let rows: Vec<usize> = (0..40).collect();
        let settings = MlpSettings { hidden: vec![8], epochs: 3, ..MlpSettings::default() };
        let mlp = Mlp::train(&features, &labels, &rows, &settings).unwrap();
        let standardisation = Standardisation::fit(&features, &rows).unwrap();
        let dense = gather(&features, &rows, Some(&standardisation)).unwrap();
        let model = LogisticRegression::fit(&dense, 8, &labels, &LogisticSettings::default()).unwrap();
        vec![
            TokenHead::new(card(blocks.clone()), TokenModel::Mlp(mlp)).unwrap(),
            TokenHead::new(card(blocks), TokenModel::Logistic { model, standardisation }).unwrap(),
        ]
    }

    #[test]
    fn a_head_comes_back_from_its_file_with_the_same_scores_and_hash() {
        for head in heads() {
            let bytes = head.to_bytes().unwrap();
            let back = TokenHead::from_bytes(&bytes, &identity()).unwrap();
            assert_eq!(back.card(), head.card());
            assert_eq!(back.hash(), head.hash());
            assert_eq!(back.hash().len(), 16);
            assert_eq!(back.score(&example()).unwrap(), head.score(&example()).unwrap());
            assert_eq!(back.to_bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn a_head_of_another_model_is_refused_with_what_differs() {
        let bytes = heads()[0].to_bytes().unwrap();
        let other = ModelIdentity { hash: "bb22".to_owned(), ..identity() };
        let message = TokenHead::from_bytes(&bytes, &other).unwrap_err().to_string();
        assert!(message.contains("hash aa11 against bb22"), "{message}");
        let mut other = identity();
        other.shape.hidden_size = 640;
        let message = TokenHead::from_bytes(&bytes, &other).unwrap_err().to_string();
        assert!(message.contains("hidden size 4 against 640"), "{message}");
    }

    #[test]
    fn a_trace_of_another_model_is_refused() {
        let trace = trace(&Planted { layers: 3, ..Planted::default() });
        assert!(matches!(heads()[0].score(&trace), Err(DetectError::OtherShape { .. })));
    }

    #[test]
    fn damaged_bytes_are_refused_without_a_panic() {
        let bytes = heads()[0].to_bytes().unwrap();
        for cut in [0, 1, 7, 8, 40, bytes.len() - 1] {
            assert!(TokenHead::from_bytes(&bytes[..cut], &identity()).is_err());
        }
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        text.truncate(60);
        assert!(TokenHead::from_bytes(text.as_bytes(), &identity()).is_err());
    }

    #[test]
    fn an_empty_answer_has_no_scores() {
        let trace = trace(&Planted { tokens: 0, ..Planted::default() });
        assert_eq!(heads()[0].score(&trace).unwrap(), Vec::<f32>::new());
    }
}
