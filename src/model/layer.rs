//! Which hidden state of a decoder is meant.

use serde::{Deserialize, Serialize};

/// The output of a block, or the last one after the final norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateLayer {
    /// Output of the n-th block, from 1 (Hugging Face `hidden_states[n]` for n below the depth).
    Block(usize),
    /// After the final norm (Hugging Face `hidden_states[-1]`).
    FinalNorm,
}
