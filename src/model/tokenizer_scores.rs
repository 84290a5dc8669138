//! `SentencePiece`'s BPE out of a GGUF file (`tokenizer.ggml.model = llama`): pieces with scores and no merges.
//!
//! `SentencePiece` joins the neighbours whose whole has the best score, so merges in the order of the scores of
//! what they make do the same. Characters without a piece become their bytes.

use rayon::prelude::*;
use tokenizers::Tokenizer;
use tokenizers::decoders::DecoderWrapper;
use tokenizers::decoders::byte_fallback::ByteFallback;
use tokenizers::decoders::fuse::Fuse;
use tokenizers::decoders::sequence::Sequence as DecoderSequence;
use tokenizers::decoders::strip::Strip;
use tokenizers::models::bpe::{BPE, Merges};
use tokenizers::normalizers::prepend::Prepend;
use tokenizers::normalizers::replace::Replace;
use tokenizers::normalizers::utils::Sequence;

use super::gguf_metadata::{GgufMetadata, GgufValue};
use super::text_error::ModelTextError;
use super::tokenizer_gguf::{NORMAL, TOKENS, Tokens, needed, refused};

const SCORES: &str = "tokenizer.ggml.scores";
const PREFIX: &str = "tokenizer.ggml.add_space_prefix";
const EXTRA_SPACE: &str = "tokenizer.ggml.remove_extra_whitespaces";
const UNKNOWN: &str = "tokenizer.ggml.unknown_token_id";

/// What stands for a space in a piece.
const SPACE: &str = "\u{2581}";

pub(super) fn build(metadata: &GgufMetadata, tokens: Tokens) -> Result<Tokenizer, ModelTextError> {
    let scores = needed(SCORES, "one number for each token", metadata.floats(SCORES)?)?;
    let wrong = |field, found: String, expected: String| ModelTextError::Field { field, found, expected };
    if scores.len() != tokens.texts.len() {
        let expected = format!("{} numbers, one for each token", tokens.texts.len());
        return Err(wrong(SCORES, format!("a list of {}", scores.len()), expected));
    }
    if metadata.flag(EXTRA_SPACE) == Some(true) {
        return Err(wrong(EXTRA_SPACE, "true".to_owned(), "false: white space is kept".to_owned()));
    }
    if let Some(byte) = (0..=255u8).find(|byte| !tokens.ids.contains_key(&format!("<0x{byte:02X}>"))) {
        let found = format!("a list without <0x{byte:02X}>");
        return Err(wrong(TOKENS, found, "a token for each of the 256 bytes".to_owned()));
    }
    let prefix = match metadata.get(PREFIX) {
        // SentencePiece's own default, and that of the files that do not say.
        None => true,
        Some(GgufValue::Bool(prefix)) => *prefix,
        Some(_) => return Err(wrong(PREFIX, "no flag".to_owned(), "true or false".to_owned())),
    };
    let unknown = metadata.unsigned(UNKNOWN).and_then(|id| tokens.texts.get(usize::try_from(id).ok()?));
    let merges = merges(&tokens, scores);
    let mut builder = BPE::builder().vocab_and_merges(tokens.ids, merges).byte_fallback(true).fuse_unk(true);
    if let Some(unknown) = unknown {
        builder = builder.unk_token(unknown.clone());
    }
    let mut tokenizer = Tokenizer::new(builder.build().map_err(refused)?);
    let spaces = Replace::new(" ", SPACE).map_err(refused)?;
    let back = Replace::new(SPACE, " ").map_err(refused)?;
    let mut decoders = vec![
        DecoderWrapper::Replace(back),
        DecoderWrapper::ByteFallback(ByteFallback::new()),
        DecoderWrapper::Fuse(Fuse::new()),
    ];
    let mut normalizers = vec![spaces.into()];
    if prefix {
        normalizers.insert(0, Prepend::new(SPACE.to_owned()).into());
        decoders.push(DecoderWrapper::Strip(Strip::new(' ', 1, 0)));
    }
    tokenizer.with_normalizer(Some(Sequence::new(normalizers))).map_err(refused)?;
    tokenizer.with_decoder(Some(DecoderSequence::new(decoders)));
    Ok(tokenizer)
}

/// One way to make a token out of two.
struct Join {
    score: f64,
    /// Characters of both halves.
    left: usize,
    right: usize,
    /// The token, and the byte at which it is cut.
    id: usize,
    at: usize,
}

/// Every way to make a normal token out of two, the better scores first. Where scores are equal the longer
/// left half comes first, as in Hugging Face's conversion.
fn merges(tokens: &Tokens, scores: &[f64]) -> Merges {
    let known = |piece: &str| tokens.ids.contains_key(piece);
    let of_token = |(id, text): (usize, &String)| {
        let length = if tokens.types[id] == NORMAL { text.chars().count() } else { 0 };
        let cuts = text.char_indices().take(length).enumerate().skip(1);
        let halves = cuts.map(move |(left, (at, _))| (left, at, text.split_at(at)));
        let joins = halves.filter(|(_, _, (left, right))| known(left) && known(right));
        let join = |(left, at, _)| Join { score: scores[id], left, right: length - left, id, at };
        joins.map(join).collect::<Vec<_>>()
    };
    let mut joins: Vec<Join> = tokens.texts.par_iter().enumerate().flat_map_iter(of_token).collect();
    joins.par_sort_by(|a, b| {
        let by_length = || b.left.cmp(&a.left).then(b.right.cmp(&a.right));
        b.score.total_cmp(&a.score).then_with(by_length)
    });
    let halves = joins.into_iter().map(|join| tokens.texts[join.id].split_at(join.at));
    halves.map(|(left, right)| (left.to_owned(), right.to_owned())).collect()
}
