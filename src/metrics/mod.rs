//! How good scores are: ranking, calibration of probabilities, span overlap, and how sure a figure is.
//!
//! A figure that does not exist (one class, nothing predicted) is a [`Measure::Undefined`] with its
//! reason. Intervals come from resampling whole sources, never single tokens.

mod bootstrap;
mod measure;
mod random;
mod ranking;
mod reliability;
mod spans;

pub use bootstrap::{
    Interval, PairedDifference, RESAMPLES, Resample, bootstrap_interval, bootstrap_intervals,
    paired_bootstrap,
};
pub use measure::{MacroMean, Measure, macro_mean};
pub use random::Random;
pub use ranking::{Ranking, RankingSample, auroc, average_precision, ranking};
pub use reliability::{BINS, Reliability, ReliabilityBin, brier, expected_calibration_error, reliability};
pub use spans::SpanOverlap;
