//! `ragscope certify`, and what a calibration does elsewhere.

use serde_json::{Value, json};

use crate::sandbox::{Ran, Sandbox, repository, tiny_model};

fn sample_data() -> String {
    repository("sample_data").display().to_string()
}

/// A folder of own layout: `count` documents, and a question about each.
fn write_corpus(sandbox: &Sandbox, folder: &str, count: usize) {
    let words = ["harbour", "lantern", "orchard", "glacier", "saddle", "compass", "thimble", "quarry"];
    let word = |at: usize| format!("{}{}", words[at % words.len()], at);
    let documents: Vec<Value> = (0..count)
        .map(|at| json!({"id": format!("d{at}"), "text": format!("The {} opens at {at} o'clock.", word(at))}))
        .collect();
    let examples: Vec<Value> = (0..count)
        .map(|at| {
            json!({"id": format!("q{at}"), "question": format!("When does the {} open?", word(at)),
                   "reference": format!("{at} o'clock"), "source_ids": [format!("d{at}")]})
        })
        .collect();
    sandbox.write_lines(&format!("{folder}/documents.jsonl"), &documents);
    sandbox.write_lines(&format!("{folder}/examples.jsonl"), &examples);
}

fn verdicts(ran: &Ran) -> Vec<(String, String)> {
    let groups = ran.json()["groups"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    groups.iter().map(|group| (text(&group["group"]), text(&group["verdict"]["suitability"]))).collect()
}

#[test]
fn the_verdict_tells_domains_that_suit_certification_from_one_that_does_not() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["certify", &sample_data(), "--by", "domain", "--json"]).code(0);
    let expected = [("machine", "suitable"), ("medicine", "suitable"), ("transport", "unsuitable")];
    assert_eq!(verdicts(&ran), expected.map(|(group, said)| (group.to_owned(), said.to_owned())), "{ran}");
    let certified = ran.json();
    assert_eq!(certified["verdict"]["suitability"], "unsuitable", "{ran}");
    assert_eq!(certified["diagnostics"]["questions"], 120, "{ran}");
    assert!(!ran.stdout.contains("NaN") && !ran.stdout.contains("inf"), "{ran}");
    sandbox
        .run(&["certify", &sample_data(), "--by", "domain"])
        .code(0)
        .prints(&["verdict: unsuitable at alpha = 0.1", "machine (40 questions): suitable"])
        .prints(&["transport (40 questions): unsuitable", "kept with probability at least 0.9"]);
}

#[test]
fn questions_outside_every_group_are_a_group_of_their_own_and_none_is_lost() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["certify", &sample_data(), "--by", "colour", "--json"]).code(0);
    let groups = ran.json()["groups"].clone();
    assert_eq!(groups[0]["group"], "(none)", "{ran}");
    assert_eq!(groups[0]["questions"], 120, "{ran}");
}

#[test]
fn the_same_command_gives_the_same_figures_and_another_seed_other_halves() {
    let sandbox = Sandbox::new();
    let figures = |seed: &str| {
        let ran = sandbox.run(&["certify", &sample_data(), "--json", "--seed", seed]).code(0);
        ran.json()["diagnostics"]["per_question"].clone()
    };
    assert_eq!(figures("42"), figures("42"));
    assert_ne!(figures("42"), figures("43"));
}

#[test]
fn coverage_over_halves_is_printed_beside_what_was_promised() {
    let sandbox = Sandbox::new();
    let common = ["certify", &sample_data(), "--levels", "0.1,0.2", "--repeats", "30", "--output", "c.json"];
    let ran = sandbox.run(&[&common[..], &["--markdown"]].concat()).code(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{ran}");
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<String>>();
    let (names, first, second) = (cells(lines[0]), cells(lines[2]), cells(lines[3]));
    assert_eq!((names.len(), cells(lines[1]).len()), (first.len(), first.len()), "{ran}");
    let at = |row: &[String], name: &str| {
        row[names.iter().position(|found| found == name).unwrap_or_else(|| panic!("no {name} in {ran}"))]
            .clone()
    };
    assert_eq!((at(&first, "alpha"), at(&first, "1 - alpha")), ("0.1".to_owned(), "0.90".to_owned()));
    assert_eq!((at(&second, "retriever"), at(&second, "K")), ("bm25".to_owned(), "10".to_owned()));
    let number = |name: &str| at(&first, name).parse::<f64>().unwrap_or_else(|_| panic!("{name} in {ran}"));
    let error = number("Monte Carlo error");
    assert!(error > 0.0 && number("coverage") >= 0.9 - 3.0 * error, "{ran}");
    // The JSON has the same, and only the levels asked for.
    let certified = sandbox.run(&[&common[..], &["--json", "--force"]].concat()).code(0).json();
    let rows = certified["diagnostics"]["per_question"]["rows"].as_array().expect("rows").clone();
    assert_eq!(rows.len(), 2);
    assert!((rows[0]["coverage"]["value"].as_f64().expect("a number") - number("coverage")).abs() < 1e-4);
    assert_eq!(certified["verdict"]["alpha"], 100, "the verdict has its own level");
    sandbox.run(&["certify", &sample_data(), "--levels", "0.1,2"]).code(2).complains(&["2 came"]);
}

#[test]
fn a_calibration_is_written_and_never_replaced_unasked() {
    let sandbox = Sandbox::new();
    let data = sample_data();
    sandbox.run(&["certify", &data]).code(0).prints(&["calibration written", "sample_data.calibration.json"]);
    let first = sandbox.read("sample_data.calibration.json");
    let calibration: Value = serde_json::from_str(&first).expect("a calibration is JSON");
    assert_eq!(calibration["schema"], "ragscope-calibration/1");
    assert_eq!(calibration["k"], 10);
    // Without a name of the user's own another name is taken, with one the command refuses.
    sandbox.run(&["certify", &data, "--top-k", "3"]).code(0).prints(&["sample_data-2.calibration.json"]);
    sandbox
        .run(&["certify", &data, "--top-k", "3", "--output", "sample_data.calibration.json"])
        .code(2)
        .complains(&["sample_data.calibration.json exists already", "--force"]);
    assert_eq!(sandbox.read("sample_data.calibration.json"), first);
    sandbox
        .run(&["certify", &data, "--top-k", "3", "--output", "sample_data.calibration.json", "--force"])
        .code(0);
    assert_ne!(sandbox.read("sample_data.calibration.json"), first);
    sandbox
        .run(&["certify", &data, "--output", "no/such/folder/c.json"])
        .code(3)
        .complains(&["cannot write", "no/such/folder/c.json"]);
}

/// P3.
#[test]
fn rouge_score_compatibility_warns_of_texts_it_cannot_see() {
    let sandbox = Sandbox::new();
    let text = "市長は十二月に辞任した";
    let documents: Vec<Value> = (0..4).map(|at| json!({"id": format!("d{at}"), "text": text})).collect();
    let examples: Vec<Value> = (0..4)
        .map(|at| json!({"question": format!("{text} {at}"), "reference": text, "source_ids": ["d0"]}))
        .collect();
    sandbox.write_lines("city/documents.jsonl", &documents);
    sandbox.write_lines("city/examples.jsonl", &examples);
    let compatible = ["certify", "city", "--beta", "0.5", "--rouge", "rouge-score", "--output", "a.json"];
    sandbox.run(&compatible).code(0).complains(&["note:", "no scorable token"]);
    let counted: Value = serde_json::from_str(&sandbox.read("a.json")).expect("a calibration is JSON");
    assert_ne!(counted["counts"]["texts_without_words"], 0);
    let unicode = sandbox.run(&["certify", "city", "--beta", "0.5", "--output", "b.json"]).code(0);
    assert!(!unicode.stderr.contains("no scorable token"), "{unicode}");
    let counted: Value = serde_json::from_str(&sandbox.read("b.json")).expect("a calibration is JSON");
    assert_eq!(counted["counts"]["texts_without_words"], 0);
}

/// P6.
#[test]
fn a_data_set_too_small_for_the_level_promises_nothing_and_prints_no_infinity() {
    let sandbox = Sandbox::new();
    write_corpus(&sandbox, "small", 5);
    let text = sandbox.run(&["certify", "small", "--output", "five.json"]).code(0);
    let text = text.prints(&["no guarantee possible below 9 values at alpha = 0.1; every chunk is kept"]);
    assert!(
        text.stdout.contains("verdict: doubtful") || text.stdout.contains("verdict: unsuitable"),
        "{text}"
    );
    let json = sandbox.run(&["certify", "small", "--json", "--output", "again.json"]).code(0);
    json.json();
    for said in [&text.stdout, &json.stdout, &sandbox.read("five.json")] {
        let words = said.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        assert!(
            !words.into_iter().any(|word| word == "inf" || word == "nan" || word == "infinity"),
            "{said}"
        );
    }
    sandbox
        .run(&["certify", "small", "--alpha", "0.05", "--output", "c.json"])
        .code(0)
        .prints(&["no guarantee possible below 19 values at alpha = 0.05"]);
    // It does not calibrate itself either, and says from when on it would.
    sandbox.run(&["open", "--plain", "small"]).code(0).prints(&[
        "not calibrated: 5 questions",
        "at least 20 are needed",
        "ragscope certify",
    ]);
    write_corpus(&sandbox, "one", 1);
    sandbox.run(&["certify", "one"]).code(3).complains(&["questions"]);
}

#[test]
fn a_calibration_made_with_other_settings_gives_no_p_value_but_the_reason() {
    let sandbox = Sandbox::new();
    let data = sample_data();
    sandbox.run(&["certify", &data, "--top-k", "10", "--chunk-tokens", "400", "--output", "c.json"]).code(0);
    sandbox
        .run(&["open", "--plain", &data, "--top-k", "5", "--chunk-tokens", "300", "--calibration", "c.json"])
        .code(4)
        .prints(&["the calibration was made with another retriever", "K is 5 here and 10 there"])
        .prints(&["chunk_tokens is 300 here and 400 there", "not calibrated: no chunk can be certified"]);
    write_corpus(&sandbox, "small", 5);
    tiny_model::write(&sandbox.work().join("tiny"));
    let ran = sandbox
        .run(&["score", "small", "--model", "tiny", "--top-k", "5", "--calibration", "c.json"])
        .code(0);
    for one in ran.evidence() {
        assert!(!one.chunks.is_empty(), "{ran}");
        for chunk in &one.chunks {
            assert_eq!(chunk.p_value, None, "{ran}");
            let reason = chunk.p_value_absent.as_deref().unwrap_or_default();
            assert!(reason.contains("K is 5 here and 10 there"), "{reason} in {ran}");
        }
    }
}

#[test]
fn a_calibration_made_with_the_same_settings_certifies_another_data_set() {
    let sandbox = Sandbox::new();
    write_corpus(&sandbox, "calibration", 60);
    write_corpus(&sandbox, "small", 5);
    sandbox.run(&["certify", "calibration", "--top-k", "5", "--output", "c.json"]).code(0);
    tiny_model::write(&sandbox.work().join("tiny"));
    let ran = sandbox
        .run(&["score", "small", "--model", "tiny", "--top-k", "5", "--calibration", "c.json"])
        .code(0);
    for one in ran.evidence() {
        let best = one.chunks.first().unwrap_or_else(|| panic!("no chunk in {ran}"));
        let p_value = best.p_value.unwrap_or_else(|| panic!("no p-value in {ran}"));
        assert_eq!(p_value.out_of, 61, "{ran}");
        assert!(one.provenance.calibration_hash.is_some(), "{ran}");
        assert_eq!(one.provenance.settings["calibration_data"], "calibration", "{ran}");
    }
}

#[test]
fn what_is_no_calibration_is_refused_with_3() {
    let sandbox = Sandbox::new();
    sandbox.write("c.json", "{\"schema\":\"something/9\"}");
    sandbox
        .run(&["open", "--plain", &sample_data(), "--calibration", "c.json"])
        .code(3)
        .complains(&["calibration"]);
}
