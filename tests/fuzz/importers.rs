//! One target for each layout of data sets, and for the containers they come in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use ragscope::data::formats::{own, own_writer};
use ragscope::data::{Dataset, FieldMap, Format, OpenOptions, Passage, Row};

use crate::engine::Target;
use crate::mutation::Kind;

/// Of one layout: the file that is changed, and what lies beside it.
const FILES: &[(&str, &[&str], &[&str])] = &[
    ("ragscope", &["records.jsonl"], &[]),
    ("ragtruth", &["response.jsonl", "source_info.jsonl"], &["source_info.jsonl", "response.jsonl"]),
    ("squad", &["v2.json", "flat.jsonl"], &[]),
    ("nq-open", &["nq.jsonl"], &[]),
    ("tat-qa", &["tat.json"], &[]),
    ("ragas", &["new.jsonl", "old.csv"], &[]),
    ("ragbench", &["bench.jsonl"], &[]),
    ("hallurag", &["hallu.json"], &[]),
    ("lettuce-detect", &["v1.json", "v2.json"], &[]),
    ("ragchecker", &["checked.json"], &[]),
    ("deepeval", &["run.json", "cases.csv"], &[]),
    ("llama-index", &["rag_dataset.json", "results.json"], &[]),
    ("trulens", &["events.jsonl", "record.json"], &[]),
    ("openinference", &["spans.jsonl", "spans.json"], &[]),
    ("langsmith", &["runs.jsonl", "data.csv"], &[]),
    ("beir", &["queries.jsonl", "corpus.jsonl"], &["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]),
    ("hotpotqa", &["pairs.json", "lists.json"], &[]),
    ("natural-questions", &["simplified.jsonl"], &[]),
    ("wice", &["dev.jsonl"], &[]),
    ("clapnq", &["clap.jsonl"], &[]),
    ("pubmedqa", &["ori_pqal.json"], &[]),
    ("mapped", &["columns.json", "table.csv"], &[]),
];

pub fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target)
}

pub fn seed(target: &str, name: &str) -> Vec<u8> {
    let path = corpus(target).join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A folder in memory where there is one.
pub fn folder() -> tempfile::TempDir {
    let fast = Path::new("/dev/shm");
    let made = if fast.is_dir() { tempfile::tempdir_in(fast) } else { tempfile::tempdir() };
    made.expect("a temporary folder")
}

fn names() -> Vec<Vec<u8>> {
    let words = [
        "question",
        "answer",
        "contexts",
        "labels",
        "start",
        "end",
        "offset_unit",
        "utf16",
        "byte",
        "codepoint",
        "groups",
        "id",
        "text",
        "retrieved_contexts",
        "ground_truth",
        "documents",
        "response",
        "sentence_data",
        "['a', 'b']",
        "[\"a\"]",
        "array(['a'], dtype=object)",
        "Document(page_content='x')",
        "...",
        "None",
        "nan",
        "True",
        "\\u0000",
        "\n\n",
        "\r\n",
        "\"",
        ",",
        "\t",
        ";",
    ];
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// What must hold of everything that was opened.
fn inspected(opened: Result<Dataset, ragscope::data::DataError>) -> String {
    let data = match opened {
        Ok(data) => data,
        Err(error) => {
            let said = error.to_string();
            assert!(!said.chars().any(|c| c.is_control() && c != '\n'), "a control character in {said:?}");
            return said;
        }
    };
    let mut bad = 0;
    for (number, row) in data.rows.iter().enumerate() {
        let example = match row {
            Row::Bad(one) => {
                assert_eq!(one.row, number, "rows are counted");
                assert!(!one.to_string().chars().any(char::is_control), "a control character in {one}");
                bad += 1;
                continue;
            }
            Row::Example(example) => example,
        };
        assert_eq!(example.row, number, "rows are counted");
        for span in example.gold_spans.iter().flatten() {
            let answer = example.answer.as_deref().expect("labels are of an answer");
            assert!(answer.get(span.range.clone()).is_some(), "{:?} is no part of the answer", span.range);
        }
        // What was read is written and read again as the same.
        let line = own_writer::write_line(example);
        let acts = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202e}');
        assert!(!line.contains(acts), "a character that acts in {line:?}");
        match own::parse_line(line.as_bytes(), example.row, 1) {
            Row::Example(again) => {
                assert_eq!(again.question, example.question);
                assert_eq!(again.answer, example.answer);
                // A blank passage is nothing to read.
                let filled = |passage: &&Passage| !passage.text.trim().is_empty();
                let (ours, theirs) = (again.passages.iter(), example.passages.iter());
                assert!(ours.filter(filled).eq(theirs.filter(filled)), "passages of {line}");
                assert_eq!(again.gold_spans, example.gold_spans);
            }
            Row::Bad(bad) => panic!("what was written is refused: {bad}: {line}"),
        }
    }
    format!("ok {} rows, {bad} bad, {} notices", data.rows.len(), data.notices.len())
}

fn options(name: &str) -> OpenOptions {
    let map = match name {
        "mapped" => "question=question,contexts=context_*,answer=answer".parse().expect("a map"),
        _ => FieldMap::default(),
    };
    OpenOptions {
        format: (name != "mapped").then(|| name.parse().expect("a layout")),
        map,
        offset_unit: None,
    }
}

fn layout(name: &'static str, files: &'static [&'static str], beside: &'static [&'static str]) -> Target {
    let forced = options(name);
    let free = OpenOptions { format: None, ..options(name) };
    let seeds = files.iter().map(|file| seed(name, file)).collect();
    let place = Arc::new(folder());
    for file in beside {
        let path = place.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, seed(name, file)).expect("a file");
    }
    let originals: Vec<(PathBuf, Vec<u8>)> =
        beside.iter().map(|file| (place.path().join(file), seed(name, file))).collect();
    let json = files[0].contains(".json");
    Target {
        name,
        kind: if json { Kind::Json } else { Kind::Text },
        seeds,
        words: names(),
        read: Box::new(move |bytes| {
            // A folder of several files: each of them is changed in turn, the others are as they were.
            let which = bytes.len() % files.len();
            for (path, original) in &originals {
                std::fs::write(path, original).expect("a file");
            }
            let path = place.path().join(files[which]);
            std::fs::write(&path, bytes).expect("a file");
            let by_layout = inspected(Dataset::open(&path, &forced));
            let found = inspected(Dataset::open(&path, &free));
            if !originals.is_empty() {
                inspected(Dataset::open(place.path(), &free));
            }
            let _ = std::fs::remove_file(&path);
            if by_layout.starts_with("ok") { by_layout + &found } else { format!("{found}{by_layout}") }
        }),
    }
}

fn container(name: &'static str, file: &'static str, seeds: Vec<Vec<u8>>) -> Target {
    let place = folder();
    Target {
        name,
        kind: Kind::Binary,
        seeds,
        words: names(),
        read: Box::new(move |bytes| {
            let path = place.path().join(file);
            std::fs::write(&path, bytes).expect("a file");
            inspected(Dataset::open(&path, &OpenOptions::default()))
        }),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn parquet_file() -> Vec<u8> {
    let schema = "message rows { REQUIRED BINARY question (UTF8); OPTIONAL BINARY answer (UTF8);
        REQUIRED GROUP contexts (LIST) { REPEATED GROUP list { REQUIRED BINARY element (UTF8); } } }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::default());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).expect("memory");
    let mut group = writer.next_row_group().expect("a group");
    let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    let columns: [(&[ByteArray], Option<&[i16]>, Option<&[i16]>); 3] = [
        (&[text("q?"), text("r?")], None, None),
        (&[text("a")], Some(&[1, 0]), None),
        (&[text("c1"), text("it's"), text("c3")], Some(&[1, 1, 1]), Some(&[0, 1, 0])),
    ];
    for (values, definition, repetition) in columns {
        let mut column = group.next_column().expect("a column").expect("a column");
        column.typed::<ByteArrayType>().write_batch(values, definition, repetition).expect("memory");
        column.close().expect("a column");
    }
    group.close().expect("a group");
    writer.close().expect("a file");
    bytes
}

fn sqlite_file() -> Vec<u8> {
    let place = folder();
    let path = place.path().join("phoenix.db");
    let statements = "CREATE TABLE spans (id INTEGER, trace_rowid INTEGER, span_id TEXT, parent_id TEXT, span_kind TEXT,
            attributes TEXT);
        INSERT INTO spans VALUES (1, 7, 's1', NULL, 'CHAIN', '{\"input\": {\"value\": \"q?\"}, \"output\": {\"value\": \"a\"}}');
        INSERT INTO spans VALUES (2, 7, 's2', 's1', 'RETRIEVER',
            '{\"retrieval\": {\"documents\": [{\"document\": {\"content\": \"c\"}}]}}');";
    rusqlite::Connection::open(&path).and_then(|base| base.execute_batch(statements)).expect("a database");
    std::fs::read(path).expect("a database")
}

fn field_map() -> Target {
    let record = br#"{"a":{"b":["c"]},"context_1":"x","context_2":"y","q":"q?","answer":"a"}"#;
    let place = folder();
    let path = place.path().join("rows.jsonl");
    std::fs::write(&path, record).expect("a file");
    let seeds =
        ["question=q,contexts=context_*", "question=a.b,answer=answer,group.x=q", "contexts=a.b,labels=q"];
    Target {
        name: "field-map",
        kind: Kind::Text,
        seeds: seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
        words: ["question=", "contexts=", "*", ".", ",", "group.", "=", "a.b.c", "[0]"]
            .iter()
            .map(|word| word.as_bytes().to_vec())
            .collect(),
        read: Box::new(move |bytes| match String::from_utf8_lossy(bytes).parse::<FieldMap>() {
            Ok(map) => inspected(Dataset::open(&path, &OpenOptions { map, ..OpenOptions::default() })),
            Err(error) => error.to_string(),
        }),
    }
}

pub fn targets() -> Vec<Target> {
    assert_eq!(FILES.len(), Format::ALL.len());
    let mut targets: Vec<Target> =
        FILES.iter().map(|(name, files, beside)| layout(name, files, beside)).collect();
    let records = seed("ragscope", "records.jsonl");
    let zstd = zstd::stream::encode_all(records.as_slice(), 1).expect("memory");
    let twice = [gzip(&records), gzip(&records)].concat();
    targets.push(container("compressed", "records.jsonl.gz", vec![gzip(&records), zstd, twice]));
    targets.push(container("parquet", "rows.parquet", vec![parquet_file()]));
    targets.push(container("sqlite", "traces.db", vec![sqlite_file()]));
    targets.push(field_map());
    targets
}
