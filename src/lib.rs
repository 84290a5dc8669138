//! ragscope inspects retrieval-augmented generation: which chunks can be kept, which answer tokens
//! nothing supports, and what exactly is guaranteed about both.
//!
//! One idea carries the crate: **evidence is computed once, decisions are recomputed at every touch.**
//!
//! ```text
//! file ──> Example ──> retrieve ──> certify ──> read with the model ──> detect ──> Evidence ──┐
//!                                                                           (JSONL on disk)   │
//!                  Thresholds (sliders, flags) ──> decide(Evidence, Thresholds) ──> Findings ──> terminal · report · exit code
//! ```
//!
//! The rooms, in the order in which an example walks through them:
//!
//! | room | holds |
//! |---|---|
//! | [`text`] | what every room needs of text: words, sentences, control characters made visible |
//! | [`disk`] | files that come whole or not at all, and are read within a limit |
//! | [`data`] | [`data::Example`], spans and their units, grouped splits, one file per file format |
//! | [`retrieval`] | chunks that carry their offsets, BM25 |
//! | [`certify`] | ROUGE-L labels, split conformal prediction, m1/m2 and the verdict |
//! | [`model`] | finding and fetching models, tokenizer, chat prompt with segments, the instrumented decoder |
//! | [`reading`] | one answer read with and without its references: the [`reading::Trace`] |
//! | [`detect`] | CORTEX, look-back ratios, their heads, smoothing, spans |
//! | [`metrics`] | ranking, calibration and span measures, bootstrap |
//! | [`evidence`] | the record, its reader and writer, [`evidence::decide`] |
//! | [`inspect`] | the pipeline: the only room that calls several others in order |
//! | [`laboratory`] | detectors compared on labelled answers, heads trained: features kept once, folds by source |
//! | [`report`] | HTML, Markdown, JSON from evidence and thresholds |
//! | [`tui`] | the terminal inspector |
//! | [`cli`] | one file per command |
//!
//! Who may use whom is checked by `tests/architecture.rs`.

#![forbid(unsafe_code)]

pub mod certify;
pub mod cli;
pub mod data;
pub mod detect;
pub mod disk;
pub mod evidence;
pub mod inspect;
pub mod laboratory;
pub mod metrics;
pub mod model;
pub mod reading;
pub mod report;
pub mod retrieval;
pub mod text;
pub mod tui;
