//! Out-of-fold scores of trained detectors, each trained once: ensembles share their members with single rows, and a
//! comparison that was interrupted goes on where it stopped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::EvaluationError;
use super::cross_validation::Folds;
use super::store_header::leading_digits;
use crate::disk::{FileAccess, read_at_most, write_whole_with};

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

    /// The scores of `method` on data with this hash under these folds, computed only if they are not known.
    pub(super) fn scores(
        &mut self,
        method: &impl Serialize,
        data_hash: &str,
        folds: &Folds,
        tokens: usize,
        compute: impl FnOnce() -> Result<Vec<f64>, EvaluationError>,
    ) -> Result<Vec<f64>, EvaluationError> {
        let described = serde_json::to_string(method).unwrap_or_default();
        let numbers: Vec<String> = folds.of_answer.iter().map(ToString::to_string).collect();
        // Another version may train in another way.
        let tool = concat!("ragscope ", env!("CARGO_PKG_VERSION"), ", trainers 1");
        let digest = Sha256::digest(format!("{tool}\n{described}\n{data_hash}\n{}", numbers.join(" ")));
        let key = leading_digits(&digest);
        if let Some(scores) = self.known.get(&key) {
            return Ok(scores.clone());
        }
        let path = self.folder.as_ref().map(|folder| folder.join(format!("{key}.scores")));
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
    use super::*;

    #[test]
    fn scores_are_computed_once_and_a_damaged_file_is_computed_again() {
        let folder = tempfile::tempdir().unwrap();
        let folds = Folds { of_answer: vec![0, 1], count: 2 };
        let ask = |scores: Vec<f64>| {
            ScoreCache::on_disk(folder.path()).scores(&"method", "data", &folds, 2, || Ok(scores)).unwrap()
        };
        assert_eq!(ask(vec![0.1, 0.2]), [0.1, 0.2]);
        assert_eq!(ask(vec![0.3, 0.4]), [0.1, 0.2]);
        let path = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        bytes[40] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(ask(vec![0.3, 0.4]), [0.3, 0.4]);
    }
}
