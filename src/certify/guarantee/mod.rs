//! What is guaranteed, in the words that every view, report and command prints. Nothing else in the crate may
//! phrase a guarantee, or the lack of one: `tests/architecture.rs` reads every other literal, and
//! `tests/guarantees.rs` holds these sentences against simulations.
//!
//! | file | holds |
//! |---|---|
//! | `chunks` | [`ChunkGuarantee`]: kept chunks |
//! | `highlighting` | [`HighlightingGuarantee`]: flagged tokens |
//! | `absent` | why nothing is guaranteed |

mod absent;
mod chunks;
mod highlighting;

pub use absent::{
    FLAGS_WITHOUT_GUARANTEE, MARKS_ONLY, NO_CALIBRATION, NOT_CALIBRATED, NOT_STATED, SAME_DATA, TRAINED_ON,
    UNAVAILABLE, other_retriever,
};
pub use chunks::{ChunkGuarantee, end_to_end_floor, without_threshold};
pub use highlighting::{FALSE_ALARMS, HighlightingGuarantee};
