//! One answer read with and without its references: the [`Trace`] that detectors use.

mod lexical_support;
mod prompt_form;
mod reader;
mod trace;
mod trace_of;

pub use crate::model::{Generated, GenerationSettings, StateLayer, StopReason};
pub use prompt_form::{no_passage_found, prompt_form, with_references, without_references};
pub use reader::{KeptSignals, ReadAnswer, Reader, ReadingError, WrittenAnswer};
pub use trace::{LayerStates, LookbackMass, Trace};
