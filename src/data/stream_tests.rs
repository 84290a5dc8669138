//! A file read row by row gives what the same file read whole gives.

use std::io::Write;

use super::*;
use crate::data::{Dataset, OffsetUnit};

/// Writes `name`, reads it both ways and holds the two against each other.
fn both(name: &str, bytes: &[u8], options: &OpenOptions) -> (Dataset, DatasetStream) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let whole = Dataset::open(&path, options).unwrap();
    let stream = DatasetStream::open_larger(&path, options, 0).unwrap().expect("a stream");
    let rows: Vec<Row> = stream.rows().unwrap().map(Result::unwrap).collect();
    assert_eq!(rows, whole.rows, "{name}");
    assert_eq!(stream.hash, whole.hash);
    assert_eq!((&stream.name, stream.format, &stream.because), (&whole.name, whole.format, &whole.because));
    assert_eq!((stream.rows, stream.bad), (whole.rows.len(), whole.bad_rows().count()));
    assert_eq!(stream.first_bad, whole.bad_rows().take(5).cloned().collect::<Vec<_>>());
    // The first example with passages stands for all, else the first one.
    let with_passages = whole.examples().find(|example| !example.passages.is_empty());
    let sample = with_passages.or(whole.examples().next());
    assert_eq!(stream.sample.first(), sample.cloned().map(Row::Example).as_ref());
    let told = |notices: &[Notice]| {
        let mut told: Vec<String> = notices.iter().map(ToString::to_string).collect();
        told.sort();
        told
    };
    assert_eq!(told(&stream.notices), told(&whole.notices), "{name}");
    (whole, stream)
}

/// 120 lines: good ones, broken ones, blank ones, repeated ids, unknown fields, labels in bytes.
fn lines() -> String {
    let mut text = String::from("\u{feff}");
    for row in 0..120 {
        text += &match row % 10 {
            3 => "{\"question\": 7.5e, \"id\": \"broken\"}\n".to_owned(),
            5 => "\r\n \n".to_owned(),
            7 => format!(
                "{{\"id\": \"twice\", \"question\": \"q{row}?\", \"unknown\": NaN, \"half\": \"\\ud83d\"}}\n"
            ),
            _ => format!(
                "{{\"id\": \"a{row}\", \"question\": \"q{row}?\", \"answer\": \"Café {row} € is wrong\", \
                 \"contexts\": [\"c\", {{\"text\": \"d\", \"score\": 1.5}}], \
                 \"labels\": [{{\"start\": {0}, \"end\": {1}, \"text\": \"wrong\"}}]}}\n",
                "Café  € is ".len() + row.to_string().len(),
                "Café  € is wrong".len() + row.to_string().len(),
            ),
        };
    }
    text
}

#[test]
fn lines_with_everything_that_is_tolerated_are_the_same_rows_plain_and_compressed() {
    let text = lines();
    let (whole, stream) = both("data.jsonl", text.as_bytes(), &OpenOptions::default());
    assert!(stream.scored_passages && stream.bad > 0);
    assert!(whole.notices.iter().any(|notice| notice.text.contains("read as UTF-8 bytes")));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    both("data.jsonl.gz", &gzip.finish().unwrap(), &OpenOptions::default());
    both("data.jsonl.zst", &zstd::encode_all(text.as_bytes(), 1).unwrap(), &OpenOptions::default());
    // The user's word on the unit makes other rows bad, and the same ones.
    let stated = OpenOptions { offset_unit: Some(OffsetUnit::CodePoint), ..OpenOptions::default() };
    let (_, points) = both("data.jsonl", text.as_bytes(), &stated);
    assert!(points.bad > stream.bad);
}

#[test]
fn tables_and_the_layouts_of_others_are_the_same_rows() {
    let mut table = "user_input,retrieved_contexts,response,extra\n".to_owned();
    let mut bench = String::new();
    let mut lettuce = String::new();
    for row in 0..60 {
        table += &format!("q{row},\"['a' \"\"it's\"\"]\",answer {row},x\n");
        if row == 20 {
            table += "too,few\n";
        }
        bench += &format!(
            "{{\"id\":\"b{row}\",\"question\":\"q?\",\"documents\":[\"d\"],\"response\":\"One. Two.\",\
             \"response_sentences\":[[\"a\",\"One.\"],[\"b\",\"Two.\"]],\
             \"unsupported_response_sentence_keys\":[\"b.\"]}}\n"
        );
        lettuce += &format!(
            "{{\"prompt\":\"q {row}?\\n\\np\",\"answer\":\"It was 1932.\",\"labels\":[{{\"start\":7,\"end\":11}}]}}\n"
        );
    }
    let options = OpenOptions::default();
    assert_eq!(both("ragas.csv", table.as_bytes(), &options).1.bad, 1);
    assert_eq!(both("bench.jsonl", bench.as_bytes(), &options).1.format, Format::RagBench);
    assert_eq!(both("lettuce.jsonl", lettuce.as_bytes(), &options).1.format, Format::LettuceDetect);
    let map = "question=user_input,answer=response,group.x=extra".parse().unwrap();
    both("mapped.csv", table.as_bytes(), &OpenOptions { map, ..OpenOptions::default() });
}

#[test]
fn a_map_that_names_no_field_is_refused_in_the_first_pass() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    std::fs::write(&path, lines()).unwrap();
    let options = OpenOptions { map: "question=gone".parse().unwrap(), ..OpenOptions::default() };
    let error = DatasetStream::open_larger(&path, &options, 0).err().unwrap().to_string();
    assert!(error.contains("no record has a field `gone`") && error.contains("`question`"), "{error}");
}

#[test]
fn what_needs_more_than_its_record_is_not_streamed() {
    let folder = tempfile::tempdir().unwrap();
    let is_streamed = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        DatasetStream::open_larger(&path, &OpenOptions::default(), 0).unwrap().is_some()
    };
    let own = lines();
    assert!(is_streamed("data.jsonl", &own));
    // Small on disk, or too short to be recognised by its beginning alone.
    assert!(!is_streamed("short.jsonl", "{\"question\": \"q?\"}\n"));
    assert!(
        DatasetStream::open(folder.path().join("data.jsonl"), &OpenOptions::default()).unwrap().is_none()
    );
    // A corpus beside it is indexed and calibrated on.
    std::fs::write(folder.path().join("documents.jsonl"), "{\"id\":\"d\",\"text\":\"t\"}\n").unwrap();
    assert!(!is_streamed("examples.jsonl", &own));
    assert!(DatasetStream::open_larger(folder.path(), &OpenOptions::default(), 0).unwrap().is_none());
    let list = format!("[\n{}\n]", vec!["{\"question\": \"q?\"}"; 80].join(",\n"));
    assert!(!is_streamed("list.json", &list));
    assert!(!is_streamed("gone.txt", "no data\n"));
}

#[test]
fn a_file_of_parquet_gives_the_same_rows_one_by_one() {
    let texts: Vec<(String, String)> = (0..130).map(|row| (format!("q{row}?"), format!("a{row}"))).collect();
    let rows: Vec<(&str, &str, &[&str])> =
        texts.iter().map(|(question, answer)| (&**question, &**answer, &["c1", "it's"][..])).collect();
    let bytes = crate::data::parquet_file::tests::file(&rows);
    let (whole, stream) = both("data.parquet", &bytes, &OpenOptions::default());
    assert_eq!((whole.rows.len(), stream.bad), (130, 0));
    // A torn file is refused either way.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("torn.parquet");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(DatasetStream::open_larger(&path, &OpenOptions::default(), 0).ok().flatten().is_none());
    assert!(Dataset::open(&path, &OpenOptions::default()).is_err());
}
