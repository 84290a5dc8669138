//! Several feature stores side by side: the data that is judged first, then data that is tested on or trained on as
//! well.

use std::collections::{BTreeMap, HashMap};

use crate::detect::{AnswerFeatures, BlockValues, FeatureBlock, FeatureRows, ModelShape, StoredRows};
use crate::text::words;

use super::{EvaluationError, FeatureStore, LoadedBlock, StoreHeader, StoredAnswer};

/// An answer of so many words stands in two data sets only where one was made from the other; shorter ones may be
/// a phrase that models use.
const TELLING_WORDS: usize = 12;

/// The answers of one or more stores, numbered through. All were read by one model and keep the same features.
#[derive(Debug)]
pub struct FeaturePool<'a> {
    stores: Vec<&'a FeatureStore>,
    answers: Vec<StoredAnswer>,
    /// The number of the first answer of each store, and the number of all answers.
    firsts: Vec<usize>,
}

impl<'a> FeaturePool<'a> {
    /// Of one store.
    #[must_use]
    pub fn of(store: &'a FeatureStore) -> Self {
        Self::side_by_side(vec![store])
    }

    /// Of several; the first is the main one.
    ///
    /// # Errors
    /// When there is none, when they come from different models or keep different features, or when a long answer
    /// stands in two of them: what is tested would be trained on.
    pub fn new(stores: Vec<&'a FeatureStore>) -> Result<Self, EvaluationError> {
        let refuse = |reason: String| Err(EvaluationError::Apart { reason });
        let Some((first, others)) = stores.split_first() else {
            return refuse("expected at least one feature store, found none".to_owned());
        };
        let mut owner: HashMap<&str, usize> = HashMap::new();
        for (number, store) in stores.iter().enumerate() {
            for answer in store.answers() {
                let text = answer.labelled.answer.trim();
                if words(text).len() < TELLING_WORDS {
                    continue;
                }
                if let Some(before) = owner.insert(text, number).filter(|before| *before != number) {
                    let [one, other] = [stores[before], *store].map(name_of);
                    return refuse(format!(
                        "the answer with key {} of {other} stands in {one} as well, so that what is tested would be \
                         trained on; leave the shared answers out of one of them",
                        answer.labelled.key
                    ));
                }
            }
        }
        for other in others {
            if let Some(difference) = first.header().difference_of_features(other.header()) {
                return refuse(format!("{} and {} do not fit: {difference}", name_of(first), name_of(other)));
            }
        }
        Ok(Self::side_by_side(stores))
    }

    fn side_by_side(stores: Vec<&'a FeatureStore>) -> Self {
        let mut answers: Vec<StoredAnswer> = Vec::new();
        let mut firsts = vec![0];
        for store in &stores {
            for answer in store.answers() {
                let first_token = answers.last().map_or(0, |last| last.tokens().end);
                answers.push(StoredAnswer { first_token, ..answer.clone() });
            }
            firsts.push(answers.len());
        }
        Self { stores, answers, firsts }
    }

    /// The answers of all stores, their tokens numbered through.
    #[must_use]
    pub fn answers(&self) -> &[StoredAnswer] {
        &self.answers
    }

    /// How many stores there are.
    #[must_use]
    pub fn stores(&self) -> usize {
        self.stores.len()
    }

    /// Numbers of the answers of one store; none for a store that is not there.
    #[must_use]
    pub fn members(&self, store: usize) -> Vec<usize> {
        match (self.firsts.get(store), self.firsts.get(store + 1)) {
            (Some(&first), Some(&end)) => (first..end).collect(),
            _ => Vec::new(),
        }
    }

    /// Number of the store that holds an answer.
    pub(super) fn store_of(&self, answer: usize) -> usize {
        self.firsts.partition_point(|&first| first <= answer).saturating_sub(1)
    }

    /// Name of the data of one store.
    #[must_use]
    pub fn name(&self, store: usize) -> String {
        self.stores.get(store).map_or_else(String::new, |store| name_of(store))
    }

    /// Hash of the data of one store.
    pub(super) fn data_hash(&self, store: usize) -> &str {
        self.stores.get(store).map_or("", |store| store.header().data_hash.as_str())
    }

    /// What was read for one store, and how.
    pub(super) fn reading(&self, store: usize) -> String {
        self.stores.get(store).map_or_else(String::new, |store| store.header().reading())
    }

    /// Of the main store.
    ///
    /// # Panics
    /// Never: there is a main store.
    #[must_use]
    pub fn header(&self) -> &StoreHeader {
        self.stores[0].header()
    }

    /// Number of tokens of all answers.
    #[must_use]
    pub fn token_count(&self) -> usize {
        self.answers.last().map_or(0, |last| last.tokens().end)
    }

    /// Token labels of all answers.
    pub(super) fn token_labels(&self) -> Vec<bool> {
        self.answers.iter().flat_map(StoredAnswer::token_labels).collect()
    }

    /// Tokens of some answers, in their order.
    pub(super) fn tokens_of(&self, answers: &[usize]) -> Vec<usize> {
        answers.iter().filter_map(|&answer| self.answers.get(answer)).flat_map(StoredAnswer::tokens).collect()
    }

    /// The answers of the main store by generator, those without one left out.
    pub(super) fn by_generator(&self) -> BTreeMap<String, Vec<usize>> {
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for number in self.members(0) {
            if let Some(generator) = &self.answers[number].labelled.generator {
                groups.entry(generator.clone()).or_default().push(number);
            }
        }
        groups
    }

    /// One feature block of all tokens in memory.
    fn load(&self, block: FeatureBlock) -> Result<LoadedBlock, EvaluationError> {
        let mut all: Option<LoadedBlock> = None;
        for store in &self.stores {
            let next = store.load(block)?;
            match (&mut all, next) {
                (Some(LoadedBlock::F16(values)), LoadedBlock::F16(next)) => values.extend(next),
                (Some(LoadedBlock::F32(values)), LoadedBlock::F32(next)) => values.extend(next),
                // A block has one precision, so this is the first store.
                (all, next) => *all = Some(next),
            }
        }
        Ok(all.unwrap_or(LoadedBlock::F32(Vec::new())))
    }

    /// One feature block of all tokens, left on disk.
    fn stored(&self, block: FeatureBlock) -> Result<StoredRows, EvaluationError> {
        let mut segments = Vec::new();
        for store in &self.stores {
            segments.extend(store.segments(block)?);
        }
        Ok(StoredRows::new(segments, block.width(self.header().model.shape), block.precision()))
    }

    /// The unscaled answer vectors of all answers, [answers, width].
    pub(super) fn load_answers(&self, features: AnswerFeatures) -> Result<Vec<f32>, EvaluationError> {
        let mut all = Vec::new();
        for store in &self.stores {
            all.append(&mut store.load_answers(features)?);
        }
        Ok(all)
    }
}

fn name_of(store: &FeatureStore) -> String {
    let header = store.header();
    header.settings.get("data").unwrap_or(&header.data_hash).clone()
}

/// The feature blocks of one method with their widths: in memory where they fit the store's limit
/// together, else on disk.
#[derive(Debug)]
pub struct LoadedFeatures {
    blocks: Vec<(LoadedBlock, usize)>,
    memory_limit: u64,
}

impl LoadedFeatures {
    /// Loads the blocks, or finds them on disk, and compares them with their checksums.
    pub fn load(pool: &FeaturePool<'_>, blocks: &[FeatureBlock]) -> Result<Self, EvaluationError> {
        let shape: ModelShape = pool.header().model.shape;
        let memory_limit = pool.stores.iter().map(|store| store.memory_limit()).min().unwrap_or(0);
        let bytes =
            |block: FeatureBlock| pool.stores.iter().map(|store| store.block_bytes(block)).sum::<u64>();
        let fits = blocks.iter().map(|&block| bytes(block)).sum::<u64>() <= memory_limit;
        let load = |&block: &FeatureBlock| {
            let loaded = if fits { pool.load(block)? } else { LoadedBlock::Stored(pool.stored(block)?) };
            Ok((loaded, block.width(shape)))
        };
        Ok(Self { blocks: blocks.iter().map(load).collect::<Result<_, EvaluationError>>()?, memory_limit })
    }

    /// The blocks side by side.
    pub fn rows(&self) -> Result<FeatureRows<'_>, EvaluationError> {
        let blocks: Vec<(BlockValues<'_>, usize)> =
            self.blocks.iter().map(|(block, width)| (block.values(), *width)).collect();
        Ok(FeatureRows::new(blocks)?.with_memory_limit(self.memory_limit))
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic_store::{examples, filled, filled_as};
    use super::*;
    use crate::reading::StateLayer;

    fn values(pool: &FeaturePool<'_>, blocks: &[FeatureBlock]) -> Vec<f32> {
        let loaded = LoadedFeatures::load(pool, blocks).unwrap();
        let rows = loaded.rows().unwrap();
        let mut values = vec![0.0; rows.rows() * rows.width()];
        rows.copy_rows(&(0..rows.rows()).collect::<Vec<_>>(), &mut values).unwrap();
        values
    }

    #[test]
    fn two_stores_side_by_side_are_one_after_the_other_in_memory_and_on_disk() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut first = filled(one.path(), &examples(6, 1.0));
        let mut second = filled_as(other.path(), &examples(4, 2.0), "second");
        let blocks = [FeatureBlock::Difference { layer: StateLayer::Block(1) }, FeatureBlock::Likelihood];
        let apart = [values(&FeaturePool::of(&first), &blocks), values(&FeaturePool::of(&second), &blocks)];
        let together = |first: &FeatureStore, second: &FeatureStore| {
            let pool = FeaturePool::new(vec![first, second]).unwrap();
            assert_eq!((pool.members(0), pool.members(1)), ((0..6).collect(), (6..10).collect()));
            assert_eq!((pool.store_of(5), pool.store_of(6), pool.members(2).len()), (0, 1, 0));
            assert_eq!(pool.answers()[6].tokens(), 240..280);
            assert_eq!(pool.tokens_of(&[7, 0]), (280..320).chain(0..40).collect::<Vec<_>>());
            values(&pool, &blocks)
        };
        assert_eq!(together(&first, &second), apart.concat());
        first.set_memory_limit(0);
        second.set_memory_limit(0);
        assert_eq!(together(&first, &second), apart.concat());
        let pool = FeaturePool::new(vec![&first, &second]).unwrap();
        assert_eq!(pool.load_answers(AnswerFeatures::FullContext).unwrap().len(), 10 * 6);
        assert_eq!(pool.name(1), "second");
    }

    #[test]
    fn stores_that_do_not_fit_or_share_answers_are_refused() {
        let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let first = filled(folders[0].path(), &examples(6, 1.0));
        let same = filled(folders[1].path(), &examples(4, 1.0));
        let message = FeaturePool::new(vec![&first, &same]).unwrap_err().to_string();
        assert!(message.contains("trained on") && message.contains("row-0"), "{message}");
        let message = FeaturePool::new(Vec::new()).unwrap_err().to_string();
        assert!(message.contains("found none"), "{message}");

        let mut header = super::super::synthetic_store::header();
        header.model.hash = "bb22".to_owned();
        let other = FeatureStore::open(folders[2].path(), &header).unwrap();
        let message = FeaturePool::new(vec![&first, &other]).unwrap_err().to_string();
        assert!(message.contains("model hash is aa11, wanted is bb22"), "{message}");
    }
}
