//! Records of absurd size and text that talks to the terminal, on every page and view.

use ragscope::evidence::Evidence;

use super::pages::{settings, summary};
use super::*;

/// One record of a size that nobody should have: a passage of a megabyte, 20,000 answer tokens.
fn enormous() -> Evidence {
    let mut evidence = demo::all().remove(0);
    let chunks = evidence.chunks.len();
    evidence.chunks[0].text = "a passage without end ".repeat(1 << 20 >> 4);
    evidence.answer = Some("word ".repeat(20_000));
    let reading = evidence.reading.as_mut().unwrap();
    reading.tokens = (0..20_000).map(|at| [at * 5, at * 5 + 5]).collect();
    reading.log_prob_with = vec![-1.0; 20_000];
    reading.log_prob_without = vec![-2.0; 20_000];
    for detector in &mut reading.detectors {
        detector.raw = (0..20_000).map(|at| if at % 50 < 3 { 1.0 } else { 0.0 }).collect();
    }
    reading.lookback.as_mut().unwrap().by_token =
        (0..20_000 * chunks).map(|at| (at % 11) as f32 / 60.0).collect();
    evidence.gold_spans = None;
    evidence
}

#[test]
fn a_megabyte_passage_and_twenty_thousand_tokens_are_drawn_in_every_view() {
    let make = || {
        let mut model = empty();
        model.thresholds.rho = 0.5;
        model.decide_anew();
        tell(&mut model, Message::Evidence(Box::new(enormous())));
        model
    };
    for mut model in settings(&make) {
        for (width, height) in [(40, 8), (80, 24), (200, 60)] {
            screen(&mut model, &Theme::DARK, width, height);
        }
        act(&mut model, Command::Last);
        screen(&mut model, &Theme::DARK, 80, 24);
    }
}

/// Case P12 on the pages: text that talks to the terminal.
#[test]
fn control_characters_never_reach_the_terminal_from_a_page_or_a_table() {
    let hostile = "ok \u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\r\u{8}\u{7f} end";
    let mut summary = summary();
    summary.data = hostile.into();
    summary.verdict = Some(hostile.into());
    summary.diagnostics = None;
    let make = || {
        let guarantee = Arc::new(move |_| vec![hostile.to_owned(), hostile.to_owned()]);
        let mut model = Model::new(hostile, Thresholds::default(), Thresholds::default(), guarantee);
        tell(&mut model, Message::Certified(Box::new(summary.clone())));
        for row in 0..2 {
            let mut evidence = demo::all().remove(0);
            (evidence.row, evidence.id) = (row, format!("{hostile}{row}"));
            evidence.question = hostile.into();
            evidence.groups.insert(hostile.into(), hostile.into());
            for chunk in &mut evidence.chunks {
                (chunk.id, chunk.text, chunk.document) =
                    (hostile.into(), hostile.into(), Some(hostile.into()));
            }
            let reading = evidence.reading.as_mut().unwrap();
            for detector in &mut reading.detectors {
                detector.name = format!("{hostile}{}", detector.name);
            }
            // Spans over hostile text: the answer begins with it.
            let answer = format!("{hostile}{}", evidence.answer.take().unwrap());
            evidence.answer = Some(answer);
            tell(&mut model, Message::Evidence(Box::new(evidence)));
        }
        model
    };
    for mut model in settings(&make) {
        let text = String::from_utf8(streamed(&mut model, 120, 40)).unwrap();
        for forbidden in ["\u{7}", "\u{1b}]", "\u{1b}[2J", "\u{9b}", "\r", "\u{8}", "\u{7f}"] {
            assert!(!text.contains(forbidden), "{forbidden:?} in {:?}", model.pages);
        }
    }
}
