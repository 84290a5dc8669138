//! Which retrieved chunks can be kept, and what exactly that promises (DRAG block 1).
//!
//! Labels say which chunks of a calibration set are correct ([`label_chunks`], [`rouge_l`]); their
//! scores make a [`Calibration`], stored as a [`CalibrationArtefact`]; it gives every later chunk a
//! [`PValue`], and a chunk is trusted iff p > alpha. [`diagnose`] and [`judge`] tell whether the
//! retriever suits this at all; [`ChunkGuarantee`] holds the only wording of what is guaranteed.
//! [`highlighting`] does the same for the flagged tokens.

mod artefact;
mod conformal;
mod diagnostics;
mod error;
pub mod guarantee;
pub mod highlighting;
mod intervals;
mod kolmogorov_smirnov;
mod labels;
mod p_value;
mod porter;
#[cfg(test)]
mod risk_control;
mod rouge;
mod scores;
mod verdict;

pub use artefact::{ARTEFACT_SCHEMA, CalibrationArtefact, CalibrationCounts, CalibrationSource};
pub use conformal::{Calibration, Quantile, coverage_band, minimum_values};
pub use diagnostics::{AlphaRow, Diagnostics, DiagnosticsSettings, ModeDiagnostics, diagnose};
pub use error::CertifyError;
pub use guarantee::{ChunkGuarantee, end_to_end_floor, without_threshold};
pub use intervals::{Bounds, clopper_pearson};
pub use kolmogorov_smirnov::{KolmogorovSmirnov, kolmogorov_smirnov};
pub use labels::{ChunkLabels, LabelChunk, LabelQuestion, LabelSettings, Similarity, label_chunks};
pub use p_value::{Alpha, PValue};
pub use porter::porter_stem;
#[cfg(test)]
pub(crate) use risk_control::{ScoredAnswer, risk_controlling_threshold};
pub use rouge::{Rouge, RougeMode, RougeSettings, rouge_l, rouge_l_words};
pub use scores::{CalibrationMode, QuestionScores};
pub use verdict::{Failure, LEAST_AUROC, Suitability, Verdict, judge};
