//! The name that was meant by one that is not known.

/// The candidate that differs least from `name`, if it differs little enough to be a slip.
///
/// Counted are characters put in, left out, replaced or swapped with their neighbour (optimal string
/// alignment distance), capitals aside; at most a third of the name's characters, and at least two, may differ.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.chars().flat_map(char::to_lowercase).take(LONGEST).collect();
    let most = (name.len() / 3).max(2);
    let distances = candidates.into_iter().map(|candidate| {
        let letters: Vec<char> = candidate.chars().flat_map(char::to_lowercase).take(LONGEST).collect();
        (distance(&name, &letters), candidate)
    });
    distances
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, found)| found)
}

/// No name is longer; a hostile one costs no more than this.
const LONGEST: usize = 64;

fn distance(one: &[char], other: &[char]) -> usize {
    let width = other.len() + 1;
    let mut before: Vec<usize> = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut now = vec![row + 1; width];
        for (column, wanted) in other.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != wanted);
            now[column + 1] = replaced.min(last[column + 1] + 1).min(now[column] + 1);
            let swapped = row > 0 && column > 0 && one[row - 1] == *wanted && other[column - 1] == *letter;
            if swapped {
                now[column + 1] = now[column + 1].min(before[column - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, now);
    }
    last[width - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_another_word_finds_none() {
        let names = ["theme", "token_threshold", "top_k", "rho"];
        for (slip, meant) in [
            ("theem", Some("theme")),
            ("Theme", Some("theme")),
            ("token-treshold", Some("token_threshold")),
            ("topk", Some("top_k")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(slip, names), meant, "{slip}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), names), None);
    }
}
