//! Reads answers, sharing what answers to one prompt have in common.

mod write;

use std::collections::HashSet;

use crate::model::{
    Capture, CaptureRequest, DecoderError, LanguageModel, ModelError, Prefix, Prompt, StateLayer,
    TokenizedText,
};

use super::lexical_support::{lexical_support, words_of};
use super::prompt_form::{with_references, without_references};
use super::trace::Trace;
use super::trace_of::trace_of;

pub use write::WrittenAnswer;

/// Why an answer could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadingError {
    /// There is nothing to compare the answer with.
    #[error("no passages: an answer is read with and without its references, and this row has none")]
    NoPassages,
    /// The answer has no token.
    #[error("the answer is empty: there is no token to score")]
    EmptyAnswer,
    /// Even without any passage the prompt is longer than the model's context.
    #[error(
        "the prompt is too long: question and answer alone need {needed} tokens, the model reads {context}; \
         shorten the answer or open a model with a longer context"
    )]
    TooLong {
        /// Tokens of prompt and answer without passages.
        needed: usize,
        /// Tokens the model can read.
        context: usize,
    },
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl ReadingError {
    /// Whether a value in some layer was not finite: the model's numbers broke, not the record.
    #[must_use]
    pub fn is_not_finite(&self) -> bool {
        let Self::Model(ModelError::Decoder(error)) = self else { return false };
        match error {
            DecoderError::Sequence { source, .. } => matches!(**source, DecoderError::NotFinite { .. }),
            other => matches!(other, DecoderError::NotFinite { .. }),
        }
    }
}

/// A reading, and what had to be cut for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadAnswer {
    /// What the detectors use.
    pub trace: Trace,
    /// Tokens of each passage that the model read, in rank order; fewer than the passage has where
    /// the prompt was cut.
    pub passage_tokens: Vec<usize>,
    /// What was cut, in plain words.
    pub notices: Vec<String>,
}

/// Signals of a reading beyond states, likelihoods and look-back, which cost time or memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptSignals {
    /// [`Trace::divergence`]: two more products with the output head.
    pub divergence: bool,
    /// [`Trace::self_attention`]: next to nothing.
    pub self_attention: bool,
    /// [`Trace::information_contribution`]: the states of every layer of the prompt are kept meanwhile.
    pub information_contribution: bool,
}

impl KeptSignals {
    /// All of them: what a comparison of detectors needs.
    #[must_use]
    pub const fn all() -> Self {
        Self { divergence: true, self_attention: true, information_contribution: true }
    }
}

/// Reads answers one after another. Consecutive answers to one prompt share its key/value cache.
pub struct Reader<'m> {
    model: &'m LanguageModel,
    states: Vec<StateLayer>,
    signals: KeptSignals,
    with: Option<SharedPrefix>,
    without: Option<SharedPrefix>,
}

struct SharedPrefix {
    ids: Vec<u32>,
    /// Whether it kept the states that entered every block.
    with_inputs: bool,
    prefix: Prefix,
}

impl<'m> Reader<'m> {
    /// `states`: the layers whose hidden states the detectors need.
    #[must_use]
    pub fn new(model: &'m LanguageModel, states: Vec<StateLayer>) -> Self {
        Self { model, states, signals: KeptSignals::default(), with: None, without: None }
    }

    /// The same reader that keeps more.
    #[must_use]
    pub fn keeping(self, signals: KeptSignals) -> Self {
        Self { signals, ..self }
    }

    /// Reads `answer` twice. The answer is tokenised once, apart from the prompts, so both passes see
    /// the same ids.
    pub fn read(
        &mut self,
        question: &str,
        passages: &[&str],
        answer: &str,
    ) -> Result<ReadAnswer, ReadingError> {
        self.read_many(question, passages, &[answer]).pop().unwrap_or(Err(ReadingError::EmptyAnswer))
    }

    /// Reads several answers to one prompt together: one result per answer, in order, each what
    /// [`Reader::read`] gives. An answer that cannot be read spoils no other. All traces are held at once,
    /// so a caller with many answers hands over a few at a time.
    pub fn read_many(
        &mut self,
        question: &str,
        passages: &[&str],
        answers: &[&str],
    ) -> Vec<Result<ReadAnswer, ReadingError>> {
        let mut prompts: Vec<Fitted> = Vec::new();
        let mut results: Vec<Option<Result<ReadAnswer, ReadingError>>> = Vec::with_capacity(answers.len());
        // (index of the answer, its tokens, index of its prompt)
        let mut readable = Vec::with_capacity(answers.len());
        for (index, answer) in answers.iter().enumerate() {
            match self.prepare(question, passages, answer, &mut prompts) {
                Ok((tokens, prompt)) => {
                    results.push(None);
                    readable.push((index, tokens, prompt));
                }
                Err(error) => results.push(Some(Err(error))),
            }
        }
        for same in readable.chunk_by(|left, right| left.2 == right.2) {
            let Some(fitted) = same.first().and_then(|first| prompts.get(first.2)) else { continue };
            let tokens: Vec<&TokenizedText> = same.iter().map(|(_, tokens, _)| tokens).collect();
            let read: Vec<Result<ReadAnswer, ReadingError>> =
                match self.read_together(question, fitted, &tokens) {
                    Ok(read) => read.into_iter().map(Ok).collect(),
                    // What is wrong with one of them is found by reading each alone.
                    Err(_) if tokens.len() > 1 => {
                        tokens.iter().map(|tokens| self.read_alone(question, fitted, tokens)).collect()
                    }
                    Err(error) => vec![Err(error)],
                };
            for ((index, ..), read) in same.iter().zip(read) {
                results[*index] = Some(read.map(|mut read| {
                    let ranges = &read.trace.token_ranges;
                    read.trace.lexical_support = lexical_support(answers[*index], ranges, &fitted.words);
                    read
                }));
            }
        }
        results.into_iter().map(|result| result.unwrap_or(Err(ReadingError::EmptyAnswer))).collect()
    }

    /// Tokens of an answer and the index of the prompt it follows. A prompt from which nothing was cut
    /// serves every answer that fits behind it.
    fn prepare(
        &self,
        question: &str,
        passages: &[&str],
        answer: &str,
        prompts: &mut Vec<Fitted>,
    ) -> Result<(TokenizedText, usize), ReadingError> {
        if passages.is_empty() {
            return Err(ReadingError::NoPassages);
        }
        let tokens = self.model.tokenize(answer)?;
        let count = tokens.ids.len();
        if count == 0 {
            return Err(ReadingError::EmptyAnswer);
        }
        let context = self.model.decoder.config().context_length;
        let serves =
            |fitted: &Fitted| fitted.notices.is_empty() && fitted.prompt.ids.len() + count <= context;
        if let Some(place) = prompts.iter().position(serves) {
            return Ok((tokens, place));
        }
        prompts.push(self.fit(question, passages, count)?);
        Ok((tokens, prompts.len() - 1))
    }

    fn read_alone(
        &mut self,
        question: &str,
        fitted: &Fitted,
        answer: &TokenizedText,
    ) -> Result<ReadAnswer, ReadingError> {
        let read = self.read_together(question, fitted, &[answer])?;
        read.into_iter().next().ok_or(ReadingError::EmptyAnswer)
    }

    /// Both passes over answers that follow one prompt.
    fn read_together(
        &mut self,
        question: &str,
        fitted: &Fitted,
        answers: &[&TokenizedText],
    ) -> Result<Vec<ReadAnswer>, ReadingError> {
        let mut segments = fitted.prompt.chunks();
        let passage_tokens: Vec<usize> = segments.iter().map(ExactSizeIterator::len).collect();
        segments.push(0..fitted.prompt.ids.len());
        let mut states = self.states.clone();
        let final_states = self.signals.divergence.then(|| {
            let known = states.iter().position(|layer| *layer == StateLayer::FinalNorm);
            known.unwrap_or_else(|| {
                states.push(StateLayer::FinalNorm);
                states.len() - 1
            })
        });
        let with = extend(
            self.model,
            &mut self.with,
            &fitted.prompt.ids,
            answers,
            &CaptureRequest {
                segments,
                states: states.clone(),
                attention_among_new: self.states.clone(),
                self_attention: self.signals.self_attention,
                information_contribution: self.signals.information_contribution,
                ..CaptureRequest::default()
            },
        )?;
        let bare = self.model.prompt(&without_references(question))?;
        let without = extend(
            self.model,
            &mut self.without,
            &bare.ids,
            answers,
            &CaptureRequest { states, ..CaptureRequest::default() },
        )?;
        let prompt_tokens = fitted.prompt.ids.len();
        let traces = answers.iter().zip(with).zip(without).map(|((tokens, with), without)| {
            // The last row predicts nothing that was read.
            let divergence = final_states.map(|index| {
                let rows = tokens.ids.len() * with.hidden_size;
                let (with, without) = (&with.states[index][..rows], &without.states[index][..rows]);
                self.model.decoder.divergence(with, without).map_err(ModelError::from)
            });
            let trace = trace_of(&self.states, tokens, with, without, passage_tokens.clone(), prompt_tokens);
            Ok(ReadAnswer {
                trace: Trace { divergence: divergence.transpose()?, ..trace },
                passage_tokens: passage_tokens.clone(),
                notices: fitted.notices.clone(),
            })
        });
        traces.collect()
    }

    /// Renders the prompt with references, cutting passages from the last one backwards until prompt
    /// and answer fit the model's context. What is cut is said, never silent.
    fn fit(&self, question: &str, passages: &[&str], answer_tokens: usize) -> Result<Fitted, ReadingError> {
        let context = self.model.decoder.config().context_length;
        let mut kept: Vec<&str> = passages.to_vec();
        let mut notices = Vec::new();
        loop {
            let prompt = self.model.prompt(&with_references(question, &kept))?;
            let needed = prompt.ids.len() + answer_tokens;
            if needed <= context {
                return Ok(Fitted { prompt, words: words_of(&kept), notices });
            }
            let Some(last) = kept.iter().rposition(|passage| !passage.is_empty()) else {
                return Err(ReadingError::TooLong { needed, context });
            };
            let tokens = self.model.tokenize(kept[last])?;
            let keep = tokens.ids.len().saturating_sub(needed - context);
            let end = if keep == 0 { 0 } else { tokens.ranges[keep - 1].start };
            kept[last] = &kept[last][..end];
            notices.push(format!(
                "passage {} was cut to its first {} of {} bytes: the prompt was {} tokens longer than the \
                 model's context of {context}",
                last + 1,
                end,
                passages[last].len(),
                needed - context,
            ));
        }
    }
}

struct Fitted {
    prompt: Prompt,
    /// Words of the passages as far as they were kept.
    words: HashSet<String>,
    notices: Vec<String>,
}

/// Reads the answers after the prompt. The last prompt token is read together with each answer, because
/// its row predicts the first answer token; all before it is shared.
fn extend(
    model: &LanguageModel,
    shared: &mut Option<SharedPrefix>,
    prompt: &[u32],
    answers: &[&TokenizedText],
    request: &CaptureRequest,
) -> Result<Vec<Capture>, ReadingError> {
    let (last, before) = prompt.split_last().ok_or(ReadingError::EmptyAnswer)?;
    let prefix = shared_prefix(model, shared, before, request.information_contribution)?;
    let sequences: Vec<Vec<u32>> = answers
        .iter()
        .map(|answer| std::iter::once(*last).chain(answer.ids.iter().copied()).collect())
        .collect();
    let captures = match sequences.as_slice() {
        // Alone, an error need not say which one it was.
        [one] => model.decoder.extend(&prefix, one, request).map(|capture| vec![capture]),
        many => {
            let many: Vec<&[u32]> = many.iter().map(Vec::as_slice).collect();
            model.decoder.extend_many(&prefix, &many, request)
        }
    };
    Ok(captures.map_err(ModelError::from)?)
}

/// The reading of `before`: the one that was kept, or a new one that is kept from now on.
fn shared_prefix(
    model: &LanguageModel,
    shared: &mut Option<SharedPrefix>,
    before: &[u32],
    with_inputs: bool,
) -> Result<Prefix, ReadingError> {
    let serves = |kept: &&SharedPrefix| kept.ids == before && (kept.with_inputs || !with_inputs);
    if let Some(kept) = shared.as_ref().filter(serves) {
        return Ok(kept.prefix.clone());
    }
    // The old one goes before the new one comes: both together might not fit.
    *shared = None;
    let read =
        if with_inputs { model.decoder.prefix_with_inputs(before) } else { model.decoder.prefix(before) };
    let prefix = read.map_err(ModelError::from)?;
    *shared = Some(SharedPrefix { ids: before.to_vec(), with_inputs, prefix: prefix.clone() });
    Ok(prefix)
}
