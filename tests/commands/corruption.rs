//! `corrupt`: labelled answers from grounded ones, in a file that the other commands read.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

fn grounded() -> Vec<Value> {
    [
        ("The ferry from Ystad Harbour began on 3 May 1931 with 12 cabins. It was slow and never full.", "Ferries."),
        ("The bridge near Lake Ohrid was opened on 9 June 1947 for 34 lorries. It was wide but open.", "Bridges."),
        ("The tower above Tokyo Bay was painted on 27 March 1964 by 56 men. It was seen from afar.", "Towers."),
        ("In 1964.", "Years."),
    ]
    .iter()
    .enumerate()
    .map(|(row, (answer, passage))| {
        json!({"id": format!("r{row}"), "question": format!("What of {row}?"), "contexts": [passage], "answer": answer})
    })
    .collect()
}

#[test]
fn clean_and_corrupted_copies_are_written_with_labels_that_lie_on_what_was_exchanged() {
    let sandbox = Sandbox::new();
    sandbox.write_lines("grounded.jsonl", &grounded());
    let ran = sandbox.run(&["corrupt", "grounded.jsonl", "--output", "labelled.jsonl"]).code(0);
    let ran = ran.complains(&["3 clean and 3 corrupted copies written", "exchanged: ", "left out: 1 "]);
    let lines: Vec<Value> = sandbox
        .read("labelled.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect();
    assert_eq!(lines.len(), 6, "{ran}");
    for pair in lines.chunks(2) {
        assert_eq!(pair[0]["labels"], json!([]), "the first of a pair is clean");
        let labels = pair[1]["labels"].as_array().expect("labels");
        let answer = pair[1]["answer"].as_str().expect("an answer");
        assert!(!labels.is_empty() && answer != pair[0]["answer"].as_str().expect("an answer"));
        for label in labels {
            let text = label["text"].as_str().expect("what was put in its place");
            assert!(answer.contains(text) && !pair[0]["answer"].to_string().contains(text), "{text}");
        }
    }
    // What was written is read, labels included.
    sandbox.run(&["convert", "labelled.jsonl", "-o", "again.jsonl"]).code(0).complains(&["6 records"]);
}

#[test]
fn the_seed_decides_what_is_exchanged_and_the_output_is_never_replaced_unasked() {
    let sandbox = Sandbox::new();
    sandbox.write_lines("grounded.jsonl", &grounded());
    let corrupted = |seed: &str| {
        sandbox.run(&["corrupt", "grounded.jsonl", "--seed", seed, "--output", "-"]).code(0).stdout
    };
    assert_eq!(corrupted("1"), corrupted("1"));
    assert!((2..9).any(|seed| corrupted(&seed.to_string()) != corrupted("1")));
    let limited = sandbox.run(&["corrupt", "grounded.jsonl", "--limit", "2", "--output", "-"]).code(0);
    assert_eq!(limited.stdout.lines().count(), 4, "{limited}");
    sandbox.write("there.jsonl", "kept");
    sandbox
        .run(&["corrupt", "grounded.jsonl", "--output", "there.jsonl"])
        .code(2)
        .complains(&["there.jsonl exists already", "--force"]);
    assert_eq!(sandbox.read("there.jsonl"), "kept");
}

#[test]
fn data_without_an_answer_to_corrupt_says_what_it_takes() {
    let sandbox = Sandbox::new();
    sandbox.write_lines("short.jsonl", &grounded()[3..]);
    sandbox
        .run(&["corrupt", "short.jsonl", "--output", "out.jsonl"])
        .code(3)
        .complains(&["no record can be corrupted", "eight words or more"]);
    assert_eq!(sandbox.listing(), ["short.jsonl"]);
}
