//! Built-in values under the file, the file under the environment, the environment under the command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::folder::{ConfigurationFolder, line_of, read_if_there};
use super::settings::{Kind, SETTINGS, Setting, Value};
use crate::cli::{Failure, Outcome};
use crate::evidence::Thresholds;
use crate::text::nearest;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Heads,
    File {
        path: PathBuf,
        line: usize,
    },
    Variable(String),
    /// The option.
    CommandLine(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heads => write!(formatter, "the heads"),
            Self::File { path, line } => write!(formatter, "{}, line {line}", path.display()),
            Self::Variable(name) => write!(formatter, "{name}"),
            Self::CommandLine(option) => write!(formatter, "{option}"),
        }
    }
}

/// Every value that someone set, from the highest layer that did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Configuration {
    folder: Option<ConfigurationFolder>,
    values: BTreeMap<&'static str, (Value, Origin)>,
    notes: Vec<String>,
}

fn setting(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

const PREFIX: &str = "RAGSCOPE_";

/// Variables that are no settings, without what all begin with.
const OTHER_VARIABLES: [&str; 3] = ["CACHE", "CONFIG_DIR", "LOG"];

impl Configuration {
    /// Reads file and environment. `variables` are the names of the environment's that begin with
    /// `RAGSCOPE_`.
    ///
    /// # Errors
    /// What stands in the file or the environment is unknown or no value of its setting.
    pub fn load(variable: &dyn Fn(&str) -> Option<OsString>, variables: &[String]) -> Outcome<Self> {
        let mut configuration =
            Self { folder: ConfigurationFolder::from_environment(variable), ..Self::default() };
        if let Some(folder) = configuration.folder.clone() {
            let path = folder.settings();
            if let Some(text) = read_if_there(&path).map_err(Failure::input_message)? {
                let values = read_file(&text, &path).map_err(Failure::input_message)?;
                configuration.values.extend(values);
            }
        }
        for setting in SETTINGS {
            let name = variable_of(setting.name);
            let Some(value) = variable(&name).filter(|value| !value.is_empty()) else { continue };
            let text = value.to_str().ok_or_else(|| Failure::Usage(format!("{name} is no UTF-8 text")))?;
            let value =
                setting.kind.of_text(text).map_err(|problem| Failure::Usage(format!("{name}: {problem}")))?;
            configuration.values.insert(setting.name, (value, Origin::Variable(name)));
        }
        for name in variables {
            let known = SETTINGS.iter().map(|setting| setting.name.to_uppercase());
            let known: Vec<String> = known.chain(OTHER_VARIABLES.map(str::to_owned)).collect();
            let own = name.trim_start_matches(PREFIX);
            if !known.iter().any(|known| known == own)
                && let Some(meant) = nearest(own, known.iter().map(String::as_str))
            {
                configuration.notes.push(format!("{name} is no setting; is it {PREFIX}{meant}?"));
            }
        }
        Ok(configuration)
    }

    /// What the command line says, over everything else; nothing where it says nothing.
    pub fn say(&mut self, name: &'static str, value: Option<Value>) -> Outcome {
        let Some(value) = value else { return Ok(()) };
        let option = format!("--{}", name.replace('_', "-"));
        let setting = setting(name)
            .ok_or_else(|| Failure::Usage(format!("{option} is no setting of the configuration")))?;
        setting.kind.check(&value).map_err(|problem| Failure::Usage(format!("{option}: {problem}")))?;
        self.values.insert(setting.name, (value, Origin::CommandLine(option)));
        Ok(())
    }

    /// What the heads say, under everything else.
    pub fn heads_say(&mut self, thresholds: &Thresholds) {
        let Thresholds { token, rho, factuality, .. } = thresholds;
        for (name, value) in [("token_threshold", token), ("rho", rho), ("factuality", factuality)] {
            self.values.entry(name).or_insert((Value::Number(*value), Origin::Heads));
        }
        let alpha = Value::Number(thresholds.alpha.value());
        self.values.entry("alpha").or_insert((alpha, Origin::Heads));
    }

    /// A value and its origin, where someone set it.
    pub fn get(&self, name: &str) -> Option<&(Value, Origin)> {
        self.values.get(name)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some((Value::Text(text), _)) => Some(text),
            _ => None,
        }
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some((Value::Number(number), _)) => Some(*number),
            _ => None,
        }
    }

    pub fn count(&self, name: &str) -> Option<usize> {
        match self.get(name) {
            Some((Value::Count(count), _)) => usize::try_from(*count).ok(),
            _ => None,
        }
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name) {
            Some((Value::Flag(flag), _)) => Some(*flag),
            _ => None,
        }
    }

    /// Where the configuration lies; `None` where there is no home.
    pub fn folder(&self) -> Option<&ConfigurationFolder> {
        self.folder.as_ref()
    }

    /// What looks like a slip.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Number of settings that the file holds and nothing overrules.
    pub fn count_from_file(&self) -> usize {
        self.values.values().filter(|(_, origin)| matches!(origin, Origin::File { .. })).count()
    }
}

/// `RAGSCOPE_TOP_K`.
pub fn variable_of(name: &str) -> String {
    format!("{PREFIX}{}", name.to_uppercase())
}

type Values = BTreeMap<&'static str, (Value, Origin)>;

/// Reads a configuration file; every problem is told with its line, all of them at once.
fn read_file(text: &str, path: &Path) -> Result<Values, String> {
    let shown = crate::text::visible_path(path);
    let table = DeTable::parse(text).map_err(|error| {
        let line = line_of(text, error.span().map_or(0, |span| span.start));
        format!("{shown}, line {line}: {}; expected lines like `theme = \"light\"`", error.message())
    })?;
    let mut values = Values::new();
    let mut problems: Vec<(usize, String)> = Vec::new();
    for (name, value) in table.get_ref() {
        let line = line_of(text, name.span().start);
        let name = name.get_ref();
        match setting(name) {
            None => problems.push((line, unknown(name))),
            Some(setting) => match value_of(value.get_ref(), setting.kind, path) {
                Ok(value) => {
                    let origin = Origin::File { path: path.to_owned(), line };
                    values.insert(setting.name, (value, origin));
                }
                Err(problem) => problems.push((line, format!("{name}: {problem}"))),
            },
        }
    }
    if problems.is_empty() {
        return Ok(values);
    }
    problems.sort();
    let told: Vec<String> =
        problems.into_iter().map(|(line, problem)| format!("{shown}, line {line}: {problem}")).collect();
    Err(told.join("\n"))
}

fn unknown(name: &str) -> String {
    match nearest(name, SETTINGS.iter().map(|setting| setting.name)) {
        Some(meant) => format!("there is no setting {name:?}; is it {meant:?}?"),
        None => format!("there is no setting {name:?}; `ragscope config` lists them"),
    }
}

fn value_of(value: &DeValue<'_>, kind: Kind, path: &Path) -> Result<Value, String> {
    let number = |text: &str| text.replace('_', "").parse::<f64>().unwrap_or(f64::NAN);
    let value = match value {
        DeValue::String(text) => match kind {
            Kind::Path => Value::Text(beside(path, text)),
            _ => Value::Text(text.to_string()),
        },
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Float(float) => Value::Number(number(float.as_str())),
        DeValue::Integer(integer) if kind.is_number() => Value::Number(number(integer.as_str())),
        DeValue::Integer(integer) => {
            let count = u64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix());
            Value::Count(count.unwrap_or(0))
        }
        other => return Err(format!("{} is no value of a setting", other.type_str())),
    };
    kind.check(&value)?;
    Ok(value)
}

/// A path that a file names, seen from that file.
fn beside(file: &Path, named: &str) -> String {
    if named.is_empty() {
        return String::new();
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    folder.join(named).to_string_lossy().into_owned()
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
