//! What every room needs of text, and nothing that knows a room.

mod hexadecimal;
mod nearest;
mod sentences;
mod visible;
mod words;

pub use hexadecimal::hexadecimal;
pub use nearest::nearest;
pub use sentences::sentences;
pub use visible::{escaped_json, quoted, visible, visible_char, visible_line, visible_path};
pub use words::{Word, words};
