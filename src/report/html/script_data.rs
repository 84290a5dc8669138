//! What the script in the page needs to decide again: raw scores, p-values, and the answer in pieces.
//!
//! The script repeats [`crate::evidence::decide`] on whole numbers and on the same doubles in the same
//! order. All that depends on characters is settled here with the program's own rules: the script never
//! looks at one.

use std::ops::Range;

use serde_json::{Value, json};

use crate::detect::{DisplayUnit, display_units, spans_of_units};
use crate::evidence::{Evidence, chosen_detector};
use crate::text::visible;

use super::super::record::{ExampleReport, Report};
use super::super::statement::{self, Statement};
use super::BAND_EDGES;

/// An answer as the script sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cut {
    /// Runs of the answer between any two borders that a decision or a label can draw. Joined they are
    /// the answer.
    pub pieces: Vec<Piece>,
    /// The display units that are not blank, in order.
    pub units: Vec<Unit>,
}

/// A run of the answer that no decision divides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Bytes in the answer.
    pub range: Range<usize>,
    /// Position of the labelled span it lies in, from 0.
    pub labelled: Option<usize>,
}

/// A display unit without the blanks at its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub tokens: Range<usize>,
    /// Positions of its pieces.
    pub pieces: Range<usize>,
    /// Flagged units on both sides become one span although this unit is not flagged.
    pub bridges: bool,
    /// This unit and the next, both flagged, become one span.
    pub joins_next: bool,
}

/// Cuts `answer` for the script.
pub fn cut(answer: &str, tokens: &[[usize; 2]], labelled: &[Range<usize>]) -> Cut {
    let ranges: Vec<Range<usize>> = tokens.iter().map(|[start, end]| *start..*end).collect();
    let mut units = display_units(answer, &ranges);
    units.retain(|unit| !answer[unit.range.clone()].trim().is_empty());
    let one_span =
        |units: &[DisplayUnit], scores: &[f64]| spans_of_units(answer, units, scores, 0.5).len() == 1;
    let trimmed: Vec<Range<usize>> = units
        .iter()
        .map(|unit| {
            let text = &answer[unit.range.clone()];
            unit.range.end - text.trim_start().len()..unit.range.start + text.trim_end().len()
        })
        .collect();
    let pieces = pieces(answer, &trimmed, labelled);
    let piece_at = |byte: usize| pieces.partition_point(|piece| piece.range.start < byte);
    let units = units
        .iter()
        .enumerate()
        .map(|(at, unit)| Unit {
            tokens: unit.tokens.clone(),
            pieces: piece_at(trimmed[at].start)..piece_at(trimmed[at].end),
            bridges: at > 0
                && units.get(at - 1..at + 2).is_some_and(|three| one_span(three, &[1.0, 0.0, 1.0])),
            joins_next: units.get(at..at + 2).is_some_and(|two| one_span(two, &[1.0, 1.0])),
        })
        .collect();
    Cut { pieces, units }
}

fn pieces(answer: &str, units: &[Range<usize>], labelled: &[Range<usize>]) -> Vec<Piece> {
    let fits = |range: &Range<usize>| !range.is_empty() && answer.get(range.clone()).is_some();
    let mut cuts: Vec<usize> = units
        .iter()
        .chain(labelled)
        .filter(|range| fits(range))
        .flat_map(|range| [range.start, range.end])
        .chain([0, answer.len()])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2)
        .map(|pair| {
            let range = pair[0]..pair[1];
            let inside = labelled
                .iter()
                .enumerate()
                .filter(|(_, span)| fits(span) && span.start <= range.start && range.end <= span.end)
                .max_by_key(|(_, span)| span.start);
            Piece { labelled: inside.map(|(at, _)| at), range }
        })
        .collect()
}

/// The data block of the page, as JSON that cannot end its element.
pub fn script_data(report: &Report, evidence: &[Evidence]) -> String {
    let examples: Vec<Value> = report
        .examples
        .iter()
        .zip(evidence)
        .map(|(example, evidence)| one(report, example, evidence))
        .collect();
    let thresholds = &report.thresholds;
    let data = json!({
        "statement": Statement::of(report),
        "alpha": thresholds.alpha.thousandths(),
        "token": thresholds.token,
        "rho": thresholds.rho,
        "rho_answer": thresholds.rho_answer,
        "factuality": thresholds.factuality,
        "edges": BAND_EDGES,
        "examples": examples,
    });
    statement::inert(&data.to_string())
}

fn one(report: &Report, example: &ExampleReport, evidence: &Evidence) -> Value {
    let chunks: Vec<_> = example.chunks.iter().map(|c| c.p_value.map(|p| [p.count, p.out_of])).collect();
    let labelled = example.gold_spans.as_ref().map(Vec::len);
    let mut data = json!({ "chunks": chunks, "factuality": example.factuality, "labelled": labelled });
    let (Some(reading), Some(answer), true) =
        (&evidence.reading, &example.answer, example.smoothed.is_some())
    else {
        return data;
    };
    let labelled: Vec<_> = example.gold_spans.iter().flatten().map(|span| span.start..span.end).collect();
    let cut = cut(answer, &reading.tokens, &labelled);
    let piece = |piece: &Piece| {
        let text = &answer[piece.range.clone()];
        let ink = text.chars().filter(|c| !c.is_whitespace()).count();
        json!([visible(text), piece.labelled, text.len(), text.chars().count(), ink])
    };
    let unit = |unit: &Unit| {
        let flags = u8::from(unit.bridges) + 2 * u8::from(unit.joins_next);
        json!([unit.tokens.start, unit.tokens.end, unit.pieces.start, unit.pieces.end, flags])
    };
    data["raw"] = json!(chosen_detector(reading, &report.thresholds).map(|detector| &detector.raw));
    data["pieces"] = cut.pieces.iter().map(piece).collect();
    data["units"] = cut.units.iter().map(unit).collect();
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<'a>(answer: &'a str, cut: &Cut) -> Vec<&'a str> {
        cut.pieces.iter().map(|piece| &answer[piece.range.clone()]).collect()
    }

    #[test]
    fn tokens_that_share_a_character_share_a_unit_and_a_piece() {
        let answer = "é🙂 a";
        let tokens = [[0, 2], [0, 2], [2, 6], [2, 6], [2, 6], [2, 6], [6, 7], [7, 8]];
        let found = cut(answer, &tokens, &[]);
        assert_eq!(texts(answer, &found), ["é", "🙂", " ", "a"]);
        let units: Vec<_> = found.units.iter().map(|u| (u.tokens.clone(), u.pieces.clone())).collect();
        assert_eq!(units, [(0..2, 0..1), (2..6, 1..2), (7..8, 3..4)]);
    }

    #[test]
    fn pieces_end_at_units_without_their_blanks_and_at_labels() {
        let answer = "pay 15 €.";
        let found = cut(answer, &[[0, 3], [3, 6], [6, 10], [10, 11]], std::slice::from_ref(&(5..10)));
        assert_eq!(texts(answer, &found), ["pay", " ", "1", "5", " ", "€", "."]);
        assert_eq!(found.pieces.iter().filter(|piece| piece.labelled == Some(0)).count(), 3);
        assert_eq!(found.units[1].pieces, 2..4);
    }

    #[test]
    fn bridges_and_joins_are_those_of_the_programs_own_spans() {
        let answer = "in May, 2019 x";
        let found = cut(answer, &[[0, 2], [2, 6], [6, 7], [7, 12], [12, 14]], &[]);
        assert_eq!(
            found.units.iter().map(|u| u.bridges).collect::<Vec<_>>(),
            [false, false, true, false, false]
        );
        assert_eq!(
            found.units.iter().map(|u| u.joins_next).collect::<Vec<_>>(),
            [true, true, true, true, false]
        );
    }

    #[test]
    fn ranges_that_do_not_fit_break_nothing() {
        assert!(texts("é", &cut("é", &[[1, 2], [9, 12]], std::slice::from_ref(&(0..1)))).concat() == "é");
        assert!(cut("", &[[0, 1]], &[]).pieces.is_empty());
    }
}
