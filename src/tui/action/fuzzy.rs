//! Fuzzy matching for the palette: letters in order, together and at the start of words counts most.

/// A match: how good, and which characters of the text (counted from 0) it took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fuzzy {
    pub score: i32,
    pub characters: Vec<usize>,
}

/// Every word of `query` as a subsequence of `text`, capitals aside; `None` where one is missing.
pub fn fuzzy(query: &str, text: &str) -> Option<Fuzzy> {
    let letters: Vec<char> = text.chars().map(lower).collect();
    let mut all = Fuzzy::default();
    for word in query.split_whitespace() {
        let word: Vec<char> = word.chars().map(lower).collect();
        let found = best(&word, &letters)?;
        all.score += found.score;
        all.characters.extend(found.characters);
    }
    all.characters.sort_unstable();
    all.characters.dedup();
    Some(all)
}

/// The best of the matches that begin at each place of the first letter.
fn best(word: &[char], letters: &[char]) -> Option<Fuzzy> {
    let first = word.first()?;
    let starts = letters.iter().enumerate().filter(|(_, letter)| *letter == first);
    starts.filter_map(|(start, _)| from(word, letters, start)).max_by_key(|found| found.score)
}

fn from(word: &[char], letters: &[char], start: usize) -> Option<Fuzzy> {
    let mut characters = Vec::with_capacity(word.len());
    let mut score = 0;
    let mut at = start;
    for letter in word {
        let found = at + letters.get(at..)?.iter().position(|other| other == letter)?;
        let begins_word = found == 0 || !letters[found - 1].is_alphanumeric();
        let follows = characters.last().is_some_and(|last| last + 1 == found);
        score += 1 + if follows { 6 } else { 0 } + if begins_word { 4 } else { 0 };
        if !follows && !begins_word && !characters.is_empty() {
            score -= 2;
        }
        characters.push(found);
        at = found + 1;
    }
    // Of two equal matches the earlier one, and the one in the shorter text.
    score -= (start as i32).min(20) / 10 + (letters.len() as i32).min(80) / 40;
    Some(Fuzzy { score, characters })
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order<'a>(query: &str, texts: &[&'a str]) -> Vec<&'a str> {
        let mut found: Vec<(i32, &str)> =
            texts.iter().filter_map(|text| Some((-fuzzy(query, text)?.score, *text))).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn letters_must_come_in_order_and_every_word_must_be_found() {
        assert!(fuzzy("nfs", "next flagged span").is_some());
        assert!(fuzzy("sfn", "next flagged span").is_none());
        assert!(fuzzy("span next", "next flagged span").is_some());
        assert!(fuzzy("span gone", "next flagged span").is_none());
        assert_eq!(fuzzy("", "anything"), Some(Fuzzy::default()));
        assert!(fuzzy("a", "").is_none());
    }

    #[test]
    fn what_is_typed_as_it_stands_comes_before_scattered_letters() {
        assert_eq!(
            order("span", &["scores of the pane and more", "next flagged span", "to the examples"]),
            ["next flagged span", "scores of the pane and more"]
        );
        assert_eq!(
            order("res", &["the score rows", "reset the slider"]),
            ["reset the slider", "the score rows"]
        );
    }

    #[test]
    fn the_characters_that_matched_are_told() {
        assert_eq!(fuzzy("NS", "next span").unwrap().characters, [0, 5]);
        assert_eq!(fuzzy("öl", "größe Öl").unwrap().characters, [6, 7]);
    }
}
