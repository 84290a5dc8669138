//! (room under construction)

pub mod evaluation;
mod message;

pub use message::{Message, Planned};
