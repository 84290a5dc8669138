//! The whole pipeline with the default model and the shipped heads.
//!
//! The model is found through `RAGSCOPE_TEST_MODEL`, else in the cache of whoever runs the tests; without
//! it every test says so and passes. No test depends on an exact score: heads are trained anew.

mod sandbox;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use ragscope::certify::Alpha;
use ragscope::data::formats::own;
use ragscope::data::{Dataset, Row};
use ragscope::evidence::{Evidence, Reading, Status, Thresholds, decide};
use ragscope::inspect::{HeadFiles, HeadSource, Inspector, Plan, bind_detectors};
use ragscope::model::{CacheDirectory, LanguageModel, ModelLocation};
use sandbox::{Sandbox, repository};
use serde_json::{Value, json};

/// Layers and heads of SmolLM2-135M.
const LAYERS: usize = 30;
const HEADS: usize = 9;

/// The first two examples of the sample data with all its documents, scored once for all tests.
fn scored() -> Option<&'static (Sandbox, Vec<Evidence>)> {
    static SCORED: OnceLock<Option<(Sandbox, Vec<Evidence>)>> = OnceLock::new();
    SCORED
        .get_or_init(|| {
            let sandbox = Sandbox::with_real_model("sample data")?;
            write_first_two(&sandbox);
            sandbox.run(&["score", "first", "--output", "run.jsonl"]).code(0).complains(&["2 ok"]);
            let run = sandbox.read("run.jsonl");
            let evidence = run.lines().map(|line| ragscope::evidence::parse_line(line, 1).expect("evidence"));
            let evidence = evidence.collect();
            Some((sandbox, evidence))
        })
        .as_ref()
}

fn write_first_two(sandbox: &Sandbox) {
    let file =
        |name: &str| std::fs::read_to_string(repository("sample_data").join(name)).expect("sample data");
    sandbox.write("first/documents.jsonl", file("documents.jsonl"));
    let examples = file("examples.jsonl");
    let first: Vec<&str> = examples.lines().take(2).collect();
    sandbox.write("first/examples.jsonl", first.join("\n"));
}

fn reading(evidence: &Evidence) -> &Reading {
    evidence.reading.as_ref().expect("the answer was read")
}

#[track_caller]
fn all_within(values: &[f32], low: f32, high: f32, what: &str) {
    let outside = values.iter().find(|value| !(low..=high).contains(*value));
    assert_eq!(outside, None, "{what} outside {low}..{high}");
}

#[test]
fn a_stream_gives_its_lines_in_order_with_the_right_status() {
    let Some(sandbox) = Sandbox::with_real_model("a stream") else { return };
    let passage = "The ferry Alba runs twice a day in winter.";
    let records = [
        json!({"id": "a", "question": "How often does it run?", "contexts": [passage], "answer": "Twice a day."})
            .to_string(),
        "{\"id\": \"b\", \"question\"".to_owned(),
        json!({"id": "c", "question": "How often does it run?", "answer": "Twice a day."}).to_string(),
        json!({"id": "d", "question": "How often does it run?", "contexts": [passage, "Nothing."],
               "answer": "🙂 Hourly."})
        .to_string(),
    ];
    let ran = sandbox.run_with_input(&["score", "-"], records.join("\n").as_bytes()).code(0);
    let run = ran.evidence();
    let told: Vec<(&str, Status)> = run.iter().map(|one| (one.id.as_str(), one.status)).collect();
    let expected = [("a", Status::Ok), ("row-1", Status::Error), ("c", Status::Partial), ("d", Status::Ok)];
    assert_eq!(told, expected, "{ran}");
    assert!(run[1].reason.as_deref().is_some_and(|reason| reason.starts_with("line 2:")), "{ran}");
    assert!(run[2].reason.as_deref().is_some_and(|reason| reason.contains("no passages")), "{ran}");
    for one in [&run[0], &run[3]] {
        assert_eq!(reading(one).detectors[0].name, "cortex", "the shipped heads read the default model");
        assert!(one.chunks.iter().all(|chunk| chunk.tokens_read.is_some_and(|tokens| tokens > 0)), "{ran}");
    }
    assert!(!ran.stderr.contains("note:"), "{ran}");
}

#[test]
fn readings_cover_the_answer_and_hold_numbers_that_can_be_meant() {
    let Some((_, run)) = scored() else { return };
    assert_eq!(run.len(), 2);
    for one in run {
        let reading = reading(one);
        let answer = one.answer.as_deref().expect("an answer");
        let (tokens, chunks) = (reading.tokens.len(), one.chunks.len());
        assert!(tokens > 10 && chunks == 5, "{tokens} tokens, {chunks} chunks");
        // The distinct ranges, joined, are the answer.
        let mut ranges = reading.tokens.clone();
        ranges.dedup();
        let joined: String = ranges.iter().map(|[start, end]| &answer[*start..*end]).collect();
        assert_eq!(joined, answer);
        let names: Vec<&str> = reading.detectors.iter().map(|detector| detector.name.as_str()).collect();
        assert_eq!(names[0], "cortex");
        for detector in &reading.detectors {
            all_within(&detector.raw, 0.0, 1.0, &detector.name);
            let first = detector.raw[0];
            assert!(
                detector.raw.iter().any(|score| (score - first).abs() > 1e-3),
                "{} is flat",
                detector.name
            );
        }
        all_within(&reading.log_prob_with, -1e4, 1e-4, "log probability with references");
        all_within(&reading.log_prob_without, -1e4, 1e-4, "log probability without references");
        let lookback = reading.lookback.as_ref().expect("look-back ratios");
        assert_eq!((lookback.layers, lookback.heads), (LAYERS, HEADS));
        assert_eq!(lookback.by_head.len(), LAYERS * HEADS * chunks);
        assert_eq!(lookback.context_by_head.len(), LAYERS * HEADS);
        assert_eq!(lookback.by_token.len(), tokens * chunks);
        // A short chunk that draws all attention may exceed 1; weighted by length the chunks do not.
        let lengths: Vec<f32> =
            one.chunks.iter().map(|chunk| chunk.tokens_read.expect("it was read") as f32).collect();
        for head in lookback.by_head.chunks(chunks) {
            all_within(head, 0.0, f32::MAX, "look-back by head");
            let weighted: f32 = head.iter().zip(&lengths).map(|(ratio, length)| ratio * length).sum();
            assert!(weighted <= lengths.iter().sum::<f32>() * (1.0 + 1e-4), "{head:?}");
        }
        all_within(&lookback.context_by_head, 0.0, 1.0, "look-back");
        all_within(&lookback.by_token, 0.0, 1.0, "attention by token");
        for token in lookback.by_token.chunks(chunks) {
            assert!(
                token.iter().sum::<f32>() <= 1.0 + 1e-4,
                "the chunks of a token get more than all attention"
            );
        }
        let factuality = reading.factuality.expect("a factuality");
        assert!((0.0..=1.0).contains(&factuality), "{factuality}");
        assert_eq!(one.provenance.model.as_deref(), Some("SmolLM2-135M-Instruct"));
        for hash in [&one.provenance.model_hash, &one.provenance.head_hash, &one.provenance.data_hash] {
            assert_eq!(hash.as_ref().map(String::len), Some(16));
        }
    }
}

#[test]
fn the_references_make_a_supported_answer_likelier() {
    let Some(sandbox) = Sandbox::with_real_model("references") else { return };
    let passage = "The ferry Alba has four decks and was built in Norsund in 1974.";
    let record = json!({"question": "Where was the ferry Alba built?", "contexts": [passage],
                        "answer": "It was built in Norsund in 1974."});
    let ran = sandbox.run_with_input(&["score", "-"], record.to_string().as_bytes()).code(0);
    let run = ran.evidence();
    let sum = |values: &[f32]| values.iter().sum::<f32>();
    let (with, without) = (sum(&reading(&run[0]).log_prob_with), sum(&reading(&run[0]).log_prob_without));
    assert!(with > without + 5.0, "log probability {with} with and {without} without the passage");
}

#[test]
fn an_answer_reads_the_same_alone_and_after_another_answer_to_the_same_prompt() {
    let Some(sandbox) = Sandbox::with_real_model("order of answers") else { return };
    let cache = CacheDirectory::at(sandbox.cache());
    let location = ModelLocation::parse(None, &cache).expect("the model is in the cache");
    let model = LanguageModel::open(&location, &cache).expect("the default model opens");
    let record = |id: usize, answer: &str| -> Row {
        let record = json!({"id": id.to_string(), "question": "How often does the ferry run?", "answer": answer,
            "contexts": ["The ferry Alba runs twice a day in winter.", "Bicycles cost 4 euros each way."]});
        own::parse_line(record.to_string().as_bytes(), id, id + 1)
    };
    let other = record(0, "Four times a day, and on Sundays it does not run at all.");
    let answer = record(1, "Twice a day in winter, hourly in summer.");
    let plan = Plan::new(Dataset::stream("standard input"), cache);
    let inspect = |rows: &[&Row]| -> Evidence {
        let heads = HeadFiles::read(&HeadSource::Shipped).expect("shipped heads");
        let (detectors, notice) = bind_detectors(&model, &HeadSource::Shipped, &heads).expect("they bind");
        assert_eq!(notice, None);
        let (source, summary) = plan.chunk_source(&mut |_| {}).expect("no corpus is needed");
        let provenance = plan.provenance(&source, summary.as_ref()).expect("a provenance");
        let mut inspector = Inspector::new(source, provenance).with_model(&model, detectors);
        let last = rows.iter().map(|row| inspector.inspect(row)).last();
        last.expect("at least one row")
    };
    let alone = inspect(&[&answer]);
    let after = inspect(&[&other, &answer]);
    let again = inspect(&[&other, &other, &answer]);
    for later in [&after, &again] {
        let (one, two) = (reading(&alone), reading(later));
        assert_eq!(one.tokens, two.tokens);
        close(&one.log_prob_with, &two.log_prob_with, "log probability with references");
        close(&one.log_prob_without, &two.log_prob_without, "log probability without references");
        for (one, two) in one.detectors.iter().zip(&two.detectors) {
            close(&one.raw, &two.raw, &one.name);
        }
        let (one, two) = (one.lookback.as_ref().expect("ratios"), two.lookback.as_ref().expect("ratios"));
        close(&one.by_head, &two.by_head, "look-back by head");
        close(&one.by_token, &two.by_token, "attention by token");
        let (one, two) = (reading(&alone).factuality, reading(later).factuality);
        assert!(one.zip(two).is_some_and(|(one, two)| (one - two).abs() < 1e-5), "{one:?} {two:?}");
    }
}

#[track_caller]
fn close(one: &[f32], two: &[f32], what: &str) {
    assert_eq!(one.len(), two.len());
    let furthest = one.iter().zip(two).map(|(one, two)| (one - two).abs()).fold(0.0, f32::max);
    assert!(furthest <= 1e-5, "{what} differs by {furthest}");
}

#[test]
fn the_decisions_of_a_report_are_those_of_decide() {
    let Some((sandbox, run)) = scored() else { return };
    for (alpha, token, rho, factuality) in
        [(100, 0.5, 0.993, 0.5), (500, 0.2, 0.7, 0.05), (20, 0.95, 0.9, 0.99)]
    {
        let options = [f64::from(alpha) / 1000.0, token, rho, factuality].map(|value| value.to_string());
        let ran = sandbox
            .run(&[
                "report",
                "run.jsonl",
                "--format",
                "json",
                "--output",
                "-",
                "--alpha",
                &options[0],
                "--token-threshold",
                &options[1],
                "--rho",
                &options[2],
                "--factuality",
                &options[3],
            ])
            .code(0);
        let report = ran.json();
        let thresholds = Thresholds {
            alpha: Alpha::from_thousandths(alpha),
            token,
            rho,
            factuality,
            rho_answer: report["thresholds"]["rho_answer"].as_f64().expect("a number"),
            beta: None,
            detector: None,
        };
        let examples = report["examples"].as_array().expect("examples");
        assert_eq!(examples.len(), run.len());
        for (example, evidence) in examples.iter().zip(run) {
            let findings = decide(evidence, &thresholds);
            let spans: Vec<(u64, u64)> = example["spans"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|span| Some((span["start"].as_u64()?, span["end"].as_u64()?)))
                .collect();
            let expected: Vec<(u64, u64)> =
                findings.spans.iter().map(|span| (span.range.start as u64, span.range.end as u64)).collect();
            assert_eq!(spans, expected, "{ran}");
            assert_eq!(example["flagged"].as_bool(), Some(findings.flagged), "{ran}");
            assert_eq!(example["consistent"].as_bool(), findings.consistent, "{ran}");
            let trusted: Vec<Option<bool>> = example["chunks"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|chunk| chunk["trusted"].as_bool())
                .collect();
            assert_eq!(trusted, findings.trusted, "{ran}");
        }
    }
}

#[test]
fn a_second_look_comes_from_the_cache_without_loading_the_model() {
    let Some(sandbox) = Sandbox::with_real_model("cache") else { return };
    let record = json!({"question": "How often?", "contexts": ["Twice a day."], "answer": "Twice a day."});
    sandbox.write_lines("one.jsonl", &[record]);
    let first = sandbox.run(&["open", "--plain", "one.jsonl"]).code(0);
    let first = first.complains(&["loading SmolLM2-135M-Instruct", "1 of 1 answers read"]);
    let second = sandbox.run(&["open", "--plain", "one.jsonl"]).code(0);
    assert!(!second.stderr.contains("loading"), "{second}");
    assert_eq!(second.stdout, first.stdout);
    // Sliders move without the model, too.
    let moved = sandbox.run(&["open", "--plain", "one.jsonl", "--token-threshold", "0"]).code(0);
    assert!(!moved.stderr.contains("loading"), "{moved}");
    assert_ne!(moved.stdout, first.stdout);
    assert!(moved.stdout.contains("[!unsupported"), "{moved}");
}

#[test]
fn heads_trained_for_another_model_are_refused_and_named() {
    let Some(sandbox) = Sandbox::with_real_model("foreign heads") else { return };
    let cache = CacheDirectory::at(sandbox.cache());
    let location = ModelLocation::parse(None, &cache).expect("the model is in the cache");
    let hash = ragscope::model::TextModelFacts::of(&location, &cache).expect("facts").short_hash().to_owned();
    let other = "0123456789abcdef";
    assert_eq!(hash.len(), other.len());
    for name in ["token.safetensors", "answer.safetensors"] {
        let shipped = repository("assets/heads/smollm2-135m-instruct").join(name);
        let bytes = std::fs::read(shipped).expect("a shipped head");
        let at = bytes.windows(hash.len()).position(|window| window == hash.as_bytes());
        let at = at.expect("a head names its model");
        let foreign = [&bytes[..at], other.as_bytes(), &bytes[at + hash.len()..]].concat();
        sandbox.write(&format!("heads/{name}"), foreign);
    }
    let record = json!({"question": "How often?", "contexts": ["Twice a day."], "answer": "Twice a day."});
    let ran = sandbox.run_with_input(&["score", "-", "--heads", "heads"], record.to_string().as_bytes());
    let ran = ran.code(4).complains(&[other, &hash]);
    assert!(ran.stdout.is_empty(), "{ran}");
}

#[test]
fn the_doctor_finds_model_and_heads_that_belong_together() {
    let Some(sandbox) = Sandbox::with_real_model("doctor") else { return };
    let ran = sandbox.run(&["doctor", "--json"]).code(0);
    let findings: BTreeMap<String, Value> = ran
        .json()
        .as_array()
        .into_iter()
        .flatten()
        .map(|finding| (finding["what"].as_str().unwrap_or_default().to_owned(), finding.clone()))
        .collect();
    for what in ["model", "heads"] {
        assert_eq!(findings[what]["fine"], true, "{ran}");
        let found = findings[what]["found"].as_str().unwrap_or_default();
        assert!(found.contains("SmolLM2-135M-Instruct"), "{ran}");
    }
}
