//! Where the p-values of a run come from.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::certify::guarantee::other_retriever;
use crate::certify::{
    Alpha, CalibrationArtefact, CalibrationMode, CalibrationSource, ChunkGuarantee, ChunkLabels, Diagnostics,
    DiagnosticsSettings, LabelChunk, LabelQuestion, LabelSettings, PValue, QuestionScores, diagnose, judge,
    label_chunks,
};
use crate::data::{Dataset, Example, grouped_split};
use crate::metrics::Measure;

use super::InspectError;
use super::corpus::{Corpus, ScoreKind};

/// Fewer questions with a known source than this, and a data set does not calibrate itself.
const LEAST_QUESTIONS: usize = 20;

/// Scores of the questions of a data set whose source document is known.
pub struct ScoredQuestions {
    /// One entry per question, however many answers it has.
    pub scores: Vec<QuestionScores>,
    /// Which chunks are correct, and how that was decided.
    pub labels: ChunkLabels,
    /// Row of the example each entry was made from.
    pub rows: Vec<usize>,
}

/// Retrieves the top `k` for every question with a known source and labels the chunks.
pub fn score_questions(
    dataset: &Dataset,
    corpus: &Corpus,
    k: usize,
    settings: &LabelSettings,
) -> Result<ScoredQuestions, InspectError> {
    let mut seen = HashSet::new();
    let examples: Vec<&Example> = dataset
        .examples()
        .filter(|example| !example.source_documents.is_empty())
        .filter(|example| seen.insert((example.split_key(), example.question.as_str())))
        .collect();
    let mut retrieved = Vec::with_capacity(examples.len());
    for example in &examples {
        retrieved.push(corpus.retrieve(&example.question, k)?.chunks);
    }
    let questions: Vec<LabelQuestion<'_>> = examples
        .iter()
        .zip(&retrieved)
        .map(|(example, chunks)| LabelQuestion {
            references: &example.references,
            source_documents: &example.source_documents,
            chunks: chunks
                .iter()
                .map(|chunk| LabelChunk { document: &chunk.document_id, text: &chunk.text })
                .collect(),
        })
        .collect();
    let labels = label_chunks(&questions, settings);
    let scores = examples
        .iter()
        .zip(retrieved.iter().zip(&labels.correct))
        .map(|(example, (chunks, correct))| QuestionScores {
            split_key: example.split_key().to_owned(),
            hits: chunks.iter().map(|chunk| chunk.score).zip(correct.iter().copied()).collect(),
            // A search server does not say what it holds: then nothing speaks against it.
            reachable: example.source_documents.iter().any(|id| corpus.holds_document(id).unwrap_or(true)),
        })
        .collect();
    Ok(ScoredQuestions { scores, labels, rows: examples.iter().map(|example| example.row).collect() })
}

/// What certifies the chunks of a run.
pub enum Certificate {
    /// Nothing does, for the reason given.
    Absent(String),
    /// A calibration made before.
    Artefact {
        /// The calibration.
        artefact: Box<CalibrationArtefact>,
        /// How chunks of one question enter it.
        mode: CalibrationMode,
    },
    /// The data set itself: each half of the questions is certified by the other half.
    Halves {
        /// Calibrated on the first half, on the second half.
        artefacts: Box<[CalibrationArtefact; 2]>,
        /// Whether a split key is in the first half.
        in_first: HashMap<String, bool>,
        /// How chunks of one question enter it.
        mode: CalibrationMode,
    },
}

/// What a certificate says of itself, for headers and reports.
#[derive(Debug, Clone, PartialEq)]
pub struct CertificateSummary {
    /// Calibration values behind a p-value (the smaller number where halves differ).
    pub values: usize,
    /// Chunks retrieved for each question.
    pub k: usize,
    /// How chunks of one question enter the calibration.
    pub mode: CalibrationMode,
    /// Share of calibration questions with a correct chunk in the top K.
    pub recall: Measure,
    /// The calibration data, in plain words.
    pub data: String,
    /// The verdict about retriever and data, where it was made.
    pub verdict: Option<String>,
    /// m1, m2 and coverage at many levels, where the calibrating questions were diagnosed here. It is
    /// not kept in evidence.
    pub diagnostics: Option<Diagnostics>,
}

impl Certificate {
    /// A calibration made before, if it is about scores of this kind: others are other quantities.
    #[must_use]
    pub fn from_artefact(
        artefact: CalibrationArtefact,
        mode: CalibrationMode,
        kind: &ScoreKind,
        k: usize,
    ) -> Self {
        let calibrated = ScoreKind {
            retriever: artefact.source.retriever.clone(),
            settings: artefact.source.retriever_settings.clone(),
        };
        let mut differences = kind.differences(&calibrated);
        if artefact.source.k != k {
            differences.push(format!("K is {k} here and {} there", artefact.source.k));
        }
        if differences.is_empty() {
            return Self::Artefact { artefact: Box::new(artefact), mode };
        }
        Self::Absent(other_retriever(&differences))
    }

    /// Calibrates the halves of a data set on each other, grouped by source.
    pub fn from_halves(
        scored: &ScoredQuestions,
        dataset: &Dataset,
        kind: &ScoreKind,
        k: usize,
        mode: CalibrationMode,
        seed: u64,
    ) -> Result<Self, InspectError> {
        if scored.scores.len() < LEAST_QUESTIONS {
            return Ok(Self::Absent(format!(
                "not calibrated: {} questions name the document that holds their answer, at least \
                 {LEAST_QUESTIONS} are needed; make a calibration with `ragscope certify` and name it with \
                 --calibration",
                scored.scores.len()
            )));
        }
        let keys: Vec<&str> = scored.scores.iter().map(|question| question.split_key.as_str()).collect();
        let first = grouped_split(&keys, 0.5, seed);
        let half = |wanted: bool| -> Result<CalibrationArtefact, InspectError> {
            let questions: Vec<QuestionScores> = scored
                .scores
                .iter()
                .zip(&first)
                .filter(|(_, in_first)| **in_first == wanted)
                .map(|(question, _)| question.clone())
                .collect();
            let source = source_of(dataset, kind, k, LabelSettings::default(), seed);
            Ok(CalibrationArtefact::new(source, &questions, &scored.labels)?)
        };
        let artefacts = Box::new([half(true)?, half(false)?]);
        let in_first = keys.iter().map(|key| (*key).to_owned()).zip(first.iter().copied()).collect();
        Ok(Self::Halves { artefacts, in_first, mode })
    }

    /// The p-value of a chunk with `score`, retrieved for a question of `split_key`, or why there is none.
    pub fn p_value(&self, split_key: &str, score: Option<f64>) -> Result<PValue, String> {
        let (artefact, mode) = match self {
            Self::Absent(reason) => return Err(reason.clone()),
            Self::Artefact { artefact, mode } => (&**artefact, *mode),
            Self::Halves { artefacts, in_first, mode } => {
                // A question in neither half took no part in calibration; either half may certify it.
                let calibrated_on_first = !in_first.get(split_key).copied().unwrap_or(false);
                (&artefacts[usize::from(!calibrated_on_first)], *mode)
            }
        };
        artefact.p_value(score, mode).map_err(|error| error.to_string())
    }

    /// Names the calibration in every line of evidence.
    pub fn hash(&self) -> Result<Option<String>, InspectError> {
        Ok(match self {
            Self::Absent(_) => None,
            Self::Artefact { artefact, .. } => Some(artefact.hash()?),
            Self::Halves { artefacts, .. } => {
                Some(format!("{}+{}", artefacts[0].hash()?, artefacts[1].hash()?))
            }
        })
    }

    /// What it says of itself; `None` when nothing certifies.
    #[must_use]
    pub fn summary(&self) -> Option<CertificateSummary> {
        match self {
            Self::Absent(_) => None,
            Self::Artefact { artefact, mode } => Some(summary_of(&[artefact], *mode, "")),
            Self::Halves { artefacts, mode, .. } => Some(summary_of(
                &[&artefacts[0], &artefacts[1]],
                *mode,
                ", each half of its questions certified by the other half",
            )),
        }
    }
}

/// Where a calibration comes from.
#[must_use]
pub fn source_of(
    dataset: &Dataset,
    kind: &ScoreKind,
    k: usize,
    labels: LabelSettings,
    seed: u64,
) -> CalibrationSource {
    CalibrationSource {
        k,
        retriever: kind.retriever.clone(),
        retriever_settings: kind.settings.clone(),
        labels,
        data: Some(dataset.name.clone()),
        data_hash: Some(dataset.hash.clone()),
        seed,
    }
}

fn summary_of(artefacts: &[&CalibrationArtefact], mode: CalibrationMode, how: &str) -> CertificateSummary {
    let questions: usize = artefacts.iter().map(|artefact| artefact.counts.questions).sum();
    let found: usize = artefacts.iter().map(|artefact| artefact.counts.with_correct_chunk).sum();
    let source = &artefacts[0].source;
    CertificateSummary {
        values: artefacts.iter().map(|artefact| artefact.calibration(mode).len()).min().unwrap_or(0),
        k: source.k,
        mode,
        recall: Measure::ratio(found as f64, questions as f64, "no questions"),
        data: format!("{}{how}", source.data.as_deref().unwrap_or("unnamed data")),
        verdict: None,
        diagnostics: None,
    }
}

impl CertificateSummary {
    /// Diagnoses retriever and data set and puts the verdict at `alpha` into words, where there are
    /// questions enough.
    #[must_use]
    pub fn diagnosed(self, scores: &[QuestionScores], alpha: Alpha) -> Self {
        let mut settings = DiagnosticsSettings { k: self.k, ..DiagnosticsSettings::default() };
        settings.alphas.push(alpha);
        let Ok(diagnostics) = diagnose(scores, &settings) else { return self };
        let verdict = Some(judge(&diagnostics, alpha, self.mode).to_string());
        Self { verdict, diagnostics: Some(diagnostics), ..self }
    }

    /// What is guaranteed at `alpha`, then what is not, one sentence each.
    #[must_use]
    pub fn sentences(&self, alpha: Alpha) -> Vec<String> {
        let guarantee = ChunkGuarantee {
            alpha,
            mode: self.mode,
            values: self.values,
            k: self.k,
            recall: self.recall.clone(),
        };
        std::iter::once(guarantee.statement()).chain(guarantee.limits()).collect()
    }

    /// As named settings, for the provenance of evidence.
    #[must_use]
    pub fn to_settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("calibration_values".to_owned(), self.values.to_string()),
            ("calibration_mode".to_owned(), mode_name(self.mode).to_owned()),
            ("calibration_data".to_owned(), self.data.clone()),
            ("top_k".to_owned(), self.k.to_string()),
        ]);
        if let Some(recall) = self.recall.value() {
            settings.insert("calibration_recall_at_k".to_owned(), format!("{recall:.4}"));
        }
        if let Some(verdict) = &self.verdict {
            settings.insert("verdict".to_owned(), verdict.clone());
        }
        settings
    }

    /// Back from the provenance of evidence; `None` when the evidence was made without a calibration.
    #[must_use]
    pub fn from_settings(settings: &BTreeMap<String, String>) -> Option<Self> {
        let recall = settings.get("calibration_recall_at_k").and_then(|text| text.parse().ok());
        Some(Self {
            values: settings.get("calibration_values")?.parse().ok()?,
            k: settings.get("top_k")?.parse().ok()?,
            mode: match settings.get("calibration_mode")?.as_str() {
                "pooled" => CalibrationMode::Pooled,
                _ => CalibrationMode::PerQuestion,
            },
            recall: recall.map_or_else(|| Measure::undefined("n/a (not recorded)"), Measure::of),
            data: settings.get("calibration_data")?.clone(),
            verdict: settings.get("verdict").cloned(),
            diagnostics: None,
        })
    }
}

/// Name of a mode in settings and reports.
#[must_use]
pub const fn mode_name(mode: CalibrationMode) -> &'static str {
    match mode {
        CalibrationMode::PerQuestion => "per-question",
        CalibrationMode::Pooled => "pooled",
    }
}
