use super::super::synthetic_store::{examples, filled, filled_as, folds};
use super::super::{FeatureStore, TokenClassifier, train_answer_head, train_token_head};
use super::*;
use crate::detect::{AnswerHead, Chain, CortexSettings, TokenHead};
use crate::metrics::Random;
use crate::reading::StateLayer;

/// A perceptron that six features are enough for.
fn quick() -> MlpSettings {
    MlpSettings { hidden: vec![16], batch: 256, epochs: 15, learning_rate: 5e-3, ..MlpSettings::default() }
}

fn settings(store: &FeatureStore) -> EvaluationSettings {
    EvaluationSettings {
        methods: TokenMethod::thorough(store.header(), &quick()),
        resamples: 200,
        lookback_c: vec![0.01, 1.0],
        ..EvaluationSettings::standard(store.header())
    }
}

fn by_folds(
    store: &FeatureStore,
    folds: &[usize],
    settings: &EvaluationSettings,
) -> Result<EvaluationReport, EvaluationError> {
    let pool = FeaturePool::of(store);
    let protocol = Protocol::cross_validation(&pool, folds)?;
    evaluate(&pool, &protocol, settings, &mut ScoreCache::default(), &mut |_| {})
}

fn row<'a>(report: &'a EvaluationReport, name: &str) -> &'a crate::laboratory::MethodRow {
    report.rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row {name}"))
}

#[test]
fn a_planted_signal_is_found_and_every_row_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), &examples(80, 2.0));
    let mut steps = Vec::new();
    let pool = FeaturePool::of(&store);
    let protocol = Protocol::cross_validation(&pool, &folds(&store, 4)).unwrap();
    let report = evaluate(&pool, &protocol, &settings(&store), &mut ScoreCache::default(), &mut |step| {
        steps.push(step.to_owned());
    })
    .unwrap();
    assert!(steps.contains(&"D, final-norm: fold 4 of 4".to_owned()));
    assert!(report.skipped.is_empty(), "{:?}", report.skipped);
    assert_eq!(report.rows.len(), 2 + 4 + 5 + 6);
    let chance = report.chance_tokens.value().unwrap();
    for name in [
        "D, final-norm",
        "D + c, final-norm",
        "D, block-1",
        "log chunk mass, logistic",
        "fusion with D, block-1",
    ] {
        let found = row(&report, name);
        let precision = &found.tokens_smoothed.average_precision;
        assert!(precision.lower.value().unwrap() > 3.0 * chance, "{name}: {precision:?}, chance {chance}");
        assert!(found.tokens_smoothed.auroc.estimate.value().unwrap() > 0.9, "{name}");
        assert!(found.answers_smoothed.auroc.estimate.value().unwrap() > 0.8, "{name}");
        assert!(found.spans.f1.value().unwrap() > 0.5, "{name}: {:?}", found.spans);
        assert_eq!(found.spans.thresholds.len(), 4);
    }
    let smoothed = row(&report, "D, block-1");
    assert!(
        smoothed.tokens_smoothed.average_precision.estimate.value()
            > smoothed.tokens_raw.average_precision.estimate.value()
    );
    // NLL knows nothing here; the control knows only who never errs.
    let nll = &row(&report, "NLL").tokens_raw.auroc;
    assert!((nll.estimate.value().unwrap() - 0.5).abs() < 0.1);
    let control = row(&report, "generator + position control").answers_raw.auroc.estimate.value().unwrap();
    assert!(control > 0.7, "{control}");
    assert_eq!(report.lookback.len(), 4);
    for row in &report.lookback {
        assert!(row.answers.auroc.estimate.value().unwrap() > 0.8, "{}", row.name);
    }
}

#[test]
fn a_generator_with_one_class_has_no_figure_but_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), &examples(24, 2.0));
    let settings =
        EvaluationSettings { methods: vec![TokenMethod::NegativeLogLikelihood], ..settings(&store) };
    let report = by_folds(&store, &folds(&store, 3), &settings).unwrap();
    let careful = &report.rows[0].by_generator["careful"];
    assert_eq!(careful.tokens.auroc.reason(), Some("one class"));
    assert_eq!(careful.answer_level.average_precision.reason(), Some("no positives"));
    let text = report.to_text();
    assert!(text.contains("n/a (one class)") && text.contains("1 left out"), "{text}");
    assert!(!text.contains("NaN"));
    let json = serde_json::to_value(&report).unwrap();
    assert!(json["rows"][0]["by_generator"]["careful"]["tokens"]["auroc"]["value"].is_null());
}

#[test]
fn permuted_labels_give_chance_within_the_interval() {
    let folder = tempfile::tempdir().unwrap();
    let mut examples = examples(80, 2.0);
    // Spans move to other answers and other places: labels keep their share, and lose their meaning.
    let mut random = Random::new(77);
    let mut spans: Vec<_> = examples.iter().map(|(label, _)| label.gold_spans.clone()).collect();
    random.shuffle(&mut spans);
    for ((label, _), spans) in examples.iter_mut().zip(spans) {
        label.inconsistent = !spans.is_empty();
        label.gold_spans = spans
            .into_iter()
            .map(|span| {
                let from = 2 * random.below(32);
                from..from + span.len()
            })
            .collect();
    }
    let store = filled(folder.path(), &examples);
    let report = by_folds(&store, &folds(&store, 4), &settings(&store)).unwrap();
    for name in ["D, final-norm", "D + c, block-1", "log chunk mass, logistic"] {
        let auroc = &row(&report, name).tokens_raw.auroc;
        let (lower, upper) = (auroc.lower.value().unwrap(), auroc.upper.value().unwrap());
        assert!(lower <= 0.53 && upper >= 0.47, "{name}: {auroc:?}");
        assert!((auroc.estimate.value().unwrap() - 0.5).abs() < 0.1, "{name}: {auroc:?}");
    }
}

#[test]
fn a_source_in_two_folds_and_other_unusable_folds_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), &examples(6, 1.0));
    let settings = settings(&store);
    let refused = |folds: &[usize], words: &str| {
        let message = by_folds(&store, folds, &settings).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    };
    refused(&[0, 1, 0, 0, 1, 1], "source-0 straddles folds 0 and 1");
    refused(&[0, 0, 1, 1], "4 fold numbers for 6");
    refused(&[3; 6], "1 fold in use");
    refused(&[0, 0, 1, 1, 1, 1], "3 sources, grouped cross-validation needs at least 5");
}

#[test]
fn without_a_positive_answer_rows_are_skipped_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mut examples = examples(12, 1.0);
    for (label, _) in &mut examples {
        label.gold_spans.clear();
        label.inconsistent = false;
    }
    let store = filled(folder.path(), &examples);
    let report = by_folds(&store, &folds(&store, 2), &settings(&store)).unwrap();
    assert_eq!(report.rows.len(), 1, "NLL needs no training");
    assert!(report.skipped.iter().all(|row| row.reason.contains("both classes")));
    assert_eq!(report.rows[0].tokens_raw.auroc.estimate.reason(), Some("one class"));
    assert!(report.to_markdown().contains("Not evaluated"));
}

#[test]
fn markdown_and_text_show_chance_beside_the_figures_and_hostile_names_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let mut examples = examples(24, 2.0);
    for (label, _) in &mut examples {
        label.generator = Some("a|b\u{1b}[2J".to_owned());
    }
    let store = filled(folder.path(), &examples);
    let settings =
        EvaluationSettings { methods: vec![TokenMethod::NegativeLogLikelihood], ..settings(&store) };
    let report = by_folds(&store, &folds(&store, 3), &settings).unwrap();
    let (text, markdown) = (report.to_text(), report.to_markdown());
    for shown in [&text, &markdown] {
        assert!(
            shown.contains("chance") && shown.contains("look-back FC, C tuned") && !shown.contains('\u{1b}')
        );
    }
    assert!(markdown.contains("a\\|b␛[2J") && markdown.contains("| ----"));
}

#[test]
fn heads_trained_on_a_store_score_as_its_features_promise_and_come_back_from_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let examples = examples(60, 2.0);
    let store = filled(folder.path(), &examples);
    let folds = folds(&store, 3);
    let settings = settings(&store);
    let pool = FeaturePool::of(&store);
    let blocks = CortexSettings { layer: StateLayer::Block(1), ..CortexSettings::default() }.blocks();
    let classifier = TokenClassifier::Mlp(quick());
    let train =
        || train_token_head(&pool, &folds, "cortex", &blocks, &classifier, &settings, &mut |_| {}).unwrap();
    let head = train();
    assert_eq!(train().hash(), head.hash(), "the same seed gives the same file");
    assert!((0.0..1.0).contains(&head.card().threshold) && head.card().rho == 0.993);
    assert_eq!(head.card().making.training["data_hash"], "dd44");
    let back = TokenHead::from_bytes(&head.to_bytes().unwrap(), &store.header().model).unwrap();
    let (label, trace) = examples.iter().find(|(label, _)| label.inconsistent).unwrap();
    let scores: Vec<f64> = back.score(trace).unwrap().into_iter().map(f64::from).collect();
    let labels = crate::detect::token_labels(&label.answer, &trace.token_ranges, &label.gold_spans);
    assert!(crate::metrics::auroc(&labels, &scores).value().unwrap() > 0.8);

    let chunk_wise = AnswerFeatures::ChunkWise { blocks: 3 };
    for (features, c) in [(chunk_wise, Some(1.0)), (AnswerFeatures::FullContext, None)] {
        let head = train_answer_head(&pool, &folds, "lookback", features, c, &settings).unwrap();
        let back = AnswerHead::from_bytes(&head.to_bytes().unwrap(), &store.header().model).unwrap();
        let probabilities: Vec<f64> =
            examples.iter().map(|(_, trace)| back.probability(trace).unwrap()).collect();
        let consistent: Vec<bool> = examples.iter().map(|(label, _)| !label.inconsistent).collect();
        assert!(crate::metrics::auroc(&consistent, &probabilities).value().unwrap() > 0.7);
    }
}

/// Few and fast rows.
fn two_rows(header: &StoreHeader) -> EvaluationSettings {
    let layer = StateLayer::Block(1);
    let [difference, _] = TokenMethod::cortex(layer, &quick());
    let members = vec![(vec![FeatureBlock::Difference { layer }], TokenClassifier::Mlp(quick()))];
    let tempered = TokenMethod::Ensemble { name: "tempered".to_owned(), members, tempered: true };
    EvaluationSettings {
        methods: vec![TokenMethod::NegativeLogLikelihood, difference, tempered],
        resamples: 100,
        lookback_c: vec![0.01, 1.0],
        group_matrices: true,
        ..EvaluationSettings::standard(header)
    }
}

/// Thirty training, ten choosing, and the remaining test answers; `flipped`: test labels turned round.
fn split_examples(flipped: bool) -> Vec<(crate::laboratory::LabelledAnswer, crate::reading::Trace)> {
    let mut examples = examples(80, 2.0);
    for (number, (label, _)) in examples.iter_mut().enumerate() {
        let split = ["train", "dev", "test"][usize::from(number >= 30) + usize::from(number >= 40)];
        label.split = Some(split.to_owned());
        if flipped && split == "test" {
            label.inconsistent = label.gold_spans.is_empty();
            label.gold_spans = label.inconsistent.then_some(0..9).into_iter().collect();
        }
    }
    examples
}

#[test]
fn official_splits_judge_the_test_split_alone_and_its_labels_choose_nothing() {
    let report = |flipped: bool| {
        let folder = tempfile::tempdir().unwrap();
        let store = filled(folder.path(), &split_examples(flipped));
        let pool = FeaturePool::of(&store);
        let protocol = Protocol::official_splits(&pool).unwrap();
        let settings = two_rows(pool.header());
        evaluate(&pool, &protocol, &settings, &mut ScoreCache::default(), &mut |_| {}).unwrap()
    };
    let straight = report(false);
    assert_eq!((straight.answers, straight.sources, straight.tokens), (40, 20, 1600));
    let found = row(&straight, "D, block-1");
    assert!(found.tokens_smoothed.auroc.estimate.value().unwrap() > 0.9);
    assert!(found.spans.f1.value().unwrap() > 0.5);
    assert_eq!(found.by_generator["careful"].answers, 20);
    assert!(
        straight.lookback.iter().all(|row| row.c.len() == 1 && row.answers.auroc.estimate.value().is_some())
    );
    let text = straight.to_markdown();
    assert!(text.contains("judged on test") && text.contains("thresholds chosen on dev"), "{text}");

    let turned = report(true);
    for name in ["D, block-1", "tempered"] {
        assert_eq!(row(&turned, name).spans.thresholds, row(&straight, name).spans.thresholds);
        // The same scores against other labels.
        assert_eq!(row(&turned, name).spans.overlap.predicted, row(&straight, name).spans.overlap.predicted);
    }
    let chosen =
        |report: &EvaluationReport| report.lookback.iter().map(|row| row.c.clone()).collect::<Vec<_>>();
    assert_eq!(chosen(&turned), chosen(&straight));
}

#[test]
fn what_is_trained_on_one_data_set_is_judged_on_another_whose_labels_choose_nothing() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let main = filled(folders[0].path(), &examples(60, 2.0));
    let report = |number: usize, flipped: bool| {
        let other = filled_as(folders[number].path(), &split_examples(flipped)[40..], "other");
        let pool = FeaturePool::new(vec![&main, &other]).unwrap();
        let protocol = Protocol::transfer(&pool, &folds(&main, 3)).unwrap();
        let settings = two_rows(pool.header());
        evaluate(&pool, &protocol, &settings, &mut ScoreCache::default(), &mut |_| {}).unwrap()
    };
    let straight = report(1, false);
    assert_eq!((straight.answers, straight.data.as_str()), (40, "other"));
    let found = row(&straight, "D, block-1");
    assert!(found.tokens_smoothed.auroc.estimate.value().unwrap() > 0.9);
    assert_eq!(found.spans.thresholds.len(), 1);
    assert_eq!(straight.groups.len(), 2, "chunk-wise and full context");
    assert_eq!(straight.groups[0].by, "data set");
    let text = straight.to_markdown();
    assert!(
        text.contains("trained on all of dd44 (60 answers") && text.contains("from data set to data set"),
        "{text}"
    );

    let turned = report(2, true);
    assert_eq!(row(&turned, "tempered").spans.thresholds, row(&straight, "tempered").spans.thresholds);
    assert_eq!(
        row(&turned, "tempered").spans.overlap.predicted,
        row(&straight, "tempered").spans.overlap.predicted
    );
}

#[test]
fn further_training_data_add_rows_and_leave_the_others_and_the_judged_answers_as_they_are() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    // The main data show nothing; the further ones show the signal, though not on these answers.
    let main = filled(folders[0].path(), &examples(30, 0.3));
    let more = filled_as(folders[1].path(), &examples(60, 2.0), "more");
    let alone = by_folds(&main, &folds(&main, 3), &two_rows(main.header())).unwrap();
    let pool = FeaturePool::new(vec![&main, &more]).unwrap();
    let protocol = Protocol::cross_validation(&pool, &folds(&main, 3)).unwrap();
    let settings = EvaluationSettings {
        more_training: vec![MoreTraining::new(&pool, "more", &[1])],
        ..two_rows(pool.header())
    }
    .comparing_training(pool.header());
    let report = evaluate(&pool, &protocol, &settings, &mut ScoreCache::default(), &mut |_| {}).unwrap();
    assert_eq!(report.rows[..3], alone.rows[..]);
    let names: Vec<&str> = report.rows[3..].iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["D, block-1 + more", "tempered + more"], "NLL needs no training");
    assert_eq!((report.answers, report.tokens), (alone.answers, alone.tokens));
    assert_ne!(row(&report, "D, block-1 + more").tokens_raw, row(&report, "D, block-1").tokens_raw);
    let compared: Vec<&str> = report.comparisons.iter().map(|row| row.comparison.second.0.as_str()).collect();
    assert_eq!(compared, ["D, block-1", "tempered"]);
    assert_eq!(report.lookback.iter().filter(|row| row.name.ends_with(" + more")).count(), 2);
    let text = report.to_text();
    assert!(text.contains("were trained on 60 further answers"), "{text}");
}

#[test]
fn the_asymmetric_chain_is_fitted_to_the_training_labels_of_each_round_and_changes_only_what_is_smoothed() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), &examples(30, 0.3));
    let [difference, _] = TokenMethod::cortex(StateLayer::Block(1), &quick());
    let fitted = TokenMethod::FittedChain { name: "asymmetric".to_owned(), of: Box::new(difference.clone()) };
    let settings = EvaluationSettings { methods: vec![difference, fitted], ..two_rows(store.header()) };
    let (pool, folds) = (FeaturePool::of(&store), folds(&store, 3));
    let protocol = Protocol::cross_validation(&pool, &folds).unwrap();
    let mut steps = Vec::new();
    let report = evaluate(&pool, &protocol, &settings, &mut ScoreCache::default(), &mut |step| {
        steps.push(step.to_owned());
    });
    let report = report.unwrap();
    let (plain, own) = (row(&report, "D, block-1"), row(&report, "asymmetric"));
    assert_eq!((&own.tokens_raw, &own.answers_raw), (&plain.tokens_raw, &plain.answers_raw));
    assert_ne!(own.tokens_smoothed, plain.tokens_smoothed);
    assert_ne!(own.answers_smoothed, plain.answers_smoothed);
    assert!(!steps.iter().any(|step| step.contains("asymmetric: fold")), "trained once for both rows");

    let grounds = Grounds::new(&pool, &protocol);
    let scores: Vec<f64> = (0..grounds.scored.tokens()).map(|at| (at % 10) as f64 / 10.0).collect();
    let after = Smoothed::fitted(&pool, &protocol, &grounds, &scores);
    for (number, answer) in pool.answers().iter().enumerate() {
        let others: Vec<Vec<bool>> = pool
            .answers()
            .iter()
            .zip(&folds)
            .filter(|(_, fold)| **fold != folds[number])
            .map(|(other, _)| other.token_labels())
            .collect();
        let wanted = Chain::fit(others.iter().map(Vec::as_slice)).posterior(&scores[answer.tokens()]);
        assert_eq!(after.tokens[answer.tokens()], wanted);
        assert_eq!(after.answers[number], wanted.iter().copied().fold(0.0, f64::max));
    }
}

#[test]
fn a_comparison_that_was_interrupted_goes_on_and_ends_with_the_figures_of_one_that_was_not() {
    let (folder, scores) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = filled(folder.path(), &examples(30, 2.0));
    let (pool, folds) = (FeaturePool::of(&store), folds(&store, 3));
    let protocol = Protocol::cross_validation(&pool, &folds).unwrap();
    let settings = EvaluationSettings { lookback_rows: false, ..two_rows(store.header()) };
    // Two folds of the first trained row are done when the process dies; it leaves a file it had not finished.
    let mut before = protocol.clone();
    before.rounds.truncate(2);
    let grounds = Grounds::new(&pool, &before);
    let mut cache = ScoreCache::on_disk(scores.path());
    token_scores(&pool, &before, &grounds, &settings.methods[1], &mut cache, &mut |_| {}).unwrap();
    std::fs::write(scores.path().join("unfinished-x.part"), [1, 2, 3]).unwrap();

    let mut steps = Vec::new();
    let mut cache = ScoreCache::on_disk(scores.path());
    let mut told = |step: &str| steps.push(step.to_owned());
    let resumed = evaluate(&pool, &protocol, &settings, &mut cache, &mut told).unwrap();
    let trained: Vec<&String> = steps.iter().filter(|step| step.contains("D, block-1: fold")).collect();
    assert_eq!(trained, ["D, block-1: fold 3 of 3"]);
    let whole = evaluate(&pool, &protocol, &settings, &mut ScoreCache::default(), &mut |_| {}).unwrap();
    assert_eq!(resumed, whole);
}

#[test]
fn only_the_rows_that_are_asked_for_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path(), &examples(30, 2.0));
    let settings = EvaluationSettings { only: vec!["NLL".to_owned()], ..two_rows(store.header()) };
    let report = by_folds(&store, &folds(&store, 3), &settings).unwrap();
    assert_eq!((report.rows.len(), report.lookback.len(), report.groups.len()), (1, 0, 0));

    let part = EvaluationSettings {
        only: vec!["fusion".to_owned()],
        ..EvaluationSettings::standard(store.header())
    };
    assert!(part.wants("fusion with D, block-1") && !part.wants("NLL"));
    let laboratory = EvaluationSettings {
        only: vec!["fusion".to_owned()],
        methods: vec![TokenMethod::Ensemble {
            name: "fusion".to_owned(),
            members: Vec::new(),
            tempered: false,
        }],
        ..EvaluationSettings::standard(store.header())
    };
    assert!(laboratory.wants("fusion") && !laboratory.wants("fusion, logistic"));
}
