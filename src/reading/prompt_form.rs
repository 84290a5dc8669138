//! The words around passages and question.
//!
//! They are those of `RAGTruth`'s question answering prompts, byte for byte, because the shipped heads
//! were trained on readings of such prompts: another wording would be another distribution.

use sha2::{Digest, Sha256};

use crate::model::{SegmentKind, UserTurn};
use crate::text::hexadecimal;

const QUESTION_INTRODUCTION: &str = "Briefly answer the following question:\n";
const CLOSING: &str = "In case the passages do not contain the necessary information to answer the question, \
                       please reply with: \"Unable to answer based on given passages.\"\noutput:";
const NUMBER_WORDS: [&str; 11] =
    ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// Name of the wording and a hash over it: a head that was trained on readings of another wording is another head.
#[must_use]
pub fn prompt_form() -> String {
    let passages: Vec<&str> = vec!["PASSAGE"; 12];
    let turns = [0, 1, 3, 12].map(|count| with_references("QUESTION", &passages[..count]));
    let mut hasher = Sha256::new();
    for turn in turns.iter().chain([&without_references("QUESTION")]) {
        hasher.update(&turn.text);
        hasher.update([0]);
    }
    format!("ragtruth-question-answering/{}", hexadecimal(&hasher.finalize()[..8]))
}

/// The prompt with references: question, then the passages in rank order.
#[must_use]
pub fn with_references(question: &str, passages: &[&str]) -> UserTurn {
    let mut turn = UserTurn::new();
    turn.push(SegmentKind::Instruction, QUESTION_INTRODUCTION);
    turn.push(SegmentKind::Question, question);
    let number =
        NUMBER_WORDS.get(passages.len()).map_or_else(|| passages.len().to_string(), ToString::to_string);
    let noun = if passages.len() == 1 { "passage" } else { "passages" };
    turn.push(
        SegmentKind::Instruction,
        &format!(
            "\nBear in mind that your response should be strictly based on the following {number} {noun}:\n"
        ),
    );
    for (index, passage) in passages.iter().enumerate() {
        turn.push(SegmentKind::Instruction, &format!("passage {}:", index + 1));
        turn.push(SegmentKind::Chunk(index), passage);
        turn.push(SegmentKind::Instruction, "\n\n");
    }
    turn.push(SegmentKind::Instruction, CLOSING);
    turn
}

/// The prompt without references: the question alone.
#[must_use]
pub fn without_references(question: &str) -> UserTurn {
    let mut turn = UserTurn::new();
    turn.push(SegmentKind::Instruction, QUESTION_INTRODUCTION);
    turn.push(SegmentKind::Question, question);
    turn
}

/// The prompt for an answer that has to be written without any passage: it says that none was found, so
/// that a model does not take its own memory for a reference.
#[must_use]
pub fn no_passage_found(question: &str) -> UserTurn {
    let mut turn = UserTurn::new();
    turn.push(SegmentKind::Instruction, QUESTION_INTRODUCTION);
    turn.push(SegmentKind::Question, question);
    turn.push(
        SegmentKind::Instruction,
        "\nBear in mind that your response should be strictly based on the passages that were found. No \
         passage was found.\n\n",
    );
    turn.push(SegmentKind::Instruction, CLOSING);
    turn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_ragtruth() {
        let turn = with_references("which year?", &["It was 1931.", "No, 1932.", "Or later."]);
        assert_eq!(
            turn.text,
            "Briefly answer the following question:\nwhich year?\nBear in mind that your response should be \
             strictly based on the following three passages:\npassage 1:It was 1931.\n\npassage 2:No, \
             1932.\n\npassage 3:Or later.\n\nIn case the passages do not contain the necessary information to \
             answer the question, please reply with: \"Unable to answer based on given passages.\"\noutput:"
        );
        let chunks: Vec<&str> = turn
            .segments
            .iter()
            .filter(|(kind, _)| matches!(kind, SegmentKind::Chunk(_)))
            .map(|(_, range)| &turn.text[range.clone()])
            .collect();
        assert_eq!(chunks, ["It was 1931.", "No, 1932.", "Or later."]);
    }

    /// Heads name it. A change of the wording is a change of the distribution: train the shipped heads again.
    #[test]
    fn the_wording_is_the_one_that_the_shipped_heads_were_trained_on() {
        assert_eq!(prompt_form(), "ragtruth-question-answering/c2d45359edb7ce50");
    }

    #[test]
    fn a_question_without_passages_is_told_so_and_how_to_decline() {
        let text = no_passage_found("which year?").text;
        assert!(text.contains("which year?") && text.contains("No passage was found."));
        assert!(text.ends_with("\"Unable to answer based on given passages.\"\noutput:"));
        assert!(!text.contains("passage 1"));
    }

    #[test]
    fn segments_rebuild_the_turn() {
        for turn in [with_references("q", &["a", "", "c"]), without_references("é?"), no_passage_found("w")]
        {
            let rebuilt: String = turn.segments.iter().map(|(_, range)| &turn.text[range.clone()]).collect();
            assert_eq!(rebuilt, turn.text);
        }
    }
}
