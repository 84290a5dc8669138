//! (room under construction)
mod p_value;
pub use p_value::{Alpha, PValue};
