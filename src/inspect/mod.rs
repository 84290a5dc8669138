//! (room under construction)

mod message;

pub use message::{Message, Planned};
