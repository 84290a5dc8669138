//! The sentences of `certify::guarantee`, held against the statistics that they claim: the number is read out of the
//! sentence, and 200 calibrations are drawn and used.

use ragscope::certify::guarantee::{ChunkGuarantee, FALSE_ALARMS, HighlightingGuarantee};
use ragscope::certify::highlighting::{
    AnswerLoss, HighlightingCurve, Population, clean_answers, false_alarm_threshold,
};
use ragscope::certify::{Alpha, Calibration, CalibrationMode};
use ragscope::metrics::{Measure, Random};

const DRAWS: usize = 200;

/// The number that follows `words` in a sentence.
fn number_after(sentence: &str, words: &str) -> f64 {
    let at = sentence.find(words).unwrap_or_else(|| panic!("{words:?} not in {sentence:?}")) + words.len();
    let digits: String =
        sentence[at..].trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    digits
        .trim_end_matches('.')
        .parse()
        .unwrap_or_else(|_| panic!("no number after {words:?} in {sentence:?}"))
}

/// Mean and standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// A score of a correct chunk: lumpy, so that ties occur.
fn score(random: &mut Random) -> f64 {
    let smooth = random.uniform() * random.uniform() * 20.0;
    if random.below(3) == 0 { smooth.round() } else { smooth }
}

#[test]
fn correct_chunks_are_kept_as_often_as_the_sentence_says_over_200_calibrations() {
    let mut random = Random::new(2024);
    for (values, thousandths) in [(19, 100), (60, 100), (150, 50), (150, 200), (400, 10)] {
        let alpha = Alpha::from_thousandths(thousandths);
        let recall = 0.8;
        let guarantee = ChunkGuarantee {
            alpha,
            mode: CalibrationMode::PerQuestion,
            values,
            k: 5,
            recall: Measure::Value(recall),
        };
        assert!(guarantee.holds());
        let claimed = number_after(&guarantee.statement(), "with probability at least");
        let limits = guarantee.limits().join("\n");
        let floor = number_after(&limits, "end to end it is kept with probability at least");
        let lower = number_after(&limits, "the share kept lies between");
        let upper = number_after(&limits[limits.find("lies between").expect("a band")..], "and");
        let (mut kept, mut end_to_end, mut inside) = (Vec::new(), Vec::new(), 0);
        for _ in 0..DRAWS {
            let calibration =
                Calibration::new((0..values).map(|_| -score(&mut random)).collect()).expect("scores");
            let (mut trusted, mut found) = (0, 0);
            let fresh = 2000;
            for _ in 0..fresh {
                let keeps = calibration.trusted(-score(&mut random), alpha).expect("calibrated");
                trusted += usize::from(keeps);
                found += usize::from(keeps && random.uniform() < recall);
            }
            let share = trusted as f64 / f64::from(fresh);
            kept.push(share);
            end_to_end.push(found as f64 / f64::from(fresh));
            // Ties only add to what is kept; the band is about scores without.
            inside += usize::from(share >= lower - 0.01);
        }
        let (share, error) = mean(&kept);
        assert!(
            share + 3.0 * error >= claimed,
            "{values} values, alpha {}: {share} +- {error}",
            alpha.value()
        );
        let (share, error) = mean(&end_to_end);
        assert!(share + 3.0 * error >= floor, "end to end {share} +- {error}, said at least {floor}");
        // 97.5 of 100 above the lower end, less three standard errors of 200 draws.
        assert!(inside as f64 / DRAWS as f64 > 0.94, "{inside} of {DRAWS} above {lower} (to {upper})");
    }
}

#[test]
fn without_enough_values_the_sentence_claims_nothing_and_everything_is_kept() {
    let mut random = Random::new(5);
    for (values, thousandths) in [(8, 100), (18, 50), (98, 10), (0, 100), (50, 0)] {
        let alpha = Alpha::from_thousandths(thousandths);
        let guarantee = ChunkGuarantee {
            alpha,
            mode: CalibrationMode::PerQuestion,
            values,
            k: 5,
            recall: Measure::Value(0.8),
        };
        assert!(!guarantee.holds());
        assert!(!guarantee.statement().contains("with probability"), "{}", guarantee.statement());
        let calibration =
            Calibration::new((0..values).map(|_| -score(&mut random)).collect()).expect("scores");
        if values > 0 {
            assert!((0..200).all(|_| calibration.trusted(-score(&mut random), alpha).expect("calibrated")));
        }
    }
}

/// Two answers of a source; scores that tell labels apart poorly, more poorly in some sources.
fn source(random: &mut Random, number: usize) -> Vec<AnswerLoss> {
    let skill = random.uniform();
    (0..2)
        .map(|_| {
            let clean = random.below(3) == 0;
            let labels: Vec<bool> = (0..30).map(|_| !clean && random.uniform() < 0.2).collect();
            let scores: Vec<f64> = labels
                .iter()
                .map(|label| {
                    let noise = random.uniform();
                    if *label { skill * 0.5 + noise * 0.5 } else { noise * 0.7 }
                })
                .collect();
            AnswerLoss::new(number.to_string(), &scores, &labels).expect("scores between 0 and 1")
        })
        .collect()
}

/// The loss that the sentence is about: mean over the answers of a source.
fn missed(answers: &[AnswerLoss], threshold: f64, population: Population) -> Option<f64> {
    let counted: Vec<f64> = answers
        .iter()
        .filter(|answer| population == Population::All || !answer.is_clean())
        .map(|answer| answer.missed_share(threshold))
        .collect();
    (!counted.is_empty()).then(|| counted.iter().sum::<f64>() / counted.len() as f64)
}

#[test]
fn the_highlighting_misses_at_most_what_the_sentence_says_over_200_calibrations() {
    let mut random = Random::new(77);
    for (sources, beta) in [(20, 0.2), (60, 0.1), (120, 0.05)] {
        for population in [Population::All, Population::Unsupported] {
            let (mut losses, mut claimed) = (Vec::new(), beta);
            for _ in 0..DRAWS {
                let answers: Vec<AnswerLoss> =
                    (0..sources).flat_map(|number| source(&mut random, number)).collect();
                let curve = HighlightingCurve::new(&answers, population);
                let guarantee = HighlightingGuarantee {
                    beta,
                    sources: curve.sources,
                    population,
                    trained_on_calibration: false,
                };
                assert!(guarantee.holds(), "{}", guarantee.statement());
                claimed = number_after(&guarantee.statement(), "misses is at most");
                let threshold = curve.controlled(beta).expect("feasible").threshold;
                for number in 0..20 {
                    losses.extend(missed(&source(&mut random, sources + number), threshold, population));
                }
            }
            let (share, error) = mean(&losses);
            assert!(
                share <= claimed + 3.0 * error,
                "{sources} sources, {population:?}: {share:.4} +- {error:.4}, said at most {claimed}"
            );
        }
    }
}

#[test]
fn a_detector_that_saw_its_calibration_makes_no_claim() {
    let seen = HighlightingGuarantee {
        beta: 0.1,
        sources: 150,
        population: Population::All,
        trained_on_calibration: true,
    };
    assert!(!seen.holds());
    assert!(seen.statement().starts_with("no guarantee") && !seen.statement().contains("is at most"));
}

#[test]
fn clean_answers_are_flagged_at_most_as_often_as_said_in_all_but_a_share_delta_of_200_calibrations() {
    assert!(FALSE_ALARMS.contains("with probability at most gamma"));
    let mut random = Random::new(31);
    let (gamma, delta) = (0.2, 0.1);
    let clean = |random: &mut Random, number: usize| {
        // The highest score of a clean answer is uniform, so the chance of a flag is one less the threshold.
        let highest = random.uniform();
        let scores = [highest, highest * random.uniform(), 0.0];
        AnswerLoss::new(number.to_string(), &scores, &[false; 3]).expect("scores between 0 and 1")
    };
    let mut broken = 0;
    for draw in 0..DRAWS {
        let answers: Vec<AnswerLoss> = (0..120).map(|number| clean(&mut random, number)).collect();
        let row = false_alarm_threshold(&clean_answers(&answers, draw as u64), gamma, delta);
        let chance = row.threshold.map_or(0.0, |threshold| 1.0 - threshold);
        broken += usize::from(chance > gamma);
    }
    let bound = delta + 3.0 * (delta * (1.0 - delta) / DRAWS as f64).sqrt();
    assert!(broken as f64 / DRAWS as f64 <= bound, "{broken} of {DRAWS} calibrations flag too often");
}
