//! What someone at the screen asks of an inspection, while it runs or after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::evidence::Evidence;

use super::generation::ChunkFilter;

/// An answer that is wanted: it becomes a record of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Row number of the new record: one that no other record has.
    pub row: usize,
    /// Its id.
    pub id: String,
    /// What is to be answered.
    pub subject: RequestSubject,
    /// Chunks that the answer is written from; it is read with all of them.
    pub filter: ChunkFilter,
    /// Ends it before it is done.
    pub cancel: Cancel,
}

/// What is to be answered.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestSubject {
    /// A question of one's own: chunks are retrieved for it.
    Question(String),
    /// The question of a record once more, with the chunks that it has.
    Again(Arc<Evidence>),
}

/// A switch that ends one answer. Clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// The answer is no longer wanted.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// For what only knows flags.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl From<Arc<AtomicBool>> for Cancel {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

impl PartialEq for Cancel {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
