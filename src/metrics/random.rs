//! The one source of randomness: seeded, portable, the same on every machine.

/// splitmix64 (Steele, Lea, Flood 2014): small, fast, good enough for shuffles, splits and resamples;
/// not for secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

impl Random {
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// An independent generator for the `number`-th task of a seeded computation, so that the result
    /// does not depend on which thread runs which task.
    #[must_use]
    pub fn for_task(seed: u64, number: u64) -> Self {
        // The seed goes through the generator first: neighbouring seeds must not share their tasks.
        let start = Self::new(seed).next_u64();
        Self::new(Self::new(start ^ number).next_u64())
    }

    /// Uniform over all 64-bit numbers.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1), 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in 0..n without bias (Lemire's multiplication with rejection); 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        if n == 0 {
            return 0;
        }
        let rejected = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if (product as u64) >= rejected {
                return (product >> 64) as usize;
            }
        }
    }

    /// A uniformly random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_splitmix64() {
        // Reference outputs of the published generator for seed 1234567.
        let mut random = Random::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423_u64];
        assert_eq!(expected.map(|_| random.next_u64()), expected);
    }

    #[test]
    fn below_reaches_every_value_about_equally_often_and_never_the_bound() {
        let mut random = Random::new(42);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7)] += 1;
        }
        assert!(counts.iter().all(|&count| (9_500..10_500).contains(&count)), "{counts:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn uniform_stays_in_the_half_open_unit_interval_with_mean_one_half() {
        let mut random = Random::new(7);
        let values: Vec<f64> = (0..100_000).map(|_| random.uniform()).collect();
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_every_position_is_reachable() {
        let mut seen = [[false; 4]; 4];
        let mut random = Random::new(1);
        for _ in 0..500 {
            let mut items = [0, 1, 2, 3];
            random.shuffle(&mut items);
            for (position, &item) in items.iter().enumerate() {
                seen[item][position] = true;
            }
            items.sort_unstable();
            assert_eq!(items, [0, 1, 2, 3]);
        }
        assert!(seen.iter().flatten().all(|&was_seen| was_seen));
    }

    #[test]
    fn tasks_of_one_seed_and_of_neighbouring_seeds_differ() {
        let first: Vec<u64> = (0..100).map(|task| Random::for_task(42, task).next_u64()).collect();
        let second: Vec<u64> = (0..100).map(|task| Random::for_task(43, task).next_u64()).collect();
        let mut all: Vec<u64> = first.into_iter().chain(second).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 200);
    }
}
