//! One line of text that is being typed: a cursor that moves by what a reader calls a character.

use unicode_segmentation::UnicodeSegmentation;

/// Characters that an input takes at most: a pasted book is no question and no file name.
const MOST: usize = 4_000;

/// Text with a cursor between two graphemes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineInput {
    text: String,
    /// Byte offset, always between two graphemes.
    cursor: usize,
}

impl LineInput {
    /// With the cursor behind `text`.
    pub fn new(text: &str) -> Self {
        let mut input = Self::default();
        input.insert(text);
        input
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Byte offset of the cursor.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// What stands before the cursor.
    pub fn before(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// What stands behind the cursor.
    pub fn after(&self) -> &str {
        &self.text[self.cursor..]
    }

    /// Takes text in at the cursor: line breaks and tabs as one blank each, other control characters not at
    /// all. `false`: it was too much, and the end of it is missing.
    pub fn insert(&mut self, text: &str) -> bool {
        let room = MOST.saturating_sub(self.text.chars().count());
        let mut shown = text.replace("\r\n", "\n");
        shown = shown
            .chars()
            .filter_map(|c| match c {
                '\n' | '\r' | '\t' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some(' '),
                c if c.is_control() => None,
                c => Some(c),
            })
            .collect();
        let fits = shown.chars().count() <= room;
        if !fits {
            shown = shown.chars().take(room).collect();
        }
        self.text.insert_str(self.cursor, &shown);
        // A mark that joins the letter before it moves with it.
        self.cursor = self.boundary_from(self.cursor + shown.len());
        fits
    }

    /// Removes the grapheme before the cursor.
    pub fn erase(&mut self) {
        self.remove_from(self.boundary_before(self.cursor));
    }

    /// Removes the grapheme behind the cursor.
    pub fn delete(&mut self) {
        let end = self.boundary_after(self.cursor);
        self.text.replace_range(self.cursor..end, "");
        self.cursor = self.boundary_from(self.cursor);
    }

    /// Removes the word before the cursor, and the blanks behind it.
    pub fn erase_word(&mut self) {
        self.remove_from(self.word_before());
    }

    /// Removes all that stands before the cursor.
    pub fn erase_to_start(&mut self) {
        self.remove_from(0);
    }

    pub fn left(&mut self) {
        self.cursor = self.boundary_before(self.cursor);
    }

    pub fn right(&mut self) {
        self.cursor = self.boundary_after(self.cursor);
    }

    pub fn word_left(&mut self) {
        self.cursor = self.word_before();
    }

    pub fn word_right(&mut self) {
        let after = self.after();
        let words = after.len() - after.trim_start().len();
        let end = after[words..].find(char::is_whitespace).map_or(after.len(), |blank| words + blank);
        self.cursor += end;
    }

    pub fn home(&mut self) {
        self.cursor = 0;
    }

    pub fn end(&mut self) {
        self.cursor = self.text.len();
    }

    fn remove_from(&mut self, start: usize) {
        self.text.replace_range(start..self.cursor, "");
        self.cursor = self.boundary_from(start);
    }

    fn word_before(&self) -> usize {
        let words = self.before().trim_end();
        words.char_indices().rfind(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8())
    }

    /// Where graphemes begin, and the end.
    fn boundaries(&self) -> impl Iterator<Item = usize> {
        self.text.grapheme_indices(true).map(|(at, _)| at).chain([self.text.len()])
    }

    fn boundary_before(&self, at: usize) -> usize {
        self.boundaries().take_while(|boundary| *boundary < at).last().unwrap_or(0)
    }

    fn boundary_after(&self, at: usize) -> usize {
        self.boundaries().find(|boundary| *boundary > at).unwrap_or(self.text.len())
    }

    fn boundary_from(&self, at: usize) -> usize {
        self.boundaries().find(|boundary| *boundary >= at).unwrap_or(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_cursor_moves_and_erases_by_what_a_reader_calls_a_character() {
        let mut input = LineInput::new("né👨‍👩‍👧e\u{301}");
        input.left();
        assert_eq!(input.after(), "e\u{301}");
        input.left();
        assert_eq!(input.before(), "né");
        input.delete();
        assert_eq!(input.text(), "née\u{301}");
        input.end();
        input.erase();
        assert_eq!((input.text(), input.cursor()), ("né", 3));
    }

    #[test]
    fn a_pasted_text_is_one_line_without_what_acts_on_a_terminal() {
        let mut input = LineInput::new("Who was\tmayor\r\nin 1870?\u{1b}[2J\u{7}\n");
        assert_eq!(input.text(), "Who was mayor in 1870?[2J ");
        assert!(!input.insert(&"x".repeat(MOST)));
        assert_eq!(input.text().chars().count(), MOST);
    }

    #[test]
    fn words_are_jumped_over_and_erased_whole() {
        let mut input = LineInput::new("who was  mayor ");
        input.word_left();
        assert_eq!(input.after(), "mayor ");
        input.erase_word();
        assert_eq!((input.before(), input.after()), ("who ", "mayor "));
        input.word_right();
        assert_eq!(input.after(), " ");
        input.erase_to_start();
        assert_eq!(input.text(), " ");
    }

    proptest! {
        #[test]
        fn no_sequence_of_keys_leaves_the_cursor_inside_a_character(
            keys in proptest::collection::vec((0_u8..9, "\\PC{0,3}"), 0..40)
        ) {
            let mut input = LineInput::default();
            for (key, text) in keys {
                match key {
                    0 => input.erase(),
                    1 => input.delete(),
                    2 => input.left(),
                    3 => input.right(),
                    4 => input.word_left(),
                    5 => input.word_right(),
                    6 => input.erase_word(),
                    7 => input.home(),
                    _ => { input.insert(&text); }
                }
                prop_assert!(input.boundaries().any(|boundary| boundary == input.cursor()));
            }
        }
    }
}
