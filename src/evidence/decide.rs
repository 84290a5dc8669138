//! What follows from evidence under given thresholds: a pure function, fast enough for every key press.

use std::ops::Range;

use super::findings::{Findings, FlaggedSpan};
use super::record::{DetectorScores, Evidence, Reading};
use super::thresholds::Thresholds;
use crate::detect::{answer_score, flagged_spans, smooth};

/// Decides: which chunks are trusted (p > alpha), which spans are flagged (smoothed score >= token
/// threshold), whether the answer is consistent (factuality >= threshold).
#[must_use]
pub fn decide(evidence: &Evidence, thresholds: &Thresholds) -> Findings {
    let trusted = evidence
        .chunks
        .iter()
        .map(|chunk| chunk.p_value.map(|p_value| p_value.exceeds(thresholds.alpha)))
        .collect();
    let nothing_read = Findings {
        trusted,
        smoothed: Vec::new(),
        spans: Vec::new(),
        flagged_tokens: 0,
        answer_score: None,
        flagged: false,
        consistent: None,
    };
    let (Some(reading), Some(answer)) = (&evidence.reading, &evidence.answer) else { return nothing_read };
    let consistent = reading.factuality.map(|factuality| factuality >= thresholds.factuality);
    let Some(detector) = chosen_detector(reading, thresholds) else {
        return Findings { consistent, ..nothing_read };
    };
    let raw: Vec<f64> = detector.raw.iter().map(|score| f64::from(*score)).collect();
    let smoothed = smooth(&raw, thresholds.rho);
    let ranges: Vec<Range<usize>> = reading.tokens.iter().map(|[start, end]| *start..*end).collect();
    let spans: Vec<FlaggedSpan> = flagged_spans(answer, &ranges, &smoothed, thresholds.token)
        .into_iter()
        .map(|span| FlaggedSpan { range: span.range, tokens: span.tokens, score: span.score })
        .collect();
    Findings {
        flagged_tokens: smoothed.iter().filter(|score| **score >= thresholds.token).count(),
        answer_score: answer_score(&raw, thresholds.rho_answer),
        flagged: !spans.is_empty(),
        consistent,
        smoothed,
        spans,
        ..nothing_read
    }
}

/// The detector named in the thresholds, else the first of the record.
#[must_use]
pub fn chosen_detector<'e>(reading: &'e Reading, thresholds: &Thresholds) -> Option<&'e DetectorScores> {
    match &thresholds.detector {
        Some(name) => reading.detectors.iter().find(|detector| detector.name == *name),
        None => reading.detectors.first(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::{Alpha, PValue};
    use crate::evidence::{ChunkEvidence, Provenance, SCHEMA, Status};

    fn evidence(scores: &[f32]) -> Evidence {
        let answer: String = (0..scores.len()).map(|_| "word ").collect();
        let tokens = (0..scores.len()).map(|index| [index * 5, index * 5 + 4]).collect();
        Evidence {
            schema: SCHEMA.to_owned(),
            id: "a".to_owned(),
            row: 0,
            status: Status::Ok,
            reason: None,
            notices: Vec::new(),
            question: "q?".to_owned(),
            answer: Some(answer),
            references: Vec::new(),
            groups: std::collections::BTreeMap::default(),
            chunks: [Some(1), Some(2), None]
                .into_iter()
                .map(|count| ChunkEvidence {
                    id: "c".to_owned(),
                    document: None,
                    text: "t".to_owned(),
                    range: None,
                    score: None,
                    p_value: count.map(|count| PValue { count, out_of: 10 }),
                    p_value_absent: count.is_none().then(|| "no score".to_owned()),
                    correct: None,
                    tokens_read: None,
                })
                .collect(),
            reading: Some(Reading {
                tokens,
                log_prob_with: vec![-1.0; scores.len()],
                log_prob_without: vec![-1.0; scores.len()],
                detectors: vec![DetectorScores { name: "cortex".to_owned(), raw: scores.to_vec() }],
                lookback: None,
                factuality: Some(0.4),
                factuality_absent: None,
            }),
            gold_spans: None,
            provenance: Provenance::default(),
        }
    }

    #[test]
    fn a_chunk_is_trusted_only_when_its_p_value_exceeds_alpha_exactly() {
        let findings = decide(&evidence(&[0.1]), &Thresholds::default());
        assert_eq!(findings.trusted, [Some(false), Some(true), None]);
        let wider = Thresholds { alpha: Alpha::from_thousandths(99), ..Thresholds::default() };
        assert_eq!(decide(&evidence(&[0.1]), &wider).trusted, [Some(true), Some(true), None]);
    }

    #[test]
    fn lowering_the_token_threshold_never_flags_fewer_tokens() {
        let record = evidence(&[0.1, 0.9, 0.8, 0.05, 0.4, 0.95, 0.3]);
        let mut before = 0;
        for step in (0..=20).rev() {
            let thresholds = Thresholds { token: f64::from(step) / 20.0, rho: 0.8, ..Thresholds::default() };
            let flagged = decide(&record, &thresholds).flagged_tokens;
            assert!(flagged >= before, "at threshold {step}/20");
            before = flagged;
        }
        assert_eq!(before, 7);
    }

    #[test]
    fn without_a_reading_only_the_chunks_are_decided() {
        let mut record = evidence(&[0.9]);
        record.reading = None;
        let findings = decide(&record, &Thresholds::default());
        assert_eq!(findings.answer_score, None);
        assert_eq!(findings.consistent, None);
        assert!(!findings.flagged);
        assert_eq!(findings.trusted.len(), 3);
    }

    #[test]
    fn an_unknown_detector_scores_nothing_rather_than_another_detector() {
        let thresholds = Thresholds { detector: Some("other".to_owned()), ..Thresholds::default() };
        let findings = decide(&evidence(&[0.9, 0.9]), &thresholds);
        assert!(findings.smoothed.is_empty());
        assert_eq!(findings.consistent, Some(false));
    }

    proptest::proptest! {
        #[test]
        fn a_stricter_threshold_never_finds_the_other_way(
            scores in proptest::collection::vec(0.0_f32..=1.0, 1..40),
            one in 0.0_f64..=1.0, other in 0.0_f64..=1.0, rho in 0.5_f64..0.9999,
            alphas in (0_u16..=1000, 0_u16..=1000), factuality in 0.0_f64..=1.0,
        ) {
            let mut record = evidence(&scores);
            if let Some(reading) = &mut record.reading {
                reading.factuality = Some(factuality);
            }
            let at = |low: bool| {
                let level = if low == (one <= other) { one } else { other };
                let alpha = if low { alphas.0.min(alphas.1) } else { alphas.0.max(alphas.1) };
                let thresholds = Thresholds {
                    alpha: Alpha::from_thousandths(alpha), token: level, factuality: level, rho, ..Thresholds::default()
                };
                decide(&record, &thresholds)
            };
            let (low, high) = (at(true), at(false));
            // A higher token threshold flags less, byte for byte.
            let bytes = |findings: &Findings| -> std::collections::BTreeSet<usize> {
                findings.spans.iter().flat_map(|span| span.range.clone()).collect()
            };
            proptest::prop_assert!(bytes(&high).is_subset(&bytes(&low)));
            proptest::prop_assert!(high.flagged_tokens <= low.flagged_tokens && (low.flagged || !high.flagged));
            // A higher alpha trusts fewer chunks.
            for (low, high) in low.trusted.iter().zip(&high.trusted) {
                proptest::prop_assert_eq!(low.is_none(), high.is_none());
                proptest::prop_assert!(*low != Some(false) || *high != Some(true));
            }
            // A higher factuality threshold finds fewer answers consistent.
            proptest::prop_assert!(low.consistent != Some(false) || high.consistent != Some(true));
            // What no threshold is about stays.
            proptest::prop_assert_eq!(&low.smoothed, &high.smoothed);
        }
    }
}
