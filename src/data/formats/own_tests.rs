use super::*;
use crate::data::OffsetUnit;
use crate::data::dataset::OpenOptions;
use crate::data::example::Example;
use crate::data::formats::jsonl::Records;
use crate::data::formats::test_files::{bad, error, examples, notices, open, open_bytes, try_open};

fn example(line: &str) -> Example {
    match parse_line(line.as_bytes(), 0, 1) {
        Row::Example(example) => example,
        Row::Bad(bad) => panic!("{bad}"),
    }
}

fn reason(line: &[u8]) -> String {
    match parse_line(line, 4, 7) {
        Row::Bad(bad) => bad.to_string(),
        Row::Example(example) => panic!("{example:?}"),
    }
}

#[test]
fn every_documented_field_is_read() {
    let read = example(
        r#"{"id": 12345678901234567890123, "question": "When?", "answer": "In 1932, é 🙂 so.",
            "reference": "1931", "references": ["1931", "May 1931"], "source_ids": ["d1", 7],
            "contexts": ["It began in 1931.", {"id": 3, "document": "d1", "text": "Other.", "score": 0.5}],
            "labels": [{"start": 9, "end": 12, "text": "é 🙂", "label": "baseless"}],
            "consistent": false, "groups": {"generator": "m", "year": 2024, "none": null}, "source_id": 5}"#,
    );
    assert_eq!(read.id, "12345678901234567890123");
    assert_eq!(read.references, ["1931", "May 1931"]);
    assert_eq!(read.source_documents, ["d1", "7"]);
    assert_eq!(read.passages[0].text, "It began in 1931.");
    let second = &read.passages[1];
    assert_eq!((second.id.as_deref(), second.document.as_deref()), (Some("3"), Some("d1")));
    assert_eq!(second.score, Some(0.5));
    let spans = read.gold_spans.as_ref().unwrap();
    assert_eq!(
        (&read.answer.as_ref().unwrap()[spans[0].range.clone()], spans[0].kind.as_deref()),
        ("é 🙂", Some("baseless"))
    );
    assert_eq!(read.gold_consistent, Some(false));
    assert_eq!(read.labelled_inconsistent(), Some(true));
    assert_eq!(read.groups["generator"], "m");
    assert_eq!(read.groups["year"], "2024");
    assert_eq!(read.split_key(), "5");
    assert!(!read.groups.contains_key("none"));
}

#[test]
fn only_the_question_is_required_and_null_is_as_good_as_none() {
    let read = example(r#"{"question": "q?", "answer": null, "contexts": null, "labels": null, "id": null}"#);
    assert_eq!(read.id, "row-0");
    assert_eq!((read.answer, read.gold_spans, read.gold_consistent), (None, None, None));
    assert_eq!(example(r#"{"question": "q?", "answer": NaN}"#).answer, None);
    assert_eq!(example(r#"{"question": "q?", "answer": "  "}"#).answer, None);
    assert_eq!(example(r#"{"question": "q?", "answer": "nan"}"#).answer.as_deref(), Some("nan"));
    assert_eq!(example(r#"{"question": "q?", "answer": "x", "labels": []}"#).gold_spans, Some(Vec::new()));
}

#[test]
fn a_stated_unit_of_offsets_is_followed() {
    for (unit, start, end) in [("codepoint", 39, 43), ("byte", 49, 55), ("utf16", 40, 44)] {
        let line = format!(
            r#"{{"question": "q?", "answer": "Café Ω costs 12 € — naïve 🙂 guests pay 15 €.", "offset_unit": "{unit}",
                "labels": [{{"start": {start}, "end": {end}, "text": "15 €"}}]}}"#
        );
        assert_eq!(example(&line).gold_spans.unwrap()[0].range, 49..55, "{unit}");
        let unstated = line.replace(&format!("\"offset_unit\": \"{unit}\","), "");
        assert_eq!(example(&unstated).gold_spans.unwrap()[0].range, 49..55, "found: {unit}");
    }
}

#[test]
fn a_bad_record_says_its_place_its_field_what_was_expected_and_what_came() {
    assert_eq!(
        reason(br#"{"id": "x", "question": ["q"]}"#),
        "row 4 (line 7), id `x`: field `question`: expected text, found a list"
    );
    assert!(reason(br#"{"id": "x"}"#).contains("expected a question in `question`, found none"));
    assert!(reason(b"[1]").contains("expected an object, found a list"));
    assert!(reason(br#"{"question": "q"#).contains("closing quote"));
    assert!(reason(b"{\"question\": \"a\xffb\"}").contains("byte 0xff at byte 15"));
    assert!(reason(br#"{"question":"q?","answer":3.5,"labels":[{"start":-1,"end":2}]}"#).contains("`-1`"));
    assert!(reason(br#"{"question":"q?","labels":[{"start":0,"end":2}]}"#).contains("expected an answer"));
    assert!(
        reason(br#"{"question":"q?","answer":"ab","labels":[{"start":0,"end":9}]}"#)
            .contains("label 0 (0..9)")
    );
    assert!(
        reason(br#"{"question":"q?","contexts":[{"title":"x"}]}"#)
            .contains("context 0: expected a text in `text`")
    );
    assert!(reason(br#"{"question":"q?","contexts":{"text":["x"]}}"#).contains("`text`"));
    assert!(reason(br#"{"question":"q?","offset_unit":"words"}"#).contains("unknown offset unit `words`"));
    assert!(reason(br#"{"question":"q?","groups":[1]}"#).contains("field `groups`"));
    assert!(reason(br#"{"question":"q?","consistent":"yes"}"#).contains("true or false"));
    let hostile = reason("{\"question\":\"q\",\"offset_unit\":\"\u{1b}[2J\"}".as_bytes());
    assert!(hostile.contains("␛[2J") && !hostile.contains('\u{1b}'));
}

/// P10: the whole case.
#[test]
fn p10_line_separators_inside_texts_end_no_record_and_shift_no_line() {
    let bytes = "{\"id\":\"a\",\"question\":\"q1\"}\n\
         \n\
         {\"id\":\"b\",\"question\":\"q2\",\"answer\":\"one\u{2028}two\u{85}three\u{2029}four\"}\n\
         {\"id\":\"c\",\"question\":\"q3\",\"answer\":\"vt\u{b}ff\u{c}\"}\r\n\
         {broken\n\
         {\"id\":\"d\",\"question\":\"q4\"}"
        .as_bytes();
    let data = open_bytes("cut.jsonl", bytes);
    let read = examples(&data);
    assert_eq!(read.iter().map(|example| example.id.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    assert_eq!(read[1].answer.as_deref(), Some("one\u{2028}two\u{85}three\u{2029}four"));
    assert_eq!(read[2].answer.as_deref(), Some("vt\u{b}ff\u{c}"));
    assert_eq!((bad(&data)[0].row, bad(&data)[0].line), (3, Some(5)));
    let streamed: Vec<Row> = Records::new(bytes, "cut.jsonl")
        .map(|record| {
            let record = record.unwrap();
            parse_line(&record.content.unwrap(), record.row, record.line)
        })
        .collect();
    assert_eq!(streamed, data.rows);
}

#[test]
fn a_byte_order_mark_before_the_first_record_is_no_part_of_it() {
    let data = open_bytes("bom.jsonl", "\u{feff}{\"question\":\"q?\"}\r\n".as_bytes());
    assert_eq!(examples(&data)[0].question, "q?");
    let utf16: Vec<u8> = "\u{feff}{\"question\":\"q?\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let told = error("wide.jsonl", &utf16, &OpenOptions::default());
    assert!(told.contains("UTF-16") && told.contains("iconv"), "{told}");
}

#[test]
fn what_was_tolerated_is_told_once_and_counted() {
    let data = open(
        "odd.jsonl",
        "{\"question\":\"q \\ud83d\",\"answer\":NaN,\"model\":\"m\",\"extra\":{\"a\":1}}\n\
         {\"question\":\"a\",\"question\":\"q\\ude42\\ud83d\",\"answer\":\"\",\"model\":\"m\",\"contexts\":[[\"c1\",\"c2\"],\"\",null]}\n",
    );
    let told = notices(&data);
    assert!(
        told.contains("half of a surrogate pair was replaced by U+FFFD (3 times, first in row 0)"),
        "{told}"
    );
    assert!(told.contains("NaN or Infinity"), "{told}");
    assert!(told.contains("a field name occurs twice"), "{told}");
    assert!(told.contains("kept out: `model`, `extra`;"), "{told}");
    assert!(told.contains("a blank answer was read as no answer (row 1)"), "{told}");
    assert!(told.contains("unwrapped"), "{told}");
    assert_eq!(examples(&data)[1].question, "q\u{fffd}\u{fffd}");
    assert_eq!(examples(&data)[1].passages.len(), 2);
}

#[test]
fn a_folder_of_examples_and_documents_is_opened_whole() {
    let files: [(&str, &[u8]); 2] = [
        ("examples.jsonl", br#"{"question":"q?","source_ids":["d1","gone"]}"#),
        ("documents.jsonl", b"{\"id\":\"d1\",\"title\":\"T\",\"text\":\"one\",\"groups\":{\"domain\":\"sea\"}}\n{\"id\":2,\"parts\":[\"a\",\"b\"]}"),
    ];
    let folder = try_open(&files, "", &OpenOptions::default()).unwrap();
    assert_eq!(folder.documents.len(), 2);
    assert_eq!(folder.documents[0].groups["domain"], "sea");
    assert_eq!((folder.documents[1].id.as_str(), folder.documents[1].parts.len()), ("2", 2));
    assert!(notices(&folder).contains("does not have"));
    let file = try_open(&files, "examples.jsonl", &OpenOptions::default()).unwrap();
    assert_eq!((file.documents, &file.hash), (folder.documents, &folder.hash));
}

#[test]
fn a_bad_document_stops_the_opening_and_names_its_line() {
    for (documents, expected) in [
        (
            "{\"id\":\"d\",\"text\":\"x\"}\n\n{\"id\":\"d\",\"text\":\"y\"}",
            "line 3: expected an id of its own",
        ),
        ("{\"text\":\"x\"}", "line 1: expected `id`"),
        ("{\"id\":1}", "found neither"),
        ("{\"id\":1,\"text\":\" \"}", "a blank one"),
        ("{\"id\":1,\"text\":\"a\",\"parts\":[]}", "found both"),
    ] {
        let files: [(&str, &[u8]); 2] =
            [("examples.jsonl", br#"{"question":"q?"}"#), ("documents.jsonl", documents.as_bytes())];
        let told = try_open(&files, "", &OpenOptions::default()).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn the_unit_of_a_file_is_found_over_all_its_records() {
    let line = |start: usize, end: usize, text: &str| {
        format!(
            r#"{{"question":"q?","answer":"é is wrong","labels":[{{"start":{start},"end":{end}{text}}}]}}"#
        )
    };
    let content = [line(3, 5, ",\"text\":\"is\""), line(6, 11, "")].join("\n");
    let data = open("bytes.jsonl", &content);
    let ranges: Vec<_> =
        examples(&data).iter().map(|e| e.gold_spans.as_ref().unwrap()[0].range.clone()).collect();
    assert_eq!(ranges, [3..5, 6..11]);
    assert!(notices(&data).contains("read as UTF-8 bytes: 1 of 1"));
    let forced = OpenOptions { offset_unit: Some(OffsetUnit::CodePoint), ..OpenOptions::default() };
    let data = try_open(&[("bytes.jsonl", content.as_bytes())], "bytes.jsonl", &forced).unwrap();
    assert_eq!(bad(&data).len(), 2);
}

#[test]
fn contexts_that_are_the_text_of_a_list_are_its_items_and_never_a_passage() {
    let texts =
        |line: &str| example(line).passages.into_iter().map(|passage| passage.text).collect::<Vec<_>>();
    assert_eq!(texts(r#"{"question":"q?","contexts":"['a', \"it's\"]","labels":[]}"#), ["a", "it's"]);
    assert_eq!(texts(r#"{"question":"q?","contexts":"plain"}"#), ["plain"]);
    assert!(reason(br#"{"question":"q?","contexts":"['a', 'b"}"#).contains("looks like a list"));
    // A text that is quoted from somewhere is an answer like any other.
    assert_eq!(example(r#"{"question":"q?","answer":"['a', 'b"}"#).answer.as_deref(), Some("['a', 'b"));
}
