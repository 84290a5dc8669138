//! Models that Hugging Face's tools have downloaded: `org/name[@revision]` to the directory of a snapshot.
//!
//! Layout: `models--org--name/{refs/<revision>, snapshots/<commit>/…, blobs/…}`, where the file of a ref
//! holds the commit and the files of a snapshot are links. Nothing is downloaded here: see `hub`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::location::LocationError;
use crate::disk::read_regular_text;

/// What looks a variable of the environment up.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// A variable's value as a path; empty counts as not set.
pub(super) fn path_in(variable: Environment, name: &str) -> Option<PathBuf> {
    variable(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The user's home directory.
pub(super) fn home(variable: Environment) -> Option<PathBuf> {
    path_in(variable, "HOME").or_else(|| path_in(variable, "USERPROFILE"))
}

/// A repository of the hub and which of its states is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// `org/name`
    pub name: String,
    /// A branch, tag or commit.
    pub revision: Option<String>,
}

impl Repository {
    /// `org/name` or `org/name@revision`, each part of the characters that the hub allows.
    pub fn parse(given: &str) -> Option<Self> {
        let (name, revision) = match given.split_once('@') {
            Some((name, revision)) => (name, Some(revision)),
            None => (given, None),
        };
        let plain = |part: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed)
        };
        let (owner, model) = name.split_once('/')?;
        // A revision may be a path, as in refs/pr/1.
        let revision_is_plain = revision.is_none_or(|revision| revision.split('/').all(plain));
        let fits = plain(owner) && plain(model) && revision_is_plain;
        fits.then(|| Self { name: name.to_owned(), revision: revision.map(str::to_owned) })
    }

    /// The directory of the snapshot in the first cache that has it.
    pub fn find(&self, variable: Environment) -> Result<PathBuf, LocationError> {
        let caches = caches(variable);
        let folder = format!("models--{}", self.name.replace('/', "--"));
        let there: Vec<PathBuf> =
            caches.iter().map(|cache| cache.join(&folder)).filter(|path| path.is_dir()).collect();
        if let Some(snapshot) = there.iter().find_map(|folder| self.snapshot(folder)) {
            return Ok(snapshot);
        }
        Err(LocationError::NotInHubCache {
            repository: self.name.clone(),
            revision: self.revision.clone(),
            caches,
            revisions: there.iter().flat_map(|folder| revisions(folder)).collect(),
        })
    }

    fn snapshot(&self, folder: &Path) -> Option<PathBuf> {
        let revision = self.revision.as_deref().unwrap_or("main");
        let commit = read_regular_text(&folder.join("refs").join(revision), 4096);
        let commit = commit.as_deref().map_or(revision, str::trim);
        // What a ref says is a name inside the folder, never a way out of it.
        let plain = !commit.is_empty() && !commit.contains(['/', '\\', ':']) && !commit.starts_with('.');
        Some(folder.join("snapshots").join(commit)).filter(|path| plain && path.is_dir())
    }
}

/// `org/name` of a snapshot's directory, for a directory that is one.
pub(super) fn repository_of(directory: &Path) -> Option<String> {
    let snapshots = directory.parent().filter(|parent| parent.ends_with("snapshots"))?;
    let folder = snapshots.parent()?.file_name()?.to_str()?;
    let (owner, name) = folder.strip_prefix("models--")?.split_once("--")?;
    Some(format!("{owner}/{name}"))
}

/// Where Hugging Face's tools keep models, the first ones first: what the variables say, else the usual place.
pub(super) fn caches(variable: Environment) -> Vec<PathBuf> {
    let legacy = path_in(variable, "TRANSFORMERS_CACHE");
    let hub = path_in(variable, "HF_HUB_CACHE")
        .or_else(|| path_in(variable, "HUGGINGFACE_HUB_CACHE"))
        .or_else(|| Some(path_in(variable, "HF_HOME")?.join("hub")))
        .or_else(|| Some(path_in(variable, "XDG_CACHE_HOME")?.join("huggingface/hub")))
        .or_else(|| Some(home(variable)?.join(".cache/huggingface/hub")));
    hub.into_iter().chain(legacy).collect()
}

/// Names of the refs and commits of a repository's folder.
fn revisions(folder: &Path) -> Vec<String> {
    let names = |inside: &str| {
        let entries = fs::read_dir(folder.join(inside)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    [names("refs"), names("snapshots")].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// A cache with one model, its snapshot of links into blobs as on a disk that has links.
    fn planted(cache: &Path) -> PathBuf {
        let folder = cache.join("models--org--tiny-model");
        let snapshot = folder.join("snapshots").join(COMMIT);
        for path in ["refs", "blobs"] {
            fs::create_dir_all(folder.join(path)).unwrap();
        }
        fs::create_dir_all(&snapshot).unwrap();
        fs::write(folder.join("refs/main"), COMMIT).unwrap();
        for name in ["config.json", "tokenizer.json", "model.safetensors"] {
            fs::write(folder.join("blobs").join(name), "{}").unwrap();
            #[cfg(unix)]
            std::os::unix::fs::symlink(format!("../../blobs/{name}"), snapshot.join(name)).unwrap();
            #[cfg(not(unix))]
            fs::copy(folder.join("blobs").join(name), snapshot.join(name)).unwrap();
        }
        snapshot
    }

    fn set(pairs: Vec<(&'static str, PathBuf)>) -> impl Fn(&str) -> Option<OsString> {
        move |name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.clone().into_os_string())
    }

    fn find(given: &str, variable: Environment) -> Result<PathBuf, LocationError> {
        Repository::parse(given).unwrap().find(variable)
    }

    #[test]
    fn every_variable_that_names_a_cache_is_honoured_in_order() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        let places = [
            ("HF_HUB_CACHE", root.path().join("a"), root.path().join("a")),
            ("HUGGINGFACE_HUB_CACHE", root.path().join("b"), root.path().join("b")),
            ("HF_HOME", root.path().join("c"), root.path().join("c/hub")),
            ("XDG_CACHE_HOME", root.path().join("d"), root.path().join("d/huggingface/hub")),
            ("HOME", home.clone(), home.join(".cache/huggingface/hub")),
        ];
        for (index, (_, _, cache)) in places.iter().enumerate() {
            let snapshot = planted(cache);
            // This variable with all weaker ones.
            let pairs = places[index..].iter().map(|(name, value, _)| (*name, value.clone())).collect();
            assert_eq!(find("org/tiny-model", &set(pairs)).unwrap(), snapshot);
        }
        let legacy = root.path().join("e");
        let snapshot = planted(&legacy);
        let pairs = vec![("HF_HUB_CACHE", root.path().join("nothing")), ("TRANSFORMERS_CACHE", legacy)];
        assert_eq!(find("org/tiny-model", &set(pairs)).unwrap(), snapshot);
    }

    #[test]
    fn a_revision_is_a_ref_or_a_commit_and_unknown_ones_name_those_that_are_there() {
        let root = tempfile::tempdir().unwrap();
        let snapshot = planted(root.path());
        let folder = root.path().join("models--org--tiny-model");
        fs::create_dir_all(folder.join("refs/refs/pr")).unwrap();
        fs::write(folder.join("refs/refs/pr/1"), format!("{COMMIT}\n")).unwrap();
        let variable = set(vec![("HF_HUB_CACHE", root.path().to_owned())]);
        for revision in ["main", COMMIT, "refs/pr/1"] {
            assert_eq!(find(&format!("org/tiny-model@{revision}"), &variable).unwrap(), snapshot);
        }
        let error = find("org/tiny-model@v2", &variable).unwrap_err().to_string();
        for part in ["org/tiny-model", "v2", "main", COMMIT] {
            assert!(error.contains(part), "{error}");
        }
        // A ref that points out of its folder leads nowhere.
        fs::write(folder.join("refs/out"), "../../..").unwrap();
        assert!(find("org/tiny-model@out", &variable).is_err());
        let error = find("org/other", &variable).unwrap_err().to_string();
        assert!(error.contains("hf download org/other") && error.contains("looked in"), "{error}");
    }

    #[test]
    fn names_of_the_hub_are_told_from_paths() {
        for name in ["org/name", "HuggingFaceTB/SmolLM2-135M", "a/b@refs/pr/1", "a/b.c_d-e@main"] {
            assert!(Repository::parse(name).is_some(), "{name}");
        }
        for name in
            ["name", "a/b/c", "./a", "../a", "a/", "/a", "a/b@", "a/b@../x", "a b/c", "a/\u{1b}[2J", "a/.."]
        {
            assert!(Repository::parse(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_snapshot_knows_its_repository() {
        let path = Path::new("hub/models--org--my--model/snapshots/abc");
        assert_eq!(repository_of(path).as_deref(), Some("org/my--model"));
        assert_eq!(repository_of(Path::new("models/mine")), None);
    }
}
