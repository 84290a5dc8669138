//! What all methods of a comparison share: labels, sources, generators, and who is judged.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::detect::{DisplayUnit, display_units, smooth};

use super::protocol::Protocol;
use super::{FeaturePool, StoredAnswer};

/// Labels of some answers. Scores of tokens follow the order of the answers, without gaps.
pub(super) struct Ground {
    /// The answers, their tokens numbered through.
    pub(super) answers: Vec<StoredAnswer>,
    pub(super) token_labels: Vec<bool>,
    pub(super) inconsistent: Vec<bool>,
    /// Number of each answer's source, from 0.
    pub(super) source_of: Vec<usize>,
    pub(super) sources: usize,
    source_of_token: Vec<usize>,
    pub(super) units: Vec<Vec<DisplayUnit>>,
    /// Answers of each generator.
    pub(super) generators: BTreeMap<String, Vec<usize>>,
}

impl Ground {
    /// Of these answers of the pool.
    pub(super) fn new(pool: &FeaturePool<'_>, chosen: &[usize]) -> Self {
        let mut answers: Vec<StoredAnswer> = Vec::with_capacity(chosen.len());
        for &number in chosen {
            let first_token = answers.last().map_or(0, |last| last.tokens().end);
            answers.push(StoredAnswer { first_token, ..pool.answers()[number].clone() });
        }
        let mut numbers = BTreeMap::new();
        let source_of: Vec<usize> = answers
            .iter()
            .map(|answer| {
                let next = numbers.len();
                *numbers.entry(answer.labelled.source.as_str()).or_insert(next)
            })
            .collect();
        let sources = numbers.len();
        let mut generators: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, answer) in answers.iter().enumerate() {
            if let Some(generator) = &answer.labelled.generator {
                generators.entry(generator.clone()).or_default().push(number);
            }
        }
        let with_length = answers.iter().zip(&source_of);
        Self {
            source_of_token: with_length
                .flat_map(|(answer, &source)| std::iter::repeat_n(source, answer.token_ranges.len()))
                .collect(),
            token_labels: answers.iter().flat_map(StoredAnswer::token_labels).collect(),
            inconsistent: answers.iter().map(|answer| answer.labelled.inconsistent).collect(),
            sources,
            units: answers
                .par_iter()
                .map(|answer| display_units(&answer.labelled.answer, &answer.token_ranges))
                .collect(),
            source_of,
            generators,
            answers,
        }
    }

    /// Number of tokens.
    pub(super) const fn tokens(&self) -> usize {
        self.token_labels.len()
    }

    /// Smooths every answer on its own.
    pub(super) fn smoothed(&self, scores: &[f64], stay: f64) -> Vec<f64> {
        self.answers.iter().flat_map(|answer| smooth(&scores[answer.tokens()], stay)).collect()
    }

    /// Number of each token's source.
    pub(super) fn source_of_token(&self) -> &[usize] {
        &self.source_of_token
    }

    /// The highest score of each answer.
    pub(super) fn highest(&self, scores: &[f64]) -> Vec<f64> {
        let highest = |answer: &StoredAnswer| scores[answer.tokens()].iter().copied().fold(0.0, f64::max);
        self.answers.iter().map(highest).collect()
    }

    /// The mean score of each answer.
    pub(super) fn mean(&self, scores: &[f64]) -> Vec<f64> {
        let mean = |answer: &StoredAnswer| {
            let own = &scores[answer.tokens()];
            own.iter().sum::<f64>() / own.len().max(1) as f64
        };
        self.answers.iter().map(mean).collect()
    }
}

/// The answers that are scored, and among them those that are judged.
pub(super) struct Grounds {
    /// Answers of the pool behind `scored`.
    pub(super) in_pool: Vec<usize>,
    /// All that are scored.
    pub(super) scored: Ground,
    /// Those that figures are about.
    pub(super) judged: Ground,
    /// Where the judged ones stand among the scored.
    places: Vec<usize>,
    /// The choices of the protocol, by places among the scored: chosen on, applied to.
    pub(super) choices: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Grounds {
    pub(super) fn new(pool: &FeaturePool<'_>, protocol: &Protocol) -> Self {
        let (scored, judged) = (protocol.scored(), protocol.judged());
        let place = |numbers: &[usize]| -> Vec<usize> {
            numbers.iter().filter_map(|number| scored.binary_search(number).ok()).collect()
        };
        let choices = protocol.choices.iter();
        let choices = choices.map(|choice| (place(&choice.chosen_on), place(&choice.applied_to))).collect();
        Self {
            places: place(&judged),
            scored: Ground::new(pool, &scored),
            judged: Ground::new(pool, &judged),
            in_pool: scored,
            choices,
        }
    }

    /// The token scores of the judged answers among those of all that are scored.
    pub(super) fn of_judged(&self, scores: &[f64]) -> Vec<f64> {
        self.places.iter().flat_map(|&place| &scores[self.scored.answers[place].tokens()]).copied().collect()
    }

    /// The same of one value an answer.
    pub(super) fn answers_of_judged(&self, values: &[f64]) -> Vec<f64> {
        self.places.iter().map(|&place| values[place]).collect()
    }
}
