//! With a model of 96 tokens and random weights: what it writes means nothing, that it is heard, read and
//! kept apart from the data does.

use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock, atomic::AtomicBool};

use super::*;
use crate::certify::{Alpha, PValue};
use crate::data::{Dataset, Document, Row};
use crate::evidence::Provenance;
use crate::inspect::certificate::Certificate;
use crate::inspect::chunks::ChunkSource;
use crate::inspect::corpus::Corpus;
use crate::inspect::detectors::Detectors;
use crate::inspect::generation::tests::tiny_model;
use crate::inspect::{Cancel, Plan, is_generated, run_and_answer};
use crate::model::{CacheDirectory, LanguageModel};

fn document(id: &str, text: &str) -> Document {
    Document {
        id: id.to_owned(),
        title: None,
        parts: vec![text.to_owned()],
        groups: std::collections::BTreeMap::new(),
    }
}

fn documents() -> Vec<Document> {
    vec![document("ferry", "The ferry sails at nine."), document("deck", "The deck is blue.")]
}

fn inspector(model: &LanguageModel) -> Inspector<'_> {
    let corpus = Corpus::index(
        &documents(),
        crate::retrieval::ChunkingSettings::default(),
        crate::retrieval::Bm25Settings::default(),
    );
    let source = ChunkSource {
        corpus: Some(corpus.unwrap()),
        certificate: Certificate::Absent("none here".to_owned()),
        ..ChunkSource::nothing(5, "no scores came with the data")
    };
    let provenance = Provenance { model: Some("tiny".to_owned()), ..Provenance::default() };
    Inspector::new(source, provenance).with_model(model, Detectors::untrained())
}

fn request(row: usize, subject: RequestSubject, filter: ChunkFilter) -> Request {
    Request { row, id: format!("asked-{row}"), subject, filter, cancel: Cancel::default() }
}

fn question(row: usize) -> Request {
    request(row, RequestSubject::Question("When does the ferry sail?".to_owned()), ChunkFilter::All)
}

fn settings() -> GenerationSettings {
    GenerationSettings { max_new_tokens: 12, ..GenerationSettings::default() }
}

#[test]
fn a_question_is_retrieved_written_piece_by_piece_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let model = tiny_model(folder.path());
    let mut inspector = inspector(&model);
    let request = question(7);
    let mut evidence = inspector.asked(&request);
    assert_eq!((evidence.row, evidence.id.as_str(), evidence.status), (7, "asked-7", Status::Partial));
    assert_eq!(evidence.chunks[0].document.as_deref(), Some("ferry"));
    let mut heard = String::new();
    let mut stages = Vec::new();
    inspector.answer(&mut evidence, &request, &settings(), &mut |news| match news {
        AnswerNews::Piece(piece) => heard.push_str(&piece),
        AnswerNews::Stage(stage) => stages.push(stage),
        other => panic!("{other:?}"),
    });
    assert_eq!(evidence.answer.as_deref(), Some(heard.as_str()));
    assert_eq!(evidence.status, Status::Ok);
    assert!(evidence.reading.is_some() && is_asked(&evidence) && is_generated(&evidence));
    assert_eq!(stages.len(), 2);
    assert!(evidence.notices.iter().any(|notice| notice.starts_with("this answer was written by tiny")));
}

#[test]
fn an_answer_that_is_not_wanted_any_more_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let model = tiny_model(folder.path());
    let mut inspector = inspector(&model);
    let request = question(1);
    let mut evidence = inspector.asked(&request);
    let mut pieces = 0;
    inspector.answer(&mut evidence, &request, &settings(), &mut |news| {
        if matches!(news, AnswerNews::Piece(_)) {
            pieces += 1;
            request.cancel.cancel();
        }
    });
    assert_eq!((evidence.answer, evidence.reading), (None, None));
    assert_eq!(evidence.reason.as_deref(), Some("writing the answer was interrupted"));
    assert!(pieces >= 1);
}

#[test]
fn once_more_keeps_the_chunks_with_their_certificates_and_writes_from_the_trusted_ones() {
    let folder = tempfile::tempdir().unwrap();
    let model = tiny_model(folder.path());
    let mut inspector = inspector(&model);
    let mut first = inspector.asked(&question(1));
    for (chunk, count) in first.chunks.iter_mut().zip([18, 1]) {
        chunk.p_value = Some(PValue { count, out_of: 20 });
        chunk.p_value_absent = None;
    }
    first.answer = Some("at nine".to_owned());
    first.gold_spans = Some(Vec::new());
    let filter = ChunkFilter::Trusted(Alpha::from_thousandths(100));
    let request = request(2, RequestSubject::Again(Arc::new(first.clone())), filter);
    let mut second = inspector.asked(&request);
    assert_eq!((&second.answer, &second.gold_spans), (&None, &None));
    inspector.answer(&mut second, &request, &settings(), &mut |_| {});
    let p_values = |evidence: &Evidence| -> Vec<_> { evidence.chunks.iter().map(|c| c.p_value).collect() };
    assert_eq!(p_values(&second), p_values(&first));
    let from = &second.provenance.settings["generated_from"];
    assert!(from.starts_with("1 of "), "{from}");
    assert!(second.answer.is_some_and(|answer| !answer.is_empty()));
}

/// A run over one record without and one with an answer, by a model of its own folder.
fn told(requests: Vec<Request>, cancel: bool) -> Vec<Message> {
    let folder = tempfile::tempdir().unwrap();
    tiny_model(folder.path());
    let record = |row: usize| {
        let line = format!(
            r#"{{"id":"q{row}","question":"When?","answer":"at nine","contexts":["It sails at nine, {row}."]}}"#
        );
        crate::data::formats::own::parse_line(line.as_bytes(), row, row + 1)
    };
    let rows: Vec<Row> = (0..3).map(record).collect();
    let dataset = Dataset { rows, documents: documents(), ..Dataset::stream("told") };
    let plan = Plan {
        model: Some(folder.path().display().to_string()),
        answering: settings(),
        ..Plan::new(dataset, CacheDirectory::at(folder.path().join("cache")))
    };
    let (sender, receiver) = channel();
    for request in requests {
        sender.send(request).unwrap();
    }
    drop(sender);
    let mut messages = Vec::new();
    run_and_answer(&plan, &AtomicBool::new(cancel), &OnceLock::new(), &receiver, &mut |message| {
        messages.push(message);
    })
    .unwrap();
    messages
}

fn place(messages: &[Message], wanted: impl Fn(&Message) -> bool) -> usize {
    messages.iter().position(wanted).unwrap_or_else(|| panic!("not told: {messages:?}"))
}

fn done(row: usize) -> impl Fn(&Message) -> bool {
    move |message| *message == Message::Answer { row, news: AnswerNews::Done }
}

#[test]
fn questions_come_before_what_is_left_of_the_run_and_do_not_end_it() {
    let messages = told(vec![question(3), question(4)], false);
    let read = |row: usize| move |message: &Message| matches!(message, Message::Evidence(evidence) if evidence.row == row && evidence.reading.is_some());
    let order = [
        place(&messages, read(3)),
        place(&messages, done(3)),
        place(&messages, done(4)),
        place(&messages, read(0)),
        place(&messages, read(2)),
        place(&messages, |message| *message == Message::Finished),
    ];
    assert!(order.is_sorted(), "{order:?}");
    let Message::Evidence(evidence) = &messages[place(&messages, read(4))] else { panic!() };
    assert!(evidence.provenance.model.is_some(), "it says who wrote it");
}

#[test]
fn a_stopped_run_still_answers_and_a_withdrawn_question_is_not_asked() {
    let withdrawn = question(3);
    withdrawn.cancel.cancel();
    let messages = told(vec![withdrawn, question(4)], true);
    place(&messages, |message| *message == Message::Stopped);
    place(&messages, done(4));
    let failed = |message: &Message| matches!(message, Message::Answer { row: 3, news: AnswerNews::Failed(reason) } if reason.contains("stopped"));
    place(&messages, failed);
}
