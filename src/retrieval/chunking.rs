//! Documents cut into chunks that know where they stand.

use std::ops::Range;

use crate::data::Document;
use crate::text::{sentences, words};

/// A piece of one part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// `<document>#<number>`, or `<document>#<part>.<number>` when the document has several parts;
    /// numbers from 0.
    pub id: String,
    /// Number of the document in the corpus.
    pub document: usize,
    pub document_id: String,
    /// Number of the part in its document.
    pub part: usize,
    /// Bytes in the part; `part[range] == text`.
    pub range: Range<usize>,
    pub text: String,
    /// Tokens of the counter that was used.
    pub tokens: usize,
}

/// Where a chunk may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChunkBoundary {
    /// After a sentence; inside one only when it is longer than a chunk.
    #[default]
    Sentence,
    /// After any token: windows of equal size.
    Token,
}

/// How documents are cut. `Default`: 512 tokens, overlap 20, whole sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkingSettings {
    /// Most tokens of a chunk; `usize::MAX` keeps every part whole.
    pub tokens: usize,
    /// Most tokens that a chunk repeats of the one before it; whole sentences where they fit.
    pub overlap: usize,
    pub boundary: ChunkBoundary,
}

impl Default for ChunkingSettings {
    fn default() -> Self {
        Self { tokens: 512, overlap: 20, boundary: ChunkBoundary::Sentence }
    }
}

/// Byte ranges of the tokens of a text, in order: a model's tokenizer, or [`word_tokens`].
pub type TokenRanges<'a> = &'a dyn Fn(&str) -> Vec<Range<usize>>;

/// Words of every script and single punctuation marks: the counter where there is no model.
#[must_use]
pub fn word_tokens(text: &str) -> Vec<Range<usize>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let marks = |tokens: &mut Vec<Range<usize>>, gap: Range<usize>| {
        let offset = gap.start;
        let marks = text[gap].char_indices().filter(|(_, c)| !c.is_whitespace());
        tokens.extend(marks.map(|(start, c)| offset + start..offset + start + c.len_utf8()));
    };
    for word in words(text) {
        marks(&mut tokens, at..word.range.start);
        at = word.range.end;
        tokens.push(word.range);
    }
    marks(&mut tokens, at..text.len());
    tokens
}

/// What is indexed for a chunk: its document's title, if any, and its text. On Natural Questions the
/// title lifts BM25's recall@10 from .85 to .94; the chunk itself stays a piece of its document.
#[must_use]
pub fn indexed_text(document: &Document, chunk: &Chunk) -> String {
    match &document.title {
        Some(title) => format!("{title}\n{}", chunk.text),
        None => chunk.text.clone(),
    }
}

/// The chunks of all documents, in order.
#[must_use]
pub fn chunk_documents(
    documents: &[Document],
    settings: ChunkingSettings,
    token_ranges: TokenRanges<'_>,
) -> Vec<Chunk> {
    documents
        .iter()
        .enumerate()
        .flat_map(|(number, document)| chunk_document(number, document, settings, token_ranges))
        .collect()
}

/// The chunks of one document, the `number`-th of its corpus. Blank parts have none.
#[must_use]
pub fn chunk_document(
    number: usize,
    document: &Document,
    settings: ChunkingSettings,
    token_ranges: TokenRanges<'_>,
) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for (part, text) in document.parts.iter().enumerate() {
        for (at, (range, tokens)) in pieces(text, settings, token_ranges).into_iter().enumerate() {
            let id = if document.parts.len() == 1 {
                format!("{}#{at}", document.id)
            } else {
                format!("{}#{part}.{at}", document.id)
            };
            chunks.push(Chunk {
                id,
                document: number,
                document_id: document.id.clone(),
                part,
                text: text[range.clone()].to_owned(),
                range,
                tokens,
            });
        }
    }
    chunks
}

/// Byte range and token count of every chunk of a part. Offsets are carried from the tokens, never
/// searched: a repeated passage keeps its own place.
fn pieces(
    text: &str,
    settings: ChunkingSettings,
    token_ranges: TokenRanges<'_>,
) -> Vec<(Range<usize>, usize)> {
    let tokens = sound_ranges(text, token_ranges(text));
    let most = settings.tokens.max(1);
    let overlap = settings.overlap.min(most - 1);
    // Numbers of the tokens after which a sentence ends.
    let ends: Vec<usize> = match settings.boundary {
        ChunkBoundary::Token => Vec::new(),
        ChunkBoundary::Sentence => sentences(text)
            .iter()
            .map(|sentence| tokens.partition_point(|token| token.end <= sentence.end))
            .collect(),
    };
    // The last sentence end in (after, limit], if any.
    let sentence_end = |after: usize, limit: usize| {
        ends[..ends.partition_point(|&end| end <= limit)].last().copied().filter(|&end| end > after)
    };
    let mut pieces = Vec::new();
    let (mut start, mut covered) = (0_usize, 0_usize);
    loop {
        let limit = start.saturating_add(most).min(tokens.len());
        let end = if limit == tokens.len() {
            limit
        } else if let Some(end) = sentence_end(covered, limit) {
            end
        } else if start < covered && sentence_end(covered, covered.saturating_add(most)).is_some() {
            // The next sentence fits a chunk, only not together with the overlap.
            start = covered;
            continue;
        } else {
            // Tokens may share a character: a cut lies between characters where it can.
            (start.max(covered) + 1..=limit)
                .rev()
                .find(|&end| tokens[end].start >= tokens[end - 1].end)
                .unwrap_or(limit)
        };
        let first_byte = if start == 0 { 0 } else { tokens[start].start };
        // Up to the next token, so that what no token covers is not lost.
        let last_byte = tokens.get(end).map_or(text.len(), |next| {
            tokens[..end].last().map_or(next.start, |last| last.end.max(next.start))
        });
        if let Some(range) = trimmed(text, first_byte..last_byte) {
            pieces.push((range, end - start));
        }
        if end >= tokens.len() {
            return pieces;
        }
        covered = end;
        let earliest = end.saturating_sub(overlap).max(start + 1);
        let is_sentence_end = ends.binary_search(&end).is_ok();
        start = if is_sentence_end {
            // The first sentence that begins within the overlap; its start is an end of another.
            ends[ends.partition_point(|&e| e < earliest)..].first().map_or(end, |&start| start.min(end))
        } else {
            earliest.min(end)
        };
    }
}

/// Token ranges in order, inside the text and on character borders, whatever the counter gave.
fn sound_ranges(text: &str, ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut sound: Vec<Range<usize>> = ranges
        .into_iter()
        .filter(|range| range.start < range.end)
        .filter_map(|range| {
            let mut range = range.start.min(text.len())..range.end.min(text.len());
            while !text.is_char_boundary(range.start) {
                range.start -= 1;
            }
            while !text.is_char_boundary(range.end) {
                range.end += 1;
            }
            (range.start < range.end).then_some(range)
        })
        .collect();
    if !sound.is_sorted_by_key(|range| (range.start, range.end)) {
        sound.sort_unstable_by_key(|range| (range.start, range.end));
    }
    sound
}

/// `range` without surrounding white space; `None` when nothing is left.
fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let piece = &text[range.clone()];
    let kept = piece.trim();
    let start = range.start + (piece.len() - piece.trim_start().len());
    (!kept.is_empty()).then(|| start..start + kept.len())
}

#[cfg(test)]
#[path = "chunking_tests.rs"]
mod tests;
