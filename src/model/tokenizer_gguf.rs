//! A tokenizer from the vocabulary and merges that a GGUF file carries.
//!
//! Only what was held against reference ids is accepted. A pre-tokenizer that is nearly right gives
//! other ids at digits or leading spaces, and nobody would see it.

use std::collections::HashSet;

use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::{AddedToken, Tokenizer};

use super::gguf_metadata::GgufMetadata;
use super::text_error::ModelTextError;

const MODEL: &str = "tokenizer.ggml.model";
const PRE: &str = "tokenizer.ggml.pre";
const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";
const MERGES: &str = "tokenizer.ggml.merges";

/// Kinds of tokens in `tokenizer.ggml.token_type`.
const SPECIAL: i64 = 3;
const USER_DEFINED: i64 = 4;

/// The tokenizer and the ids of its special tokens.
pub(super) fn build(metadata: &GgufMetadata) -> Result<(Tokenizer, HashSet<u32>), ModelTextError> {
    only(metadata, MODEL, "gpt2")?;
    only(metadata, PRE, "smollm")?;
    let tokens = needed(TOKENS, "the list of the model's tokens", metadata.texts(TOKENS)?)?;
    let merges = needed(MERGES, "the list of the model's merges", metadata.texts(MERGES)?)?;
    let types = needed(TYPES, "one number for each token", metadata.integers(TYPES)?)?;
    if types.len() != tokens.len() {
        return Err(ModelTextError::Field {
            field: TYPES,
            found: format!("a list of {}", types.len()),
            expected: format!("{} numbers, one for each token", tokens.len()),
        });
    }

    let vocabulary = vocabulary(tokens)?;
    let merges = merges
        .iter()
        .enumerate()
        .map(|(at, merge)| parse_merge(at, merge, &vocabulary))
        .collect::<Result<Merges, _>>()?;
    let refused = |error: tokenizers::Error| ModelTextError::Tokenizer(error.to_string());
    let bpe = BPE::builder().vocab_and_merges(vocabulary, merges).build().map_err(refused)?;

    let mut tokenizer = Tokenizer::new(bpe);
    let steps = vec![
        PreTokenizerWrapper::Digits(Digits::new(true)),
        PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, true, true)),
    ];
    tokenizer.with_pre_tokenizer(Some(Sequence::new(steps)));
    tokenizer.with_decoder(Some(ByteLevel::new(false, true, true)));

    let mut special = HashSet::new();
    let mut added = Vec::new();
    for (id, (token, kind)) in (0u32..).zip(tokens.iter().zip(types)) {
        // An empty added token would match between any two characters.
        if token.is_empty() || !matches!(*kind, SPECIAL | USER_DEFINED) {
            continue;
        }
        added.push(AddedToken::from(token.as_str(), *kind == SPECIAL).normalized(false));
        if *kind == SPECIAL {
            special.insert(id);
        }
    }
    tokenizer.add_tokens(added).map_err(refused)?;
    Ok((tokenizer, special))
}

fn only(metadata: &GgufMetadata, field: &'static str, supported: &'static str) -> Result<(), ModelTextError> {
    match metadata.text(field)? {
        Some(found) if found == supported => Ok(()),
        Some(found) => {
            Err(ModelTextError::UnsupportedTokenizer { field, found: found.to_owned(), supported })
        }
        None => Err(ModelTextError::Field {
            field,
            found: "missing".to_owned(),
            expected: format!("`{supported}`; give the model as a directory with its tokenizer.json instead"),
        }),
    }
}

fn needed<T>(field: &'static str, expected: &str, value: Option<T>) -> Result<T, ModelTextError> {
    value.ok_or_else(|| ModelTextError::Field {
        field,
        found: "missing".to_owned(),
        expected: expected.to_owned(),
    })
}

fn vocabulary(tokens: &[String]) -> Result<Vocab, ModelTextError> {
    let mut vocabulary = Vocab::with_capacity(tokens.len());
    for (id, token) in (0u32..).zip(tokens) {
        if let Some(first) = vocabulary.insert(token.clone(), id) {
            return Err(ModelTextError::Field {
                field: TOKENS,
                found: format!("a list with {token:?} twice, as {first} and {id}"),
                expected: "each token once".to_owned(),
            });
        }
    }
    Ok(vocabulary)
}

/// Splits a merge at its space and makes sure that both halves and the whole are tokens, which the BPE
/// builder takes for granted.
fn parse_merge(at: usize, merge: &str, vocabulary: &Vocab) -> Result<(String, String), ModelTextError> {
    let wrong = |expected: &str| ModelTextError::Field {
        field: MERGES,
        found: format!("{merge:?} at {at}"),
        expected: expected.to_owned(),
    };
    let (left, right) = merge.split_once(' ').ok_or_else(|| wrong("two tokens with a space between them"))?;
    let known = |token: &str| vocabulary.contains_key(token);
    if !(known(left) && known(right) && known(&format!("{left}{right}"))) {
        return Err(wrong("two tokens of the vocabulary that join to a third"));
    }
    Ok((left.to_owned(), right.to_owned()))
}
