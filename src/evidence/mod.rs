//! Evidence and decisions: the record on disk, and the pure function that turns it into findings.

mod annotations;
mod comparison;
mod decide;
mod findings;
mod highlighting;
mod record;
mod run_file;
mod store;
mod thresholds;

pub use annotations::{
    ANNOTATION_SCHEMA, AnnotatedAnswer, AnnotationAgreement, AnnotationError, AnnotationFile, Annotations,
    Mark, MarkKind, MergedLabels, SavedAnnotations, ShownFlags, answer_hash, beside, labels_of, merge_labels,
};
pub use comparison::difference;
pub use decide::{chosen_detector, decide};
pub use findings::{Findings, FlaggedSpan};
pub use highlighting::{HighlightingError, LabelledAnswers, labelled_answers, scores_of};
pub use record::{
    ChunkEvidence, DetectorScores, Evidence, LabelledSpan, Lookback, Provenance, Reading, SCHEMA, Status,
};
pub use run_file::{HashedRun, RunFile, read_hashed_run, read_run};
pub use store::{EvidenceError, LONGEST_LINE, is_evidence, parse_line, read_line, write_line};
pub use thresholds::Thresholds;
