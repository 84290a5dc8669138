//! The prompt as tokens, each of which knows what it belongs to.

use std::ops::Range;

use super::chat::{ChatPiece, ChatTemplate};
use super::text_error::ModelTextError;
use super::tokenizer::{ModelTokenizer, TokenizedText};

mod joined;

/// What a token of a prompt belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    /// Text of the chat template: turns, roles, a system message of the template's own.
    Template,
    /// The system message of the caller.
    System,
    /// Words of ragscope's own in the user message: the task, headings, numbers.
    Instruction,
    /// The question.
    Question,
    /// The k-th chunk of the references, from 0.
    Chunk(usize),
}

/// The user message with its segments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserTurn {
    pub text: String,
    /// Byte ranges of `text`, in order, on character boundaries, without overlap. Bytes between them
    /// count as instruction. Chunks come in ascending order, each at most once; `Template` and `System`
    /// are not for the user message.
    pub segments: Vec<(SegmentKind, Range<usize>)>,
}

impl UserTurn {
    /// An empty user message, to be filled with [`UserTurn::push`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `text` as a segment of `kind`.
    pub fn push(&mut self, kind: SegmentKind, text: &str) -> &mut Self {
        let start = self.text.len();
        self.text.push_str(text);
        self.segments.push((kind, start..self.text.len()));
        self
    }

    fn check(&self) -> Result<(), ModelTextError> {
        let (mut end, mut last_chunk) = (0, None);
        for (kind, range) in &self.segments {
            let wrong = |what: &str| {
                Err(ModelTextError::Segments(format!(
                    "{kind:?} at bytes {}..{} {what}",
                    range.start, range.end
                )))
            };
            if range.start < end || range.end < range.start {
                return wrong("overlaps or precedes the segment before it");
            }
            if self.text.get(range.clone()).is_none() {
                return wrong("is not on character boundaries of the text");
            }
            match kind {
                SegmentKind::Template | SegmentKind::System => {
                    return wrong("cannot be part of a user message");
                }
                SegmentKind::Chunk(chunk) => {
                    if last_chunk.is_some_and(|last| *chunk <= last) {
                        return wrong("comes after a chunk that is not before it");
                    }
                    last_chunk = Some(*chunk);
                }
                SegmentKind::Instruction | SegmentKind::Question => {}
            }
            end = range.end;
        }
        Ok(())
    }
}

/// Tokens of one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSegment {
    pub kind: SegmentKind,
    /// Positions in [`Prompt::ids`].
    pub tokens: Range<usize>,
}

/// A prompt up to where the assistant's answer begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    pub ids: Vec<u32>,
    /// In order, without gap or overlap. Every segment of the user message is there, with an empty range
    /// if no token is its own.
    pub segments: Vec<PromptSegment>,
}

impl Prompt {
    /// Lays a system message and a user message out by the chat template and tokenises them: template
    /// text with special tokens parsed, messages as data.
    ///
    /// A content token belongs to the segment that holds its first byte that is not white space; a token
    /// of white space alone to the segment that holds its first byte. The answer is tokenised apart
    /// ([`ModelTokenizer::encode_data`]) and appended by the caller.
    pub fn new(
        tokenizer: &ModelTokenizer,
        chat: &ChatTemplate,
        system: Option<&str>,
        user: &UserTurn,
    ) -> Result<Self, ModelTextError> {
        user.check()?;
        let layout = chat.layout(system.is_some());
        if tokenizer.prefixes_space() {
            return joined::lay_out(tokenizer, layout, system.unwrap_or_default(), user);
        }
        let mut prompt = Self::default();
        for piece in &layout.pieces {
            match piece {
                ChatPiece::Template(text) => {
                    let ids = tokenizer.encode_template(text)?;
                    prompt.append(SegmentKind::Template, &ids);
                }
                ChatPiece::System => {
                    let text = trimmed(system.unwrap_or_default(), layout.trims_start, layout.trims_end);
                    let kept = &system.unwrap_or_default()[text];
                    prompt.append(SegmentKind::System, &tokenizer.encode_data(kept)?.ids);
                }
                ChatPiece::User => {
                    let kept = trimmed(&user.text, layout.trims_start, layout.trims_end);
                    prompt.append_user(tokenizer, user, kept)?;
                }
            }
        }
        Ok(prompt)
    }

    /// Token ranges of the chunks, in the order of the user message.
    pub fn chunks(&self) -> Vec<Range<usize>> {
        self.segments
            .iter()
            .filter(|segment| matches!(segment.kind, SegmentKind::Chunk(_)))
            .map(|segment| segment.tokens.clone())
            .collect()
    }

    fn append(&mut self, kind: SegmentKind, ids: &[u32]) {
        let start = self.ids.len();
        self.ids.extend(ids);
        match self.segments.last_mut() {
            Some(last) if last.kind == kind => last.tokens.end = self.ids.len(),
            _ => self.segments.push(PromptSegment { kind, tokens: start..self.ids.len() }),
        }
    }

    fn append_user(
        &mut self,
        tokenizer: &ModelTokenizer,
        user: &UserTurn,
        kept: Range<usize>,
    ) -> Result<(), ModelTextError> {
        let tokens = tokenizer.encode_data(&user.text[kept.clone()])?;
        self.append_parts(&without_gaps(user), &user.text, kept.start, &tokens);
        Ok(())
    }

    /// Appends the tokens of `text` from byte `start` on, each to the part that holds its first visible byte.
    fn append_parts(
        &mut self,
        parts: &[(SegmentKind, Range<usize>)],
        text: &str,
        start: usize,
        tokens: &TokenizedText,
    ) {
        let mut part = 0;
        for (id, range) in tokens.ids.iter().zip(&tokens.ranges) {
            let covered = &text[start + range.start..start + range.end];
            let blank = covered.len() - covered.trim_start().len();
            let at = start + range.start + if blank < covered.len() { blank } else { 0 };
            // First bytes never go back, so neither does the part.
            while part + 1 < parts.len() && parts[part].1.end <= at {
                self.append(parts[part].0, &[]);
                part += 1;
            }
            let kind = parts.get(part).map_or(SegmentKind::Instruction, |found| found.0);
            self.append(kind, &[*id]);
        }
        for (kind, _) in parts.iter().skip(part) {
            self.append(*kind, &[]);
        }
    }
}

/// Bytes that are left when white space is taken off the sides that the template trims.
fn trimmed(text: &str, start: bool, end: bool) -> Range<usize> {
    let from = if start { text.len() - text.trim_start().len() } else { 0 };
    let to = if end { text.trim_end().len() } else { text.len() };
    from..to.max(from)
}

/// The segments of a user message with instruction between them.
fn without_gaps(user: &UserTurn) -> Vec<(SegmentKind, Range<usize>)> {
    let mut parts = Vec::with_capacity(user.segments.len() * 2 + 1);
    let mut end = 0;
    for (kind, range) in &user.segments {
        if range.start > end {
            parts.push((SegmentKind::Instruction, end..range.start));
        }
        parts.push((*kind, range.clone()));
        end = range.end;
    }
    if end < user.text.len() {
        parts.push((SegmentKind::Instruction, end..user.text.len()));
    }
    parts
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
