//! A whole model: text side and decoder, opened together.

use std::path::PathBuf;

use super::location::shown;
use super::{
    CacheDirectory, Decoder, DecoderError, GenerationError, LocationError, ModelLocation, ModelTextError,
    Placement, Prompt, TextModel, TokenizedText, UserTurn,
};

/// Why a model could not be opened or could not read.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It is not where it should be.
    #[error(transparent)]
    Location(#[from] LocationError),
    /// Its tokenizer or chat template.
    #[error(transparent)]
    Text(#[from] ModelTextError),
    /// Its weights or their arithmetic.
    #[error(transparent)]
    Decoder(#[from] DecoderError),
    /// Tokenizer and weights are of two models.
    #[error(
        "{path}: the tokenizer has {tokens} tokens and the embedding {rows} rows (token_embd.weight, \
         model.embed_tokens.weight): tokenizer and weights are of two models; fetch the model again",
        path = shown(.path)
    )]
    Vocabulary {
        /// The model's file or directory.
        path: PathBuf,
        /// Tokens of the vocabulary, added ones not counted.
        tokens: usize,
        /// Rows of the embedding table.
        rows: usize,
    },
    /// What was asked of it.
    #[error(transparent)]
    Generation(#[from] GenerationError),
}

/// A language model that can read prompts and answers.
pub struct LanguageModel {
    /// Tokenizer, chat template, name and hash.
    pub text: TextModel,
    /// The decoder.
    pub decoder: Decoder,
}

impl LanguageModel {
    /// Opens tokenizer, template and weights for the CPU. Never touches the network.
    pub fn open(location: &ModelLocation, cache: &CacheDirectory) -> Result<Self, ModelError> {
        Self::open_on(location, cache, Placement::CPU)
    }

    /// [`Self::open`] with the weights where they are asked for.
    pub fn open_on(
        location: &ModelLocation,
        cache: &CacheDirectory,
        placement: Placement,
    ) -> Result<Self, ModelError> {
        placement.check()?;
        let text = TextModel::open(location, cache)?;
        let decoder = if location.is_gguf() {
            Decoder::from_gguf(location.path())?
        } else {
            Decoder::from_directory(location.path())?
        };
        // More rows than tokens are padding, and tokens added later may have no row: Gemma 3 has one that only
        // its pictures use. Reading one would be an error then.
        let (tokens, rows) = (text.tokenizer.base_vocabulary_size(), decoder.config().vocab_size);
        if tokens > rows {
            return Err(ModelError::Vocabulary { path: location.path().to_owned(), tokens, rows });
        }
        Ok(Self { text, decoder: decoder.placed(placement)? })
    }

    /// The same model that reads no more tokens than this at once; `None`, and more than it can read, change
    /// nothing.
    #[must_use]
    pub fn reading_at_most(self, tokens: Option<usize>) -> Self {
        match tokens {
            Some(tokens) => Self { decoder: self.decoder.reading_at_most(tokens), ..self },
            None => self,
        }
    }

    /// Renders a user turn with the model's own chat template and tokenises it, segment by segment.
    pub fn prompt(&self, turn: &UserTurn) -> Result<Prompt, ModelError> {
        Ok(self.text.prompt(None, turn)?)
    }

    /// Tokenises text of a data set: special tokens inside are plain text.
    pub fn tokenize(&self, text: &str) -> Result<TokenizedText, ModelError> {
        Ok(self.text.tokenizer.encode_data(text)?)
    }
}
