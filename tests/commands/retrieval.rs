//! Other retrievers than BM25: embeddings, fusion, a search server, and scores that came with the data. Each is
//! certified by its own scores, and a calibration of one never certifies another.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, repository, tiny_model};

/// The tiny encoder of the golden values, in words that its vocabulary knows.
fn encoder() -> String {
    repository("tests/golden/encoder").display().to_string()
}

const WORDS: [&str; 10] =
    ["ferry", "ticket", "harbour", "pump", "hall", "boat", "costs", "leaves", "nine", "euros"];

/// 60 documents of two words each, and questions that repeat them.
fn corpus(sandbox: &Sandbox) {
    let pair = |number: usize| format!("{} {}", WORDS[number % 10], WORDS[(number / 10 + number + 1) % 10]);
    let documents: Vec<Value> = (0..60).map(|n| json!({"id": format!("d{n}"), "text": pair(n)})).collect();
    let examples: Vec<Value> = (0..60)
        .map(|n| json!({"id": format!("q{n}"), "question": format!("{} {n}?", pair(n)), "source_ids": [format!("d{n}")]}))
        .collect();
    sandbox.write_lines("data/documents.jsonl", &documents);
    sandbox.write_lines("data/examples.jsonl", &examples);
}

#[test]
fn embeddings_and_fusion_are_certified_and_their_calibrations_refused_for_others() {
    let sandbox = Sandbox::new();
    corpus(&sandbox);
    let encoder = encoder();
    for retriever in ["dense", "fusion"] {
        let file = format!("{retriever}.json");
        let ran = sandbox
            .run(&[
                "certify",
                "data",
                "--retriever",
                retriever,
                "--encoder",
                &encoder,
                "--json",
                "--output",
                &file,
            ])
            .code(0);
        assert_eq!(ran.json()["retriever"], retriever, "{ran}");
        assert!(
            ran.json()["diagnostics"]["recall"]["value"].as_f64().is_some_and(|recall| recall > 0.2),
            "{ran}"
        );
        let calibration: Value = serde_json::from_str(&sandbox.read(&file)).expect("a calibration is JSON");
        assert_eq!(calibration["retriever"], retriever);
        let settings = calibration["retriever_settings"].to_string();
        assert!(settings.contains("encoder_hash") && settings.contains("mean"), "{settings}");
    }
    // Embedded once: the second command found the vectors of the first.
    let kept: Vec<_> = std::fs::read_dir(sandbox.cache().join("embeddings")).expect("kept vectors").collect();
    assert_eq!(kept.len(), 1);
    // The calibration says which retriever is meant, its chunks and its encoder.
    let open = |more: &[&str]| sandbox.run(&[&["open", "data", "--plain"][..], more].concat()).code(0);
    let dense = open(&["--calibration", "dense.json", "--encoder", &encoder]);
    assert!(dense.stdout.contains("kept with probability at least 0.9"), "{dense}");
    for (calibration, retriever, words) in [
        ("dense.json", "bm25", "the retriever is bm25 here and dense there"),
        ("dense.json", "fusion", "the retriever is fusion here and dense there"),
        ("fusion.json", "dense", "the retriever is dense here and fusion there"),
    ] {
        let more = ["--calibration", calibration, "--retriever", retriever, "--encoder", &encoder];
        let refused = open(&more);
        assert!(refused.stdout.contains("not calibrated"), "{refused}");
        assert!(refused.stdout.contains(words), "{refused}");
        assert!(!refused.stdout.contains("kept with probability"), "{refused}");
    }
    let other_chunks = open(&["--calibration", "dense.json", "--encoder", &encoder, "--chunk-tokens", "9"]);
    assert!(!other_chunks.stdout.contains("kept with probability"), "{other_chunks}");
}

#[test]
fn an_encoder_that_is_not_there_or_none_at_all_is_named() {
    let sandbox = Sandbox::new();
    corpus(&sandbox);
    sandbox
        .run(&["certify", "data", "--retriever", "dense"])
        .code(4)
        .complains(&["no encoder all-MiniLM-L6-v2", "ragscope models fetch"]);
    sandbox.write("empty/config.json", "{}");
    sandbox
        .run(&["certify", "data", "--retriever", "dense", "--encoder", "empty"])
        .code(4)
        .complains(&["empty"]);
    for (arguments, words) in [
        (vec!["--retriever", "splade"], "bm25, dense, fusion or an address"),
        (vec!["--retriever", "http://localhost:9200"], "needs --index"),
        (vec!["--index", "wiki"], "--index goes with --retriever http://"),
        (vec!["--retriever", "fusion", "--text-field", "body"], "--text-field goes with"),
    ] {
        sandbox.run(&[&["certify", "data"][..], &arguments].concat()).code(2).complains(&[words]);
    }
    let listed = sandbox.run(&["models", "list", "--json"]).code(0).json();
    let encoder = listed.as_array().and_then(|all| all.iter().find(|one| one["name"] == "all-MiniLM-L6-v2"));
    let encoder = encoder.expect("the encoder is listed");
    assert_eq!((&encoder["present"], &encoder["license"]), (&json!(false), &json!("Apache-2.0")));
    assert!(encoder["size"].as_u64().is_some_and(|size| size > 90_000_000));
}

/// A search server that knows the documents of [`corpus`] and counts shared words; its address.
fn serve(sandbox: &Sandbox) -> String {
    let documents: Vec<Value> = sandbox
        .read("data/documents.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a document"))
        .collect();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let asked: Value = serde_json::from_slice(&body).expect("JSON");
            let question =
                asked["query"]["match"]["body"]["query"].as_str().expect("a question").to_lowercase();
            let mut hits: Vec<Value> = documents
                .iter()
                .filter_map(|document| {
                    let text = document["text"].as_str()?;
                    let shared = text.split(' ').filter(|word| question.contains(word)).count();
                    (shared > 0).then(
                        || json!({"_id": document["id"], "_score": shared as f64, "_source": {"body": text}}),
                    )
                })
                .collect();
            hits.sort_by(|a, b| b["_score"].as_f64().partial_cmp(&a["_score"].as_f64()).expect("numbers"));
            hits.truncate(asked["size"].as_u64().expect("a size") as usize);
            let answer =
                json!({"timed_out": false, "_shards": {"total": 1, "failed": 0}, "hits": {"hits": hits}});
            let answer = answer.to_string();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
            let _ = stream.write_all((head + &answer).as_bytes());
        }
    });
    address
}

#[test]
fn chunks_of_a_search_server_are_certified_by_its_scores_and_credentials_stay_secret() {
    let sandbox = Sandbox::new();
    corpus(&sandbox);
    let address = serve(&sandbox);
    let url = format!("http://user:secret@{address}");
    let server = ["--retriever", &url, "--index", "wiki", "--text-field", "body"];
    let certified = sandbox
        .run(
            &[&["certify", "data", "--json", "--top-k", "5", "--output", "server.json"][..], &server]
                .concat(),
        )
        .code(0)
        .complains(&[&format!("questions are sent to the search server http://{address}")]);
    assert_eq!(certified.json()["retriever"], "search server");
    assert_eq!(certified.json()["chunks"], Value::Null);
    let calibration = sandbox.read("server.json");
    for secret in ["secret", "user:"] {
        assert!(
            !calibration.contains(secret)
                && !certified.stdout.contains(secret)
                && !certified.stderr.contains(secret)
        );
    }
    let opened = sandbox
        .run(&[&["open", "data", "--plain", "--calibration", "server.json"][..], &server].concat())
        .code(0);
    assert!(opened.stdout.contains("kept with probability at least 0.9"), "{opened}");
    // A calibration does not send questions anywhere: without the address its retriever is another one.
    let local = sandbox.run(&["open", "data", "--plain", "--calibration", "server.json"]).code(0);
    assert!(
        !local.stderr.contains("questions are sent") && !local.stdout.contains("kept with probability"),
        "{local}"
    );
    // A server that is not there ends a calibration, and is an error of each record of a run.
    let gone = ["--retriever", "http://127.0.0.1:1", "--index", "wiki"];
    sandbox
        .run(&[&["certify", "data", "--output", "x.json"][..], &gone].concat())
        .code(3)
        .complains(&["the search server http://127.0.0.1:1 cannot be reached"]);
}

/// The corpus with labelled answers; every third has an unsupported word.
fn labelled_answers(sandbox: &Sandbox) {
    corpus(sandbox);
    let examples: Vec<Value> = sandbox
        .read("data/examples.jsonl")
        .lines()
        .take(12)
        .enumerate()
        .map(|(number, line)| {
            let mut example: Value = serde_json::from_str(line).expect("an example");
            example["answer"] = json!("The ferry leaves at nine.");
            let wrong = json!({"start": 20, "end": 24});
            example["labels"] = json!(if number % 3 == 0 { vec![wrong] } else { Vec::new() });
            example
        })
        .collect();
    sandbox.write_lines("data/examples.jsonl", &examples);
}

#[test]
fn heads_are_trained_with_any_retriever_which_their_card_and_their_store_name() {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    labelled_answers(&sandbox);
    let encoder = encoder();
    let url = format!("http://{}", serve(&sandbox));
    let dense = ["--retriever", "dense", "--encoder", &encoder];
    let server = ["--retriever", &url, "--index", "wiki", "--text-field", "body"];
    let run = |command: &str, more: &[&str]| {
        let fixed = [command, "data", "--model", "tiny", "--folds", "3"];
        sandbox.run(&[&fixed[..], more].concat())
    };
    run("train", &[&dense[..], &["-o", "dense"]].concat()).code(0);
    let card = sandbox.read("dense/card.md");
    assert!(card.contains("| retriever | dense |") && card.contains("| encoder_hash |"), "{card}");
    run("train", &["-o", "words"]).code(0);
    assert!(sandbox.read("words/card.md").contains("| retriever | bm25 |"));
    run("eval", &server).code(0).complains(&[&format!("questions are sent to the search server {url}")]);
    // One store for each: what was read with the chunks of one is never taken for what another finds.
    let stores = std::fs::read_dir(sandbox.cache().join("features")).expect("stores").count();
    assert_eq!(stores, 3);
    run("eval", &[&dense[..], &["--store", "kept"]].concat()).code(0);
    run("eval", &["--store", "kept"]).code(3).complains(&[
        "kept",
        "its settings is",
        "\"retriever\": \"dense\"",
    ]);
    // Heads of one retriever are used with another, and the difference is told.
    let scored = |heads: &str| {
        sandbox
            .run(&["score", "data", "--model", "tiny", "--heads", heads, "-o", "run.jsonl", "--force"])
            .code(0)
    };
    scored("dense").complains(&[
        "trained on answers read with chunks of another retriever",
        "bm25 here and dense there",
    ]);
    let same = scored("words");
    assert!(!same.stderr.contains("another retriever"), "{same}");
}

#[test]
fn a_retriever_that_finds_nothing_to_do_in_training_is_told() {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    labelled_answers(&sandbox);
    let lines: Vec<Value> = sandbox
        .read("data/examples.jsonl")
        .lines()
        .map(|line| {
            let mut example: Value = serde_json::from_str(line).expect("an example");
            example["contexts"] = json!(["The ferry leaves."]);
            example
        })
        .collect();
    sandbox.write_lines("given.jsonl", &lines);
    let run = ["eval", "given.jsonl", "--model", "tiny", "--folds", "3", "--retriever", "fusion"];
    sandbox.run(&run).code(0).complains(&["every labelled answer has passages: --retriever has no effect"]);
    sandbox
        .run(&["eval", "data", "--model", "tiny", "--index", "wiki"])
        .code(2)
        .complains(&["--index goes with"]);
}

/// Four passages with falling scores; the first or the second is of the document that holds the answer.
fn scored_passages(number: i32, mut text: impl FnMut(i32) -> String) -> Vec<Value> {
    let right = i32::from(number % 6 == 0);
    let passage = |rank| {
        let document = if rank == right { format!("d{number}") } else { format!("x{rank}") };
        let score = 0.9 - 0.15 * f64::from(rank) - 0.001 * f64::from(number);
        json!({"text": text(rank), "document": document, "score": score})
    };
    (0..4).map(passage).collect()
}

#[test]
fn passages_with_scores_are_certified_by_these_and_by_no_other_calibration() {
    let sandbox = Sandbox::new();
    let records: Vec<Value> = (0..60)
        .map(|number| {
            let contexts = scored_passages(number, |rank| format!("passage {rank}"));
            json!({"id": format!("r{number}"), "question": format!("question {number}?"), "contexts": contexts,
                   "source_ids": [format!("d{number}")]})
        })
        .collect();
    sandbox.write_lines("scored.jsonl", &records);
    let ran = sandbox
        .run(&["certify", "scored.jsonl", "--given-scores", "my-reranker", "--json", "--output", "mine.json"])
        .code(0)
        .complains(&["certifying the scores that came with the passages of 60 questions"]);
    assert_eq!(ran.json()["retriever"], "given scores");
    let calibration: Value = serde_json::from_str(&sandbox.read("mine.json")).expect("JSON");
    assert_eq!(
        (&calibration["k"], &calibration["retriever_settings"]["scores_of"]),
        (&json!(4), &json!("my-reranker"))
    );
    let open =
        |more: &[&str]| sandbox.run(&[&["open", "scored.jsonl", "--plain"][..], more].concat()).code(0);
    let named = open(&["--calibration", "mine.json", "--given-scores", "my-reranker"]);
    assert!(named.stdout.contains("kept with probability at least 0.9"), "{named}");
    for more in
        [&["--calibration", "mine.json"][..], &["--calibration", "mine.json", "--given-scores", "bge"]]
    {
        let refused = open(more);
        assert!(!refused.stdout.contains("kept with probability"), "{refused}");
    }
    // Without a calibration the data calibrates itself, each half by the other.
    assert!(open(&[]).stdout.contains("each half of its questions certified by the other half"));
    sandbox.write_lines("bare.jsonl", &[json!({"question": "q?", "contexts": ["x"], "source_ids": ["d"]})]);
    sandbox
        .run(&["certify", "bare.jsonl"])
        .code(3)
        .complains(&["no documents to search", "without scores, so there is nothing to certify"]);
}

#[test]
fn scored_passages_of_a_file_that_is_not_held_get_the_p_values_of_one_that_is() {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .";
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let mut state = 1_u64;
    // Text that does not compress: more than 4 MiB packed is read row by row.
    let mut noise = |length: usize| -> String {
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(LETTERS[(state >> 58) as usize])
        };
        (0..length).map(next).collect()
    };
    let records: Vec<Value> = (0..60)
        .map(|number| {
            let contexts = scored_passages(number, |_| noise(30_000));
            json!({"question": format!("question {number}?"), "contexts": contexts, "source_ids": [format!("d{number}")]})
        })
        .collect();
    sandbox.write_lines("held.jsonl", &records);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(sandbox.read("held.jsonl").as_bytes()).expect("in memory");
    sandbox.write("streamed.jsonl.gz", packed.finish().expect("in memory"));
    let p_values = |data: &str, read: &str| -> Vec<Value> {
        let ran = sandbox.run(&["score", data, "--model", "tiny"]).code(0).complains(&[read]);
        let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("evidence"));
        lines
            .flat_map(|line| line["chunks"].as_array().expect("chunks").clone())
            .map(|chunk| chunk["p_value"].clone())
            .collect()
    };
    let held = p_values("held.jsonl", "held: 60 records, 0 documents; read as ragscope");
    assert_eq!(held, p_values("streamed.jsonl.gz", "60 records, 0 documents; read row by row as ragscope"));
    assert!(held.len() == 240 && held.iter().all(|p_value| !p_value.is_null()), "{held:?}");
}

#[test]
fn the_help_keeps_the_options_of_retrieval_and_of_every_command_apart_from_a_commands_own() {
    let sandbox = Sandbox::new();
    for (command, own) in
        [("score", "--output"), ("certify", "--levels"), ("train", "--folds"), ("open", "--plain")]
    {
        let help = sandbox.run(&[command, "--help"]).code(0).stdout;
        let sections =
            |heading: &str| help.split_once(heading).unwrap_or_else(|| panic!("{heading} in:\n{help}"));
        let (before, rest) = sections("\nRetrieval:");
        let (retrieval, everywhere) = sections("\nOf every command:");
        assert!(before.contains(own) && !rest.contains(own), "{command} {own}:\n{help}");
        assert!(!before.contains("--retriever") && retrieval.contains("--retriever"), "{help}");
        assert!(!before.contains("--theme") && everywhere.contains("--theme"), "{help}");
    }
}
