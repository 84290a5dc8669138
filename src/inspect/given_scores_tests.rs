use super::*;
use crate::certify::{Alpha, CalibrationCounts, CalibrationSource};
use crate::data::{OpenOptions, Row};
use crate::evidence::ChunkEvidence;

use super::super::chunks::ChunkSource;

/// 60 records with three scored passages each; the right document comes first, and sometimes last.
fn lines(change: impl Fn(usize, &mut serde_json::Value)) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scored.jsonl");
    let text: String = (0..60)
        .map(|number| {
            let right = if number % 5 == 0 { 2 } else { 0 };
            let passages: Vec<serde_json::Value> = (0..3)
                .map(|rank| {
                    let document = if rank == right { format!("d{number}") } else { format!("other{rank}") };
                    let score = 0.9 - 0.2 * f64::from(rank) - 0.001 * number as f64;
                    serde_json::json!({"text": format!("text {rank}"), "document": document, "score": score})
                })
                .collect();
            let mut record = serde_json::json!({
                "id": format!("r{number}"), "question": format!("question {number}?"), "contexts": passages,
                "answer": "yes", "source_ids": [format!("d{number}")],
            });
            change(number, &mut record);
            record.to_string() + "\n"
        })
        .collect();
    std::fs::write(&path, text).unwrap();
    Dataset::open(&path, &OpenOptions::default()).unwrap()
}

fn source(given: GivenCertificate) -> ChunkSource {
    ChunkSource { given, ..ChunkSource::nothing(5, "no corpus") }
}

fn chunks(dataset: &Dataset, given: GivenCertificate, row: usize) -> Vec<ChunkEvidence> {
    let Row::Example(example) = &dataset.rows[row] else { panic!("an example") };
    source(given).chunks(example).unwrap().0
}

fn made(
    dataset: &Dataset,
    calibration: Option<&CalibrationArtefact>,
    name: Option<&str>,
) -> GivenCertificate {
    certificate(dataset, None, calibration, name, CalibrationMode::default(), 42).unwrap()
}

fn reason(given: &GivenCertificate) -> &str {
    match &given.certificate {
        Certificate::Absent(reason) => reason,
        _ => panic!("there is a certificate"),
    }
}

/// A calibration of the scores of `dataset`, called `name`.
fn calibration(dataset: &Dataset, name: &str) -> CalibrationArtefact {
    let labels = LabelSettings::default();
    let scored = score_given(dataset, 3, &labels).unwrap();
    let source = super::super::source_of(dataset, &given_kind(name), 3, labels, 42);
    CalibrationArtefact::new(source, &scored.scores, &scored.labels).unwrap()
}

#[test]
fn scores_that_came_with_the_data_certify_its_passages_each_half_by_the_other() {
    let dataset = lines(|_, _| {});
    let found = chunks(&dataset, made(&dataset, None, None), 1);
    // The best-scored passage of a record of its own conforms with more of the calibration than its last one.
    let p: Vec<f64> = found.iter().map(|chunk| chunk.p_value.unwrap().value()).collect();
    assert!(p[0] > p[1] && p[1] >= p[2], "{p:?}");
    assert!(
        found[0].p_value.unwrap().exceeds(Alpha::default())
            && found.iter().all(|c| c.p_value_absent.is_none())
    );
    assert_eq!((found[0].correct, found[1].correct), (Some(true), Some(false)));
}

#[test]
fn a_calibration_certifies_only_what_the_user_says_is_scored_alike() {
    let dataset = lines(|_, _| {});
    let artefact = calibration(&dataset, "my-reranker");
    let named = made(&dataset, Some(&artefact), Some("my-reranker"));
    assert_eq!(named.k, 3);
    assert!(chunks(&dataset, named, 0)[0].p_value.is_some());
    let unnamed = made(&dataset, Some(&artefact), None);
    assert!(reason(&unnamed).contains("say --given-scores my-reranker"), "{}", reason(&unnamed));
    let other = made(&dataset, Some(&artefact), Some("bge"));
    assert!(reason(&other).contains("scores_of is bge here and my-reranker there"), "{}", reason(&other));
    let bm25 = CalibrationArtefact {
        source: CalibrationSource { k: 3, retriever: "bm25".to_owned(), ..CalibrationSource::default() },
        counts: CalibrationCounts::default(),
        ..artefact
    };
    let mixed = made(&dataset, Some(&bm25), Some("my-reranker"));
    assert!(reason(&mixed).contains("is about scores of bm25"), "{}", reason(&mixed));
    assert!(chunks(&dataset, mixed, 0)[0].p_value_absent.as_ref().unwrap().contains("never mixed"));
}

#[test]
fn ranks_beyond_k_and_passages_without_a_score_have_no_p_value_and_say_why() {
    let dataset = lines(|_, _| {});
    let artefact = calibration(&dataset, "mine");
    let longer = lines(|number, record| {
        if number == 0 {
            let contexts = record["contexts"].as_array_mut().unwrap();
            let fourth = serde_json::json!({"text": "more", "document": "d0", "score": 0.9});
            contexts.push(fourth);
            contexts[1]["score"] = serde_json::Value::Null;
        }
    });
    let found = chunks(&longer, made(&longer, Some(&artefact), Some("mine")), 0);
    let absent = |at: usize| found[at].p_value_absent.clone().unwrap_or_default();
    assert!(found[0].p_value.is_some() && found[2].p_value.is_some());
    assert!(absent(1).contains("without a score"), "{}", absent(1));
    assert!(absent(3).contains("rank 4 is beyond the K = 3"), "{}", absent(3));
}

#[test]
fn no_scores_distances_and_scores_of_several_retrievers_are_refused_with_the_reason() {
    let without = lines(|_, record| {
        for passage in record["contexts"].as_array_mut().unwrap() {
            passage["score"] = serde_json::Value::Null;
        }
    });
    assert!(reason(&made(&without, None, None)).contains("without scores"));
    let distances = lines(|_, record| {
        for passage in record["contexts"].as_array_mut().unwrap() {
            passage["score"] = (1.0 - passage["score"].as_f64().unwrap()).into();
        }
    });
    let given = made(&distances, None, None);
    assert!(reason(&given).contains("rise down the ranks in 60 of 60 records"), "{}", reason(&given));
    let several = lines(|number, record| {
        record["groups"] = serde_json::json!({"retriever": if number % 2 == 0 { "bm25" } else { "bge" }});
    });
    let given = made(&several, None, None);
    assert!(reason(&given).contains("several retrievers (bge, bm25)"), "{}", reason(&given));
    let unlabelled = lines(|_, record| {
        record.as_object_mut().unwrap().remove("source_ids");
    });
    assert!(reason(&made(&unlabelled, None, None)).contains("0 questions name the document"));
}

#[test]
fn records_taken_in_one_by_one_are_certified_as_when_they_are_held() {
    let dataset = lines(|_, _| {});
    let mut known = GivenScores::new(true);
    dataset.examples().for_each(|example| known.add(example));
    // The rows are not there, only one that stands for them.
    let sample = Dataset {
        rows: dataset.rows[..1].to_vec(),
        hash: dataset.hash.clone(),
        ..Dataset::stream(&dataset.name)
    };
    let streamed = certificate(&sample, Some(&known), None, None, CalibrationMode::default(), 42).unwrap();
    let held = made(&dataset, None, None);
    assert_eq!(
        (streamed.k, streamed.certificate.hash().unwrap()),
        (held.k, held.certificate.hash().unwrap())
    );
    assert!(held.certificate.hash().unwrap().is_some());
    for row in 0..60 {
        let p_values = |given: &GivenCertificate| -> Vec<_> {
            let Row::Example(example) = &dataset.rows[row] else { panic!("an example") };
            let scores = example.passages.iter().map(|passage| passage.score);
            scores.map(|score| given.certificate.p_value(example.split_key(), score).unwrap()).collect()
        };
        assert_eq!(p_values(&streamed), p_values(&held), "row {row}");
    }
}

#[test]
fn of_more_questions_than_are_kept_the_same_ones_stay_whatever_their_order() {
    let dataset = lines(|_, _| {});
    let kept = |examples: &mut dyn Iterator<Item = &Example>| {
        let mut given = GivenScores::keeping(25);
        examples.for_each(|example| given.add(example));
        given.scored()
    };
    let forth = kept(&mut dataset.examples());
    let examples: Vec<&Example> = dataset.examples().collect();
    let back = kept(&mut examples.iter().rev().copied());
    assert_eq!((forth.rows.len(), &forth.rows), (25, &back.rows));
    assert_eq!(forth.scores, back.scores);
    // Not the first ones: data in an order of their own would calibrate on one kind of questions.
    assert!(forth.rows.iter().any(|row| *row > 40) && forth.rows.iter().any(|row| *row < 20));
    // A question that comes twice calibrates once.
    let twice = kept(&mut examples.iter().chain(&examples).copied());
    assert_eq!(twice.rows, forth.rows);
}
