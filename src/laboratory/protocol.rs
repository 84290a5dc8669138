//! Who trains, who chooses, who is judged: cross-validation, a data set's own splits, or another data set.
//!
//! Whatever is chosen for the answers that are judged (thresholds, factors) is chosen on scores of other answers, and
//! those scores come from models that had not seen them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::text::visible_line;

use super::{EvaluationError, FeaturePool};

/// Answers to fewer sources than this say nothing about others.
const FEWEST_SOURCES: usize = 5;

/// One training: numbers of answers of the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Round {
    /// What is told of it, for example `fold 1 of 5`.
    pub(super) name: String,
    /// Trained on.
    pub(super) train: Vec<usize>,
    /// Scored by what was trained.
    pub(super) scored: Vec<usize>,
    /// Where settings such as C are tuned: pairs of answers to train on and answers to look at.
    pub(super) tuning: Vec<(Vec<usize>, Vec<usize>)>,
}

/// What is chosen on the scores of some answers is applied to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) chosen_on: Vec<usize>,
    pub(super) applied_to: Vec<usize>,
}

/// How many answers play a part, and what they hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartSize {
    /// Answers.
    pub answers: usize,
    /// Tokens.
    pub tokens: usize,
    /// Unsupported ones.
    pub positive_tokens: usize,
}

/// The kind of a protocol, as it stands in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProtocolKind {
    /// Every fold is scored by a model trained on the others.
    CrossValidation {
        /// Folds in use.
        folds: usize,
    },
    /// The data set's own splits.
    OfficialSplits {
        /// Trained on.
        train: PartSize,
        /// Choices are made on it.
        dev: PartSize,
        /// Sources that stand in the test split and in another one.
        shared_sources: usize,
    },
    /// Trained on all of one data set, tested on another.
    Transfer {
        /// Name of the data that were trained on.
        trained_on: String,
        /// Their hash.
        data_hash: String,
        /// Their size.
        train: PartSize,
        /// Folds of the trained-on data whose out-of-fold scores the choices are made on.
        folds: usize,
    },
}

/// The trainings of a comparison; see the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protocol {
    kind: ProtocolKind,
    pub(super) rounds: Vec<Round>,
    pub(super) choices: Vec<Choice>,
}

impl Protocol {
    /// Cross-validation of the main store: one fold number for each of its answers, at least two in use, no source in
    /// two.
    pub fn cross_validation(pool: &FeaturePool<'_>, folds: &[usize]) -> Result<Self, EvaluationError> {
        let (folds, count) = checked_folds(pool, folds)?;
        let part = |chosen: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..folds.len()).filter(|&answer| chosen(folds[answer])).collect()
        };
        let rounds = (0..count).map(|fold| Round {
            name: format!("fold {} of {count}", fold + 1),
            train: part(&|own| own != fold),
            scored: part(&|own| own == fold),
            tuning: (0..count)
                .filter(|&inner| inner != fold)
                .map(|inner| (part(&|own| own != fold && own != inner), part(&|own| own == inner)))
                .collect(),
        });
        let choices = (0..count)
            .map(|fold| Choice { chosen_on: part(&|own| own != fold), applied_to: part(&|own| own == fold) });
        Ok(Self {
            kind: ProtocolKind::CrossValidation { folds: count },
            rounds: rounds.collect(),
            choices: choices.collect(),
        })
    }

    /// Whether the answers of the main store name splits for training, choosing and testing.
    #[must_use]
    pub fn has_official_splits(pool: &FeaturePool<'_>) -> bool {
        let splits = Splits::of(pool);
        !(splits.train.is_empty() || splits.dev.is_empty() || splits.test.is_empty())
    }

    /// The splits of the main store: trained on `train`, chosen on `dev` (or `validation`), judged on `test`.
    pub fn official_splits(pool: &FeaturePool<'_>) -> Result<Self, EvaluationError> {
        let splits = Splits::of(pool);
        let Splits { train, dev, test, .. } = &splits;
        let unusable = |reason: String| Err(EvaluationError::Splits { reason });
        if train.is_empty() || dev.is_empty() || test.is_empty() {
            return unusable(format!(
                "expected answers of the splits train, dev (or validation) and test, found {}",
                splits.found()
            ));
        }
        for (name, part) in [("train", train), ("dev", dev)] {
            let size = size_of(pool, part);
            if size.positive_tokens == 0 || size.positive_tokens == size.tokens {
                return unusable(format!(
                    "{} of the {} tokens of the {} answers of {name} are unsupported; it needs both kinds",
                    size.positive_tokens, size.tokens, size.answers
                ));
            }
        }
        testable(pool, test, "the test split")?;
        let sources = |part: &[usize]| -> BTreeSet<&str> {
            part.iter().map(|&answer| pool.answers()[answer].labelled.source.as_str()).collect()
        };
        let before: BTreeSet<&str> = &sources(train) | &sources(dev);
        Ok(Self {
            kind: ProtocolKind::OfficialSplits {
                train: size_of(pool, train),
                dev: size_of(pool, dev),
                shared_sources: sources(test).intersection(&before).count(),
            },
            rounds: vec![Round {
                name: "trained on train".to_owned(),
                train: train.clone(),
                scored: [&dev[..], test].concat(),
                tuning: vec![(train.clone(), dev.clone())],
            }],
            choices: vec![Choice { chosen_on: dev.clone(), applied_to: test.clone() }],
        })
    }

    /// Trained on all of the main store, judged on all of the second one. `folds`: of the main store; choices are
    /// made on its out-of-fold scores.
    pub fn transfer(pool: &FeaturePool<'_>, folds: &[usize]) -> Result<Self, EvaluationError> {
        let test = pool.members(1);
        testable(pool, &test, &pool.name(1))?;
        let within = Self::cross_validation(pool, folds)?;
        let train = pool.members(0);
        let held_out = within.rounds.iter().map(|round| (round.train.clone(), round.scored.clone()));
        let last = Round {
            name: "all answers".to_owned(),
            train: train.clone(),
            scored: test.clone(),
            tuning: held_out.collect(),
        };
        Ok(Self {
            kind: ProtocolKind::Transfer {
                trained_on: pool.name(0),
                data_hash: pool.data_hash(0).to_owned(),
                train: size_of(pool, &train),
                folds: within.rounds.len(),
            },
            rounds: within.rounds.into_iter().chain([last]).collect(),
            choices: vec![Choice { chosen_on: train, applied_to: test }],
        })
    }

    /// The same with more answers in every training; they are never scored.
    #[must_use]
    pub fn with_more_training(&self, answers: &[usize]) -> Self {
        let mut more = self.clone();
        for round in &mut more.rounds {
            round.train.extend_from_slice(answers);
            for (train, _) in &mut round.tuning {
                train.extend_from_slice(answers);
            }
        }
        more
    }

    /// What kind it is.
    pub const fn kind(&self) -> &ProtocolKind {
        &self.kind
    }

    /// Every answer that is scored, in order.
    pub(super) fn scored(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.rounds.iter().flat_map(|round| &round.scored).copied().collect();
        all.sort_unstable();
        all
    }

    /// Every answer that is judged, in order.
    pub(super) fn judged(&self) -> Vec<usize> {
        let mut all: Vec<usize> =
            self.choices.iter().flat_map(|choice| &choice.applied_to).copied().collect();
        all.sort_unstable();
        all
    }
}

impl ProtocolKind {
    /// In a sentence of a report, for example `5-fold cross-validation grouped by source`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let told = |part: &PartSize| {
            format!("{} answers, {} tokens, {} unsupported", part.answers, part.tokens, part.positive_tokens)
        };
        match self {
            Self::CrossValidation { folds } => format!("{folds}-fold cross-validation grouped by source"),
            Self::OfficialSplits { train, dev, shared_sources } => format!(
                "the data set's own splits: trained on train ({}), everything chosen on dev ({}), judged on test; {} \
                 of test in the other splits",
                told(train),
                told(dev),
                match shared_sources {
                    0 => "no source".to_owned(),
                    1 => "1 source".to_owned(),
                    count => format!("{count} sources"),
                }
            ),
            Self::Transfer { trained_on, train, folds, .. } => format!(
                "trained on all of {} ({}), thresholds from its {folds}-fold out-of-fold scores, judged on data that no \
                 choice has seen",
                visible_line(trained_on),
                told(train)
            ),
        }
    }

    /// What thresholds are chosen on.
    pub(super) const fn chosen_on(&self) -> &'static str {
        match self {
            Self::CrossValidation { .. } => "the training folds",
            Self::OfficialSplits { .. } => "dev",
            Self::Transfer { .. } => "out-of-fold scores of the training data",
        }
    }

    /// What scores of the judged answers come from.
    pub(super) const fn scores(&self) -> &'static str {
        match self {
            Self::CrossValidation { .. } => "out-of-fold scores",
            Self::OfficialSplits { .. } => "scores of test",
            Self::Transfer { .. } => "scores of the other data",
        }
    }
}

/// Answers of the main store by the split they name.
struct Splits {
    train: Vec<usize>,
    dev: Vec<usize>,
    test: Vec<usize>,
    /// All names with their counts; answers without one under "none".
    counts: BTreeMap<String, usize>,
}

impl Splits {
    fn of(pool: &FeaturePool<'_>) -> Self {
        let (mut train, mut dev, mut test) = (Vec::new(), Vec::new(), Vec::new());
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for number in pool.members(0) {
            let split = pool.answers()[number].labelled.split.as_deref().unwrap_or("none");
            *counts.entry(split.to_owned()).or_default() += 1;
            match split.to_lowercase().as_str() {
                "train" | "training" => train.push(number),
                "dev" | "development" | "validation" | "valid" | "val" => dev.push(number),
                "test" => test.push(number),
                _ => {}
            }
        }
        Self { train, dev, test, counts }
    }

    fn found(&self) -> String {
        let found: Vec<String> =
            self.counts.iter().map(|(name, count)| format!("{count} of {}", visible_line(name))).collect();
        found.join(", ")
    }
}

fn size_of(pool: &FeaturePool<'_>, answers: &[usize]) -> PartSize {
    let labels = answers.iter().map(|&answer| pool.answers()[answer].token_labels());
    let (mut tokens, mut positive_tokens) = (0, 0);
    for labels in labels {
        tokens += labels.len();
        positive_tokens += labels.iter().filter(|&&label| label).count();
    }
    PartSize { answers: answers.len(), tokens, positive_tokens }
}

fn testable(pool: &FeaturePool<'_>, answers: &[usize], data: &str) -> Result<(), EvaluationError> {
    let refuse = |reason: String| Err(EvaluationError::Untestable { data: data.to_owned(), reason });
    let sources: BTreeSet<&str> =
        answers.iter().map(|&answer| pool.answers()[answer].labelled.source.as_str()).collect();
    if sources.len() < FEWEST_SOURCES {
        return refuse(format!(
            "its {} labelled answers have {} sources, intervals over sources need at least {FEWEST_SOURCES}",
            answers.len(),
            sources.len()
        ));
    }
    let size = size_of(pool, answers);
    if size.positive_tokens == 0 || size.positive_tokens == size.tokens {
        return refuse(format!(
            "{} of its {} tokens are unsupported; figures need both kinds",
            size.positive_tokens, size.tokens
        ));
    }
    Ok(())
}

/// Fold numbers without gaps and their count.
fn checked_folds(pool: &FeaturePool<'_>, folds: &[usize]) -> Result<(Vec<usize>, usize), EvaluationError> {
    let unusable = |reason: String| Err(EvaluationError::Folds { reason });
    let answers = &pool.answers()[..pool.members(0).len()];
    if folds.len() != answers.len() {
        return unusable(format!("{} fold numbers for {} stored answers", folds.len(), answers.len()));
    }
    let mut of_source = BTreeMap::new();
    for (answer, &fold) in answers.iter().zip(folds) {
        let source = answer.labelled.source.as_str();
        let first = *of_source.entry(source).or_insert(fold);
        if first != fold {
            return unusable(format!("the source {source} straddles folds {first} and {fold}"));
        }
    }
    let mut used: Vec<usize> = folds.to_vec();
    used.sort_unstable();
    used.dedup();
    if used.len() < 2 {
        return unusable(format!("{} fold in use, at least 2 are needed", used.len()));
    }
    if of_source.len() < FEWEST_SOURCES {
        return unusable(format!(
            "the answers have {} sources, grouped cross-validation needs at least {FEWEST_SOURCES}; add labelled \
             answers to other questions",
            of_source.len()
        ));
    }
    let numbered = folds.iter().map(|fold| used.partition_point(|other| other < fold)).collect();
    Ok((numbered, used.len()))
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
