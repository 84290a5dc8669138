//! Look-back ratios across groups, as in the first paper's figure 6: trained on one group, tested on another.
//!
//! The paper's groups are data sets of one domain each, split 3:2 into training and test part. Here a group is a
//! generator, or a data set where there are two. Answers of several generators to one source share their passages, so
//! the split is by source and the same for all groups: no test answer has a source that any group was trained on. One
//! split of so few answers says little, so there are many, and a cell is the mean over them.

use rayon::prelude::*;
use serde::Serialize;

use crate::detect::{AnswerFeatures, DetectError};
use crate::metrics::{Measure, Random, auroc};

use super::lookback_measures::{AnswerVectors, PAPER_C};
use super::{EvaluationError, EvaluationSettings, FeaturePool};

/// Share of the sources that is trained on: 3 of 5.
const TRAINED: (usize, usize) = (3, 5);
/// Random splits.
const SPLITS: usize = 40;
/// A cell with fewer usable splits than this has no figure.
const FEWEST_SPLITS: usize = SPLITS / 2;

/// AUROC of every pair of groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupMatrix {
    /// What a group is: `generator` or `data set`.
    pub by: String,
    /// The features, as rows of the look-back table name them.
    pub features: String,
    /// The groups in the order of rows and columns.
    pub groups: Vec<Group>,
    /// Random splits by source.
    pub splits: usize,
    /// `cells[a][b]`: trained on group a, tested on group b.
    pub cells: Vec<Vec<GroupCell>>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its answers.
    pub answers: usize,
    /// The inconsistent ones.
    pub inconsistent: usize,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupCell {
    /// Mean AUROC over splits, positive = consistent; undefined where a class is missing in most of them.
    pub auroc: Measure,
    /// Standard deviation over splits.
    pub deviation: Option<f64>,
    /// Splits with both classes in both parts.
    pub usable: usize,
}

/// Every matrix that the answers allow: of the look-back ratios of single chunks and of the whole context.
pub(super) fn matrices(
    pool: &FeaturePool<'_>,
    by_data: bool,
    settings: &EvaluationSettings,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<GroupMatrix>, EvaluationError> {
    let (by, groups): (&str, Vec<(String, Vec<usize>)>) = if by_data {
        ("data set", (0..2).map(|store| (pool.name(store), pool.members(store))).collect())
    } else {
        ("generator", pool.by_generator().into_iter().collect())
    };
    if groups.len() < 2 {
        return Ok(Vec::new());
    }
    let chunk_wise = AnswerFeatures::ChunkWise { blocks: pool.header().chunk_blocks };
    [(chunk_wise, "look-back CW"), (AnswerFeatures::FullContext, "look-back FC")]
        .into_iter()
        .map(|(features, name)| {
            progress(&format!("{name}: from {by} to {by}"));
            let vectors = AnswerVectors::load(pool, features)?;
            matrix(pool, &vectors, by, name, &groups, settings.seed)
        })
        .collect()
}

fn matrix(
    pool: &FeaturePool<'_>,
    vectors: &AnswerVectors,
    by: &str,
    features: &str,
    groups: &[(String, Vec<usize>)],
    seed: u64,
) -> Result<GroupMatrix, EvaluationError> {
    // Sources of different data sets are different, whatever they are called.
    let source_of = |answer: usize| (pool.store_of(answer), pool.answers()[answer].labelled.source.as_str());
    let mut sources: Vec<(usize, &str)> =
        groups.iter().flat_map(|(_, members)| members).map(|&answer| source_of(answer)).collect();
    sources.sort_unstable();
    sources.dedup();
    let found: Vec<Vec<Vec<Option<f64>>>> = (0..SPLITS)
        .into_par_iter()
        .map(|split| {
            let mut trained = Vec::new();
            // Every data set is divided 3:2 by itself.
            for own in sources.chunk_by(|left, right| left.0 == right.0) {
                let mut own = own.to_vec();
                Random::for_task(seed, split as u64).shuffle(&mut own);
                own.truncate(own.len() * TRAINED.0 / TRAINED.1);
                trained.extend(own);
            }
            trained.sort_unstable();
            let part = |members: &[usize], inside: bool| -> Vec<usize> {
                let is_inside = |answer: usize| trained.binary_search(&source_of(answer)).is_ok();
                members.iter().copied().filter(|&answer| is_inside(answer) == inside).collect()
            };
            let row = |(_, members): &(String, Vec<usize>)| {
                let model = match vectors.fit(&part(members, true), PAPER_C) {
                    Ok(model) => model,
                    Err(DetectError::OneClass { .. }) => return Ok(vec![None; groups.len()]),
                    Err(error) => return Err(error),
                };
                let cell = |(_, members): &(String, Vec<usize>)| {
                    let test = part(members, false);
                    let scores: Vec<f64> =
                        test.iter().map(|&answer| vectors.probability(&model, answer)).collect();
                    auroc(&vectors.labels_of(&test), &scores).value()
                };
                Ok(groups.iter().map(cell).collect())
            };
            groups.iter().map(row).collect::<Result<_, DetectError>>()
        })
        .collect::<Result<_, DetectError>>()?;
    let cell = |from: usize, to: usize| {
        let values: Vec<f64> = found.iter().filter_map(|split| split[from][to]).collect();
        let count = values.len() as f64;
        if values.len() < FEWEST_SPLITS {
            let reason = format!("both classes in {} of {SPLITS} splits", values.len());
            return GroupCell { auroc: Measure::undefined(reason), deviation: None, usable: values.len() };
        }
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        GroupCell { auroc: Measure::of(mean), deviation: Some(variance.sqrt()), usable: values.len() }
    };
    let size = |(name, members): &(String, Vec<usize>)| Group {
        name: name.clone(),
        answers: members.len(),
        inconsistent: vectors.labels_of(members).iter().filter(|&&consistent| !consistent).count(),
    };
    let numbers = 0..groups.len();
    Ok(GroupMatrix {
        by: by.to_owned(),
        features: features.to_owned(),
        groups: groups.iter().map(size).collect(),
        splits: SPLITS,
        cells: numbers.clone().map(|from| numbers.clone().map(|to| cell(from, to)).collect()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::synthetic_store::{examples, filled, filled_as};
    use super::*;

    fn of(pool: &FeaturePool<'_>, by_data: bool) -> Vec<GroupMatrix> {
        let settings = EvaluationSettings::standard(pool.header());
        matrices(pool, by_data, &settings, &mut |_| {}).unwrap()
    }

    #[test]
    fn a_signal_shared_by_two_data_sets_carries_over_and_a_group_of_one_class_has_a_reason() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let first = filled(folders[0].path(), &examples(60, 2.0));
        let pool = FeaturePool::of(&first);
        let [chunk_wise, _] = &of(&pool, false)[..] else { panic!("two matrices") };
        assert_eq!((chunk_wise.by.as_str(), chunk_wise.groups[0].name.as_str()), ("generator", "careful"));
        // "careful" never errs: it can neither train nor be tested on.
        assert!(chunk_wise.cells[0][1].auroc.reason().unwrap().contains("in 0 of 40"));
        assert!(chunk_wise.cells[1][0].auroc.value().is_none());
        assert!(chunk_wise.cells[1][1].auroc.value().unwrap() > 0.7, "{:?}", chunk_wise.cells[1][1]);

        let second = filled_as(folders[1].path(), &examples(40, 2.0), "second");
        let both = FeaturePool::new(vec![&first, &second]).unwrap();
        for matrix in of(&both, true) {
            assert_eq!(matrix.groups.iter().map(|group| group.answers).collect::<Vec<_>>(), [60, 40]);
            for cell in matrix.cells.iter().flatten() {
                assert!(cell.auroc.value().unwrap() > 0.7 && cell.usable == SPLITS, "{matrix:?}");
            }
        }
        assert_eq!(of(&both, true), of(&both, true), "the seed decides");
    }

    #[test]
    fn one_group_has_no_matrix() {
        let folder = tempfile::tempdir().unwrap();
        let mut examples = examples(8, 1.0);
        for (label, _) in &mut examples {
            label.generator = Some("only".to_owned());
        }
        let store = filled(folder.path(), &examples);
        assert!(of(&FeaturePool::of(&store), false).is_empty());
    }
}
