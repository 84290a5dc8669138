//! An answer written by the model that reads, from the same prompt that its reading uses.

use std::sync::atomic::AtomicBool;

use super::{Fitted, Reader, ReadingError, shared_prefix};
use crate::model::{Generated, GenerationSettings, ModelError};
use crate::reading::prompt_form::no_passage_found;

/// An answer, and what had to be cut for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenAnswer {
    pub generated: Generated,
    /// What was cut, in plain words.
    pub notices: Vec<String>,
}

impl Reader<'_> {
    /// Writes an answer from `passages`; without any, the prompt says that none was found.
    ///
    /// The reading of the prompt is kept: an answer that is read with the same passages right afterwards
    /// does not pay for it again.
    ///
    /// # Errors
    /// A prompt that does not fit, settings that mean nothing, or a failing model.
    pub fn write(
        &mut self,
        question: &str,
        passages: &[&str],
        settings: &GenerationSettings,
        cancel: &AtomicBool,
        piece: &mut dyn FnMut(&str),
    ) -> Result<WrittenAnswer, ReadingError> {
        settings.validated().map_err(ModelError::from)?;
        let context = self.model.decoder.config().context_length;
        // A cap beyond reason must not push the passages out: half of the context is theirs.
        let room = settings.max_new_tokens.min(context / 2);
        let (prompt, notices) = if passages.is_empty() {
            (self.model.prompt(&no_passage_found(question))?, Vec::new())
        } else {
            let Fitted { prompt, notices, .. } = self.fit(question, passages, room)?;
            (prompt, notices)
        };
        let needed = prompt.ids.len() + room;
        let (last, before) = match prompt.ids.split_last() {
            Some(split) if needed <= context => split,
            _ => return Err(ReadingError::TooLong { needed, context }),
        };
        let prefix = shared_prefix(self.model, &mut self.with, before, false)?;
        let generated = self.model.generate_after(&prefix, *last, settings, cancel, piece)?;
        Ok(WrittenAnswer { generated, notices })
    }
}
