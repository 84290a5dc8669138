use super::super::FeatureStore;
use super::super::synthetic_store::{examples, filled, filled_as, folds};
use super::*;

/// Sources 0 to 9 for training, 10 to 14 for choosing, the rest for testing; two answers each.
fn in_splits(count: usize, names: [&str; 3]) -> Vec<(super::super::LabelledAnswer, crate::reading::Trace)> {
    let mut examples = examples(count, 2.0);
    for (number, (label, _)) in examples.iter_mut().enumerate() {
        let split = names[usize::from(number >= 20) + usize::from(number >= 30)];
        label.split = Some(split.to_owned());
    }
    examples
}

/// What must hold of every protocol, whatever its kind.
fn is_clean(pool: &FeaturePool<'_>, protocol: &Protocol) {
    let source = |answer: &usize| (pool.store_of(*answer), &pool.answers()[*answer].labelled.source);
    for round in &protocol.rounds {
        for scored in &round.scored {
            assert!(round.train.iter().all(|train| source(train) != source(scored)), "{}", round.name);
        }
        for (train, held_out) in &round.tuning {
            assert!(
                train.iter().all(|answer| round.train.contains(answer)),
                "tuning sees training data only"
            );
            assert!(held_out.iter().all(|answer| !train.contains(answer)));
        }
    }
    let scored = protocol.scored();
    assert!(scored.windows(2).all(|pair| pair[0] < pair[1]), "every answer is scored once");
    for choice in &protocol.choices {
        for answer in choice.chosen_on.iter().chain(&choice.applied_to) {
            assert!(scored.binary_search(answer).is_ok());
        }
        for judged in &choice.applied_to {
            assert!(choice.chosen_on.iter().all(|chosen| source(chosen) != source(judged)));
        }
    }
}

fn with_store(
    examples: &[(super::super::LabelledAnswer, crate::reading::Trace)],
    test: impl Fn(&FeatureStore),
) {
    let folder = tempfile::tempdir().unwrap();
    test(&filled(folder.path(), examples));
}

#[test]
fn nothing_is_judged_by_what_was_trained_or_chosen_on_it() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let main = filled(folders[0].path(), &in_splits(60, ["train", "dev", "test"]));
    let other = filled_as(folders[1].path(), &examples(20, 2.0), "other");
    let more = filled_as(folders[2].path(), &examples(10, 2.0), "one more");
    let pool = FeaturePool::new(vec![&main, &other, &more]).unwrap();
    let folds = folds(&main, 4);
    let validated = Protocol::cross_validation(&pool, &folds).unwrap();
    let official = Protocol::official_splits(&pool).unwrap();
    let transfer = Protocol::transfer(&pool, &folds).unwrap();
    for protocol in [&validated, &official, &transfer] {
        is_clean(&pool, protocol);
        let more = protocol.with_more_training(&pool.members(2));
        is_clean(&pool, &more);
        assert_eq!((more.scored(), more.judged()), (protocol.scored(), protocol.judged()));
        let in_training = |round: &Round| pool.members(2).iter().all(|answer| round.train.contains(answer));
        assert!(more.rounds.iter().all(in_training) && !protocol.rounds.iter().any(in_training));
    }
    assert_eq!(validated.judged(), pool.members(0));
    assert_eq!(official.judged(), (30..60).collect::<Vec<_>>());
    assert_eq!(official.scored(), (20..60).collect::<Vec<_>>());
    assert_eq!(transfer.judged(), pool.members(1));
    assert_eq!(transfer.rounds.len(), 5, "four folds for the choices, one training on everything");
    assert_eq!(transfer.rounds[4].train, pool.members(0));
}

#[test]
fn official_splits_are_recognised_by_the_names_in_use() {
    with_store(&in_splits(40, ["Train", "validation", "test"]), |store| {
        let pool = FeaturePool::of(store);
        assert!(Protocol::has_official_splits(&pool));
        let protocol = Protocol::official_splits(&pool).unwrap();
        let ProtocolKind::OfficialSplits { train, dev, shared_sources } = protocol.kind() else { panic!() };
        assert_eq!((train.answers, dev.answers, dev.tokens, *shared_sources), (20, 10, 400, 0));
        assert!(train.positive_tokens > 0);
        let sentence = protocol.kind().sentence();
        assert!(sentence.contains("trained on train (20 answers, 800 tokens"), "{sentence}");
        assert!(sentence.ends_with("no source of test in the other splits"), "{sentence}");
    });
    with_store(&in_splits(40, ["test", "test", "test"]), |store| {
        let pool = FeaturePool::of(store);
        assert!(!Protocol::has_official_splits(&pool));
        let message = Protocol::official_splits(&pool).unwrap_err().to_string();
        assert!(message.contains("found 40 of test") && message.contains("--splits folds"), "{message}");
    });
}

#[test]
fn a_split_without_both_labels_or_with_few_sources_is_refused_with_what_it_has() {
    let refused = |change: &dyn Fn(usize, &mut super::super::LabelledAnswer), words: &str| {
        let mut examples = in_splits(60, ["train", "dev", "test"]);
        for (number, (label, _)) in examples.iter_mut().enumerate() {
            change(number, label);
        }
        with_store(&examples, |store| {
            let message = Protocol::official_splits(&FeaturePool::of(store)).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        });
    };
    let unlabel = |label: &mut super::super::LabelledAnswer| label.gold_spans.clear();
    refused(
        &|number, label| {
            if number < 20 {
                unlabel(label);
            }
        },
        "0 of the 800 tokens of the 20 answers of train",
    );
    refused(
        &|number, label| {
            if (20..30).contains(&number) {
                unlabel(label);
            }
        },
        "0 of the 400 tokens of the 10 answers of dev",
    );
    refused(
        &|number, label| {
            if number >= 30 {
                unlabel(label);
            }
        },
        "the test split cannot be tested on: 0 of its 1200 tokens",
    );
    refused(
        &|number, label| {
            if number >= 30 {
                label.source = format!("page-{}", number % 3);
            }
        },
        "its 30 labelled answers have 3 sources, intervals over sources need at least 5",
    );
}

#[test]
fn a_source_of_test_in_another_split_is_counted() {
    let mut examples = in_splits(60, ["train", "dev", "test"]);
    examples[40].0.source = "source-0".to_owned();
    with_store(&examples, |store| {
        let protocol = Protocol::official_splits(&FeaturePool::of(store)).unwrap();
        assert!(protocol.kind().sentence().ends_with("1 source of test in the other splits"));
    });
}

#[test]
fn other_data_need_sources_and_both_labels_to_be_tested_on() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let main = filled(folders[0].path(), &examples(20, 2.0));
    let small = filled_as(folders[1].path(), &examples(6, 2.0), "small");
    let pool = FeaturePool::new(vec![&main, &small]).unwrap();
    let message = Protocol::transfer(&pool, &folds(&main, 4)).unwrap_err().to_string();
    assert!(
        message.contains("small cannot be tested on: its 6 labelled answers have 3 sources"),
        "{message}"
    );
}
