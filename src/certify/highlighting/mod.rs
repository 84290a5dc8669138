//! Certified highlighting: how much of an answer's unsupported text the flagged tokens miss at most, and
//! what that costs (the second stage of the certificate).
//!
//! | file | holds |
//! |---|---|
//! | `answers` | [`AnswerLoss`], sources as the exchangeable units, [`Population`] |
//! | `curve` | [`HighlightingCurve`]: mean loss and price over thresholds; the threshold for a beta |
//! | `held_out` | [`held_out`]: what random halves by source really miss |
//! | `false_alarms` | [`false_alarm_threshold`]: Learn-then-Test on clean answers |
//! | `artefact` | [`HighlightingArtefact`]: the calibration on disk |
//!
//! It knows token scores, labels and a source name per answer, nothing of evidence or models, so
//! out-of-fold scores of a cross-validation are checked in the same way.

mod answers;
mod artefact;
mod curve;
mod false_alarms;
mod held_out;

pub use super::guarantee::HighlightingGuarantee;
pub(super) use answers::allowed_sum;
pub use answers::{AnswerLoss, Population};
pub use artefact::{HIGHLIGHTING_SCHEMA, HighlightingArtefact, HighlightingSource};
pub use curve::{CurveRow, HighlightingCurve};
pub use false_alarms::{FalseAlarmRow, binomial_p_value, clean_answers, false_alarm_threshold};
pub use held_out::{HeldOut, held_out};
