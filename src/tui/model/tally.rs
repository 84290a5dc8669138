//! Counts of decisions, of one example or of many.

use crate::certify::Alpha;
use crate::evidence::{Evidence, Findings};
use crate::inspect::stale_answer;

/// Counts of decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Examples whose answer was read.
    pub read: usize,
    /// Examples with a flagged span.
    pub flagged: usize,
    pub spans: usize,
    pub flagged_tokens: usize,
    pub trusted: usize,
    /// Chunks with a p-value.
    pub decided_chunks: usize,
    pub consistent: usize,
    /// Examples with a factuality.
    pub judged: usize,
    /// Answers written from other chunks than those that are trusted.
    pub stale: usize,
}

impl Tally {
    pub(super) fn of(evidence: &Evidence, findings: &Findings, alpha: Alpha) -> Self {
        Self {
            read: usize::from(evidence.reading.is_some()),
            flagged: usize::from(findings.flagged),
            spans: findings.spans.len(),
            flagged_tokens: findings.flagged_tokens,
            trusted: findings.trusted.iter().filter(|trusted| **trusted == Some(true)).count(),
            decided_chunks: findings.trusted.iter().flatten().count(),
            consistent: usize::from(findings.consistent == Some(true)),
            judged: usize::from(findings.consistent.is_some()),
            stale: usize::from(stale_answer(evidence, alpha).is_some()),
        }
    }

    fn fields(&mut self) -> [&mut usize; 9] {
        [
            &mut self.read,
            &mut self.flagged,
            &mut self.spans,
            &mut self.flagged_tokens,
            &mut self.trusted,
            &mut self.decided_chunks,
            &mut self.consistent,
            &mut self.judged,
            &mut self.stale,
        ]
    }

    pub(super) fn add(&mut self, mut other: Self) {
        for (sum, part) in self.fields().into_iter().zip(other.fields()) {
            *sum += *part;
        }
    }

    pub(super) fn subtract(&mut self, mut other: Self) {
        for (sum, part) in self.fields().into_iter().zip(other.fields()) {
            *sum = sum.saturating_sub(*part);
        }
    }
}
