//! The space that `SentencePiece` tokenizers put before a text.

use std::collections::HashSet;

use serde_json::Value;
use tokenizers::Tokenizer;

/// What stands for a space in a piece.
const SPACE: char = '\u{2581}';
/// A text whose first token shows whether a space came before it.
const PROBE: &str = "a";

/// Where a tokenizer puts a space of its own.
#[derive(Debug, Clone)]
pub(super) enum SpacePrefix {
    /// Nowhere: byte-level tokenizers, Gemma.
    Never,
    /// Before every text between the tokens that steer: Llama 2 and what was converted like it.
    EveryPart,
    /// Before the very first text alone: newer conversions. `elsewhere` reads data without it.
    AtTheStart { elsewhere: Box<Tokenizer> },
}

impl PartialEq for SpacePrefix {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl SpacePrefix {
    /// Found out by what the tokenizer does, whichever of its parts does it.
    pub(super) fn of(template: &Tokenizer, data: &Tokenizer, structural: &HashSet<u32>) -> Self {
        let has_space = |tokenizer: &Tokenizer, text: &str, at: usize| {
            let encoding = tokenizer.encode_fast(text, false).ok()?;
            let id = encoding.get_ids().get(at).copied()?;
            Some(tokenizer.id_to_token(id)?.starts_with(SPACE))
        };
        if has_space(data, PROBE, 0) != Some(true) {
            return Self::Never;
        }
        // The lowest id, so that a tokenizer is judged alike every time.
        let Some(name) = structural.iter().min().and_then(|id| template.id_to_token(*id)) else {
            return Self::EveryPart;
        };
        match has_space(template, &format!("{name}{PROBE}"), 1) {
            Some(false) => without_prefix(data)
                .map_or(Self::EveryPart, |elsewhere| Self::AtTheStart { elsewhere: Box::new(elsewhere) }),
            _ => Self::EveryPart,
        }
    }
}

/// The same tokenizer, putting a space nowhere. `None` where no part of it is known to put one.
fn without_prefix(tokenizer: &Tokenizer) -> Option<Tokenizer> {
    let mut json = serde_json::to_value(tokenizer).ok()?;
    let changed = silence(json.get_mut("pre_tokenizer")?);
    let mut silent: Tokenizer = changed.then(|| serde_json::from_value(json).ok())??;
    // What no file holds.
    silent.set_encode_special_tokens(tokenizer.get_encode_special_tokens());
    Some(silent)
}

fn silence(part: &mut Value) -> bool {
    if let Some(scheme) = part.get_mut("prepend_scheme") {
        *scheme = Value::from("never");
        return true;
    }
    let parts = part.get_mut("pretokenizers").and_then(Value::as_array_mut);
    // One of them at most puts a space.
    parts.is_some_and(|parts| parts.iter_mut().any(silence))
}
