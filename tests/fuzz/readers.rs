//! Models, evidence, calibrations, heads, stores and reports.

use std::path::Path;

use ragscope::certify::highlighting::{AnswerLoss, HighlightingArtefact, HighlightingSource, Population};
use ragscope::certify::{
    Alpha, CalibrationArtefact, CalibrationMode, CalibrationSource, ChunkLabels, QuestionScores,
};
use ragscope::detect::{AnswerHead, ModelIdentity, ModelShape, TokenHead};
use ragscope::evidence::{
    ANNOTATION_SCHEMA, AnnotatedAnswer, AnnotationFile, Evidence, Mark, MarkKind, Provenance, ShownFlags,
    Thresholds, answer_hash, decide, parse_line, write_line,
};
use ragscope::inspect::EvidenceCache;
use ragscope::laboratory::{FeatureStore, LabelledAnswer, StoreHeader};
use ragscope::metrics::Random;
use ragscope::model::{
    CacheDirectory, CaptureRequest, ChatTemplate, Decoder, GgufMetadata, LanguageModel, ModelLocation,
    ModelTokenizer, SentenceEncoder, StateLayer, TextModel,
};
use ragscope::reading::{LayerStates, LookbackMass, Trace};
use ragscope::report::{Context, html, json, markdown, plain};
use ragscope::tui::KeyMap;

use crate::engine::Target;
use crate::gguf;
use crate::importers::folder;
use crate::mutation::Kind;
use crate::sandbox::{Sandbox, repository, tiny_model};

fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

fn said(error: &dyn std::fmt::Display) -> String {
    let said = error.to_string();
    assert!(said.len() < 100_000, "an error of {} bytes", said.len());
    said
}

/// Reads a few tokens with whatever was accepted.
fn read_with(decoder: &Decoder) -> String {
    let ids = [1, 2, 0];
    let request = CaptureRequest { segments: vec![0..2], ..CaptureRequest::default() };
    let read = decoder.prefix(&ids[..2]).and_then(|prefix| decoder.extend(&prefix, &ids[2..], &request));
    match read {
        Ok(capture) => {
            assert!(capture.segment_mass.iter().all(|mass| mass.is_finite()), "a mass that is not finite");
            "ok read".to_owned()
        }
        Err(error) => format!("ok but {}", said(&error)),
    }
}

/// Tokens of any text rebuild it byte for byte.
fn rebuilds(tokenizer: &ModelTokenizer) -> String {
    for text in
        ["é🙂 a", "Café Ω costs 12 € — naïve 🙂 guests\u{2028}pay\0 <|im_end|> 15 €.", "e\u{301} 市長は"]
    {
        match tokenizer.encode_data(text) {
            Ok(tokens) => {
                assert_eq!(tokens.ids.len(), tokens.ranges.len());
                let mut end = 0;
                let mut last = 0..0;
                for range in &tokens.ranges {
                    assert!(text.get(range.clone()).is_some(), "{range:?} cuts a character");
                    assert!(*range == last || range.start >= end, "{range:?} goes back");
                    (end, last) = (range.end, range.clone());
                }
            }
            Err(error) => return format!("ok but {}", said(&error)),
        }
    }
    "ok tokens".to_owned()
}

fn gguf_models() -> Target {
    let place = folder();
    let tiny = place.path().join("tiny");
    tiny_model::write(&tiny);
    let seeds = vec![gguf::of(&tiny)];
    Target {
        name: "gguf",
        kind: Kind::Binary,
        seeds,
        words: words(&[
            "llama.block_count",
            "general.architecture",
            "qwen2",
            "gemma3",
            "phi3",
            "tokenizer.ggml.scores",
            "llama.rope.scaling.type",
            "linear",
            "yarn",
            "split.count",
            "general.alignment",
            "token_embd.weight",
        ]),
        read: Box::new(move |bytes| {
            let path = place.path().join("model.gguf");
            std::fs::write(&path, bytes).expect("a file");
            let text = match GgufMetadata::open(&path) {
                Ok(metadata) => {
                    let tokenizer = match ModelTokenizer::from_gguf(&metadata) {
                        Ok(tokenizer) => rebuilds(&tokenizer),
                        Err(error) => said(&error),
                    };
                    let chat = match ChatTemplate::from_gguf(&metadata) {
                        Ok(_) => "ok chat".to_owned(),
                        Err(error) => said(&error),
                    };
                    tokenizer + &chat
                }
                Err(error) => said(&error),
            };
            let weights = match Decoder::from_gguf(&path) {
                Ok(decoder) => read_with(&decoder),
                Err(error) => said(&error),
            };
            let cache = CacheDirectory::at(place.path().join("cache"));
            if let Err(error) = LanguageModel::open(&ModelLocation::Gguf(path.clone()), &cache) {
                said(&error);
            }
            weights + &text
        }),
    }
}

/// A model folder of which one file is changed.
fn model_folder(
    name: &'static str,
    file: &'static str,
    kind: Kind,
    more_seeds: Vec<Vec<u8>>,
    hints: &[&str],
    read: impl Fn(&Path) -> String + Send + Sync + 'static,
) -> Target {
    let place = folder();
    let tiny = place.path().join("tiny");
    tiny_model::write(&tiny);
    let mut seeds = more_seeds;
    if let Ok(own) = std::fs::read(tiny.join(file)) {
        seeds.push(own);
    }
    Target {
        name,
        kind,
        seeds,
        words: words(hints),
        read: Box::new(move |bytes| {
            let _kept = &place;
            std::fs::write(tiny.join(file), bytes).expect("a file");
            read(&tiny)
        }),
    }
}

fn whole_model(tiny: &Path) -> String {
    match Decoder::from_directory(tiny) {
        Ok(decoder) => read_with(&decoder),
        Err(error) => said(&error),
    }
}

fn configurations() -> Vec<Vec<u8>> {
    ["gemma3", "llama3-rope", "mistral-window", "phi3", "qwen2", "qwen3"]
        .iter()
        .map(|name| {
            std::fs::read(repository("tests/golden/decoders").join(name).join("config.json")).expect("golden")
        })
        .collect()
}

fn chat_templates() -> Target {
    let seeds = [
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m.content | trim + '<|im_end|>\n' }}{% endfor %}",
        "{{ bos_token }}{%- set ns = namespace(found=false, s='x') -%}{% generation %}{% for m in messages %}{% if m.role == 'system' %}{% continue %}{% endif %}{%- set ns.s = ns.s ~ ns.s %}{{ m.content * 1 }}{% endfor %}{% endgeneration %}",
        "{% macro f(a, b=2) %}{{ a|join(', ') }}{% endmacro %}{% for i in range(3) %}{{ f([i, i * 2]) }}{% endfor %}{{ messages[-1].content.strip().split('x')[0] }}",
        "{{ messages[0].content|replace('a', 'b' * 3)|indent(4)|upper }}{{ {'a': [1, 2]}|tojson(indent=2) }}{% raw %}{{ x }}{% endraw %}{# c #}",
        "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}{% set x %}{{ messages[0].content }}{% endset %}{{ x }}{{ strftime_now('%Y') }}",
    ];
    Target {
        name: "chat-template",
        kind: Kind::Text,
        seeds: seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
        words: words(&[
            "{% for a in range(9999) %}",
            "{% endfor %}",
            "{% set ns.s = ns.s ~ ns.s %}",
            "|list",
            "|tojson",
            "|join(ns.s)",
            " * 9999",
            " ~ ",
            " + ",
            "|replace('', ns.s)",
            "{% macro g() %}{{ g() }}{% endmacro %}{{ g() }}",
            "|batch(99, 'x')",
            "|map('upper')",
            ".format('%9s')",
            "{% set ns.a = ns %}{{ ns }}",
            "[ns, ns]",
            "|indent(200)",
            "{{",
            "}}",
            "{%",
            "%}",
            "{#",
            "messages",
            "loop.index0",
            "not ",
            "-",
            "(",
            ")",
            "{% include 'x' %}",
            "{% call(x) f() %}",
            "{% with a = 1 %}",
            "{% filter upper %}",
            "**",
            "//",
            "is defined",
        ]),
        read: Box::new(|bytes| match ChatTemplate::from_source(&String::from_utf8_lossy(bytes)) {
            Ok(_) => "ok".to_owned(),
            Err(error) => said(&error),
        }),
    }
}

fn golden_lines() -> Vec<Vec<u8>> {
    let run = std::fs::read_to_string(repository("tests/golden/run.jsonl")).expect("the golden run");
    run.lines().map(|line| line.as_bytes().to_vec()).collect()
}

fn thresholds() -> Vec<Thresholds> {
    vec![
        Thresholds::default(),
        Thresholds { alpha: Alpha::from_thousandths(1000), token: 0.0, rho: 0.5, ..Thresholds::default() },
        Thresholds { token: 1.0, rho: 0.9999, factuality: 1.0, ..Thresholds::default() },
    ]
}

/// Evidence that was accepted is written and read again as itself, and gives finite findings.
fn accepted(evidence: &Evidence) {
    let mut line = Vec::new();
    write_line(evidence, &mut line).expect("memory");
    let text = String::from_utf8(line).expect("UTF-8");
    assert_eq!(text.matches('\n').count(), 1);
    assert!(!text.trim_end().chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')));
    let again = parse_line(text.trim_end(), 1).expect("what was written is read");
    assert_eq!(&again, evidence);
    for thresholds in thresholds() {
        let findings = decide(evidence, &thresholds);
        assert!(findings.smoothed.iter().all(|score| (0.0..=1.0).contains(score)), "a score out of bounds");
        assert!(findings.answer_score.is_none_or(f64::is_finite));
        let answer = evidence.answer.as_deref().unwrap_or_default();
        for span in &findings.spans {
            assert!(answer.get(span.range.clone()).is_some(), "a span cuts a character");
        }
    }
}

fn evidence() -> Target {
    Target {
        name: "evidence",
        kind: Kind::Json,
        seeds: golden_lines(),
        words: words(&[
            "\"schema\"",
            "ragscope-evidence/1",
            "lookback",
            "by_head",
            "p_value",
            "count",
            "out_of",
            "tokens",
        ]),
        read: Box::new(|bytes| match parse_line(&String::from_utf8_lossy(bytes), 1) {
            Ok(evidence) => {
                accepted(&evidence);
                format!("ok {:?} {}", evidence.status, evidence.reading.is_some())
            }
            Err(error) => said(&error),
        }),
    }
}

fn report() -> Target {
    Target {
        name: "report",
        kind: Kind::Json,
        seeds: golden_lines(),
        words: words(&[
            "<script>",
            "-->",
            "]]>",
            "`",
            "|",
            "&lt;",
            "\\",
            "{{ answer }}",
            "javascript:",
            "onload=",
        ]),
        read: Box::new(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            let Ok(mut evidence) = parse_line(&text, 1) else { return "refused".to_owned() };
            // Many views have to doubt what the reader does not.
            if let Some(reading) = &mut evidence.reading
                && text.len().is_multiple_of(7)
            {
                reading.detectors.truncate(text.len() % 2);
            }
            let context = Context { title: evidence.id.clone(), ..Context::default() };
            let all = [evidence.clone(), evidence];
            for thresholds in thresholds() {
                let page = html(&all, &thresholds, &context);
                let acts = |c: char| c.is_control() && c != '\n';
                for (face, text) in [
                    ("html", &page),
                    ("markdown", &markdown(&all, &thresholds, &context)),
                    ("json", &json(&all, &thresholds, &context)),
                    ("plain", &plain(&all, &thresholds, &context)),
                ] {
                    assert!(!text.chars().any(acts), "{face} holds a control character");
                }
                let report = serde_json::from_str::<serde_json::Value>(&json(&all, &thresholds, &context));
                assert!(report.is_ok(), "the JSON report is JSON");
            }
            "ok".to_owned()
        }),
    }
}

fn evidence_cache() -> Target {
    let place = folder();
    let provenance = Provenance { tool: "ragscope test".to_owned(), ..Provenance::default() };
    let cache = EvidenceCache::open(place.path(), &provenance).expect("a cache");
    let path = cache.path().to_owned();
    drop(cache);
    let whole = golden_lines().iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect();
    let one = parse_line(&String::from_utf8_lossy(&golden_lines()[0]), 1).expect("golden evidence");
    Target {
        name: "evidence-cache",
        kind: Kind::Json,
        seeds: vec![whole],
        words: words(&["\n", "\"row\":0"]),
        read: Box::new(move |bytes| {
            std::fs::write(&path, bytes).expect("a file");
            let mut cache = EvidenceCache::open(place.path(), &provenance).expect("any file is a cache");
            if !cache.keeps() {
                // Another test starts a process just now, which holds what we hold until it runs.
                return "ok held elsewhere".to_owned();
            }
            let known = (0..100).filter(|row| cache.get(*row).is_some()).count();
            cache.put(&one).expect("it is written");
            drop(cache);
            let again = EvidenceCache::open(place.path(), &provenance).expect("a cache");
            assert_eq!(again.get(one.row), Some(&one), "what was put is there again");
            assert!((0..100).filter(|row| again.get(*row).is_some()).count() >= known, "a row was lost");
            format!("ok {known} rows")
        }),
    }
}

fn calibration() -> Target {
    let questions: Vec<QuestionScores> = (0..12)
        .map(|at| QuestionScores {
            split_key: at.to_string(),
            hits: vec![(f64::from(at), true), (0.5, false)],
            reachable: true,
        })
        .collect();
    let labels = ChunkLabels {
        correct: Vec::new(),
        threshold: None,
        wrong_document_chunks: 0,
        texts_without_words: 0,
    };
    let source =
        CalibrationSource { k: 2, retriever: "bm25".into(), seed: 1, ..CalibrationSource::default() };
    let artefact = CalibrationArtefact::new(source, &questions, &labels).expect("a calibration");
    Target {
        name: "calibration",
        kind: Kind::Json,
        seeds: vec![artefact.to_json().expect("JSON").into_bytes()],
        words: words(&["per_question", "pooled", "ragscope-calibration/1"]),
        read: Box::new(|bytes| match CalibrationArtefact::from_json(&String::from_utf8_lossy(bytes)) {
            Ok(artefact) => {
                for mode in [CalibrationMode::PerQuestion, CalibrationMode::Pooled] {
                    let calibration = artefact.calibration(mode);
                    for score in [0.0, -3.5, f64::MAX, f64::NAN] {
                        let Ok(p) = artefact.p_value(Some(score), mode) else { continue };
                        assert!(p.value() > 0.0 && p.value() <= 1.0);
                    }
                    for thousandths in [0, 1, 100, 1000] {
                        let _ = calibration.quantile(Alpha::from_thousandths(thousandths));
                    }
                }
                let json = artefact.to_json().expect("JSON");
                assert_eq!(CalibrationArtefact::from_json(&json).expect("its own JSON"), artefact);
                format!("ok {}", artefact.per_question.len())
            }
            Err(error) => said(&error),
        }),
    }
}

fn highlighting() -> Target {
    let mut random = Random::new(3);
    let answers: Vec<AnswerLoss> = (0..30)
        .map(|source| {
            let scores: Vec<f64> = (0..9).map(|_| random.uniform()).collect();
            let labels: Vec<bool> = (0..9).map(|_| random.uniform() < 0.3).collect();
            AnswerLoss::new(source.to_string(), &scores, &labels).expect("an answer")
        })
        .collect();
    let artefact = HighlightingArtefact::new(HighlightingSource::default(), &answers, Population::All);
    Target {
        name: "highlighting",
        kind: Kind::Json,
        seeds: vec![artefact.to_json().expect("JSON").into_bytes()],
        words: words(&["curve", "rows", "threshold", "mean_loss", "sources"]),
        read: Box::new(|bytes| match HighlightingArtefact::from_json(&String::from_utf8_lossy(bytes)) {
            Ok(artefact) => {
                for beta in [0.0, 0.05, 0.1, 0.5, 1.0, f64::NAN, -1.0, 7.0] {
                    let _ = artefact.controlled(beta);
                    let guarantee = artefact.guarantee(beta);
                    assert!(!guarantee.statement().is_empty() && !guarantee.limit().is_empty());
                }
                "ok".to_owned()
            }
            Err(error) => said(&error),
        }),
    }
}

fn heads() -> [Target; 2] {
    let shipped = repository("assets/heads/smollm2-135m-instruct");
    let bytes = |name: &str| std::fs::read(shipped.join(name)).expect("a shipped head");
    let (token, answer) = (bytes("token.safetensors"), bytes("answer.safetensors"));
    let identity = TokenHead::card_of(&token).expect("the shipped card").model;
    let own = identity.clone();
    let hints =
        words(&["ragscope_head", "blocks", "shape", "layers", "F32", "F64", "data_offsets", "threshold"]);
    [
        Target {
            name: "token-head",
            kind: Kind::Binary,
            seeds: vec![token],
            words: hints.clone(),
            read: Box::new(move |bytes| {
                let card = TokenHead::card_of(bytes).map_or_else(|error| said(&error), |card| card.name);
                match TokenHead::from_bytes(bytes, &identity) {
                    Ok(head) => format!("ok {}", head.layers().len()),
                    Err(error) => said(&error) + &card,
                }
            }),
        },
        Target {
            name: "answer-head",
            kind: Kind::Binary,
            seeds: vec![answer],
            words: hints,
            read: Box::new(move |bytes| match AnswerHead::from_bytes(bytes, &own) {
                Ok(_) => "ok".to_owned(),
                Err(error) => said(&error),
            }),
        },
    ]
}

/// A reading with made-up numbers.
fn trace(random: &mut Random, tokens: usize, shape: ModelShape) -> Trace {
    let mut values =
        |count: usize| -> Vec<f32> { (0..count).map(|_| random.uniform() as f32 * 0.1).collect() };
    let state = |layer, values: &mut dyn FnMut(usize) -> Vec<f32>| LayerStates {
        layer,
        with_references: values(tokens * shape.hidden_size),
        without_references: values(tokens * shape.hidden_size),
        answer_attention: values(tokens * tokens),
    };
    Trace {
        token_ranges: (0..tokens).map(|at| at * 2..at * 2 + 1).collect(),
        token_ids: (0..tokens as u32).collect(),
        layers: shape.layers,
        heads: shape.heads,
        hidden_size: shape.hidden_size,
        states: vec![state(StateLayer::FinalNorm, &mut values), state(StateLayer::Block(1), &mut values)],
        log_prob_with: values(tokens),
        log_prob_without: values(tokens),
        entropy_with: values(tokens),
        divergence: Some(values(tokens)),
        lexical_support: values(tokens),
        self_attention: Some(values(tokens * shape.layers)),
        information_contribution: Some(values(tokens * shape.layers)),
        lookback: LookbackMass {
            chunk_tokens: vec![3, 4],
            prompt_tokens: 12,
            chunk_mass: values(tokens * shape.layers * shape.heads * 2),
            prompt_mass: values(tokens * shape.layers * shape.heads),
        },
    }
}

fn feature_store() -> Target {
    let place = folder();
    let made = place.path().join("made");
    let shape = ModelShape { layers: 2, heads: 3, hidden_size: 4 };
    let model = ModelIdentity { name: "made-up".to_owned(), hash: "aa11".to_owned(), shape, text: None };
    let header = StoreHeader::new(model, "dd44", &[StateLayer::FinalNorm, StateLayer::Block(1)]);
    let mut store = FeatureStore::open(&made, &header).expect("a store");
    let mut random = Random::new(4);
    for number in 0..3 {
        let label = LabelledAnswer {
            key: format!("row-{number}"),
            source: format!("source-{number}"),
            generator: None,
            task: None,
            split: None,
            answer: "a b c d e".to_owned(),
            gold_spans: vec![0..1],
            inconsistent: true,
        };
        store.append(&label, &trace(&mut random, 5, shape)).expect("an answer");
    }
    store.save().expect("a store");
    drop(store);
    let read = |name: &str| std::fs::read(made.join(name)).expect("a store has it");
    let (head, shard) = (read("header.json"), read("shard-00000.safetensors"));
    Target {
        name: "feature-store",
        kind: Kind::Binary,
        seeds: vec![head.clone(), shard.clone()],
        words: words(&["checksum", "seal", "F16", "U8", "data_offsets", "answers", "header"]),
        read: Box::new(move |bytes| {
            let _kept = &place;
            // The header is text.
            let is_head = bytes.first() == Some(&b'{');
            std::fs::write(made.join("header.json"), if is_head { bytes } else { &head }).expect("a file");
            std::fs::write(made.join("shard-00000.safetensors"), if is_head { &shard } else { bytes })
                .expect("a file");
            match FeatureStore::read(&made) {
                Ok(store) => {
                    let mut outcome = format!("ok {}", store.answers().len());
                    for block in store.header().blocks.clone() {
                        if let Err(error) = store.load(block) {
                            outcome += &said(&error);
                        }
                    }
                    outcome
                }
                Err(error) => said(&error),
            }
        }),
    }
}

fn annotations() -> Target {
    let place = folder();
    let path = place.path().join("data.annotations.jsonl");
    let answer = "It was 1932, \u{e9}\u{1f642}.";
    let marked = AnnotatedAnswer {
        schema: ANNOTATION_SCHEMA.to_owned(),
        id: "q1".to_owned(),
        row: 0,
        answer_hash: answer_hash(answer),
        shown: ShownFlags { detector: Some("cortex".to_owned()), token: 0.5, rho: 0.9, spans: vec![[7, 11]] },
        checked: true,
        marks: vec![Mark { start: 7, end: 11, kind: MarkKind::Missed, text: "1932".to_owned() }],
    };
    let line = serde_json::to_string(&marked).expect("JSON");
    Target {
        name: "annotations",
        kind: Kind::Json,
        seeds: vec![
            format!("{line}\n").into_bytes(),
            format!("{line}\n# a line of somebody else\n{line}\n").into_bytes(),
        ],
        words: words(&[
            "marks",
            "start",
            "end",
            "kind",
            "missed",
            "unsupported",
            "shown",
            "spans",
            ANNOTATION_SCHEMA,
        ]),
        read: Box::new(move |bytes| {
            let _kept = &place;
            std::fs::write(&path, bytes).expect("a file");
            match AnnotationFile::open(&path) {
                Ok((mut file, read, notices)) => {
                    file.save(&read).expect("it is written");
                    let (_, again, _) = AnnotationFile::open(&path).expect("what was written is read");
                    assert_eq!(again, read, "nothing is lost by saving");
                    format!("ok {} answers, {} notices", read.answers().count(), notices.len())
                }
                Err(error) => said(&error),
            }
        }),
    }
}

fn key_map() -> Target {
    let seeds = [
        "quit = \"q\"\nexample-down = [\"j\", \"Down\"]\n",
        "help = [\"?\", \"F1\", \"ctrl-h\"]\nquit = []\n",
    ];
    Target {
        name: "key-map",
        kind: Kind::Text,
        seeds: seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
        words: words(&[
            "quit",
            "prompt-leave",
            "example-down",
            "ctrl-",
            "alt-",
            "shift-",
            "F12",
            "Space",
            "[",
            "]",
            "=",
            "[a]",
            "\"\"",
        ]),
        read: Box::new(|bytes| match KeyMap::parse(&String::from_utf8_lossy(bytes)) {
            Ok((map, notes)) => {
                let quit = map.entries().find(|(entry, _)| entry.name == "quit").expect("an action");
                assert!(!quit.1.is_empty(), "nobody gets out");
                format!("ok {} notes", notes.len())
            }
            Err(notes) => notes.iter().map(|note| said(&note.text)).collect(),
        }),
    }
}

/// The files of a configuration folder, read by the real binary.
fn configuration() -> Target {
    let sandbox = Sandbox::new();
    let folder = sandbox.cache().with_file_name("home").join(".config/ragscope");
    std::fs::create_dir_all(&folder).expect("a folder");
    let seeds = ["theme = \"dark\"\nalpha = 0.1\n", "[mine]\nalpha = 0.2\ntoken = 0.5\n", "quit = \"q\"\n"];
    Target {
        name: "configuration",
        kind: Kind::Text,
        seeds: seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
        words: words(&[
            "theme",
            "alpha",
            "model",
            "token-threshold",
            "top-k",
            "rho",
            "[",
            "]",
            "=",
            "nan",
            "inf",
            "\"\"\"",
            "1979-05-27",
        ]),
        read: Box::new(move |bytes| {
            for name in ["config.toml", "presets.toml", "keys.toml"] {
                std::fs::write(folder.join(name), bytes).expect("a file");
            }
            let ran = sandbox.run(&["doctor"]);
            assert!(ran.code.is_some_and(|code| [0, 2, 3].contains(&code)), "{ran}");
            assert!(!ran.stderr.contains("panicked"), "{ran}");
            let outcome = if ran.code == Some(0) { "ok" } else { "refused" };
            let said = format!("{outcome} {}", ran.stderr);
            ran.harmless();
            said
        }),
    }
}

/// A sentence encoder of which one file is changed.
fn encoder(name: &'static str, file: &'static str, kind: Kind, hints: &[&str]) -> Target {
    let place = folder();
    let made = place.path().join("encoder");
    std::fs::create_dir_all(made.join("1_Pooling")).expect("a folder");
    let golden = repository("tests/golden/encoder");
    let files = [
        "config.json",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "model.safetensors",
        "1_Pooling/config.json",
    ];
    for one in files {
        std::fs::copy(golden.join(one), made.join(one)).expect("a golden file");
    }
    let seed = std::fs::read(golden.join(file)).expect("a golden file");
    Target {
        name,
        kind,
        seeds: vec![seed],
        words: words(hints),
        read: Box::new(move |bytes| {
            let _kept = &place;
            std::fs::write(made.join(file), bytes).expect("a file");
            let cache = CacheDirectory::at(made.join("cache"));
            let encoder = match SentenceEncoder::open(&made, &cache) {
                Ok(encoder) => encoder,
                Err(error) => return said(&error),
            };
            match encoder.encode(&["When does it open?", "é🙂", ""], &mut |_| ()) {
                Ok(embeddings) => {
                    assert!(
                        embeddings.values.iter().all(|value| value.is_finite()),
                        "an embedding that is not finite"
                    );
                    "ok".to_owned()
                }
                Err(error) => format!("ok but {}", said(&error)),
            }
        }),
    }
}

fn index_seed() -> Vec<u8> {
    br#"{"metadata":{"total_size":1},"weight_map":{"model.norm.weight":"model.safetensors","lm_head.weight":"model.safetensors","model.embed_tokens.weight":"model.safetensors"}}"#.to_vec()
}

pub fn targets() -> Vec<Target> {
    let mut targets = vec![
        gguf_models(),
        model_folder(
            "safetensors",
            "model.safetensors",
            Kind::Binary,
            Vec::new(),
            &["F32", "BF16", "shape", "data_offsets", "[", "lm_head.weight", "__metadata__"],
            whole_model,
        ),
        model_folder(
            "safetensors-index",
            "model.safetensors.index.json",
            Kind::Json,
            vec![index_seed()],
            &["../x", "/etc/passwd", "weight_map", "model.safetensors", "config.json", ".", ".."],
            whole_model,
        ),
        model_folder(
            "config-json",
            "config.json",
            Kind::Json,
            configurations(),
            &[
                "rope_scaling",
                "rope_parameters",
                "yarn",
                "longrope",
                "layer_types",
                "sliding_attention",
                "head_dim",
            ],
            whole_model,
        ),
        model_folder(
            "tokenizer-json",
            "tokenizer.json",
            Kind::Json,
            Vec::new(),
            &[
                "BPE",
                "WordPiece",
                "Unigram",
                "merges",
                "Split",
                "Regex",
                "(?i",
                "Replace",
                "Precompiled",
                "NFC",
                "ByteLevel",
            ],
            |tiny| match ModelTokenizer::from_directory(tiny, Some("<|im_start|>")) {
                Ok(tokenizer) => rebuilds(&tokenizer),
                Err(error) => said(&error),
            },
        ),
        model_folder(
            "tokenizer-config",
            "tokenizer_config.json",
            Kind::Json,
            Vec::new(),
            &["chat_template", "bos_token", "content", "add_bos_token", "{{ bos_token }}", "default"],
            |tiny| {
                let cache = CacheDirectory::at(tiny.join("cache"));
                match TextModel::open(&ModelLocation::Directory(tiny.to_owned()), &cache) {
                    Ok(_) => "ok".to_owned(),
                    Err(error) => said(&error),
                }
            },
        ),
        chat_templates(),
        evidence(),
        evidence_cache(),
        report(),
        calibration(),
        highlighting(),
    ];
    targets.extend(heads());
    targets.push(annotations());
    targets.push(key_map());
    targets.push(configuration());
    targets.push(encoder(
        "encoder-config",
        "config.json",
        Kind::Json,
        &["hidden_size", "num_attention_heads", "max_position_embeddings", "layer_norm_eps", "vocab_size"],
    ));
    targets.push(encoder(
        "encoder-weights",
        "model.safetensors",
        Kind::Binary,
        &["F32", "shape", "data_offsets", "embeddings.word_embeddings.weight", "["],
    ));
    targets.push(feature_store());
    targets
}
