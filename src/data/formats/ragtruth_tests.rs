use super::*;
use crate::data::dataset::{Dataset, OpenOptions};
use crate::data::formats::test_files::{bad, examples, notices, public_data, try_open};

const SOURCES: &[u8] = br#"{"source_id":"s1","task_type":"QA","source":"MARCO","source_info":{"question":"which year?","passages":"passage 1:It was 1931.\n\nOr so.\n\npassage 2:Then.\n\n"},"prompt":"..."}
{"source_id":2,"task_type":"Summary","source_info":"A long text.","prompt":"Summarize the following news:\nA long text.\noutput:"}
{"source_id":"s3","task_type":"Data2txt","source_info":{"name":"Caf\u00e9","hours":null,"stars":4.50},"prompt":"Write an overview:\n{}"}
{"source_id":"s4","task_type":"QA"}
{"source_id":"s1","task_type":"QA","source_info":"again"}
"#;

const RESPONSES: &str = r#"{"id":"1","source_id":"s1","model":"m","temperature":null,"labels":[{"start":8,"end":12,"text":"1932","label_type":"Evident Conflict"}],"split":"test","quality":null,"response":"Été was 1932."}
{"id":"2","source_id":"2","model":"m","labels":[],"response":"Short."}
{"id":"3","source_id":"s3","model":"n","response":"Nice."}
{"id":"4","source_id":"s4","model":"n","labels":[],"response":"x"}
{"id":"5","source_id":"gone","model":"n","labels":[],"response":"x"}
{"id":"6","source_id":"s1","model":"n","labels":[{"start":0,"end":99,"text":"x"}],"response":"short"}
{"id":"7","source_id":"s1","model":"n","labels":[],"response":null}"#;

fn open(path: &str) -> Dataset {
    let files = [("response.jsonl", RESPONSES.as_bytes()), ("source_info.jsonl", SOURCES)];
    try_open(&files, path, &OpenOptions::default()).unwrap()
}

#[test]
fn answers_and_sources_are_joined_whichever_path_is_named() {
    let folder = open("");
    for path in ["response.jsonl", "source_info.jsonl"] {
        let file = open(path);
        assert_eq!((&file.rows, &file.hash), (&folder.rows, &folder.hash));
    }
    let first = examples(&folder)[0];
    assert_eq!((first.question.as_str(), first.split_key()), ("which year?", "s1"));
    assert_eq!((first.groups["generator"].as_str(), first.groups["task"].as_str()), ("m", "QA"));
    let span = &first.gold_spans.as_ref().unwrap()[0];
    assert_eq!((span.range.clone(), span.kind.as_deref()), (10..14, Some("Evident Conflict")));
    assert!(folder.documents.is_empty());
}

#[test]
fn sources_of_every_task_become_a_question_and_passages() {
    let data = open("");
    let read = examples(&data);
    let passages: Vec<&str> = read[0].passages.iter().map(|passage| passage.text.as_str()).collect();
    assert_eq!(passages, ["It was 1931.\n\nOr so.", "Then."]);
    assert_eq!(read[1].question, "Summarize the following news:");
    assert_eq!(read[1].passages[0].text, "A long text.");
    assert_eq!(read[1].gold_spans, Some(Vec::new()));
    assert_eq!(read[2].question, "Write an overview:");
    assert_eq!(read[2].passages[0].text, r#"{"name": "Café", "hours": null, "stars": 4.50}"#);
    assert_eq!(read[2].gold_spans, None);
}

#[test]
fn an_answer_that_cannot_be_used_keeps_its_id_and_says_why() {
    let data = open("");
    let bad: Vec<String> = bad(&data).iter().map(ToString::to_string).collect();
    assert!(
        bad[0].starts_with("row 3 (line 4), id `4`: its source (source_info.jsonl, line 4)"),
        "{}",
        bad[0]
    );
    assert!(bad[1].contains("the source `gone` is not in source_info.jsonl"));
    assert!(bad[2].contains("id `6`: label 0 (0..99): expected a span inside the answer"), "{}", bad[2]);
    assert_eq!(bad.len(), 3);
    assert!(notices(&data).contains("line 5 was left out: the source `s1` was there before"));
    let without_answer = examples(&data)[3];
    assert_eq!((without_answer.id.as_str(), without_answer.answer.as_deref()), ("7", None));
    assert_eq!(without_answer.gold_spans, None);
}

#[test]
fn a_missing_companion_is_named() {
    for (name, content, other) in [
        ("response.jsonl", RESPONSES.as_bytes(), "source_info.jsonl"),
        ("source_info.jsonl", SOURCES, "response.jsonl"),
    ] {
        let told = try_open(&[(name, content)], name, &OpenOptions::default()).unwrap_err().to_string();
        assert!(told.contains(&format!("put `{other}` into the same folder")), "{told}");
    }
}

#[test]
fn glued_passages_of_another_form_stay_one_passage() {
    for glued in ["passage 1:no end", "Passage 1: x\n\n", "passage 2:x\n\n", ""] {
        assert_eq!(split_passages(glued), [glued]);
    }
    assert_eq!(split_passages("passage 1:a\n\npassage 3:b\n\n"), ["a\n\npassage 3:b"]);
}

fn public() -> Option<(Dataset, PathBuf)> {
    let folder = public_data("ragtruth")?;
    Some((Dataset::open(&folder, &OpenOptions::default()).unwrap(), folder))
}

#[test]
fn the_public_test_split_has_900_answers_150_sources_and_235_spans_in_160_answers() {
    let Some((data, folder)) = public() else { return };
    assert_eq!((data.rows.len(), data.examples().count()), (900, 900));
    assert_eq!(data.name, "ragtruth");
    let sources: std::collections::HashSet<&str> = data.examples().map(Example::split_key).collect();
    assert_eq!(sources.len(), 150);
    assert_eq!(data.examples().filter(|example| example.labelled_inconsistent() == Some(true)).count(), 160);
    assert_eq!(data.examples().flat_map(|example| example.gold_spans.iter().flatten()).count(), 235);
    // Every span is the text that the file says it is, so no unit had to be guessed.
    let lines = std::fs::read_to_string(folder.join("response.jsonl")).unwrap();
    let mut checked = 0;
    for (line, example) in lines.lines().zip(data.examples()) {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["id"], example.id.as_str());
        let answer = example.answer.as_deref().unwrap();
        let labels = record["labels"].as_array().unwrap();
        for (label, span) in labels.iter().zip(example.gold_spans.as_ref().unwrap()) {
            assert_eq!(label["text"], answer[span.range.clone()]);
            checked += 1;
        }
    }
    assert_eq!(checked, 235);
    assert!(data.notices.is_empty(), "{:?}", data.notices);
}

#[test]
fn the_prompts_of_the_public_test_split_are_their_parts_put_together() {
    let Some((data, folder)) = public() else { return };
    let mut by_source = HashMap::new();
    for example in data.examples() {
        by_source.entry(example.split_key()).or_insert(example);
    }
    let mut checked = 0;
    for line in std::fs::read_to_string(folder.join("source_info.jsonl")).unwrap().lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let example = by_source[record["source_id"].as_str().unwrap()];
        assert_eq!(example.passages.len(), 3);
        let glued = [1, 2, 3]
            .map(|number| format!("passage {number}:{}\n\n", example.passages[number - 1].text))
            .concat();
        assert_eq!(record["source_info"]["passages"], glued.as_str());
        let prompt = format!(
            "Briefly answer the following question:\n{}\nBear in mind that your response should be strictly based on \
             the following three passages:\n{glued}In case the passages do not contain the necessary information to \
             answer the question, please reply with: \"Unable to answer based on given passages.\"\noutput:",
            example.question
        );
        assert_eq!(record["prompt"], prompt.as_str());
        checked += 1;
    }
    assert_eq!(checked, 150);
}

#[test]
fn the_public_labels_of_summaries_and_data_fit_their_answers() {
    let Some(path) = public_data("ragtruth/extra") else { return };
    let path = path.join("llama2_7b_test_summary_data2txt_labels_no_source.jsonl");
    let responses = std::fs::read_to_string(path).unwrap();
    // The public file comes without sources; any will do for the labels.
    let source = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let id = record["source_id"].clone();
        serde_json::json!({"source_id": id, "task_type": "Summary", "source_info": "x", "prompt": "Sum up: x"}).to_string()
    };
    let sources = responses.lines().map(source).collect::<Vec<_>>().join("\n");
    let files: [(&str, &[u8]); 2] =
        [("response.jsonl", responses.as_bytes()), ("source_info.jsonl", sources.as_bytes())];
    let data = try_open(&files, "", &OpenOptions::default()).unwrap();
    assert_eq!((data.rows.len(), data.examples().count()), (300, 300));
    assert_eq!(data.examples().flat_map(|example| example.gold_spans.iter().flatten()).count(), 272);
}
