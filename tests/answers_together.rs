//! Answers to one source are read together; nothing but the time they take may tell.

mod sandbox;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use ragscope::data::{Dataset, OpenOptions, Row};
use ragscope::evidence::{Evidence, Status};
use ragscope::inspect::{Detectors, Inspector, Message, Plan, run};
use ragscope::laboratory::{FeatureSet, FeatureStore, OnError, extract, store_header};
use ragscope::model::{CacheDirectory, LanguageModel, ModelLocation, StateLayer};
use ragscope::reading::{ReadAnswer, Reader, ReadingError, Trace};
use sandbox::{Sandbox, tiny_model};
use serde_json::{Value, json};

const TOLERANCE: f64 = 1e-4;
const QUESTION: &str = "When does the ferry sail?";
const PASSAGES: [&str; 2] = ["The ferry sails at noon and at six.", "In winter it stays in the harbour."];

/// A tiny model of 4,096 tokens context; each byte is a token.
fn tiny() -> (Sandbox, LanguageModel) {
    let sandbox = Sandbox::new();
    let folder = sandbox.work().join("tiny");
    tiny_model::write(&folder);
    let cache = CacheDirectory::at(sandbox.cache());
    let model = LanguageModel::open(&ModelLocation::Directory(folder), &cache).expect("the tiny model");
    (sandbox, model)
}

fn layers() -> Vec<StateLayer> {
    vec![StateLayer::Block(2), StateLayer::FinalNorm]
}

#[track_caller]
fn assert_close(got: &[f32], want: &[f32], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let worst = got.iter().zip(want).map(|(got, want)| f64::from((got - want).abs())).fold(0.0, f64::max);
    assert!(worst <= TOLERANCE && got.iter().all(|x| x.is_finite()), "{what} differs by {worst}");
}

#[track_caller]
fn assert_same_trace(got: &Trace, want: &Trace) {
    let exact = |t: &Trace| (t.token_ranges.clone(), t.token_ids.clone(), t.layers, t.heads, t.hidden_size);
    assert_eq!(exact(got), exact(want));
    for (got, want) in got.states.iter().zip(&want.states) {
        assert_eq!(got.layer, want.layer);
        assert_close(&got.with_references, &want.with_references, "states with references");
        assert_close(&got.without_references, &want.without_references, "states without references");
        assert_close(&got.answer_attention, &want.answer_attention, "attention");
    }
    assert_eq!(got.states.len(), want.states.len());
    assert_close(&got.log_prob_with, &want.log_prob_with, "log-probabilities with references");
    assert_close(&got.log_prob_without, &want.log_prob_without, "log-probabilities without references");
    assert_close(&got.entropy_with, &want.entropy_with, "entropies");
    let tokens = |t: &Trace| (t.lookback.chunk_tokens.clone(), t.lookback.prompt_tokens);
    assert_eq!(tokens(got), tokens(want));
    assert_close(&got.lookback.chunk_mass, &want.lookback.chunk_mass, "chunk masses");
    assert_close(&got.lookback.prompt_mass, &want.lookback.prompt_mass, "prompt masses");
}

#[track_caller]
fn assert_same_reading(got: &Result<ReadAnswer, ReadingError>, want: &Result<ReadAnswer, ReadingError>) {
    match (got, want) {
        (Ok(got), Ok(want)) => {
            assert_same_trace(&got.trace, &want.trace);
            assert_eq!((&got.passage_tokens, &got.notices), (&want.passage_tokens, &want.notices));
        }
        (Err(got), Err(want)) => assert_eq!(got.to_string(), want.to_string()),
        _ => panic!("{:?} is not {:?}", got.is_ok(), want.is_ok()),
    }
}

/// Each alone, with a reader that has read nothing before.
fn one_by_one(
    model: &LanguageModel,
    passages: &[&str],
    answers: &[&str],
) -> Vec<Result<ReadAnswer, ReadingError>> {
    answers.iter().map(|answer| Reader::new(model, layers()).read(QUESTION, passages, answer)).collect()
}

#[test]
fn each_answer_reads_as_it_does_alone_whatever_is_wrong_with_its_neighbours() {
    let (_sandbox, model) = tiny();
    let too_long = "x".repeat(4100);
    let answers = ["At noon.", "", "At noon and at six, and never in winter.", &too_long, "N", "At noon."];
    let mut reader = Reader::new(&model, layers());
    for passages in [&PASSAGES[..], &PASSAGES[1..], &PASSAGES[..]] {
        let together = reader.read_many(QUESTION, passages, &answers);
        let alone = one_by_one(&model, passages, &answers);
        assert_eq!(together.len(), answers.len());
        for (together, alone) in together.iter().zip(&alone) {
            assert_same_reading(together, alone);
        }
        assert!(matches!(together[1], Err(ReadingError::EmptyAnswer)));
        assert!(matches!(together[3], Err(ReadingError::TooLong { .. })));
        assert_eq!(together.iter().filter(|read| read.is_ok()).count(), 4);
    }
    let without_passages = reader.read_many(QUESTION, &[], &answers);
    assert!(without_passages.iter().all(|read| matches!(read, Err(ReadingError::NoPassages))));
    assert!(reader.read_many(QUESTION, &PASSAGES, &[]).is_empty());
}

#[test]
fn passages_are_cut_only_for_the_answer_that_needs_the_room() {
    let (_sandbox, model) = tiny();
    let long = "at six ".repeat(528);
    let longer = "at ten ".repeat(530);
    let answers = ["At noon.", &long, "At six.", &longer, &long];
    let together = Reader::new(&model, layers()).read_many(QUESTION, &PASSAGES, &answers);
    for (together, alone) in together.iter().zip(one_by_one(&model, &PASSAGES, &answers)) {
        assert_same_reading(together, &alone);
    }
    let cut: Vec<bool> = together.iter().flatten().map(|read| !read.notices.is_empty()).collect();
    assert_eq!(cut, [false, true, false, true, true]);
}

/// Two sources with several answers each, with what may be wrong in between.
fn records() -> Vec<Value> {
    let record = |id: &str, question: &str, contexts: &[&str], answer: &str| json!({"id": id, "question": question, "contexts": contexts, "answer": answer, "labels": []});
    let mut records = vec![
        record("a1", QUESTION, &PASSAGES, "At noon."),
        record("a2", QUESTION, &PASSAGES, &"x".repeat(4100)),
        record("a3", QUESTION, &PASSAGES, "At noon and at six."),
        record("a4", QUESTION, &PASSAGES[..1], "At six."),
        record("a5", QUESTION, &PASSAGES, "Never."),
        json!({"id": "a6", "question": QUESTION, "contexts": PASSAGES}),
        record("a7", QUESTION, &PASSAGES, "In winter."),
        record("b1", "Where is it?", &PASSAGES, "In the harbour."),
        json!({"id": "b2", "contexts": PASSAGES, "answer": "no question"}),
    ];
    // More than are read together.
    records.extend((0..11).map(|n| record(&format!("c{n}"), "Why?", &PASSAGES, &"so ".repeat(n + 1))));
    records
}

fn dataset(sandbox: &Sandbox) -> Dataset {
    let path = sandbox.write_lines("data.jsonl", &records());
    Dataset::open(path, &OpenOptions::default()).expect("the records can be read")
}

/// Equal but for numbers, which may differ by the tolerance.
#[track_caller]
fn assert_same_value(got: &Value, want: &Value, place: &str) {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => {
            assert!(got.keys().eq(want.keys()), "{place}");
            got.iter().for_each(|(key, got)| assert_same_value(got, &want[key], &format!("{place}.{key}")));
        }
        (Value::Array(got), Value::Array(want)) => {
            assert_eq!(got.len(), want.len(), "{place}");
            got.iter().zip(want).for_each(|(got, want)| assert_same_value(got, want, place));
        }
        (Value::Number(got), Value::Number(want)) => {
            let difference = got.as_f64().unwrap_or(f64::NAN) - want.as_f64().unwrap_or(f64::NAN);
            assert!(difference.abs() <= TOLERANCE, "{place}: {got} is not {want}");
        }
        _ => assert_eq!(got, want, "{place}"),
    }
}

#[track_caller]
fn assert_same_evidence(got: &[Evidence], want: &[Evidence]) {
    let ids = |run: &[Evidence]| run.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(got), ids(want));
    for (got, want) in got.iter().zip(want) {
        let value = |one: &Evidence| serde_json::to_value(one).expect("evidence is JSON");
        assert_same_value(&value(got), &value(want), &got.id);
    }
}

#[test]
fn an_inspector_says_of_many_records_what_it_says_of_each() {
    let (sandbox, model) = tiny();
    let plan = Plan::new(dataset(&sandbox), CacheDirectory::at(sandbox.cache()));
    let inspector = || {
        let (source, _) = plan.chunk_source(&mut |_| {}).expect("nothing to index");
        let provenance = plan.provenance(&source, None).expect("a provenance");
        Inspector::new(source, provenance).with_model(&model, Detectors::untrained())
    };
    let together = inspector().inspect_many(&plan.dataset.rows);
    let alone: Vec<Evidence> = plan.dataset.rows.iter().map(|row| inspector().inspect(row)).collect();
    assert_eq!(together.len(), 20);
    assert_same_evidence(&together, &alone);
    let of = |status| together.iter().filter(|one| one.status == status).count();
    assert_eq!((of(Status::Ok), of(Status::Partial), of(Status::Error)), (17, 2, 1));
}

#[test]
fn a_scored_file_has_the_lines_of_the_same_records_as_a_stream() {
    let (sandbox, _model) = tiny();
    sandbox.write_lines("data.jsonl", &records());
    let lines: Vec<String> = records().iter().map(ToString::to_string).collect();
    let mut file = sandbox.run(&["score", "data.jsonl", "--together", "--model", "tiny"]).code(0).evidence();
    let stream = sandbox.run_with_input(&["score", "-", "--model", "tiny"], lines.join("\n").as_bytes());
    let stream = stream.code(0).evidence();
    for (one, other) in file.iter_mut().zip(&stream) {
        one.provenance = other.provenance.clone();
    }
    assert_same_evidence(&file, &stream);
}

#[test]
fn a_run_tells_of_every_record_in_order_and_a_second_one_takes_all_from_the_cache() {
    let (sandbox, _model) = tiny();
    let mut plan = Plan::new(dataset(&sandbox), CacheDirectory::at(sandbox.cache()));
    plan.model = Some(sandbox.work().join("tiny").display().to_string());
    let inspect = |cancel_after: usize| {
        let cancel = AtomicBool::new(false);
        let (mut read, mut progress) = (Vec::new(), Vec::new());
        let mut stopped = false;
        run(&plan, &cancel, &OnceLock::new(), &mut |message| match message {
            Message::Evidence(evidence) if evidence.reading.is_some() => {
                read.push(*evidence);
                cancel.store(read.len() >= cancel_after, Ordering::Relaxed);
            }
            Message::Progress { done, total, .. } => progress.push((done, total)),
            Message::Notice(notice) => stopped |= notice.contains("what was read is kept"),
            _ => (),
        })
        .expect("the run ends");
        (read, progress, stopped)
    };
    // Cancelled in the middle of the records that are read together: they are finished and kept.
    let (first, progress, stopped) = inspect(1);
    let ids = |run: &[Evidence]| run.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    assert_eq!((ids(&first), stopped), (vec!["a1".to_owned(), "a3".to_owned()], true));
    assert_eq!(progress, [(0, 18), (1, 18), (2, 18), (3, 18)]);
    let (all, progress, stopped) = inspect(usize::MAX);
    assert!(!stopped);
    assert_eq!(progress, (3..=18).map(|done| (done, 18)).collect::<Vec<_>>());
    assert_eq!(all.len(), 17);
    assert_eq!(all[..2], first, "from the cache");
    let rows: Vec<usize> = all.iter().map(|one| one.row).collect();
    assert!(rows.is_sorted(), "{rows:?}");
    let (again, progress, _) = inspect(usize::MAX);
    assert_eq!((again, progress), (all, vec![(18, 18)]));
}

#[test]
fn features_are_stored_in_order_and_an_interrupted_extraction_goes_on_where_it_stopped() {
    let (sandbox, model) = tiny();
    let dataset = dataset(&sandbox);
    let extracted = |name: &str, cancel_after: usize| {
        let mut store = FeatureStore::open(
            &sandbox.work().join(name),
            &store_header(&model, &dataset, FeatureSet::Laboratory).expect("a model of text"),
        )
        .expect("a store");
        let cancel = AtomicBool::new(false);
        let mut progress = Vec::new();
        let done = extract(&dataset, &model, None, 5, OnError::Skip, &mut store, &cancel, &mut |at| {
            progress.push((at.done, at.total));
            cancel.store(progress.len() >= cancel_after, Ordering::Relaxed);
        })
        .expect("features");
        store.verify().expect("a sound store");
        let keys: Vec<String> = store.answers().iter().map(|answer| answer.labelled.key.clone()).collect();
        (done, progress, keys)
    };
    let labelled: Vec<&Row> = dataset
        .rows
        .iter()
        .filter(|row| matches!(row, Row::Example(one) if one.answer.is_some() && one.gold_spans.is_some()))
        .collect();
    let (whole, progress, keys) = extracted("whole", usize::MAX);
    assert_eq!((labelled.len(), whole.read, whole.kept, whole.cancelled), (18, 17, 0, false));
    assert_eq!(progress, (1..=18).map(|done| (done, 18)).collect::<Vec<_>>());
    let expected: Vec<String> =
        [0, 2, 3, 4, 6, 7].into_iter().chain(9..20).map(|row: usize| row.to_string()).collect();
    assert_eq!(keys, expected);
    assert!(whole.left_out.iter().any(|reason| reason.contains("a2") && reason.contains("too long")));

    let (first, ..) = extracted("parts", 4);
    assert!(first.cancelled && first.read == 3, "{first:?}");
    let (second, progress, keys) = extracted("parts", usize::MAX);
    assert_eq!((second.read, second.kept, second.cancelled), (14, 3, false));
    assert_eq!(progress.last(), Some(&(18, 18)));
    assert_eq!(keys, expected);
    let files = |name: &str| {
        let mut files: Vec<_> = std::fs::read_dir(sandbox.work().join(name)).expect("a store").collect();
        files.sort_by_key(|file| file.as_ref().expect("a file").file_name());
        files.into_iter().map(|file| std::fs::metadata(file.expect("a file").path()).expect("size").len())
    };
    assert!(files("whole").eq(files("parts")), "the same number of bytes in every file");
}
