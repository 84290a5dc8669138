//! What scores the tokens of an answer.

use crate::reading::Trace;

use super::{DetectError, TokenHead};

/// Turns one reading into a score per answer token.
pub trait Detector {
    /// Name in records and tables.
    fn name(&self) -> &str;

    /// Raw scores in [0, 1], higher = less supported, never smoothed, `[T]`.
    fn score(&self, trace: &Trace) -> Result<Vec<f32>, DetectError>;
}

impl Detector for TokenHead {
    fn name(&self) -> &str {
        &self.card().name
    }

    fn score(&self, trace: &Trace) -> Result<Vec<f32>, DetectError> {
        Self::score(self, trace)
    }
}

/// The untrained baseline: how unlikely the model found the token, given references and earlier tokens.
///
/// Score = 1 - p(token), which is monotone in the negative log-likelihood -ln p and lies in [0, 1].
#[derive(Debug, Clone, Copy, Default)]
pub struct NegativeLogLikelihood;

impl Detector for NegativeLogLikelihood {
    fn name(&self) -> &'static str {
        "nll"
    }

    fn score(&self, trace: &Trace) -> Result<Vec<f32>, DetectError> {
        let (expected, found) = (trace.token_ids.len(), trace.log_prob_with.len());
        if expected != found {
            return Err(DetectError::TraceShape { field: "log_prob_with", expected, found });
        }
        let score = |(token, &log_prob): (usize, &f32)| {
            if log_prob.is_nan() {
                Err(DetectError::NotFinite { what: "log probability".to_owned(), token })
            } else {
                Ok((-f64::from(log_prob).exp_m1()).clamp(0.0, 1.0) as f32)
            }
        };
        trace.log_prob_with.iter().enumerate().map(score).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::synthetic::{Planted, trace};

    #[test]
    fn the_score_is_one_minus_the_probability_and_rises_with_the_negative_log_likelihood() {
        let mut trace = trace(&Planted { tokens: 3, ..Planted::default() });
        trace.log_prob_with = vec![0.0, 0.25_f32.ln(), -80.0];
        let scores = NegativeLogLikelihood.score(&trace).unwrap();
        assert_eq!(scores[0], 0.0);
        assert!((scores[1] - 0.75).abs() < 1e-6 && scores[2] == 1.0);
        trace.log_prob_with[1] = f32::NAN;
        assert!(NegativeLogLikelihood.score(&trace).is_err());
    }
}
