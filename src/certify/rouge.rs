//! ROUGE-L: how much of a reference answer a chunk contains, by their longest common subsequence.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::porter::porter_stem;
use crate::text::words;

/// What counts as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RougeMode {
    /// Words of every script ([`words`]); equal to the other on ASCII text.
    #[default]
    Unicode,
    /// Google's `rouge_score`: `[a-z0-9]+` after lower-casing. Text of other scripts has no words, and
    /// every similarity with it is 0.
    RougeScore,
}

/// How texts become words. `Default`: Unicode words, no stemming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RougeSettings {
    pub mode: RougeMode,
    /// Porter stems of words longer than three letters.
    pub stemming: bool,
}

impl RougeSettings {
    /// The words that are compared, in order.
    #[must_use]
    pub fn words(self, text: &str) -> Vec<String> {
        let found: Vec<String> = match self.mode {
            RougeMode::Unicode => words(text).into_iter().map(|word| word.text).collect(),
            RougeMode::RougeScore => text
                .to_lowercase()
                .split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit())
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect(),
        };
        if !self.stemming {
            return found;
        }
        found
            .into_iter()
            .map(|word| if word.chars().count() > 3 { porter_stem(&word) } else { word })
            .collect()
    }
}

/// Shares of a longest common subsequence of n words; all 0 when either text has no word.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Rouge {
    /// n / words of the candidate (the chunk).
    pub precision: f64,
    /// n / words of the reference (the answer).
    pub recall: f64,
    /// Harmonic mean of the two.
    pub f_measure: f64,
}

/// ROUGE-L of two texts; see [`rouge_l_words`] for texts that are compared more than once.
#[must_use]
pub fn rouge_l(candidate: &str, reference: &str, settings: RougeSettings) -> Rouge {
    rouge_l_words(&settings.words(candidate), &settings.words(reference))
}

/// ROUGE-L of two lists of words made by [`RougeSettings::words`].
#[must_use]
pub fn rouge_l_words(candidate: &[String], reference: &[String]) -> Rouge {
    let common = longest_common_subsequence(candidate, reference) as f64;
    if common == 0.0 {
        return Rouge::default();
    }
    let precision = common / candidate.len() as f64;
    let recall = common / reference.len() as f64;
    Rouge { precision, recall, f_measure: 2.0 * precision * recall / (precision + recall) }
}

/// Length of a longest common subsequence, 64 cells of the table at a time (Hyyrö 2004): a zero bit
/// marks a row where the length grows.
fn longest_common_subsequence(first: &[String], second: &[String]) -> usize {
    let (rows, columns) = if first.len() <= second.len() { (first, second) } else { (second, first) };
    if rows.is_empty() {
        return 0;
    }
    let blocks = rows.len().div_ceil(64);
    let mut occurrences: HashMap<&str, Vec<u64>> = HashMap::new();
    for (row, word) in rows.iter().enumerate() {
        occurrences.entry(word).or_insert_with(|| vec![0; blocks])[row / 64] |= 1 << (row % 64);
    }
    let mut state = vec![u64::MAX; blocks];
    for word in columns {
        let Some(matches) = occurrences.get(word.as_str()) else { continue };
        let mut carry = false;
        for (bits, &matching) in state.iter_mut().zip(matches) {
            let kept = *bits & matching;
            let (sum, over) = bits.overflowing_add(kept);
            let (sum, over_by_carry) = sum.overflowing_add(u64::from(carry));
            carry = over || over_by_carry;
            *bits = sum | (*bits & !matching);
        }
    }
    // Bits beyond the last row never match, and a carry into them must not count.
    let beyond = blocks * 64 - rows.len();
    if beyond > 0
        && let Some(last) = state.last_mut()
    {
        *last |= u64::MAX << (64 - beyond);
    }
    state.iter().map(|bits| bits.count_zeros() as usize).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COMPATIBLE: RougeSettings = RougeSettings { mode: RougeMode::RougeScore, stemming: false };

    #[test]
    fn equal_texts_of_any_script_are_fully_similar_by_default() {
        for text in ["市長は十二月に辞任した", "Zażółć gęślą jaźń"] {
            let found = rouge_l(text, text, RougeSettings::default());
            assert_eq!((found.precision, found.recall, found.f_measure), (1.0, 1.0, 1.0));
        }
    }

    #[test]
    fn the_compatible_mode_sees_nothing_in_other_scripts_and_gives_zero_not_nan() {
        let text = "市長は十二月に辞任した";
        assert_eq!(rouge_l(text, text, COMPATIBLE), Rouge::default());
        assert!(COMPATIBLE.words(text).is_empty());
        assert_eq!(rouge_l("", "", RougeSettings::default()), Rouge::default());
    }

    #[test]
    fn both_modes_agree_on_ascii_text() {
        let (chunk, answer) = ("The pump (No. 3) isn't started_yet!", "pump no 3 is started");
        assert_eq!(rouge_l(chunk, answer, COMPATIBLE), rouge_l(chunk, answer, RougeSettings::default()));
    }

    #[test]
    fn stemming_leaves_words_of_three_letters_alone() {
        let stemming = RougeSettings { stemming: true, ..RougeSettings::default() };
        assert_eq!(stemming.words("was runs running"), ["was", "run", "run"]);
        assert_eq!(stemming.words("gas bus"), ["gas", "bus"]);
    }

    /// The textbook table.
    fn by_table(first: &[String], second: &[String]) -> usize {
        let mut row = vec![0; second.len() + 1];
        for a in first {
            let mut diagonal = 0;
            for (at, b) in second.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if a == b { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[second.len()]
    }

    proptest! {
        #[test]
        fn the_measures_are_shares_and_f_knows_no_side(
            one in "([a-cé市] ?){0,20}", other in "([a-cé市] ?){0,20}", stemming: bool,
        ) {
            for mode in [RougeMode::Unicode, RougeMode::RougeScore] {
                let settings = RougeSettings { mode, stemming };
                let (forth, back) = (rouge_l(&one, &other, settings), rouge_l(&other, &one, settings));
                for share in [forth.precision, forth.recall, forth.f_measure] {
                    prop_assert!((0.0..=1.0).contains(&share), "{forth:?}");
                }
                prop_assert_eq!(forth.f_measure, back.f_measure);
                prop_assert_eq!((forth.precision, forth.recall), (back.recall, back.precision));
                let same = rouge_l(&one, &one, settings).f_measure;
                prop_assert!(same == 1.0 || settings.words(&one).is_empty());
            }
        }

        #[test]
        fn the_bit_parallel_length_is_that_of_the_table(
            first in proptest::collection::vec(0_u8..6, 0..200),
            second in proptest::collection::vec(0_u8..6, 0..200),
        ) {
            let words = |numbers: &[u8]| numbers.iter().map(u8::to_string).collect::<Vec<_>>();
            let (first, second) = (words(&first), words(&second));
            prop_assert_eq!(longest_common_subsequence(&first, &second), by_table(&first, &second));
        }
    }
}
