//! The examples: in file order, in the order of the list, and what the thresholds decide about all.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::asked::{AskState, Asked};
use super::certification::Certification;
use super::decisions::Decisions;
use super::figures::{Figures, Overview};
use super::filter::{Filter, Sort, compare_ids};
use super::sliders::{SliderEffect, SliderName};
use super::tally::Tally;
use crate::evidence::{Evidence, Findings, Status, Thresholds, decide};
use crate::inspect::Planned;

/// Answer tokens decided about in one slice, so that a key never waits long for a large data set.
const SLICE_TOKENS: usize = 50_000;

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

/// All rows in file order, with a filtered and sorted view and cached decisions.
#[derive(Debug, Clone)]
pub struct Rows {
    all: Vec<Row>,
    by_number: HashMap<usize, usize>,
    shown: Vec<usize>,
    /// Place in `shown` of every row; `usize::MAX` for one that is left out.
    places: Vec<usize>,
    /// The filter that `shown` follows.
    filter: Filter,
    /// Whether `shown` lags behind what was decided.
    out_of_order: bool,
    /// The first is the present one, then the baselines of moved sliders, then old ones.
    columns: Vec<Decisions>,
    /// How many of the columns are wanted now.
    wanted: usize,
    certification: Certification,
    errors: usize,
    /// Rows of every value of every group.
    groups: BTreeMap<(String, String), usize>,
}

impl Rows {
    /// No rows yet.
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            all: Vec::new(),
            by_number: HashMap::new(),
            shown: Vec::new(),
            places: Vec::new(),
            filter: Filter::default(),
            out_of_order: false,
            columns: vec![Decisions::new(thresholds)],
            wanted: 1,
            certification: Certification::default(),
            errors: 0,
            groups: BTreeMap::new(),
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

    /// Indices of the rows that pass the filter, in the order of the list.
    pub fn shown(&self) -> &[usize] {
        &self.shown
    }

    /// Place of a row in the list; of a row that the filter hides, the place where it would be.
    pub fn place(&self, index: usize) -> Result<usize, usize> {
        match self.places.get(index) {
            Some(place) if *place != usize::MAX => Ok(*place),
            Some(_) => Err(self.shown.partition_point(|other| self.compare_rows(*other, index).is_lt())),
            None => Err(self.shown.len()),
        }
    }

    /// All evidence there is, in file order.
    pub fn evidence(&self) -> Vec<Arc<Evidence>> {
        self.all.iter().filter_map(|row| row.evidence.clone()).collect()
    }

    /// Whether there is any evidence.
    pub fn has_evidence(&self) -> bool {
        self.all.iter().any(|row| row.evidence.is_some())
    }

    /// Whether a row of the filtered list has a flagged span.
    pub fn has_flagged(&self) -> bool {
        let flagged = |index: &usize| self.tally(*index).is_some_and(|tally| tally.flagged > 0);
        self.total().flagged > 0 && self.shown.iter().any(flagged)
    }

    /// Records that could not be used.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Names and values of the groups that rows belong to, with their numbers of rows.
    pub fn groups(&self) -> &BTreeMap<(String, String), usize> {
        &self.groups
    }

    /// What the p-values say at every alpha.
    pub fn certification(&self) -> &Certification {
        &self.certification
    }

    /// Adds rows that will come; known numbers keep what they have.
    pub fn plan(&mut self, planned: Vec<Planned>) {
        for Planned { row, id, question } in planned {
            if !self.by_number.contains_key(&row) {
                self.push(Row::new(row, id, question));
            }
        }
        self.advance(0);
    }

    /// Puts evidence into its row (a new row where none was planned); returns its index.
    pub fn put(&mut self, evidence: Evidence) -> usize {
        let index = if let Some(index) = self.by_number.get(&evidence.row) {
            *index
        } else {
            let (row, id, question) = (evidence.row, evidence.id.clone(), evidence.question.clone());
            self.push(Row::new(row, id, question))
        };
        let evidence = Arc::new(evidence);
        let before = self.all[index].evidence.replace(Arc::clone(&evidence));
        if let Some(before) = &before {
            self.count(before, false);
        }
        self.count(&evidence, true);
        // Columns that have passed this row decide it now; the others when they come to it.
        for column in self.columns.iter_mut().filter(|column| index < column.next) {
            column.decide(index, before.as_deref(), &evidence);
        }
        self.out_of_order |= self.filter != Filter::default();
        self.advance(1);
        index
    }

    /// Counts what no threshold changes.
    fn count(&mut self, evidence: &Evidence, adds: bool) {
        self.certification.count(evidence, adds);
        let error = usize::from(evidence.status == Status::Error);
        self.errors = if adds { self.errors + error } else { self.errors.saturating_sub(error) };
        for (name, value) in &evidence.groups {
            let key = (name.clone(), value.clone());
            let rows = self.groups.entry(key.clone()).or_default();
            *rows = if adds { *rows + 1 } else { rows.saturating_sub(1) };
            if *rows == 0 {
                self.groups.remove(&key);
            }
        }
    }

    /// Adds the row of a question that was asked here, after all others; returns its index.
    pub fn ask(&mut self, question: String, asked: Asked) -> usize {
        let row = self.by_number.keys().max().map_or(0, |last| last + 1);
        let number = self.all.iter().filter(|row| row.asked.is_some()).count() + 1;
        let row = Row { asked: Some(asked), ..Row::new(row, format!("asked-{number}"), question) };
        let index = self.push(row);
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
            budget = column.advance(&self.all, budget);
        }
    }

    fn push(&mut self, row: Row) -> usize {
        let index = self.all.len();
        self.by_number.insert(row.row, index);
        self.places.push(usize::MAX);
        if self.filter == Filter::default() {
            self.places[index] = self.shown.len();
            self.shown.push(index);
        } else {
            self.out_of_order = true;
        }
        self.all.push(row);
        index
    }

    /// Applies a filter.
    pub fn filter(&mut self, filter: &Filter) {
        // What was typed before, and whether typing goes on, changes no row.
        self.filter = Filter { typing: false, before: (String::new(), 0), ..filter.clone() };
        self.arrange();
    }

    fn arrange(&mut self) {
        let accepted = |(index, row): (usize, &Row)| {
            let evidence = row.evidence.as_deref();
            let flagged = self.tally(index).map(|tally| tally.flagged > 0);
            let accepted =
                self.filter.accepts(&row.id, &row.question, evidence) && self.filter.shows(evidence, flagged);
            accepted.then_some(index)
        };
        let mut shown: Vec<usize> = self.all.iter().enumerate().filter_map(accepted).collect();
        if self.filter.sort != Sort::File {
            shown.sort_by(|one, other| self.compare_rows(*one, *other));
        }
        self.places.clear();
        self.places.resize(self.all.len(), usize::MAX);
        for (place, index) in shown.iter().enumerate() {
            self.places[*index] = place;
        }
        self.shown = shown;
        self.out_of_order = false;
    }

    /// Order of two rows in the list; rows that are equal in it stay in file order.
    fn compare_rows(&self, one: usize, other: usize) -> Ordering {
        let by_file = one.cmp(&other);
        match self.filter.sort {
            Sort::File => by_file,
            Sort::Worst => {
                let score = |index| {
                    let decision = self.columns.first().and_then(|column| column.get(index));
                    decision.and_then(|decision| decision.score).unwrap_or(f64::NEG_INFINITY)
                };
                score(other).total_cmp(&score(one)).then(by_file)
            }
            Sort::Spans => {
                let spans = |index| self.tally(index).map_or(0, |tally| tally.spans);
                spans(other).cmp(&spans(one)).then(by_file)
            }
            Sort::Id => {
                let id = |index: usize| self.all.get(index).map_or("", |row| row.id.as_str());
                compare_ids(id(one), id(other)).then(by_file)
            }
        }
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
            self.columns.push(known.map_or_else(|| Decisions::new(thresholds), |at| kept.remove(at)));
        }
        self.columns.extend(kept);
        self.columns.truncate(KEPT_COLUMNS.max(self.wanted));
        self.out_of_order |= self.filter.depends_on_decisions();
    }

    /// Whether some wanted tally is still missing, or a list lags behind.
    pub fn has_pending(&self) -> bool {
        self.has_undecided() || self.out_of_order || self.present().stale
    }

    fn has_undecided(&self) -> bool {
        self.columns[..self.wanted].iter().any(|column| column.next < self.all.len())
    }

    /// Decides about a slice of what is missing; when nothing is, puts the lists in order.
    pub fn decide_slice(&mut self) {
        if self.has_undecided() {
            self.advance(SLICE_TOKENS);
        } else {
            if self.out_of_order {
                self.arrange();
            }
            if self.columns[0].stale {
                self.columns[0].rank();
            }
        }
    }

    /// There always is a first column: `new` makes it and `aim` keeps the thresholds it is given.
    fn present(&self) -> &Decisions {
        &self.columns[0]
    }

    /// Sum over all rows decided so far, under the present thresholds.
    pub fn total(&self) -> Tally {
        self.present().sum
    }

    /// Sums of the run under the present thresholds, as far as it is decided.
    pub fn figures(&self) -> &Figures {
        &self.present().figures
    }

    /// Ranked lists under the present thresholds, as of the last time nothing else was to be done.
    pub fn overview(&self) -> &Overview {
        &self.present().overview
    }

    /// Counts of one row under the present thresholds.
    pub fn tally(&self, index: usize) -> Option<Tally> {
        self.present().get(index).map(|decision| decision.tally)
    }

    /// What differs between two sets of thresholds, as far as `slider` decides it.
    pub fn compare(&self, base: &Thresholds, now: &Thresholds, slider: SliderName) -> Option<SliderEffect> {
        let column = |wanted: &Thresholds| {
            let found = self.columns.iter().find(|column| column.thresholds == *wanted)?;
            (found.next >= self.all.len()).then_some(found)
        };
        let (base, now) = (column(base)?, column(now)?);
        let pairs = base.rows.iter().zip(&now.rows);
        let changed = pairs.filter(|(base, now)| match (base, now) {
            (Some(base), Some(now)) => slider.measure(&base.tally) != slider.measure(&now.tally),
            _ => false,
        });
        Some(SliderEffect {
            before: slider.measure(&base.sum),
            after: slider.measure(&now.sum),
            changed: changed.count(),
        })
    }

    /// The next row (previous where `backwards`) of the list with a flagged span, round the end.
    pub fn next_flagged(&self, from: usize, backwards: bool) -> Option<usize> {
        let flagged = |index: &&usize| self.tally(**index).is_some_and(|tally| tally.flagged > 0);
        let (before, after) = match self.place(from) {
            Ok(place) => (&self.shown[..place], &self.shown[place + 1..]),
            Err(place) => self.shown.split_at(place),
        };
        let found = if backwards {
            before.iter().rev().find(flagged).or_else(|| self.shown.iter().rev().find(flagged))
        } else {
            after.iter().find(flagged).or_else(|| self.shown.iter().find(flagged))
        };
        found.copied()
    }
}
