//! Whether model files still are what they were published as.

use std::io;
use std::path::{Path, PathBuf};

use super::gguf_split::split_name;
use super::hash::sha256_file;
use super::location::{ModelLocation, weight_files};

/// A file that was hashed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    pub path: PathBuf,
    /// SHA-256 of what is there, lower-case hexadecimal.
    pub found: String,
    /// What it has to be; `None` where nobody said.
    pub expected: Option<String>,
}

impl Verification {
    /// Whether the file is known to be wrong.
    pub fn is_damaged(&self) -> bool {
        self.expected.as_ref().is_some_and(|expected| *expected != self.found)
    }
}

/// Hashes the weights of a model again, in full. `expected` is the hash of its one file, where it is known;
/// files in the cache of Hugging Face's tools are links to files that are named by their hash.
pub fn verify(location: &ModelLocation, expected: Option<&str>) -> io::Result<Vec<Verification>> {
    let files = if location.is_gguf() {
        let alone = || vec![location.path().to_owned()];
        split_name(location.path()).map_or_else(alone, |split| split.files)
    } else {
        weight_files(location.path())?
    };
    let expected = expected.filter(|_| files.len() == 1);
    files
        .into_iter()
        .map(|path| {
            let expected = expected.map(ToOwned::to_owned).or_else(|| hash_in_name(&path));
            Ok(Verification { found: sha256_file(&path)?, path, expected })
        })
        .collect()
}

fn hash_in_name(path: &Path) -> Option<String> {
    let target = std::fs::canonicalize(path).ok()?;
    let name = target.file_name()?.to_str()?;
    // Ollama's files are called `sha256-...`.
    let name = name.strip_prefix("sha256-").unwrap_or(name);
    let is_hash = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_file_is_held_against_its_published_hash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.gguf");
        std::fs::write(&path, "abc").unwrap();
        let location = ModelLocation::Gguf(path.clone());
        assert!(!verify(&location, Some(ABC)).unwrap()[0].is_damaged());
        let unknown = &verify(&location, None).unwrap()[0];
        assert_eq!((&*unknown.found, &unknown.expected), (ABC, &None));
        std::fs::write(&path, "abd").unwrap();
        assert!(verify(&location, Some(ABC)).unwrap()[0].is_damaged());
    }

    #[test]
    fn every_part_of_a_split_file_is_hashed_and_a_missing_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let part = |number: usize| folder.path().join(format!("m-0000{number}-of-00002.gguf"));
        std::fs::write(part(1), "abc").unwrap();
        let location = ModelLocation::Gguf(part(1));
        assert!(verify(&location, None).is_err());
        std::fs::write(part(2), "abd").unwrap();
        let found = verify(&location, Some(ABC)).unwrap();
        assert_eq!(found.iter().map(|one| one.path.clone()).collect::<Vec<_>>(), [part(1), part(2)]);
        assert_eq!(found[0].found, ABC);
        assert!(found[1].found != ABC && found.iter().all(|one| one.expected.is_none()));
    }

    #[cfg(unix)]
    #[test]
    fn files_of_the_hub_cache_are_held_against_the_hash_they_are_named_by() {
        let folder = tempfile::tempdir().unwrap();
        let blob = folder.path().join(ABC);
        std::fs::write(&blob, "abc").unwrap();
        let snapshot = folder.path().join("snapshot");
        std::fs::create_dir(&snapshot).unwrap();
        std::os::unix::fs::symlink(&blob, snapshot.join("model.safetensors")).unwrap();
        let location = ModelLocation::Directory(snapshot);
        let intact = verify(&location, None).unwrap();
        assert_eq!(
            (intact.len(), intact[0].expected.as_deref(), intact[0].is_damaged()),
            (1, Some(ABC), false)
        );
        std::fs::write(&blob, "changed").unwrap();
        assert!(verify(&location, None).unwrap()[0].is_damaged());
    }
}
