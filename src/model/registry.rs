//! The models that ragscope knows by name: `assets/models.json`, compiled in.

use std::ffi::OsString;
use std::sync::LazyLock;

use serde::Deserialize;

use super::cache::{KnownModel, WheelMember};
use super::hub::is_offline;

const REGISTRY: &str = include_str!("../../assets/models.json");

/// A model with a name of its own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RegisteredModel {
    pub name: &'static str,
    /// Other words for it on the command line, lower case.
    pub aliases: Vec<&'static str>,
    /// Architecture, size and precision, in words.
    pub about: &'static str,
    pub license: &'static str,
    /// Terms that have to be accepted before it is fetched.
    pub terms: Option<ModelTerms>,
    #[serde(flatten)]
    pub source: ModelSource,
}

/// What its owner asks of everybody who uses a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTerms {
    pub url: &'static str,
    pub text: &'static str,
}

/// Where a model comes from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", bound(deserialize = "'de: 'static"))]
pub enum ModelSource {
    /// A GGUF file that ragscope fetches itself, out of Python packages.
    File(PackagedFile),
    /// A directory of files that ragscope fetches itself, out of Python packages.
    Folder(PackagedFolder),
    /// A repository of the Hugging Face hub.
    Repository(HubRepository),
}

/// A repository of the Hugging Face hub.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubRepository {
    /// `owner/name`
    pub name: &'static str,
    /// Whether the hub asks for an account that has accepted the owner's terms.
    pub gated: bool,
}

/// A file inside Python packages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackagedFile {
    file_name: &'static str,
    size: u64,
    sha256: &'static str,
    wheels: Vec<WheelMember>,
}

/// A directory of files inside Python packages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackagedFolder {
    /// Its name in the cache.
    pub name: &'static str,
    /// Their names begin with that of the directory.
    files: Vec<PackagedFile>,
}

impl RegisteredModel {
    /// All of them, the default model first.
    pub fn all() -> &'static [Self] {
        // The text is a part of the program, and a test reads it: it cannot fail at a user's place.
        static MODELS: LazyLock<Vec<RegisteredModel>> =
            LazyLock::new(|| serde_json::from_str(REGISTRY).expect("the registry is valid"));
        &MODELS
    }

    /// By name or alias, in any case.
    pub fn find(word: &str) -> Option<&'static Self> {
        let word = word.to_lowercase();
        Self::all().iter().find(|model| model.name.to_lowercase() == word || model.aliases.contains(&&*word))
    }

    /// How the one file of a model is fetched by ragscope; `None` where it is a directory or comes from the hub.
    pub fn known(&'static self) -> Option<KnownModel> {
        match &self.source {
            ModelSource::Repository(_) | ModelSource::Folder(_) => None,
            ModelSource::File(file) => Some(self.known_file(file)),
        }
    }

    /// The files that ragscope fetches for it; none for a repository of the hub.
    pub fn files(&'static self) -> Vec<KnownModel> {
        match &self.source {
            ModelSource::Repository(_) => Vec::new(),
            ModelSource::File(file) => vec![self.known_file(file)],
            ModelSource::Folder(folder) => folder.files.iter().map(|file| self.known_file(file)).collect(),
        }
    }

    fn known_file(&'static self, file: &'static PackagedFile) -> KnownModel {
        KnownModel {
            name: self.name,
            file_name: file.file_name,
            wheels: &file.wheels,
            size: file.size,
            sha256: file.sha256,
            license: self.license,
        }
    }
}

impl HubRepository {
    /// The command that downloads what ragscope reads of the repository, and no second copy of the weights.
    pub fn download_command(&self) -> String {
        format!(
            "huggingface-cli download {} --include \"*.json\" \"*.jinja\" \"model*.safetensors\"",
            self.name
        )
    }

    /// The command and what has to be true for it to work here, one line each, in order.
    ///
    /// `variable` looks a variable of the environment up: `HF_TOKEN` and `HF_HUB_OFFLINE` are those of the
    /// hub's own tools.
    pub fn advice(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<String> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let offline = is_offline(variable);
        let mut lines = Vec::new();
        if offline {
            lines.push(
                "HF_HUB_OFFLINE is set, so the command will refuse to download: unset it, or bring the cache \
                 from another machine"
                    .to_owned(),
            );
        }
        if self.gated {
            lines.push(format!(
                "accept the owner's terms at https://huggingface.co/{}, with the account of your token",
                self.name
            ));
            lines.push(if set("HF_TOKEN").is_some() {
                "HF_TOKEN is set and will be used".to_owned()
            } else {
                "set HF_TOKEN to a token of that account, or run `huggingface-cli login`".to_owned()
            });
        }
        lines.push("install the hub's tool once: `python3 -m pip install -U huggingface_hub`".to_owned());
        lines.push(format!("download: `{}` (newer releases call the tool `hf`)", self.download_command()));
        lines.push(format!(
            "then ragscope finds it by name, offline: `--model {}` (in HF_HUB_CACHE, HF_HOME or the usual place)",
            self.name
        ));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DEFAULT_MODEL;

    fn environment(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<OsString> {
        move |name| pairs.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1))
    }

    #[test]
    fn the_registry_is_readable_and_begins_with_the_default_model() {
        let models = RegisteredModel::all();
        assert_eq!(models[0].known().unwrap(), DEFAULT_MODEL);
        assert!(
            models
                .iter()
                .filter_map(RegisteredModel::known)
                .all(|model| model.sha256.len() == 64 && model.size > 1_000_000 && !model.wheels.is_empty())
        );
    }

    #[test]
    fn every_name_and_alias_means_one_model() {
        let models = RegisteredModel::all();
        let mut words: Vec<String> = models
            .iter()
            .flat_map(|model| {
                model.aliases.iter().map(ToString::to_string).chain([model.name.to_lowercase()])
            })
            .collect();
        words.sort();
        // The default model is its own alias in lower case.
        words.dedup_by(|one, other| one == other && *one == "smollm2-135m-instruct");
        let count = words.len();
        words.dedup();
        assert_eq!(words.len(), count);
        for word in ["default", "Gemma-3-270m", "qwen/qwen3-8b", "LLAMA-3.1-8B-instruct"] {
            assert!(RegisteredModel::find(word).is_some(), "{word}");
        }
        assert_eq!(RegisteredModel::find("gpt"), None);
    }

    #[test]
    fn gemma_comes_in_four_parts_and_not_before_its_terms_are_accepted() {
        let gemma = RegisteredModel::find("gemma3-270m").unwrap();
        assert!(gemma.terms.as_ref().is_some_and(|terms| terms.url.contains("gemma/terms")));
        let known = gemma.known().unwrap();
        assert_eq!(known.wheels.len(), 4);
        assert!(
            known.wheels.iter().enumerate().all(|(i, wheel)| wheel.member.ends_with(&format!("part0{i}")))
        );
    }

    #[test]
    fn the_encoder_is_a_directory_whose_files_all_lie_in_it() {
        let encoder = RegisteredModel::find("all-MiniLM-L6-v2").unwrap();
        let ModelSource::Folder(folder) = &encoder.source else { panic!("a directory") };
        let files = encoder.files();
        assert!(encoder.known().is_none() && files.len() >= 3);
        for file in &files {
            assert!(file.file_name.starts_with(&format!("{}/", folder.name)), "{}", file.file_name);
            assert!(file.file_name.split('/').all(|part| !part.is_empty() && !part.starts_with('.')));
            assert_eq!((file.sha256.len(), file.wheels.len()), (64, 1));
        }
        // Whoever looks for the weights finds the rest: they are stored last.
        assert!(files.last().is_some_and(|file| file.file_name.ends_with("/model.safetensors")));
    }

    #[test]
    fn the_advice_names_the_command_and_minds_token_and_offline_variables() {
        let ModelSource::Repository(llama) = &RegisteredModel::find("llama-3.1-8b-instruct").unwrap().source
        else {
            panic!("a repository of the hub")
        };
        let advice = |pairs| llama.advice(&environment(pairs)).join("\n");
        let plain = advice(&[]);
        assert!(plain.contains("huggingface-cli download meta-llama/Llama-3.1-8B-Instruct --include"));
        assert!(plain.contains("set HF_TOKEN") && !plain.contains("HF_HUB_OFFLINE is set"), "{plain}");
        let with_token = advice(&[("HF_TOKEN", "hf_x"), ("HF_HUB_OFFLINE", "1")]);
        assert!(with_token.contains("HF_TOKEN is set") && with_token.contains("HF_HUB_OFFLINE is set"));
        assert!(!with_token.contains("hf_x"), "a secret is never printed");
        assert!(!advice(&[("HF_HUB_OFFLINE", "0")]).contains("HF_HUB_OFFLINE is set"));
    }
}
