//! One answer read with and without its references: the [`Trace`] that detectors use.

mod trace;

pub use trace::{LayerStates, LookbackMass, StateLayer, Trace};
