//! How the index sees text: the same for chunks and questions.

use std::ops::Range;

use tantivy::tokenizer::{Language, RemoveLongFilter, Stemmer, TextAnalyzer, Token, TokenStream, Tokenizer};

use crate::text::words;

/// Longer words, in bytes, are no words: hashes, data URLs.
const LONGEST_WORD: usize = 256;

/// Lower-cased words as in [`words`], and pairs of touching ones: a script without spaces is indexed
/// by its characters and their bigrams. Stop words are kept.
pub(super) fn analyser(english_stemmer: bool) -> TextAnalyzer {
    let words = TextAnalyzer::builder(WordsAndBigrams).filter(RemoveLongFilter::limit(LONGEST_WORD));
    if english_stemmer { words.filter(Stemmer::new(Language::English)).build() } else { words.build() }
}

#[derive(Clone)]
struct WordsAndBigrams;

impl Tokenizer for WordsAndBigrams {
    type TokenStream<'a> = Terms;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Terms {
        let words = words(text);
        let mut terms = Vec::with_capacity(words.len());
        for (at, word) in words.iter().enumerate() {
            terms.push((word.text.clone(), word.range.clone()));
            if let Some(next) = words.get(at + 1)
                && next.range.start == word.range.end
            {
                terms.push((format!("{}{}", word.text, next.text), word.range.start..next.range.end));
            }
        }
        Terms { terms: terms.into_iter(), token: Token::default() }
    }
}

struct Terms {
    terms: std::vec::IntoIter<(String, Range<usize>)>,
    token: Token,
}

impl TokenStream for Terms {
    fn advance(&mut self) -> bool {
        let Some((text, range)) = self.terms.next() else { return false };
        self.token.text = text;
        self.token.offset_from = range.start;
        self.token.offset_to = range.end;
        // `Token::default()` starts before position 0.
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str, stemmer: bool) -> Vec<String> {
        let mut found = Vec::new();
        analyser(stemmer).token_stream(text).process(&mut |token| found.push(token.text.clone()));
        found
    }

    #[test]
    fn words_are_those_of_the_text_room_and_unspaced_scripts_add_bigrams() {
        assert_eq!(terms("What's \"Alba\"?", false), ["what", "s", "alba"]);
        assert_eq!(terms("市長は", false), ["市", "市長", "長", "長は", "は"]);
        assert_eq!(terms("Zażółć", false), ["zażółć"]);
        assert!(terms("*** ?! —", false).is_empty());
    }

    #[test]
    fn the_stemmer_is_a_switch_and_endless_words_are_dropped() {
        assert_eq!(terms("running ferries", true), ["run", "ferri"]);
        assert_eq!(terms("running ferries", false), ["running", "ferries"]);
        assert!(terms(&"a".repeat(100_000), false).is_empty());
    }
}
