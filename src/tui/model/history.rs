//! Thresholds as they were: undo and redo.

use crate::evidence::Thresholds;

/// Steps that are kept; older ones are forgotten.
const KEPT: usize = 200;

/// What undo and redo go through. One change by a key is one step, and so is one drag of the pointer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    past: Vec<Thresholds>,
    future: Vec<Thresholds>,
    /// As they were when the pointer took a slider.
    held: Option<Thresholds>,
    /// The last change was an undo or a redo, which is no step of its own.
    travelled: bool,
}

impl History {
    /// Takes note of what one action did: thresholds and whether a slider was held before it and after it.
    pub fn note(&mut self, before: Thresholds, was_held: bool, now: &Thresholds, is_held: bool) {
        if std::mem::take(&mut self.travelled) {
            return;
        }
        match (was_held, is_held) {
            (false, false) => self.push(before, now),
            (_, true) => {
                self.held.get_or_insert(before);
            }
            (true, false) => self.let_go(now),
        }
    }

    /// The slider that was held is no longer: what happened to it is a step.
    pub fn let_go(&mut self, now: &Thresholds) {
        if let Some(began) = self.held.take() {
            self.push(began, now);
        }
    }

    fn push(&mut self, before: Thresholds, now: &Thresholds) {
        if before == *now {
            return;
        }
        if self.past.len() == KEPT {
            self.past.remove(0);
        }
        self.past.push(before);
        self.future.clear();
    }

    /// The thresholds before the last step, which can be redone.
    pub fn undo(&mut self, now: &Thresholds) -> Option<Thresholds> {
        let before = self.past.pop()?;
        self.future.push(now.clone());
        self.travelled = true;
        Some(before)
    }

    /// The thresholds that the last undo took back.
    pub fn redo(&mut self, now: &Thresholds) -> Option<Thresholds> {
        let after = self.future.pop()?;
        self.past.push(now.clone());
        self.travelled = true;
        Some(after)
    }

    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }
}
