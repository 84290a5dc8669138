//! Data sets as users have them, turned into [`Example`]s with UTF-8 byte offsets.
//!
//! Every other unit of offsets is converted here, at the border.

mod example;
pub mod formats;

pub use example::{Document, Example, GoldSpan, Passage};
