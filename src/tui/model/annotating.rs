//! Marks of the reader, and what can be undone of them.

use crate::evidence::{AnnotatedAnswer, Annotations};

/// A change of one answer's marks.
#[derive(Debug, Clone, PartialEq)]
struct Change {
    /// Index of its row.
    index: usize,
    id: String,
    answer_hash: String,
    before: Option<AnnotatedAnswer>,
    after: Option<AnnotatedAnswer>,
}

/// Marks on answers, and how far they are saved.
#[derive(Debug, Clone, Default)]
pub struct Annotating {
    marks: Annotations,
    /// Why nothing can be marked here.
    pub closed: Option<String>,
    /// Where they are kept, for sentences.
    pub place: String,
    /// Row and token at which a selection began.
    pub anchor: Option<(usize, usize)>,
    /// Token at which the pointer was pressed.
    pub pressed: Option<usize>,
    undo: Vec<Change>,
    redo: Vec<Change>,
    /// What is being written now.
    sent: Option<Annotations>,
    /// Something changed that is not being written yet.
    unsaved: bool,
}

impl Annotating {
    /// With the marks of a file.
    pub fn new(marks: Annotations, closed: Option<String>, place: String) -> Self {
        Self { marks, closed, place, ..Self::default() }
    }

    pub fn marks(&self) -> &Annotations {
        &self.marks
    }

    /// What is marked on an answer.
    pub fn of(&self, id: &str, answer: &str) -> Option<&AnnotatedAnswer> {
        self.marks.of(id, answer)
    }

    /// Changes the marks of one answer; `false`: nothing changed.
    pub fn change(
        &mut self,
        index: usize,
        id: &str,
        answer: &str,
        change: impl FnOnce(&mut Annotations) -> bool,
    ) -> bool {
        let answer_hash = crate::evidence::answer_hash(answer);
        let before = self.marks.of(id, answer).cloned();
        if !change(&mut self.marks) {
            return false;
        }
        let after = self.marks.of(id, answer).cloned();
        self.undo.push(Change { index, id: id.to_owned(), answer_hash, before, after });
        self.redo.clear();
        self.unsaved = true;
        true
    }

    /// Takes the last change back, and nothing that somebody else marked since; the index of its row.
    pub fn undo(&mut self) -> Option<usize> {
        let change = self.undo.pop()?;
        let answer = (change.id.as_str(), change.answer_hash.as_str());
        self.marks.change_from(answer, change.after.as_ref(), change.before.as_ref());
        self.unsaved = true;
        let index = change.index;
        self.redo.push(change);
        Some(index)
    }

    /// Makes the change again that was taken back last.
    pub fn redo(&mut self) -> Option<usize> {
        let change = self.redo.pop()?;
        let answer = (change.id.as_str(), change.answer_hash.as_str());
        self.marks.change_from(answer, change.before.as_ref(), change.after.as_ref());
        self.unsaved = true;
        let index = change.index;
        self.undo.push(change);
        Some(index)
    }

    /// What is to be written now: nothing while something is being written, so that what others wrote is
    /// known before the next time.
    pub fn to_save(&mut self) -> Option<Annotations> {
        if !self.unsaved || self.sent.is_some() || self.closed.is_some() {
            return None;
        }
        self.unsaved = false;
        self.sent = Some(self.marks.clone());
        self.sent.clone()
    }

    /// It is written; `joined` is what the file holds where others had changed it too. Whether it was joined.
    pub fn saved(&mut self, joined: Option<Annotations>) -> bool {
        let sent = self.sent.take();
        match (sent, joined) {
            (Some(sent), Some(joined)) => {
                self.marks = Annotations::join(&sent, &self.marks, &joined);
                true
            }
            _ => false,
        }
    }

    /// It could not be written: tried again with the next change, and at the end.
    pub fn not_saved(&mut self) {
        self.sent = None;
        self.unsaved = true;
    }

    /// Whether something is being written.
    pub fn is_sending(&self) -> bool {
        self.sent.is_some()
    }

    /// Whether something is written by nobody yet.
    pub fn is_unsaved(&self) -> bool {
        self.unsaved && self.closed.is_none()
    }
}
