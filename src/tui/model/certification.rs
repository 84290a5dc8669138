//! What the p-values of the run say at every alpha at once: they do not depend on any slider.

use crate::certify::{Alpha, CalibrationMode, PValue};
use crate::evidence::{ChunkEvidence, Evidence};

/// Levels of alpha, in thousandths, and one more.
const LEVELS: usize = 1002;

/// How many of something are trusted at each alpha.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Levels {
    /// Number that is trusted at exactly the first `n` levels of alpha.
    counts: Vec<usize>,
    all: usize,
}

impl Default for Levels {
    fn default() -> Self {
        Self { counts: vec![0; LEVELS], all: 0 }
    }
}

/// Number of alphas, from 0 up, at which p exceeds alpha.
fn levels(p: PValue) -> usize {
    let levels = (u64::from(p.count) * 1000).div_ceil(u64::from(p.out_of).max(1));
    (levels as usize).min(LEVELS - 1)
}

impl Levels {
    fn change(&mut self, levels: usize, adds: bool) {
        let change = |number: &mut usize| *number = if adds { *number + 1 } else { number.saturating_sub(1) };
        change(&mut self.counts[levels]);
        change(&mut self.all);
    }

    /// Trusted at alpha, of all.
    fn at(&self, alpha: Alpha) -> (usize, usize) {
        let trusted = self.counts[usize::from(alpha.thousandths()) + 1..].iter().sum();
        (trusted, self.all)
    }
}

/// m1, m2 and coverage over the rows of the run, at every alpha.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Certification {
    rows: Levels,
    chunks: Levels,
    correct: Levels,
    best_correct: Levels,
}

/// A share with its numbers: how many, of how many.
pub type Share = (usize, usize);

impl Certification {
    /// Adds the chunks of a row, or takes them out again.
    pub(super) fn count(&mut self, evidence: &Evidence, adds: bool) {
        let p = |chunk: &ChunkEvidence| chunk.p_value.map(levels);
        let correct = |chunk: &&ChunkEvidence| chunk.correct == Some(true);
        for level in evidence.chunks.iter().filter_map(p) {
            self.chunks.change(level, adds);
        }
        for level in evidence.chunks.iter().filter(correct).filter_map(p) {
            self.correct.change(level, adds);
        }
        if let Some(most) = evidence.chunks.iter().filter_map(p).max() {
            self.rows.change(most, adds);
        }
        if let Some(most) = evidence.chunks.iter().filter(correct).filter_map(p).max() {
            self.best_correct.change(most, adds);
        }
    }

    /// m1: rows with a trusted chunk, of the rows with a p-value.
    pub fn m1(&self, alpha: Alpha) -> Share {
        self.rows.at(alpha)
    }

    /// m2: trusted chunks, of the chunks with a p-value.
    pub fn m2(&self, alpha: Alpha) -> Share {
        self.chunks.at(alpha)
    }

    /// Coverage: trusted chunks of those known to be correct; per question its best-scored one counts.
    pub fn coverage(&self, alpha: Alpha, mode: CalibrationMode) -> Share {
        match mode {
            CalibrationMode::PerQuestion => self.best_correct.at(alpha),
            CalibrationMode::Pooled => self.correct.at(alpha),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_decide_exactly_as_the_p_value_does_at_every_alpha() {
        for out_of in [1, 2, 3, 7, 20, 200, 999, 1000, 1001, 4096] {
            for count in [1, 2, 3, out_of / 2, out_of - 1, out_of] {
                let p = PValue { count: count.clamp(1, out_of), out_of };
                let mut all = Levels::default();
                all.change(levels(p), true);
                for thousandths in 0..=1000 {
                    let alpha = Alpha::from_thousandths(thousandths);
                    assert_eq!(all.at(alpha), (usize::from(p.exceeds(alpha)), 1), "{p:?} {alpha:?}");
                }
            }
        }
    }

    #[test]
    fn a_broken_p_value_stays_inside() {
        assert_eq!(levels(PValue { count: 9, out_of: 0 }), LEVELS - 1);
        assert_eq!(levels(PValue { count: 0, out_of: 9 }), 0);
    }
}
