//! How good scores are: ranking, calibration of probabilities, span overlap, and how sure a figure is.
//!
//! A figure that does not exist (one class, nothing predicted) is a [`Measure::Undefined`] with its
//! reason. Intervals come from resampling whole sources, never single tokens.

mod measure;
mod random;

pub use measure::{MacroMean, Measure, macro_mean};
pub use random::Random;
