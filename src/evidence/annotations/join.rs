//! Two readers changed the marks of one answer: both changes hold.

use super::marks::{AnnotatedAnswer, Mark, MarkKind};

/// The answer with both changes since `base` (`None`: without marks). Every byte has the mark, or the lack of one,
/// of whoever changed it there; `ours`, where both did.
pub(super) fn join_answer(
    base: Option<&AnnotatedAnswer>,
    ours: Option<&AnnotatedAnswer>,
    theirs: Option<&AnnotatedAnswer>,
) -> Option<AnnotatedAnswer> {
    if ours == base || ours == theirs {
        return theirs.cloned();
    }
    if theirs == base {
        return ours.cloned();
    }
    let mut joined = ours.or(theirs)?.clone();
    let checked = |state: Option<&AnnotatedAnswer>| state.is_some_and(|answer| answer.checked);
    joined.checked = if checked(ours) == checked(base) { checked(theirs) } else { checked(ours) };
    joined.marks = join_marks(marks(base), marks(ours), marks(theirs));
    Some(joined)
}

fn marks(state: Option<&AnnotatedAnswer>) -> &[Mark] {
    state.map_or(&[], |answer| &answer.marks)
}

/// Each list is in order and has no overlap.
fn join_marks(base: &[Mark], ours: &[Mark], theirs: &[Mark]) -> Vec<Mark> {
    let all = || base.iter().chain(ours).chain(theirs);
    let mut cuts: Vec<usize> = all().flat_map(|mark| [mark.start, mark.end]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut joined: Vec<Mark> = Vec::new();
    for piece in cuts.windows(2) {
        let (start, end) = (piece[0], piece[1]);
        let [before, our, their] = [base, ours, theirs].map(|marks| covering(marks, start));
        let kind = |mark: Option<&Mark>| -> Option<MarkKind> { mark.map(|mark| mark.kind) };
        let Some(mark) = (if kind(our) == kind(before) { their } else { our }) else { continue };
        // The file may have been written by hand: a text that does not fit its range is not cut.
        let text = mark.text.get(start - mark.start..end - mark.start).unwrap_or_default();
        match joined.last_mut() {
            Some(last) if last.end == start && last.kind == mark.kind => {
                last.end = end;
                last.text.push_str(text);
            }
            _ => joined.push(Mark { start, end, kind: mark.kind, text: text.to_owned() }),
        }
    }
    joined
}

/// The mark on a byte.
fn covering(marks: &[Mark], byte: usize) -> Option<&Mark> {
    let next = marks.partition_point(|mark| mark.end <= byte);
    marks.get(next).filter(|mark| mark.start <= byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evidence::annotations::Annotations;
    use crate::evidence::annotations::marks::tests::{evidence, shown};

    const BYTES: usize = 29;

    /// One letter a byte: `m` missed, `f` false alarm, a blank for no mark.
    fn painted(letters: &str, checked: bool) -> Option<AnnotatedAnswer> {
        let evidence = evidence();
        let mut annotations = Annotations::default();
        // Only to have an answer of its own hash.
        annotations.check(&evidence, true, shown());
        let mut answer = annotations.answers().next().unwrap().clone();
        answer.checked = checked;
        let text = evidence.answer.unwrap();
        for (at, letter) in letters.char_indices() {
            let kind = match letter {
                'm' => MarkKind::Missed,
                'f' => MarkKind::FalseAlarm,
                _ => continue,
            };
            match answer.marks.last_mut() {
                Some(last) if last.end == at && last.kind == kind => {
                    last.end += 1;
                    last.text = text[last.start..=at].to_owned();
                }
                _ => answer.marks.push(Mark { start: at, end: at + 1, kind, text: text[at..=at].to_owned() }),
            }
        }
        (checked || !answer.marks.is_empty()).then_some(answer)
    }

    fn letters(answer: Option<&AnnotatedAnswer>) -> String {
        let letter = |at| match covering(marks(answer), at).map(|mark| mark.kind) {
            Some(MarkKind::Missed) => 'm',
            Some(MarkKind::FalseAlarm) => 'f',
            None => ' ',
        };
        (0..BYTES).map(letter).collect()
    }

    #[test]
    fn two_that_marked_one_answer_are_both_there() {
        let joined = join_answer(
            painted("  mm          ", false).as_ref(),
            painted("  mm      ffff", false).as_ref(),
            painted("  mm mm    mm ", true).as_ref(),
        );
        assert_eq!(letters(joined.as_ref()).trim_end(), "  mm mm   ffff");
        assert!(joined.unwrap().checked, "they looked at all of it");
    }

    #[test]
    fn what_one_took_away_is_gone_and_what_the_other_put_there_stays() {
        let base = painted("mmmm   ff", false);
        let joined = join_answer(base.as_ref(), None, painted("mmmm   ff   mm", false).as_ref());
        assert_eq!(letters(joined.as_ref()).trim_end(), "            mm");
        let joined = join_answer(base.as_ref(), painted("mmmmmm ff", false).as_ref(), None);
        assert_eq!(letters(joined.as_ref()).trim_end(), "    mm");
    }

    proptest! {
        #[test]
        fn every_byte_is_of_whoever_changed_it(
            base in "[ mf]{0,29}", ours in "[ mf]{0,29}", theirs in "[ mf]{0,29}",
            checked in any::<[bool; 3]>(),
        ) {
            let text = evidence().answer.unwrap();
            let states = [
                painted(&base, checked[0]), painted(&ours, checked[1]), painted(&theirs, checked[2]),
            ];
            let [before, our, their] = states.each_ref().map(Option::as_ref);
            let joined = join_answer(before, our, their);
            let expected: String = letters(before).chars().zip(letters(our).chars()).zip(letters(their).chars())
                .map(|((before, our), their)| if our == before { their } else { our })
                .collect();
            prop_assert_eq!(letters(joined.as_ref()), expected);
            let answer = joined.as_ref();
            let mut end = 0;
            for mark in marks(answer) {
                prop_assert!(end <= mark.start && mark.start < mark.end);
                prop_assert_eq!(&mark.text, &text[mark.range()]);
                end = mark.end;
            }
            prop_assert_eq!(&join_answer(before, before, their), &states[2], "nothing of ours");
            prop_assert_eq!(&join_answer(before, our, before), &states[1], "nothing of theirs");
            // What was joined once is joined with nothing more the second time.
            prop_assert_eq!(letters(join_answer(before, our, answer).as_ref()), letters(answer));
        }
    }
}
