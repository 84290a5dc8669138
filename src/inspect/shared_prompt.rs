//! Consecutive records whose answers follow one prompt: read together, they cost less.

use std::borrow::Borrow;

use crate::data::{Example, Row};
use crate::evidence::{Evidence, Status};

/// Answers read together at most: what they leave behind is held at once, and nobody hears of the first
/// one before the last one is read.
pub const MOST_TOGETHER: usize = 8;

/// Runs of consecutive rows with answers to the same question and passages; together they are all rows, in
/// order. A row without an answer is a run of its own, as is one whose neighbours differ.
pub fn same_prompt_runs<R: Borrow<Row>>(rows: &[R]) -> impl Iterator<Item = &[R]> {
    let same = |left: &R, right: &R| match (left.borrow(), right.borrow()) {
        (Row::Example(left), Row::Example(right)) => {
            left.answer.is_some() && right.answer.is_some() && same_prompt(left, right)
        }
        _ => false,
    };
    rows.chunk_by(same).flat_map(|run| run.chunks(MOST_TOGETHER))
}

/// Whether two examples have the same question and passages.
pub fn same_prompt(left: &Example, right: &Example) -> bool {
    let texts = left.passages.iter().map(|passage| &passage.text);
    left.question == right.question && texts.eq(right.passages.iter().map(|passage| &passage.text))
}

/// Whether two records, whose chunks are known, have answers to the same question and chunks.
pub(super) fn read_together(left: &Evidence, right: &Evidence) -> bool {
    let texts = left.chunks.iter().map(|chunk| &chunk.text);
    has_answer_to_read(left)
        && has_answer_to_read(right)
        && left.question == right.question
        && texts.eq(right.chunks.iter().map(|chunk| &chunk.text))
}

/// Whether there is an answer, and nothing went wrong before.
pub(super) fn has_answer_to_read(evidence: &Evidence) -> bool {
    evidence.answer.is_some() && evidence.status != Status::Error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{BadRow, Passage};

    fn row(question: &str, passage: &str, answer: Option<&str>) -> Row {
        Row::Example(Example {
            id: String::new(),
            row: 0,
            question: question.to_owned(),
            passages: vec![Passage { text: passage.to_owned(), ..Passage::default() }],
            answer: answer.map(ToOwned::to_owned),
            references: Vec::new(),
            source_documents: Vec::new(),
            gold_spans: None,
            gold_consistent: None,
            groups: std::collections::BTreeMap::default(),
        })
    }

    fn runs(rows: &[Row]) -> Vec<usize> {
        let runs: Vec<&[Row]> = same_prompt_runs(rows).collect();
        assert_eq!(runs.concat(), rows, "all rows, in order");
        runs.iter().map(|run| run.len()).collect()
    }

    #[test]
    fn only_neighbours_with_the_same_question_and_passages_and_an_answer_are_together() {
        let bad = Row::Bad(BadRow { row: 0, id: None, line: None, reason: "bad".to_owned() });
        let rows = [
            row("q", "p", Some("a")),
            row("q", "p", Some("b")),
            row("q", "other", Some("c")),
            row("q", "p", Some("d")),
            row("r", "p", Some("e")),
            row("r", "p", None),
            row("r", "p", None),
            row("r", "p", Some("f")),
            bad.clone(),
            row("r", "p", Some("g")),
            row("r", "p", Some("g")),
        ];
        assert_eq!(runs(&rows), [2, 1, 1, 1, 1, 1, 1, 1, 2]);
        assert_eq!(runs(&[bad.clone(), bad]), [1, 1]);
        assert_eq!(runs(&[]), [0; 0]);
    }

    #[test]
    fn a_long_run_is_cut() {
        let rows: Vec<Row> = (0..19).map(|n| row("q", "p", Some(&n.to_string()))).collect();
        assert_eq!(runs(&rows), [8, 8, 3]);
    }
}
