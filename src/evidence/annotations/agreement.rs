//! How flags agree with a reader's marks.

use std::ops::Range;

use super::labels::labels_of;
use super::marks::{AnnotatedAnswer, Annotations};
use crate::detect::token_labels;
use crate::evidence::{Evidence, Findings};

/// Tokens of annotated answers, flags against what the reader left as labels. It is the agreement with one
/// reader on the answers that were marked, which were not drawn at random: no estimate for other answers, and
/// no guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnnotationAgreement {
    /// Answers with a mark, or checked.
    pub answers: usize,
    /// Tokens flagged, and unsupported by the marks.
    pub agreed: usize,
    /// Tokens flagged, and supported by the marks.
    pub false_alarms: usize,
    /// Tokens not flagged, and unsupported by the marks.
    pub missed: usize,
}

impl AnnotationAgreement {
    /// Adds an answer, if it is annotated and was read.
    pub fn add(&mut self, annotations: &Annotations, evidence: &Evidence, findings: &Findings) {
        let (Some(answer), Some(reading)) = (&evidence.answer, &evidence.reading) else { return };
        let Some(marked) = annotations.of(&evidence.id, answer) else { return };
        self.answers += 1;
        let labels = unsupported(marked, evidence);
        let flags: Vec<Range<usize>> = findings.spans.iter().map(|span| span.range.clone()).collect();
        let ranges: Vec<Range<usize>> = reading.tokens.iter().map(|[start, end]| *start..*end).collect();
        // One rule for both sides: a token counts with its non-blank characters.
        let labelled = token_labels(answer, &ranges, &labels);
        let flagged = token_labels(answer, &ranges, &flags);
        for (flagged, labelled) in flagged.into_iter().zip(labelled) {
            match (flagged, labelled) {
                (true, true) => self.agreed += 1,
                (true, false) => self.false_alarms += 1,
                (false, true) => self.missed += 1,
                (false, false) => {}
            }
        }
    }

    /// Share of flagged tokens that the reader left flagged; `None` where none is flagged.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        ratio(self.agreed, self.agreed + self.false_alarms)
    }

    /// Share of the reader's unsupported tokens that are flagged; `None` where there are none.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        ratio(self.agreed, self.agreed + self.missed)
    }
}

fn ratio(part: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

fn unsupported(marked: &AnnotatedAnswer, evidence: &Evidence) -> Vec<Range<usize>> {
    let gold: Option<Vec<Range<usize>>> =
        evidence.gold_spans.as_ref().map(|spans| spans.iter().map(|span| span.start..span.end).collect());
    labels_of(marked, gold.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::annotations::marks::tests::{evidence, flagged, thresholds};
    use crate::evidence::annotations::{MarkKind, ShownFlags};
    use crate::evidence::decide;

    #[test]
    fn tokens_are_agreed_false_alarms_or_missed_and_only_of_annotated_answers() {
        let evidence = evidence();
        let findings = decide(&evidence, &thresholds());
        let mut annotations = Annotations::default();
        let count = |annotations: &Annotations| {
            let mut agreement = AnnotationAgreement::default();
            agreement.add(annotations, &evidence, &findings);
            agreement
        };
        assert_eq!(count(&annotations), AnnotationAgreement::default());
        assert_eq!(count(&annotations).precision(), None);
        // Flagged are the words 2, 3 and 6.
        let shown = ShownFlags::of(&findings, &thresholds(), None);
        assert_eq!(shown.spans, flagged());
        annotations.mark(&evidence, 6..8, MarkKind::FalseAlarm, shown.clone());
        annotations.mark(&evidence, 24..29, MarkKind::Missed, shown.clone());
        let agreement = count(&annotations);
        assert_eq!((agreement.agreed, agreement.false_alarms, agreement.missed), (2, 1, 2));
        assert_eq!((agreement.precision(), agreement.recall()), (Some(2.0 / 3.0), Some(0.5)));
        // With a higher threshold nothing is flagged: what the reader left flagged is missed now.
        let nothing = decide(&evidence, &crate::evidence::Thresholds { token: 1.0, ..thresholds() });
        let mut agreement = AnnotationAgreement::default();
        agreement.add(&annotations, &evidence, &nothing);
        assert_eq!((agreement.agreed, agreement.false_alarms, agreement.missed), (0, 0, 4));
    }
}
