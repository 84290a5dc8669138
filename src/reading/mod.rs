//! One answer read with and without its references: the [`Trace`] that detectors use.

mod prompt_form;
mod reader;
mod trace;
mod trace_of;

pub use crate::model::StateLayer;
pub use prompt_form::{with_references, without_references};
pub use reader::{ReadAnswer, Reader, ReadingError};
pub use trace::{LayerStates, LookbackMass, Trace};
