use super::*;
use crate::evidence::annotations::marks::tests::{evidence, shown};
use crate::evidence::annotations::{MarkKind, answer_hash};

fn marked(range: std::ops::Range<usize>) -> Annotations {
    let mut annotations = Annotations::default();
    assert!(annotations.mark(&evidence(), range, MarkKind::Missed, shown()));
    annotations
}

fn other(id: &str) -> AnnotatedAnswer {
    let mut one = marked(0..2).answers().next().unwrap().clone();
    id.clone_into(&mut one.id);
    one
}

fn line(answer: &AnnotatedAnswer) -> String {
    serde_json::to_string(answer).unwrap() + "\n"
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("data.jsonl.annotations.jsonl")
    }

    fn open(&self) -> (AnnotationFile, Annotations, Vec<String>) {
        AnnotationFile::open(&self.path()).unwrap()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect()
    }
}

#[test]
fn what_was_saved_is_there_again_and_nothing_else_is_left_behind() {
    let place = Place::new();
    let (mut file, nothing, notices) = place.open();
    assert!(nothing.is_empty() && notices.is_empty());
    assert!(place.names().is_empty(), "looking writes nothing");
    let ours = marked(6..11);
    assert_eq!(file.save(&ours).unwrap().joined, None);
    assert_eq!(place.names(), ["data.jsonl.annotations.jsonl"]);
    let (_, again, _) = place.open();
    assert_eq!(again, ours);
    let answer = evidence().answer.unwrap();
    assert!(place.text().contains(&answer_hash(&answer)) && place.text().contains("\"text\":\"w2 w3\""));
    // The last mark taken back takes the file with it.
    file.save(&Annotations::default()).unwrap();
    assert!(place.names().is_empty());
}

#[test]
fn a_file_of_somebody_else_is_never_touched() {
    for content in ["a,b\n1,2\n", "{\"question\":\"q?\"}\n", "\u{0}\u{1}", "not json"] {
        let place = Place::new();
        std::fs::write(place.path(), content).unwrap();
        let refused = AnnotationFile::open(&place.path()).unwrap_err();
        assert!(matches!(refused, AnnotationError::NotAnnotations { .. }), "{refused}");
        // The same where it came while the screen was open.
        let other = Place::new();
        let (mut file, ..) = other.open();
        std::fs::write(other.path(), content).unwrap();
        assert!(matches!(file.save(&marked(0..2)), Err(AnnotationError::NotAnnotations { .. })));
        assert_eq!(other.text(), content);
    }
    let place = Place::new();
    std::fs::write(place.path(), [0xff, 0xfe, 0x00]).unwrap();
    assert!(AnnotationFile::open(&place.path()).is_err());
    std::fs::write(place.path(), "{\"schema\":\"ragscope-annotations/2\"}\n").unwrap();
    assert!(matches!(AnnotationFile::open(&place.path()), Err(AnnotationError::Schema { .. })));
}

#[test]
fn damaged_lines_are_told_kept_and_not_used() {
    let place = Place::new();
    let good = line(&other("q2"));
    let torn = &line(&other("q3"))[..60];
    let backwards = line(&other("q4")).replace("\"start\":0,\"end\":2", "\"start\":2,\"end\":0");
    std::fs::write(place.path(), format!("{good}{backwards}{torn}")).unwrap();
    let (mut file, annotations, notices) = place.open();
    assert_eq!(annotations.answers().count(), 1);
    assert_eq!(notices.len(), 2);
    assert!(notices[0].contains("line 2") && notices[1].contains("line 3"), "{notices:?}");
    let mut ours = annotations.clone();
    ours.mark(&evidence(), 0..2, MarkKind::FalseAlarm, shown());
    file.save(&ours).unwrap();
    let text = place.text();
    assert!(text.contains(torn) && text.contains(backwards.trim_end()));
    assert_eq!(place.open().1, ours);
}

#[test]
fn what_others_wrote_meanwhile_is_kept_and_told() {
    let place = Place::new();
    std::fs::write(place.path(), line(&other("q2")) + &line(&other("q3"))).unwrap();
    let (mut file, mut ours, _) = place.open();
    // Somebody appends an answer and takes one away; we mark one of our own.
    std::fs::write(place.path(), line(&other("q3")) + &line(&other("q9"))).unwrap();
    ours.mark(&evidence(), 0..2, MarkKind::Missed, shown());
    let joined = file.save(&ours).unwrap().joined.expect("it was joined");
    let ids = |annotations: &Annotations| -> Vec<String> {
        annotations.answers().map(|answer| answer.id.clone()).collect()
    };
    assert_eq!(ids(&joined), ["q1", "q3", "q9"]);
    assert_eq!(place.open().1, joined);
    // Our own next save finds nothing foreign.
    assert_eq!(file.save(&joined).unwrap().joined, None);
    // Both change one answer: our mark is gone as we said, and they have looked at all of it.
    let mut theirs = other("q3");
    theirs.checked = true;
    std::fs::write(place.path(), line(&theirs)).unwrap();
    let mut ours = joined.clone();
    ours.replace("q3", &theirs.answer_hash, None);
    let joined = file.save(&ours).unwrap().joined.expect("it was joined");
    let left: Vec<(bool, usize)> = joined.answers().map(|one| (one.checked, one.marks.len())).collect();
    assert_eq!((ids(&joined), left), (vec!["q3".to_owned()], vec![(true, 0)]));
}

#[test]
fn many_that_save_at_once_lose_none_of_their_marks() {
    let place = Place::new();
    // Words 0 to 4 of one answer, one for each saver, and ten answers that only the saver has.
    std::thread::scope(|scope| {
        for saver in 0..5 {
            let place = &place;
            scope.spawn(move || {
                let (mut file, mut ours, _) = place.open();
                let mut one = evidence();
                for turn in 0..10 {
                    one.id = format!("{saver}-{turn}");
                    ours.mark(&one, 0..2, MarkKind::Missed, shown());
                    if turn == saver {
                        let word = saver * 3..saver * 3 + 2;
                        ours.mark(&evidence(), word, MarkKind::FalseAlarm, shown());
                    }
                    if let Some(joined) = file.save(&ours).unwrap().joined {
                        ours = joined;
                    }
                }
            });
        }
    });
    let (_, all, notices) = place.open();
    assert!(notices.is_empty(), "{notices:?}");
    assert_eq!(all.answers().count(), 51);
    let answer = evidence().answer.unwrap();
    assert_eq!(all.of("q1", &answer).unwrap().marks.len(), 5, "of each saver one");
    assert_eq!(place.names(), ["data.jsonl.annotations.jsonl"]);
}

#[test]
fn a_file_that_is_held_for_long_is_told_and_the_marks_come_with_the_next_save() {
    let place = Place::new();
    let (mut file, ..) = place.open();
    let lock = lock_beside(&place.path().canonicalize().unwrap_or_else(|_| place.path()));
    let held = FileLock::wait(&lock, Duration::ZERO).unwrap();
    let error = file.save_within(Duration::ZERO, &marked(0..2)).unwrap_err().to_string();
    assert!(error.contains("another process has held it") && error.contains("next mark"), "{error}");
    assert!(!place.path().exists());
    drop(held);
    file.save(&marked(0..2)).unwrap();
    assert_eq!(place.open().1, marked(0..2));
}

#[test]
fn marks_that_their_file_does_not_take_are_rescued_to_a_file_that_can_be_opened() {
    let place = Place::new();
    let (file, ..) = place.open();
    let rescued = file.rescue(&marked(6..11)).unwrap();
    assert_eq!(AnnotationFile::open(&rescued).unwrap().1, marked(6..11));
    std::fs::remove_file(rescued).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_that_takes_no_file_is_told_with_the_next_step_and_marks_are_not_lost() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let (mut file, ..) = place.open();
    let permit = |mode| {
        std::fs::set_permissions(place.folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    permit(0o555);
    let saved = file.save(&marked(0..2));
    permit(0o755);
    // The superuser may write anywhere.
    if let Err(error) = saved {
        assert!(error.to_string().contains("--annotations"), "{error}");
        file.save(&marked(0..2)).unwrap();
    }
    assert_eq!(place.open().1, marked(0..2));
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let real = place.folder.path().join("real.jsonl");
    std::fs::write(&real, line(&other("q2"))).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, place.path()).unwrap();
    let (mut file, mut ours, _) = place.open();
    ours.mark(&evidence(), 0..2, MarkKind::Missed, shown());
    file.save(&ours).unwrap();
    assert!(std::fs::symlink_metadata(place.path()).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(std::fs::read_to_string(&real).unwrap().contains("\"q1\""));
}

#[test]
fn the_file_lies_beside_the_data_whatever_the_data_is() {
    assert_eq!(beside(Path::new("a/run.jsonl")), Path::new("a/run.jsonl.annotations.jsonl"));
    assert_eq!(beside(Path::new("data/")), Path::new("data.annotations.jsonl"));
    let here = std::env::current_dir().unwrap();
    assert_eq!(beside(Path::new(".")).parent(), here.parent());
}
