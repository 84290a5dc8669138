//! A tokenizer from the vocabulary that a GGUF file carries.
//!
//! Only what is known to give the ids of the model's own `tokenizer.json` is accepted. A pre-tokenizer that
//! is nearly right gives other ids at digits or leading spaces, and nobody would see it.

use std::collections::HashSet;

use tokenizers::models::bpe::Vocab;
use tokenizers::{AddedToken, Tokenizer};

use super::gguf_metadata::GgufMetadata;
use super::text_error::ModelTextError;
use super::{tokenizer_byte_level, tokenizer_scores};

const MODEL: &str = "tokenizer.ggml.model";
pub(super) const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";

/// Kinds of tokens in `tokenizer.ggml.token_type`.
pub(super) const NORMAL: i64 = 1;
const UNKNOWN: i64 = 2;
const SPECIAL: i64 = 3;
const USER_DEFINED: i64 = 4;

/// The tokens of a file.
pub(super) struct Tokens<'a> {
    pub texts: &'a [String],
    /// The kind of each.
    pub types: &'a [i64],
    pub ids: Vocab,
}

/// The tokenizer and the ids of its special tokens.
pub(super) fn build(metadata: &GgufMetadata) -> Result<(Tokenizer, HashSet<u32>), ModelTextError> {
    let model = metadata.text(MODEL)?;
    let bytes = match model {
        Some("gpt2") => true,
        Some("llama") => false,
        _ => return Err(unsupported(MODEL, model, "`gpt2`, `llama`")),
    };
    let texts = needed(TOKENS, "the list of the model's tokens", metadata.texts(TOKENS)?)?;
    let types = needed(TYPES, "one number for each token", metadata.integers(TYPES)?)?;
    if types.len() != texts.len() {
        return Err(ModelTextError::Field {
            field: TYPES,
            found: format!("a list of {}", types.len()),
            expected: format!("{} numbers, one for each token", texts.len()),
        });
    }
    let tokens = Tokens { texts, types, ids: vocabulary(texts)? };
    let mut tokenizer = if bytes {
        tokenizer_byte_level::build(metadata, tokens)?
    } else {
        tokenizer_scores::build(metadata, tokens)?
    };

    // Phi-3's own tokenizer takes the white space behind its tokens into them; the file does not say so.
    let phi3 = !bytes && metadata.text("general.architecture")? == Some("phi3");
    let mut special = HashSet::new();
    let mut added = Vec::new();
    for (id, (token, kind)) in (0u32..).zip(texts.iter().zip(types)) {
        let is_special = matches!(*kind, SPECIAL | UNKNOWN);
        // An empty added token would match between any two characters.
        if token.is_empty() || !(is_special || *kind == USER_DEFINED) {
            continue;
        }
        let strips = phi3 && !matches!(token.as_str(), "<unk>" | "<s>" | "<|endoftext|>");
        added.push(AddedToken::from(token.as_str(), is_special).normalized(false).rstrip(strips));
        if is_special {
            special.insert(id);
        }
    }
    tokenizer.add_tokens(added).map_err(refused)?;
    Ok((tokenizer, special))
}

#[allow(clippy::needless_pass_by_value)] // The signature that map_err asks for.
pub(super) fn refused(error: tokenizers::Error) -> ModelTextError {
    ModelTextError::Tokenizer(error.to_string())
}

/// A field that holds something unknown, or nothing.
pub(super) fn unsupported(
    field: &'static str,
    found: Option<&str>,
    supported: &'static str,
) -> ModelTextError {
    match found {
        Some(found) => ModelTextError::UnsupportedTokenizer { field, found: found.to_owned(), supported },
        None => ModelTextError::Field {
            field,
            found: "missing".to_owned(),
            expected: format!(
                "one of {supported}; give the model as a directory with its tokenizer.json instead"
            ),
        },
    }
}

pub(super) fn needed<T>(field: &'static str, expected: &str, value: Option<T>) -> Result<T, ModelTextError> {
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
