//! Scores that came with the passages of a data set: calibrated as they are, and never mixed with others.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use sha2::{Digest, Sha256};

use crate::certify::{
    CalibrationArtefact, CalibrationMode, ChunkLabels, LabelChunk, LabelQuestion, LabelSettings,
    QuestionScores, label_chunks,
};
use crate::data::{Dataset, Example};

use super::InspectError;
use super::certificate::{Certificate, ScoredQuestions};
use super::chunks::GivenCertificate;
use super::corpus::ScoreKind;

/// Name of the retriever in calibrations of scores that came with the data.
const RETRIEVER: &str = "given scores";
const NAME: &str = "scores_of";

/// Questions that data calibrate themselves with at most: a p-value gains nothing from more.
const MOST_QUESTIONS: usize = 100_000;

/// Names of retrievers that are kept to be told.
const MOST_NAMES: usize = 10;

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
    let mut traits = Traits::default();
    dataset.examples().for_each(|example| traits.add(example));
    traits.usable()?;
    let mut seen = HashSet::new();
    let examples: Vec<&Example> = dataset
        .examples()
        .filter(|example| calibrates(example, k))
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

/// Whether the first `k` passages of a record have what a calibration needs.
fn calibrates(example: &Example, k: usize) -> bool {
    let mut first = example.passages.iter().take(k);
    !example.source_documents.is_empty()
        && !example.passages.is_empty()
        && first.all(|passage| passage.document.is_some() && passage.score.is_some_and(f64::is_finite))
}

/// What the scores of all records have in common.
#[derive(Debug, Clone, Default)]
struct Traits {
    scored: bool,
    retrievers: BTreeSet<String>,
    rising: usize,
    falling: usize,
    most_passages: usize,
}

impl Traits {
    fn add(&mut self, example: &Example) {
        self.most_passages = self.most_passages.max(example.passages.len());
        if let Some(name) = example.groups.get("retriever")
            && self.retrievers.len() < MOST_NAMES
            && !self.retrievers.contains(name)
        {
            self.retrievers.insert(name.clone());
        }
        let scores: Vec<f64> = example.passages.iter().filter_map(|passage| passage.score).collect();
        self.scored |= !scores.is_empty();
        if let [first, .., last] = scores[..] {
            self.rising += usize::from(last > first);
            self.falling += usize::from(last < first);
        }
    }

    /// Whether the scores are of one kind, higher for better.
    fn usable(&self) -> Result<(), String> {
        if !self.scored {
            return Err("the passages came with the data and without scores, so there is nothing to certify"
                .to_owned());
        }
        if self.retrievers.len() > 1 {
            let names: Vec<&str> = self.retrievers.iter().map(String::as_str).collect();
            return Err(format!(
                "the scores that came with the data are of several retrievers ({}); scores of different retrievers are \
                 never mixed: certify each by itself",
                names.join(", ")
            ));
        }
        if self.rising > self.falling {
            return Err(format!(
                "the scores that came with the data rise down the ranks in {} of {} records: they look like \
                 distances; give similarities, higher for better (the negative distance will do)",
                self.rising,
                self.rising + self.falling
            ));
        }
        Ok(())
    }
}

/// What certifying needs of scores that came with records, taken in record by record: numbers, and never more than
/// `MOST_QUESTIONS` questions, so that it fits into memory whatever the data.
#[derive(Debug, Clone)]
pub struct GivenScores {
    traits: Traits,
    /// By the hashes of split key and question. Where there are too many, those with the least hashes are kept: a
    /// choice that depends on neither their order nor their scores.
    questions: BTreeMap<[u64; 2], (usize, QuestionScores)>,
    most: usize,
}

impl GivenScores {
    /// Nothing yet. `calibrating`: the data will calibrate themselves.
    #[must_use]
    pub fn new(calibrating: bool) -> Self {
        Self::keeping(if calibrating { MOST_QUESTIONS } else { 0 })
    }

    fn keeping(most: usize) -> Self {
        Self { traits: Traits::default(), questions: BTreeMap::new(), most }
    }

    fn of(dataset: &Dataset, calibrating: bool) -> Self {
        let mut given = Self::new(calibrating);
        dataset.examples().for_each(|example| given.add(example));
        given
    }

    /// Takes in one record.
    pub fn add(&mut self, example: &Example) {
        self.traits.add(example);
        if self.most == 0 || !calibrates(example, usize::MAX) {
            return;
        }
        let key = [example.split_key(), &example.question].map(hash_of);
        let is_full = self.questions.len() >= self.most;
        if self.questions.contains_key(&key)
            || is_full && self.questions.last_key_value().is_some_and(|(last, _)| key > *last)
        {
            return;
        }
        let right = |document: &Option<String>| {
            document.as_ref().is_some_and(|document| example.source_documents.contains(document))
        };
        let scored = QuestionScores {
            split_key: example.split_key().to_owned(),
            hits: example
                .passages
                .iter()
                .filter_map(|passage| Some((passage.score?, right(&passage.document))))
                .collect(),
            reachable: true,
        };
        self.questions.insert(key, (example.row, scored));
        if is_full {
            self.questions.pop_last();
        }
    }

    /// The questions in the order of their rows. The document alone decides which passages are correct.
    fn scored(&self) -> ScoredQuestions {
        let mut in_order: Vec<&(usize, QuestionScores)> = self.questions.values().collect();
        in_order.sort_unstable_by_key(|(row, _)| *row);
        let (rows, scores): (Vec<usize>, Vec<QuestionScores>) = in_order.into_iter().cloned().unzip();
        let correct = scores
            .iter()
            .map(|question: &QuestionScores| question.hits.iter().map(|(_, correct)| *correct).collect())
            .collect();
        let labels =
            ChunkLabels { correct, threshold: None, wrong_document_chunks: 0, texts_without_words: 0 };
        ScoredQuestions { scores, labels, rows }
    }
}

/// The same in every version.
fn hash_of(text: &str) -> u64 {
    Sha256::digest(text).iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// What certifies the passages of `dataset`: a calibration made before from scores that the user says are of the same
/// retriever (`name`), else the data itself, each half by the other. `known`: what its scores say, where its rows are
/// not held.
///
/// # Errors
/// Scores that are not finite.
pub(super) fn certificate(
    dataset: &Dataset,
    known: Option<&GivenScores>,
    calibration: Option<&CalibrationArtefact>,
    name: Option<&str>,
    mode: CalibrationMode,
    seed: u64,
) -> Result<GivenCertificate, InspectError> {
    let is_stream = known.is_none() && dataset.rows.is_empty();
    let given = match known {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(GivenScores::of(dataset, calibration.is_none())),
    };
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
            (Some(_), Some(name)) => match given.traits.usable() {
                Ok(()) => Certificate::from_artefact(artefact.clone(), mode, &given_kind(name), source.k),
                // A stream shows its passages one by one.
                Err(_) if is_stream => {
                    Certificate::from_artefact(artefact.clone(), mode, &given_kind(name), source.k)
                }
                Err(reason) => Certificate::Absent(reason),
            },
        };
        return Ok(GivenCertificate { certificate, k: source.k });
    }
    if is_stream {
        return Ok(GivenCertificate::absent(
            "the passage came with a stream, which cannot calibrate itself; make a calibration with `ragscope certify` \
             and name it with --calibration",
        ));
    }
    if let Err(reason) = given.traits.usable() {
        return Ok(GivenCertificate::absent(reason));
    }
    let k = given.traits.most_passages;
    let kind = given_kind(name.unwrap_or(&dataset.name));
    let certificate = Certificate::from_halves(&given.scored(), dataset, &kind, k, mode, seed)?;
    Ok(GivenCertificate { certificate, k })
}

#[cfg(test)]
#[path = "given_scores_tests.rs"]
mod tests;
