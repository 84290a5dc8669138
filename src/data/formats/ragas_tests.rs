use crate::data::dataset::OpenOptions;
use crate::data::example::Example;
use crate::data::formats::Format;
use crate::data::formats::test_files::{bad, error, examples, notices, open, public_data, try_open};
use crate::data::{Dataset, FieldMap};

fn contexts(example: &Example) -> Vec<&str> {
    example.passages.iter().map(|passage| passage.text.as_str()).collect()
}

/// P11: the whole case.
#[test]
fn p11_contexts_that_arrive_as_the_text_of_a_list_are_read_or_refused() {
    let table = r#"question,contexts,answer,ground_truth
q1,"[""one"", ""it's two""]",a,['1931']
q2,"['one', ""it's two""]",a,1931
q3,one,a,
q4,,nan,nan
q5,[],,[]
q6,"['one', 'tw",a,x
q7,"['a' ... 'z']",a,x
q8,"[Document(page_content='x')]",a,x
q9,"array(['a'
 'b'], dtype=object)",a,"['x', 'y']"
"#;
    let data = open("p11.csv", table);
    assert_eq!(data.format, Format::Ragas);
    let read = examples(&data);
    let counts: Vec<usize> = read.iter().map(|example| example.passages.len()).collect();
    assert_eq!(counts, [2, 2, 1, 0, 0, 2]);
    assert_eq!(contexts(read[0]), ["one", "it's two"]);
    assert_eq!(contexts(read[1]), ["one", "it's two"]);
    assert_eq!(contexts(read[5]), ["a", "b"]);
    assert_eq!(read[0].references, ["1931"]);
    assert_eq!(read[1].references, ["1931"]);
    assert!(read[2].references.is_empty() && read[3].references.is_empty() && read[4].references.is_empty());
    assert_eq!(read[5].references, ["x", "y"]);
    assert_eq!((read[3].answer.as_deref(), read[4].answer.as_deref()), (None, None));
    let told = notices(&data);
    assert!(
        told.contains("a written list of one in place of a reference was read as its one item (row 0)"),
        "{told}"
    );
    assert!(told.contains("`nan` in place of an answer"), "{told}");
    let bad: Vec<String> = bad(&data).iter().map(ToString::to_string).collect();
    assert!(bad[0].starts_with("row 5 (line 7): field `contexts`: looks like a list, but"), "{}", bad[0]);
    assert!(bad[1].contains("cut by `...`") && bad[2].contains("Document(...)"));
    assert_eq!(bad.len(), 3);
}

#[test]
fn both_generations_of_names_are_read_even_in_one_row() {
    let data = open(
        "mixed.jsonl",
        concat!(
            r#"{"user_input":"q1","retrieved_contexts":["c1","c2"],"response":"a1","reference":"r1","query_style":"odd"}"#,
            "\n",
            r#"{"question":"q2","contexts":["c1"],"answer":"a2","ground_truth":"r2"}"#,
            "\n",
            r#"{"question":"q3","contexts":"['c1' 'c2']","response":"a3","ground_truths":["r3","r4"]}"#,
            "\n",
            r#"{"user_input":"q4","question":"old","contexts":["c"],"retrieved_context_ids":["d7"],"reference_context_ids":["d7"]}"#,
        ),
    );
    assert_eq!(data.format, Format::Ragas);
    let read = examples(&data);
    assert_eq!(
        read.iter().map(|example| example.question.as_str()).collect::<Vec<_>>(),
        ["q1", "q2", "q3", "q4"]
    );
    assert_eq!(read.iter().map(|example| example.passages.len()).collect::<Vec<_>>(), [2, 1, 2, 1]);
    assert_eq!(read[2].answer.as_deref(), Some("a3"));
    assert_eq!(read[2].references, ["r3", "r4"]);
    assert_eq!(read[3].passages[0].document.as_deref(), Some("d7"));
    assert_eq!(read[3].source_documents, ["d7"]);
    let told = notices(&data);
    assert!(
        told.contains("`user_input` and `question` differ in one record; `user_input` counts (row 3)"),
        "{told}"
    );
    assert!(told.contains("kept out: `query_style`"), "{told}");
}

#[test]
fn a_conversation_of_several_turns_is_a_bad_row() {
    let data = open(
        "turns.jsonl",
        concat!(
            r#"{"user_input":[{"content":"hi","type":"human"}],"reference":"x"}"#,
            "\n",
            r#"{"user_input":"q","retrieved_contexts":[[["too deep"]]]}"#,
            "\n",
            r#"{"user_input":"q","retrieved_contexts":["c"]}"#,
        ),
    );
    assert!(bad(&data)[0].reason.contains("several turns"));
    assert!(bad(&data)[1].reason.contains("retrieved_contexts"));
    assert_eq!(examples(&data).len(), 1);
}

#[test]
fn a_list_of_records_and_other_delimiters_are_read() {
    let data = open("rows.json", r#"[{"user_input":"q1","response":"a"},{"user_input":"q2"},7]"#);
    assert_eq!((examples(&data).len(), bad(&data)[0].row), (2, 2));
    for (name, delimiter) in [("rows.tsv", '\t'), ("rows.csv", ';')] {
        let table = "user_input,response\nq1,\"a\nb\"\n,a\nq3".replace(',', &delimiter.to_string());
        let data = open(name, &table);
        assert_eq!(examples(&data)[0].answer.as_deref(), Some("a\nb"));
        let bad = bad(&data);
        assert_eq!((bad[0].line, bad[1].line), (Some(4), Some(5)), "{name}");
        assert!(bad[1].reason.contains("expected 2 cells as in the header, found 1"));
    }
}

#[test]
fn a_cell_that_is_no_utf8_is_a_bad_row_that_names_its_column_and_byte() {
    let table = b"user_input,response\nq1,caf\xe9\nq2,ok\n";
    let data = try_open(&[("latin.csv", table)], "latin.csv", &OpenOptions::default()).unwrap();
    assert!(
        bad(&data)[0].reason.contains("column `response`") && bad(&data)[0].reason.contains("0xe9 at byte 3")
    );
    assert_eq!(examples(&data).len(), 1);
}

#[test]
fn a_table_of_other_names_asks_for_a_map() {
    let told = error("foreign.csv", b"prompt,output\nq,a\n", &OpenOptions::default());
    assert!(told.contains("`prompt`, `output`") && told.contains("--map question="), "{told}");
}

#[test]
fn a_public_table_is_read_with_a_map() {
    let Some(path) = public_data("exports/ragas/hf_doc_qa_eval.csv") else { return };
    let map: FieldMap = "question=question,reference=expected_answer".parse().unwrap();
    let data = Dataset::open(path, &OpenOptions { map, ..OpenOptions::default() }).unwrap();
    assert_eq!(data.rows.len(), 66);
    assert_eq!(data.examples().filter(|example| example.references.len() == 1).count(), 65);
}
