//! What an evidence line says about the model that made it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::cache::{CacheDirectory, DEFAULT_MODEL};
use super::gguf_metadata::GgufMetadata;
use super::gguf_split::split_name;
use super::hash::{remembered_sha256, sha256_of};
use super::hugging_face_cache::repository_of;
use super::location::{ModelLocation, weight_files};
use super::text_error::ModelTextError;
use crate::disk::{LONGEST_SETTINGS, read_regular_text};

/// Name, identity and reach of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextModelFacts {
    /// `general.name` of a GGUF file, `org/name` of a snapshot in a Hugging Face cache, else the name of the
    /// file or directory. Comes from the model file:
    /// hostile text until it is shown through [`crate::text::visible_line`].
    pub name: String,
    /// SHA-256 of the weights, lower-case hexadecimal: of the one file, or, for several, of the list of
    /// their hashes and names as `sha256sum` prints it.
    pub sha256: String,
    /// Tokens that the model was made for; `None` if the model does not say.
    pub context_length: Option<usize>,
}

impl TextModelFacts {
    /// Facts of a GGUF file whose metadata were read already. Hashes the file the first time.
    pub fn of_gguf(
        path: &Path,
        metadata: &GgufMetadata,
        cache: &CacheDirectory,
    ) -> Result<Self, ModelTextError> {
        let files = split_name(path).map_or_else(|| vec![path.to_owned()], |name| name.files);
        let sha256 = hash_all(&files, cache)?;
        let architecture = metadata.text("general.architecture")?.unwrap_or_default();
        let context = metadata.unsigned(&format!("{architecture}.context_length"));
        let name = if sha256 == DEFAULT_MODEL.sha256 {
            // Inside, it is called after the run that trained it.
            DEFAULT_MODEL.name.to_owned()
        } else {
            match metadata.text("general.name")?.map(str::trim) {
                Some(name) if !name.is_empty() => name.to_owned(),
                _ => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            }
        };
        Ok(Self { name, sha256, context_length: context.and_then(|length| usize::try_from(length).ok()) })
    }

    /// Facts of a directory in Hugging Face form. Hashes its weights the first time.
    pub fn of_directory(directory: &Path, cache: &CacheDirectory) -> Result<Self, ModelTextError> {
        let io = |source| ModelTextError::Io { path: directory.to_owned(), source };
        let files = weight_files(directory).map_err(io)?;
        let sha256 = hash_all(&files, cache)?;
        let place = fs::canonicalize(directory).map_err(io)?;
        let name = repository_of(&place).unwrap_or_else(|| {
            let name = place.file_name();
            name.map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
        });
        let path = directory.join("config.json");
        let text = read_regular_text(&path, LONGEST_SETTINGS)
            .map_err(|source| ModelTextError::Io { path: path.clone(), source })?;
        let config: Json = serde_json::from_str(&text)
            .map_err(|error| ModelTextError::File { path: path.clone(), reason: error.to_string() })?;
        let length = &config["max_position_embeddings"];
        // Models with an image part keep the text model's settings one level down.
        let nested = &config["text_config"]["max_position_embeddings"];
        let context = length.as_u64().or_else(|| nested.as_u64());
        Ok(Self { name, sha256, context_length: context.and_then(|length| usize::try_from(length).ok()) })
    }

    /// Facts of whatever `location` is.
    pub fn of(location: &ModelLocation, cache: &CacheDirectory) -> Result<Self, ModelTextError> {
        if location.is_gguf() {
            Self::of_gguf(location.path(), &GgufMetadata::open(location.path())?, cache)
        } else {
            Self::of_directory(location.path(), cache)
        }
    }

    /// The first sixteen digits of the hash, as in every line of evidence.
    pub fn short_hash(&self) -> &str {
        self.sha256.get(..16).unwrap_or(&self.sha256)
    }
}

/// The hash of one file, or of the list of the hashes and names of several.
fn hash_all(files: &[PathBuf], cache: &CacheDirectory) -> Result<String, ModelTextError> {
    if let [only] = files {
        return hash(only, cache);
    }
    let mut list = Vec::new();
    for file in files {
        list.extend(hash(file, cache)?.bytes());
        list.extend(b"  ");
        list.extend(file.file_name().unwrap_or_default().as_encoded_bytes());
        list.push(b'\n');
    }
    let place = || files.first().cloned().unwrap_or_default();
    let (sha256, _) = sha256_of(&list[..]).map_err(|source| ModelTextError::Io { path: place(), source })?;
    Ok(sha256)
}

fn hash(path: &Path, cache: &CacheDirectory) -> Result<String, ModelTextError> {
    remembered_sha256(path, cache).map_err(|source| ModelTextError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::super::gguf_metadata::tests::GgufWriter;
    use super::super::hash::sha256_file;
    use super::*;

    fn gguf(folder: &Path, metadata: &GgufWriter) -> TextModelFacts {
        let path = folder.join("some-model.gguf");
        fs::write(&path, metadata.bytes()).unwrap();
        let location = ModelLocation::Gguf(path.clone());
        let facts = TextModelFacts::of(&location, &CacheDirectory::at(folder.join("cache"))).unwrap();
        assert_eq!(facts.sha256, sha256_file(&path).unwrap());
        facts
    }

    #[test]
    fn a_gguf_file_says_its_name_and_context_length() {
        let folder = tempfile::tempdir().unwrap();
        let metadata = GgufWriter::new()
            .text("general.architecture", "llama")
            .text("general.name", "My model")
            .number("llama.context_length", 8192);
        let facts = gguf(folder.path(), &metadata);
        assert_eq!((facts.name.as_str(), facts.context_length), ("My model", Some(8192)));
        assert_eq!(facts.short_hash().len(), 16);
    }

    #[test]
    fn a_gguf_file_without_a_name_is_called_after_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let facts = gguf(folder.path(), &GgufWriter::new().text("general.name", "  "));
        assert_eq!((facts.name.as_str(), facts.context_length), ("some-model", None));
    }

    #[test]
    fn a_directory_is_called_after_itself_and_hashed_over_all_its_weights() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::at(folder.path().join("cache"));
        let model = folder.path().join("tiny");
        fs::create_dir(&model).unwrap();
        fs::write(model.join("config.json"), r#"{"max_position_embeddings": 512}"#).unwrap();
        fs::write(model.join("model-1.safetensors"), "abc").unwrap();
        let one = TextModelFacts::of_directory(&model, &cache).unwrap();
        assert_eq!((one.name.as_str(), one.context_length), ("tiny", Some(512)));
        assert_eq!(one.sha256, sha256_file(&model.join("model-1.safetensors")).unwrap());
        let snapshot = folder.path().join("models--org--tiny/snapshots/abc");
        fs::create_dir_all(&snapshot).unwrap();
        for name in ["config.json", "model-1.safetensors"] {
            fs::copy(model.join(name), snapshot.join(name)).unwrap();
        }
        assert_eq!(TextModelFacts::of_directory(&snapshot, &cache).unwrap().name, "org/tiny");
        fs::write(model.join("model-2.safetensors"), "abc").unwrap();
        let two = TextModelFacts::of_directory(&model, &cache).unwrap();
        let list = format!("{0}  model-1.safetensors\n{0}  model-2.safetensors\n", one.sha256);
        assert_eq!(two.sha256, sha256_of(list.as_bytes()).unwrap().0);
    }
}
