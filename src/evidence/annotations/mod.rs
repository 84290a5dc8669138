//! Marks that a reader put on answers: this flag is wrong, this span was missed. They are labels of the
//! reader's own, kept beside the data and never in it.
//!
//! | file | holds |
//! |---|---|
//! | `marks` | [`Mark`], [`AnnotatedAnswer`], and [`Annotations`], which are all of a file |
//! | `file` | [`AnnotationFile`]: read, written as a whole, joined with what others wrote meanwhile |
//! | `join` | the marks of an answer that two readers changed |
//! | `labels` | marks as labels of examples, for training and comparison |
//! | `agreement` | how a detector's flags agree with them, token by token |

mod agreement;
mod file;
mod join;
mod labels;
mod marks;

pub use agreement::AnnotationAgreement;
pub use file::{AnnotationError, AnnotationFile, SavedAnnotations, beside};
pub use labels::{MergedLabels, labels_of, merge_labels};
pub use marks::{ANNOTATION_SCHEMA, AnnotatedAnswer, Annotations, Mark, MarkKind, ShownFlags, answer_hash};
