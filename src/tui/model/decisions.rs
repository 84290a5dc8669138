//! What one set of thresholds decides about all rows, row by row.

use super::figures::{Figures, Overview, Rate, WorstAnswer};
use super::rows::Row;
use super::tally::Tally;
use crate::evidence::{Evidence, Thresholds, decide};

/// What is kept of the decisions about one row.
#[derive(Debug, Clone, Copy)]
pub struct Decision {
    pub tally: Tally,
    /// The answer's score; `None` where there is none.
    pub score: Option<f64>,
}

/// The decisions about all rows under one set of thresholds.
#[derive(Debug, Clone)]
pub struct Decisions {
    pub thresholds: Thresholds,
    pub rows: Vec<Option<Decision>>,
    pub sum: Tally,
    pub figures: Figures,
    pub overview: Overview,
    /// Whether `overview` lags behind the sums.
    pub stale: bool,
    /// Rows before this one are decided.
    pub next: usize,
}

impl Decisions {
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            thresholds,
            rows: Vec::new(),
            sum: Tally::default(),
            figures: Figures::default(),
            overview: Overview::default(),
            stale: false,
            next: 0,
        }
    }

    pub fn get(&self, index: usize) -> Option<Decision> {
        self.rows.get(index).copied().flatten()
    }

    /// Decides about a row; `before` is the evidence it had when it was decided the last time.
    pub fn decide(&mut self, index: usize, before: Option<&Evidence>, evidence: &Evidence) {
        if let (Some(decision), Some(before)) = (self.get(index), before) {
            self.sum.subtract(decision.tally);
            let findings = decide(before, &self.thresholds);
            self.figures.count(index, before, &findings, &self.thresholds, false);
        }
        let findings = decide(evidence, &self.thresholds);
        let tally = Tally::of(evidence, &findings, self.thresholds.alpha);
        self.sum.add(tally);
        self.figures.count(index, evidence, &findings, &self.thresholds, true);
        if self.rows.len() <= index {
            self.rows.resize(index + 1, None);
        }
        self.rows[index] = Some(Decision { tally, score: findings.answer_score });
        self.stale = true;
    }

    /// Decides about rows until all are decided or `budget` tokens are spent; returns the rest. Rows
    /// without evidence cost nothing, so they are passed even without a budget.
    pub fn advance(&mut self, rows: &[Row], mut budget: usize) -> usize {
        while let Some(row) = rows.get(self.next) {
            if let Some(evidence) = &row.evidence
                && self.get(self.next).is_none()
            {
                if budget == 0 {
                    return 0;
                }
                let tokens = evidence.reading.as_ref().map_or(0, |reading| reading.tokens.len());
                self.decide(self.next, None, evidence);
                budget = budget.saturating_sub(tokens + 16);
            }
            self.next += 1;
        }
        budget
    }

    /// Makes the ranked lists anew.
    pub fn rank(&mut self) {
        let worst = self.rows.iter().enumerate().filter_map(|(example, decision)| {
            let decision = (*decision)?;
            Some(WorstAnswer { example, score: decision.score?, spans: decision.tally.spans })
        });
        let all = Rate { read: self.sum.read, flagged: self.sum.flagged };
        self.overview = self.figures.overview(all, worst);
        self.stale = false;
    }
}
