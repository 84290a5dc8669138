//! Where the word of the token under the cursor stands in a chunk: the same word, which is no attention.

use std::ops::Range;

use crate::text::words;
use crate::tui::model::Model;

/// Bytes on either side of a token in which its word is looked for.
const REACH: usize = 64;

/// Places of one word in a text, in order.
#[derive(Debug, Default)]
pub struct SameWords {
    places: Vec<Range<usize>>,
}

impl SameWords {
    /// Places in `text` of the words that the token under the cursor is or belongs to.
    pub fn of(model: &Model, text: &str) -> Self {
        let wanted = token_words(model);
        if wanted.is_empty() {
            return Self::default();
        }
        let same = words(text).into_iter().filter(|word| wanted.contains(&word.text));
        Self { places: same.map(|word| word.range).collect() }
    }

    /// How often they stand there.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Whether a piece of the text belongs to one.
    pub fn holds(&self, range: &Range<usize>) -> bool {
        let at = self.places.partition_point(|place| place.end <= range.start);
        self.places.get(at).is_some_and(|place| place.start < range.end)
    }
}

/// The words of the answer that the token overlaps, lower-cased.
fn token_words(model: &Model) -> Vec<String> {
    let token = model.reading().and_then(|reading| reading.tokens.get(model.token));
    let answer = model.evidence().and_then(|evidence| evidence.answer.as_deref());
    let (Some([start, end]), Some(answer)) = (token, answer) else { return Vec::new() };
    let boundary = |at: usize| (0..=at.min(answer.len())).rev().find(|at| answer.is_char_boundary(*at));
    let (from, to) = (boundary(start.saturating_sub(REACH)), boundary(end.saturating_add(REACH)));
    let (Some(from), Some(to)) = (from, to) else { return Vec::new() };
    let near = answer.get(from..to).unwrap_or_default();
    let overlaps = |range: &Range<usize>| range.start + from < *end && *start < range.end + from;
    words(near).into_iter().filter(|word| overlaps(&word.range)).map(|word| word.text).collect()
}
