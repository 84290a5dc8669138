//! Grouped cross-validation: every token is scored by a model that saw nothing of its source.

use std::collections::BTreeMap;

use crate::detect::{BlockValues, DetectError, FeatureBlock, FeatureRows, ModelShape};

use super::method::{TokenClassifier, TokenMethod, control_features};
use super::{EvaluationError, FeatureStore, LoadedBlock, ScoreCache};

/// The fold of every answer, checked: one for each stored answer, at least two in use, no source in two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Folds {
    /// Fold number of each answer, renumbered from 0 without gaps.
    pub(super) of_answer: Vec<usize>,
    pub(super) count: usize,
}

impl Folds {
    pub(super) fn new(store: &FeatureStore, folds: &[usize]) -> Result<Self, EvaluationError> {
        let unusable = |reason: String| Err(EvaluationError::Folds { reason });
        let answers = store.answers();
        if folds.len() != answers.len() {
            return unusable(format!("{} fold numbers for {} stored answers", folds.len(), answers.len()));
        }
        let mut of_source = BTreeMap::new();
        for (answer, &fold) in answers.iter().zip(folds) {
            let source = answer.labelled.source.as_str();
            let first = *of_source.entry(source).or_insert(fold);
            if first != fold {
                return unusable(format!("the source {source} straddles folds {first} and {fold}"));
            }
        }
        let mut used: Vec<usize> = folds.to_vec();
        used.sort_unstable();
        used.dedup();
        if used.len() < 2 {
            return unusable(format!("{} fold in use, at least 2 are needed", used.len()));
        }
        if of_source.len() < FEWEST_SOURCES {
            return unusable(format!(
                "the answers have {} sources, grouped cross-validation needs at least {FEWEST_SOURCES}; add \
                 labelled answers to other questions",
                of_source.len()
            ));
        }
        let of_answer = folds.iter().map(|fold| used.partition_point(|other| other < fold)).collect();
        Ok(Self { of_answer, count: used.len() })
    }

    /// Tokens of the answers whose fold is (or is not) `fold`.
    fn rows(&self, store: &FeatureStore, fold: usize, inside: bool) -> Vec<usize> {
        let answers = store.answers().iter().zip(&self.of_answer);
        answers.filter(|&(_, &own)| (own == fold) == inside).flat_map(|(answer, _)| answer.tokens()).collect()
    }
}

/// Answers to fewer sources than this say nothing about others.
const FEWEST_SOURCES: usize = 5;

/// The feature blocks of one method with their widths: in memory where they fit the store's limit
/// together, else on disk.
#[derive(Debug)]
pub struct LoadedFeatures {
    blocks: Vec<(LoadedBlock, usize)>,
    memory_limit: u64,
}

impl LoadedFeatures {
    /// Loads the blocks, or finds them on disk, and compares them with their checksums.
    pub fn load(store: &FeatureStore, blocks: &[FeatureBlock]) -> Result<Self, EvaluationError> {
        let shape: ModelShape = store.header().model.shape;
        let memory_limit = store.memory_limit();
        let fits = blocks.iter().map(|&block| store.block_bytes(block)).sum::<u64>() <= memory_limit;
        let load = |&block: &FeatureBlock| {
            let loaded = if fits { store.load(block)? } else { LoadedBlock::Stored(store.stored(block)?) };
            Ok((loaded, block.width(shape)))
        };
        Ok(Self { blocks: blocks.iter().map(load).collect::<Result<_, EvaluationError>>()?, memory_limit })
    }

    /// The blocks side by side.
    pub fn rows(&self) -> Result<FeatureRows<'_>, EvaluationError> {
        let blocks = self.blocks.iter().map(|(block, width)| (block.values(), *width)).collect();
        Ok(FeatureRows::new(blocks)?.with_memory_limit(self.memory_limit))
    }
}

/// Token labels of all answers, in store order.
pub(super) fn all_token_labels(store: &FeatureStore) -> Vec<bool> {
    store.answers().iter().flat_map(super::StoredAnswer::token_labels).collect()
}

/// Raw score of every token of the store, in [0, 1], each from a model trained on the other folds.
///
/// `folds`: one number per stored answer; no source may stand in two folds. `progress` is told in plain
/// words what is being done.
pub fn out_of_fold_scores(
    store: &FeatureStore,
    folds: &[usize],
    method: &TokenMethod,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<f64>, EvaluationError> {
    let folds = Folds::new(store, folds)?;
    scores_by_fold(store, &folds, &all_token_labels(store), method, &mut ScoreCache::default(), progress)
}

pub(super) fn scores_by_fold(
    store: &FeatureStore,
    folds: &Folds,
    labels: &[bool],
    method: &TokenMethod,
    cache: &mut ScoreCache,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<f64>, EvaluationError> {
    let data = &store.header().data_hash;
    match method {
        TokenMethod::NegativeLogLikelihood => {
            progress(method.name());
            Ok(negative_log_likelihoods(store)?.into_iter().map(|nll| -(-nll).exp_m1()).collect())
        }
        TokenMethod::Control(classifier) => cache.scores(method, data, folds, labels.len(), || {
            let (values, width) = control_features(store);
            let features = FeatureRows::new(vec![(BlockValues::F32(&values), width)])?;
            cross_fit(store, folds, labels, &features, classifier, method.name(), progress)
        }),
        TokenMethod::LexicalSupport => {
            progress(method.name());
            let support = first_column(store, FeatureBlock::LexicalSupport)?;
            Ok(support.into_iter().map(|support| 1.0 - support).collect())
        }
        TokenMethod::Ensemble { name, members, tempered: _ } => {
            let mut sum = vec![0.0; labels.len()];
            // Members that follow each other mostly read the same blocks.
            let mut loaded: Option<(&[FeatureBlock], LoadedFeatures)> = None;
            for (number, (blocks, classifier)) in members.iter().enumerate() {
                let told = format!("{name}, member {} of {}", number + 1, members.len());
                let scores = cache.scores(&(blocks, classifier), data, folds, labels.len(), || {
                    let features = match loaded.take() {
                        Some((own, features)) if own == blocks.as_slice() => features,
                        _ => LoadedFeatures::load(store, blocks)?,
                    };
                    let (_, features) = loaded.insert((blocks, features));
                    cross_fit(store, folds, labels, &features.rows()?, classifier, &told, progress)
                })?;
                sum.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
            }
            Ok(sum.into_iter().map(|sum| sum / members.len().max(1) as f64).collect())
        }
        TokenMethod::Trained { name, blocks, classifier } => {
            cache.scores(&(blocks, classifier), data, folds, labels.len(), || {
                let loaded = LoadedFeatures::load(store, blocks)?;
                cross_fit(store, folds, labels, &loaded.rows()?, classifier, name, progress)
            })
        }
    }
}

/// -ln p of every token with references.
pub(super) fn negative_log_likelihoods(store: &FeatureStore) -> Result<Vec<f64>, EvaluationError> {
    let first = first_column(store, FeatureBlock::Likelihood)?;
    Ok(first.into_iter().map(|nll| nll.max(0.0)).collect())
}

/// The first value of a block for every token.
fn first_column(store: &FeatureStore, block: FeatureBlock) -> Result<Vec<f64>, EvaluationError> {
    let loaded = LoadedFeatures::load(store, &[block])?;
    let features = loaded.rows()?;
    let width = features.width().max(1);
    let mut all = Vec::with_capacity(features.rows());
    let rows: Vec<usize> = (0..features.rows()).collect();
    let mut values = vec![0.0; rows.len().min(4096) * width];
    for rows in rows.chunks(4096) {
        let values = &mut values[..rows.len() * width];
        features.copy_rows(rows, values)?;
        let first = |row: &[f32]| row.first().map_or(0.0, |&value| f64::from(value));
        all.extend(values.chunks_exact(width).map(first));
    }
    Ok(all)
}

fn cross_fit(
    store: &FeatureStore,
    folds: &Folds,
    labels: &[bool],
    features: &FeatureRows<'_>,
    classifier: &TokenClassifier,
    name: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<f64>, EvaluationError> {
    let mut scores = vec![0.0; labels.len()];
    for fold in 0..folds.count {
        progress(&format!("{name}: fold {} of {}", fold + 1, folds.count));
        let train = folds.rows(store, fold, false);
        let model = classifier.fit(features, labels, &train).map_err(|error| match error {
            EvaluationError::Detect(DetectError::OneClass { rows, positives }) => {
                EvaluationError::OneClass { fold: fold + 1, folds: folds.count, rows, positives }
            }
            error => error,
        })?;
        let held_out = folds.rows(store, fold, true);
        for (&row, probability) in held_out.iter().zip(model.probabilities(features, &held_out)?) {
            scores[row] = f64::from(probability);
        }
    }
    Ok(scores)
}
