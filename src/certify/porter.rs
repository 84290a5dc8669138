//! The English stemmer of Porter (1980) with the departures of NLTK's default mode, which Google's
//! `rouge_score` uses.

/// Words whose stem is given, not derived (NLTK).
const IRREGULAR: [(&str, &str); 16] = [
    ("canning", "canning"),
    ("cannings", "canning"),
    ("dying", "die"),
    ("exceed", "exceed"),
    ("howe", "howe"),
    ("inning", "inning"),
    ("innings", "inning"),
    ("lying", "lie"),
    ("news", "news"),
    ("outing", "outing"),
    ("outings", "outing"),
    ("proceed", "proceed"),
    ("skies", "sky"),
    ("sky", "sky"),
    ("succeed", "succeed"),
    ("tying", "tie"),
];

/// The stem of a lower-case word; words of other scripts come back as they are.
#[must_use]
pub fn porter_stem(word: &str) -> String {
    if word.len() <= 2 || !word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        return word.to_owned();
    }
    if let Ok(at) = IRREGULAR.binary_search_by_key(&word, |&(form, _)| form) {
        return IRREGULAR[at].1.to_owned();
    }
    let mut stem = word.to_owned();
    plural(&mut stem);
    past_and_gerund(&mut stem);
    final_y(&mut stem);
    double_suffixes(&mut stem);
    replace_longest(&mut stem, &STEP_3, 0);
    single_suffixes(&mut stem);
    final_e(&mut stem);
    final_double_l(&mut stem);
    stem
}

const STEP_2: [(&str, &str); 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
];

const STEP_3: [(&str, &str); 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

/// `ement`, `ment`, `ent` and `ion` in this order: the first that fits decides.
const STEP_4: [&str; 19] = [
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism",
    "ate", "iti", "ous", "ive", "ize",
];

/// Step 1a: plurals.
fn plural(word: &mut String) {
    if word.ends_with("sses") {
        word.truncate(word.len() - 2);
    } else if word.ends_with("ies") {
        // NLTK: "dies" gives "die", "flies" gives "fli".
        word.truncate(word.len() - if word.len() == 4 { 1 } else { 2 });
    } else if word.ends_with('s') && !word.ends_with("ss") {
        word.truncate(word.len() - 1);
    }
}

/// Step 1b: -eed, -ed, -ing.
fn past_and_gerund(word: &mut String) {
    if word.ends_with("ied") {
        // NLTK: "died" gives "die", "spied" gives "spi".
        word.truncate(word.len() - if word.len() == 4 { 1 } else { 2 });
        return;
    }
    if let Some(stem) = word.strip_suffix("eed") {
        if measure(stem) > 0 {
            word.truncate(word.len() - 1);
        }
        return;
    }
    let cut = ["ed", "ing"].iter().find_map(|suffix| {
        let stem = word.strip_suffix(suffix)?;
        vowels(stem.as_bytes()).any(|vowel| vowel).then_some(stem.len())
    });
    let Some(cut) = cut else { return };
    word.truncate(cut);
    if ["at", "bl", "iz"].iter().any(|ending| word.ends_with(ending)) {
        word.push('e');
    } else if ends_in_double_consonant(word) {
        if !word.ends_with(['l', 's', 'z']) {
            word.truncate(word.len() - 1);
        }
    } else if measure(word) == 1 && ends_in_short_syllable(word) {
        word.push('e');
    }
}

/// Step 1c: -y after a consonant that is not the whole stem (NLTK), so that "say" and "by" stay.
fn final_y(word: &mut String) {
    if let Some(stem) = word.strip_suffix('y')
        && stem.len() > 1
        && is_consonant(stem.as_bytes(), stem.len() - 1)
    {
        word.truncate(word.len() - 1);
        word.push('i');
    }
}

/// Step 2.
fn double_suffixes(word: &mut String) {
    // NLTK: -alli gives -al first, and what comes out may lose another suffix.
    while let Some(stem) = word.strip_suffix("alli")
        && measure(stem) > 0
    {
        word.truncate(word.len() - 2);
    }
    if !replace_longest(word, &STEP_2, 0)
        && let Some(stem) = word.strip_suffix("ogi")
        && word.ends_with("logi")
        // NLTK counts the l to the stem, so that "geology" works like "archaeology".
        && measure(stem) > 0
    {
        word.truncate(word.len() - 1);
    }
}

/// Step 4: suffixes after a stem of measure above 1.
fn single_suffixes(word: &mut String) {
    let Some(suffix) = STEP_4.iter().find(|suffix| word.ends_with(**suffix)) else { return };
    let stem = &word[..word.len() - suffix.len()];
    if measure(stem) > 1 && (*suffix != "ion" || stem.ends_with(['s', 't'])) {
        word.truncate(stem.len());
    }
}

/// Step 5a.
fn final_e(word: &mut String) {
    if let Some(stem) = word.strip_suffix('e')
        && (measure(stem) > 1 || (measure(stem) == 1 && !ends_in_short_syllable(stem)))
    {
        word.truncate(word.len() - 1);
    }
}

/// Step 5b.
fn final_double_l(word: &mut String) {
    if word.ends_with("ll") && measure(&word[..word.len() - 1]) > 1 {
        word.truncate(word.len() - 1);
    }
}

/// Applies the first rule whose suffix fits, if the stem's measure is above `above`; says whether a
/// suffix fitted.
fn replace_longest(word: &mut String, rules: &[(&str, &str)], above: usize) -> bool {
    let Some((suffix, replacement)) = rules.iter().find(|(suffix, _)| word.ends_with(suffix)) else {
        return false;
    };
    let stem = word.len() - suffix.len();
    if measure(&word[..stem]) > above {
        word.truncate(stem);
        word.push_str(replacement);
    }
    true
}

/// Which letters are vowels: a, e, i, o, u, and y after a consonant.
fn vowels(letters: &[u8]) -> impl Iterator<Item = bool> {
    letters.iter().enumerate().scan(false, |previous, (at, &letter)| {
        *previous = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => true,
            b'y' => at > 0 && !*previous,
            _ => false,
        };
        Some(*previous)
    })
}

fn is_consonant(letters: &[u8], at: usize) -> bool {
    vowels(letters).nth(at) == Some(false)
}

/// m: how often a vowel is followed by a consonant.
fn measure(stem: &str) -> usize {
    let mut previous_is_vowel = false;
    vowels(stem.as_bytes())
        .filter(|&vowel| std::mem::replace(&mut previous_is_vowel, vowel) && !vowel)
        .count()
}

/// *d
fn ends_in_double_consonant(word: &str) -> bool {
    let letters = word.as_bytes();
    let n = letters.len();
    n >= 2 && letters[n - 1] == letters[n - 2] && is_consonant(letters, n - 1)
}

/// *o: consonant, vowel, consonant other than w, x, y; in NLTK also a word of vowel and consonant.
fn ends_in_short_syllable(word: &str) -> bool {
    let letters = word.as_bytes();
    match letters.len() {
        0 | 1 => false,
        2 => !is_consonant(letters, 0) && is_consonant(letters, 1),
        n => {
            is_consonant(letters, n - 3)
                && !is_consonant(letters, n - 2)
                && is_consonant(letters, n - 1)
                && !matches!(letters[n - 1], b'w' | b'x' | b'y')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_are_those_of_the_toolkit() {
        let table = include_str!("../../tests/golden/porter.tsv");
        let mut words = 0;
        for line in table.lines() {
            let (word, stem) = line.split_once('\t').unwrap();
            assert_eq!(porter_stem(word), stem, "stem of {word}");
            words += 1;
        }
        assert!(words > 500);
    }

    #[test]
    fn the_list_of_irregular_words_is_sorted_for_the_search() {
        assert!(IRREGULAR.is_sorted_by_key(|&(form, _)| form));
        assert_eq!(porter_stem("skies"), "sky");
    }

    #[test]
    fn other_scripts_and_a_very_long_run_of_y_come_back() {
        assert_eq!(porter_stem("zażółcing"), "zażółcing");
        assert_eq!(porter_stem("辞任"), "辞任");
        assert!(!porter_stem(&"y".repeat(2000)).is_empty());
    }
}
