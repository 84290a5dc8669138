//! Text to token ids and back to bytes of the text.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use tokenizers::Tokenizer;

use super::gguf_metadata::GgufMetadata;
use super::space_prefix::SpacePrefix;
use super::text_error::ModelTextError;
use super::token_ranges::display_units;
use super::tokenizer_gguf;
use crate::disk::read_regular;

/// Most bytes of a `tokenizer.json`; that of Gemma 3 has 33 MB.
const LARGEST_FILE: u64 = 256 << 20;
/// How often one piece of text may be cut apart before the tokenizer is given up.
const DEEPEST_CUT: usize = 16;

/// A part of a template's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplatePart<'a> {
    /// A token that steers the model.
    Structural(u32),
    Text(&'a str),
}

/// Token ids with the bytes of the text that each stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenizedText {
    /// `[T]`
    pub ids: Vec<u32>,
    /// Byte range of every token in the text, `[T]`. Ranges lie on character boundaries and never go back;
    /// tokens that share a character share one range; the distinct ranges, joined, are the text.
    pub ranges: Vec<Range<usize>>,
}

/// A model's tokenizer, once for its own template text and once for text that comes from data.
pub struct ModelTokenizer {
    template: Tokenizer,
    data: Tokenizer,
    /// Contents of the tokens that steer the model, by id: data must never become one of them.
    structural: HashSet<u32>,
    prefix: SpacePrefix,
}

impl std::fmt::Debug for ModelTokenizer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ModelTokenizer")
            .field("vocabulary_size", &self.vocabulary_size())
            .field("structural", &self.structural.len())
            .finish_non_exhaustive()
    }
}

impl ModelTokenizer {
    /// Builds the tokenizer from the vocabulary and merges inside a GGUF file.
    ///
    /// Supported: `tokenizer.ggml.model = gpt2` with a `tokenizer.ggml.pre` of `smollm`, `gpt-2`,
    /// `llama-bpe`, `qwen2` or `tekken`, and `tokenizer.ggml.model = llama` (`SentencePiece`).
    pub fn from_gguf(metadata: &GgufMetadata) -> Result<Self, ModelTextError> {
        let template = metadata.text("tokenizer.chat_template")?;
        let (tokenizer, special) = tokenizer_gguf::build(metadata)?;
        Ok(Self::with_structural(tokenizer, &special, template))
    }

    /// Reads `tokenizer.json` of a directory in Hugging Face form. `chat_template` is the source of the
    /// model's template, if it has one: added tokens that occur in it are kept out of data as well.
    pub fn from_directory(directory: &Path, chat_template: Option<&str>) -> Result<Self, ModelTextError> {
        let path = directory.join("tokenizer.json");
        let bytes = read_regular(&path, LARGEST_FILE)
            .map_err(|source| ModelTextError::Io { path: path.clone(), source })?;
        let refuse = |reason: String| ModelTextError::File { path: path.clone(), reason };
        let mut json: Value = serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
        // What these would do is done elsewhere or must not be done: the post-processor adds a BOS and
        // trims ranges, truncation and padding change how many tokens there are.
        if let Some(fields) = json.as_object_mut() {
            for field in ["post_processor", "truncation", "padding"] {
                fields.insert(field.to_owned(), Value::Null);
            }
        }
        let tokenizer: Tokenizer =
            serde_json::from_value(json).map_err(|error| refuse(format!("not a tokenizer: {error}")))?;
        Ok(Self::with_structural(tokenizer, &HashSet::new(), chat_template))
    }

    /// Marks as special, in a second tokenizer that then ignores special tokens, every added token that
    /// is special, listed in `special`, or part of the template.
    fn with_structural(tokenizer: Tokenizer, special: &HashSet<u32>, chat_template: Option<&str>) -> Self {
        let mut added: Vec<_> = tokenizer.get_added_tokens_decoder().into_iter().collect();
        added.sort_by_key(|(id, _)| *id);
        let mut structural = special.clone();
        let mut hidden = Vec::new();
        for (id, token) in added {
            let in_template = !token.content.trim().is_empty()
                && chat_template.is_some_and(|source| source.contains(&token.content));
            if token.special || in_template || special.contains(&id) {
                structural.insert(id);
                if !token.special {
                    hidden.push(token.special(true));
                }
            }
        }
        let mut data = tokenizer.clone();
        if !hidden.is_empty() {
            // Known contents keep their ids: only the flag changes.
            data.add_special_tokens(hidden).ok();
        }
        data.set_encode_special_tokens(true);
        let prefix = SpacePrefix::of(&tokenizer, &data, &structural);
        Self { template: tokenizer, data, structural, prefix }
    }

    /// Whether the tokenizer puts a space of its own before a text. A prompt cut in pieces would then have
    /// more spaces than the whole has, so its pieces are joined between the tokens that steer.
    pub(super) fn prefixes_space(&self) -> bool {
        self.prefix != SpacePrefix::Never
    }

    /// [`Self::encode_data`] for text that follows a token that steers, as the model's own tokenizer reads it there.
    pub(super) fn encode_after_structural(&self, text: &str) -> Result<TokenizedText, ModelTextError> {
        let SpacePrefix::AtTheStart { elsewhere } = &self.prefix else { return self.encode_data(text) };
        let mut tokens = TokenizedText::default();
        self.encode_into(elsewhere, text, 0, 0, &mut tokens)?;
        tokens.ranges = display_units(text, &tokens.ranges);
        Ok(tokens)
    }

    /// Template text cut at the tokens that steer. White space that such a token takes in goes with it.
    pub(super) fn cut_template<'a>(&self, text: &'a str) -> Result<Vec<TemplatePart<'a>>, ModelTextError> {
        let encoding = self.template.encode(text, false).map_err(refused)?;
        let (mut parts, mut end) = (Vec::new(), 0);
        for (id, range) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
            if !self.structural.contains(id) || range.1 <= range.0 {
                continue;
            }
            if let Some(between) = text.get(end..range.0).filter(|between| !between.is_empty()) {
                parts.push(TemplatePart::Text(between));
            }
            parts.push(TemplatePart::Structural(*id));
            end = range.1;
        }
        parts.extend(text.get(end..).filter(|rest| !rest.is_empty()).map(TemplatePart::Text));
        Ok(parts)
    }

    /// Ids and byte ranges of text that comes from data. Special tokens are never parsed: `<|im_end|>`
    /// in a document is ten ordinary characters. Nothing is added, no BOS either.
    pub fn encode_data(&self, text: &str) -> Result<TokenizedText, ModelTextError> {
        let mut tokens = TokenizedText::default();
        self.encode_into(&self.data, text, 0, 0, &mut tokens)?;
        tokens.ranges = display_units(text, &tokens.ranges);
        Ok(tokens)
    }

    /// `depth`: how often this text was cut apart already.
    fn encode_into(
        &self,
        tokenizer: &Tokenizer,
        text: &str,
        base: usize,
        depth: usize,
        tokens: &mut TokenizedText,
    ) -> Result<(), ModelTextError> {
        if text.is_empty() {
            return Ok(());
        }
        let encoding = tokenizer.encode(text, false).map_err(refused)?;
        let forged = encoding.get_ids().iter().zip(encoding.get_offsets()).filter_map(|(id, range)| {
            if !self.structural.contains(id) {
                return None;
            }
            // The unknown token stands for characters that are not its name; that is no forgery.
            let name = tokenizer.id_to_token(*id)?;
            let covered = text.get(range.0..range.1)?;
            let start = range.0 + covered.len() - covered.trim_start().len();
            let named = covered.trim() == name && name.chars().count() > 1;
            // A vocabulary may spell a special token without any added token, from merges or as a piece of
            // its own. Cutting inside its name leaves the model no way to see one.
            named.then(|| start + text[start..].chars().next().map_or(1, char::len_utf8))
        });
        let cuts: Vec<usize> = forged.collect();
        if cuts.is_empty() {
            tokens.ids.extend(encoding.get_ids());
            let ranges = encoding.get_offsets().iter();
            tokens.ranges.extend(ranges.map(|range| base + range.0..base + range.1));
            return Ok(());
        }
        if depth > DEEPEST_CUT {
            let reason = "it spells special tokens out of every piece of a text".to_owned();
            return Err(ModelTextError::Tokenizer(reason));
        }
        let mut start = 0;
        for cut in cuts.into_iter().chain([text.len()]) {
            // Tokens never go back, but a tokenizer from elsewhere may.
            if let Some(piece) = text.get(start..cut) {
                self.encode_into(tokenizer, piece, base + start, depth + 1, tokens)?;
                start = cut;
            }
        }
        Ok(())
    }

    /// Ids of the model's own template text, special tokens parsed. Nothing is added.
    pub fn encode_template(&self, text: &str) -> Result<Vec<u32>, ModelTextError> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.template.encode_fast(text, false).map_err(refused)?.get_ids().to_vec())
    }

    /// The text that the ids stand for, special tokens written out. Bytes that are not UTF-8 are replaced.
    pub fn decode(&self, ids: &[u32]) -> Result<String, ModelTextError> {
        self.template.decode(ids, false).map_err(refused)
    }

    /// The token's own text in the vocabulary, byte-level alphabet and all.
    pub fn token(&self, id: u32) -> Option<String> {
        self.template.id_to_token(id)
    }

    /// The id of a token by its own text in the vocabulary.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.template.token_to_id(token)
    }

    /// Whether the token steers the model, so that data can never become it.
    pub fn is_structural(&self, id: u32) -> bool {
        self.structural.contains(&id)
    }

    /// Tokens in the vocabulary, added ones not counted.
    pub fn base_vocabulary_size(&self) -> usize {
        self.template.get_vocab_size(false)
    }

    /// Tokens in the vocabulary, added ones included.
    pub fn vocabulary_size(&self) -> usize {
        self.template.get_vocab_size(true)
    }
}

#[allow(clippy::needless_pass_by_value)] // The signature that map_err asks for.
fn refused(error: tokenizers::Error) -> ModelTextError {
    ModelTextError::Tokenizer(error.to_string())
}

#[cfg(test)]
#[path = "tokenizer_tests.rs"]
mod tests;
