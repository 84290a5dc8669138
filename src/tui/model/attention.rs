//! Where one looks in the attention maps.

use crate::evidence::Lookback;
use crate::tui::heat_scale::Scale;

/// Whose look-back ratio the head map shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subject {
    /// The selected chunk.
    #[default]
    Chunk,
    /// The whole context.
    Context,
}

/// Cursor and settings of the attention pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttentionCursor {
    pub layer: usize,
    pub head: usize,
    pub subject: Subject,
    pub scale: Scale,
}

impl AttentionCursor {
    /// Look-back ratio of a head for the subject; `None` outside the record.
    pub fn ratio(&self, lookback: &Lookback, chunk: usize, layer: usize, head: usize) -> Option<f64> {
        if layer >= lookback.layers || head >= lookback.heads {
            return None;
        }
        let at = layer * lookback.heads + head;
        let value = match self.subject {
            Subject::Context => lookback.context_by_head.get(at),
            Subject::Chunk => {
                let chunks = lookback.by_head.len().checked_div(lookback.layers * lookback.heads)?;
                if chunk >= chunks {
                    return None;
                }
                lookback.by_head.get(at * chunks + chunk)
            }
        };
        value.map(|value| f64::from(*value)).filter(|value| value.is_finite())
    }
}

/// Attention mass that predicting `token` put on `chunk` of `chunks`; `None` outside the record.
pub fn mass(lookback: &Lookback, chunks: usize, token: usize, chunk: usize) -> Option<f64> {
    if chunk >= chunks {
        return None;
    }
    let value = lookback.by_token.get(token.checked_mul(chunks)? + chunk)?;
    Some(f64::from(*value)).filter(|value| value.is_finite())
}
