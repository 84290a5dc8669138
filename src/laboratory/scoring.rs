//! Token scores by the rounds of a protocol: every token is scored by a model that saw nothing of its source.

use serde::Serialize;

use crate::detect::{BlockValues, DetectError, FeatureBlock, FeatureRows};

use super::ground::Grounds;
use super::method::{TokenClassifier, TokenMethod, control_features};
use super::protocol::{Protocol, Round};
use super::{EvaluationError, FeaturePool, LoadedFeatures, ScoreCache};

/// Raw scores of all tokens that a protocol scores, in [0, 1].
///
/// `grounds` belong to `protocol`, or to the one it was made from by [`Protocol::with_more_training`].
pub(super) fn token_scores(
    pool: &FeaturePool<'_>,
    protocol: &Protocol,
    grounds: &Grounds,
    method: &TokenMethod,
    cache: &mut ScoreCache,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<f64>, EvaluationError> {
    let mut trainer = Trainer { pool, protocol, grounds, labels: None, loaded: None };
    match method {
        TokenMethod::NegativeLogLikelihood => {
            progress(method.name());
            let values = negative_log_likelihoods(pool, grounds)?;
            Ok(values.into_iter().map(|nll| -(-nll).exp_m1()).collect())
        }
        TokenMethod::LexicalSupport => {
            progress(method.name());
            let support = first_column(pool, grounds, FeatureBlock::LexicalSupport)?;
            Ok(support.into_iter().map(|support| 1.0 - support).collect())
        }
        TokenMethod::Control(classifier) => trainer.control(classifier, method.name(), cache, progress),
        TokenMethod::Ensemble { name, members, tempered: _ } => {
            let mut sum = vec![0.0; grounds.scored.tokens()];
            for (number, (blocks, classifier)) in members.iter().enumerate() {
                let told = format!("{name}, member {} of {}", number + 1, members.len());
                let scores = trainer.scores(blocks, classifier, &told, cache, progress)?;
                sum.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
            }
            Ok(sum.into_iter().map(|sum| sum / members.len().max(1) as f64).collect())
        }
        TokenMethod::FittedChain { name, of } => {
            let mut renamed = |step: &str| match step.strip_prefix(of.name()) {
                Some(rest) => progress(&format!("{name}{rest}")),
                None => progress(step),
            };
            token_scores(pool, protocol, grounds, of, cache, &mut renamed)
        }
        TokenMethod::Trained { name, blocks, classifier } => {
            trainer.scores(blocks, classifier, name, cache, progress)
        }
    }
}

/// Trains by rounds; labels and features are loaded when a round is not known yet, and features stay for the next
/// classifier that reads the same.
struct Trainer<'a> {
    pool: &'a FeaturePool<'a>,
    protocol: &'a Protocol,
    grounds: &'a Grounds,
    labels: Option<Vec<bool>>,
    loaded: Option<(Vec<FeatureBlock>, LoadedFeatures)>,
}

impl Trainer<'_> {
    /// Of a detector that reads stored blocks.
    fn scores(
        &mut self,
        blocks: &[FeatureBlock],
        classifier: &TokenClassifier,
        told: &str,
        cache: &mut ScoreCache,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<f64>, EvaluationError> {
        let pool = self.pool;
        self.by_rounds(&(blocks, classifier), cache, |own, round| {
            if own.loaded.as_ref().is_none_or(|(loaded, _)| loaded != blocks) {
                own.loaded = None;
                own.loaded = Some((blocks.to_vec(), LoadedFeatures::load(pool, blocks)?));
            }
            let labels = own.labels.get_or_insert_with(|| pool.token_labels());
            let Some((_, features)) = &own.loaded else { return Ok(Vec::new()) };
            progress(&format!("{told}: {}", round.name));
            fit_and_score(pool, round, labels, &features.rows()?, classifier)
        })
    }

    fn control(
        &mut self,
        classifier: &TokenClassifier,
        told: &str,
        cache: &mut ScoreCache,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<f64>, EvaluationError> {
        let pool = self.pool;
        let (values, width, generators) = control_features(pool);
        let features = FeatureRows::new(vec![(BlockValues::F32(&values), width)])?;
        self.by_rounds(&("control", &generators, classifier), cache, |own, round| {
            progress(&format!("{told}: {}", round.name));
            let labels = own.labels.get_or_insert_with(|| pool.token_labels());
            fit_and_score(pool, round, labels, &features, classifier)
        })
    }

    /// The scores of every round, known or computed, where its answers stand.
    fn by_rounds(
        &mut self,
        method: &impl Serialize,
        cache: &mut ScoreCache,
        mut compute: impl FnMut(&mut Self, &Round) -> Result<Vec<f64>, EvaluationError>,
    ) -> Result<Vec<f64>, EvaluationError> {
        let (pool, protocol) = (self.pool, self.protocol);
        let mut all = vec![0.0; self.grounds.scored.tokens()];
        for round in &protocol.rounds {
            let scores = cache.scores(method, pool, round, || compute(self, round))?;
            self.put(round, &scores, &mut all);
        }
        Ok(all)
    }

    /// Puts the scores of a round where its answers stand among all that are scored.
    fn put(&self, round: &Round, scores: &[f64], all: &mut [f64]) {
        let mut rest = scores;
        for answer in &round.scored {
            let Ok(place) = self.grounds.in_pool.binary_search(answer) else { continue };
            let own = &mut all[self.grounds.scored.answers[place].tokens()];
            let (first, after) = rest.split_at(own.len().min(rest.len()));
            own[..first.len()].copy_from_slice(first);
            rest = after;
        }
    }
}

fn fit_and_score(
    pool: &FeaturePool<'_>,
    round: &Round,
    labels: &[bool],
    features: &FeatureRows<'_>,
    classifier: &TokenClassifier,
) -> Result<Vec<f64>, EvaluationError> {
    let train = pool.tokens_of(&round.train);
    let model = classifier.fit(features, labels, &train).map_err(|error| match error {
        EvaluationError::Detect(DetectError::OneClass { rows, positives }) => {
            EvaluationError::OneClass { training: round.name.clone(), rows, positives }
        }
        error => error,
    })?;
    let probabilities = model.probabilities(features, &pool.tokens_of(&round.scored))?;
    Ok(probabilities.into_iter().map(f64::from).collect())
}

/// -ln p with references of every scored token.
pub(super) fn negative_log_likelihoods(
    pool: &FeaturePool<'_>,
    grounds: &Grounds,
) -> Result<Vec<f64>, EvaluationError> {
    let first = first_column(pool, grounds, FeatureBlock::Likelihood)?;
    Ok(first.into_iter().map(|nll| nll.max(0.0)).collect())
}

/// The first value of a block for every scored token.
fn first_column(
    pool: &FeaturePool<'_>,
    grounds: &Grounds,
    block: FeatureBlock,
) -> Result<Vec<f64>, EvaluationError> {
    let loaded = LoadedFeatures::load(pool, &[block])?;
    let features = loaded.rows()?;
    let width = features.width().max(1);
    let rows = pool.tokens_of(&grounds.in_pool);
    let mut all = Vec::with_capacity(rows.len());
    let mut values = vec![0.0; rows.len().min(4096) * width];
    for rows in rows.chunks(4096) {
        let values = &mut values[..rows.len() * width];
        features.copy_rows(rows, values)?;
        let first = |row: &[f32]| row.first().map_or(0.0, |&value| f64::from(value));
        all.extend(values.chunks_exact(width).map(first));
    }
    Ok(all)
}
