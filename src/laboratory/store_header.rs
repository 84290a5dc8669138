//! The header of a feature store: what it was made from, sealed with a checksum.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::detect::{AnswerFeatures, FeatureBlock, ModelIdentity, layers_of};
use crate::disk::{FileAccess, LONGEST_SETTINGS, read_regular_text, write_whole};
use crate::reading::StateLayer;

use super::EvaluationError;
use crate::text::hexadecimal;

/// Version of the layout on disk.
const FORMAT: u32 = 2;
pub(super) const HEADER: &str = "header.json";

/// Which features a store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeatureSet {
    /// Those of every detector of the laboratory, and of heads.
    #[default]
    Laboratory,
    /// Those that CORTEX's switches choose between.
    CortexSwitches,
}

/// What a store was made from; a store with another header is stale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoreHeader {
    /// Version of the layout.
    pub format: u32,
    /// The model that read the answers.
    pub model: ModelIdentity,
    /// Hash of the data set.
    pub data_hash: String,
    /// Token features kept, one tensor each in every shard.
    pub blocks: Vec<FeatureBlock>,
    /// K: chunk blocks of the answer-level look-back vector.
    pub chunk_blocks: usize,
    /// Settings of the reading that change the features (prompt form, context limit, ...), by name.
    pub settings: BTreeMap<String, String>,
}

impl StoreHeader {
    /// D, c and the state for each layer, D and the state of the middle, look-back ratios, log chunk mass,
    /// likelihoods and the signals of the published baselines; K = 10.
    #[must_use]
    pub fn new(model: ModelIdentity, data_hash: impl Into<String>, layers: &[StateLayer]) -> Self {
        let mut blocks = Vec::new();
        for &layer in layers {
            blocks.push(FeatureBlock::Difference { layer });
            blocks.push(FeatureBlock::Residual { layer, renormalised: false });
            blocks.push(FeatureBlock::State { layer });
        }
        // RAGLens and SAPLMA also look at the middle.
        let middle = StateLayer::Block((model.shape.layers / 2).max(1));
        for block in [FeatureBlock::Difference { layer: middle }, FeatureBlock::State { layer: middle }] {
            if !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        blocks.extend([
            FeatureBlock::ContextRatio,
            FeatureBlock::WindowedContextRatio,
            FeatureBlock::LogChunkMass,
            FeatureBlock::Likelihood,
            FeatureBlock::Divergence,
            FeatureBlock::LexicalSupport,
            FeatureBlock::SelfAttention,
            FeatureBlock::InformationContribution,
        ]);
        Self::keeping(model, data_hash.into(), blocks)
    }

    /// What CORTEX's switches choose between: D and c at half and three quarters of the depth, before and after the
    /// final norm; c with attention renormalised, and c with attention of all blocks.
    #[must_use]
    pub fn cortex_switches(model: ModelIdentity, data_hash: impl Into<String>) -> Self {
        let [last, deep] = Self::default_layers(model.shape.layers);
        let [middle, before_norm] =
            [model.shape.layers / 2, model.shape.layers].map(|block| StateLayer::Block(block.max(1)));
        let mut blocks = Vec::new();
        for layer in [last, deep, middle, before_norm] {
            let own =
                [FeatureBlock::Difference { layer }, FeatureBlock::Residual { layer, renormalised: false }];
            blocks.extend(own.into_iter().filter(|block| !blocks.contains(block)).collect::<Vec<_>>());
        }
        for layer in [last, deep] {
            blocks.push(FeatureBlock::Residual { layer, renormalised: true });
            blocks.push(FeatureBlock::PooledResidual { layer });
        }
        Self::keeping(model, data_hash.into(), blocks)
    }

    fn keeping(model: ModelIdentity, data_hash: String, blocks: Vec<FeatureBlock>) -> Self {
        Self { format: FORMAT, model, data_hash, blocks, chunk_blocks: 10, settings: BTreeMap::new() }
    }

    /// The layers evaluated by default: after the final norm (the paper), and the block at three quarters
    /// of the depth (22 of 30).
    #[must_use]
    pub fn default_layers(depth: usize) -> [StateLayer; 2] {
        [StateLayer::FinalNorm, StateLayer::Block((depth * 3 / 4).max(1))]
    }

    /// The layers whose hidden states a reading must keep for this store.
    #[must_use]
    pub fn layers(&self) -> Vec<StateLayer> {
        layers_of(&self.blocks, self.model.shape.layers)
    }

    pub(super) fn answer_features(&self) -> [AnswerFeatures; 2] {
        [AnswerFeatures::ChunkWise { blocks: self.chunk_blocks }, AnswerFeatures::FullContext]
    }

    /// What was read, and how: the hash of the data with the settings that change the features.
    pub(super) fn reading(&self) -> String {
        let settings = self.settings.iter().filter(|(name, _)| *name != "data");
        settings.fold(self.data_hash.clone(), |text, (name, value)| format!("{text}, {name} {value}"))
    }

    /// The first thing in which a stored header differs from the wanted one.
    pub(super) fn difference(&self, wanted: &Self) -> Option<String> {
        part("format", &self.format, &wanted.format)
            .or_else(|| part("data hash", &self.data_hash, &wanted.data_hash))
            .or_else(|| self.difference_of_features(wanted))
            .or_else(|| {
                let text = |header: &Self| format!("{:?}", header.settings);
                part("settings", &text(self), &text(wanted))
            })
    }

    /// The first thing in which the features of two stores differ, whatever their data.
    pub(super) fn difference_of_features(&self, wanted: &Self) -> Option<String> {
        let names =
            |header: &Self| header.blocks.iter().map(|block| block.name()).collect::<Vec<_>>().join(", ");
        part("model hash", &self.model.hash, &wanted.model.hash)
            .or_else(|| part("model", &self.model.shape, &wanted.model.shape))
            .or_else(|| match (&self.model.text, &wanted.model.text) {
                (Some(stored), Some(wanted)) => {
                    stored.differences(wanted).into_iter().next().map(|what| format!("its {what}"))
                }
                // Stores of versions that did not record it.
                _ => None,
            })
            .or_else(|| part("list of features", &names(self), &names(wanted)))
            .or_else(|| part("number of chunk blocks", &self.chunk_blocks, &wanted.chunk_blocks))
    }
}

fn part<T: PartialEq + std::fmt::Display>(what: &str, stored: &T, wanted: &T) -> Option<String> {
    (stored != wanted).then(|| format!("its {what} is {stored}, wanted is {wanted}"))
}

/// The header with its own checksum, as it stands in the file.
#[derive(Serialize, Deserialize)]
struct SealedHeader {
    header: StoreHeader,
    checksum: String,
}

fn header_checksum(header: &StoreHeader, path: &Path) -> Result<String, EvaluationError> {
    let text = serde_json::to_string(header).map_err(|error| EvaluationError::Damaged {
        path: path.to_owned(),
        reason: format!("the header cannot be written: {error}"),
    })?;
    Ok(hexadecimal(&Sha256::digest(text)[..8]))
}

pub(super) fn write_header(folder: &Path, header: &StoreHeader) -> Result<(), EvaluationError> {
    let path = folder.join(HEADER);
    let sealed = SealedHeader { header: header.clone(), checksum: header_checksum(header, &path)? };
    let text = serde_json::to_string_pretty(&sealed).map_err(|error| EvaluationError::Damaged {
        path: path.clone(),
        reason: format!("the header cannot be written: {error}"),
    })?;
    write_whole(&path, text.as_bytes(), FileAccess::Private).map_err(EvaluationError::file("write", &path))
}

pub(super) fn read_header(folder: &Path) -> Result<StoreHeader, EvaluationError> {
    let path = folder.join(HEADER);
    let text = read_regular_text(&path, LONGEST_SETTINGS).map_err(EvaluationError::file("read", &path))?;
    let damaged = |reason: String| EvaluationError::Damaged { path: path.clone(), reason };
    let sealed: SealedHeader = serde_json::from_str(&text)
        .map_err(|error| damaged(format!("the header does not parse: {error}")))?;
    if sealed.checksum != header_checksum(&sealed.header, &path)? {
        return Err(damaged("the header does not match its checksum".to_owned()));
    }
    if sealed.header.format != FORMAT {
        let difference = format!("its format is {}, wanted is {FORMAT}", sealed.header.format);
        return Err(EvaluationError::Stale { path: folder.to_owned(), difference });
    }
    Ok(sealed.header)
}
