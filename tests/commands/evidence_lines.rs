//! `ragscope score` and `ragscope open --plain`: one line a record, in order, nothing lost.

use ragscope::evidence::{Evidence, Status};
use serde_json::json;

use crate::sandbox::{Ran, Sandbox, tiny_model};

/// A sandbox with the tiny model in `tiny`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    sandbox
}

fn reason(evidence: &Evidence) -> &str {
    evidence.reason.as_deref().unwrap_or_default()
}

fn ids(run: &[Evidence]) -> Vec<&str> {
    run.iter().map(|one| one.id.as_str()).collect()
}

fn statuses(run: &[Evidence]) -> Vec<Status> {
    run.iter().map(|one| one.status).collect()
}

/// Records of every fate; `hard()` says which.
const HARD: &str = concat!(
    r#"{"id":"fine","question":"When?","contexts":["At noon."],"answer":"At noon."}"#,
    "\n",
    r#"{"id":"broken","question":"When?","#,
    "\n\n",
    r#"{"id":"unanswered","question":"When?","contexts":["At noon."],"answer":null}"#,
    "\n",
    r#"{"id":"bare","question":"When?","answer":"At noon."}"#,
    "\n",
    r#"{"id":"mislabelled","question":"When?","contexts":["At noon."],"answer":"At noon.","labels":[{"start":3,"end":99}]}"#,
    "\n",
    r#"{"id":"mute","contexts":["At noon."],"answer":"At noon."}"#,
    "\n",
    r#"["no", "object"]"#,
    "\n",
    r#"{"id":"last","question":"When?","contexts":["At noon."],"answer":"At one."}"#,
);

#[track_caller]
fn holds_every_record_with_its_reason(ran: &Ran) {
    use Status::{Error, Ok, Partial};
    let run = ran.evidence();
    assert_eq!(run.iter().map(|one| one.row).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7], "{ran}");
    assert_eq!(ids(&run), ["fine", "row-1", "unanswered", "bare", "mislabelled", "mute", "row-6", "last"]);
    assert_eq!(statuses(&run), [Ok, Error, Partial, Partial, Error, Error, Error, Ok], "{ran}");
    // Line numbers are those of the file, blank lines counted.
    assert!(reason(&run[1]).starts_with("line 2:"), "{}", reason(&run[1]));
    assert!(reason(&run[2]).contains("no answer"), "{}", reason(&run[2]));
    assert!(reason(&run[3]).contains("no passages"), "{}", reason(&run[3]));
    assert!(
        reason(&run[4]).contains("line 6") && reason(&run[4]).contains("reaches 99"),
        "{}",
        reason(&run[4])
    );
    assert!(reason(&run[5]).contains("question"), "{}", reason(&run[5]));
    assert!(reason(&run[6]).contains("object"), "{}", reason(&run[6]));
    for one in &run {
        assert_eq!(one.status == Ok, one.reason.is_none(), "{one:?}");
        assert_eq!(one.status == Ok, one.reading.is_some(), "{one:?}");
    }
}

#[test]
fn every_record_of_a_file_gives_a_line_in_order_and_a_bad_one_says_why() {
    let sandbox = sandbox();
    sandbox.write("hard.jsonl", HARD);
    let ran = sandbox.run(&["score", "hard.jsonl", "--model", "tiny"]).code(0);
    holds_every_record_with_its_reason(&ran);
    ran.complains(&["8 records: 2 ok, 2 partial, 4 in error", "(4 unusable)"]);
}

#[test]
fn a_stream_gives_the_same_lines_as_a_file() {
    let sandbox = sandbox();
    let ran = sandbox.run_with_input(&["score", "-", "--model", "tiny"], HARD.as_bytes()).code(0);
    holds_every_record_with_its_reason(&ran);
    sandbox.write("hard.jsonl", HARD);
    let file = sandbox.run(&["score", "hard.jsonl", "--model", "tiny"]).code(0);
    for (mut from_stream, mut from_file) in ran.evidence().into_iter().zip(file.evidence()) {
        from_stream.provenance.data = None;
        from_file.provenance.data = None;
        from_file.provenance.data_hash = None;
        assert_eq!(from_stream, from_file);
    }
}

#[test]
fn an_empty_stream_is_an_empty_run() {
    let ran = sandbox().run(&["score", "-", "--model", "tiny"]).code(0).complains(&["0 records"]);
    assert!(ran.stdout.is_empty(), "{ran}");
}

#[test]
fn without_answers_there_is_nothing_to_read_and_no_model_is_needed_to_look() {
    let sandbox = Sandbox::new();
    let unread: Vec<&str> = HARD.lines().filter(|line| !line.contains("\"answer\":\"")).collect();
    sandbox.write("unread.jsonl", unread.join("\n"));
    sandbox
        .run(&["open", "--plain", "unread.jsonl"])
        .code(0)
        .complains(&["no record has an answer"])
        .prints(&["Example 1 of 3, id row-0: error", "id unanswered: not scored", "Answer: none."]);
}

#[test]
fn a_model_without_heads_of_its_own_is_read_by_the_baseline_and_that_is_said() {
    let sandbox = sandbox();
    sandbox.write("hard.jsonl", HARD);
    let ran = sandbox.run(&["score", "hard.jsonl", "--model", "tiny"]).code(0);
    let ran = ran.complains(&["note:", "negative log-likelihood only", "`ragscope train`"]);
    let run = ran.evidence();
    let reading = run[0].reading.as_ref().unwrap_or_else(|| panic!("no reading in {ran}"));
    assert_eq!(reading.detectors.len(), 1, "{ran}");
    assert_eq!(reading.factuality, None, "{ran}");
    assert!(reading.factuality_absent.is_some(), "{ran}");
    assert_eq!(run[0].provenance.model.as_deref(), Some("tiny"), "{ran}");
}

#[test]
fn heads_of_another_model_that_were_asked_for_by_name_are_refused_with_4() {
    let sandbox = sandbox();
    sandbox.write("hard.jsonl", HARD);
    for name in ["token.safetensors", "answer.safetensors"] {
        let shipped = crate::sandbox::repository("assets/heads/smollm2-135m-instruct").join(name);
        sandbox.write(&format!("heads/{name}"), std::fs::read(shipped).expect("a shipped head"));
    }
    let ran = sandbox
        .run(&["score", "hard.jsonl", "--model", "tiny", "--heads", "heads"])
        .code(4)
        .complains(&["SmolLM2-135M-Instruct", "tiny"]);
    assert!(ran.stdout.is_empty(), "{ran}");
}

#[test]
fn a_file_of_evidence_is_never_replaced_unasked() {
    let sandbox = sandbox();
    sandbox.write("hard.jsonl", HARD);
    sandbox.write("run.jsonl", "precious");
    let arguments = ["score", "hard.jsonl", "--model", "tiny", "--output", "run.jsonl"];
    sandbox.run(&arguments).code(2).complains(&["run.jsonl exists already", "--force"]);
    assert_eq!(sandbox.read("run.jsonl"), "precious");
    let ran = sandbox.run(&[&arguments[..], &["--force"]].concat()).code(0);
    assert!(ran.stdout.is_empty(), "{ran}");
    assert_eq!(sandbox.read("run.jsonl").lines().count(), 8);
}

#[test]
fn evidence_can_be_opened_and_reported_without_any_model() {
    let sandbox = sandbox();
    sandbox.write("hard.jsonl", HARD);
    sandbox.run(&["score", "hard.jsonl", "--model", "tiny", "--output", "run.jsonl"]).code(0);
    for command in [vec!["open", "--plain", "run.jsonl"], vec!["report", "run.jsonl", "--format", "text"]] {
        sandbox.run(&command).code(0).prints(&[
            "8 examples: 2 complete, 2 partial, 4 with an error",
            "id fine",
            "id row-6: error",
        ]);
    }
}

/// P4.
#[test]
fn a_question_is_never_a_query_language() {
    let sandbox = sandbox();
    let documents = [
        json!({"id": "ferry", "text": "The ferry \"Alba\" is 40 m long."}),
        json!({"id": "price", "text": "Ticket price (2024): 12 €"}),
        json!({"id": "times", "text": "See http://example.org/x for times."}),
    ];
    let questions = [
        ("What is \"Alba\"?", Some("ferry")),
        ("price: how much (2024)?", Some("price")),
        ("what's at http://example.org/x?", Some("times")),
        ("unbalanced ( paren", None),
        ("fares [adult] {child}", None),
        ("AND", None),
        ("*", None),
        ("?!…", None),
    ];
    let examples: Vec<_> =
        questions.iter().map(|(question, _)| json!({"question": question, "answer": "No."})).collect();
    sandbox.write_lines("ferry/documents.jsonl", &documents);
    sandbox.write_lines("ferry/examples.jsonl", &examples);
    let ran = sandbox.run(&["score", "ferry", "--model", "tiny"]).code(0);
    let run = ran.evidence();
    assert_eq!(run.len(), questions.len(), "{ran}");
    for (one, (question, first)) in run.iter().zip(questions) {
        assert_ne!(one.status, Status::Error, "{question}: {ran}");
        if let Some(first) = first {
            assert_eq!(one.chunks[0].document.as_deref(), Some(first), "{question}: {ran}");
        }
    }
    for one in &run[6..] {
        assert!(one.chunks.is_empty(), "{ran}");
        assert!(one.notices.iter().any(|notice| notice.contains("no searchable words")), "{ran}");
    }
    let plain = sandbox.run(&["open", "--plain", "ferry", "--model", "tiny"]).code(0);
    plain.prints(&["Example 8 of 8", "no searchable words", "document ferry"]);
}

/// P4: the result of a question is that of its bare words.
#[test]
fn punctuation_changes_nothing_about_what_is_retrieved() {
    let sandbox = sandbox();
    sandbox.write_lines(
        "a/documents.jsonl",
        &[
            json!({"id": "price", "text": "Ticket price (2024): 12 €"}),
            json!({"id": "other", "text": "How much is a fare? 2024 was dear."}),
        ],
    );
    sandbox.write_lines(
        "a/examples.jsonl",
        &[
            json!({"question": "price: how +much -(2024)~2?", "answer": "12"}),
            json!({"question": "price how much 2024 2", "answer": "12"}),
        ],
    );
    let ran = sandbox.run(&["score", "a", "--model", "tiny"]).code(0);
    let run = ran.evidence();
    assert!(!run[0].chunks.is_empty(), "{ran}");
    assert_eq!(run[0].chunks, run[1].chunks, "{ran}");
}

/// P10.
#[test]
fn lines_end_at_line_feeds_only_and_odd_separators_travel_escaped() {
    let sandbox = sandbox();
    let separators = "one\u{2028}two\u{85}three\u{2029}four";
    let text = format!(
        "{{\"id\":\"a\",\"question\":\"q\",\"contexts\":[\"c\"],\"answer\":\"plain\"}}\n\
         {{\"id\":\"b\",\"question\":\"q\",\"contexts\":[\"{separators}\"],\"answer\":\"{separators}\"}}\n\
         \n{{\"id\":\"c\",\"question\":\"q\",\"contexts\":[\"c\"],\"answer\":\"end\"}}\r\n\
         {{\"id\":\"d\",\"question\":\"q\",\"answer\"",
    );
    sandbox.write("separators.jsonl", &text);
    let ran = sandbox.run(&["score", "separators.jsonl", "--model", "tiny"]).code(0);
    let run = ran.evidence();
    assert_eq!(ids(&run), ["a", "b", "c", "row-3"], "{ran}");
    assert_eq!(run[1].answer.as_deref(), Some(separators), "{ran}");
    assert_eq!(run[1].chunks[0].text, separators, "{ran}");
    assert_eq!(run[2].answer.as_deref(), Some("end"), "{ran}");
    assert!(reason(&run[3]).starts_with("line 5:"), "{}", reason(&run[3]));
    assert!(ran.stdout.contains("\\u2028") && ran.stdout.contains("\\u2029"), "{ran}");
    assert!(!ran.stdout.contains(['\u{2028}', '\u{2029}', '\u{85}', '\r']), "{ran}");
    let plain = sandbox.run(&["open", "--plain", "separators.jsonl", "--model", "tiny"]).code(0);
    plain.prints(&["Example 4 of 4", "line 5:"]).harmless();
}

/// P11.
#[test]
fn contexts_written_as_the_text_of_a_list_are_lists_again() {
    let sandbox = sandbox();
    let cell = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut table = vec!["question,contexts,answer,ground_truth".to_owned()];
    for contexts in [r#"["one", "it's two"]"#, r#"['one', "it's two"]"#, "one", "", "[]", "['one', \"two"] {
        table.push(format!("q,{},a,{}", cell(contexts), cell("['1931']")));
    }
    sandbox.write("ragas.csv", table.join("\n"));
    let ran = sandbox.run(&["score", "ragas.csv", "--model", "tiny"]).code(0).complains(&["ragas"]);
    let run = ran.evidence();
    let counts: Vec<usize> = run.iter().map(|one| one.chunks.len()).collect();
    assert_eq!(counts, [2, 2, 1, 0, 0, 0], "{ran}");
    assert_eq!(run[0].chunks[1].text, "it's two", "{ran}");
    assert_eq!(run[1].chunks[1].text, "it's two", "{ran}");
    assert_eq!(run[0].references, ["1931"], "{ran}");
    assert_eq!(run[5].status, Status::Error, "{ran}");
    assert!(reason(&run[5]).contains("contexts"), "{}", reason(&run[5]));
    let plain = sandbox.run(&["open", "--plain", "ragas.csv", "--model", "tiny"]).code(0);
    plain.prints(&["Example 6 of 6", "it's two", "1931", "contexts"]);
}

#[test]
fn a_second_look_comes_from_the_cache_and_prints_the_same() {
    let sandbox = sandbox();
    sandbox.write("hard.jsonl", HARD);
    let arguments = ["open", "--plain", "hard.jsonl", "--model", "tiny"];
    let first = sandbox.run(&arguments).code(0).complains(&["loading tiny"]);
    let second = sandbox.run(&arguments).code(0);
    assert_eq!(second.stdout, first.stdout);
    assert!(!second.stderr.contains("loading tiny"), "{second}");
    // Other data are never shown from it.
    sandbox.write("hard.jsonl", HARD.replace("At one.", "At two."));
    sandbox.run(&arguments).code(0).complains(&["loading tiny"]).prints(&["At two."]);
}

/// P9: what a record's neighbours are, and in which order they come, must not move its scores.
#[test]
fn scores_do_not_depend_on_which_records_are_read_beside_it() {
    let sandbox = sandbox();
    let short = json!({"id": "A", "question": "When?", "contexts": ["At noon."], "answer": "At noon."});
    let long_passage = "The gate opens at seven and closes at nine. ".repeat(8);
    let long = json!({"id": "B", "question": "When does it open?", "contexts": [long_passage],
        "answer": "It opens at seven, and it closes at nine in the evening, every day but Monday."});
    let alone = {
        sandbox.write_lines("a.jsonl", std::slice::from_ref(&short));
        sandbox.run(&["score", "a.jsonl", "--model", "tiny"]).code(0).evidence().remove(0)
    };
    let scores = |one: &Evidence| -> Vec<f32> {
        let reading = one.reading.as_ref().expect("it was read");
        let raw = reading.detectors.iter().flat_map(|detector| detector.raw.iter());
        raw.chain(&reading.log_prob_with).chain(&reading.log_prob_without).copied().collect()
    };
    let expected = scores(&alone);
    for records in [vec![&short, &long], vec![&long, &short], vec![&short, &short, &long]] {
        let records: Vec<serde_json::Value> = records.into_iter().cloned().collect();
        sandbox.write_lines("several.jsonl", &records);
        let run = sandbox.run(&["score", "several.jsonl", "--model", "tiny"]).code(0).evidence();
        let ours: Vec<&Evidence> = run.iter().filter(|one| one.id == "A").collect();
        assert!(!ours.is_empty());
        for one in ours {
            let found = scores(one);
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-4, "{found} beside others, {expected} alone");
            }
        }
    }
}
