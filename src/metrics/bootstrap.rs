//! How sure a figure is: percentile bootstrap over whole groups (sources).

use rayon::prelude::*;
use serde::Serialize;

use super::{Measure, Random};

/// Resamples drawn when nothing else is asked for.
pub const RESAMPLES: usize = 1000;

/// Groups drawn with replacement, as many as there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resample {
    /// The groups drawn, in the order drawn; a group may occur several times.
    pub indices: Vec<usize>,
    /// How often each group was drawn: the weights of [`super::RankingSample::measures_weighted`].
    pub counts: Vec<u32>,
}

impl Resample {
    /// Every group once: what the point estimate is computed on.
    fn whole(groups: usize) -> Self {
        Self { indices: (0..groups).collect(), counts: vec![1; groups] }
    }

    fn draw(groups: usize, random: &mut Random) -> Self {
        let indices: Vec<usize> = (0..groups).map(|_| random.below(groups)).collect();
        let mut counts = vec![0; groups];
        for &index in &indices {
            counts[index] += 1;
        }
        Self { indices, counts }
    }
}

/// A point estimate with its 95 % percentile interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interval {
    /// On the data as they are.
    pub estimate: Measure,
    pub lower: Measure,
    pub upper: Measure,
    pub groups: usize,
    pub resamples: usize,
    /// Resamples on which the measure is undefined (a class was not drawn); they are left out.
    pub left_out: usize,
}

/// 95 % percentile bootstrap interval of `statistic`, which sees a resample of `groups` groups.
///
/// The same seed gives the same interval on any number of threads.
pub fn bootstrap_interval(
    groups: usize,
    resamples: usize,
    seed: u64,
    statistic: impl Fn(&Resample) -> Measure + Sync,
) -> Interval {
    let values: Vec<f64> = (0..resamples)
        .into_par_iter()
        .filter_map(|number| {
            let mut random = Random::for_task(seed, number as u64);
            statistic(&Resample::draw(groups, &mut random)).value()
        })
        .collect();
    interval(statistic(&Resample::whole(groups)), groups, resamples, values)
}

/// The intervals of several statistics that share their resamples, so that one pass gives them all.
pub fn bootstrap_intervals<const N: usize>(
    groups: usize,
    resamples: usize,
    seed: u64,
    statistics: impl Fn(&Resample) -> [Measure; N] + Sync,
) -> [Interval; N] {
    let drawn: Vec<[Option<f64>; N]> = (0..resamples)
        .into_par_iter()
        .map(|number| {
            let mut random = Random::for_task(seed, number as u64);
            statistics(&Resample::draw(groups, &mut random)).map(|measure| measure.value())
        })
        .collect();
    let mut number = 0;
    statistics(&Resample::whole(groups)).map(|estimate| {
        let values = drawn.iter().filter_map(|values| values[number]).collect();
        number += 1;
        interval(estimate, groups, resamples, values)
    })
}

/// The difference of two measures on the same resamples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedDifference {
    /// `first - second`.
    pub difference: Interval,
    /// Share of resamples where the first is not above the second.
    pub share_not_above: Measure,
}

/// 95 % interval of `first - second`, both seeing the same resample: what two detectors judged on the
/// same sources need, since their errors go together.
pub fn paired_bootstrap(
    groups: usize,
    resamples: usize,
    seed: u64,
    first: impl Fn(&Resample) -> Measure + Sync,
    second: impl Fn(&Resample) -> Measure + Sync,
) -> PairedDifference {
    let difference = |resample: &Resample| match (first(resample), second(resample)) {
        (Measure::Value(first), Measure::Value(second)) => Measure::of(first - second),
        (Measure::Undefined(reason), _) | (_, Measure::Undefined(reason)) => Measure::Undefined(reason),
    };
    let values: Vec<f64> = (0..resamples)
        .into_par_iter()
        .filter_map(|number| {
            let mut random = Random::for_task(seed, number as u64);
            difference(&Resample::draw(groups, &mut random)).value()
        })
        .collect();
    let not_above = values.iter().filter(|&&value| value <= 0.0).count();
    PairedDifference {
        share_not_above: Measure::ratio(not_above as f64, values.len() as f64, "no resample has both values"),
        difference: interval(difference(&Resample::whole(groups)), groups, resamples, values),
    }
}

fn interval(estimate: Measure, groups: usize, resamples: usize, mut values: Vec<f64>) -> Interval {
    let left_out = resamples - values.len();
    values.sort_unstable_by(f64::total_cmp);
    let bound = |share: f64| {
        if groups < 2 {
            Measure::undefined("fewer than two groups to resample")
        } else {
            percentile(&values, share)
                .map_or_else(|| Measure::undefined("no resample has a value"), Measure::of)
        }
    };
    Interval { lower: bound(0.025), upper: bound(0.975), estimate, groups, resamples, left_out }
}

/// Linear interpolation between order statistics; `None` without values.
fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let position = share * sorted.len().checked_sub(1)? as f64;
    let below = *sorted.get(position.floor() as usize)?;
    let above = *sorted.get(position.ceil() as usize)?;
    Some(below + (above - below) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::RankingSample;

    /// Mean of one number per group.
    fn mean_of(values: &[f64]) -> impl Fn(&Resample) -> Measure + Sync + '_ {
        |resample| {
            let sum: f64 = resample.indices.iter().map(|&index| values[index]).sum();
            Measure::ratio(sum, resample.indices.len() as f64, "no groups")
        }
    }

    fn normal_like(count: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0).collect()
    }

    #[test]
    fn the_interval_of_a_mean_is_about_two_standard_errors_wide() {
        let values = normal_like(400, 3);
        let found = bootstrap_interval(400, 2000, 42, mean_of(&values));
        let width = found.upper.value().unwrap() - found.lower.value().unwrap();
        assert!((width - 2.0 * 1.96 / 20.0).abs() < 0.02, "{width}");
        let estimate = found.estimate.value().unwrap();
        assert!(found.lower.value().unwrap() < estimate && estimate < found.upper.value().unwrap());
    }

    #[test]
    fn the_interval_covers_the_truth_about_as_often_as_it_says() {
        let covered = (0..200)
            .filter(|&draw| {
                let values = normal_like(60, 100 + draw);
                let found = bootstrap_interval(60, 300, draw, mean_of(&values));
                found.lower.value().unwrap() <= 0.0 && 0.0 <= found.upper.value().unwrap()
            })
            .count();
        assert!((178..=199).contains(&covered), "{covered} of 200");
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_on_any_number_of_threads() {
        let values = normal_like(50, 1);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bootstrap_interval(50, 200, 42, mean_of(&values)))
        };
        assert_eq!(on(1), on(3));
        assert_ne!(on(1), bootstrap_interval(50, 200, 43, mean_of(&values)));
    }

    #[test]
    fn a_pair_that_moves_together_has_a_narrow_difference() {
        let worse = normal_like(100, 8);
        let better: Vec<f64> = worse.iter().map(|value| value + 0.1).collect();
        let found = paired_bootstrap(100, 500, 42, mean_of(&better), mean_of(&worse));
        assert!((found.difference.lower.value().unwrap() - 0.1).abs() < 1e-9);
        assert!((found.difference.upper.value().unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(found.share_not_above, Measure::Value(0.0));
    }

    #[test]
    fn undefined_resamples_are_counted_and_too_few_groups_give_no_interval() {
        // One positive group of four: about a third of the resamples has no positive.
        let sample = RankingSample::new(&[true, false, false, false], &[3.0, 2.0, 1.0, 0.0], &[0, 1, 2, 3]);
        let found = bootstrap_interval(4, 400, 42, |resample| sample.auroc_weighted(&resample.counts));
        assert!(found.left_out > 60 && found.left_out < 200, "{}", found.left_out);
        assert_eq!(found.estimate, Measure::Value(1.0));
        let single = bootstrap_interval(1, 10, 42, mean_of(&[1.0]));
        assert_eq!(single.lower.reason(), Some("fewer than two groups to resample"));
        let none = bootstrap_interval(0, 10, 42, mean_of(&[]));
        assert_eq!((none.estimate.reason(), none.left_out), (Some("no groups"), 10));
    }

    #[test]
    fn intervals_that_share_their_resamples_equal_those_drawn_alone() {
        let values = normal_like(40, 2);
        let mean = mean_of(&values);
        let double = |resample: &Resample| Measure::of(2.0 * mean(resample).value().unwrap());
        let [first, second] = bootstrap_intervals(40, 100, 42, |resample| [mean(resample), double(resample)]);
        assert_eq!(first, bootstrap_interval(40, 100, 42, &mean));
        assert_eq!(second, bootstrap_interval(40, 100, 42, double));
    }

    #[test]
    fn a_hundred_thousand_tokens_are_resampled_within_seconds() {
        let mut random = Random::new(4);
        let (mut labels, mut scores, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        for token in 0..130_000 {
            labels.push(random.below(20) == 0);
            scores.push(random.uniform());
            groups.push(token * 150 / 130_000);
        }
        let start = std::time::Instant::now();
        let sample = RankingSample::new(&labels, &scores, &groups);
        let [precision, auroc] = bootstrap_intervals(sample.groups(), 1000, 42, |resample| {
            let measures = sample.measures_weighted(&resample.counts);
            [measures.average_precision, measures.auroc]
        });
        // Generous: an optimised build on two busy cores needs about one second.
        let limit = if cfg!(debug_assertions) { 120.0 } else { 20.0 };
        let elapsed = start.elapsed().as_secs_f64();
        println!("1000 resamples of 130,000 tokens: {elapsed:.2} s");
        assert!(elapsed < limit, "{elapsed} s");
        assert!((precision.estimate.value().unwrap() - 0.05).abs() < 0.01);
        assert!((auroc.estimate.value().unwrap() - 0.5).abs() < 0.02);
    }
}
