//! Wrapping text into lines of cells that know which bytes of the original they show.

use std::ops::Range;

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

use crate::text::visible;

/// A short text of the inspector's own, shown after the character that ends at byte `at`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub at: usize,
    pub text: String,
}

/// One grapheme (or mark) on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What is shown.
    pub text: String,
    /// First column, and number of columns.
    pub column: u16,
    pub width: u16,
    /// Bytes of the original text; empty for a mark.
    pub range: Range<usize>,
    /// Index of the mark, where this is one.
    pub mark: Option<usize>,
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Bytes of the visible text, with the blanks and the line feed at the end, which are not shown.
    pub range: Range<usize>,
    pub pieces: Vec<Piece>,
}

/// Wrapped text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wrapped {
    /// The text with control characters made visible: what the lines' ranges count in.
    pub visible: String,
    /// At least one line.
    pub lines: Vec<Line>,
}

impl Wrapped {
    /// What a line shows, blanks at its end included, the line feed not.
    pub fn shown(&self, line: &Line) -> &str {
        self.visible.get(line.range.clone()).unwrap_or_default().trim_end_matches('\n')
    }

    /// The first line that shows some of these bytes of the original.
    pub fn line_at(&self, bytes: &Range<usize>) -> Option<usize> {
        let shows = |piece: &Piece| piece.range.start < bytes.end && bytes.start < piece.range.end;
        self.lines.iter().position(|line| line.pieces.iter().any(shows))
    }

    /// The first line to show on `height` lines: `scroll`, or as near to it as has the line `kept` in sight.
    pub fn first_shown(&self, scroll: u16, height: usize, kept: Option<usize>) -> usize {
        let scroll = usize::from(scroll).min(self.lines.len().saturating_sub(height));
        kept.map_or(scroll, |kept| scroll.max((kept + 1).saturating_sub(height)).min(kept))
    }
}

struct Grapheme {
    text: String,
    width: u16,
    /// Bytes of the visible text.
    shown: Range<usize>,
    /// Bytes of the original.
    range: Range<usize>,
    /// Marks glued to its end.
    marks: Vec<usize>,
}

/// Wraps at blanks and beside wide characters; a word longer than a line is cut between graphemes.
///
/// Concatenating the lines' ranges gives the visible text, and no line is wider than `width`: a
/// grapheme wider than a whole line is shown as an ellipsis.
pub fn wrap(text: &str, width: u16, marks: &[Mark]) -> Wrapped {
    let width = width.max(1);
    let (visible, graphemes) = graphemes(text, width, marks);
    let mut layout = Layout { width, marks, lines: vec![Line::default()], column: 0 };
    let mut at = 0;
    while at < graphemes.len() {
        let end = word_end(&graphemes, at);
        layout.word(&graphemes[at..end]);
        at = end;
    }
    Wrapped { visible, lines: layout.lines }
}

fn graphemes(text: &str, width: u16, marks: &[Mark]) -> (String, Vec<Grapheme>) {
    let visible = visible(text).into_owned();
    // One character stands for one character, so the two texts are walked side by side.
    let mut original = text.chars();
    let (mut original_at, mut visible_at) = (0, 0);
    let mut found: Vec<Grapheme> = Vec::new();
    for grapheme in visible.graphemes(true) {
        let start = original_at;
        for c in original.by_ref().take(grapheme.chars().count()) {
            original_at += c.len_utf8();
        }
        let columns = if grapheme == "\n" { 0 } else { grapheme.cell_width() };
        let too_wide = columns > width;
        found.push(Grapheme {
            text: if too_wide { "…".to_owned() } else { grapheme.to_owned() },
            width: if too_wide { 1 } else { columns },
            shown: visible_at..visible_at + grapheme.len(),
            range: start..original_at,
            marks: Vec::new(),
        });
        visible_at += grapheme.len();
    }
    for (index, mark) in marks.iter().enumerate() {
        let after = found.partition_point(|grapheme| grapheme.range.end < mark.at);
        let after = after.min(found.len().saturating_sub(1));
        if let Some(grapheme) = found.get_mut(after) {
            grapheme.marks.push(index);
        }
    }
    (visible, found)
}

/// End of the word that starts at `from`: its blanks and a line feed belong to it.
fn word_end(graphemes: &[Grapheme], from: usize) -> usize {
    let blank = |at: usize| graphemes.get(at).is_some_and(|grapheme| is_blank(&grapheme.text));
    let mut at = from;
    while at < graphemes.len() && !blank(at) {
        let wide = graphemes[at].width > 1;
        at += 1;
        if wide || graphemes.get(at).is_some_and(|next| next.width > 1) {
            // Closing punctuation of its own script stays with what it closes.
            while graphemes.get(at).is_some_and(|next| closes(&next.text)) {
                at += 1;
            }
            break;
        }
    }
    while blank(at) {
        let feed = graphemes[at].text == "\n";
        at += 1;
        if feed {
            break;
        }
    }
    at
}

fn is_blank(text: &str) -> bool {
    // A no-break space does what its name says.
    text.chars().all(|c| c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{202f}' | '\u{2007}'))
}

fn closes(text: &str) -> bool {
    matches!(
        text,
        "。" | "、" | "，" | "．" | "！" | "？" | "：" | "；" | "」" | "』" | "）" | "】" | "》" | "〉"
    )
}

struct Layout<'a> {
    width: u16,
    marks: &'a [Mark],
    lines: Vec<Line>,
    column: u16,
}

impl Layout<'_> {
    fn word(&mut self, word: &[Grapheme]) {
        let letters = word.iter().take_while(|grapheme| !is_blank(&grapheme.text));
        let columns: u32 = letters.map(|grapheme| u32::from(self.columns(grapheme))).sum();
        if self.column > 0 && u32::from(self.column) + columns > u32::from(self.width) {
            self.break_line();
        }
        for grapheme in word {
            self.place(grapheme);
        }
    }

    fn columns(&self, grapheme: &Grapheme) -> u16 {
        grapheme.marks.iter().fold(grapheme.width, |sum, mark| sum.saturating_add(self.mark_width(*mark)))
    }

    /// A mark that no line can hold is left out.
    fn mark_width(&self, mark: usize) -> u16 {
        let columns = self.marks.get(mark).map_or(0, |mark| super::canvas::width(&mark.text));
        if columns > self.width { 0 } else { columns }
    }

    fn place(&mut self, grapheme: &Grapheme) {
        let blank = is_blank(&grapheme.text);
        let fits = self.column.saturating_add(grapheme.width) <= self.width;
        if !fits && !blank && self.column > 0 {
            self.break_line();
        }
        // Blanks at the end of a full line hang over its edge, unseen.
        if (fits || !blank) && grapheme.width > 0 {
            self.push(grapheme.text.clone(), grapheme.width, grapheme.range.clone(), None);
        }
        let line = self.lines.last_mut().expect("a layout always has a line");
        line.range.end = grapheme.shown.end;
        for mark in &grapheme.marks {
            let columns = self.mark_width(*mark);
            if columns == 0 {
                continue;
            }
            if self.column.saturating_add(columns) > self.width {
                self.break_line();
            }
            let text = self.marks[*mark].text.clone();
            self.push(text, columns, grapheme.range.end..grapheme.range.end, Some(*mark));
        }
        if grapheme.text == "\n" {
            self.break_line();
        }
    }

    fn push(&mut self, text: String, width: u16, range: Range<usize>, mark: Option<usize>) {
        let piece = Piece { text, column: self.column, width, range, mark };
        self.lines.last_mut().expect("a layout always has a line").pieces.push(piece);
        self.column += width;
    }

    fn break_line(&mut self) {
        let end = self.lines.last().map_or(0, |line| line.range.end);
        self.lines.push(Line { range: end..end, pieces: Vec::new() });
        self.column = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str, width: u16) -> Vec<String> {
        let wrapped = wrap(text, width, &[]);
        wrapped.lines.iter().map(|line| wrapped.shown(line).to_owned()).collect()
    }

    #[test]
    fn words_move_whole_and_blanks_stay_at_the_end_of_their_line() {
        assert_eq!(lines("the mayor of Chicago", 10), ["the mayor ", "of Chicago"]);
        assert_eq!(lines("abcdefgh ij", 4), ["abcd", "efgh ", "ij"]);
        assert_eq!(lines("one\n\ntwo", 10), ["one", "", "two"]);
        assert_eq!(lines("", 10), [""]);
    }

    #[test]
    fn wide_characters_break_anywhere_but_before_their_closing_mark() {
        assert_eq!(lines("市長は辞任した。", 6), ["市長は", "辞任し", "た。"]);
        assert_eq!(lines("市長は辞任した。", 14), ["市長は辞任し", "た。"]);
    }

    #[test]
    fn a_mark_follows_the_character_that_its_span_ends_with() {
        let text = "in 1932 he";
        let wrapped = wrap(text, 20, &[Mark { at: 7, text: "[1]".into() }]);
        let shown: String = wrapped.lines[0].pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(shown, "in 1932[1] he");
    }

    #[test]
    fn control_characters_keep_their_bytes_of_the_original() {
        let text = "a\u{1b}[2Jb\u{9b}é";
        for piece in &wrap(text, 80, &[]).lines[0].pieces {
            let original = &text[piece.range.clone()];
            assert_eq!(crate::text::visible(original), piece.text);
        }
    }

    #[test]
    fn a_grapheme_wider_than_the_line_is_an_ellipsis() {
        assert_eq!(wrap("👨‍👩‍👧", 1, &[]).lines[0].pieces[0].text, "…");
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[a-z]{1,12}",
            Just(" ".to_owned()),
            Just("   ".to_owned()),
            Just("\n".to_owned()),
            Just("\r\n".to_owned()),
            Just("市長は辞任した。".to_owned()),
            Just("👨‍👩‍👧🇵🇱🙂".to_owned()),
            Just("e\u{301}\u{302}क्षि".to_owned()),
            Just("שלום עולם".to_owned()),
            Just("\u{200b}\u{200d}\u{fe0f}ﾞ".to_owned()),
            Just("\u{1b}[31m\t\u{7}\u{202e}".to_owned()),
            any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn the_lines_together_are_the_visible_text_and_none_is_too_wide(
            text in text(), width in 1_u16..40, places in proptest::collection::vec(0_usize..200, 0..4)
        ) {
            let mut places = places;
            places.sort_unstable();
            let marks: Vec<Mark> =
                places.iter().map(|at| Mark { at: (*at).min(text.len()), text: "[12]".into() }).collect();
            let wrapped = wrap(&text, width, &marks);
            let together: String =
                wrapped.lines.iter().map(|line| &wrapped.visible[line.range.clone()]).collect();
            prop_assert_eq!(together, crate::text::visible(&text).into_owned());
            for line in &wrapped.lines {
                let used = line.pieces.last().map_or(0, |piece| piece.column + piece.width);
                prop_assert!(used <= width, "{:?}", line);
                for piece in line.pieces.iter().filter(|piece| piece.mark.is_none()) {
                    prop_assert!(text.get(piece.range.clone()).is_some());
                }
                for pair in line.pieces.windows(2) {
                    prop_assert_eq!(pair[0].column + pair[0].width, pair[1].column);
                    prop_assert!(pair[0].range.end <= pair[1].range.start);
                }
            }
        }
    }
}
