use super::*;

/// One correct chunk among `k`, its score uniform and `shift` above the wrong ones.
fn questions(count: usize, k: usize, shift: f64) -> Vec<QuestionScores> {
    let mut random = Random::new(3);
    (0..count)
        .map(|number| {
            let mut hits: Vec<(f64, bool)> =
                (0..k).map(|at| (random.uniform() + if at == 0 { shift } else { 0.0 }, at == 0)).collect();
            hits.sort_by(|a, b| b.0.total_cmp(&a.0));
            QuestionScores { split_key: number.to_string(), hits, reachable: true }
        })
        .collect()
}

fn at(thousandths: u16) -> DiagnosticsSettings {
    DiagnosticsSettings {
        k: 4,
        alphas: vec![Alpha::from_thousandths(thousandths)],
        ..DiagnosticsSettings::default()
    }
}

fn value(measure: &Measure) -> f64 {
    measure.value().unwrap()
}

#[test]
fn coverage_meets_its_level_and_perfect_separation_gives_m1_of_one_minus_alpha() {
    let found = diagnose(&questions(1000, 4, 2.0), &at(100)).unwrap();
    for mode in MODES {
        let row = &found.mode(mode).rows[0];
        assert!((value(&row.coverage) - 0.9).abs() < 0.01, "{row:?}");
        assert!((value(&row.m1) - 0.9).abs() < 0.01 && (value(&row.m2) - 0.225).abs() < 0.01);
        assert!(row.coverage_band.unwrap().contain(0.9) && row.coverage_interval.unwrap().contain(0.9));
        assert!((value(&row.end_to_end_floor) - 0.9).abs() < 1e-12);
        assert!(found.mode(mode).kolmogorov_smirnov.unwrap().p_value > 0.001);
    }
    assert_eq!((value(&found.recall), value(&found.hit_at_1), value(&found.auroc)), (1.0, 1.0, 1.0));
    assert_eq!(value(&found.mean_reciprocal_rank), 1.0);
}

#[test]
fn recall_reciprocal_rank_and_hits_count_every_question() {
    let hits =
        |correct: &[bool]| correct.iter().enumerate().map(|(at, &correct)| (-(at as f64), correct)).collect();
    let asked = [
        QuestionScores { split_key: "a".into(), hits: hits(&[true, false, false]), reachable: true },
        QuestionScores { split_key: "b".into(), hits: hits(&[false, true, true]), reachable: true },
        QuestionScores {
            split_key: "c".into(),
            hits: hits(&[false, false, false, false, true]),
            reachable: true,
        },
        QuestionScores { split_key: "d".into(), hits: Vec::new(), reachable: false },
    ];
    let found = diagnose(&asked, &at(100)).unwrap();
    assert_eq!((found.questions, found.unreachable), (4, 1));
    // The fifth chunk of "c" lies beyond K = 4.
    assert_eq!((value(&found.recall), value(&found.hit_at_1)), (0.5, 0.25));
    assert_eq!(value(&found.mean_reciprocal_rank), (1.0 + 0.5) / 4.0);
}

#[test]
fn questions_that_share_a_key_stay_in_one_half() {
    // Two keys: each half is one of them, so calibration and test values never meet.
    let asked: Vec<QuestionScores> = (0..40)
        .map(|number| QuestionScores {
            split_key: if number % 2 == 0 { "even".into() } else { "odd".into() },
            hits: vec![(f64::from(number % 2), true)],
            reachable: true,
        })
        .collect();
    let found = diagnose(&asked, &DiagnosticsSettings { repeats: 1, ..at(100) }).unwrap();
    assert_eq!(found.pooled.kolmogorov_smirnov.unwrap().statistic, 1.0);
    assert_eq!(found.pooled.calibration_values, 20);
}

#[test]
fn a_set_without_a_correct_chunk_has_reasons_instead_of_figures() {
    let mut asked = questions(20, 4, 0.0);
    for question in &mut asked {
        question.hits.iter_mut().for_each(|hit| hit.1 = false);
    }
    let found = diagnose(&asked, &at(100)).unwrap();
    let row = &found.per_question.rows[0];
    assert!(row.coverage.value().is_none() && row.m1.value().is_none() && row.coverage_interval.is_none());
    assert_eq!(found.auroc.to_string(), "n/a (one class)");
    assert_eq!(value(&found.recall), 0.0);
    let json = serde_json::to_string(&found).unwrap();
    assert!(!json.contains("NaN") && !json.contains("inf"));
}

#[test]
fn unusable_input_is_refused_with_the_reason() {
    assert!(matches!(diagnose(&[], &at(100)), Err(CertifyError::TooFewQuestions)));
    assert!(matches!(diagnose(&questions(1, 4, 0.0), &at(100)), Err(CertifyError::TooFewQuestions)));
    let none = DiagnosticsSettings { k: 0, ..at(100) };
    assert!(matches!(diagnose(&questions(4, 4, 0.0), &none), Err(CertifyError::NoChunksAsked)));
    let mut broken = questions(4, 4, 0.0);
    broken[2].hits[0] = (f64::NAN, true);
    assert!(matches!(diagnose(&broken, &at(100)), Err(CertifyError::ScoreNotFinite { .. })));
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let asked = questions(60, 4, 0.3);
    assert_eq!(diagnose(&asked, &at(200)).unwrap(), diagnose(&asked, &at(200)).unwrap());
    let other = DiagnosticsSettings { seed: 7, ..at(200) };
    assert_ne!(diagnose(&asked, &other).unwrap(), diagnose(&asked, &at(200)).unwrap());
}

/// What the certificate promises, on made-up scores whose correct chunks overlap with wrong ones.
#[test]
fn realised_coverage_over_many_halves_is_at_least_the_level_within_monte_carlo_error() {
    for thousandths in [50, 100, 200] {
        let settings = DiagnosticsSettings { repeats: 100, ..at(thousandths) };
        let found = diagnose(&questions(300, 4, 0.3), &settings).unwrap();
        let row = &found.per_question.rows[0];
        let (coverage, error) = (value(&row.coverage), value(&row.coverage_monte_carlo_error));
        let level = 1.0 - row.alpha.value();
        assert!(error > 0.0 && error < 0.01, "{row:?}");
        assert!(coverage >= level - 2.0 * error, "{row:?}");
        // n + 1 = 151: never more than 1 / 151 above the level but for the error.
        assert!(coverage <= level + 1.0 / 151.0 + 2.0 * error, "{row:?}");
        assert_eq!(value(&found.per_question.mean_calibration_values), 150.0);
    }
    let one = DiagnosticsSettings { repeats: 1, ..at(100) };
    let found = diagnose(&questions(60, 4, 0.3), &one).unwrap();
    assert_eq!(found.per_question.rows[0].coverage_monte_carlo_error.reason(), Some("fewer than two halves"));
}
