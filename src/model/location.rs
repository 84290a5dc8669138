//! Where a model is: the default one in the cache, a GGUF file, or a directory in Hugging Face form.

use std::fs;
use std::path::{Path, PathBuf};

use super::cache::{CacheDirectory, DEFAULT_MODEL};
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
        "no model at {0:?}: expected `default`, a .gguf file, or a directory with config.json, tokenizer.json \
         and *.safetensors; `ragscope models fetch` gets the default model{hint}",
        hint = repository_hint(.0)
    )]
    NotFound(String),
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

/// What to add when the text looks like the name of a repository of the Hugging Face hub.
fn repository_hint(given: &str) -> &'static str {
    let mut parts = given.split('/');
    let two_names = matches!((parts.next(), parts.next(), parts.next()), (Some(owner), Some(name), None)
        if !owner.is_empty() && !owner.starts_with('.') && !name.is_empty());
    if two_names && !given.to_lowercase().ends_with(".gguf") {
        "; ragscope does not download from the Hugging Face hub: download the repository with \
         `hf download` and give its directory"
    } else {
        ""
    }
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
    /// What `--model` means: nothing or `default`, a GGUF file, or a directory.
    ///
    /// A path wins over a word when both are possible and the path exists.
    pub fn parse(given: Option<&str>, cache: &CacheDirectory) -> Result<Self, LocationError> {
        let Some(given) = given else { return Self::default_in(cache) };
        let path = Path::new(given);
        if !path.exists() {
            return if DEFAULT_WORDS.contains(&given.to_lowercase().as_str()) {
                Self::default_in(cache)
            } else {
                Err(LocationError::NotFound(given.to_owned()))
            };
        }
        if path.is_dir() { directory(path) } else { gguf(path) }
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
    for name in ["config.json", "tokenizer.json"] {
        if !path.join(name).is_file() {
            return Err(incomplete(name));
        }
    }
    if weight_files(path).map_err(|source| LocationError::Io { path: path.to_owned(), source })?.is_empty() {
        return Err(incomplete("*.safetensors"));
    }
    Ok(ModelLocation::Directory(path.to_owned()))
}

/// The `*.safetensors` files of a directory, by name.
pub(super) fn weight_files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "safetensors") {
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
    fn a_name_of_the_hub_gets_the_hint_to_download_it() {
        let (_folder, cache) = empty_cache();
        let message = |given| ModelLocation::parse(Some(given), &cache).unwrap_err().to_string();
        assert!(message("HuggingFaceTB/SmolLM2-135M").contains("hf download"));
        assert!(!message("models/mine.gguf").contains("hf download"));
        assert!(message("nowhere").contains("ragscope models fetch"));
    }

    #[test]
    fn control_characters_of_a_path_are_shown_not_sent() {
        let (_folder, cache) = empty_cache();
        let message = ModelLocation::parse(Some("x\u{1b}[2J"), &cache).unwrap_err().to_string();
        assert!(!message.contains('\u{1b}'), "{message}");
    }
}
