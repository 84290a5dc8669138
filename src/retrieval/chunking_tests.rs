use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn document(parts: &[&str]) -> Document {
    Document {
        id: "doc".into(),
        title: None,
        parts: parts.iter().map(|&part| part.to_owned()).collect(),
        groups: BTreeMap::new(),
    }
}

fn characters(text: &str) -> Vec<Range<usize>> {
    text.char_indices().map(|(start, c)| start..start + c.len_utf8()).collect()
}

fn cut(text: &str, tokens: usize, overlap: usize, boundary: ChunkBoundary) -> Vec<Chunk> {
    chunk_document(0, &document(&[text]), ChunkingSettings { tokens, overlap, boundary }, &word_tokens)
}

const GATES: &str = "Gate 4 closed. Gate 4 closed. Gate 4 opened.";

#[test]
fn equal_sentences_keep_their_own_offsets_and_ids() {
    let chunks = cut(GATES, 4, 0, ChunkBoundary::Sentence);
    let starts: Vec<usize> = chunks.iter().map(|chunk| chunk.range.start).collect();
    assert_eq!(starts, [0, 15, 30]);
    assert_eq!(chunks[0].text, chunks[1].text);
    let ids: Vec<&str> = chunks.iter().map(|chunk| chunk.id.as_str()).collect();
    assert_eq!(ids, ["doc#0", "doc#1", "doc#2"]);
    for chunk in &chunks {
        assert_eq!(GATES[chunk.range.clone()], chunk.text);
        assert_eq!(chunk.tokens, 4);
    }
}

#[test]
fn windows_of_characters_overlap_as_asked_and_carry_their_offsets() {
    let settings = ChunkingSettings { tokens: 15, overlap: 5, boundary: ChunkBoundary::Token };
    let chunks = chunk_document(0, &document(&[GATES]), settings, &characters);
    // The second window begins at a letter, the third (20) at one too.
    let starts: Vec<usize> = chunks.iter().map(|chunk| chunk.range.start).collect();
    assert_eq!(starts, [0, 10, 20, 30]);
    for chunk in &chunks {
        assert_eq!(GATES[chunk.range.clone()], chunk.text);
        assert!(chunk.tokens <= 15);
    }
    let by_sentence = ChunkingSettings { boundary: ChunkBoundary::Sentence, ..settings };
    let chunks = chunk_document(0, &document(&[GATES]), by_sentence, &characters);
    let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, ["Gate 4 closed.", "Gate 4 closed.", "Gate 4 opened."]);
}

#[test]
fn the_overlap_is_whole_sentences_that_fit() {
    let text = "One two three four. Five six. Seven eight nine. Ten.";
    let chunks = cut(text, 9, 3, ChunkBoundary::Sentence);
    let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, ["One two three four. Five six.", "Five six. Seven eight nine. Ten."]);
}

#[test]
fn the_overlap_is_given_up_where_the_next_sentence_would_not_fit_with_it() {
    let text = "Oh. One two. Three four five six seven. Eight.";
    let chunks = cut(text, 6, 3, ChunkBoundary::Sentence);
    let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, ["Oh. One two.", "Three four five six seven.", "Eight."]);
}

#[test]
fn a_sentence_longer_than_a_chunk_is_cut_between_tokens() {
    let text = "a b c d e f g h i j";
    let chunks = cut(text, 4, 1, ChunkBoundary::Sentence);
    let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, ["a b c d", "d e f g", "g h i j"]);
}

#[test]
fn parts_are_never_glued_and_blank_ones_give_nothing() {
    let chunks = chunk_document(
        7,
        &document(&["A table.", " \n", "A paragraph."]),
        ChunkingSettings::default(),
        &word_tokens,
    );
    let ids: Vec<(&str, usize, usize)> =
        chunks.iter().map(|chunk| (chunk.id.as_str(), chunk.document, chunk.part)).collect();
    assert_eq!(ids, [("doc#0.0", 7, 0), ("doc#2.0", 7, 2)]);
    let whole = ChunkingSettings { tokens: usize::MAX, ..ChunkingSettings::default() };
    assert_eq!(chunk_documents(&[document(&[GATES])], whole, &word_tokens).len(), 1);
}

#[test]
fn a_counter_that_sees_nothing_or_gives_broken_ranges_loses_no_text() {
    let one = chunk_document(0, &document(&["🙂 é"]), ChunkingSettings::default(), &|_| Vec::new());
    assert_eq!((one.len(), one[0].text.as_str(), one[0].tokens), (1, "🙂 é", 0));
    let settings = ChunkingSettings { tokens: 1, overlap: 0, boundary: ChunkBoundary::Token };
    // Out of order, inside a character, beyond the end.
    let broken = |_: &str| vec![5..99, 1..3, 2..2];
    let chunks = chunk_document(0, &document(&["🙂 é"]), settings, &broken);
    let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, ["🙂", "é"]);
}

#[test]
fn a_character_of_several_tokens_is_not_cut_where_it_can_be_avoided() {
    // Byte-level pieces: every byte a token with the range of its character.
    let bytes = |text: &str| {
        let pieces = text.char_indices().map(|(start, c)| (start..start + c.len_utf8(), c.len_utf8()));
        pieces.flat_map(|(range, count)| vec![range; count]).collect()
    };
    let settings = ChunkingSettings { tokens: 6, overlap: 0, boundary: ChunkBoundary::Token };
    let chunks = chunk_document(0, &document(&["a🙂🙂é🙂"]), settings, &bytes);
    let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, ["a🙂", "🙂é", "🙂"]);
}

#[test]
fn the_title_is_indexed_with_the_chunk_but_is_no_part_of_it() {
    let titled = Document { title: Some("Gates".into()), ..document(&["Gate 4 closed."]) };
    let chunk = &chunk_document(0, &titled, ChunkingSettings::default(), &word_tokens)[0];
    assert_eq!(chunk.text, "Gate 4 closed.");
    assert_eq!(indexed_text(&titled, chunk), "Gates\nGate 4 closed.");
    assert_eq!(indexed_text(&document(&[]), chunk), chunk.text);
}

#[test]
fn word_tokens_are_words_and_single_marks() {
    let text = "Don't: 市長 (€).";
    let tokens: Vec<&str> = word_tokens(text).into_iter().map(|range| &text[range]).collect();
    assert_eq!(tokens, ["Don", "'", "t", ":", "市", "長", "(", "€", ")", "."]);
}

proptest! {
    #[test]
    fn chunks_carry_their_place_keep_their_size_and_lose_nothing(
        text in "([A-Za-zé市🙂]{1,4}[ .?\n]{1,2}){0,60}",
        tokens in 1_usize..12,
        overlap in 0_usize..14,
        by_token: bool,
    ) {
        let boundary = if by_token { ChunkBoundary::Token } else { ChunkBoundary::Sentence };
        let chunks = cut(&text, tokens, overlap, boundary);
        let mut covered = 0;
        for chunk in &chunks {
            prop_assert_eq!(&text[chunk.range.clone()], &chunk.text);
            prop_assert!(chunk.tokens <= tokens);
            if chunk.range.start > covered {
                prop_assert!(text[covered..chunk.range.start].trim().is_empty());
            }
            prop_assert!(chunk.range.end > covered);
            covered = chunk.range.end;
        }
        prop_assert!(text[covered..].trim().is_empty());
        prop_assert!(chunks.windows(2).all(|pair| pair[0].range.start <= pair[1].range.start));
    }
}
