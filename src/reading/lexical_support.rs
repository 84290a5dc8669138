//! Whether the words of an answer occur in its passages: the plainest sign of support there is.

use std::collections::HashSet;
use std::ops::Range;

use crate::text::words;

/// English words that carry no content of their own: they occur everywhere and support nothing. Words of other
/// languages all count as content.
const FUNCTION_WORDS: [&str; 131] = [
    "a",
    "about",
    "above",
    "after",
    "again",
    "against",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "but",
    "by",
    "can",
    "could",
    "d",
    "did",
    "do",
    "does",
    "doing",
    "down",
    "during",
    "each",
    "few",
    "for",
    "from",
    "further",
    "had",
    "has",
    "have",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "him",
    "his",
    "how",
    "however",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "ll",
    "m",
    "may",
    "me",
    "might",
    "more",
    "most",
    "must",
    "my",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "only",
    "or",
    "other",
    "our",
    "out",
    "over",
    "own",
    "re",
    "s",
    "same",
    "shall",
    "she",
    "should",
    "so",
    "some",
    "such",
    "t",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "therefore",
    "these",
    "they",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "ve",
    "very",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "would",
    "yet",
    "you",
    "your",
];

/// The words of all passages, lower case.
pub(super) fn words_of(passages: &[&str]) -> HashSet<String> {
    passages.iter().flat_map(|passage| words(passage)).map(|word| word.text).collect()
}

/// 1 where the token belongs to a word that occurs in `known` or carries no content (punctuation, blanks, function
/// words), else 0, `[T]`. A token that touches several words is supported when all are.
pub(super) fn lexical_support(answer: &str, tokens: &[Range<usize>], known: &HashSet<String>) -> Vec<f32> {
    let unsupported: Vec<Range<usize>> = words(answer)
        .into_iter()
        .filter(|word| !FUNCTION_WORDS.contains(&word.text.as_str()) && !known.contains(&word.text))
        .map(|word| word.range)
        .collect();
    let touches = |token: &Range<usize>| {
        let first = unsupported.partition_point(|word| word.end <= token.start);
        unsupported.get(first).is_some_and(|word| word.start < token.end)
    };
    tokens.iter().map(|token| if touches(token) { 0.0 } else { 1.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_takes_the_value_of_its_whole_word() {
        let known = words_of(&["The FERRY runs in summer.", "市 運河"]);
        let answer = "The fer|ry | stops| in| Kyoto|.";
        let mut tokens = Vec::new();
        let mut text = String::new();
        for piece in answer.split('|') {
            tokens.push(text.len()..text.len() + piece.len());
            text.push_str(piece);
        }
        assert_eq!(text, "The ferry  stops in Kyoto.");
        assert_eq!(lexical_support(&text, &tokens, &known), [1.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn words_of_other_scripts_count_and_an_empty_answer_has_no_values() {
        let known = words_of(&["市"]);
        assert_eq!(lexical_support("市川", &[0..3, 3..6], &known), [1.0, 0.0]);
        assert!(lexical_support("", &[], &known).is_empty());
        let mut sorted = FUNCTION_WORDS;
        sorted.sort_unstable();
        assert_eq!(sorted, FUNCTION_WORDS);
    }
}
