//! The answer with its spans marked in redundant channels: colour, line, and a number in brackets.

use std::fmt::Write;

use crate::text::visible;

use super::super::marking::segments;
use super::super::number::three_or_absent;
use super::super::record::ExampleReport;
use super::{band, escape};

/// The answer as HTML. Flagged spans are `mark`s with a background by score band, an underline and `[1]`;
/// labelled spans have a dotted line above and `L1`. Numbers cannot be selected, so a copied answer is
/// the answer. The script builds the same elements when thresholds move.
pub fn answer(example: &ExampleReport, number: usize) -> String {
    let Some(answer) = &example.answer else { return String::new() };
    let flagged: Vec<_> = example.spans.iter().map(|span| span.start..span.end).collect();
    let labelled: Vec<_> = example.gold_spans.iter().flatten().map(|span| span.start..span.end).collect();
    let mut out = String::with_capacity(answer.len() * 2);
    let mut open: Option<usize> = None;
    for segment in segments(answer, &flagged, &labelled) {
        if open != segment.flagged {
            close_mark(&mut out, open);
            open = segment.flagged;
            if let Some(span) = open.and_then(|at| example.spans.get(at)) {
                let (index, score) = (span.index, three_or_absent(span.score));
                let _ = write!(
                    out,
                    "<mark class=\"b{}\" id=\"e{number}-m{index}\"><a class=\"ix\" href=\"#e{number}-s{index}\" \
                     aria-label=\"flagged span {index}, score {score}\">[{index}]</a>",
                    band(span.score.unwrap_or(0.0))
                );
            }
        }
        let text = escape(&visible(segment.text));
        match segment.labelled {
            None => out.push_str(&text),
            Some(at) if segment.opens_label => {
                let index = at + 1;
                let _ = write!(
                    out,
                    "<span class=\"gold\"><span class=\"lx\" aria-label=\"labelled span {index}\">L{index}</span>\
                     {text}</span>"
                );
            }
            Some(_) => {
                let _ = write!(out, "<span class=\"gold\">{text}</span>");
            }
        }
    }
    close_mark(&mut out, open);
    out
}

fn close_mark(out: &mut String, open: Option<usize>) {
    if let Some(at) = open {
        let _ = write!(out, "<span class=\"vh\"> end of span {} </span></mark>", at + 1);
    }
}
