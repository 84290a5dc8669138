//! The detectors of a run: shipped heads, or heads trained by the user.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::detect::{
    AnswerHead, AnswerHeadCard, DetectError, Detector, ModelIdentity, NegativeLogLikelihood, TokenHead,
    TokenHeadCard, signals_of,
};
use crate::evidence::Thresholds;
use crate::model::StateLayer;
use crate::reading::KeptSignals;

use super::InspectError;
use super::corpus::ScoreKind;
use crate::disk::read_regular;
use crate::text::hexadecimal;

/// Most bytes of a head: one over all layers of a large model has some 30 MB.
const LARGEST_HEAD: u64 = 512 << 20;

const SHIPPED_TOKEN_HEAD: &[u8] =
    include_bytes!("../../assets/heads/smollm2-135m-instruct/token.safetensors");
const SHIPPED_ANSWER_HEAD: &[u8] =
    include_bytes!("../../assets/heads/smollm2-135m-instruct/answer.safetensors");

/// Name of the heads inside the program.
pub const SHIPPED_HEADS: &str = "smollm2-135m-instruct";

/// Where heads come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HeadSource {
    /// Those inside the program, for the default model.
    #[default]
    Shipped,
    /// A folder written by `ragscope train`.
    Folder(std::path::PathBuf),
}

/// The bytes of both heads, before it is known whether they fit the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadFiles {
    token: Vec<u8>,
    answer: Vec<u8>,
}

impl HeadFiles {
    /// Reads both heads.
    pub fn read(source: &HeadSource) -> Result<Self, InspectError> {
        let HeadSource::Folder(folder) = source else {
            return Ok(Self { token: SHIPPED_TOKEN_HEAD.to_vec(), answer: SHIPPED_ANSWER_HEAD.to_vec() });
        };
        Ok(Self {
            token: read(&folder.join("token.safetensors"))?,
            answer: read(&folder.join("answer.safetensors"))?,
        })
    }

    /// Names both heads in every line of evidence.
    #[must_use]
    pub fn hash(&self) -> String {
        let digest = Sha256::new().chain_update(&self.token).chain_update(&self.answer).finalize();
        hexadecimal(&digest[..8])
    }

    /// The hash, where the heads were trained on the model with this (short) hash; a model without heads of
    /// its own is read with the baseline, and its evidence names no head.
    pub fn hash_for(&self, model_hash: &str) -> Result<Option<String>, InspectError> {
        Ok((self.card()?.model.hash == model_hash).then(|| self.hash()))
    }

    /// What the token head is, whether or not it fits a model at hand.
    pub fn card(&self) -> Result<TokenHeadCard, InspectError> {
        Ok(TokenHead::card_of(&self.token)?)
    }

    /// What the answer head is.
    pub fn answer_card(&self) -> Result<AnswerHeadCard, InspectError> {
        Ok(AnswerHead::card_of(&self.answer)?)
    }

    /// Whether both heads are whole and made for `model`; the reason where they are not.
    pub fn fit(&self, model: &ModelIdentity) -> Result<(), InspectError> {
        Detectors::bind(self, model)?;
        Ok(())
    }

    /// What the user should know where the heads were trained on answers read with chunks of one retriever, and `kind`
    /// is another.
    pub fn retriever_notice(&self, kind: &ScoreKind) -> Result<Option<String>, InspectError> {
        let training = self.card()?.making.training;
        let Some(retriever) = training.get("retriever").cloned() else { return Ok(None) };
        let differences = kind.differences(&ScoreKind { retriever, settings: training });
        Ok((!differences.is_empty()).then(|| {
            format!(
                "the heads were trained on answers read with chunks of another retriever ({}): their threshold and their \
                 error rates are about those",
                differences.join("; ")
            )
        }))
    }

    /// The thresholds the token head was made for.
    pub fn thresholds(&self) -> Result<Thresholds, InspectError> {
        let card = self.card()?;
        Ok(Thresholds {
            token: card.threshold,
            rho: card.rho,
            rho_answer: card.rho_answer,
            ..Thresholds::default()
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, InspectError> {
    read_regular(path, LARGEST_HEAD)
        .map_err(|source| InspectError::Head { path: crate::text::visible_path(path), source })
}

/// Detectors bound to a model.
pub struct Detectors {
    /// In the order in which they stand in evidence; the first one is shown.
    pub token: Vec<Box<dyn Detector>>,
    /// Look-back ratios to factuality.
    pub answer: Option<AnswerHead>,
    layers: Vec<StateLayer>,
    signals: KeptSignals,
}

impl Detectors {
    /// Binds the heads to the model in use; heads of another model are refused.
    pub fn bind(files: &HeadFiles, model: &ModelIdentity) -> Result<Self, DetectError> {
        let token = TokenHead::from_bytes(&files.token, model)?;
        let answer = AnswerHead::from_bytes(&files.answer, model)?;
        let layers = token.layers();
        let signals = signals_of(&token.card().blocks);
        Ok(Self {
            token: vec![Box::new(token), Box::new(NegativeLogLikelihood)],
            answer: Some(answer),
            layers,
            signals,
        })
    }

    /// What is left for a model without heads of its own: the untrained baseline.
    #[must_use]
    pub fn untrained() -> Self {
        Self {
            token: vec![Box::new(NegativeLogLikelihood)],
            answer: None,
            layers: Vec::new(),
            signals: KeptSignals::default(),
        }
    }

    /// What else a reading must keep.
    #[must_use]
    pub const fn signals(&self) -> KeptSignals {
        self.signals
    }

    /// Layers whose hidden states a reading must keep.
    #[must_use]
    pub fn layers(&self) -> &[StateLayer] {
        &self.layers
    }
}
