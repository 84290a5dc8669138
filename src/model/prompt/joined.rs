//! Prompts for tokenizers that put a space of their own before a text: what stands between two tokens that
//! steer the model, template and messages alike, is tokenised as one text, as the model's own tokenizer
//! does with the whole.

use std::ops::Range;

use super::{Prompt, SegmentKind, UserTurn, trimmed, without_gaps};
use crate::model::chat::{ChatLayout, ChatPiece};
use crate::model::text_error::ModelTextError;
use crate::model::tokenizer::{ModelTokenizer, TemplatePart};

/// Text up to the next token that steers, and what its bytes belong to.
#[derive(Default)]
struct Run {
    text: String,
    parts: Vec<(SegmentKind, Range<usize>)>,
}

impl Run {
    fn push(&mut self, kind: SegmentKind, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.parts.push((kind, start..self.text.len()));
    }

    /// Appends the user message without what the template trims. Every segment stays, if only by name.
    fn push_user(&mut self, user: &UserTurn, kept: &Range<usize>) {
        for (kind, range) in without_gaps(user) {
            let start = range.start.clamp(kept.start, kept.end);
            let end = range.end.clamp(kept.start, kept.end);
            self.push(kind, &user.text[start..end]);
        }
    }
}

/// [`Prompt::new`] for such a tokenizer.
pub(super) fn lay_out(
    tokenizer: &ModelTokenizer,
    layout: &ChatLayout,
    system: &str,
    user: &UserTurn,
) -> Result<Prompt, ModelTextError> {
    let (mut prompt, mut run) = (Prompt::default(), Run::default());
    for piece in &layout.pieces {
        match piece {
            ChatPiece::Template(text) => {
                for part in tokenizer.cut_template(text)? {
                    match part {
                        TemplatePart::Text(text) => run.push(SegmentKind::Template, text),
                        TemplatePart::Structural(id) => {
                            prompt.append_run(tokenizer, &std::mem::take(&mut run))?;
                            prompt.append(SegmentKind::Template, &[id]);
                        }
                    }
                }
            }
            ChatPiece::System => {
                let kept = trimmed(system, layout.trims_start, layout.trims_end);
                run.push(SegmentKind::System, &system[kept]);
            }
            ChatPiece::User => {
                run.push_user(user, &trimmed(&user.text, layout.trims_start, layout.trims_end));
            }
        }
    }
    prompt.append_run(tokenizer, &run)?;
    Ok(prompt)
}

impl Prompt {
    fn append_run(&mut self, tokenizer: &ModelTokenizer, run: &Run) -> Result<(), ModelTextError> {
        let tokens = if self.ids.is_empty() {
            tokenizer.encode_data(&run.text)?
        } else {
            tokenizer.encode_after_structural(&run.text)?
        };
        self.append_parts(&run.parts, &run.text, 0, &tokens);
        Ok(())
    }
}

#[cfg(test)]
#[path = "joined_tests.rs"]
mod tests;
