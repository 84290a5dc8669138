//! Splits in which examples of one source stay together. A classifier tested on an answer to a
//! source it was trained on has seen half of the test.

use std::collections::BTreeMap;

/// Assigns each example to one of `k` folds; examples with equal keys share a fold.
///
/// Folds differ in size by no more than the largest group where the groups allow it: groups go, the
/// largest first, into the fold that is smallest so far. The order among groups of equal size comes
/// from `seed`; the order of the examples does not matter. With `k` of 0 or 1 there is one fold.
#[must_use]
pub fn grouped_folds(keys: &[&str], k: usize, seed: u64) -> Vec<usize> {
    let mut fold_of = vec![0; keys.len()];
    let mut sizes = vec![0_usize; k.max(1)];
    let mut groups = shuffled_groups(keys, seed);
    groups.sort_by_key(|members| std::cmp::Reverse(members.len()));
    for members in groups {
        let smallest = sizes.iter().enumerate().min_by_key(|(_, size)| **size).map_or(0, |(fold, _)| fold);
        sizes[smallest] += members.len();
        for member in members {
            fold_of[member] = smallest;
        }
    }
    fold_of
}

/// Splits examples in two; `true` marks the first part, which gets about `share` of them. Examples
/// with equal keys stay together, and with two groups or more neither part is empty.
#[must_use]
pub fn grouped_split(keys: &[&str], share: f64, seed: u64) -> Vec<bool> {
    let mut first = vec![false; keys.len()];
    let groups = shuffled_groups(keys, seed);
    let wanted = share.clamp(0.0, 1.0) * keys.len() as f64;
    let last = groups.len().saturating_sub(1);
    let (mut taken, mut groups_taken) = (0_usize, 0_usize);
    for (at, members) in groups.into_iter().enumerate() {
        let with = (taken + members.len()) as f64;
        let nearer = (with - wanted).abs() <= (taken as f64 - wanted).abs();
        let must = at == last && groups_taken == 0 && last > 0;
        let must_not = at == last && groups_taken == at && last > 0;
        if (nearer || must) && !must_not {
            taken += members.len();
            groups_taken += 1;
            for member in members {
                first[member] = true;
            }
        }
    }
    first
}

/// Indexes of the examples of each key, the groups in an order that depends on keys and seed alone.
fn shuffled_groups(keys: &[&str], seed: u64) -> Vec<Vec<usize>> {
    let mut by_key: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, key) in keys.iter().enumerate() {
        by_key.entry(key).or_default().push(index);
    }
    let mut groups: Vec<Vec<usize>> = by_key.into_values().collect();
    let mut random = SplitMix(seed);
    for last in (1..groups.len()).rev() {
        groups.swap(last, random.below(last + 1));
    }
    groups
}

/// `SplitMix64` (Steele, Lea and Flood 2014). Its own copy: this room uses no other.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n` by multiplication; the bias is below n / 2^64.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(sizes: &[usize]) -> Vec<String> {
        sizes.iter().enumerate().flat_map(|(key, size)| vec![format!("source-{key}"); *size]).collect()
    }

    fn borrowed(keys: &[String]) -> Vec<&str> {
        keys.iter().map(String::as_str).collect()
    }

    #[test]
    fn folds_are_balanced_and_no_key_straddles() {
        let keys = keys(&[6; 150]);
        let folds = grouped_folds(&borrowed(&keys), 5, 7);
        for fold in 0..5 {
            assert_eq!(folds.iter().filter(|f| **f == fold).count(), 180);
        }
        for group in folds.chunks(6) {
            assert!(group.iter().all(|fold| *fold == group[0]));
        }
    }

    #[test]
    fn the_seed_decides_and_the_order_of_examples_does_not() {
        let keys = keys(&[3, 1, 2, 2, 1, 3, 1, 2]);
        let keys = borrowed(&keys);
        assert_eq!(grouped_folds(&keys, 3, 1), grouped_folds(&keys, 3, 1));
        assert!((0..20).any(|seed| grouped_folds(&keys, 3, seed) != grouped_folds(&keys, 3, 1)));
        let reversed: Vec<&str> = keys.iter().rev().copied().collect();
        let mut folds = grouped_folds(&reversed, 3, 1);
        folds.reverse();
        assert_eq!(folds, grouped_folds(&keys, 3, 1));
    }

    #[test]
    fn fewer_groups_than_folds_leave_folds_empty_and_nothing_panics() {
        assert_eq!(grouped_folds(&[], 5, 0), Vec::<usize>::new());
        assert_eq!(grouped_folds(&["a", "a"], 0, 0), [0, 0]);
        let folds = grouped_folds(&["a", "b", "a"], 5, 0);
        assert_eq!(folds[0], folds[2]);
        assert_ne!(folds[0], folds[1]);
    }

    #[test]
    fn a_split_comes_near_its_share_and_leaves_neither_part_empty() {
        let many = keys(&[6; 150]);
        let first = grouped_split(&borrowed(&many), 0.5, 3);
        assert_eq!(first.iter().filter(|in_first| **in_first).count(), 450);
        for share in [0.0, 0.01, 0.99, 1.0, f64::NAN] {
            let first = grouped_split(&["a", "b", "b"], share, 1);
            assert!(first.contains(&true) && first.contains(&false), "{share}");
        }
        assert_eq!(grouped_split(&["a", "a"], 0.9, 0), [true, true]);
        assert!(grouped_split(&[], 0.5, 0).is_empty());
    }

    proptest! {
        #[test]
        fn equal_keys_always_share_a_part(labels in proptest::collection::vec("[a-e]", 0..40), k in 1usize..6, seed: u64) {
            let labels = borrowed(&labels);
            let folds = grouped_folds(&labels, k, seed);
            let first = grouped_split(&labels, 0.4, seed);
            for a in 0..labels.len() {
                prop_assert!(folds[a] < k);
                for b in 0..a {
                    if labels[a] == labels[b] {
                        prop_assert_eq!(folds[a], folds[b]);
                        prop_assert_eq!(first[a], first[b]);
                    }
                }
            }
        }
    }
}
