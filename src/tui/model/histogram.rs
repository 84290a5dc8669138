//! Token scores counted in bins.

/// Scores in [0, 1] in equal bins; the last one holds 1 as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; Self::BINS] }
    }
}

impl Histogram {
    /// Bins kept; divisible by all numbers of bars that a screen shows.
    pub const BINS: usize = 120;

    /// Of the finite scores.
    pub fn of(scores: impl IntoIterator<Item = f64>) -> Self {
        let mut histogram = Self::default();
        histogram.add(scores);
        histogram
    }

    /// The bin of a score.
    fn bin(score: f64) -> Option<usize> {
        let place = (score.clamp(0.0, 1.0) * Self::BINS as f64) as usize;
        score.is_finite().then_some(place.min(Self::BINS - 1))
    }

    /// Counts scores.
    pub fn add(&mut self, scores: impl IntoIterator<Item = f64>) {
        for bin in scores.into_iter().filter_map(Self::bin) {
            self.counts[bin] += 1;
        }
    }

    /// Takes scores that were counted out again.
    pub fn subtract(&mut self, scores: impl IntoIterator<Item = f64>) {
        for bin in scores.into_iter().filter_map(Self::bin) {
            self.counts[bin] = self.counts[bin].saturating_sub(1);
        }
    }

    /// Scores counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The counts in `bars` equal bars, as many as divide the bins and fit in `most`.
    pub fn bars(&self, most: usize) -> Vec<u64> {
        let bars = (1..=most.clamp(1, Self::BINS)).rev().find(|bars| Self::BINS.is_multiple_of(*bars));
        let each = Self::BINS / bars.unwrap_or(1);
        self.counts.chunks(each).map(|bins| bins.iter().sum()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_the_range_are_counted_and_what_is_no_number_is_not() {
        let histogram = Histogram::of([0.0, 1.0, 0.5, f64::NAN, f64::INFINITY, -3.0]);
        assert_eq!(histogram.total(), 4);
        assert_eq!(histogram.bars(2), [2, 2]);
    }

    #[test]
    fn as_many_bars_as_fit_hold_all_scores_between_them() {
        let histogram = Histogram::of((0..1000).map(|number| f64::from(number) / 999.0));
        for (most, bars) in [(0, 1), (1, 1), (7, 6), (50, 40), (60, 60), (119, 60), (120, 120), (500, 120)] {
            let found = histogram.bars(most);
            assert_eq!((found.len(), found.iter().sum::<u64>()), (bars, 1000), "{most}");
        }
    }

    #[test]
    fn what_is_taken_out_again_leaves_no_trace() {
        let mut histogram = Histogram::of([0.2, 0.4]);
        histogram.add([0.9, 0.4]);
        histogram.subtract([0.9, 0.4]);
        assert_eq!(histogram, Histogram::of([0.2, 0.4]));
    }
}
