use crate::data::dataset::{Dataset, OpenOptions};
use crate::data::error::DataError;
use crate::data::formats::Format;
use crate::data::formats::test_files::{bad, examples, notices, try_open};

fn open(name: &str, content: &str, map: &str) -> Result<Dataset, DataError> {
    let options = OpenOptions { map: map.parse()?, ..OpenOptions::default() };
    try_open(&[(name, content.as_bytes())], name, &options)
}

#[test]
fn a_map_reads_rows_of_foreign_names_from_lines_and_tables() {
    let map = "question=query,contexts=context_*,answer=output,reference=gold,id=key,group.generator=llm";
    let lines = r#"{"key":7,"query":"q?","context_10":"c","context_2":"b","output":"a","gold":["r"],"llm":"m","x":1}"#;
    let table = "key,query,context_2,context_10,output,gold,llm,x\n7,q?,b,c,a,r,m,1\n";
    for (name, content) in [("rows.jsonl", lines), ("rows.csv", table)] {
        let data = open(name, content, map).unwrap();
        assert_eq!((data.format, data.because.as_str()), (Format::Mapped, "--map names its fields"));
        let example = examples(&data)[0];
        assert_eq!((example.id.as_str(), example.question.as_str()), ("7", "q?"));
        assert_eq!(example.passages.iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!((example.answer.as_deref(), example.references[0].as_str()), (Some("a"), "r"));
        assert_eq!(example.groups["generator"], "m");
        assert!(notices(&data).contains("kept out: `x` (--map group.NAME=FIELD"));
    }
}

#[test]
fn fields_that_the_map_does_not_name_keep_their_usual_names() {
    let data =
        open("rows.jsonl", r#"{"meta":{"q":"q?"},"answer":"a","source_id":"s"}"#, "question=meta.q").unwrap();
    let example = examples(&data)[0];
    assert_eq!((example.question.as_str(), example.answer.as_deref()), ("q?", Some("a")));
    assert_eq!(example.split_key(), "s");
}

#[test]
fn labels_in_a_cell_are_a_json_list() {
    let table = "question,answer,labels\nq?,é wrong,\"[{\"\"start\"\":2,\"\"end\"\":7,\"\"text\"\":\"\"wrong\"\"}]\"\nq?,é,[oops\n";
    let data = open("rows.csv", table, "labels=labels").unwrap();
    assert_eq!(examples(&data)[0].gold_spans.as_ref().unwrap()[0].range, 3..8);
    assert!(bad(&data)[0].reason.contains("expected a JSON list of labels"));
}

#[test]
fn a_field_that_no_record_has_is_an_error_that_lists_the_fields() {
    let told =
        open("rows.jsonl", r#"{"query":"q?","output":"a"}"#, "question=qeury").unwrap_err().to_string();
    assert_eq!(told, "--map: no record has a field `qeury`; there are `query`, `output`");
}

#[test]
fn a_map_on_a_layout_of_its_own_is_refused() {
    let options = OpenOptions {
        map: "question=q".parse().unwrap(),
        format: Some(Format::Ragscope),
        ..OpenOptions::default()
    };
    let told = try_open(&[("rows.jsonl", br#"{"question":"q?"}"#)], "rows.jsonl", &options).unwrap_err();
    assert!(told.to_string().contains("say --format mapped"), "{told}");
}
