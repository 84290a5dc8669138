use super::*;
use crate::data::formats::own_writer::write_line;
use crate::data::formats::test_files::{examples, open, public_data};
use crate::data::{OpenOptions, Row};

const RECORDS: &str = r#"{"id":"a","question":"q1?","contexts":["Ferries."],"answer":"The ferry from Ystad Harbour began on 3 May 1931 with 12 cabins. It was slow and never full of people."}
{"id":"b","question":"q2?","contexts":["Bridges."],"answer":"The bridge near Lake Ohrid was opened on 9 June 1947 for 34 lorries. It was wide but never quite finished."}
{"id":"c","question":"q3?","contexts":["Towers."],"answer":"The tower above Tokyo Bay was painted on 27 March 1964 by 56 men. It was tall and could be seen from afar."}
{"id":"short","question":"q4?","contexts":["Towers."],"answer":"In 1964."}
{"id":"bare","question":"q5?","answer":"The tower above Tokyo Bay was painted on 27 March 1964 by 56 men."}
"#;

/// Randomness enough for a test (Knuth's linear congruential generator): this room may not use that of `metrics`.
fn draws(seed: u64) -> impl FnMut(u64) -> Box<dyn FnMut(usize) -> usize> {
    move |row| {
        let mut state = ((seed << 32) | row).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Box::new(move |n| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        })
    }
}

fn corrupted(data: &Dataset, seed: u64) -> Corruption {
    corrupt(data, None, draws(seed))
}

/// The text outside the labels of a corrupted copy, which its clean copy has as well, in order.
fn assert_only_labels_differ(pair: &[Example]) {
    let (clean, corrupted) = (pair[0].answer.as_deref().unwrap(), pair[1].answer.as_deref().unwrap());
    assert_eq!(pair[0].gold_spans.as_deref(), Some(&[][..]));
    let spans = pair[1].gold_spans.as_deref().unwrap();
    assert!(!spans.is_empty() && spans.len() <= MOST_PIECES);
    let (mut at, mut rest) = (0, clean);
    for span in spans {
        rest = rest
            .strip_prefix(&corrupted[at..span.range.start])
            .expect("the text before a label is the clean one");
        let kind = span.kind.as_deref().unwrap();
        let places = pieces(clean).into_iter().chain(whole_sentences(clean));
        let start = clean.len() - rest.len();
        let old = places
            .filter(|piece| piece.kind.name() == kind && piece.range.start == start)
            .map(|piece| clean[piece.range].to_owned())
            .next()
            .expect("a label begins where the clean text has a piece of its kind");
        let new = &corrupted[span.range.clone()];
        assert_ne!(old.to_lowercase(), new.to_lowercase());
        assert!(!says(&clean.to_lowercase(), &new.to_lowercase()), "{new} is in {clean}");
        assert!(pair[1].passages.iter().all(|p| !says(&p.text.to_lowercase(), &new.to_lowercase())), "{new}");
        rest = &rest[old.len()..];
        at = span.range.end;
    }
    assert_eq!(rest, &corrupted[at..]);
}

#[test]
fn labels_show_exactly_what_was_replaced_and_the_rest_is_unchanged() {
    let data = open("a.jsonl", RECORDS);
    let mut kinds = BTreeMap::new();
    for seed in 0..50 {
        let made = corrupted(&data, seed);
        assert_eq!(made.examples.len(), 6);
        for pair in made.examples.chunks(2) {
            assert_only_labels_differ(pair);
        }
        kinds.extend(made.replaced);
    }
    assert_eq!(kinds.keys().copied().collect::<Vec<_>>(), ["date", "entity", "number", "sentence"]);
}

#[test]
fn records_without_a_long_answer_or_a_passage_are_left_out_and_counted() {
    let made = corrupted(&open("a.jsonl", RECORDS), 1);
    assert_eq!(
        made.left_out.into_iter().collect::<Vec<_>>(),
        [
            ("neither passages nor a document that the answer comes from", 1),
            ("no answer or reference of eight words or more", 1)
        ]
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let data = open("a.jsonl", RECORDS);
    let lines = |seed| corrupted(&data, seed).examples.iter().map(write_line).collect::<Vec<_>>();
    assert_eq!(lines(7), lines(7));
    assert_ne!(lines(7), lines(8));
}

#[test]
fn a_limit_changes_none_of_the_copies_that_are_made() {
    let data = open("a.jsonl", RECORDS);
    let limited = corrupt(&data, Some(2), draws(3));
    assert_eq!(limited.examples.as_slice(), &corrupted(&data, 3).examples[..4]);
}

#[test]
fn both_copies_share_the_id_of_their_record_as_source_and_are_read_back_from_own_jsonl() {
    let data = open("a.jsonl", &RECORDS.replace(r#""id":"a""#, r#""id":"a","source_id":"s""#));
    let made = corrupted(&data, 5).examples;
    assert_eq!((made[0].split_key(), made[1].split_key()), ("a", "a"));
    assert_eq!(made[1].groups["original_source"], "s");
    assert_eq!((made[0].id.as_str(), made[1].id.as_str()), ("a/clean", "a/corrupted"));
    let text = made.iter().map(write_line).collect::<Vec<_>>().join("\n");
    let read = open("copies.jsonl", &text);
    assert_eq!(read.rows, made.into_iter().map(Row::Example).collect::<Vec<_>>());
}

#[test]
fn an_answer_that_is_labelled_wrong_is_no_clean_copy() {
    let wrong = RECORDS.replace(r#""id":"a""#, r#""id":"a","consistent":false"#);
    let made = corrupted(&open("a.jsonl", &wrong), 5);
    assert!(made.examples.iter().all(|example| !example.id.starts_with("a/")));
}

#[test]
fn documents_that_hold_the_answer_stand_in_for_passages() {
    let mut data = open("a.jsonl", RECORDS);
    data.documents = vec![Document {
        id: "d".to_owned(),
        title: None,
        parts: vec!["One.".to_owned(), "Two.".to_owned()],
        groups: BTreeMap::new(),
    }];
    for row in &mut data.rows {
        let Row::Example(example) = row else { continue };
        example.source_documents = vec!["d".to_owned()];
    }
    let made = corrupted(&data, 5).examples;
    let bare = made.iter().find(|example| example.id == "bare/clean").unwrap();
    let ids: Vec<_> = bare.passages.iter().map(|passage| passage.id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["d#1", "d#2"]);
    assert_eq!(examples(&data).len(), 5);
}

#[test]
fn a_text_is_said_only_as_whole_words() {
    assert!(says("in 12 of 3", "12") && says("12", "12") && says("x,12.", "12"));
    assert!(!says("in 2012 or 120", "12") && !says("été", "t"));
}

#[test]
fn the_public_clapnq_and_pubmedqa_give_pairs_whose_labels_are_right() {
    for name in ["clapnq/annotated_data/dev/clapnq_dev_answerable.jsonl", "pubmedqa/ori_pqal.json"] {
        let Some(path) = public_data(name) else { return };
        let data = Dataset::open(path, &OpenOptions::default()).unwrap();
        let made = corrupted(&data, 42);
        assert!(made.examples.len() > data.rows.len(), "{} copies", made.examples.len());
        made.examples.chunks(2).for_each(assert_only_labels_differ);
    }
}
