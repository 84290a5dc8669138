//! Models that Ollama has pulled, read where they lie: `ollama:name[:tag]` to a GGUF blob.
//!
//! `manifests/<host>/<namespace>/<name>/<tag>` is JSON whose layer of the model's type names a digest;
//! the blob of `sha256:<hex>` is the file `blobs/sha256-<hex>`.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use serde_json::Value;

use super::hugging_face_cache::{Environment, home, path_in};
use super::location::LocationError;

/// What begins the name of a model of Ollama's on the command line.
pub(super) const PREFIX: &str = "ollama:";

const MODEL_LAYER: &str = "application/vnd.ollama.image.model";
const ADAPTER_LAYER: &str = "application/vnd.ollama.image.adapter";
const LARGEST_MANIFEST: u64 = 1 << 20;

/// The blob of `name[:tag]`, `namespace/name[:tag]` or `host/namespace/name[:tag]`.
pub(super) fn find(given: &str, variable: Environment) -> Result<PathBuf, LocationError> {
    let wrong = |reason: String| LocationError::Ollama { name: given.to_owned(), reason };
    let folders = folders(variable);
    let manifest = manifest_path(given)
        .ok_or_else(|| wrong("expected a name like llama3.2 or llama3.2:1b".to_owned()))?;
    let Some(folder) = folders.iter().find(|folder| folder.join("manifests").join(&manifest).is_file())
    else {
        let places: Vec<String> = folders.iter().map(|folder| super::location::shown(folder)).collect();
        return Err(wrong(format!(
            "it is not here (looked in {}); get it with `ollama pull {given}`",
            if places.is_empty() {
                "no place: no home directory is set".to_owned()
            } else {
                places.join(", ")
            }
        )));
    };
    let path = folder.join("manifests").join(&manifest);
    let mut bytes = Vec::new();
    File::open(&path)
        .and_then(|file| file.take(LARGEST_MANIFEST).read_to_end(&mut bytes))
        .map_err(|source| LocationError::Io { path: path.clone(), source })?;
    let json: Value = serde_json::from_slice(&bytes).map_err(|error| {
        wrong(format!("its manifest {} cannot be read: {error}", super::location::shown(&path)))
    })?;
    let layers = json["layers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of_type = |kind: &'static str| layers.iter().filter(move |layer| layer["mediaType"] == kind);
    if of_type(ADAPTER_LAYER).next().is_some() {
        return Err(wrong("it is an adapter on another model, which is not supported".to_owned()));
    }
    let digests: Vec<&str> = of_type(MODEL_LAYER).filter_map(|layer| layer["digest"].as_str()).collect();
    let [digest] = digests[..] else {
        return Err(wrong(format!("its manifest names {} model layers, expected one", digests.len())));
    };
    let hash = digest.strip_prefix("sha256:").filter(|hash| {
        hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    });
    let hash =
        hash.ok_or_else(|| wrong(format!("its manifest has the digest {digest:?}, expected sha256")))?;
    let blob = folder.join("blobs").join(format!("sha256-{hash}"));
    if blob.is_file() {
        return Ok(blob);
    }
    let place = super::location::shown(&blob);
    Err(wrong(format!("its blob {place} is missing; get it with `ollama pull {given}`")))
}

/// Where Ollama keeps models: what the variable says, else the user's and the service's place.
fn folders(variable: Environment) -> Vec<PathBuf> {
    if let Some(folder) = path_in(variable, "OLLAMA_MODELS") {
        return vec![folder];
    }
    let own = home(variable).map(|home| home.join(".ollama/models"));
    own.into_iter().chain([PathBuf::from("/usr/share/ollama/.ollama/models")]).collect()
}

/// The manifest's path inside `manifests`.
fn manifest_path(given: &str) -> Option<PathBuf> {
    let (name, tag) = match given.rsplit_once(':') {
        // A colon before a slash belongs to the port of a host.
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (given, "latest"),
    };
    let plain = |part: &&str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
        !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed)
    };
    let parts: Vec<&str> = name.split('/').collect();
    if !parts.iter().chain([&tag]).all(plain) {
        return None;
    }
    let mut path: Vec<&str> = match parts.len() {
        1 => vec!["registry.ollama.ai", "library"],
        2 => vec!["registry.ollama.ai"],
        3 => Vec::new(),
        _ => return None,
    };
    path.extend(parts);
    path.push(tag);
    Some(path.iter().collect())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn hash() -> String {
        "ab".repeat(32)
    }

    fn plant(folder: &Path, manifest: &str, layers: &Value) {
        let path = folder.join("manifests").join(manifest);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let json = serde_json::json!({"schemaVersion": 2, "layers": layers});
        fs::write(path, json.to_string()).unwrap();
        fs::create_dir_all(folder.join("blobs")).unwrap();
        fs::write(folder.join("blobs").join(format!("sha256-{}", hash())), "GGUF").unwrap();
    }

    fn layer(kind: &str, digest: &str) -> Value {
        serde_json::json!({"mediaType": kind, "digest": digest, "size": 4})
    }

    fn at(folder: &Path) -> impl Fn(&str) -> Option<OsString> {
        let folder = folder.as_os_str().to_owned();
        move |name| (name == "OLLAMA_MODELS").then(|| folder.clone())
    }

    #[test]
    fn the_blob_of_a_pulled_model_is_found_by_its_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let layers = serde_json::json!([
            layer("application/vnd.ollama.image.template", "sha256:00"),
            layer(MODEL_LAYER, &format!("sha256:{}", hash())),
        ]);
        let blob = folder.path().join("blobs").join(format!("sha256-{}", hash()));
        for (manifest, name) in [
            ("registry.ollama.ai/library/tiny/latest", "tiny"),
            ("registry.ollama.ai/library/tiny/1b-q4_K_M", "tiny:1b-q4_K_M"),
            ("registry.ollama.ai/someone/tiny/latest", "someone/tiny"),
            ("hf.co/org/tiny-GGUF/Q4_0", "hf.co/org/tiny-GGUF:Q4_0"),
            ("localhost:5000/a/tiny/latest", "localhost:5000/a/tiny"),
        ] {
            plant(folder.path(), manifest, &layers);
            assert_eq!(find(name, &at(folder.path())).unwrap(), blob, "{name}");
        }
        // Without the variable it is the user's own place.
        let home = tempfile::tempdir().unwrap();
        let models = home.path().join(".ollama/models");
        plant(&models, "registry.ollama.ai/library/tiny/latest", &layers);
        let home = home.path().as_os_str().to_owned();
        let found = find("tiny", &|name| (name == "HOME").then(|| home.clone())).unwrap();
        assert!(found.starts_with(&models));
    }

    #[test]
    fn what_is_wrong_with_a_model_of_ollamas_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let error = |name: &str| find(name, &at(folder.path())).unwrap_err().to_string();
        assert!(error("tiny").contains("ollama pull tiny"), "{}", error("tiny"));
        for name in ["", "a/b/c/d", "../x", "a:b:c/", "x\u{1b}[2J"] {
            let error = error(name);
            assert!(error.contains("expected a name") && !error.contains('\u{1b}'), "{error}");
        }
        let good = format!("sha256:{}", hash());
        for (layers, part) in [
            (serde_json::json!([]), "0 model layers"),
            (serde_json::json!([layer(MODEL_LAYER, &good), layer(MODEL_LAYER, &good)]), "2 model layers"),
            (serde_json::json!([layer(MODEL_LAYER, "sha256:../../x")]), "expected sha256"),
            (serde_json::json!([layer(MODEL_LAYER, &good), layer(ADAPTER_LAYER, &good)]), "adapter"),
            (serde_json::json!([layer(MODEL_LAYER, &format!("sha256:{}", "cd".repeat(32)))]), "is missing"),
        ] {
            plant(folder.path(), "registry.ollama.ai/library/tiny/latest", &layers);
            assert!(error("tiny").contains(part), "{}", error("tiny"));
        }
        fs::write(folder.path().join("manifests/registry.ollama.ai/library/tiny/latest"), "{").unwrap();
        assert!(error("tiny").contains("manifest"), "{}", error("tiny"));
    }
}
