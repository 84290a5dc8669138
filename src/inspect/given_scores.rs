//! Scores that came with the passages of a data set: calibrated as they are, and never mixed with others.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::certify::{
    CalibrationArtefact, CalibrationMode, LabelChunk, LabelQuestion, LabelSettings, QuestionScores,
    label_chunks,
};
use crate::data::{Dataset, Example};

use super::InspectError;
use super::certificate::{Certificate, ScoredQuestions};
use super::chunks::GivenCertificate;
use super::corpus::ScoreKind;

/// Name of the retriever in calibrations of scores that came with the data.
const RETRIEVER: &str = "given scores";
const NAME: &str = "scores_of";

/// The kind of scores that came with data; `name`: the retriever that gave them, in the user's words.
#[must_use]
pub fn given_kind(name: &str) -> ScoreKind {
    ScoreKind {
        retriever: RETRIEVER.to_owned(),
        settings: BTreeMap::from([(NAME.to_owned(), name.to_owned())]),
    }
}

/// Most passages of a record.
#[must_use]
pub fn most_passages(dataset: &Dataset) -> usize {
    dataset.examples().map(|example| example.passages.len()).max().unwrap_or(0)
}

/// The scores of the passages of every question whose source document is known, the first `k` in rank order, labelled.
///
/// # Errors
/// Why the scores cannot be used: none came, they are of several retrievers, or distances instead of similarities.
pub fn score_given(dataset: &Dataset, k: usize, settings: &LabelSettings) -> Result<ScoredQuestions, String> {
    usable(dataset)?;
    let mut seen = HashSet::new();
    let examples: Vec<&Example> = dataset
        .examples()
        .filter(|example| !example.source_documents.is_empty() && !example.passages.is_empty())
        .filter(|example| {
            let mut first = example.passages.iter().take(k);
            first.all(|passage| passage.document.is_some() && passage.score.is_some_and(f64::is_finite))
        })
        .filter(|example| seen.insert((example.split_key(), example.question.as_str())))
        .collect();
    let questions: Vec<LabelQuestion<'_>> = examples
        .iter()
        .map(|example| LabelQuestion {
            references: &example.references,
            source_documents: &example.source_documents,
            chunks: example
                .passages
                .iter()
                .take(k)
                .map(|passage| LabelChunk {
                    document: passage.document.as_deref().unwrap_or_default(),
                    text: &passage.text,
                })
                .collect(),
        })
        .collect();
    let labels = label_chunks(&questions, settings);
    let scores = examples
        .iter()
        .zip(&labels.correct)
        .map(|(example, correct)| QuestionScores {
            split_key: example.split_key().to_owned(),
            hits: example
                .passages
                .iter()
                .filter_map(|passage| passage.score)
                .zip(correct.iter().copied())
                .collect(),
            // The corpus that was searched is not here: nothing speaks against it.
            reachable: true,
        })
        .collect();
    Ok(ScoredQuestions { scores, labels, rows: examples.iter().map(|example| example.row).collect() })
}

/// Whether the passages have scores of one kind, higher for better.
fn usable(dataset: &Dataset) -> Result<(), String> {
    if !dataset.examples().flat_map(|example| &example.passages).any(|passage| passage.score.is_some()) {
        return Err(
            "the passages came with the data and without scores, so there is nothing to certify".to_owned()
        );
    }
    let retrievers: BTreeSet<&str> = dataset
        .examples()
        .filter_map(|example| example.groups.get("retriever"))
        .map(String::as_str)
        .collect();
    if retrievers.len() > 1 {
        let names: Vec<&str> = retrievers.into_iter().collect();
        return Err(format!(
            "the scores that came with the data are of several retrievers ({}); scores of different retrievers are \
             never mixed: certify each by itself",
            names.join(", ")
        ));
    }
    let (mut rising, mut falling) = (0, 0);
    for example in dataset.examples() {
        let scores: Vec<f64> = example.passages.iter().filter_map(|passage| passage.score).collect();
        if let [first, .., last] = scores[..] {
            rising += usize::from(last > first);
            falling += usize::from(last < first);
        }
    }
    if rising > falling {
        return Err(format!(
            "the scores that came with the data rise down the ranks in {rising} of {} records: they look like \
             distances; give similarities, higher for better (the negative distance will do)",
            rising + falling
        ));
    }
    Ok(())
}

/// What certifies the passages of `dataset`: a calibration made before from scores that the user says are of the same
/// retriever (`name`), else the data itself, each half by the other.
///
/// # Errors
/// Scores that are not finite.
pub(super) fn certificate(
    dataset: &Dataset,
    calibration: Option<&CalibrationArtefact>,
    name: Option<&str>,
    mode: CalibrationMode,
    seed: u64,
) -> Result<GivenCertificate, InspectError> {
    if let Some(artefact) = calibration {
        let source = &artefact.source;
        let calibrated = source.retriever_settings.get(NAME).filter(|_| source.retriever == RETRIEVER);
        let certificate = match (calibrated, name) {
            (None, _) => Certificate::Absent(format!(
                "the passage came with the data, and the calibration is about scores of {}: scores of different \
                 retrievers are never mixed",
                source.retriever
            )),
            (Some(calibrated), None) => Certificate::Absent(format!(
                "the calibration is about scores of {calibrated}; where those that came with this data are of the same \
                 retriever, say --given-scores {calibrated}"
            )),
            (Some(_), Some(name)) => match usable(dataset) {
                Ok(()) => Certificate::from_artefact(artefact.clone(), mode, &given_kind(name), source.k),
                // A stream shows its passages one by one.
                Err(_) if dataset.rows.is_empty() => {
                    Certificate::from_artefact(artefact.clone(), mode, &given_kind(name), source.k)
                }
                Err(reason) => Certificate::Absent(reason),
            },
        };
        return Ok(GivenCertificate { certificate, k: source.k });
    }
    if dataset.rows.is_empty() {
        return Ok(GivenCertificate::absent(
            "the passage came with a stream, which cannot calibrate itself; make a calibration with `ragscope certify` \
             and name it with --calibration",
        ));
    }
    let k = most_passages(dataset);
    match score_given(dataset, k, &LabelSettings::default()) {
        Err(reason) => Ok(GivenCertificate::absent(reason)),
        Ok(scored) => {
            let kind = given_kind(name.unwrap_or(&dataset.name));
            let certificate = Certificate::from_halves(&scored, dataset, &kind, k, mode, seed)?;
            Ok(GivenCertificate { certificate, k })
        }
    }
}

#[cfg(test)]
#[path = "given_scores_tests.rs"]
mod tests;
