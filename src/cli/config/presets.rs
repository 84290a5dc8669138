//! The store of presets: `presets.toml` of the configuration folder.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Configuration;
use super::folder::{line_of, read_if_there};
use crate::certify::Alpha;
use crate::cli::output;
use crate::tui::{Preset, PresetAnswer, PresetFailure, PresetRequest, PresetStore};

/// A preset in the file, under its name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    alpha: f64,
    token_threshold: f64,
    rho: f64,
    factuality: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beta: Option<f64>,
}

/// The store for the inspector.
pub fn preset_store(configuration: &Configuration) -> PresetStore {
    let path = configuration.folder().map(super::ConfigurationFolder::presets);
    Box::new(move |request| match &path {
        Some(path) => keep(path, request),
        None => Err(PresetFailure::Failed(
            "there is no home for presets: set RAGSCOPE_CONFIG_DIR to a folder".to_owned(),
        )),
    })
}

/// Number of presets, or what is wrong with their file.
pub fn preset_count(folder: &super::ConfigurationFolder) -> Result<usize, String> {
    read(&folder.presets()).map(|stored| stored.len())
}

fn keep(path: &Path, request: &PresetRequest) -> PresetAnswer {
    let mut stored = read(path).map_err(PresetFailure::Failed)?;
    match request {
        PresetRequest::List => {}
        PresetRequest::Save { preset, replace } => {
            if stored.contains_key(&preset.name) && !replace {
                return Err(PresetFailure::Exists);
            }
            let Preset { name, alpha, token, rho, factuality, beta } = preset;
            let values = Stored {
                alpha: alpha.value(),
                token_threshold: *token,
                rho: *rho,
                factuality: *factuality,
                beta: *beta,
            };
            stored.insert(name.clone(), values);
            write(path, &stored).map_err(PresetFailure::Failed)?;
        }
        PresetRequest::Delete { name } => {
            if stored.remove(name).is_none() {
                return Err(PresetFailure::Failed(format!("there is no preset {name:?} any more")));
            }
            write(path, &stored).map_err(PresetFailure::Failed)?;
        }
    }
    Ok(stored.into_iter().map(|(name, stored)| preset(name, &stored)).collect())
}

fn preset(name: String, stored: &Stored) -> Preset {
    Preset {
        name,
        alpha: Alpha::from_thousandths((stored.alpha * 1000.0).round() as u16),
        token: stored.token_threshold,
        rho: stored.rho,
        factuality: stored.factuality,
        beta: stored.beta,
    }
}

fn read(path: &Path) -> Result<BTreeMap<String, Stored>, String> {
    let Some(text) = read_if_there(path)? else { return Ok(BTreeMap::new()) };
    let shown = crate::text::visible_path(path);
    let stored: BTreeMap<String, Stored> = toml::from_str(&text).map_err(|error| {
        let line = line_of(&text, error.span().map_or(0, |span| span.start));
        format!("{shown}, line {line}: {}; correct it or take the file away", error.message())
    })?;
    for (name, Stored { alpha, token_threshold, rho, factuality, beta }) in &stored {
        let ranges = [
            ("alpha", alpha, 0.0, 1.0),
            ("token_threshold", token_threshold, 0.0, 1.0),
            ("rho", rho, 0.5, 0.9999),
            ("factuality", factuality, 0.0, 1.0),
            ("beta", beta.as_ref().unwrap_or(&0.0), 0.0, 1.0),
        ];
        for (what, value, low, high) in ranges {
            if !(low..=high).contains(value) {
                return Err(format!(
                    "{shown}: {what} of the preset {name:?} is a number from {low} to {high}, but {value} stands there"
                ));
            }
        }
    }
    Ok(stored)
}

/// Writes the file as a whole or not at all; where it is a link, what it points to.
fn write(path: &Path, stored: &BTreeMap<String, Stored>) -> Result<(), String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", path.display());
    let text = toml::to_string(stored).map_err(|error| cannot(&error))?;
    let text = format!("# Presets of ragscope, written by its inspector; comments are not kept.\n\n{text}");
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| cannot(&error))?;
    }
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    output::write_new(&target, text.as_bytes(), true).map_err(|failure| failure.message())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Thresholds;

    fn save(path: &Path, name: &str, token: f64, replace: bool) -> PresetAnswer {
        let preset = Preset::of(name, &Thresholds { token, ..Thresholds::default() });
        keep(path, &PresetRequest::Save { preset, replace })
    }

    fn names(answer: PresetAnswer) -> Vec<String> {
        answer.unwrap().into_iter().map(|preset| preset.name).collect()
    }

    #[test]
    fn presets_are_kept_under_their_names_and_read_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("not/yet/there/presets.toml");
        assert_eq!(keep(&path, &PresetRequest::List), Ok(Vec::new()));
        assert!(!path.exists());
        save(&path, "strict \"quoted\" ö", 0.25, false).unwrap();
        let all = save(&path, "a.b [c]", 0.75, false).unwrap();
        assert_eq!(keep(&path, &PresetRequest::List), Ok(all.clone()));
        assert_eq!((all[0].name.as_str(), all[0].token, all[1].token), ("a.b [c]", 0.75, 0.25));
        let deleted = keep(&path, &PresetRequest::Delete { name: "a.b [c]".into() });
        assert_eq!(names(deleted), ["strict \"quoted\" ö"]);
        let gone = keep(&path, &PresetRequest::Delete { name: "a.b [c]".into() }).unwrap_err();
        assert!(matches!(gone, PresetFailure::Failed(reason) if reason.contains("any more")));
    }

    #[test]
    fn a_name_that_is_there_is_only_replaced_where_that_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("presets.toml");
        save(&path, "mine", 0.25, false).unwrap();
        assert_eq!(save(&path, "mine", 0.5, false), Err(PresetFailure::Exists));
        assert_eq!(keep(&path, &PresetRequest::List).unwrap()[0].token, 0.25);
        assert_eq!(save(&path, "mine", 0.5, true).unwrap()[0].token, 0.5);
    }

    #[test]
    fn a_broken_file_is_told_with_its_line_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("presets.toml");
        for (text, said) in [
            ("[mine]\nalpha = 0.1\ntokens = 3\n", "line 3"),
            ("[mine]\nalpha = \n", "line 2"),
            (
                "[mine]\nalpha = 7.0\ntoken_threshold = 0.5\nrho = 0.9\nfactuality = 0.5\n",
                "from 0 to 1, but 7",
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let failure = save(&path, "other", 0.5, true).unwrap_err();
            assert!(
                matches!(&failure, PresetFailure::Failed(reason) if reason.contains(said)),
                "{failure:?}"
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("presets.toml"), folder.path().join("elsewhere.toml"));
        std::fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        save(&path, "mine", 0.5, false).unwrap();
        assert!(path.is_symlink() && std::fs::read_to_string(&target).unwrap().contains("[mine]"));
    }
}
