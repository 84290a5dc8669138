//! Which tokens stand behind a piece of the answer.

use std::ops::Range;

/// Byte ranges of the answer tokens, searched by place.
///
/// A token of byte-level BPE can be a part of a character: tokens that share a character share a
/// range, so a piece of the screen may have several tokens, and a token several pieces.
#[derive(Debug, Clone, Default)]
pub struct TokenUnits {
    tokens: Vec<Range<usize>>,
}

impl TokenUnits {
    /// From the record's byte ranges.
    pub fn new(tokens: &[[usize; 2]]) -> Self {
        Self { tokens: tokens.iter().map(|[start, end]| *start..*end).collect() }
    }

    /// Tokens that overlap `bytes`.
    pub fn overlapping(&self, bytes: &Range<usize>) -> Range<usize> {
        let first = self.tokens.partition_point(|token| token.end <= bytes.start);
        let mut last = first;
        while self.tokens.get(last).is_some_and(|token| token.start < bytes.end) {
            last += 1;
        }
        first..last
    }

    /// The highest score of the tokens that overlap `bytes`.
    pub fn score(&self, bytes: &Range<usize>, scores: &[f64]) -> Option<f64> {
        let overlapping = self.overlapping(bytes);
        let scores = scores.get(overlapping)?;
        scores.iter().copied().filter(|score| score.is_finite()).reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case P1: `é🙂 a` cut into bytes.
    #[test]
    fn a_hot_token_inside_an_emoji_colours_the_whole_emoji_and_nothing_else() {
        let units = TokenUnits::new(&[[0, 2], [0, 2], [2, 6], [2, 6], [2, 6], [2, 6], [6, 7], [7, 8]]);
        let scores = [0.1, 0.2, 0.3, 0.9, 0.1, 0.1, 0.2, 0.4];
        assert_eq!(units.overlapping(&(2..6)), 2..6);
        assert_eq!(units.score(&(2..6), &scores), Some(0.9));
        assert_eq!(units.score(&(0..2), &scores), Some(0.2));
        assert_eq!(units.score(&(6..7), &scores), Some(0.2));
        assert_eq!(units.score(&(8..9), &scores), None);
    }
}
