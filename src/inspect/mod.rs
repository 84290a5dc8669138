//! The pipeline: the only room that calls several others in order.
//!
//! | file | holds |
//! |---|---|
//! | `run` | a whole data set, watched and cached: [`Plan`], [`run`] |
//! | `request`, `asking` | questions of one's own, answered while a run goes on and after it |
//! | `model_slot` | the model of a run, loaded when it is needed and kept |
//! | `inspector` | one record to evidence: [`Inspector`] |
//! | `shared_prompt` | records whose answers are read together |
//! | `corpus`, `embedding_cache` | what is searched, and how; embeddings kept |
//! | `certificate`, `given_scores`, `chunks` | where p-values come from, also of passages with scores; the chunks of an example |
//! | `detectors`, `assemble` | heads bound to a model; the record put together |
//! | `generation` | answers for records that have none |
//! | `cache`, `message` | evidence kept between runs; what a watcher is told |
//! | `identity` | who a model is, for heads |

mod asking;
mod assemble;
mod cache;
mod certificate;
mod chunks;
mod corpus;
mod detectors;
mod embedding_cache;
mod error;
mod generation;
mod given_scores;
mod identity;
mod inspector;
mod message;
mod model_slot;
mod request;
mod run;
mod shared_prompt;

pub use asking::is_asked;
pub use cache::EvidenceCache;
pub use certificate::{
    Certificate, CertificateSummary, ScoredQuestions, mode_name, score_questions, source_of,
};
pub use chunks::{ChunkSource, GivenCertificate};
pub use corpus::{Corpus, DEFAULT_ENCODER, RetrieverKind, RetrieverSettings, ScoreKind, Told};
pub use detectors::{Detectors, HeadFiles, HeadSource, SHIPPED_HEADS};
pub use error::InspectError;
pub use generation::{
    ChunkFilter, Generation, StaleAnswer, is_generated, is_generated_without_passage, stale_answer,
};
pub use given_scores::{GivenScores, given_kind, most_passages, score_given};
pub use identity::{identity, identity_at};
pub use inspector::{Inspector, bind_detectors};
pub use message::{AnswerNews, Message, Planned};
pub use request::{Cancel, Request, RequestSubject};
pub use run::{Plan, run, run_and_answer};
pub use shared_prompt::{MOST_TOGETHER, same_prompt, same_prompt_runs};
