//! Scores of trained detectors, each trained once for each round of a protocol: ensembles share their members with single rows, and a
//! comparison that was interrupted goes on where it stopped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::protocol::Round;
use super::{EvaluationError, FeaturePool};
use crate::disk::{FileAccess, read_at_most, write_whole_with};
use crate::text::hexadecimal;

/// Scores by what made them: in memory, and on disk where a folder is given.
#[derive(Debug, Default)]
pub struct ScoreCache {
    folder: Option<PathBuf>,
    known: BTreeMap<String, Vec<f64>>,
}

impl ScoreCache {
    /// Keeps scores in `folder` as well.
    #[must_use]
    pub fn on_disk(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()), known: BTreeMap::new() }
    }

    /// The token scores of what a round scores, in its order, computed only if they are not known.
    ///
    /// `method`: features and classifier. A round is known by the data and the keys of its answers, so that one data
    /// set's folds are trained once, whether it stands alone or beside another that it is tested on.
    pub(super) fn scores(
        &mut self,
        method: &impl Serialize,
        pool: &FeaturePool<'_>,
        round: &Round,
        compute: impl FnOnce() -> Result<Vec<f64>, EvaluationError>,
    ) -> Result<Vec<f64>, EvaluationError> {
        let described = serde_json::to_string(method).unwrap_or_default();
        // Another version may train in another way.
        let tool = concat!("ragscope ", env!("CARGO_PKG_VERSION"), ", trainers 2");
        let mut digest = Sha256::new();
        digest.update(format!("{tool}\n{described}\n{}\n", pool.header().model.hash));
        let readings: Vec<String> = (0..pool.stores()).map(|store| pool.reading(store)).collect();
        for (part, answers) in [("train", &round.train), ("scored", &round.scored)] {
            digest.update(part);
            for &answer in answers {
                let key = &pool.answers()[answer].labelled.key;
                digest.update(format!("\n{} {key}", readings[pool.store_of(answer)]));
            }
        }
        let key = hexadecimal(&digest.finalize()[..8]);
        if let Some(scores) = self.known.get(&key) {
            return Ok(scores.clone());
        }
        let path = self.folder.as_ref().map(|folder| folder.join(format!("{key}.scores")));
        let tokens = pool.tokens_of(&round.scored).len();
        let kept = path.as_ref().and_then(|path| read(path, tokens));
        let scores = if let Some(scores) = kept {
            scores
        } else {
            let scores = compute()?;
            if let Some(path) = &path {
                write(path, &scores).map_err(EvaluationError::file("write", path))?;
            }
            scores
        };
        self.known.insert(key, scores.clone());
        Ok(scores)
    }
}

/// Scores with their checksum before them; a file that does not match is as good as none.
fn read(path: &Path, tokens: usize) -> Option<Vec<f64>> {
    let bytes = read_at_most(path, 32 + tokens as u64 * 8).ok()?;
    let (checksum, values) = bytes.split_at_checked(32)?;
    let whole = values.len() == tokens * 8 && Sha256::digest(values).as_slice() == checksum;
    whole.then(|| {
        values
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
            .collect()
    })
}

fn write(path: &Path, scores: &[f64]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let values: Vec<u8> = scores.iter().flat_map(|score| score.to_le_bytes()).collect();
    write_whole_with(path, FileAccess::Private, &|out| {
        out.write_all(&Sha256::digest(&values))?;
        out.write_all(&values)
    })
}

#[cfg(test)]
mod tests {
    use super::super::synthetic_store::{examples, filled, filled_as};
    use super::*;

    fn round(train: Vec<usize>, scored: Vec<usize>) -> Round {
        Round { name: "round".to_owned(), train, scored, tuning: Vec::new() }
    }

    #[test]
    fn scores_are_computed_once_and_a_damaged_file_is_computed_again() {
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = filled(data.path(), &examples(2, 1.0));
        let pool = FeaturePool::of(&store);
        let ask = |round: &Round, score: f64| {
            let compute = || Ok(vec![score; 40]);
            ScoreCache::on_disk(folder.path()).scores(&"method", &pool, round, compute).unwrap()[0]
        };
        let first = round(vec![0], vec![1]);
        assert_eq!((ask(&first, 0.1), ask(&first, 0.3)), (0.1, 0.1));
        let path = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        bytes[40] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!((ask(&first, 0.3), ask(&round(vec![1], vec![0]), 0.5)), (0.3, 0.5));
    }

    #[test]
    fn the_folds_of_a_data_set_are_known_beside_another_one_and_more_training_is_another_round() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let main = filled(folders[0].path(), &examples(4, 1.0));
        let other = filled_as(folders[1].path(), &examples(4, 1.0), "other");
        let mut cache = ScoreCache::default();
        let mut ask = |pool: &FeaturePool<'_>, round: &Round, score: f64| {
            cache.scores(&"method", pool, round, || Ok(vec![score; 80])).unwrap()[0]
        };
        let within = round(vec![0, 1], vec![2, 3]);
        let both = FeaturePool::new(vec![&main, &other]).unwrap();
        assert_eq!(ask(&FeaturePool::of(&main), &within, 0.1), 0.1);
        assert_eq!(ask(&both, &within, 0.2), 0.1);
        assert_eq!(ask(&both, &round(vec![0, 1, 4], vec![2, 3]), 0.3), 0.3);
        assert_eq!(ask(&both, &round(vec![0, 5], vec![2, 3]), 0.4), 0.4);
        let swapped = FeaturePool::new(vec![&other, &main]).unwrap();
        assert_eq!(ask(&swapped, &round(vec![4, 5], vec![6, 7]), 0.5), 0.1);
    }
}
