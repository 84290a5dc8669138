//! A part of a data set, by stable row number.

use std::str::FromStr;

/// Shard i of n holds the rows whose number leaves the remainder i - 1 when divided by n; rows are
/// numbered from 0, unusable ones and those of other shards counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    /// Whether the row is this shard's.
    #[must_use]
    pub const fn holds(self, row: usize) -> bool {
        row % self.of == self.index - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((index, of)) if 1 <= index && index <= of => Ok(Self { index, of }),
            _ => Err("expected i/n with 1 <= i <= n, for example 2/7".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_exactly_one_shard() {
        for of in [1, 2, 7] {
            let shards: Vec<Shard> = (1..=of).map(|index| format!("{index}/{of}").parse().unwrap()).collect();
            for row in 0..50 {
                assert_eq!(shards.iter().filter(|shard| shard.holds(row)).count(), 1, "row {row} of {of}");
            }
        }
        assert!("1/3".parse::<Shard>().unwrap().holds(0));
    }

    #[test]
    fn a_shard_that_does_not_exist_is_refused() {
        for text in ["0/3", "4/3", "1/0", "1", "a/b", "-1/3", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
