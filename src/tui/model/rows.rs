//! The examples, and what the thresholds decide about all of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::asked::{AskState, Asked};
use super::filter::Filter;
use super::sliders::{SliderEffect, SliderName};
use crate::evidence::{Evidence, Findings, Status, Thresholds, decide};
use crate::inspect::Planned;

/// Answer tokens decided about in one slice, so that a key never waits long for a large data set.
const SLICE_TOKENS: usize = 100_000;

/// Threshold sets whose tallies are kept.
const KEPT_COLUMNS: usize = 8;

/// One example of the list.
#[derive(Debug, Clone)]
pub struct Row {
    /// Number of the record in its file.
    pub row: usize,
    pub id: String,
    pub question: String,
    /// Absent until the first evidence arrives.
    pub evidence: Option<Arc<Evidence>>,
    /// Where the answer was asked for here.
    pub asked: Option<Asked>,
    /// Index of the row with another answer to the same question, to be compared with this one.
    pub sibling: Option<usize>,
}

impl Row {
    fn new(row: usize, id: String, question: String) -> Self {
        Self { row, id, question, evidence: None, asked: None, sibling: None }
    }
}

/// Counts of decisions, of one example or of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Examples whose answer was read.
    pub read: usize,
    /// Examples with a flagged span.
    pub flagged: usize,
    pub spans: usize,
    pub flagged_tokens: usize,
    pub trusted: usize,
    /// Chunks with a p-value.
    pub decided_chunks: usize,
    pub consistent: usize,
    /// Examples with a factuality.
    pub judged: usize,
    /// Records that could not be read.
    pub failed: usize,
}

impl Tally {
    fn of(evidence: &Evidence, findings: &Findings) -> Self {
        Self {
            read: usize::from(evidence.reading.is_some()),
            flagged: usize::from(findings.flagged),
            spans: findings.spans.len(),
            flagged_tokens: findings.flagged_tokens,
            trusted: findings.trusted.iter().filter(|trusted| **trusted == Some(true)).count(),
            decided_chunks: findings.trusted.iter().flatten().count(),
            consistent: usize::from(findings.consistent == Some(true)),
            judged: usize::from(findings.consistent.is_some()),
            failed: usize::from(evidence.status == Status::Error),
        }
    }

    fn fields(&mut self) -> [&mut usize; 9] {
        [
            &mut self.read,
            &mut self.flagged,
            &mut self.spans,
            &mut self.flagged_tokens,
            &mut self.trusted,
            &mut self.decided_chunks,
            &mut self.consistent,
            &mut self.judged,
            &mut self.failed,
        ]
    }

    fn add(&mut self, mut other: Self) {
        for (sum, part) in self.fields().into_iter().zip(other.fields()) {
            *sum += *part;
        }
    }

    fn subtract(&mut self, mut other: Self) {
        for (sum, part) in self.fields().into_iter().zip(other.fields()) {
            *sum = sum.saturating_sub(*part);
        }
    }
}

/// The tallies of all rows under one set of thresholds.
#[derive(Debug, Clone)]
struct Column {
    thresholds: Thresholds,
    tallies: Vec<Option<Tally>>,
    sum: Tally,
    /// Rows before this one are decided.
    next: usize,
}

impl Column {
    fn new(thresholds: Thresholds) -> Self {
        Self { thresholds, tallies: Vec::new(), sum: Tally::default(), next: 0 }
    }

    fn decide(&mut self, index: usize, evidence: &Evidence) {
        let tally = Tally::of(evidence, &decide(evidence, &self.thresholds));
        if self.tallies.len() <= index {
            self.tallies.resize(index + 1, None);
        }
        if let Some(before) = self.tallies[index].replace(tally) {
            self.sum.subtract(before);
        }
        self.sum.add(tally);
    }
}

/// All rows in file order, with a filtered view and cached decisions.
#[derive(Debug, Clone)]
pub struct Rows {
    all: Vec<Row>,
    by_number: HashMap<usize, usize>,
    shown: Vec<usize>,
    /// The first is the present one, then the baselines of moved sliders, then old ones.
    columns: Vec<Column>,
    /// How many of the columns are wanted now.
    wanted: usize,
}

impl Rows {
    /// No rows yet.
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            all: Vec::new(),
            by_number: HashMap::new(),
            shown: Vec::new(),
            columns: vec![Column::new(thresholds)],
            wanted: 1,
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn get(&self, index: usize) -> Option<&Row> {
        self.all.get(index)
    }

    /// Indices of the rows that pass the filter, in order.
    pub fn shown(&self) -> &[usize] {
        &self.shown
    }

    /// All evidence there is, in file order.
    pub fn evidence(&self) -> Vec<Arc<Evidence>> {
        self.all.iter().filter_map(|row| row.evidence.clone()).collect()
    }

    /// Adds rows that will come; known numbers keep what they have.
    pub fn plan(&mut self, planned: Vec<Planned>, filter: &Filter) {
        for Planned { row, id, question } in planned {
            if !self.by_number.contains_key(&row) {
                self.push(Row::new(row, id, question), filter);
            }
        }
        self.advance(0);
    }

    /// Puts evidence into its row (a new row where none was planned); returns its index.
    pub fn put(&mut self, evidence: Evidence, filter: &Filter) -> usize {
        let index = if let Some(index) = self.by_number.get(&evidence.row) {
            *index
        } else {
            let (row, id, question) = (evidence.row, evidence.id.clone(), evidence.question.clone());
            self.push(Row::new(row, id, question), filter)
        };
        let evidence = Arc::new(evidence);
        // Columns that have passed this row decide it now; the others when they come to it.
        for column in self.columns.iter_mut().filter(|column| index < column.next) {
            column.decide(index, &evidence);
        }
        self.all[index].evidence = Some(evidence);
        self.advance(1);
        index
    }

    /// Adds the row of a question that was asked here, after all others; returns its index.
    pub fn ask(&mut self, question: String, asked: Asked, filter: &Filter) -> usize {
        let row = self.by_number.keys().max().map_or(0, |last| last + 1);
        let number = self.all.iter().filter(|row| row.asked.is_some()).count() + 1;
        let row = Row { asked: Some(asked), ..Row::new(row, format!("asked-{number}"), question) };
        let index = self.push(row, filter);
        self.advance(0);
        index
    }

    /// Makes two rows known to each other as answers to one question.
    pub fn pair(&mut self, one: usize, other: usize) {
        for (row, sibling) in [(one, other), (other, one)] {
            if let Some(row) = self.all.get_mut(row) {
                row.sibling = Some(sibling);
            }
        }
    }

    /// Index of the row with this number.
    pub fn index_of(&self, row: usize) -> Option<usize> {
        self.by_number.get(&row).copied()
    }

    /// What a row that was asked for knows of its making.
    pub fn asked_mut(&mut self, index: usize) -> Option<&mut Asked> {
        self.all.get_mut(index)?.asked.as_mut()
    }

    /// Nothing more comes for the questions that are open.
    pub fn end_asking(&mut self, reason: &str) {
        for asked in self.all.iter_mut().filter_map(|row| row.asked.as_mut()).filter(|one| one.is_open()) {
            asked.state = AskState::Failed(reason.to_owned());
        }
    }

    /// Switches of all answers that are on their way.
    pub fn open_answers(&self) -> impl Iterator<Item = &Asked> {
        self.all.iter().filter_map(|row| row.asked.as_ref()).filter(|asked| asked.is_open())
    }

    /// Lets the wanted columns decide about rows worth `budget` tokens.
    fn advance(&mut self, mut budget: usize) {
        for column in &mut self.columns[..self.wanted] {
            budget = advance(column, &self.all, budget);
        }
    }

    fn push(&mut self, row: Row, filter: &Filter) -> usize {
        let index = self.all.len();
        self.by_number.insert(row.row, index);
        if filter.accepts(&row.id, &row.question) {
            self.shown.push(index);
        }
        self.all.push(row);
        index
    }

    /// Applies the filter.
    pub fn filter(&mut self, filter: &Filter) {
        let accepted = self.all.iter().enumerate().filter(|(_, row)| filter.accepts(&row.id, &row.question));
        self.shown = accepted.map(|(index, _)| index).collect();
    }

    /// Decisions about one row.
    pub fn findings(&self, index: usize, thresholds: &Thresholds) -> Option<Findings> {
        Some(decide(self.get(index)?.evidence.as_deref()?, thresholds))
    }

    /// Wants the tallies of these thresholds, and of the baselines beside them.
    pub fn aim(&mut self, thresholds: Thresholds, baselines: Vec<Thresholds>) {
        let mut wanted = vec![thresholds];
        for baseline in baselines {
            if !wanted.contains(&baseline) {
                wanted.push(baseline);
            }
        }
        self.wanted = wanted.len();
        let mut kept = std::mem::take(&mut self.columns);
        for thresholds in wanted {
            let known = kept.iter().position(|column| column.thresholds == thresholds);
            self.columns.push(known.map_or_else(|| Column::new(thresholds), |at| kept.remove(at)));
        }
        self.columns.extend(kept);
        self.columns.truncate(KEPT_COLUMNS.max(self.wanted));
    }

    /// Whether some wanted tally is still missing.
    pub fn has_pending(&self) -> bool {
        self.columns[..self.wanted].iter().any(|column| column.next < self.all.len())
    }

    /// Decides about a slice of what is missing.
    pub fn decide_slice(&mut self) {
        self.advance(SLICE_TOKENS);
    }

    /// Sum over all rows decided so far, under the present thresholds.
    pub fn total(&self) -> Tally {
        self.columns.first().map_or_else(Tally::default, |column| column.sum)
    }

    /// Counts of one row under the present thresholds.
    pub fn tally(&self, index: usize) -> Option<Tally> {
        self.columns.first()?.tallies.get(index).copied().flatten()
    }

    /// What differs between two sets of thresholds, as far as `slider` decides it.
    pub fn compare(&self, base: &Thresholds, now: &Thresholds, slider: SliderName) -> Option<SliderEffect> {
        let column = |wanted: &Thresholds| {
            let found = self.columns.iter().find(|column| column.thresholds == *wanted)?;
            (found.next >= self.all.len()).then_some(found)
        };
        let (base, now) = (column(base)?, column(now)?);
        let pairs = base.tallies.iter().zip(&now.tallies);
        let changed = pairs.filter(|(base, now)| match (base, now) {
            (Some(base), Some(now)) => slider.measure(base) != slider.measure(now),
            _ => false,
        });
        Some(SliderEffect {
            before: slider.measure(&base.sum),
            after: slider.measure(&now.sum),
            changed: changed.count(),
        })
    }

    /// The next row (previous where `backwards`) of the filtered list with a flagged span, round the end.
    pub fn next_flagged(&self, from: usize, backwards: bool) -> Option<usize> {
        let flagged = |index: &usize| self.tally(*index).is_some_and(|tally| tally.flagged > 0);
        let found: Vec<usize> = self.shown.iter().copied().filter(flagged).collect();
        if backwards {
            found.iter().rev().find(|index| **index < from).or(found.last()).copied()
        } else {
            found.iter().find(|index| **index > from).or(found.first()).copied()
        }
    }
}

/// Decides about rows of `column` until it is complete or `budget` tokens are spent; returns the rest.
/// Rows without evidence cost nothing, so they are passed even without a budget.
fn advance(column: &mut Column, rows: &[Row], mut budget: usize) -> usize {
    while let Some(row) = rows.get(column.next) {
        if let Some(evidence) = &row.evidence {
            let decided = column.tallies.get(column.next).is_some_and(Option::is_some);
            if !decided {
                if budget == 0 {
                    return 0;
                }
                let tokens = evidence.reading.as_ref().map_or(0, |reading| reading.tokens.len());
                column.decide(column.next, evidence);
                budget = budget.saturating_sub(tokens + 16);
            }
        }
        column.next += 1;
    }
    budget
}
