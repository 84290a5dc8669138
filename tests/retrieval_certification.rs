//! Certification of BM25 on public data sets against a plain reimplementation's figures.
//!
//! The data lie in `shared/data` under the repository, or where `RAGSCOPE_DATA` points; without them
//! the test says so and passes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::PathBuf;
use std::time::Instant;

use ragscope::certify::{
    Alpha, CalibrationMode, DiagnosticsSettings, QuestionScores, Suitability, diagnose, judge,
};
use ragscope::data::Document;
use ragscope::metrics::Measure;
use ragscope::retrieval::{
    Bm25, Bm25Settings, Chunk, ChunkingSettings, Ranker, chunk_documents, indexed_text, word_tokens,
};
use rayon::prelude::*;
use serde_json::Value;

struct DataSet {
    documents: Vec<Document>,
    /// (question, number of its document)
    questions: Vec<(String, usize)>,
}

/// m1, m2, coverage pooled and per question, recall@10 at alpha 0.1.
type Figures = [f64; 5];

fn file(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("RAGSCOPE_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("shared/data"), PathBuf::from);
    let found = std::fs::read(folder.join(name)).ok();
    if found.is_none() {
        println!("skipped: {name} is not in shared/data; set RAGSCOPE_DATA to a folder that holds it");
    }
    found
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn document(number: usize, parts: Vec<String>) -> Document {
    Document { id: format!("d{number}"), title: None, parts, groups: BTreeMap::new() }
}

fn xquad(bytes: &[u8]) -> DataSet {
    let file: Value = serde_json::from_slice(bytes).unwrap();
    let mut set = DataSet { documents: Vec::new(), questions: Vec::new() };
    for paragraph in items(&file["data"]).flat_map(|article| items(&article["paragraphs"])) {
        let number = set.documents.len();
        set.documents.push(document(number, vec![text(&paragraph["context"])]));
        set.questions.extend(items(&paragraph["qas"]).map(|asked| (text(&asked["question"]), number)));
    }
    set
}

fn nq_open(bytes: &[u8]) -> DataSet {
    let mut lines = String::new();
    flate2::read::GzDecoder::new(bytes).read_to_string(&mut lines).unwrap();
    let mut set = DataSet { documents: Vec::new(), questions: Vec::new() };
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let passage = &row["ctxs"][0];
        let (title, passage) = (text(&passage["title"]), text(&passage["text"]));
        let number = *known.entry(passage.clone()).or_insert_with(|| {
            let untitled = document(set.documents.len(), vec![passage]);
            set.documents.push(Document { title: Some(title), ..untitled });
            set.documents.len() - 1
        });
        set.questions.push((text(&row["question"]), number));
    }
    set
}

fn tatqa(bytes: &[u8]) -> DataSet {
    let file: Value = serde_json::from_slice(bytes).unwrap();
    let mut set = DataSet { documents: Vec::new(), questions: Vec::new() };
    for report in items(&file) {
        let number = set.documents.len();
        let rows = items(&report["table"]["table"])
            .map(|row| items(row).map(text).collect::<Vec<_>>().join(" | "))
            .collect::<Vec<_>>();
        let paragraphs = items(&report["paragraphs"]).map(|paragraph| text(&paragraph["text"]));
        set.documents.push(document(number, std::iter::once(rows.join("\n")).chain(paragraphs).collect()));
        set.questions.extend(items(&report["questions"]).map(|asked| (text(&asked["question"]), number)));
    }
    set
}

/// Retrieves the top 10 for every question and labels them by their document.
fn scores(name: &str, set: &DataSet) -> Vec<QuestionScores> {
    let whole = ChunkingSettings { tokens: usize::MAX, ..ChunkingSettings::default() };
    let chunks: Vec<Chunk> = chunk_documents(&set.documents, whole, &word_tokens);
    let start = Instant::now();
    let texts: Vec<String> =
        chunks.iter().map(|chunk| indexed_text(&set.documents[chunk.document], chunk)).collect();
    let retriever = Bm25::new(texts.iter().map(String::as_str), Bm25Settings::default()).unwrap();
    let indexed = start.elapsed();
    let start = Instant::now();
    let scores = set
        .questions
        .par_iter()
        .map(|(question, source)| {
            let retrieved = retriever.rank(question, 10).unwrap();
            let hits =
                retrieved.hits.iter().map(|hit| (hit.score, chunks[hit.chunk].document == *source)).collect();
            QuestionScores { split_key: question.clone(), hits, reachable: true }
        })
        .collect();
    println!(
        "{name}: {} chunks indexed in {indexed:.2?}, {} questions in {:.2?}",
        chunks.len(),
        set.questions.len(),
        start.elapsed()
    );
    scores
}

fn agrees(name: &str, set: &DataSet, expected: Figures, verdict: Suitability) {
    let start = Instant::now();
    let questions = scores(name, set);
    let found = diagnose(&questions, &DiagnosticsSettings::default()).unwrap();
    let elapsed = start.elapsed();
    let alpha = Alpha::default();
    let pooled = found.pooled.row(alpha).unwrap();
    let per_question = found.per_question.row(alpha).unwrap();
    let judged = judge(&found, alpha, CalibrationMode::default());
    println!(
        "{name}: m1 {:.3} m2 {:.3} coverage {:.3} / {:.3} recall@10 {:.3} | per question m1 {:.3} m2 {:.3} | \
         hit@1 {:.3} MRR {:.3} AUROC {:.3} | {judged} | {elapsed:.2?}",
        pooled.m1,
        pooled.m2,
        pooled.coverage,
        per_question.coverage,
        found.recall,
        per_question.m1,
        per_question.m2,
        found.hit_at_1,
        found.mean_reciprocal_rank,
        found.auroc,
    );
    let figures: [&Measure; 5] =
        [&pooled.m1, &pooled.m2, &pooled.coverage, &per_question.coverage, &found.recall];
    for ((figure, expected), what) in
        figures.iter().zip(expected).zip(["m1", "m2", "coverage pooled", "coverage per question", "recall"])
    {
        let value = figure.value().unwrap();
        assert!((value - expected).abs() <= 0.02, "{name}, {what}: {value:.3}, expected {expected}");
    }
    assert_eq!(judged.suitability, verdict, "{name}: {judged}");
    let separates = judged.failures.iter().all(|failure| failure.measure != "AUROC");
    assert_eq!(separates, verdict == Suitability::Suitable, "{name}: {judged}");
    let keys: BTreeSet<&str> = questions.iter().map(|question| question.split_key.as_str()).collect();
    assert!(keys.len() > 1000);
}

#[test]
fn xquad_is_suitable_for_bm25() {
    let Some(bytes) = file("xquad/xquad.en.json") else { return };
    agrees("XQuAD", &xquad(&bytes), [0.908, 0.159, 0.900, 0.900, 0.991], Suitability::Suitable);
}

#[test]
fn natural_questions_are_suitable_for_bm25() {
    let Some(bytes) = file("nq_open/nq-open-oracle.jsonl.gz") else { return };
    agrees("NQ-open", &nq_open(&bytes), [0.909, 0.265, 0.901, 0.901, 0.938], Suitability::Suitable);
}

#[test]
fn tat_qa_is_unsuitable_although_m1_is_high() {
    let Some(bytes) = file("tatqa/tatqa_dataset_dev.json") else { return };
    agrees("TAT-QA", &tatqa(&bytes), [0.937, 0.734, 0.901, 0.900, 0.815], Suitability::Unsuitable);
}
