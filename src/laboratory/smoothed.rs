//! Scores after smoothing: by the paper's symmetric chain, the same for every row, or by the chain that training labels
//! have.

use crate::detect::Chain;

use super::ground::Grounds;
use super::protocol::Protocol;
use super::{EvaluationSettings, FeaturePool};

/// Smoothed scores of one row.
pub(super) struct Smoothed {
    /// One for each scored token.
    pub(super) tokens: Vec<f64>,
    /// The highest of each judged answer.
    pub(super) answers: Vec<f64>,
}

impl Smoothed {
    /// By the settings' persistence, one for tokens and another for answers. `scores`: one per scored token.
    pub(super) fn symmetric(grounds: &Grounds, scores: &[f64], settings: &EvaluationSettings) -> Self {
        let judged = &grounds.judged;
        Self {
            tokens: grounds.scored.smoothed(scores, settings.rho),
            answers: judged.highest(&judged.smoothed(&grounds.of_judged(scores), settings.rho_answer)),
        }
    }

    /// Every answer by the chain fitted to the labels of the answers that its round trained on, for both.
    pub(super) fn fitted(
        pool: &FeaturePool<'_>,
        protocol: &Protocol,
        grounds: &Grounds,
        scores: &[f64],
    ) -> Self {
        let mut tokens = scores.to_vec();
        for round in &protocol.rounds {
            let labels: Vec<Vec<bool>> =
                round.train.iter().map(|&answer| pool.answers()[answer].token_labels()).collect();
            let chain = Chain::fit(labels.iter().map(Vec::as_slice));
            for answer in &round.scored {
                let Ok(place) = grounds.in_pool.binary_search(answer) else { continue };
                let own = grounds.scored.answers[place].tokens();
                tokens[own.clone()].copy_from_slice(&chain.posterior(&scores[own]));
            }
        }
        let answers = grounds.judged.highest(&grounds.of_judged(&tokens));
        Self { tokens, answers }
    }
}
