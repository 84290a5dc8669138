//! The answer head: probability that a whole answer is consistent, from look-back ratios (DRAG block 2).

use serde::{Deserialize, Serialize};

use crate::reading::Trace;

use super::card::{HeadTensor, HeadTensors, Making, read_card, short_hash, write_head};
use super::lookback::{chunk_blocks, mean_chunk_ratios, mean_context_ratios, scale_by_own_range};
use super::{DetectError, LogisticRegression, ModelIdentity, ModelShape};

/// Which look-back ratios an answer head reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ratios", rename_all = "snake_case")]
pub enum AnswerFeatures {
    /// CW: one block of L*H for each chunk in rank order, missing chunks zero; L*H*K values.
    ChunkWise {
        /// K.
        blocks: usize,
    },
    /// FC: the whole prompt as context; L*H values.
    FullContext,
}

impl AnswerFeatures {
    /// Values per answer.
    #[must_use]
    pub const fn width(self, shape: ModelShape) -> usize {
        match self {
            Self::ChunkWise { blocks } => (shape.layers * shape.heads).saturating_mul(blocks),
            Self::FullContext => shape.layers * shape.heads,
        }
    }

    /// Mean ratios of an answer (DRAG eq. 9), padded, not yet scaled.
    pub fn ratios(self, trace: &Trace) -> Result<Vec<f32>, DetectError> {
        match self {
            Self::ChunkWise { blocks } => {
                let chunks = trace.lookback.chunk_tokens.len();
                let mut vector = chunk_blocks(&mean_chunk_ratios(trace)?, chunks, blocks);
                vector.resize(self.width(ModelShape::of(trace)), 0.0);
                Ok(vector)
            }
            Self::FullContext => mean_context_ratios(trace),
        }
    }
}

/// The vector the classifier sees: padded, then scaled to [0, 1] by its own minimum and maximum.
pub fn answer_vector(trace: &Trace, features: AnswerFeatures) -> Result<Vec<f32>, DetectError> {
    let mut vector = features.ratios(trace)?;
    scale_by_own_range(&mut vector);
    Ok(vector)
}

/// What an answer head is: everything but its weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerHeadCard {
    /// Always `answer`.
    pub kind: String,
    /// For example `lookback`.
    pub name: String,
    /// The model whose attention it reads.
    pub model: ModelIdentity,
    /// Its features.
    pub features: AnswerFeatures,
    /// Inverse strength of the penalty it was fitted with.
    pub c: f64,
    /// Tool and training data.
    #[serde(flatten)]
    pub making: Making,
}

/// A trained answer head: logistic regression, positive = consistent.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerHead {
    card: AnswerHeadCard,
    model: LogisticRegression,
    hash: String,
}

impl AnswerHead {
    /// Binds a fitted regression to its card; the number of features must fit.
    pub fn new(card: AnswerHeadCard, model: LogisticRegression) -> Result<Self, DetectError> {
        let (expected, found) = (card.features.width(card.model.shape), model.coefficients.len());
        if expected != found {
            return Err(DetectError::Mismatch { what: "features of the head", expected, found });
        }
        let mut head = Self { card, model, hash: String::new() };
        head.hash = short_hash(&head.to_bytes()?);
        Ok(head)
    }

    /// What the head is.
    #[must_use]
    pub const fn card(&self) -> &AnswerHeadCard {
        &self.card
    }

    /// First 16 hexadecimal digits of the SHA-256 of its file.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The card of a head file, to see what it is before a model is loaded.
    pub fn card_of(bytes: &[u8]) -> Result<AnswerHeadCard, DetectError> {
        let card: AnswerHeadCard = read_card(bytes)?;
        if card.kind != "answer" {
            let reason = format!("expected an answer head, found one of kind `{}`", card.kind);
            return Err(DetectError::BrokenHead { reason });
        }
        Ok(card)
    }

    /// P(answer is consistent).
    pub fn probability(&self, trace: &Trace) -> Result<f64, DetectError> {
        self.card.model.shape.check(trace)?;
        Ok(self.model.probability(&answer_vector(trace, self.card.features)?))
    }

    /// The file of the head.
    pub fn to_bytes(&self) -> Result<Vec<u8>, DetectError> {
        let coefficients = &self.model.coefficients;
        let tensors = [
            HeadTensor::f64("coefficients", vec![coefficients.len()], coefficients),
            HeadTensor::f64("intercept", vec![1], &[self.model.intercept]),
        ];
        write_head(&self.card, &tensors)
    }

    /// Reads a head for the model in use; a head of another model is refused with what differs.
    pub fn from_bytes(bytes: &[u8], in_use: &ModelIdentity) -> Result<Self, DetectError> {
        let card = Self::card_of(bytes)?;
        card.model.admits(in_use)?;
        let tensors = HeadTensors::read(bytes)?;
        let coefficients = tensors.f64("coefficients", &[card.features.width(card.model.shape)])?;
        let intercept = tensors.f64("intercept", &[1])?.first().copied().unwrap_or_default();
        let model = LogisticRegression { coefficients, intercept, iterations: 0, gradient_norm: 0.0 };
        Ok(Self { card, model, hash: short_hash(bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::TokenHead;
    use crate::detect::synthetic::{Planted, trace};

    fn head(features: AnswerFeatures) -> AnswerHead {
        let shape = ModelShape { layers: 2, heads: 2, hidden_size: 4 };
        let model = ModelIdentity { name: "tiny".to_owned(), hash: "aa11".to_owned(), shape, text: None };
        let card = AnswerHeadCard {
            kind: "answer".to_owned(),
            name: "lookback".to_owned(),
            model,
            features,
            c: 1.0,
            making: Making::default(),
        };
        let coefficients = (0..features.width(shape)).map(|i| i as f64 / 7.0 - 0.3).collect();
        let model = LogisticRegression { coefficients, intercept: 0.1, iterations: 1, gradient_norm: 0.0 };
        AnswerHead::new(card, model).unwrap()
    }

    #[test]
    fn both_kinds_come_back_from_their_files() {
        let trace = trace(&Planted { tokens: 12, ..Planted::default() });
        for features in [AnswerFeatures::ChunkWise { blocks: 5 }, AnswerFeatures::FullContext] {
            let head = head(features);
            let back = AnswerHead::from_bytes(&head.to_bytes().unwrap(), &head.card().model).unwrap();
            assert_eq!(back.hash(), head.hash());
            let probability = back.probability(&trace).unwrap();
            assert_eq!(probability, head.probability(&trace).unwrap());
            assert!((0.0..=1.0).contains(&probability));
        }
    }

    #[test]
    fn the_vector_is_padded_to_k_blocks_and_scaled_to_its_own_range() {
        let trace = trace(&Planted { tokens: 12, ..Planted::default() });
        let vector = answer_vector(&trace, AnswerFeatures::ChunkWise { blocks: 5 }).unwrap();
        assert_eq!(vector.len(), 2 * 2 * 5);
        assert!(vector[8..].iter().all(|&value| value == 0.0), "three missing chunks");
        assert_eq!(vector.iter().copied().fold(0.0, f32::max), 1.0);
        let without = Planted { tokens: 3, chunks: 0, ..Planted::default() };
        let vector =
            answer_vector(&super::super::synthetic::trace(&without), AnswerFeatures::ChunkWise { blocks: 2 });
        assert_eq!(vector.unwrap(), [0.0; 8], "no chunk at all");
    }

    #[test]
    fn a_head_of_another_kind_is_refused() {
        let bytes = head(AnswerFeatures::FullContext).to_bytes().unwrap();
        let card = AnswerHead::card_of(&bytes).unwrap();
        assert!(TokenHead::from_bytes(&bytes, &card.model).is_err());
        let mut other = card.model;
        other.shape.heads = 9;
        let message = AnswerHead::from_bytes(&bytes, &other).unwrap_err().to_string();
        assert!(message.contains("heads 2 against 9"), "{message}");
    }
}
