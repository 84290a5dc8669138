//! Evidence as calibration of the highlighting: smoothed scores, labels and sources of a scored run.

use std::collections::BTreeMap;
use std::ops::Range;

use super::decide::chosen_detector;
use super::record::{Evidence, Reading};
use super::thresholds::Thresholds;
use crate::certify::CertifyError;
use crate::certify::highlighting::{AnswerLoss, HighlightingSource};
use crate::detect::{smooth, token_labels};
use crate::text::visible_line;

/// Group that names what an answer answers from.
const SOURCE_GROUP: &str = "source";

/// Why a run cannot be calibrated on, or a calibration not be used for it.
#[derive(Debug, thiserror::Error)]
pub enum HighlightingError {
    /// No line has token scores.
    #[error("no line of the run has token scores of {detector}; score the data with `ragscope score`")]
    NoScores {
        /// The detector asked for.
        detector: String,
    },
    /// Lines of different making.
    #[error(
        "row {row} was scored with {what} {found}, the rows before it with {expected}; one calibration covers \
         one of them: split the run"
    )]
    Mixed {
        /// Row of the first line that differs.
        row: usize,
        /// `detector`, `head` or `model`.
        what: &'static str,
        /// In that line.
        found: String,
        /// In the lines before.
        expected: String,
    },
    /// Scored, but nobody labelled the answers.
    #[error(
        "no scored answer has labelled spans (`gold_spans`), so nothing is known to be missed or not; score a \
         labelled data set"
    )]
    NoLabels,
    /// A line that certify does not take.
    #[error("row {row}: {source}")]
    Row {
        /// Its row.
        row: usize,
        /// Why.
        source: CertifyError,
    },
}

/// The labelled answers of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledAnswers {
    pub answers: Vec<AnswerLoss>,
    pub source: HighlightingSource,
    /// Lines left out, by reason.
    pub left_out: BTreeMap<&'static str, usize>,
}

/// Whose scores the lines of a run hold, at these thresholds' detector and label persistence.
pub fn scores_of(run: &[Evidence], thresholds: &Thresholds) -> Result<HighlightingSource, HighlightingError> {
    let mut first: Option<HighlightingSource> = None;
    for one in run {
        let Some(detector) = one.reading.as_ref().and_then(|reading| chosen_detector(reading, thresholds))
        else {
            continue;
        };
        let made = &one.provenance;
        let here = HighlightingSource {
            detector: detector.name.clone(),
            rho: thresholds.rho,
            head_hash: made.head_hash.clone(),
            model: made.model.clone(),
            model_hash: made.model_hash.clone(),
            data: made.data.clone(),
            data_hash: made.data_hash.clone(),
            trained_on_data: false,
        };
        let Some(before) = &mut first else {
            first = Some(here);
            continue;
        };
        let shown = |hash: &Option<String>| hash.as_deref().map_or("none".into(), visible_line).into_owned();
        for (what, found, expected) in [
            (
                "detector",
                visible_line(&here.detector).into_owned(),
                visible_line(&before.detector).into_owned(),
            ),
            ("head", shown(&here.head_hash), shown(&before.head_hash)),
            ("model", shown(&here.model_hash), shown(&before.model_hash)),
        ] {
            if found != expected {
                return Err(HighlightingError::Mixed { row: one.row, what, found, expected });
            }
        }
        if before.data_hash != here.data_hash {
            // Several data sets may be calibrated on together; then no single one is named.
            (before.data, before.data_hash) = (None, None);
        }
    }
    first.ok_or_else(|| HighlightingError::NoScores {
        detector: thresholds
            .detector
            .as_deref()
            .map_or_else(|| "any detector".to_owned(), |name| visible_line(name).into_owned()),
    })
}

/// The labelled answers of a run, smoothed as [`super::decide`] does. The unit of exchangeability is the
/// group `source`, else the question.
pub fn labelled_answers(
    run: &[Evidence],
    thresholds: &Thresholds,
) -> Result<LabelledAnswers, HighlightingError> {
    let source = scores_of(run, thresholds)?;
    let mut left_out: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut answers = Vec::new();
    for one in run {
        match labelled_answer(one, thresholds) {
            Ok(answer) => {
                answers.push(answer.map_err(|source| HighlightingError::Row { row: one.row, source })?);
            }
            Err(reason) => *left_out.entry(reason).or_default() += 1,
        }
    }
    if answers.is_empty() {
        return Err(HighlightingError::NoLabels);
    }
    Ok(LabelledAnswers { answers, source, left_out })
}

fn labelled_answer(
    one: &Evidence,
    thresholds: &Thresholds,
) -> Result<Result<AnswerLoss, CertifyError>, &'static str> {
    let (Some(reading), Some(answer)) = (&one.reading, &one.answer) else {
        return Err("the answer was not read");
    };
    let scores = smoothed(reading, thresholds).ok_or("no scores of this detector")?;
    let gold = one.gold_spans.as_ref().ok_or("nobody labelled the answer")?;
    let ranges: Vec<Range<usize>> = reading.tokens.iter().map(|[start, end]| *start..*end).collect();
    let spans: Vec<Range<usize>> = gold.iter().map(|span| span.start..span.end).collect();
    let labels = token_labels(answer, &ranges, &spans);
    let source = one.groups.get(SOURCE_GROUP).unwrap_or(&one.question);
    Ok(AnswerLoss::new(source.clone(), &scores, &labels))
}

/// The sums of forward-backward may end a last bit above 1.
fn smoothed(reading: &Reading, thresholds: &Thresholds) -> Option<Vec<f64>> {
    let raw: Vec<f64> =
        chosen_detector(reading, thresholds)?.raw.iter().map(|score| f64::from(*score)).collect();
    Some(smooth(&raw, thresholds.rho).into_iter().map(|score| score.clamp(0.0, 1.0)).collect())
}
