//! Small drawings of scores: one bar a token, one bar a p-value.

use std::fmt::Write;

use crate::certify::{Alpha, PValue};

use super::super::number::{three, threshold};
use super::super::record::ExampleReport;
use super::{BAND_EDGES, band};

/// Height of a bar of score 1.
const TALL: f64 = 40.0;
/// Widest a token is drawn.
pub const TOKEN_WIDTH: usize = 8;

/// One bar a token, as tall as its smoothed score, coloured by band, with the threshold as a line and the
/// labelled tokens underlined. Empty when the answer has no scores.
pub fn token_strip(example: &ExampleReport, token_threshold: f64) -> String {
    let (Some(scores), Some(tokens)) = (&example.smoothed, &example.tokens) else { return String::new() };
    let count = scores.len();
    let mut bars = vec![String::new(); BAND_EDGES.len() + 1];
    for (at, score) in scores.iter().enumerate() {
        let _ = write!(bars[band(*score)], "M{at} {TALL}v-{:.1}h.9v{0:.1}z", TALL * score.clamp(0.0, 1.0));
    }
    let mut labels = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let inside = |span: &super::super::record::SpanReport| span.start < token[1] && token[0] < span.end;
        if example.gold_spans.iter().flatten().any(inside) {
            let _ = write!(labels, "M{at} 42h1v3h-1z");
        }
    }
    let mut out = format!(
        "<svg class=\"strip\" viewBox=\"0 0 {count} 46\" width=\"{}\" height=\"46\" preserveAspectRatio=\"none\" \
         role=\"img\" aria-label=\"{}\">",
        count * TOKEN_WIDTH,
        strip_label(scores, token_threshold)
    );
    for (number, bars) in bars.iter().enumerate() {
        let _ = write!(out, "<path class=\"f{number}\" d=\"{bars}\"/>");
    }
    let _ = write!(
        out,
        "<path class=\"fl\" d=\"{labels}\"/><path class=\"limit\" d=\"M0 {:.1}H{count}\"/></svg>",
        TALL * (1.0 - token_threshold.clamp(0.0, 1.0))
    );
    out
}

fn strip_label(scores: &[f64], token_threshold: f64) -> String {
    let highest = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    let (at, score) = highest.map_or((0, 0.0), |(at, score)| (at, *score));
    format!(
        "Smoothed score of {} tokens; highest {} at token {}; threshold {}",
        scores.len(),
        three(score),
        at + 1,
        threshold(token_threshold)
    )
}

/// A p-value from 0 to 1 with alpha as a line. The text beside it says the same in numbers, so it is hidden
/// from screen readers.
pub fn p_value_bar(p: PValue, alpha: Alpha) -> String {
    format!(
        "<svg class=\"pbar\" viewBox=\"0 0 100 10\" width=\"100\" height=\"10\" aria-hidden=\"true\">\
         <path class=\"track\" d=\"M0 2h100v6H0z\"/><path class=\"fill\" d=\"M0 2h{:.1}v6H0z\"/>\
         <path class=\"limit\" d=\"M{:.1} 0v10\"/></svg>",
        100.0 * p.value().clamp(0.0, 1.0),
        100.0 * alpha.value()
    )
}
