use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::data::formats::test_files::{
    error, examples, gzip, notices, open, open_bytes, public_data, try_open,
};

fn plain() -> OpenOptions {
    OpenOptions::default()
}

fn as_format(format: Format) -> OpenOptions {
    OpenOptions { format: Some(format), ..OpenOptions::default() }
}

#[test]
fn a_missing_or_empty_file_says_what_was_expected() {
    let told = try_open(&[], "gone\u{1b}[2J.jsonl", &plain()).unwrap_err();
    assert!(matches!(told, DataError::Missing { .. }));
    assert!(told.to_string().contains("gone␛[2J.jsonl") && !told.to_string().contains('\u{1b}'));
    let told = error("empty.jsonl", b" \n\n", &plain());
    assert!(told.contains("the file is empty") && told.contains("ragtruth, squad"), "{told}");
    let told = try_open(&[("notes.txt", b"x")], "", &plain()).unwrap_err().to_string();
    assert!(told.contains("examples.jsonl") && told.contains("`notes.txt`"), "{told}");
}

#[test]
fn containers_that_are_not_read_are_named_with_the_next_step() {
    for (bytes, name) in [(&b"PK\x03\x04...."[..], "workbook"), (b"BZh9....", "bzip2")] {
        // The bytes decide, not the name, and not what the user calls it.
        for options in [plain(), as_format(Format::Squad)] {
            let told = error("data.jsonl", bytes, &options);
            assert!(told.contains(name) && told.contains("not read yet;"), "{told}");
        }
    }
    let told = error("data.jsonl.gz", &gzip(&gzip(b"{}")), &plain());
    assert!(told.contains("gzip inside a compression"), "{told}");
    for damaged in [&b"\x28\xb5\x2f\xfd...."[..], b"PAR1....", b"SQLite format 3\0"] {
        assert!(error("data.jsonl", damaged, &plain()).contains("cannot be read"));
    }
    let cut = gzip(b"{\"question\":\"q?\"}");
    let told = error("data.jsonl.gz", &cut[..cut.len() - 9], &plain());
    assert!(told.contains("cannot be read"), "{told}");
}

#[test]
fn a_small_file_that_unfolds_into_very_much_is_refused() {
    let mut much = b"{\"question\": \"q?\"}\n".to_vec();
    much.resize(257 << 20, b' ');
    // What gzip shrinks a hundred times may be a file of real records; zstd shrinks this a thousand times.
    let told = error("data.jsonl.zst", &zstd::stream::encode_all(much.as_slice(), 1).unwrap(), &plain());
    assert!(told.contains("unfold into more than 256 MiB"), "{told}");
}

#[test]
fn an_unknown_layout_lists_its_fields_and_a_wrong_one_says_why_it_was_taken() {
    let told = error("x.jsonl", b"{\"prompt\":1,\"\\u001b]0;\":2}", &plain());
    assert!(told.contains("`prompt`, `␛]0;`") && told.contains("--map question=FIELD"), "{told}");
    let told = error("x.jsonl", b"{\"question\":\"q?\"}", &as_format(Format::RagTruth));
    assert!(told.contains("read as ragtruth because --format says so"), "{told}");
    assert!(
        told.contains("`source_id`") && told.contains("found JSON lines with the fields `question`"),
        "{told}"
    );
    let told = error("x.json", br#"{"data":[{"title":"T"}]}"#, &plain());
    assert!(told.contains("read as squad because it is a JSON document with a list `data`"), "{told}");
    assert!(
        told.contains("article 0 has no list `paragraphs`") && told.contains("--format (ragscope,"),
        "{told}"
    );
    let told = error("x.json", br#"{"data":[{"#, &plain());
    assert!(told.contains("line 1, column"), "{told}");
    let told = error("x.jsonl", b"not json\nat all\n", &plain());
    assert!(told.contains("line 1: not JSON"), "{told}");
    let told = error("x.json", b"[1, 2]", &plain());
    assert!(told.contains("a JSON list without any"), "{told}");
}

#[test]
fn every_layout_is_recognised_by_its_fields() {
    for (name, content, format) in [
        ("a.jsonl", r#"{"question":"q","contexts":["c"],"answer":"a"}"#, Format::Ragscope),
        ("a", "{\"question\":\"q\"}\n{\"question\":\"r\"}", Format::Ragscope),
        ("a.json", "[{\"question\":\"q\"}]", Format::Ragscope),
        ("a.json", "{\n \"question\": \"q\"\n}", Format::Ragscope),
        ("a.json", "{broken\n{\"question\":\"q\"}", Format::Ragscope),
        ("a.jsonl", r#"{"question":"q","contexts":"['c']"}"#, Format::Ragas),
        ("a.jsonl", r#"{"question":"q","contexts":"['c']","labels":[],"response":"x"}"#, Format::Ragscope),
        ("a.jsonl", r#"{"user_input":"q"}"#, Format::Ragas),
        ("a", "question,answer\nq,a", Format::Ragas),
        (
            "a.jsonl",
            r#"{"question":"q","answers":["a"],"ctxs":[{"text":"t","isgold":true}]}"#,
            Format::NqOpen,
        ),
        ("a.json", r#"{"data":[{"paragraphs":[{"context":"c","qas":[{"question":"q"}]}]}]}"#, Format::Squad),
        ("a.json", r#"[{"table":{"table":[["a"]]},"questions":[{"question":"q"}]}]"#, Format::TatQa),
    ] {
        let data = open(name, content);
        assert_eq!(data.format, format, "{content}");
        assert_eq!(data.examples().next().unwrap().question, "q");
        assert_eq!(data.name, "a");
    }
}

#[test]
fn a_whole_document_under_the_name_of_lines_is_read_as_what_it_is() {
    let list = r#"[{"input":"q?","actual_output":"a","retrieval_context":["c"]},
        {"input":"p?","actual_output":"b","retrieval_context":["c"]}]"#;
    let squad = r#"{"version":"v2.0","data":[{"title":"t","paragraphs":[{"context":"It began in 1931.",
        "qas":[{"id":"1","question":"When?","answers":[{"text":"1931","answer_start":12}]}]}]}]}"#;
    for (content, format, count) in [(list, Format::DeepEval, 2), (squad, Format::Squad, 1)] {
        let data = open("export.jsonl", content);
        assert_eq!((data.format, data.examples().count()), (format, count));
    }
    // A line that is no record stays a bad row among lines.
    let data = open("lines.jsonl", "[\"no record\"]\n{\"question\":\"q?\"}\n");
    assert_eq!((data.examples().count(), data.bad_rows().count()), (1, 1));
    let data = open("lines.jsonl", "{\"question\":\n{\"question\":\"q?\"}\n");
    assert_eq!((data.examples().count(), data.bad_rows().count()), (1, 1));
}

#[test]
fn formats_are_named_and_unknown_names_list_what_exists() {
    for format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
    }
    let told = "hugging".parse::<Format>().unwrap_err().to_string();
    assert!(
        told.contains("expected one of ragscope, ragtruth, squad, nq-open, tat-qa, ragas, ragbench"),
        "{told}"
    );
}

#[test]
fn rows_keep_their_numbers_and_repeated_ids_are_told() {
    let data = open("x.jsonl", "{\"id\":1,\"question\":\"a\"}\n{}\n\n{\"id\":1,\"question\":\"b\"}");
    assert_eq!(data.rows.len(), 3);
    assert_eq!(data.examples().map(|example| example.row).collect::<Vec<_>>(), [0, 2]);
    assert!(notices(&data).contains("an id occurs again"));
}

#[test]
fn the_hash_is_that_of_the_file_as_it_lies_on_disk() {
    // sha256sum of the 16 bytes.
    let data = open("x.jsonl", "{\"question\":\"q\"}");
    assert_eq!(data.hash, "9896cd290376017b");
    let zipped = open_bytes("x.jsonl.gz", &gzip(b"{\"question\":\"q\"}"));
    assert_eq!((zipped.rows == data.rows, zipped.hash == data.hash), (true, false));
    assert_eq!(zipped.name, "x");
}

#[test]
fn the_public_xquad_has_240_paragraphs_and_1190_questions() {
    let Some(path) = public_data("xquad/xquad.en.json") else { return };
    let data = Dataset::open(path, &plain()).unwrap();
    assert_eq!((data.format, data.documents.len(), data.examples().count()), (Format::Squad, 240, 1190));
    let texts: std::collections::HashMap<&str, &str> =
        data.documents.iter().map(|document| (document.id.as_str(), document.parts[0].as_str())).collect();
    assert_eq!(texts.len(), 240);
    for example in data.examples() {
        let source = texts[example.source_documents[0].as_str()];
        assert!(!example.references.is_empty());
        assert!(example.references.iter().all(|reference| source.contains(reference.as_str())));
    }
}

#[test]
fn the_public_nq_open_has_2655_questions_and_2600_passages() {
    let Some(path) = public_data("nq_open/nq-open-oracle.jsonl.gz") else { return };
    let data = Dataset::open(path, &plain()).unwrap();
    assert_eq!((data.format, data.documents.len(), data.examples().count()), (Format::NqOpen, 2600, 2655));
    assert_eq!(data.name, "nq-open-oracle");
    let ids: HashSet<&str> = data.documents.iter().map(|document| document.id.as_str()).collect();
    assert_eq!(ids.len(), 2600);
    assert!(data.examples().all(|example| ids.contains(example.source_documents[0].as_str())));
}

#[test]
fn the_public_tat_qa_has_278_and_277_documents_and_1668_and_1663_questions() {
    for (name, documents, questions) in
        [("tatqa_dataset_dev.json", 278, 1668), ("tatqa_dataset_test_gold.json", 277, 1663)]
    {
        let Some(path) = public_data(&format!("tatqa/{name}")) else { return };
        let data = Dataset::open(path, &plain()).unwrap();
        assert_eq!((data.format, data.documents.len()), (Format::TatQa, documents));
        assert_eq!(data.examples().count(), questions);
        assert!(examples(&data).iter().all(|example| !example.references.is_empty()));
    }
}

#[test]
fn the_public_ragtruth_is_read_well_under_a_second() {
    let Some(path) = public_data("ragtruth") else { return };
    let begin = Instant::now();
    Dataset::open(path, &plain()).unwrap();
    let took = begin.elapsed();
    eprintln!("RAGTruth, 900 answers: {took:?}");
    assert!(took.as_secs_f64() < 1.0, "{took:?}");
}

/// What damage puts into a file.
const PIECES: &[&[u8]] = &[
    b"",
    b"\xff",
    b"\x1b",
    b"\"",
    b"]",
    b"[[",
    b"{}",
    b"null",
    b"-1",
    b"99999999999999999999",
    b"\n",
    b"\\ud83d",
    "é🙂".as_bytes(),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Files of every layout with a piece cut out or replaced: an error or bad rows, never a panic.
    #[test]
    fn no_damage_to_a_file_makes_its_reader_panic(
        which in 0usize..6,
        at in 0usize..400,
        length in 0usize..12,
        piece in proptest::sample::select(PIECES),
    ) {
        const WHOLE: [(&str, &str); 6] = [
            ("x.jsonl", r#"{"id":1,"question":"q?","answer":"caf\u00e9 é🙂 x","contexts":["c",{"text":"d","score":1}],"labels":[{"start":5,"end":7,"text":"é🙂"}],"groups":{"a":1}}"#),
            ("x.jsonl", r#"{"question":"q","answers":["a"],"ctxs":[{"title":"t","text":"t","isgold":true}]}"#),
            ("x.json", r#"{"data":[{"title":"t","paragraphs":[{"context":"c","qas":[{"id":1,"question":"q","answers":[{"text":"c"}]}]}]}]}"#),
            ("x.json", r#"[{"table":{"uid":"u","table":[["a",1]]},"paragraphs":[{"text":"p"}],"questions":[{"question":"q","answer":[1]}]}]"#),
            ("x.csv", "question,contexts,answer\nq,\"['a', \"\"b\"\"]\",x\nr,one,y\n"),
            ("response.jsonl", r#"{"id":"1","source_id":"s","labels":[{"start":0,"end":2,"text":"aé"}],"response":"aé"}"#),
        ];
        let (name, content) = WHOLE[which];
        let mut bytes = content.as_bytes().to_vec();
        let start = at % (bytes.len() + 1);
        let end = (start + length).min(bytes.len());
        bytes.splice(start..end, piece.iter().copied());
        let source = br#"{"source_id":"s","task_type":"QA","source_info":{"question":"q","passages":"passage 1:a\n\n"},"prompt":"p"}"#;
        let files: [(&str, &[u8]); 2] = [(name, &bytes), ("source_info.jsonl", source)];
        match try_open(&files, name, &plain()) {
            Ok(data) => {
                for (number, row) in data.rows.iter().enumerate() {
                    match row {
                        Row::Example(example) => {
                            prop_assert_eq!(example.row, number);
                            for span in example.gold_spans.iter().flatten() {
                                prop_assert!(example.answer.as_deref().unwrap().get(span.range.clone()).is_some());
                            }
                        }
                        Row::Bad(bad) => {
                            prop_assert_eq!(bad.row, number);
                            prop_assert!(!bad.to_string().contains(|c: char| c.is_control()), "{}", bad);
                        }
                    }
                }
            }
            Err(error) => prop_assert!(!error.to_string().contains(|c: char| c.is_control()), "{}", error),
        }
    }
}
