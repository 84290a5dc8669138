//! Calibrations of the chunks and of the highlighting.

use ragscope::certify::highlighting::{AnswerLoss, HighlightingArtefact, HighlightingSource, Population};
use ragscope::certify::{
    Alpha, CalibrationArtefact, CalibrationMode, CalibrationSource, ChunkLabels, QuestionScores,
};
use ragscope::metrics::Random;

use crate::engine::{Target, said, words};
use crate::mutation::Kind;

fn calibration() -> Target {
    let questions: Vec<QuestionScores> = (0..12)
        .map(|at| QuestionScores {
            split_key: at.to_string(),
            hits: vec![(f64::from(at), true), (0.5, false)],
            reachable: true,
        })
        .collect();
    let labels = ChunkLabels {
        correct: Vec::new(),
        threshold: None,
        wrong_document_chunks: 0,
        texts_without_words: 0,
    };
    let source =
        CalibrationSource { k: 2, retriever: "bm25".into(), seed: 1, ..CalibrationSource::default() };
    let artefact = CalibrationArtefact::new(source, &questions, &labels).expect("a calibration");
    Target {
        name: "calibration",
        kind: Kind::Json,
        seeds: vec![artefact.to_json().expect("JSON").into_bytes()],
        words: words(&["per_question", "pooled", "ragscope-calibration/1"]),
        read: Box::new(|bytes| match CalibrationArtefact::from_json(&String::from_utf8_lossy(bytes)) {
            Ok(artefact) => {
                for mode in [CalibrationMode::PerQuestion, CalibrationMode::Pooled] {
                    let calibration = artefact.calibration(mode);
                    for score in [0.0, -3.5, f64::MAX, f64::NAN] {
                        let Ok(p) = artefact.p_value(Some(score), mode) else { continue };
                        assert!(p.value() > 0.0 && p.value() <= 1.0);
                    }
                    for thousandths in [0, 1, 100, 1000] {
                        let _ = calibration.quantile(Alpha::from_thousandths(thousandths));
                    }
                }
                let json = artefact.to_json().expect("JSON");
                assert_eq!(CalibrationArtefact::from_json(&json).expect("its own JSON"), artefact);
                format!("ok {}", artefact.per_question.len())
            }
            Err(error) => said(&error),
        }),
    }
}

fn highlighting() -> Target {
    let mut random = Random::new(3);
    let answers: Vec<AnswerLoss> = (0..30)
        .map(|source| {
            let scores: Vec<f64> = (0..9).map(|_| random.uniform()).collect();
            let labels: Vec<bool> = (0..9).map(|_| random.uniform() < 0.3).collect();
            AnswerLoss::new(source.to_string(), &scores, &labels).expect("an answer")
        })
        .collect();
    let artefact = HighlightingArtefact::new(HighlightingSource::default(), &answers, Population::All);
    Target {
        name: "highlighting",
        kind: Kind::Json,
        seeds: vec![artefact.to_json().expect("JSON").into_bytes()],
        words: words(&["curve", "rows", "threshold", "mean_loss", "sources"]),
        read: Box::new(|bytes| match HighlightingArtefact::from_json(&String::from_utf8_lossy(bytes)) {
            Ok(artefact) => {
                for beta in [0.0, 0.05, 0.1, 0.5, 1.0, f64::NAN, -1.0, 7.0] {
                    let _ = artefact.controlled(beta);
                    let guarantee = artefact.guarantee(beta);
                    assert!(!guarantee.statement().is_empty() && !guarantee.limit().is_empty());
                }
                "ok".to_owned()
            }
            Err(error) => said(&error),
        }),
    }
}

pub fn targets() -> Vec<Target> {
    vec![calibration(), highlighting()]
}
