//! What a reader marked.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::join::join_answer;
use crate::evidence::{Evidence, Findings, Thresholds};
use crate::text::hexadecimal;

/// Version of the line's layout. A reader refuses another major number.
pub const ANNOTATION_SCHEMA: &str = "ragscope-annotations/1";

/// What is wrong with a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// It is supported: a flag on it is wrong.
    FalseAlarm,
    /// Nothing supports it: it should be flagged.
    Missed,
}

impl MarkKind {
    /// In plain words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FalseAlarm => "false alarm",
            Self::Missed => "missed",
        }
    }
}

/// A marked span: bytes of the answer, half open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mark {
    pub start: usize,
    pub end: usize,
    pub kind: MarkKind,
    /// The marked text, for people who read the file.
    pub text: String,
}

impl Mark {
    /// The bytes.
    #[must_use]
    pub const fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// What was flagged when the reader last marked something: without it a mark could not say what the reader
/// agreed with by leaving it alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ShownFlags {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detector: Option<String>,
    /// Token threshold.
    pub token: f64,
    /// Label persistence of the smoothing.
    pub rho: f64,
    /// Flagged spans in bytes, in order.
    pub spans: Vec<[usize; 2]>,
}

impl ShownFlags {
    /// As the screen shows them.
    #[must_use]
    pub fn of(findings: &Findings, thresholds: &Thresholds, detector: Option<&str>) -> Self {
        Self {
            detector: detector.map(ToOwned::to_owned),
            token: thresholds.token,
            rho: thresholds.rho,
            spans: findings.spans.iter().map(|span| [span.range.start, span.range.end]).collect(),
        }
    }
}

/// One answer with its marks: one line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnnotatedAnswer {
    /// Always [`ANNOTATION_SCHEMA`].
    pub schema: String,
    /// Id of the record.
    pub id: String,
    /// Its row when it was marked: where it was, not what it is.
    pub row: usize,
    /// [`answer_hash`] of the marked answer. Marks never land on another one.
    pub answer_hash: String,
    /// What the reader saw.
    pub shown: ShownFlags,
    /// The reader looked at all of it: what is not marked is right.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checked: bool,
    /// In order, never overlapping.
    pub marks: Vec<Mark>,
}

/// The first 16 hexadecimal digits of the SHA-256 of an answer.
#[must_use]
pub fn answer_hash(answer: &str) -> String {
    hexadecimal(&Sha256::digest(answer.as_bytes())[..8])
}

impl AnnotatedAnswer {
    /// An answer without marks.
    fn new(evidence: &Evidence, answer: &str) -> Self {
        Self {
            schema: ANNOTATION_SCHEMA.to_owned(),
            id: evidence.id.clone(),
            row: evidence.row,
            answer_hash: answer_hash(answer),
            shown: ShownFlags::default(),
            checked: false,
            marks: Vec::new(),
        }
    }

    /// Whether all ranges lie in `answer`, on its characters.
    #[must_use]
    pub fn fits(&self, answer: &str) -> bool {
        let marks = self.marks.iter().map(Mark::range);
        let shown = self.shown.spans.iter().map(|[start, end]| *start..*end);
        marks.chain(shown).all(|range| range.start < range.end && answer.get(range).is_some())
    }

    /// Puts a mark; it wins over what was marked there before, and joins marks of its kind that it touches.
    fn put(&mut self, answer: &str, range: Range<usize>, kind: MarkKind) {
        let mut whole = range.clone();
        for mark in self.marks.iter().filter(|mark| mark.kind == kind) {
            if mark.start <= whole.end && whole.start <= mark.end {
                whole = whole.start.min(mark.start)..whole.end.max(mark.end);
            }
        }
        self.clear(answer, &whole);
        self.push(answer, whole, kind);
    }

    /// Takes marks away from a range; what a mark covers beyond it stays.
    fn clear(&mut self, answer: &str, range: &Range<usize>) {
        for mark in std::mem::take(&mut self.marks) {
            if mark.end <= range.start || range.end <= mark.start {
                self.marks.push(mark);
                continue;
            }
            self.push(answer, mark.start..range.start, mark.kind);
            self.push(answer, range.end..mark.end, mark.kind);
        }
        self.marks.sort();
    }

    fn push(&mut self, answer: &str, range: Range<usize>, kind: MarkKind) {
        if range.start >= range.end {
            return;
        }
        let Some(text) = answer.get(range.clone()).filter(|text| !text.trim().is_empty()) else { return };
        self.marks.push(Mark { start: range.start, end: range.end, kind, text: text.to_owned() });
        self.marks.sort();
    }

    fn is_empty(&self) -> bool {
        self.marks.is_empty() && !self.checked
    }
}

/// All marks of a data set, by record and answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Annotations {
    answers: BTreeMap<(String, String), AnnotatedAnswer>,
}

impl Annotations {
    /// From lines; of two about one answer the later one holds.
    pub fn from_answers(answers: impl IntoIterator<Item = AnnotatedAnswer>) -> Self {
        let mut all = Self::default();
        for answer in answers {
            all.insert(answer);
        }
        all
    }

    /// Every annotated answer, by id.
    pub fn answers(&self) -> impl Iterator<Item = &AnnotatedAnswer> {
        self.answers.values()
    }

    /// Whether nothing is marked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Marks in all.
    #[must_use]
    pub fn mark_count(&self) -> usize {
        self.answers().map(|answer| answer.marks.len()).sum()
    }

    pub(super) fn insert(&mut self, answer: AnnotatedAnswer) {
        self.answers.insert((answer.id.clone(), answer.answer_hash.clone()), answer);
    }

    /// Both changes since a common `base`: an answer that one side left as it was is the other's to change, and
    /// of one that both changed every byte has the mark of whoever changed it there; ours, where both did.
    #[must_use]
    pub fn join(base: &Self, ours: &Self, theirs: &Self) -> Self {
        let mut joined = theirs.clone();
        let ours_gone = base.answers.keys().filter(|key| !ours.answers.contains_key(*key));
        for key in ours.answers.keys().chain(ours_gone) {
            let (before, now) = (base.answers.get(key), ours.answers.get(key));
            if now != before {
                joined.replace(&key.0, &key.1, join_answer(before, now, theirs.answers.get(key)));
            }
        }
        joined
    }

    /// What is marked on an answer, if it is still the one that was marked.
    #[must_use]
    pub fn of(&self, id: &str, answer: &str) -> Option<&AnnotatedAnswer> {
        // Most records have no marks, and hashing every answer would cost.
        self.with_id(id).next()?;
        self.answers.get(&(id.to_owned(), answer_hash(answer))).filter(|marked| marked.fits(answer))
    }

    /// Marks about another answer of the same record: kept, and shown nowhere.
    #[must_use]
    pub fn marks_of_other_answers(&self, id: &str, answer: &str) -> usize {
        if self.with_id(id).next().is_none() {
            return 0;
        }
        let hash = answer_hash(answer);
        self.with_id(id).filter(|marked| marked.answer_hash != hash).map(|marked| marked.marks.len()).sum()
    }

    fn with_id(&self, id: &str) -> impl Iterator<Item = &AnnotatedAnswer> {
        let first = (id.to_owned(), String::new());
        self.answers.range(first..).map(|(_, marked)| marked).take_while(move |marked| marked.id == id)
    }

    /// Marks bytes of an answer. Blanks at the ends are no part of a mark; `false`: nothing was left of it.
    pub fn mark(
        &mut self,
        evidence: &Evidence,
        range: Range<usize>,
        kind: MarkKind,
        shown: ShownFlags,
    ) -> bool {
        self.change(evidence, shown, |marked, answer| {
            let Some(text) = answer.get(range.clone()) else { return false };
            let start = range.start + text.len() - text.trim_start().len();
            let end = range.end - (text.len() - text.trim_end().len());
            if start >= end {
                return false;
            }
            marked.put(answer, start..end, kind);
            true
        })
    }

    /// Takes away the marks that touch a range; `false`: there was none.
    pub fn unmark(&mut self, evidence: &Evidence, range: &Range<usize>, shown: ShownFlags) -> bool {
        self.change(evidence, shown, |marked, _| {
            let before = marked.marks.len();
            marked.marks.retain(|mark| mark.end <= range.start || range.end <= mark.start);
            marked.marks.len() < before
        })
    }

    /// Says that an answer was looked at as a whole, or takes that back.
    pub fn check(&mut self, evidence: &Evidence, checked: bool, shown: ShownFlags) -> bool {
        self.change(evidence, shown, |marked, _| {
            let before = std::mem::replace(&mut marked.checked, checked);
            before != checked
        })
    }

    fn change(
        &mut self,
        evidence: &Evidence,
        shown: ShownFlags,
        change: impl FnOnce(&mut AnnotatedAnswer, &str) -> bool,
    ) -> bool {
        let Some(answer) = &evidence.answer else { return false };
        let mut marked =
            self.of(&evidence.id, answer).cloned().unwrap_or_else(|| AnnotatedAnswer::new(evidence, answer));
        if !change(&mut marked, answer) {
            return false;
        }
        marked.row = evidence.row;
        marked.shown = shown;
        self.replace(&evidence.id, &marked.answer_hash.clone(), Some(marked));
        true
    }

    /// Makes the change of an answer's marks from `before` to `after`, and leaves what somebody else changed there
    /// since.
    pub fn change_from(
        &mut self,
        (id, answer_hash): (&str, &str),
        before: Option<&AnnotatedAnswer>,
        after: Option<&AnnotatedAnswer>,
    ) {
        let now = self.answers.get(&(id.to_owned(), answer_hash.to_owned()));
        let joined = join_answer(before, after, now);
        self.replace(id, answer_hash, joined);
    }

    /// Puts an answer's marks back to what they were (`None`: there were none).
    pub fn replace(&mut self, id: &str, answer_hash: &str, marked: Option<AnnotatedAnswer>) {
        match marked.filter(|marked| !marked.is_empty()) {
            Some(marked) => self.insert(marked),
            None => {
                self.answers.remove(&(id.to_owned(), answer_hash.to_owned()));
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::evidence::{DetectorScores, Provenance, Reading, SCHEMA, Status, decide};

    /// Ten words of two letters; the words 2, 3 and 6 score .9, the others .1.
    pub fn evidence() -> Evidence {
        let hot = |word: usize| matches!(word, 2 | 3 | 6);
        Evidence {
            schema: SCHEMA.to_owned(),
            id: "q1".to_owned(),
            row: 4,
            status: Status::Ok,
            reason: None,
            notices: Vec::new(),
            question: "q?".to_owned(),
            answer: Some("w0 w1 w2 w3 w4 w5 w6 w7 w8 w9".to_owned()),
            references: Vec::new(),
            groups: BTreeMap::default(),
            chunks: Vec::new(),
            reading: Some(Reading {
                tokens: (0..10).map(|word| [word * 3, word * 3 + 2]).collect(),
                log_prob_with: vec![-1.0; 10],
                log_prob_without: vec![-1.0; 10],
                detectors: vec![DetectorScores {
                    name: "cortex".to_owned(),
                    raw: (0..10).map(|word| if hot(word) { 0.9 } else { 0.1 }).collect(),
                }],
                lookback: None,
                factuality: None,
                factuality_absent: None,
            }),
            gold_spans: None,
            provenance: Provenance::default(),
        }
    }

    pub fn thresholds() -> Thresholds {
        Thresholds { rho: 0.5, ..Thresholds::default() }
    }

    pub fn flagged() -> Vec<[usize; 2]> {
        vec![[6, 11], [18, 20]]
    }

    pub fn shown() -> ShownFlags {
        ShownFlags::of(&decide(&evidence(), &thresholds()), &thresholds(), Some("cortex"))
    }

    fn ranges(annotations: &Annotations) -> Vec<(usize, usize, MarkKind)> {
        let marked = annotations.of("q1", evidence().answer.as_deref().unwrap());
        marked.map_or_else(Vec::new, |marked| {
            marked.marks.iter().map(|mark| (mark.start, mark.end, mark.kind)).collect()
        })
    }

    #[test]
    fn a_mark_wins_over_what_was_there_and_joins_its_own_kind() {
        use MarkKind::{FalseAlarm, Missed};
        let evidence = evidence();
        let mut annotations = Annotations::default();
        for (range, kind, expected) in [
            (5..9, Missed, vec![(6, 8, Missed)]),
            (7..11, Missed, vec![(6, 11, Missed)]),
            (9..14, FalseAlarm, vec![(6, 9, Missed), (9, 14, FalseAlarm)]),
            (0..29, Missed, vec![(0, 29, Missed)]),
            (6..8, FalseAlarm, vec![(0, 6, Missed), (6, 8, FalseAlarm), (8, 29, Missed)]),
        ] {
            assert!(annotations.mark(&evidence, range, kind, shown()));
            assert_eq!(ranges(&annotations), expected);
        }
        assert!(annotations.unmark(&evidence, &(6..7), shown()));
        assert_eq!(ranges(&annotations), [(0, 6, Missed), (8, 29, Missed)]);
        assert!(!annotations.unmark(&evidence, &(6..7), shown()), "there is none any more");
        assert!(!annotations.mark(&evidence, 2..3, Missed, shown()), "a blank is nothing to mark");
        assert!(!annotations.mark(&evidence, 20..99, Missed, shown()), "it ends behind the answer");
    }

    #[test]
    fn a_mark_never_lands_on_another_answer() {
        let evidence = evidence();
        let mut annotations = Annotations::default();
        annotations.mark(&evidence, 0..2, MarkKind::Missed, shown());
        let mut changed = evidence.clone();
        changed.answer = Some("w0 w1 w2 w3 w4 w5 w6 w7 w8 wX".to_owned());
        let answer = changed.answer.as_deref().unwrap();
        assert_eq!(annotations.of("q1", answer), None);
        assert_eq!(annotations.marks_of_other_answers("q1", answer), 1);
        assert_eq!(annotations.marks_of_other_answers("q1", evidence.answer.as_deref().unwrap()), 0);
        assert_eq!(annotations.marks_of_other_answers("q2", answer), 0);
        annotations.mark(&changed, 27..29, MarkKind::Missed, shown());
        assert_eq!(annotations.mark_count(), 2, "both are kept");
    }

    #[test]
    fn a_checked_answer_needs_no_mark_and_what_has_neither_is_gone() {
        let evidence = evidence();
        let mut annotations = Annotations::default();
        assert!(annotations.check(&evidence, true, shown()));
        assert!(!annotations.check(&evidence, true, shown()));
        let mut agreement = super::super::AnnotationAgreement::default();
        agreement.add(&annotations, &evidence, &decide(&evidence, &thresholds()));
        assert_eq!((agreement.answers, agreement.agreed, agreement.false_alarms), (1, 3, 0));
        assert!(annotations.check(&evidence, false, shown()));
        assert!(annotations.is_empty());
    }
}
