//! The pipeline: the only room that calls several others in order.
//!
//! | file | holds |
//! |---|---|
//! | `run` | a whole data set, watched and cached: [`Plan`], [`run`] |
//! | `request`, `asking` | questions of one's own, answered while a run goes on and after it |
//! | `model_slot` | the model of a run, loaded when it is needed and kept |
//! | `inspector` | one record to evidence: [`Inspector`] |
//! | `shared_prompt` | records whose answers are read together |
//! | `corpus`, `certificate`, `chunks` | documents indexed; where p-values come from; the chunks of an example |
//! | `detectors`, `assemble` | heads bound to a model; the record put together |
//! | `generation` | answers for records that have none |
//! | `cache`, `message` | evidence kept between runs; what a watcher is told |
//! | `extraction`, [`evaluation`] | features of labelled answers; cross-validation and training |

mod asking;
mod assemble;
mod cache;
mod certificate;
mod chunks;
mod corpus;
mod detectors;
mod error;
pub mod evaluation;
mod extraction;
mod generation;
mod inspector;
mod message;
mod model_slot;
mod request;
mod run;
mod shared_prompt;

pub use asking::is_asked;
pub use cache::EvidenceCache;
pub use certificate::{
    Certificate, CertificateSummary, ScoredQuestions, mode_name, score_questions, source_of, verdict,
};
pub use chunks::ChunkSource;
pub use corpus::{Corpus, RetrievedChunk};
pub use detectors::{Detectors, HeadFiles, HeadSource};
pub use error::InspectError;
pub use extraction::{Extraction, ExtractionProgress, OnError, extract, identity, store_header};
pub use generation::{ChunkFilter, Generation, is_generated, is_generated_without_passage};
pub use inspector::{Inspector, bind_detectors};
pub use message::{AnswerNews, Message, Planned};
pub use request::{Cancel, Request, RequestSubject};
pub use run::{Plan, run, run_and_answer};
pub use shared_prompt::same_prompt_runs;
