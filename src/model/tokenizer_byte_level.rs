//! Byte-level BPE out of a GGUF file (`tokenizer.ggml.model = gpt2`): the file's merges, and the
//! pre-tokenizer that `tokenizer.ggml.pre` names.
//!
//! The expressions are those of the models' own `tokenizer.json`, which llama.cpp quotes beside its names
//! (`src/llama-vocab.cpp`).

use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::normalizers::unicode::NFC;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{SplitDelimiterBehavior, Tokenizer};

use super::gguf_metadata::GgufMetadata;
use super::text_error::ModelTextError;
use super::tokenizer_gguf::{Tokens, needed, refused, unsupported};

const PRE: &str = "tokenizer.ggml.pre";
const MERGES: &str = "tokenizer.ggml.merges";

/// Words with one character before them, numbers of up to three digits.
const LLAMA_3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same with digits one by one.
const QWEN_2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Mistral's newer models: words end where a capital follows a small letter.
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// How text is cut before merges, and what else hangs on the name.
#[derive(Clone, Copy)]
struct Pre {
    split: PreSplit,
    /// Text is brought into the composed form first.
    composes: bool,
    /// A word that is a token as a whole is that token, whatever its merges give.
    whole_words: bool,
}

#[derive(Clone, Copy)]
enum PreSplit {
    /// GPT-2's own expression, which is part of the byte-level step.
    Gpt2,
    /// Digits one by one, then GPT-2's.
    DigitsThenGpt2,
    Regex(&'static str),
}

/// `default` is not here on purpose: it stands for a file whose writer did not know the pre-tokenizer.
fn pre(name: &str) -> Option<Pre> {
    let plain = |split| Pre { split, composes: false, whole_words: false };
    Some(match name {
        "smollm" => plain(PreSplit::DigitsThenGpt2),
        "gpt-2" => plain(PreSplit::Gpt2),
        "llama-bpe" | "llama3" | "llama-v3" => Pre { whole_words: true, ..plain(PreSplit::Regex(LLAMA_3)) },
        "qwen2" => Pre { composes: true, ..plain(PreSplit::Regex(QWEN_2)) },
        "tekken" => Pre { whole_words: true, ..plain(PreSplit::Regex(TEKKEN)) },
        _ => return None,
    })
}

pub(super) fn build(metadata: &GgufMetadata, tokens: Tokens) -> Result<Tokenizer, ModelTextError> {
    let name = metadata.text(PRE)?;
    let pre = name
        .and_then(pre)
        .ok_or_else(|| unsupported(PRE, name, "`smollm`, `gpt-2`, `llama-bpe`, `qwen2`, `tekken`"))?;
    let merges = needed(MERGES, "the list of the model's merges", metadata.texts(MERGES)?)?;
    let merges = merges
        .iter()
        .enumerate()
        .map(|(at, merge)| parse_merge(at, merge, &tokens.ids))
        .collect::<Result<Merges, _>>()?;
    let builder = BPE::builder().vocab_and_merges(tokens.ids, merges).ignore_merges(pre.whole_words);
    let mut tokenizer = Tokenizer::new(builder.build().map_err(refused)?);
    if pre.composes {
        tokenizer.with_normalizer(Some(NFC)).map_err(refused)?;
    }
    let byte_level = |use_regex| PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, true, use_regex));
    let steps = match pre.split {
        PreSplit::Gpt2 => vec![byte_level(true)],
        PreSplit::DigitsThenGpt2 => vec![PreTokenizerWrapper::Digits(Digits::new(true)), byte_level(true)],
        PreSplit::Regex(expression) => {
            let pattern = SplitPattern::Regex(expression.to_owned());
            let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false).map_err(refused)?;
            vec![PreTokenizerWrapper::Split(split), byte_level(false)]
        }
    };
    tokenizer.with_pre_tokenizer(Some(Sequence::new(steps)));
    tokenizer.with_decoder(Some(ByteLevel::new(false, true, true)));
    Ok(tokenizer)
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
