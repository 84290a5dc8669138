//! Pieces of a text that can be exchanged for those of another text: names, numbers, dates, whole sentences.
//!
//! Found by their spelling, without a model. What is missed is not exchanged; what is taken for the wrong kind is
//! still exchanged for something that is written alike.

use std::ops::Range;

use crate::text::{sentences, words};

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PieceKind {
    /// Capitalised words in a row, not at the start of a sentence.
    Entity,
    /// Digits with their separators, not part of a word.
    Number,
    /// A day, month or year in English, or a year from 1500 to 2099 alone.
    Date,
    /// A whole sentence.
    Sentence,
}

impl PieceKind {
    /// The name that labels carry.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Entity => "entity",
            Self::Number => "number",
            Self::Date => "date",
            Self::Sentence => "sentence",
        }
    }
}

/// A piece of a text, in bytes. Pieces of one kind and shape can stand for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: PieceKind,
    pub(super) range: Range<usize>,
    /// Of a number, its digits as `9` (a leading zero stays); of a date, the order of its parts; of names, whether
    /// they are one word, several, or capitals.
    pub(super) shape: String,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Words that begin a sentence before a name without being part of it.
const OPENERS: [&str; 25] = [
    "A", "After", "Although", "An", "And", "As", "At", "Because", "Before", "But", "By", "During", "For",
    "From", "If", "In", "On", "Since", "The", "Though", "To", "Under", "When", "While", "With",
];

/// Words of a sentence that is worth exchanging.
const SENTENCE_WORDS: usize = 5;

/// Names, numbers and dates in order; none overlaps another.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let tokens = tokens(text);
    let starts: Vec<usize> = sentences(text).into_iter().map(|sentence| sentence.start).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let next = date(text, &tokens[at..])
            .or_else(|| number(text, &tokens[at]))
            .or_else(|| entity(text, &tokens[at..], &starts));
        match next {
            Some((taken, piece)) => {
                found.extend(piece);
                at += taken.max(1);
            }
            None => at += 1,
        }
    }
    found
}

/// Sentences of five words or more.
pub(super) fn whole_sentences(text: &str) -> Vec<Piece> {
    sentences(text)
        .into_iter()
        .filter(|range| words(&text[range.clone()]).len() >= SENTENCE_WORDS)
        .map(|range| Piece { kind: PieceKind::Sentence, range, shape: String::new() })
        .collect()
}

/// Letters and digits in a row, with hyphens and apostrophes inside words and separators inside numbers.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut characters = text.char_indices().peekable();
    let mut before: Option<char> = None;
    let mut open: Option<usize> = None;
    while let Some((at, c)) = characters.next() {
        let after = characters.peek().map(|(_, c)| *c);
        let digits = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let letter_or_digit = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let joins = match c {
            '.' | ',' => digits(before) && digits(after),
            '-' | '\'' | '\u{2019}' => {
                letter_or_digit(before) && letter_or_digit(after) && !(digits(before) && digits(after))
            }
            _ => c.is_alphanumeric(),
        };
        match (joins, open) {
            (true, None) => open = Some(at),
            (false, Some(start)) => {
                found.push(start..at);
                open = None;
            }
            _ => {}
        }
        before = Some(c);
    }
    found.extend(open.map(|start| start..text.len()));
    found
}

/// How many tokens were consumed, and the piece they are, if any.
type Taken = (usize, Option<Piece>);

/// The longest date that begins with the first token.
fn date(text: &str, tokens: &[Range<usize>]) -> Option<Taken> {
    const SHAPES: [&str; 6] = ["MDY", "DMY", "MY", "MD", "DM", "Y"];
    let fits = |shape: &&str| {
        let (Some(tokens), letters) = (tokens.get(..shape.len()), shape.bytes()) else { return false };
        let parts = tokens.iter().zip(letters).all(|(range, part)| {
            let token = &text[range.clone()];
            let number = token.parse::<u32>().ok().filter(|_| token.bytes().all(|b| b.is_ascii_digit()));
            match part {
                b'M' => MONTHS.contains(&token),
                b'D' => token.len() <= 2 && number.is_some_and(|day| (1..=31).contains(&day)),
                _ => token.len() == 4 && number.is_some_and(|year| (1500..2100).contains(&year)),
            }
        });
        let gaps =
            tokens.windows(2).all(|pair| matches!(&text[pair[0].end..pair[1].start], " " | ", " | " , "));
        parts && gaps
    };
    let shape = SHAPES.iter().find(|shape| fits(shape))?;
    let range = tokens.first()?.start..tokens.get(shape.len() - 1)?.end;
    Some((shape.len(), Some(Piece { kind: PieceKind::Date, range, shape: (*shape).to_owned() })))
}

fn number(text: &str, token: &Range<usize>) -> Option<Taken> {
    let digits = &text[token.clone()];
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b',') {
        return None;
    }
    let shape = digits
        .char_indices()
        .map(|(at, c)| if c.is_ascii_digit() && !(at == 0 && c == '0') { '9' } else { c })
        .collect();
    Some((1, Some(Piece { kind: PieceKind::Number, range: token.clone(), shape })))
}

/// Names in a row, one blank apart. Those at the start of a sentence are passed over: there every word is
/// capitalised.
fn entity(text: &str, tokens: &[Range<usize>], sentence_starts: &[usize]) -> Option<Taken> {
    let mut taken = 0;
    let mut end = None;
    for (number, token) in tokens.iter().enumerate() {
        let apart = number > 0 && &text[tokens[number - 1].end..token.start] != " ";
        if apart || !is_name(&text[token.clone()]) {
            break;
        }
        taken = number + 1;
        let word = &text[token.clone()];
        let owner = word.strip_suffix("'s").or_else(|| word.strip_suffix("\u{2019}s"));
        end = Some(token.start + owner.unwrap_or(word).len());
        if owner.is_some() {
            break;
        }
    }
    let (first, end) = (tokens.first()?, end?);
    // Marks may stand between the start of a sentence and its first word; a colon begins something new as well.
    let before = text[..first.start].trim_end();
    let opening = before.ends_with(':')
        || sentence_starts.iter().any(|start| {
            *start <= first.start && !text[*start..first.start].chars().any(char::is_alphanumeric)
        });
    if opening {
        // After "In" a name may follow; what follows another capitalised word is part of its name.
        return Some((if OPENERS.contains(&&text[first.clone()]) { 1 } else { taken }, None));
    }
    let names = &text[first.start..end];
    let shape = match taken {
        1 if names.chars().all(char::is_uppercase) => "capitals",
        1 => "one word",
        _ => "several words",
    };
    let piece = Piece { kind: PieceKind::Entity, range: first.start..end, shape: shape.to_owned() };
    Some((taken, Some(piece)))
}

fn is_name(token: &str) -> bool {
    let alphabetic = |c: char| c.is_alphabetic() || matches!(c, '-' | '\'' | '\u{2019}');
    token.starts_with(char::is_uppercase)
        && token.chars().nth(1).is_some_and(char::is_alphabetic)
        && token.chars().all(alphabetic)
        && !MONTHS.contains(&token)
        && !WEEKDAYS.contains(&token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&'static str, &str)> {
        pieces(text).into_iter().map(|piece| (piece.kind.name(), &text[piece.range])).collect()
    }

    #[test]
    fn names_are_found_except_at_the_start_of_a_sentence() {
        assert_eq!(
            found(
                "In New York the mayor met Jean-Luc Émile's aide. Roger Ito of NASA said I left on Monday."
            ),
            [("entity", "New York"), ("entity", "Jean-Luc Émile"), ("entity", "NASA")]
        );
        assert_eq!(found("Result: Mice ate. (The) end. “Paris” is big."), []);
    }

    #[test]
    fn dates_are_found_whole_and_other_digits_are_numbers() {
        assert_eq!(
            found(
                "It opened on July 11, 1909 and 5 May 1931, in March 1940 or 1950, for 2,500 of 0.05 or 1200."
            ),
            [
                ("date", "July 11, 1909"),
                ("date", "5 May 1931"),
                ("date", "March 1940"),
                ("date", "1950"),
                ("number", "2,500"),
                ("number", "0.05"),
                ("number", "1200"),
            ]
        );
    }

    #[test]
    fn digits_inside_words_are_no_numbers() {
        assert_eq!(found("the p53, IL-6 and 10-year 3D cells of the 1930s, 11th"), []);
        assert_eq!(
            found("a range of 2-3 or 4–5"),
            [("number", "2"), ("number", "3"), ("number", "4"), ("number", "5")]
        );
    }

    #[test]
    fn the_shape_of_a_number_keeps_its_separators_and_a_leading_zero() {
        let shapes: Vec<String> =
            pieces("about 1,234 of 0.05 and 37.2").into_iter().map(|piece| piece.shape).collect();
        assert_eq!(shapes, ["9,999", "0.99", "99.9"]);
    }

    #[test]
    fn any_text_gives_pieces_in_order_that_do_not_overlap() {
        for text in
            ["", "é", "A", "May", "May 1931", "1931,", "'s A's B's", "🙂 Ω’s 1.2.3, 4.", "12 May", "X.Y Zé-"]
        {
            let found = pieces(text);
            assert!(found.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start), "{text:?}");
            assert!(found.iter().all(|piece| text.get(piece.range.clone()).is_some_and(|t| !t.is_empty())));
        }
    }

    #[test]
    fn short_sentences_are_not_exchanged() {
        let text = "It began in 1931 there. No. The boat is 40 m long.";
        let whole: Vec<&str> = whole_sentences(text).into_iter().map(|piece| &text[piece.range]).collect();
        assert_eq!(whole, ["It began in 1931 there.", "The boat is 40 m long."]);
    }
}
