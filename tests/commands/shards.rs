//! `ragscope score --shard`, `--resume` and `ragscope merge`: a run in parts is the run.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, tiny_model};

/// Nine records of every fate, two of them with one prompt, labelled where they are answered.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    tiny_model::write(&sandbox.work().join("tiny"));
    let answered = |at: usize, question: &str| {
        let answer = format!("At {at} o'clock, not later.");
        let labels = if at.is_multiple_of(2) { json!([{"start": 0, "end": 4}]) } else { json!([]) };
        json!({"id": format!("a{at}"), "question": question, "contexts": ["At noon it opens."],
               "answer": answer, "labels": labels})
    };
    let mut lines: Vec<String> = (0..3).map(|at| answered(at, "When?").to_string()).collect();
    lines.push("{\"id\":\"broken\",".to_owned());
    lines.push(json!({"id": "mute", "question": "When?", "contexts": ["x"]}).to_string());
    lines.extend((5..9).map(|at| answered(at, &format!("When, for the {at}th time?")).to_string()));
    sandbox.write("data.jsonl", lines.join("\n") + "\n");
    sandbox
}

fn whole(sandbox: &Sandbox) -> String {
    sandbox.run(&["score", "data.jsonl", "--model", "tiny", "-o", "whole.jsonl"]).code(0);
    sandbox.read("whole.jsonl")
}

/// Scores shard by shard; gives the names of the files, last shard first.
fn score_shards(sandbox: &Sandbox, of: usize) -> Vec<String> {
    let names = (1..=of).rev().map(|index| {
        let (shard, name) = (format!("{index}/{of}"), format!("shard-{of}-{index}.jsonl"));
        sandbox.run(&["score", "data.jsonl", "--model", "tiny", "--shard", &shard, "-o", &name]).code(0);
        name
    });
    names.collect()
}

fn figures(sandbox: &Sandbox, runs: &[String], output: &str) -> Value {
    let mut arguments = vec!["merge", "-o", output, "--json"];
    arguments.extend(runs.iter().map(String::as_str));
    sandbox.run(&arguments).code(0).json()
}

#[test]
fn one_two_and_seven_shards_merge_to_the_bytes_and_the_figures_of_the_whole_run() {
    let sandbox = sandbox();
    let whole = whole(&sandbox);
    assert_eq!(whole.lines().count(), 9);
    let expected = figures(&sandbox, &["whole.jsonl".to_owned()], "again.jsonl");
    assert_eq!(sandbox.read("again.jsonl"), whole);
    assert_eq!(expected["labelled_answers"], 7, "{expected}");
    for of in [1, 2, 7] {
        let name = format!("merged-{of}.jsonl");
        let merged = figures(&sandbox, &score_shards(&sandbox, of), &name);
        assert_eq!(sandbox.read(&name), whole, "{of} shards");
        for level in ["tokens", "answers"] {
            for measure in ["average_precision", "auroc"] {
                let value = |figures: &Value| figures[level][measure]["value"].as_f64().expect("a figure");
                let difference = (value(&merged) - value(&expected)).abs();
                assert!(difference <= 1e-12, "{level} {measure} of {of} shards: off by {difference}");
            }
        }
    }
}

#[test]
fn a_stream_that_is_told_its_data_gives_the_bytes_of_the_file_whole_sharded_and_in_blocks() {
    let sandbox = sandbox();
    let whole = whole(&sandbox);
    let first: Value = serde_json::from_str(whole.lines().next().expect("a line")).expect("JSON");
    let text = |name: &str| first["provenance"][name].as_str().expect("text").to_owned();
    let (name, hash) = (text("data"), text("data_hash"));
    let told = ["score", "-", "--model", "tiny", "--data-name", &name, "--data-hash", &hash];
    let data = sandbox.read("data.jsonl");
    let run = |more: &[&str], input: &str| {
        sandbox.run_with_input(&[&told, more].concat(), input.as_bytes()).code(0).stdout
    };
    assert_eq!(run(&[], &data), whole);
    let odd: String = whole.lines().skip(1).step_by(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(run(&["--shard", "2/2"], &data), odd);
    // The second block has no unparsable line, whose reason names its line in the stream.
    let block: String = data.lines().skip(4).map(|line| format!("{line}\n")).collect();
    let rest: String = whole.lines().skip(4).map(|line| format!("{line}\n")).collect();
    assert_eq!(run(&["--first-row", "4"], &block), rest);
}

#[test]
fn a_run_cut_anywhere_and_resumed_gives_the_same_file() {
    let sandbox = sandbox();
    let whole = whole(&sandbox);
    let second = whole.find('\n').expect("a line") + 1;
    let third = second + whole[second..].find('\n').expect("a line") + 1;
    let resume = ["score", "data.jsonl", "--model", "tiny", "--resume", "-o", "cut.jsonl"];
    for cut in [0, 10, second, third - 1, third + 40, whole.len() - 1, whole.len()] {
        sandbox.write("cut.jsonl", &whole.as_bytes()[..cut]);
        sandbox.run(&resume).code(0).complains(&["records were there already"]);
        assert_eq!(sandbox.read("cut.jsonl"), whole, "cut at {cut}");
    }
    std::fs::remove_file(sandbox.work().join("cut.jsonl")).expect("it is there");
    sandbox.run(&resume).code(0);
    assert_eq!(sandbox.read("cut.jsonl"), whole, "begun with --resume");
}

#[test]
fn a_file_of_another_run_is_not_continued_and_stays_as_it_is() {
    let sandbox = sandbox();
    let whole = whole(&sandbox);
    let resume = ["score", "data.jsonl", "--model", "tiny", "--resume", "-o", "cut.jsonl"];
    for (field, value) in
        [("model_hash", "\"other\""), ("data_hash", "\"other\""), ("head_hash", "\"other\"")]
    {
        let mut line: Value = serde_json::from_str(whole.lines().next().expect("a line")).expect("JSON");
        line["provenance"][field] = serde_json::from_str(value).expect("JSON");
        let foreign = format!("{line}\n{{\"torn");
        sandbox.write("cut.jsonl", &foreign);
        let field = field.replace('_', " ");
        sandbox.run(&resume).code(3).complains(&["cut.jsonl cannot be continued", "line 1", &field, "other"]);
        assert_eq!(sandbox.read("cut.jsonl"), foreign);
    }
    // A shard is no beginning of the whole.
    let shard = ["score", "data.jsonl", "--model", "tiny", "--shard", "2/2", "-o", "shard.jsonl"];
    sandbox.run(&shard).code(0);
    let other = ["score", "data.jsonl", "--model", "tiny", "--resume", "-o", "shard.jsonl"];
    sandbox.run(&other).code(3).complains(&["is row 1", "row 0", "is expected", "--shard"]);
    sandbox.run(&resume[..5]).code(2).complains(&["--resume continues a file"]);
    sandbox.run(&["score", "data.jsonl", "--shard", "3/2"]).code(2).complains(&["i/n"]);
    sandbox.run(&["score", "data.jsonl", "--first-row", "3"]).code(2).complains(&["describe a stream"]);
}

#[test]
fn merge_refuses_shards_of_different_runs_doubles_gaps_and_torn_ends() {
    let sandbox = sandbox();
    let whole = whole(&sandbox);
    let shards = score_shards(&sandbox, 2);
    let (second, first) = (shards[0].as_str(), shards[1].as_str());
    let edited = |edit: &dyn Fn(&mut Value)| {
        let lines = sandbox.read(second);
        let lines = lines.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            edit(&mut line["provenance"]);
            format!("{line}\n")
        });
        sandbox.write("other.jsonl", lines.collect::<String>());
        sandbox.run(&["merge", first, "other.jsonl", "-o", "merged.jsonl"]).code(3)
    };
    for (field, said) in [
        ("model_hash", "model hash"),
        ("head_hash", "head hash"),
        ("calibration_hash", "calibration hash"),
        ("data_hash", "data hash"),
        ("tool", "tool version"),
    ] {
        edited(&|provenance| provenance[field] = json!("other")).complains(&[
            first,
            "other.jsonl",
            said,
            "other",
            "not of one run",
        ]);
    }
    edited(&|provenance| provenance["settings"]["top_k"] = json!("99")).complains(&["top_k", "99"]);
    sandbox.run(&["merge", first, second, "whole.jsonl", "-o", "merged.jsonl"]).code(3).complains(&[
        "row 0 comes twice",
        first,
        "whole.jsonl line 1",
    ]);
    sandbox
        .run(&["merge", second, "-o", "merged.jsonl"])
        .code(3)
        .complains(&["4 rows are missing", "0, 2, 4, 6"]);
    sandbox.write("torn.jsonl", &whole[..whole.len() - 1]);
    sandbox.run(&["merge", "torn.jsonl", "-o", "merged.jsonl"]).code(3).complains(&["cut off", "--resume"]);
    assert!(!sandbox.listing().contains(&"merged.jsonl".to_owned()));
    sandbox
        .run(&["merge", second, "--allow-gaps", "-o", "merged.jsonl"])
        .code(0)
        .complains(&["4 rows are missing"])
        .prints(&["4 rows", "average precision"]);
    let again = ["merge", first, second, "-o", "merged.jsonl"];
    sandbox.run(&again).code(2).complains(&["exists already"]);
    let ran = sandbox.run(&["merge", first, second, "-o", "-"]).code(0).complains(&["AUROC"]);
    assert_eq!(ran.stdout, whole);
}
