//! One example after another, from record to evidence.

use std::borrow::Borrow;

use crate::data::{BadRow, Example, Row};
use crate::detect::ModelIdentity;
use crate::evidence::{Evidence, Provenance, Status};
use crate::model::LanguageModel;
use crate::reading::Reader;

use super::InspectError;
use super::assemble;
use super::chunks::ChunkSource;
use super::detectors::{Detectors, HeadFiles, HeadSource};
use super::generation::Generation;
use super::identity::identity;
use super::shared_prompt::{MOST_TOGETHER, has_answer_to_read, read_together};

/// Retrieves, certifies, reads and detects.
pub struct Inspector<'m> {
    chunks: ChunkSource,
    provenance: Provenance,
    reading: Option<(Reader<'m>, Detectors)>,
    generation: Option<Generation>,
}

impl<'m> Inspector<'m> {
    /// Without a model it retrieves and certifies only.
    #[must_use]
    pub fn new(chunks: ChunkSource, provenance: Provenance) -> Self {
        Self { chunks, provenance, reading: None, generation: None }
    }

    /// From now on answers are read.
    #[must_use]
    pub fn with_model(mut self, model: &'m LanguageModel, detectors: Detectors) -> Self {
        self.bind(model, detectors);
        self
    }

    /// [`Self::with_model`] for an inspector that is in use.
    pub(super) fn bind(&mut self, model: &'m LanguageModel, detectors: Detectors) {
        let reader = Reader::new(model, detectors.layers().to_vec()).keeping(detectors.signals());
        self.reading = Some((reader, detectors));
    }

    /// Whether answers can be written and read.
    pub(super) fn has_model(&self) -> bool {
        self.reading.is_some()
    }

    /// [`Self::named`] for an inspector that is in use.
    pub(super) fn rename(&mut self, provenance: Provenance) {
        self.provenance = provenance;
    }

    /// From now on records without an answer get one from the model, which has to be there.
    #[must_use]
    pub fn with_generation(mut self, generation: Generation) -> Self {
        self.generation = Some(generation);
        self
    }

    /// From now on lines carry this provenance.
    #[must_use]
    pub fn named(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// What is written into every line.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Evidence about a record before its answer is read.
    #[must_use]
    pub fn without_reading(&self, row: &Row) -> Evidence {
        match row {
            Row::Bad(bad) => self.bad(bad),
            Row::Example(example) => self.certified(example),
        }
    }

    /// Evidence about a record. A failure of the record is a `status` with a `reason`.
    pub fn inspect(&mut self, row: &Row) -> Evidence {
        let mut evidence = self.without_reading(row);
        self.read(std::slice::from_mut(&mut evidence));
        evidence
    }

    /// Evidence about several records, in order, each what [`Inspector::inspect`] gives. Neighbours with the
    /// same question and chunks are read together; [`same_prompt_runs`](super::same_prompt_runs) finds them.
    pub fn inspect_many<R: Borrow<Row>>(&mut self, rows: &[R]) -> Vec<Evidence> {
        let mut all: Vec<Evidence> = rows.iter().map(|row| self.without_reading(row.borrow())).collect();
        for run in all.chunk_by_mut(read_together) {
            for together in run.chunks_mut(MOST_TOGETHER) {
                self.read(together);
            }
        }
        all
    }

    /// Writes an answer into a record that has none; `false`: there is none, and the record says why.
    pub(super) fn write_answer(
        &mut self,
        evidence: &mut Evidence,
        generation: &Generation,
        piece: &mut dyn FnMut(&str),
    ) -> bool {
        match &mut self.reading {
            Some((reader, _)) => generation.write(evidence, reader, piece),
            None => false,
        }
    }

    /// Reads the answer of a record that has one.
    pub(super) fn read_answer(&mut self, evidence: &mut Evidence) {
        self.read(std::slice::from_mut(evidence));
    }

    /// Reads the answers of records that share question and chunks.
    fn read(&mut self, together: &mut [Evidence]) {
        let Some((reader, detectors)) = &mut self.reading else { return };
        // A record without an answer never shares its reading: it is alone here.
        if let ([evidence], Some(generation)) = (&mut *together, &self.generation)
            && evidence.answer.is_none()
            && evidence.status != Status::Error
            && !generation.write(evidence, reader, &mut |_| {})
        {
            return;
        }
        let Some(first) = together.first().filter(|first| has_answer_to_read(first)) else { return };
        let passages: Vec<&str> = first.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        let answers: Vec<&str> =
            together.iter().map(|evidence| evidence.answer.as_deref().unwrap_or_default()).collect();
        let read = reader.read_many(&first.question, &passages, &answers);
        for (evidence, read) in together.iter_mut().zip(read) {
            assemble::add_reading(evidence, read, detectors);
        }
    }

    pub(super) fn certified(&self, example: &Example) -> Evidence {
        match self.chunks.chunks(example) {
            Ok((chunks, notices)) => {
                let mut evidence = assemble::without_reading(example, chunks, notices, &self.provenance);
                evidence.reason = Some(match &example.answer {
                    Some(_) => "the answer has not been read by a model".to_owned(),
                    None => "no answer in the data: there is nothing to read".to_owned(),
                });
                evidence
            }
            Err(error) => {
                let mut evidence =
                    assemble::without_reading(example, Vec::new(), Vec::new(), &self.provenance);
                evidence.status = Status::Error;
                evidence.reason = Some(error.to_string());
                evidence
            }
        }
    }

    fn bad(&self, bad: &BadRow) -> Evidence {
        let reason = match bad.line {
            Some(line) => format!("line {line}: {}", bad.reason),
            None => bad.reason.clone(),
        };
        assemble::bad_row(bad.row, bad.id.as_deref(), &reason, &self.provenance)
    }
}

/// Binds heads to a model. Heads that the user named must fit; without any, a model that the shipped
/// heads were not trained on is read with the untrained baseline, and the notice says so.
pub fn bind_detectors(
    model: &LanguageModel,
    source: &HeadSource,
    files: &HeadFiles,
) -> Result<(Detectors, Option<String>), InspectError> {
    let identity: ModelIdentity = identity(model)?;
    match Detectors::bind(files, &identity) {
        Ok(detectors) => Ok((detectors, None)),
        Err(error) if *source == HeadSource::Shipped => Ok((
            Detectors::untrained(),
            Some(format!(
                "{error}. Tokens are scored by their negative log-likelihood only, and there is no factuality; \
                 `ragscope train` makes heads for this model"
            )),
        )),
        Err(error) => Err(error.into()),
    }
}
