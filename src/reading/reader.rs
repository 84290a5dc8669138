//! Reads answers, sharing what answers to one prompt have in common.

mod write;

use crate::model::{Capture, CaptureRequest, LanguageModel, ModelError, Prefix, Prompt, StateLayer};

use super::prompt_form::{with_references, without_references};
use super::trace::{LayerStates, LookbackMass, Trace};

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

/// Reads answers one after another. Consecutive answers to one prompt share its key/value cache.
pub struct Reader<'m> {
    model: &'m LanguageModel,
    states: Vec<StateLayer>,
    with: Option<SharedPrefix>,
    without: Option<SharedPrefix>,
}

struct SharedPrefix {
    ids: Vec<u32>,
    prefix: Prefix,
}

impl<'m> Reader<'m> {
    /// `states`: the layers whose hidden states the detectors need.
    #[must_use]
    pub fn new(model: &'m LanguageModel, states: Vec<StateLayer>) -> Self {
        Self { model, states, with: None, without: None }
    }

    /// Reads `answer` twice. The answer is tokenised once, apart from the prompts, so both passes see
    /// the same ids.
    pub fn read(
        &mut self,
        question: &str,
        passages: &[&str],
        answer: &str,
    ) -> Result<ReadAnswer, ReadingError> {
        if passages.is_empty() {
            return Err(ReadingError::NoPassages);
        }
        let tokens = self.model.tokenize(answer)?;
        if tokens.ids.is_empty() {
            return Err(ReadingError::EmptyAnswer);
        }
        let fitted = self.fit(question, passages, tokens.ids.len())?;
        let chunk_ranges = fitted.prompt.chunks();
        let mut segments = chunk_ranges.clone();
        segments.push(0..fitted.prompt.ids.len());
        let with = extend(
            self.model,
            &mut self.with,
            &fitted.prompt.ids,
            &tokens.ids,
            &CaptureRequest {
                segments,
                states: self.states.clone(),
                attention_among_new: self.states.clone(),
                ..CaptureRequest::default()
            },
        )?;
        let bare = self.model.prompt(&without_references(question))?;
        let without = extend(
            self.model,
            &mut self.without,
            &bare.ids,
            &tokens.ids,
            &CaptureRequest { states: self.states.clone(), ..CaptureRequest::default() },
        )?;
        let config = self.model.decoder.config();
        let count = tokens.ids.len();
        let passage_tokens: Vec<usize> = chunk_ranges.iter().map(ExactSizeIterator::len).collect();
        let trace = Trace {
            token_ranges: tokens.ranges,
            token_ids: tokens.ids,
            layers: config.layers,
            heads: config.heads,
            hidden_size: config.hidden_size,
            states: layer_states(&self.states, &with, &without, count, config.hidden_size),
            lookback: lookback_mass(
                &with,
                count,
                config.layers * config.heads,
                passage_tokens.clone(),
                fitted.prompt.ids.len(),
            ),
            log_prob_with: with.log_prob,
            log_prob_without: without.log_prob,
            entropy_with: with.entropy,
        };
        Ok(ReadAnswer { trace, passage_tokens, notices: fitted.notices })
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
                return Ok(Fitted { prompt, notices });
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
    notices: Vec<String>,
}

/// Reads the answer after the prompt. The last prompt token is read together with the answer, because
/// its row predicts the first answer token; all before it is shared.
fn extend(
    model: &LanguageModel,
    shared: &mut Option<SharedPrefix>,
    prompt: &[u32],
    answer: &[u32],
    request: &CaptureRequest,
) -> Result<Capture, ReadingError> {
    let (last, before) = prompt.split_last().ok_or(ReadingError::EmptyAnswer)?;
    let prefix = shared_prefix(model, shared, before)?;
    let ids: Vec<u32> = std::iter::once(*last).chain(answer.iter().copied()).collect();
    Ok(model.decoder.extend(&prefix, &ids, request).map_err(ModelError::from)?)
}

/// The reading of `before`: the one that was kept, or a new one that is kept from now on.
fn shared_prefix(
    model: &LanguageModel,
    shared: &mut Option<SharedPrefix>,
    before: &[u32],
) -> Result<Prefix, ReadingError> {
    if let Some(kept) = shared.as_ref().filter(|kept| kept.ids == before) {
        return Ok(kept.prefix.clone());
    }
    // The old one goes before the new one comes: both together might not fit.
    *shared = None;
    let prefix = model.decoder.prefix(before).map_err(ModelError::from)?;
    *shared = Some(SharedPrefix { ids: before.to_vec(), prefix: prefix.clone() });
    Ok(prefix)
}

/// Rows of the capture begin at the last prompt token; states and attention begin at the first answer
/// token.
fn layer_states(
    layers: &[StateLayer],
    with: &Capture,
    without: &Capture,
    count: usize,
    hidden_size: usize,
) -> Vec<LayerStates> {
    let rows = count + 1;
    layers
        .iter()
        .enumerate()
        .map(|(index, layer)| LayerStates {
            layer: *layer,
            with_references: with.states[index][hidden_size..].to_vec(),
            without_references: without.states[index][hidden_size..].to_vec(),
            answer_attention: with.attention_among_new[index]
                .chunks_exact(rows)
                .skip(1)
                .flat_map(|row| row[1..].iter().copied())
                .collect(),
        })
        .collect()
}

/// Splits the captured masses [rows, L*H, K+1] into chunks and the whole prompt, for the rows that
/// predict an answer token (all but the last).
fn lookback_mass(
    with: &Capture,
    count: usize,
    heads_in_all: usize,
    chunk_tokens: Vec<usize>,
    prompt_tokens: usize,
) -> LookbackMass {
    let chunks = chunk_tokens.len();
    let cells = count * heads_in_all;
    let mut chunk_mass = Vec::with_capacity(cells * chunks);
    let mut prompt_mass = Vec::with_capacity(cells);
    for cell in with.segment_mass.chunks_exact(chunks + 1).take(cells) {
        chunk_mass.extend_from_slice(&cell[..chunks]);
        prompt_mass.push(cell[chunks]);
    }
    LookbackMass { chunk_tokens, prompt_tokens, chunk_mass, prompt_mass }
}
