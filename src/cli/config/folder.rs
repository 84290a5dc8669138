//! Where a user's configuration lies.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::disk::{LONGEST_SETTINGS, read_at_most};

/// The folder of `config.toml`, `keys.toml` and `presets.toml`. It need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigurationFolder(PathBuf);

impl ConfigurationFolder {
    /// `RAGSCOPE_CONFIG_DIR`, else `XDG_CONFIG_HOME/ragscope`, else `ragscope` in the system's folder for
    /// configurations; `None` where there is no home.
    ///
    /// An empty or, for `XDG_CONFIG_HOME`, a relative value counts as not set.
    pub fn from_environment(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = set("RAGSCOPE_CONFIG_DIR") {
            return Some(Self(path));
        }
        if let Some(path) = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute()) {
            return Some(Self(path.join("ragscope")));
        }
        let system = etcetera::choose_base_strategy().ok()?;
        Some(Self(system.config_dir().join("ragscope")))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The settings.
    pub fn settings(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// The key map.
    pub fn keys(&self) -> PathBuf {
        self.0.join("keys.toml")
    }

    /// Thresholds saved under a name.
    pub fn presets(&self) -> PathBuf {
        self.0.join("presets.toml")
    }
}

/// Text of a file of the folder; `None` where there is no such file.
pub fn read_if_there(path: &Path) -> Result<Option<String>, String> {
    match read_at_most(path, LONGEST_SETTINGS) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(format!("{} is no UTF-8 text; save it as UTF-8", path.display())),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

/// The line of a byte of a text, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_where_and_what_is_relative_or_empty_counts_as_not_said() {
        let folder = |set: &[(&str, &str)]| {
            let set: Vec<(String, OsString)> =
                set.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect();
            ConfigurationFolder::from_environment(&|name| {
                set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            })
        };
        assert_eq!(
            folder(&[("RAGSCOPE_CONFIG_DIR", "here")]).unwrap().settings(),
            Path::new("here/config.toml")
        );
        let xdg = if cfg!(windows) { "C:\\xdg" } else { "/xdg" };
        assert_eq!(
            folder(&[("RAGSCOPE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", xdg)]).unwrap().keys(),
            Path::new(xdg).join("ragscope").join("keys.toml")
        );
        let relative = folder(&[("XDG_CONFIG_HOME", "relative")]);
        assert!(relative.is_none_or(|folder| folder.path().is_absolute()));
    }
}
