//! An answer written by the model: token by token, from the most likely one or drawn by chance.

use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::{Device, Tensor};
use candle_transformers::generation::{LogitsProcessor, Sampling};

use super::text_stream::TextStream;
use super::{DecoderError, LanguageModel, ModelError, Prefix};

/// Below this a temperature means greedy: the division would only make infinities.
const COLDEST: f64 = 1e-7;

/// How tokens are chosen, and how many at most.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationSettings {
    /// Tokens at most, at least 1.
    pub max_new_tokens: usize,
    /// 0: always the most likely token. Else logits are divided by it before a token is drawn.
    pub temperature: f64,
    /// Draw from the most likely tokens whose probabilities reach this sum, in (0, 1].
    pub top_p: Option<f64>,
    /// Draw from this many of the most likely tokens, at least 1.
    pub top_k: Option<usize>,
    /// Seed of the draws; the same seed gives the same answer.
    pub seed: u64,
}

impl Default for GenerationSettings {
    fn default() -> Self {
        Self { max_new_tokens: 128, temperature: 0.0, top_p: None, top_k: None, seed: 42 }
    }
}

impl GenerationSettings {
    /// Whether always the most likely token is taken, so that the seed does not matter.
    pub fn is_greedy(&self) -> bool {
        self.temperature < COLDEST
    }

    /// In words for evidence: every setting that matters to the answer.
    pub fn describe(&self) -> String {
        if self.is_greedy() {
            return format!("greedy, at most {} tokens", self.max_new_tokens);
        }
        let mut words = format!("temperature {}", self.temperature);
        if let Some(p) = self.top_p {
            words += &format!(", top-p {p}");
        }
        if let Some(k) = self.top_k {
            words += &format!(", top-k {k}");
        }
        format!("{words}, seed {}, at most {} tokens", self.seed, self.max_new_tokens)
    }

    /// Refuses numbers that mean nothing.
    ///
    /// # Errors
    /// Names the setting, what it must be and what came.
    pub fn validated(&self) -> Result<(), GenerationError> {
        let wrong =
            |setting, expected, found: String| Err(GenerationError::Setting { setting, expected, found });
        if self.max_new_tokens == 0 {
            return wrong("max new tokens", "at least 1", "0".to_owned());
        }
        if !(self.temperature.is_finite() && self.temperature >= 0.0) {
            return wrong("temperature", "0 or more", self.temperature.to_string());
        }
        if let Some(p) = self.top_p.filter(|p| !(*p > 0.0 && *p <= 1.0)) {
            return wrong("top-p", "above 0 and at most 1", p.to_string());
        }
        if self.top_k == Some(0) {
            return wrong("top-k", "at least 1", "0".to_owned());
        }
        Ok(())
    }

    fn sampling(&self) -> Sampling {
        let temperature = self.temperature;
        match (self.top_k, self.top_p) {
            _ if self.is_greedy() => Sampling::ArgMax,
            (None, None) => Sampling::All { temperature },
            (None, Some(p)) => Sampling::TopP { p, temperature },
            (Some(k), None) => Sampling::TopK { k, temperature },
            (Some(k), Some(p)) => Sampling::TopKThenTopP { k, p, temperature },
        }
    }
}

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerationError {
    #[error("{setting} must be {expected}, but {found} came")]
    Setting { setting: &'static str, expected: &'static str, found: String },
    #[error("the prompt is empty: there is nothing to answer")]
    EmptyPrompt,
    #[error(
        "the prompt of {prompt} tokens leaves no room for an answer in the model's context of {context}; \
         shorten it or open a model with a longer context"
    )]
    NoRoom { prompt: usize, context: usize },
}

/// What ended an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The model said that it was done.
    StopToken,
    /// The cap of the settings.
    MaxNewTokens,
    /// The model's context is full.
    ContextFull,
    /// The caller asked to stop.
    Cancelled,
}

/// A generated answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The pieces, joined; without the stop token.
    pub text: String,
    /// Tokens of the text.
    pub ids: Vec<u32>,
    pub stopped: StopReason,
}

impl LanguageModel {
    /// Continues a prompt until a stop token, the cap, the end of the context, or `cancel`.
    ///
    /// `piece` hears the text as it comes, in whole characters.
    ///
    /// # Errors
    /// Settings that mean nothing, an empty prompt, one that fills the context, or a failing decoder.
    pub fn generate(
        &self,
        prompt: &[u32],
        settings: &GenerationSettings,
        cancel: &AtomicBool,
        piece: &mut dyn FnMut(&str),
    ) -> Result<Generated, ModelError> {
        let (last, before) = prompt.split_last().ok_or(GenerationError::EmptyPrompt)?;
        settings.validated()?;
        self.check_room(prompt.len())?;
        self.generate_after(&self.decoder.prefix(before)?, *last, settings, cancel, piece)
    }

    /// [`Self::generate`] with all of the prompt but its last token read already, so that the reading is
    /// shared with what else comes after that prompt.
    pub fn generate_after(
        &self,
        prefix: &Prefix,
        last: u32,
        settings: &GenerationSettings,
        cancel: &AtomicBool,
        piece: &mut dyn FnMut(&str),
    ) -> Result<Generated, ModelError> {
        settings.validated()?;
        self.check_room(prefix.tokens() + 1)?;
        let context = self.decoder.config().context_length;
        let mut choice = LogitsProcessor::from_sampling(settings.seed, settings.sampling());
        let mut sequence = self.decoder.start(prefix)?;
        let mut stream = TextStream::new(&self.text.tokenizer);
        let mut next = last;
        let mut generated = 0;
        let stopped = loop {
            if cancel.load(Ordering::Relaxed) {
                break StopReason::Cancelled;
            }
            if generated == settings.max_new_tokens {
                break StopReason::MaxNewTokens;
            }
            if sequence.tokens() == context {
                break StopReason::ContextFull;
            }
            let logits = self.decoder.step(&mut sequence, next)?;
            let count = logits.len();
            let logits = Tensor::from_vec(logits, count, &Device::Cpu).map_err(DecoderError::from)?;
            next = choice.sample(&logits).map_err(DecoderError::from)?;
            if self.text.stop.contains(next) {
                break StopReason::StopToken;
            }
            generated += 1;
            emit(stream.push(next)?, piece);
        };
        emit(stream.finish()?, piece);
        let (ids, text) = stream.into_parts();
        Ok(Generated { text, ids, stopped })
    }

    fn check_room(&self, prompt: usize) -> Result<(), GenerationError> {
        let context = self.decoder.config().context_length;
        if prompt > context { Err(GenerationError::NoRoom { prompt, context }) } else { Ok(()) }
    }
}

fn emit(text: &str, piece: &mut dyn FnMut(&str)) {
    if !text.is_empty() {
        piece(text);
    }
}

#[cfg(test)]
#[path = "generation_tests.rs"]
mod tests;
