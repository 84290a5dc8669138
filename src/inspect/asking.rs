//! Answers to questions that are no part of the data: retrieved, certified, written by the model, read, scored.

use std::sync::mpsc::Receiver;

use crate::data::Example;
use crate::evidence::{Evidence, Status};
use crate::reading::GenerationSettings;

use super::generation::{ChunkFilter, Generation};
use super::inspector::Inspector;
use super::message::{AnswerNews, Message};
use super::model_slot::ModelSlot;
use super::request::{Request, RequestSubject};

/// Name under which the provenance of a record says that it was asked for.
pub(super) const ASKED: &str = "asked";

/// Whether a record is no part of the data: someone asked for it.
#[must_use]
pub fn is_asked(evidence: &Evidence) -> bool {
    evidence.provenance.settings.contains_key(ASKED)
}

impl Inspector<'_> {
    /// The record of a request before its answer is written: chunks and their certificates.
    #[must_use]
    pub fn asked(&self, request: &Request) -> Evidence {
        let mut evidence = match &request.subject {
            RequestSubject::Question(question) => self.certified(&example(request, question)),
            RequestSubject::Again(of) => self.again(request, of),
        };
        let how = match request.subject {
            RequestSubject::Question(_) => "a question of the user",
            RequestSubject::Again(_) => "once more",
        };
        evidence.provenance.settings.insert(ASKED.to_owned(), how.to_owned());
        if evidence.status != Status::Error {
            evidence.reason = Some("the answer has not been written yet".to_owned());
        }
        let is_certified = evidence.chunks.iter().any(|chunk| chunk.p_value.is_some());
        if is_certified && matches!(request.subject, RequestSubject::Question(_)) {
            evidence.notices.push(
                "this question is no part of the data: its p-values hold as far as it is like the questions \
                 that calibrated"
                    .to_owned(),
            );
        }
        evidence
    }

    fn again(&self, request: &Request, of: &Evidence) -> Evidence {
        let mut evidence = Evidence {
            row: request.row,
            id: request.id.clone(),
            status: Status::Partial,
            notices: vec![format!("asked once more, with the question and the chunks of {}", of.id)],
            answer: None,
            reading: None,
            gold_spans: None,
            provenance: self.provenance().clone(),
            ..of.clone()
        };
        for chunk in &mut evidence.chunks {
            chunk.tokens_read = None;
        }
        evidence
    }

    /// Writes the answer of a request into its record and reads it. What comes of it stands in the record: an
    /// answer that was not written is a `reason`.
    pub fn answer(
        &mut self,
        evidence: &mut Evidence,
        request: &Request,
        settings: &GenerationSettings,
        news: &mut dyn FnMut(AnswerNews),
    ) {
        let from = match request.filter {
            ChunkFilter::All => "from all passages",
            ChunkFilter::Trusted(_) => "from the trusted passages",
        };
        news(AnswerNews::Stage(format!("writing the answer {from}")));
        let generation =
            Generation { settings: settings.clone(), filter: request.filter, cancel: request.cancel.flag() };
        let written =
            self.write_answer(evidence, &generation, &mut |piece| news(AnswerNews::Piece(piece.to_owned())));
        if written {
            news(AnswerNews::Stage("reading the answer with and without its references".to_owned()));
            self.read_answer(evidence);
        }
    }
}

fn example(request: &Request, question: &str) -> Example {
    Example {
        id: request.id.clone(),
        row: request.row,
        question: question.to_owned(),
        passages: Vec::new(),
        answer: None,
        references: Vec::new(),
        source_documents: Vec::new(),
        gold_spans: None,
        gold_consistent: None,
        groups: std::collections::BTreeMap::default(),
    }
}

/// Answers one request and sends what happens; the model is loaded when it is not there yet.
pub(super) fn answer<'s>(
    slot: &'s ModelSlot<'_>,
    inspector: &mut Inspector<'s>,
    settings: &GenerationSettings,
    request: &Request,
    send: &mut dyn FnMut(Message),
) {
    let row = request.row;
    let mut evidence = inspector.asked(request);
    send(Message::Evidence(Box::new(evidence.clone())));
    let stopped = || "stopped before it was written".to_owned();
    let mut failed = request.cancel.is_cancelled().then(stopped);
    if evidence.status == Status::Error {
        failed.clone_from(&evidence.reason);
    }
    if failed.is_none() && !inspector.has_model() {
        let mut news = |message| {
            // The stages of loading are news of this answer: the run has its own.
            send(match message {
                Message::Stage(stage) => Message::Answer { row, news: AnswerNews::Stage(stage) },
                other => other,
            });
        };
        failed = slot.bind(inspector, &request.cancel.flag(), &mut news).err().map(|error| error.to_string());
        let settings = std::mem::take(&mut evidence.provenance.settings);
        evidence.provenance = inspector.provenance().clone();
        evidence.provenance.settings.extend(settings);
    }
    if let Some(reason) = failed {
        evidence.reason = Some(reason.clone());
        send(Message::Evidence(Box::new(evidence)));
        send(Message::Answer { row, news: AnswerNews::Failed(reason) });
        return;
    }
    inspector.answer(&mut evidence, request, settings, &mut |news| send(Message::Answer { row, news }));
    let end = match (&evidence.reading, &evidence.reason) {
        (None, Some(reason)) => AnswerNews::Failed(reason.clone()),
        _ => AnswerNews::Done,
    };
    send(Message::Evidence(Box::new(evidence)));
    send(Message::Answer { row, news: end });
}

/// Answers what waits now.
pub(super) fn answer_waiting<'s>(
    slot: &'s ModelSlot<'_>,
    inspector: &mut Inspector<'s>,
    settings: &GenerationSettings,
    requests: &Receiver<Request>,
    send: &mut dyn FnMut(Message),
) {
    while let Ok(request) = requests.try_recv() {
        answer(slot, inspector, settings, &request, send);
    }
}

/// Answers until nobody can ask any more; sleeps between questions, with the model loaded.
pub(super) fn answer_all<'s>(
    slot: &'s ModelSlot<'_>,
    inspector: &mut Inspector<'s>,
    settings: &GenerationSettings,
    requests: &Receiver<Request>,
    send: &mut dyn FnMut(Message),
) {
    for request in requests {
        answer(slot, inspector, settings, &request, send);
    }
}

#[cfg(test)]
#[path = "asking_tests.rs"]
mod tests;
