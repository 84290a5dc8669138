//! Average precision and AUROC of scored, labelled items.

use rayon::slice::ParallelSliceMut;

use super::Measure;

/// Items sorted once by score, so that every resample of their groups is one linear pass.
///
/// An item is a token, an answer or a chunk; its group is what is resampled as a whole (its source).
#[derive(Debug, Clone)]
pub struct RankingSample {
    /// In falling order of score: group << 2 | last of its tie << 1 | positive.
    entries: Vec<u32>,
    groups: usize,
    /// Why the sample cannot be ranked at all.
    unusable: Option<String>,
}

/// Both ranking measures of one sample.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Ranking {
    /// Step-wise, ties as one step, as scikit-learn's `average_precision_score`.
    pub average_precision: Measure,
    /// P(score of a positive > score of a negative), ties counted half.
    pub auroc: Measure,
    /// Share of positives; what average precision is by chance.
    pub prevalence: Measure,
}

/// A sample holds at most this many groups.
const MAXIMUM_GROUPS: usize = 1 << 30;

impl RankingSample {
    /// `labels[i]` says whether item i is positive, `group_of[i]` names its group, from 0.
    ///
    /// Lists of different lengths or a score that is not a number make every measure undefined, with
    /// the reason.
    #[must_use]
    pub fn new(labels: &[bool], scores: &[f64], group_of: &[usize]) -> Self {
        let groups = group_of.iter().max().map_or(0, |&last| last + 1);
        let unusable = if labels.len() != scores.len() || labels.len() != group_of.len() {
            Some(format!("{} labels, {} scores, {} groups", labels.len(), scores.len(), group_of.len()))
        } else if let Some(item) = scores.iter().position(|score| score.is_nan()) {
            Some(format!("the score of item {item} is not a number"))
        } else if groups > MAXIMUM_GROUPS {
            Some(format!("group numbers reach {groups}, at most {MAXIMUM_GROUPS} are possible"))
        } else {
            None
        };
        if unusable.is_some() {
            return Self { entries: Vec::new(), groups, unusable };
        }
        // -0.0 and 0.0 are one score.
        let mut items: Vec<(f64, u32)> = (0..labels.len())
            .map(|item| (scores[item] + 0.0, (group_of[item] as u32) << 2 | u32::from(labels[item])))
            .collect();
        items.par_sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let entries = items
            .iter()
            .enumerate()
            .map(|(at, &(score, packed))| {
                let ends_tie = items.get(at + 1).is_none_or(|next| next.0 != score);
                packed | u32::from(ends_tie) << 1
            })
            .collect();
        Self { entries, groups, unusable }
    }

    /// Number of groups, the length of the weights that [`Self::measures_weighted`] takes.
    #[must_use]
    pub const fn groups(&self) -> usize {
        self.groups
    }

    /// Both measures, every group once.
    #[must_use]
    pub fn measures(&self) -> Ranking {
        self.measures_weighted(&vec![1; self.groups])
    }

    /// Both measures with every item counted as often as its group; a group without a weight counts
    /// as 0. One pass over the sorted items.
    #[must_use]
    pub fn measures_weighted(&self, weights: &[u32]) -> Ranking {
        if let Some(reason) = &self.unusable {
            let undefined = Measure::undefined(reason.clone());
            return Ranking {
                average_precision: undefined.clone(),
                auroc: undefined.clone(),
                prevalence: undefined,
            };
        }
        let padded;
        let weights = if weights.len() < self.groups {
            padded = [weights, &vec![0; self.groups - weights.len()]].concat();
            &padded
        } else {
            weights
        };
        let mut positives = 0_u64;
        let mut all = 0_u64;
        let mut precision_sum = 0.0;
        // Twice the number of (positive, negative) pairs in the right order, a tie counting one.
        let mut doubled_pairs = 0_u128;
        let (mut tied_positives, mut tied_all) = (0_u64, 0_u64);
        for &entry in &self.entries {
            let weight = u64::from(weights[(entry >> 2) as usize]);
            tied_all += weight;
            tied_positives += weight * u64::from(entry & 1);
            if entry & 2 != 0 {
                let tied_negatives = tied_all - tied_positives;
                doubled_pairs += u128::from(tied_negatives) * u128::from(2 * positives + tied_positives);
                positives += tied_positives;
                all += tied_all;
                if tied_positives > 0 {
                    precision_sum += tied_positives as f64 * (positives as f64 / all as f64);
                }
                (tied_positives, tied_all) = (0, 0);
            }
        }
        let negatives = all - positives;
        let average_precision = if positives == 0 {
            Measure::undefined("no positives")
        } else if negatives == 0 {
            Measure::undefined("one class, prevalence 1.0")
        } else {
            Measure::of(precision_sum / positives as f64)
        };
        let auroc = if positives == 0 || negatives == 0 {
            Measure::undefined("one class")
        } else {
            Measure::of(doubled_pairs as f64 / 2.0 / (positives as f64 * negatives as f64))
        };
        let prevalence = Measure::ratio(positives as f64, all as f64, "no items");
        Ranking { average_precision, auroc, prevalence }
    }

    /// Average precision of a resample; see [`Self::measures_weighted`].
    #[must_use]
    pub fn average_precision_weighted(&self, weights: &[u32]) -> Measure {
        self.measures_weighted(weights).average_precision
    }

    /// AUROC of a resample; see [`Self::measures_weighted`].
    #[must_use]
    pub fn auroc_weighted(&self, weights: &[u32]) -> Measure {
        self.measures_weighted(weights).auroc
    }
}

/// Both ranking measures of one slice; see [`Ranking`].
#[must_use]
pub fn ranking(labels: &[bool], scores: &[f64]) -> Ranking {
    RankingSample::new(labels, scores, &vec![0; labels.len()]).measures()
}

/// Sum over score thresholds of (R_n - R_(n-1)) P_n, ties as one step.
#[must_use]
pub fn average_precision(labels: &[bool], scores: &[f64]) -> Measure {
    ranking(labels, scores).average_precision
}

/// P(score of a positive > score of a negative), ties counted half.
#[must_use]
pub fn auroc(labels: &[bool], scores: &[f64]) -> Measure {
    ranking(labels, scores).auroc
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Random, macro_mean};

    #[test]
    fn one_class_only_is_said_in_words_and_never_a_number() {
        let both = ranking(&[true, true], &[0.2, 0.9]);
        assert_eq!(both.auroc.to_string(), "n/a (one class)");
        assert_eq!(both.average_precision.to_string(), "n/a (one class, prevalence 1.0)");
        for (labels, scores) in [(&[false, false][..], &[0.2, 0.9][..]), (&[], &[])] {
            let none = ranking(labels, scores);
            assert_eq!(none.auroc.to_string(), "n/a (one class)");
            assert_eq!(none.average_precision.to_string(), "n/a (no positives)");
            let json = serde_json::to_value(&none).unwrap();
            assert!(json["auroc"]["value"].is_null() && json["auroc"]["reason"] == "one class");
        }
    }

    #[test]
    fn slices_of_one_class_stay_out_of_macro_means_and_are_counted() {
        let slices = [
            average_precision(&[true, true], &[0.2, 0.9]),
            average_precision(&[true, false], &[0.9, 0.2]),
            average_precision(&[false, false], &[0.2, 0.9]),
        ];
        let mean = macro_mean(&slices);
        assert_eq!((mean.counted, mean.left_out), (1, 2));
        assert_eq!(mean.mean, Measure::Value(1.0));
    }

    #[test]
    fn a_constant_score_ranks_at_chance() {
        let labels = [true, false, false, true, false];
        let same = ranking(&labels, &[0.3; 5]);
        assert_eq!(same.auroc, Measure::Value(0.5));
        assert_eq!(same.average_precision, Measure::Value(0.4));
        assert_eq!(auroc(&[true, false], &[-0.0, 0.0]), Measure::Value(0.5));
    }

    #[test]
    fn the_order_of_items_never_matters() {
        let mut random = Random::new(5);
        let mut items: Vec<(bool, f64)> =
            (0..200).map(|_| (random.below(3) == 0, random.below(20) as f64 / 20.0)).collect();
        let measured = |items: &[(bool, f64)]| {
            let (labels, scores): (Vec<bool>, Vec<f64>) = items.iter().copied().unzip();
            ranking(&labels, &scores)
        };
        let before = measured(&items);
        random.shuffle(&mut items);
        assert_eq!(measured(&items), before);
    }

    #[test]
    fn weights_equal_repeating_the_items_of_a_group() {
        let mut random = Random::new(9);
        let (mut labels, mut scores, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..300 {
            labels.push(random.below(4) == 0);
            scores.push(random.below(50) as f64);
            groups.push(random.below(12));
        }
        let sample = RankingSample::new(&labels, &scores, &groups);
        let weights: Vec<u32> = (0..sample.groups()).map(|_| random.below(4) as u32).collect();
        let (mut repeated_labels, mut repeated_scores) = (Vec::new(), Vec::new());
        for item in 0..labels.len() {
            for _ in 0..weights[groups[item]] {
                repeated_labels.push(labels[item]);
                repeated_scores.push(scores[item]);
            }
        }
        let expected = ranking(&repeated_labels, &repeated_scores);
        let weighted = sample.measures_weighted(&weights);
        assert!(
            (weighted.auroc.value().unwrap() - expected.auroc.value().unwrap()).abs() < 1e-12
                && (weighted.average_precision.value().unwrap()
                    - expected.average_precision.value().unwrap())
                .abs()
                    < 1e-12
        );
    }

    #[test]
    fn unusable_input_is_undefined_with_a_reason() {
        assert_eq!(
            auroc(&[true, false], &[f64::NAN, 1.0]).reason(),
            Some("the score of item 0 is not a number")
        );
        assert_eq!(average_precision(&[true], &[1.0, 2.0]).reason(), Some("1 labels, 2 scores, 1 groups"));
        assert_eq!(
            RankingSample::new(&[true, false], &[1.0, 0.0], &[0, 1]).auroc_weighted(&[2]).reason(),
            Some("one class")
        );
    }
}
