//! (room under construction)

mod layer;

pub use layer::StateLayer;
