//! Where a model is: the default one in the cache, a GGUF file, a directory in Hugging Face form, or what the
//! caches of Hugging Face and Ollama hold by name.

use std::fs;
use std::path::{Path, PathBuf};

use super::cache::{CacheDirectory, CachedState, DEFAULT_MODEL};
use super::gguf_split::split_name;
use super::hugging_face_cache::{Environment, Repository};
use super::ollama;
use super::registry::{ModelSource, RegisteredModel};
use crate::text::visible_line;

/// The words on the command line that mean [`DEFAULT_MODEL`].
const DEFAULT_WORDS: [&str; 2] = ["default", "smollm2-135m-instruct"];

/// Why no model can be opened.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    #[error(
        "no cache directory: neither RAGSCOPE_CACHE nor a home directory is set; set RAGSCOPE_CACHE to a \
         directory that can be written"
    )]
    NoCache,
    #[error("the default model is not here yet (expected {}); get it with `ragscope models fetch`", shown(.0))]
    DefaultMissing(PathBuf),
    #[error(
        "the default model is damaged: {at} holds {found} bytes, expected {expected}; get it again with \
         `ragscope models fetch`", at = shown(.path)
    )]
    DefaultDamaged { path: PathBuf, found: u64, expected: u64 },
    #[error(
        "no model at {0:?}: expected `default`, a .gguf file, a directory with config.json, tokenizer.json and \
         *.safetensors, org/name of a model in the Hugging Face cache, or ollama:name; `ragscope models fetch` \
         gets the default model"
    )]
    NotFound(String),
    #[error(
        "no model {repository}{of}: neither a path of this name nor in the Hugging Face cache (looked in \
         {places}{there}); `ragscope models fetch {repository}` or `hf download {repository}` downloads it",
        of = .revision.as_ref().map_or_else(String::new, |revision| format!(" at revision {revision}")),
        places = listed(.caches.iter().map(|path| shown(path))),
        there = if .revisions.is_empty() {
            String::new()
        } else {
            format!("; it is there as {}", listed(.revisions.iter().map(|name| visible_line(name).into_owned())))
        }
    )]
    NotInHubCache {
        repository: String,
        revision: Option<String>,
        caches: Vec<PathBuf>,
        /// Refs and commits of the repository that are there.
        revisions: Vec<String>,
    },
    #[error("{name} is {state} (expected {}); get it with `ragscope models fetch {name}`", shown(.path))]
    NotFetched { name: &'static str, state: &'static str, path: PathBuf },
    #[error("no model {name:?} of Ollama's: {reason}")]
    Ollama { name: String, reason: String },
    #[error(
        "the directory {at} holds {count} .gguf files and no config.json: give the path of the one to read",
        at = shown(.path)
    )]
    SeveralFiles { path: PathBuf, count: usize },
    #[error("{path} is neither a .gguf file nor a directory: expected a file that begins with GGUF{1}", path = shown(.0))]
    NotAModel(PathBuf, String),
    #[error("the directory {at} holds no {missing}: expected config.json, tokenizer.json and *.safetensors", at = shown(.path))]
    IncompleteDirectory { path: PathBuf, missing: &'static str },
    #[error("{at} cannot be read: {source}", at = shown(.path))]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// A path as one line of text that cannot talk to a terminal.
pub(super) fn shown(path: &Path) -> String {
    visible_line(&path.to_string_lossy()).into_owned()
}

fn listed(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "no place: no home directory is set".to_owned() } else { items.join(", ") }
}

/// A model that can be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelLocation {
    /// The default model's file in the cache. Its size was checked, its hash only when it was fetched.
    Default(PathBuf),
    /// A GGUF file of the user's own.
    Gguf(PathBuf),
    /// A directory with `config.json`, `tokenizer.json` and `*.safetensors`.
    Directory(PathBuf),
}

impl ModelLocation {
    /// What `--model` means: nothing or `default`, a GGUF file, a directory, `org/name[@revision]` in the
    /// cache of Hugging Face's tools, or `ollama:name[:tag]`. Nothing is downloaded.
    ///
    /// A path wins over a name when both are possible and the path exists.
    pub fn parse(given: Option<&str>, cache: &CacheDirectory) -> Result<Self, LocationError> {
        Self::parse_in(given, cache, &|name| std::env::var_os(name))
    }

    /// [`ModelLocation::parse`] with the environment of the caller's choice.
    pub(super) fn parse_in(
        given: Option<&str>,
        cache: &CacheDirectory,
        variable: Environment,
    ) -> Result<Self, LocationError> {
        let Some(given) = given else { return Self::default_in(cache) };
        let path = Path::new(given);
        if path.is_dir() {
            return directory(path);
        }
        if path.exists() {
            return gguf(path);
        }
        if DEFAULT_WORDS.contains(&given.to_lowercase().as_str()) {
            return Self::default_in(cache);
        }
        if let Some(model) = RegisteredModel::find(given) {
            return registered(model, cache, variable);
        }
        if let Some(name) = given.strip_prefix(ollama::PREFIX) {
            return gguf(&ollama::find(name, variable)?);
        }
        match Repository::parse(given) {
            Some(repository) if !given.to_lowercase().ends_with(".gguf") => {
                directory(&repository.find(variable)?)
            }
            _ => Err(LocationError::NotFound(given.to_owned())),
        }
    }

    fn default_in(cache: &CacheDirectory) -> Result<Self, LocationError> {
        let path = cache.model_path(&DEFAULT_MODEL);
        match fs::metadata(&path) {
            Ok(about) if about.len() == DEFAULT_MODEL.size => Ok(Self::Default(path)),
            Ok(about) => {
                Err(LocationError::DefaultDamaged { path, found: about.len(), expected: DEFAULT_MODEL.size })
            }
            Err(_) => Err(LocationError::DefaultMissing(path)),
        }
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Default(path) | Self::Gguf(path) | Self::Directory(path) => path,
        }
    }

    /// Whether the weights are in a GGUF file.
    pub fn is_gguf(&self) -> bool {
        !matches!(self, Self::Directory(_))
    }
}

/// A model with a name of its own, where it is fetched or downloaded to.
fn registered(
    model: &'static RegisteredModel,
    cache: &CacheDirectory,
    variable: Environment,
) -> Result<ModelLocation, LocationError> {
    let Some(known) = model.known() else {
        return match &model.source {
            ModelSource::Repository(hub) => match Repository::parse(hub.name) {
                Some(repository) => directory(&repository.find(variable)?),
                None => Err(LocationError::NotFound(hub.name.to_owned())),
            },
            ModelSource::Folder(folder) => {
                let path = cache.models().join(folder.name);
                let states: Vec<CachedState> = model.files().iter().map(|file| file.state(cache)).collect();
                let state = if states.contains(&CachedState::Absent) {
                    "not here yet"
                } else if states.contains(&CachedState::Damaged) {
                    "of the wrong size"
                } else {
                    return directory(&path);
                };
                Err(LocationError::NotFetched { name: model.name, state, path })
            }
            ModelSource::File(_) => Err(LocationError::NotFound(model.name.to_owned())),
        };
    };
    let path = cache.model_path(&known);
    match known.state(cache) {
        CachedState::Present => Ok(ModelLocation::Gguf(path)),
        CachedState::Absent => {
            Err(LocationError::NotFetched { name: model.name, state: "not here yet", path })
        }
        CachedState::Damaged => {
            Err(LocationError::NotFetched { name: model.name, state: "of the wrong size", path })
        }
    }
}

fn gguf(path: &Path) -> Result<ModelLocation, LocationError> {
    use std::io::Read;
    let mut magic = [0u8; 4];
    let read = fs::File::open(path)
        .and_then(|file| file.take(4).read_exact(&mut magic))
        .map(|()| magic == *super::gguf_metadata::MAGIC);
    match read {
        Ok(true) => Ok(ModelLocation::Gguf(path.to_owned())),
        Ok(false) => {
            let hint = if path.extension().is_some_and(|ending| ending == "safetensors") {
                "; give the directory that holds it, with config.json and tokenizer.json beside it"
            } else {
                ""
            };
            Err(LocationError::NotAModel(path.to_owned(), hint.to_owned()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            Err(LocationError::NotAModel(path.to_owned(), "; this one is shorter than four bytes".to_owned()))
        }
        Err(source) => Err(LocationError::Io { path: path.to_owned(), source }),
    }
}

fn directory(path: &Path) -> Result<ModelLocation, LocationError> {
    let incomplete = |missing| LocationError::IncompleteDirectory { path: path.to_owned(), missing };
    let failed = |source| LocationError::Io { path: path.to_owned(), source };
    if !path.join("config.json").is_file() {
        // Repositories of GGUF files hold nothing else.
        let mut files = files_ending(path, "gguf").map_err(failed)?;
        files.retain(|file| split_name(file).is_none_or(|name| name.number == 1));
        match &files[..] {
            [] => {}
            [only] => return gguf(only),
            several => {
                return Err(LocationError::SeveralFiles { path: path.to_owned(), count: several.len() });
            }
        }
    }
    for name in ["config.json", "tokenizer.json"] {
        if !path.join(name).is_file() {
            return Err(incomplete(name));
        }
    }
    if weight_files(path).map_err(failed)?.is_empty() {
        return Err(incomplete("*.safetensors"));
    }
    Ok(ModelLocation::Directory(path.to_owned()))
}

/// The `*.safetensors` files of a directory, by name.
pub(super) fn weight_files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    files_ending(directory, "safetensors")
}

fn files_ending(directory: &Path, wanted: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == wanted) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::super::cache::tests::{empty_cache, plant_default};
    use super::*;

    #[test]
    fn no_model_and_the_word_default_mean_the_default_model() {
        let (_folder, cache) = empty_cache();
        for given in [None, Some("default"), Some("SmolLM2-135M-Instruct")] {
            let error = ModelLocation::parse(given, &cache).unwrap_err();
            assert!(matches!(error, LocationError::DefaultMissing(_)));
            assert!(error.to_string().contains("ragscope models fetch"));
        }
        plant_default(&cache, DEFAULT_MODEL.size);
        let found = ModelLocation::parse(None, &cache).unwrap();
        assert_eq!(found, ModelLocation::Default(cache.model_path(&DEFAULT_MODEL)));
        assert!(found.is_gguf());
    }

    #[test]
    fn a_default_model_of_another_size_is_called_damaged() {
        let (_folder, cache) = empty_cache();
        plant_default(&cache, 7);
        let message = ModelLocation::parse(None, &cache).unwrap_err().to_string();
        assert!(message.contains("7 bytes") && message.contains("98362432"), "{message}");
    }

    #[test]
    fn a_gguf_file_is_known_by_its_first_bytes() {
        let (folder, cache) = empty_cache();
        let path = folder.path().join("m.gguf");
        let text = path.to_str().unwrap();
        fs::write(&path, b"GGUF and more").unwrap();
        assert_eq!(ModelLocation::parse(Some(text), &cache).unwrap(), ModelLocation::Gguf(path.clone()));
        fs::write(&path, b"PK\x03\x04").unwrap();
        assert!(matches!(ModelLocation::parse(Some(text), &cache), Err(LocationError::NotAModel(..))));
        fs::write(&path, b"G").unwrap();
        let message = ModelLocation::parse(Some(text), &cache).unwrap_err().to_string();
        assert!(message.contains("shorter than four bytes"), "{message}");
    }

    #[test]
    fn a_directory_must_hold_all_three_parts_and_the_missing_one_is_named() {
        let (folder, cache) = empty_cache();
        let text = folder.path().to_str().unwrap();
        for (present, missing) in [
            (None, "no config.json"),
            (Some("config.json"), "no tokenizer.json"),
            (Some("tokenizer.json"), "no *.safetensors"),
        ] {
            if let Some(name) = present {
                fs::write(folder.path().join(name), "{}").unwrap();
            }
            let message = ModelLocation::parse(Some(text), &cache).unwrap_err().to_string();
            assert!(message.contains(missing), "{message}");
        }
        fs::write(folder.path().join("model.safetensors"), "").unwrap();
        let found = ModelLocation::parse(Some(text), &cache).unwrap();
        assert_eq!(found, ModelLocation::Directory(folder.path().to_owned()));
        assert!(!found.is_gguf());
    }

    #[test]
    fn names_are_looked_up_in_the_caches_of_hugging_face_and_ollama() {
        let (folder, cache) = empty_cache();
        let root = folder.path().to_owned();
        let variable = |name: &str| match name {
            "HF_HUB_CACHE" | "OLLAMA_MODELS" => Some(root.clone().into_os_string()),
            _ => None,
        };
        let parse = |given| ModelLocation::parse_in(Some(given), &cache, &variable);
        let snapshot = |name: &str| root.join(name).join("snapshots/abc");
        for name in ["models--org--model", "models--org--gguf"] {
            fs::create_dir_all(snapshot(name)).unwrap();
            fs::create_dir_all(root.join(name).join("refs")).unwrap();
            fs::write(root.join(name).join("refs/main"), "abc").unwrap();
        }
        for name in ["config.json", "tokenizer.json", "model.safetensors"] {
            fs::write(snapshot("models--org--model").join(name), "{}").unwrap();
        }
        assert_eq!(parse("org/model").unwrap(), ModelLocation::Directory(snapshot("models--org--model")));
        assert_eq!(parse("org/model@abc").unwrap(), parse("org/model").unwrap());
        assert!(matches!(parse("org/model@old"), Err(LocationError::NotInHubCache { .. })));

        // A repository of GGUF files.
        assert!(matches!(parse("org/gguf"), Err(LocationError::IncompleteDirectory { .. })));
        let file = snapshot("models--org--gguf").join("m-Q4_0.gguf");
        fs::write(&file, "GGUF").unwrap();
        assert_eq!(parse("org/gguf").unwrap(), ModelLocation::Gguf(file.clone()));
        // Parts of one model are one model.
        fs::remove_file(&file).unwrap();
        let parts = [1, 2].map(|n| snapshot("models--org--gguf").join(format!("m-0000{n}-of-00002.gguf")));
        for part in &parts {
            fs::write(part, "GGUF").unwrap();
        }
        assert_eq!(parse("org/gguf").unwrap(), ModelLocation::Gguf(parts[0].clone()));
        fs::write(&file, "GGUF").unwrap();
        fs::write(snapshot("models--org--gguf").join("m-Q8_0.gguf"), "GGUF").unwrap();
        assert!(parse("org/gguf").unwrap_err().to_string().contains("3 .gguf files"));

        let manifests = root.join("manifests/registry.ollama.ai/library/tiny");
        fs::create_dir_all(&manifests).unwrap();
        let digest = "cd".repeat(32);
        let layer = format!(
            r#"{{"layers":[{{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{digest}"}}]}}"#
        );
        fs::write(manifests.join("1b"), layer).unwrap();
        let blob = root.join("blobs").join(format!("sha256-{digest}"));
        fs::create_dir_all(root.join("blobs")).unwrap();
        fs::write(&blob, "GGUF").unwrap();
        assert_eq!(parse("ollama:tiny:1b").unwrap(), ModelLocation::Gguf(blob));
        assert!(matches!(parse("ollama:tiny"), Err(LocationError::Ollama { .. })));
    }

    #[test]
    fn a_name_that_is_nowhere_says_where_it_was_looked_for_and_what_brings_it() {
        let (_folder, cache) = empty_cache();
        let nothing = |_: &str| None;
        let message = |given| ModelLocation::parse_in(Some(given), &cache, &nothing).unwrap_err().to_string();
        assert!(message("HuggingFaceTB/SmolLM2-135M").contains("hf download HuggingFaceTB/SmolLM2-135M"));
        assert!(!message("models/mine.gguf").contains("hf download"));
        assert!(message("nowhere").contains("ragscope models fetch"));
        assert!(message("ollama:tiny").contains("ollama pull tiny"));
    }

    #[test]
    fn a_registered_name_means_its_file_or_says_how_to_fetch_it() {
        let (_folder, cache) = empty_cache();
        let known = RegisteredModel::find("gemma-3-270m").unwrap().known().unwrap();
        let parse = || ModelLocation::parse_in(Some("Gemma-3-270M"), &cache, &|_| None);
        let message = parse().unwrap_err().to_string();
        assert!(message.contains("`ragscope models fetch gemma-3-270m`"), "{message}");
        fs::create_dir_all(cache.models()).unwrap();
        let file = fs::File::create(cache.model_path(&known)).unwrap();
        assert!(parse().unwrap_err().to_string().contains("of the wrong size"));
        file.set_len(known.size).unwrap();
        assert_eq!(parse().unwrap(), ModelLocation::Gguf(cache.model_path(&known)));
        let hub = ModelLocation::parse_in(Some("qwen3-8b"), &cache, &|_| None).unwrap_err().to_string();
        assert!(hub.contains("Qwen/Qwen3-8B") && hub.contains("hf download"), "{hub}");
    }

    #[test]
    fn control_characters_of_a_path_are_shown_not_sent() {
        let (_folder, cache) = empty_cache();
        let message = ModelLocation::parse(Some("x\u{1b}[2J"), &cache).unwrap_err().to_string();
        assert!(!message.contains('\u{1b}'), "{message}");
    }
}
