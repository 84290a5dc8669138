//! Where one looks in the attention maps.

use std::ops::Range;

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

/// What the attention pane shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttentionView {
    /// Layers by heads.
    #[default]
    Grid,
    /// Chunks by answer tokens.
    Tokens,
    /// The heads that look back most, as a list.
    Heads,
}

impl AttentionView {
    /// In the order of the key.
    pub const ALL: [Self; 3] = [Self::Grid, Self::Tokens, Self::Heads];

    /// The next view, round the end.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Grid => Self::Tokens,
            Self::Tokens => Self::Heads,
            Self::Heads => Self::Grid,
        }
    }

    /// Name in the pane's title.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Tokens => "tokens",
            Self::Heads => "heads",
        }
    }
}

/// Cursor and settings of the attention pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttentionCursor {
    pub layer: usize,
    pub head: usize,
    pub subject: Subject,
    pub scale: Scale,
    pub view: AttentionView,
    /// Whether the token map has a row for the attention that no chunk got.
    pub elsewhere: bool,
}

impl AttentionCursor {
    /// Look-back ratio of a head for the subject; `None` outside the record.
    pub fn ratio(&self, lookback: &Lookback, chunk: usize, layer: usize, head: usize) -> Option<f64> {
        match self.subject {
            Subject::Context => context_ratio(lookback, layer, head),
            Subject::Chunk => chunk_ratio(lookback, chunk, layer, head),
        }
    }

    /// Layer, head and ratio of every head, from the highest ratio down; equal ones in layer order.
    pub fn ranked(&self, lookback: &Lookback, chunk: usize) -> Vec<(usize, usize, f64)> {
        let heads = (0..lookback.layers).flat_map(|layer| (0..lookback.heads).map(move |head| (layer, head)));
        let mut ranked: Vec<(usize, usize, f64)> = heads
            .filter_map(|(layer, head)| Some((layer, head, self.ratio(lookback, chunk, layer, head)?)))
            .collect();
        ranked.sort_by(|one, other| other.2.total_cmp(&one.2));
        ranked
    }
}

/// Mean look-back ratio of a head at one chunk; `None` outside the record.
pub fn chunk_ratio(lookback: &Lookback, chunk: usize, layer: usize, head: usize) -> Option<f64> {
    let at = head_index(lookback, layer, head)?;
    let chunks = lookback.by_head.len().checked_div(lookback.layers.checked_mul(lookback.heads)?)?;
    if chunk >= chunks {
        return None;
    }
    finite(lookback.by_head.get(at.checked_mul(chunks)? + chunk))
}

/// Mean look-back ratio of a head at the whole context; `None` outside the record.
pub fn context_ratio(lookback: &Lookback, layer: usize, head: usize) -> Option<f64> {
    finite(lookback.context_by_head.get(head_index(lookback, layer, head)?))
}

fn head_index(lookback: &Lookback, layer: usize, head: usize) -> Option<usize> {
    (layer < lookback.layers && head < lookback.heads).then(|| layer * lookback.heads + head)
}

/// Attention mass that predicting `token` put on `chunk` of `chunks`; `None` outside the record.
pub fn mass(lookback: &Lookback, chunks: usize, token: usize, chunk: usize) -> Option<f64> {
    if chunk >= chunks {
        return None;
    }
    finite(lookback.by_token.get(token.checked_mul(chunks)?.checked_add(chunk)?))
}

/// Attention mass that predicting `token` put on no chunk: the sink at the first token, instructions,
/// question and answer so far together. The record does not tell them apart.
pub fn elsewhere(lookback: &Lookback, chunks: usize, token: usize) -> Option<f64> {
    let sum: Option<f64> = (0..chunks).map(|chunk| mass(lookback, chunks, token, chunk)).sum();
    sum.map(|sum| (1.0 - sum).clamp(0.0, 1.0))
}

/// The chunk with the highest mean mass over `tokens`, and that mass; the earlier one of two equals.
pub fn looked_at_most(lookback: &Lookback, chunks: usize, tokens: Range<usize>) -> Option<(usize, f64)> {
    let count = tokens.len().max(1) as f64;
    let mut most: Option<(usize, f64)> = None;
    for chunk in 0..chunks {
        let sum: Option<f64> = tokens.clone().map(|token| mass(lookback, chunks, token, chunk)).sum();
        if let Some(mean) = sum.map(|sum| sum / count)
            && !tokens.is_empty()
            && most.is_none_or(|(_, other)| mean > other)
        {
            most = Some((chunk, mean));
        }
    }
    most
}

fn finite(value: Option<&f32>) -> Option<f64> {
    value.map(|value| f64::from(*value)).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two layers of two heads, two chunks, three tokens.
    fn lookback() -> Lookback {
        Lookback {
            layers: 2,
            heads: 2,
            by_head: vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.3, 0.8],
            context_by_head: vec![0.3, 0.7, 1.0, 0.9],
            by_token: vec![0.1, 0.2, 0.5, 0.1, 0.4, 0.2],
        }
    }

    #[test]
    fn heads_are_ranked_at_the_selected_chunk_and_equal_ones_keep_their_order() {
        let ranked = AttentionCursor::default().ranked(&lookback(), 0);
        let heads: Vec<(usize, usize)> = ranked.iter().map(|(layer, head, _)| (*layer, *head)).collect();
        assert_eq!(heads, [(1, 0), (0, 1), (1, 1), (0, 0)]);
    }

    #[test]
    fn the_chunk_looked_at_most_is_found_over_a_range_of_tokens() {
        let lookback = lookback();
        assert_eq!(looked_at_most(&lookback, 2, 0..1).map(|(chunk, _)| chunk), Some(1));
        assert_eq!(looked_at_most(&lookback, 2, 0..3).map(|(chunk, _)| chunk), Some(0));
        assert_eq!(looked_at_most(&lookback, 2, 1..1), None);
        assert_eq!(looked_at_most(&lookback, 2, 2..9), None);
        assert_eq!(looked_at_most(&lookback, 0, 0..1), None);
    }

    #[test]
    fn what_no_chunk_got_is_the_rest_and_unknown_where_a_part_is_unknown() {
        let mut lookback = lookback();
        assert!((elsewhere(&lookback, 2, 0).unwrap() - 0.7).abs() < 1e-6);
        assert_eq!(elsewhere(&lookback, 2, 3), None);
        lookback.by_token[0] = f32::NAN;
        assert_eq!(elsewhere(&lookback, 2, 0), None);
    }
}
