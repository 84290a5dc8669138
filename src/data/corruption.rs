//! Labelled answers by construction: an answer written from its passages, and a copy in which pieces were exchanged for
//! those of other records. The places are known exactly, so they are labels that nobody had to make.
//!
//! Two limits. A clean copy is as grounded as the data's own answers: nobody checked each word. And exchanged pieces
//! are easier to find than what a model invents, so figures on such answers are no figures on a model's answers.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::dataset::Dataset;
use super::example::{Document, Example, GoldSpan, Passage};
use super::pieces::{Piece, PieceKind, pieces, whole_sentences};
use crate::text::words;

/// Fewest words of an answer that is worth corrupting.
const ANSWER_WORDS: usize = 8;
/// Most pieces that are exchanged in one answer.
const MOST_PIECES: usize = 3;
/// One answer of this many gets a foreign sentence, where it has two sentences.
const SENTENCE_EVERY: usize = 4;
/// Draws after which a piece is taken to have no replacement.
const DRAWS: usize = 200;

/// What became of a data set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Corruption {
    /// Pairs: the clean copy of a record, then its corrupted one.
    pub examples: Vec<Example>,
    /// How many pieces of each kind were exchanged.
    pub replaced: BTreeMap<&'static str, usize>,
    /// How many records were left out, by reason.
    pub left_out: BTreeMap<&'static str, usize>,
}

/// An answer with the passages it was written from.
struct Grounded<'a> {
    example: &'a Example,
    answer: &'a str,
    passages: Vec<Passage>,
    /// Answer and passages in lower case: what a replacement must not say.
    said: String,
}

/// Pieces of all answers by kind and shape, each with the place of its record.
type Pool<'a> = HashMap<(PieceKind, String), Vec<(usize, &'a str)>>;

/// A piece of an answer and what takes its place.
struct Exchange<'a> {
    range: Range<usize>,
    kind: PieceKind,
    text: &'a str,
}

/// Makes a clean and a corrupted copy of the first `limit` records that have an answer of eight words or more and
/// passages, or documents it comes from.
///
/// In the corrupted copy one to three names, numbers or dates, or one whole sentence, are exchanged for those of
/// records with another split key: of the same kind and shape, and said neither by the passages nor by the answer.
/// Labels are the ranges of the new text, their `kind` one of `entity`, `number`, `date`, `sentence`. Both copies
/// have the id of the record as group `source`, so that they never straddle a split, its own source as
/// `original_source`, and which copy they are as `copy`.
///
/// `draws(row)` gives the randomness of one record: numbers uniform in `0..n`. Records draw apart from each other, so
/// `limit` changes none of the copies that are made.
#[must_use]
pub fn corrupt<D: FnMut(usize) -> usize>(
    dataset: &Dataset,
    limit: Option<usize>,
    mut draws: impl FnMut(u64) -> D,
) -> Corruption {
    let documents: HashMap<&str, &Document> =
        dataset.documents.iter().map(|document| (document.id.as_str(), document)).collect();
    let mut made = Corruption::default();
    let mut records = Vec::new();
    let mut left_out = |reason: &'static str| *made.left_out.entry(reason).or_default() += 1;
    for example in dataset.examples() {
        match grounded(example, &documents) {
            Ok(record) => records.push(record),
            Err(reason) => left_out(reason),
        }
    }
    let mut pool = Pool::new();
    for (place, record) in records.iter().enumerate() {
        for piece in pieces(record.answer).into_iter().chain(whole_sentences(record.answer)) {
            let text = &record.answer[piece.range];
            pool.entry((piece.kind, piece.shape)).or_default().push((place, text));
        }
    }
    for record in &records {
        if limit.is_some_and(|limit| made.examples.len() / 2 >= limit) {
            break;
        }
        let mut below = draws(record.example.row as u64);
        let exchanges = exchanges(record, &records, &pool, &mut below);
        if exchanges.is_empty() {
            *made.left_out.entry("nothing in the answer has a replacement").or_default() += 1;
            continue;
        }
        for exchange in &exchanges {
            *made.replaced.entry(exchange.kind.name()).or_default() += 1;
        }
        let (answer, spans) = apply(record.answer, &exchanges);
        let row = made.examples.len();
        made.examples.push(copy(record, "clean", row, record.answer.to_owned(), Vec::new()));
        made.examples.push(copy(record, "corrupted", row + 1, answer, spans));
    }
    made
}

fn grounded<'a>(
    example: &'a Example,
    documents: &HashMap<&str, &Document>,
) -> Result<Grounded<'a>, &'static str> {
    // An answer that is labelled wrong is no clean one; its references are.
    let trusted = example.labelled_inconsistent() != Some(true);
    let answer = example.answer.iter().filter(|_| trusted).chain(&example.references);
    let answer = answer.map(|answer| answer.trim()).find(|answer| words(answer).len() >= ANSWER_WORDS);
    let answer = answer.ok_or("no answer or reference of eight words or more")?;
    let passages = if example.passages.is_empty() {
        example
            .source_documents
            .iter()
            .filter_map(|id| documents.get(id.as_str()))
            .flat_map(|document| {
                document.parts.iter().enumerate().map(|(number, part)| Passage {
                    id: Some(format!("{}#{}", document.id, number + 1)),
                    document: Some(document.id.clone()),
                    text: part.clone(),
                    score: None,
                })
            })
            .collect()
    } else {
        example.passages.clone()
    };
    if passages.is_empty() {
        return Err("neither passages nor a document that the answer comes from");
    }
    let texts = passages.iter().map(|passage| passage.text.as_str()).chain([answer]);
    let said = texts.map(str::to_lowercase).collect::<Vec<_>>().join("\n");
    Ok(Grounded { example, answer, passages, said })
}

fn exchanges<'a>(
    record: &Grounded<'_>,
    records: &[Grounded<'a>],
    pool: &Pool<'a>,
    below: &mut impl FnMut(usize) -> usize,
) -> Vec<Exchange<'a>> {
    let whole = whole_sentences(record.answer);
    let several = crate::text::sentences(record.answer).len() > 1;
    let whole = if several { whole } else { Vec::new() };
    let small = pieces(record.answer);
    if !whole.is_empty() && (small.is_empty() || below(SENTENCE_EVERY) == 0) {
        let sentence = draw_exchanges(vec![whole.clone()], 1, record, records, pool, below);
        if !sentence.is_empty() {
            return sentence;
        }
    }
    let mut by_kind: BTreeMap<PieceKind, Vec<Piece>> = BTreeMap::new();
    for piece in small {
        by_kind.entry(piece.kind).or_default().push(piece);
    }
    let wanted = 1 + below(MOST_PIECES);
    let found = draw_exchanges(by_kind.into_values().collect(), wanted, record, records, pool, below);
    if found.is_empty() { draw_exchanges(vec![whole], 1, record, records, pool, below) } else { found }
}

/// Draws a kind, then a piece of it, then a replacement, until `wanted` were found or nothing is left; in the order of
/// the text.
fn draw_exchanges<'a>(
    mut kinds: Vec<Vec<Piece>>,
    wanted: usize,
    record: &Grounded<'_>,
    records: &[Grounded<'a>],
    pool: &Pool<'a>,
    below: &mut impl FnMut(usize) -> usize,
) -> Vec<Exchange<'a>> {
    let mut found: Vec<Exchange<'a>> = Vec::new();
    kinds.retain(|pieces| !pieces.is_empty());
    while found.len() < wanted && !kinds.is_empty() {
        let kind = below(kinds.len());
        let piece = below(kinds[kind].len());
        let Piece { kind: of, range, shape } = kinds[kind].swap_remove(piece);
        kinds.retain(|pieces| !pieces.is_empty());
        let candidates = pool.get(&(of, shape)).map(Vec::as_slice).unwrap_or_default();
        let text = (0..DRAWS.min(candidates.len() * 4)).find_map(|_| {
            let (place, text) = candidates.get(below(candidates.len()))?;
            let foreign = records.get(*place)?.example.split_key() != record.example.split_key();
            (foreign && !says(&record.said, &text.to_lowercase())).then_some(*text)
        });
        found.extend(text.map(|text| Exchange { range, kind: of, text }));
    }
    found.sort_by_key(|exchange| exchange.range.start);
    found
}

/// Whether `wanted` stands in `text` and is not part of longer words there.
fn says(text: &str, wanted: &str) -> bool {
    text.match_indices(wanted).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// The answer with its pieces exchanged, and where the new ones stand. `exchanges` are in order and apart.
fn apply(answer: &str, exchanges: &[Exchange<'_>]) -> (String, Vec<GoldSpan>) {
    let mut text = String::with_capacity(answer.len());
    let mut spans = Vec::new();
    let mut copied = 0;
    for Exchange { range, kind, text: new } in exchanges {
        text.push_str(&answer[copied..range.start]);
        let start = text.len();
        text.push_str(new);
        spans.push(GoldSpan { range: start..text.len(), kind: Some(kind.name().to_owned()) });
        copied = range.end;
    }
    text.push_str(&answer[copied..]);
    (text, spans)
}

fn copy(record: &Grounded<'_>, name: &str, row: usize, answer: String, spans: Vec<GoldSpan>) -> Example {
    let mut groups = record.example.groups.clone();
    if let Some(source) = groups.insert("source".to_owned(), record.example.id.clone()) {
        groups.insert("original_source".to_owned(), source);
    }
    groups.insert("copy".to_owned(), name.to_owned());
    Example {
        id: format!("{}/{name}", record.example.id),
        row,
        answer: Some(answer),
        passages: record.passages.clone(),
        gold_spans: Some(spans),
        gold_consistent: None,
        groups,
        ..record.example.clone()
    }
}

#[cfg(test)]
#[path = "corruption_tests.rs"]
mod tests;
