//! What every room needs of text, and nothing that knows a room.

mod visible;
mod words;

pub use visible::{visible, visible_char, visible_line};
pub use words::{Word, words};
