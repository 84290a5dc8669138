//! One answer read with and without its references: the [`Trace`] that detectors use.

mod trace;

pub use crate::model::StateLayer;
pub use trace::{LayerStates, LookbackMass, Trace};
