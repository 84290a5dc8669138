//! Reports for the tests of the exports.

use std::collections::BTreeMap;

use crate::evidence::{DetectorScores, Evidence, Provenance, Reading, SCHEMA, Status, Thresholds};
use crate::report::{Context, Report};

fn evidence(id: &str, question: &str, answer: Option<&str>, reading: Option<Reading>) -> Evidence {
    Evidence {
        schema: SCHEMA.to_owned(),
        id: id.to_owned(),
        row: 0,
        status: if reading.is_some() { Status::Ok } else { Status::Partial },
        reason: None,
        notices: Vec::new(),
        question: question.to_owned(),
        answer: answer.map(str::to_owned),
        references: Vec::new(),
        groups: BTreeMap::new(),
        chunks: Vec::new(),
        reading,
        gold_spans: None,
        provenance: Provenance::default(),
    }
}

/// Scores of the three tokens of "é wrong x", the second one flagged.
fn reading() -> Reading {
    Reading {
        tokens: vec![[0, 2], [2, 8], [8, 10]],
        log_prob_with: vec![-1.0; 3],
        log_prob_without: vec![-1.0; 3],
        detectors: vec![DetectorScores { name: "cortex".to_owned(), raw: vec![0.1, 0.95, 0.1] }],
        lookback: None,
        factuality: None,
        factuality_absent: Some("no head".to_owned()),
    }
}

/// Two records: one with a flagged span, one without an answer.
pub(super) fn report() -> Report {
    let run = [evidence("é1", "q?", Some("é wrong x"), Some(reading())), evidence("2", "q?", None, None)];
    Report::new(&run, &Thresholds { rho: 0.5, ..Thresholds::default() }, &Context::default())
}

/// One record with this question.
pub(super) fn report_of(question: &str, answer: &str) -> Report {
    Report::new(&[evidence("1", question, Some(answer), None)], &Thresholds::default(), &Context::default())
}
