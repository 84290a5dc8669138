//! Text of tokens as they come, in pieces that never cut a character.

use super::text_error::ModelTextError;
use super::tokenizer::ModelTokenizer;

/// Stands where bytes are no UTF-8: at the end of the text, where a character is not complete yet.
const REPLACEMENT: char = '\u{FFFD}';

/// Turns ids into pieces of text. The pieces, joined, are the text of all ids.
///
/// A byte-level token may hold a part of a character, and what a token reads like may depend on those
/// before it. So all ids are decoded every time, and what may still change is held back.
#[derive(Debug)]
pub struct TextStream<'t> {
    tokenizer: &'t ModelTokenizer,
    ids: Vec<u32>,
    text: String,
}

impl<'t> TextStream<'t> {
    pub fn new(tokenizer: &'t ModelTokenizer) -> Self {
        Self { tokenizer, ids: Vec::new(), text: String::new() }
    }

    /// Takes the next id and gives the text that is certain by now; often a word, sometimes nothing.
    pub fn push(&mut self, id: u32) -> Result<&str, ModelTextError> {
        self.ids.push(id);
        let decoded = self.tokenizer.decode(&self.ids)?;
        Ok(self.advance(decoded.trim_end_matches(REPLACEMENT)))
    }

    /// What was held back: bytes that never became a character stand as U+FFFD.
    pub fn finish(&mut self) -> Result<&str, ModelTextError> {
        let decoded = self.tokenizer.decode(&self.ids)?;
        Ok(self.advance(&decoded))
    }

    /// The pieces so far, joined.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Ids and text.
    pub fn into_parts(self) -> (Vec<u32>, String) {
        (self.ids, self.text)
    }

    fn advance(&mut self, decoded: &str) -> &str {
        let start = self.text.len();
        if let Some(more) = decoded.strip_prefix(self.text.as_str()) {
            self.text.push_str(more);
        }
        &self.text[start..]
    }
}

#[cfg(test)]
mod tests {
    use super::super::small_model::{CHATML, small_model};
    use super::*;

    /// The pieces, empty ones left out.
    fn pieces(tokenizer: &ModelTokenizer, ids: &[u32]) -> Vec<String> {
        let mut stream = TextStream::new(tokenizer);
        let mut pieces: Vec<String> = ids.iter().map(|id| stream.push(*id).unwrap().to_owned()).collect();
        pieces.push(stream.finish().unwrap().to_owned());
        assert_eq!(pieces.concat(), stream.text());
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    #[test]
    fn pieces_are_whole_characters_and_join_to_the_text() {
        let (tokenizer, _) = small_model(CHATML);
        let text = "é🙂 a\u{301} naïve 15 €";
        let ids = tokenizer.encode_data(text).unwrap().ids;
        let pieces = pieces(&tokenizer, &ids);
        let characters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(pieces, characters);
        assert!(ids.len() > pieces.len());
    }

    #[test]
    fn half_a_character_at_the_end_is_shown_as_such_and_only_then() {
        let (tokenizer, _) = small_model(CHATML);
        let ids = tokenizer.encode_data("a🙂").unwrap().ids;
        let pieces = pieces(&tokenizer, &ids[..ids.len() - 1]);
        assert_eq!(pieces[0], "a");
        assert_eq!(pieces.len(), 2);
        assert!(pieces[1].chars().all(|c| c == REPLACEMENT));
    }

    #[test]
    fn a_replacement_character_that_is_meant_waits_for_what_follows() {
        let (tokenizer, _) = small_model(CHATML);
        let ids = tokenizer.encode_data("a\u{FFFD}b").unwrap().ids;
        assert_eq!(pieces(&tokenizer, &ids), ["a", "\u{FFFD}b"]);
    }
}
