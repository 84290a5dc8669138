//! What the script in the page needs to decide again: raw scores, p-values, and the answer in pieces.
//!
//! The script repeats [`crate::evidence::decide`] on whole numbers and on the same doubles in the same
//! order. All that depends on Unicode stays here: the script never looks at a character.

use std::ops::Range;

use serde::Serialize;
use serde_json::{Value, json};

use crate::evidence::Evidence;
use crate::text::visible;

use super::super::record::{ExampleReport, Report};
use super::BAND_EDGES;

/// A run of the answer that every decision treats alike: inside one token (or one group of tokens that
/// share a character), one kind of character, and the same labelled span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Bytes in the answer.
    pub range: Range<usize>,
    /// Tokens that overlap it.
    pub tokens: Range<usize>,
    pub kind: PieceKind,
    /// Position of the labelled span it lies in, from 0.
    pub labelled: Option<usize>,
}

/// What a piece is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum PieceKind {
    Word = 0,
    /// Bridged when it lies between flagged runs.
    Punctuation = 1,
    /// Bridged as well, and trimmed at the ends of spans.
    Blank = 2,
}

/// The answer cut at every border that can matter. The pieces joined are the answer.
pub fn pieces(answer: &str, tokens: &[[usize; 2]], labelled: &[Range<usize>]) -> Vec<Piece> {
    let fits = |range: &Range<usize>| !range.is_empty() && answer.get(range.clone()).is_some();
    let mut cuts: Vec<usize> = tokens
        .iter()
        .map(|[start, end]| *start..*end)
        .chain(labelled.iter().cloned())
        .filter(|range| fits(range))
        .flat_map(|range| [range.start, range.end])
        .chain([0, answer.len()])
        .collect();
    let mut previous = None;
    for (at, c) in answer.char_indices() {
        let kind = kind_of(c);
        if previous.replace(kind).is_some_and(|before| before != kind) {
            cuts.push(at);
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    // Token ranges come in order, so the first token that can touch a piece never moves back.
    let mut first = 0;
    cuts.windows(2)
        .filter_map(|pair| {
            let range = pair[0]..pair[1];
            while tokens.get(first).is_some_and(|token| token[1] <= range.start) {
                first += 1;
            }
            let touching = tokens[first..].iter().take_while(|token| token[0] < range.end).count();
            let inside = labelled
                .iter()
                .enumerate()
                .filter(|(_, span)| fits(span) && span.start <= range.start && range.end <= span.end)
                .max_by_key(|(_, span)| span.start);
            Some(Piece {
                tokens: first..first + touching,
                kind: kind_of(answer.get(range.clone())?.chars().next()?),
                labelled: inside.map(|(at, _)| at),
                range,
            })
        })
        .collect()
}

fn kind_of(c: char) -> PieceKind {
    if c.is_whitespace() {
        PieceKind::Blank
    } else if c.is_alphanumeric() {
        PieceKind::Word
    } else {
        PieceKind::Punctuation
    }
}

/// The data block of the page, as JSON that cannot end its element.
pub fn script_data(report: &Report, evidence: &[Evidence]) -> String {
    let examples: Vec<Value> =
        report.examples.iter().zip(evidence).map(|(example, evidence)| one(example, evidence)).collect();
    let thresholds = &report.thresholds;
    let data = json!({
        "alpha": thresholds.alpha.thousandths(),
        "token": thresholds.token,
        "rho": thresholds.rho,
        "rho_answer": thresholds.rho_answer,
        "factuality": thresholds.factuality,
        "edges": BAND_EDGES,
        "examples": examples,
    });
    data.to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn one(example: &ExampleReport, evidence: &Evidence) -> Value {
    let chunks: Vec<_> = example.chunks.iter().map(|c| c.p_value.map(|p| [p.count, p.out_of])).collect();
    let mut data = json!({ "chunks": chunks, "factuality": example.factuality });
    let (Some(reading), Some(answer), true) =
        (&evidence.reading, &example.answer, example.smoothed.is_some())
    else {
        return data;
    };
    let labelled: Vec<_> = example.gold_spans.iter().flatten().map(|span| span.start..span.end).collect();
    let raw = example
        .detector
        .as_ref()
        .and_then(|name| reading.detectors.iter().find(|detector| detector.name == *name))
        .map(|detector| &detector.raw);
    let pieces: Vec<Value> = pieces(answer, &reading.tokens, &labelled)
        .iter()
        .map(|piece| {
            let text = &answer[piece.range.clone()];
            json!([
                visible(text),
                piece.tokens.start,
                piece.tokens.end,
                piece.kind as u8,
                piece.labelled,
                text.len(),
                text.chars().count(),
                text.chars().filter(|c| !c.is_whitespace()).count(),
            ])
        })
        .collect();
    data["raw"] = json!(raw);
    data["pieces"] = json!(pieces);
    data["labelled"] = json!(example.gold_spans.as_ref().map(Vec::len));
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_joined_are_the_answer_and_tokens_that_share_a_character_share_a_piece() {
        let answer = "é🙂 a";
        let tokens = [[0, 2], [0, 2], [2, 6], [2, 6], [2, 6], [2, 6], [6, 7], [7, 8]];
        let found = pieces(answer, &tokens, &[]);
        let texts: Vec<_> = found.iter().map(|piece| &answer[piece.range.clone()]).collect();
        assert_eq!(texts, ["é", "🙂", " ", "a"]);
        let touched: Vec<_> = found.iter().map(|piece| piece.tokens.clone()).collect();
        assert_eq!(touched, [0..2, 2..6, 6..7, 7..8]);
    }

    #[test]
    fn pieces_end_where_labels_and_kinds_of_characters_do() {
        let answer = "pay 15 €.";
        let found = pieces(answer, &[[0, 3], [3, 6], [6, 10], [10, 11]], &[4..10]);
        let texts: Vec<_> = found.iter().map(|p| (&answer[p.range.clone()], p.kind, p.labelled)).collect();
        assert_eq!(
            texts,
            [
                ("pay", PieceKind::Word, None),
                (" ", PieceKind::Blank, None),
                ("15", PieceKind::Word, Some(0)),
                (" ", PieceKind::Blank, Some(0)),
                ("€", PieceKind::Punctuation, Some(0)),
                (".", PieceKind::Punctuation, None),
            ]
        );
    }

    #[test]
    fn ranges_that_do_not_fit_cut_nothing() {
        let found = pieces("é", &[[1, 2], [9, 12]], &[0..1]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].labelled, None);
    }
}
