//! The thread that writes marks, one change after the other.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{self, Sender, SyncSender};
use std::thread::{self, JoinHandle};

use super::event::Event;
use super::model::Annotating;
use crate::evidence::{AnnotationFile, Annotations, SavedAnnotations};

/// The marks that a session begins with, and where they are kept.
#[derive(Debug)]
pub struct KeptMarks {
    /// The file, or why nothing can be marked.
    pub file: Result<AnnotationFile, String>,
    pub marks: Annotations,
    pub notices: Vec<String>,
}

impl KeptMarks {
    /// Opens a file; one that is no file of marks is left alone, and then nothing can be marked.
    pub fn open(path: &Path) -> Self {
        match AnnotationFile::open(path) {
            Ok((file, marks, notices)) => Self { file: Ok(file), marks, notices },
            Err(error) => {
                let reason = error.to_string();
                Self { file: Err(reason.clone()), marks: Annotations::default(), notices: vec![reason] }
            }
        }
    }

    /// As the model takes it.
    pub(super) fn annotating(&self) -> Annotating {
        let place = match &self.file {
            Ok(file) => crate::text::visible_path(file.path()),
            Err(_) => String::new(),
        };
        Annotating::new(self.marks.clone(), self.file.as_ref().err().cloned(), place)
    }
}

type LastResult = Option<Result<SavedAnnotations, String>>;

/// The thread and the way to it.
pub(super) struct MarksWriter {
    jobs: Sender<Annotations>,
    thread: JoinHandle<(AnnotationFile, LastResult)>,
}

impl MarksWriter {
    pub fn start(mut file: AnnotationFile, sender: SyncSender<Event>) -> io::Result<Self> {
        let (jobs, waiting) = mpsc::channel::<Annotations>();
        let write = move || {
            let mut last = None;
            for marks in waiting {
                let result = catch_unwind(AssertUnwindSafe(|| file.save(&marks)));
                let result = match result {
                    Ok(result) => result.map_err(|error| error.to_string()),
                    Err(_) => Err("the writer of marks panicked".to_owned()),
                };
                last = Some(result.clone());
                // Nobody listens any more when the screen is closed; the writing counts.
                let _ = sender.send(Event::MarksSaved(Box::new(result)));
            }
            (file, last)
        };
        let thread = thread::Builder::new().name("marks".into()).spawn(write)?;
        Ok(Self { jobs, thread })
    }

    /// Writes these marks next; `false`: the writer has ended.
    pub fn send(&self, marks: Annotations) -> bool {
        self.jobs.send(marks).is_ok()
    }

    /// Waits for what is being written and writes what is left; why that failed, and where the marks are then.
    pub fn finish(self, annotating: &mut Annotating) -> Option<String> {
        drop(self.jobs);
        let Ok((mut file, last)) = self.thread.join() else {
            return Some("the writer of marks ended in a panic: the last marks may be missing".to_owned());
        };
        if annotating.is_sending() {
            match last {
                Some(Ok(saved)) => {
                    annotating.saved(saved.joined);
                }
                _ => annotating.not_saved(),
            }
        }
        if !annotating.is_unsaved() {
            return None;
        }
        let error = file.save(annotating.marks()).err()?;
        Some(match file.rescue(annotating.marks()) {
            Ok(place) => format!(
                "{error}\nall marks of this session were written to {place}: open the data with --annotations {place}, \
                 or move it there",
                place = crate::text::visible_path(&place)
            ),
            Err(other) => format!("marks are lost: {error}; nor to the folder for temporary files: {other}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_when_the_screen_closes_is_written_and_what_others_wrote_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks.jsonl");
        let kept = KeptMarks::open(&path);
        let mut annotating = kept.annotating();
        let (sender, events) = mpsc::sync_channel(4);
        let writer = MarksWriter::start(kept.file.unwrap(), sender).unwrap();
        let evidence = crate::tui::update::tests::evidence(0, 2..4);
        let answer = evidence.answer.clone().unwrap();
        let mark = |annotating: &mut Annotating, range: std::ops::Range<usize>| {
            annotating.change(0, "q0", &answer, |marks| {
                marks.mark(
                    &evidence,
                    range,
                    crate::evidence::MarkKind::Missed,
                    crate::evidence::ShownFlags::default(),
                )
            });
        };
        mark(&mut annotating, 0..2);
        writer.send(annotating.to_save().unwrap());
        // A second mark while the first is written waits.
        mark(&mut annotating, 6..8);
        assert_eq!(annotating.to_save(), None);
        assert!(matches!(events.recv().unwrap(), Event::MarksSaved(result) if result.is_ok()));
        let others = std::fs::read_to_string(&path).unwrap().replace("\"q0\"", "\"q9\"");
        let ours = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, ours + &others).unwrap();
        assert_eq!(writer.finish(&mut annotating), None);
        let (_, marks, _) = AnnotationFile::open(&path).unwrap();
        assert_eq!(marks.mark_count(), 3);
        assert_eq!(marks.of("q0", &answer).unwrap().marks.len(), 2);
    }

    #[test]
    fn marks_that_cannot_be_written_at_the_end_are_written_somewhere_else_and_that_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks.jsonl");
        let kept = KeptMarks::open(&path);
        let mut annotating = kept.annotating();
        let writer = MarksWriter::start(kept.file.unwrap(), mpsc::sync_channel(4).0).unwrap();
        let evidence = crate::tui::update::tests::evidence(0, 2..4);
        annotating.change(0, "q0", evidence.answer.as_deref().unwrap(), |marks| {
            let flags = crate::evidence::ShownFlags::default();
            marks.mark(&evidence, 0..2, crate::evidence::MarkKind::Missed, flags)
        });
        // Somebody's own file came to the name meanwhile.
        std::fs::write(&path, "a,b\n").unwrap();
        let said = writer.finish(&mut annotating).expect("it could not be written");
        let place = said.split("written to ").nth(1).and_then(|rest| rest.split(": open").next()).unwrap();
        assert_eq!(AnnotationFile::open(Path::new(place)).unwrap().1, *annotating.marks(), "{said}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a,b\n");
        std::fs::remove_file(place).unwrap();
    }

    #[test]
    fn a_file_of_somebody_else_closes_the_marks_and_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "a,b\n").unwrap();
        let kept = KeptMarks::open(&path);
        assert_eq!(kept.notices.len(), 1);
        assert!(kept.annotating().closed.is_some_and(|reason| reason.contains("--annotations")));
    }
}
