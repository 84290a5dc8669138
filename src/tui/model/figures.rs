//! What the whole run adds up to under one set of thresholds, kept up to date row by row.
//!
//! Sums change with every row that is decided; the ranked lists of [`Overview`] are made from them when
//! nothing else is to be done, never while drawing.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::attention::looked_at_most;
use super::histogram::Histogram;
use crate::certify::{Bounds, clopper_pearson};
use crate::evidence::{ChunkEvidence, Evidence, Findings, Thresholds, chosen_detector};

/// Lines kept of each ranked list.
const MOST_RANKED: usize = 100;
/// A group with more values than this names single answers rather than kinds of them.
const MOST_VALUES: usize = 30;
/// Bytes of a passage, at either end, that tell it from others with its id.
const TELLING_BYTES: usize = 256;

/// Read answers, and those with a flagged span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rate {
    pub read: usize,
    pub flagged: usize,
}

impl Rate {
    /// Share flagged; `None` where nothing was read.
    pub fn share(self) -> Option<f64> {
        (self.read > 0).then(|| self.flagged as f64 / self.read as f64)
    }

    /// Exact 95 % interval of the share (Clopper-Pearson), as if answers were drawn one by one.
    pub fn interval(self) -> Option<Bounds> {
        clopper_pearson(self.flagged, self.read)
    }
}

/// A passage that flagged spans looked at most.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    pub id: String,
    pub document: Option<String>,
    /// Flagged spans whose tokens looked at it more than at any other chunk.
    pub spans: usize,
    /// Index of the example with the highest span score among them.
    pub example: usize,
    score: f64,
}

/// A value of a group with its rate.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupRate {
    pub name: String,
    pub value: String,
    pub rate: Rate,
    pub interval: Option<Bounds>,
}

/// An answer in the list of the worst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstAnswer {
    /// Index of the example.
    pub example: usize,
    /// The answer's score: the highest of its tokens, smoothed for answers.
    pub score: f64,
    pub spans: usize,
}

/// Ranked lists, ready to be drawn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overview {
    pub all: Rate,
    pub interval: Option<Bounds>,
    /// By name, within a name from the highest rate down.
    pub groups: Vec<GroupRate>,
    /// Names of groups with too many values to list.
    pub left_out: Vec<String>,
    pub worst: Vec<WorstAnswer>,
    pub passages: Vec<Passage>,
    /// Flagged spans whose record says where they looked.
    pub attributed: usize,
    /// Flagged spans whose record does not.
    pub unattributed: usize,
}

/// The sums.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub raw: Histogram,
    pub smoothed: Histogram,
    /// Tokens whose raw score reaches the threshold.
    pub raw_flagged: usize,
    /// Tokens with a score.
    pub tokens: usize,
    groups: BTreeMap<String, BTreeMap<String, Rate>>,
    passages: HashMap<u64, Passage>,
    attributed: usize,
    unattributed: usize,
}

impl Figures {
    /// Adds what was decided about the example at `index`, or takes it out again.
    pub(super) fn count(
        &mut self,
        index: usize,
        evidence: &Evidence,
        findings: &Findings,
        thresholds: &Thresholds,
        adds: bool,
    ) {
        let change = |number: &mut usize, by: usize| {
            *number = if adds { *number + by } else { number.saturating_sub(by) };
        };
        let Some(reading) = &evidence.reading else { return };
        if let Some(detector) = chosen_detector(reading, thresholds) {
            let raw = detector.raw.iter().copied().map(f64::from);
            change(&mut self.raw_flagged, raw.clone().filter(|score| *score >= thresholds.token).count());
            change(&mut self.tokens, detector.raw.len());
            if adds {
                self.raw.add(raw);
                self.smoothed.add(findings.smoothed.iter().copied());
            } else {
                self.raw.subtract(raw);
                self.smoothed.subtract(findings.smoothed.iter().copied());
            }
        }
        for (name, value) in &evidence.groups {
            let values = self.groups.entry(name.clone()).or_default();
            let rate = values.entry(value.clone()).or_default();
            change(&mut rate.read, 1);
            change(&mut rate.flagged, usize::from(findings.flagged));
            if rate.read == 0 {
                values.remove(value);
            }
        }
        let chunks = evidence.chunks.len();
        for span in &findings.spans {
            let looked = reading.lookback.as_ref().and_then(|lookback| {
                let (chunk, _) = looked_at_most(lookback, chunks, span.tokens.clone())?;
                evidence.chunks.get(chunk)
            });
            let Some(chunk) = looked else {
                change(&mut self.unattributed, 1);
                continue;
            };
            change(&mut self.attributed, 1);
            let key = key_of(chunk);
            let passage = self.passages.entry(key).or_insert_with(|| Passage {
                id: chunk.id.clone(),
                document: chunk.document.clone(),
                spans: 0,
                example: index,
                score: f64::NEG_INFINITY,
            });
            change(&mut passage.spans, 1);
            if adds && span.score > passage.score {
                (passage.score, passage.example) = (span.score, index);
            }
            if passage.spans == 0 {
                self.passages.remove(&key);
            }
        }
    }

    /// Ranks what is to be shown.
    pub(super) fn overview(&self, all: Rate, worst: impl Iterator<Item = WorstAnswer>) -> Overview {
        let mut groups = Vec::new();
        let mut left_out = Vec::new();
        for (name, values) in &self.groups {
            if values.len() > MOST_VALUES {
                left_out.push(name.clone());
                continue;
            }
            let mut rates: Vec<GroupRate> = values
                .iter()
                .map(|(value, rate)| GroupRate {
                    name: name.clone(),
                    value: value.clone(),
                    rate: *rate,
                    interval: rate.interval(),
                })
                .collect();
            let share = |group: &GroupRate| group.rate.share().unwrap_or(0.0);
            rates.sort_by(|one, other| share(other).total_cmp(&share(one)));
            groups.extend(rates);
        }
        let mut passages: Vec<&Passage> = self.passages.values().collect();
        passages.sort_by(|one, other| {
            other
                .spans
                .cmp(&one.spans)
                .then_with(|| one.id.cmp(&other.id))
                .then(one.example.cmp(&other.example))
        });
        let mut worst: Vec<WorstAnswer> = worst.filter(|answer| answer.score.is_finite()).collect();
        let by_score = |one: &WorstAnswer, other: &WorstAnswer| {
            other.score.total_cmp(&one.score).then(one.example.cmp(&other.example))
        };
        if worst.len() > MOST_RANKED {
            worst.select_nth_unstable_by(MOST_RANKED, by_score);
            worst.truncate(MOST_RANKED);
        }
        worst.sort_by(by_score);
        Overview {
            all,
            interval: all.interval(),
            groups,
            left_out,
            worst,
            passages: passages.into_iter().take(MOST_RANKED).cloned().collect(),
            attributed: self.attributed,
            unattributed: self.unattributed,
        }
    }
}

/// Tells passages apart: data sets number the contexts of every question alike, so the id is not enough.
fn key_of(chunk: &ChunkEvidence) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&chunk.id, &chunk.document, chunk.text.len()).hash(&mut hasher);
    let text = chunk.text.as_bytes();
    text[..text.len().min(TELLING_BYTES)].hash(&mut hasher);
    text[text.len().saturating_sub(TELLING_BYTES)..].hash(&mut hasher);
    hasher.finish()
}
