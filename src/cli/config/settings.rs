//! The one table of settings: names, what they mean, which values they take.

use crate::model::{DeviceChoice, NumberType};
use crate::tui::{Borders, ColourDepth, Scale, ThemeChoice};

/// A value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Number(f64),
    Count(u64),
    Flag(bool),
}

impl Value {
    /// As a configuration file writes it.
    pub fn toml(&self) -> String {
        match self {
            Self::Text(text) => toml::Value::String(text.clone()).to_string(),
            Self::Number(number) => toml::Value::Float(*number).to_string(),
            Self::Count(count) => count.to_string(),
            Self::Flag(flag) => flag.to_string(),
        }
    }
}

/// Which values a setting takes.
#[derive(Clone, Copy)]
pub enum Kind {
    /// One of some words; checked by what reads it.
    Word {
        check: fn(&str) -> Result<(), String>,
        example: &'static str,
    },
    Text,
    /// A path; in a file it is relative to that file.
    Path,
    /// A number of a range, both ends included; in whole thousandths where the last says so.
    Number {
        low: f64,
        high: f64,
        thousandths: bool,
    },
    /// At least one.
    Count,
    Flag,
}

impl Kind {
    /// A value as it could stand in a file.
    pub fn example(self) -> &'static str {
        match self {
            Self::Word { example, .. } => example,
            Self::Text | Self::Path => "\"...\"",
            Self::Number { .. } => "0.5",
            Self::Count => "5",
            Self::Flag => "true",
        }
    }

    /// What it takes, for messages.
    fn expected(self) -> String {
        match self {
            Self::Word { .. } | Self::Text => "a text in quotes".to_owned(),
            Self::Path => "a path in quotes".to_owned(),
            Self::Number { low, high, thousandths: false } => format!("a number from {low} to {high}"),
            Self::Number { low, high, thousandths: true } => {
                format!("a number from {low} to {high} in whole thousandths, like 0.1 or 0.025")
            }
            Self::Count => "a whole number from 1".to_owned(),
            Self::Flag => "true or false".to_owned(),
        }
    }

    /// Checks a value that has a type already.
    pub fn check(self, value: &Value) -> Result<(), String> {
        let fine = match (self, value) {
            (Self::Word { check, .. }, Value::Text(text)) => return check(text),
            (Self::Text | Self::Path, Value::Text(text)) => !text.is_empty(),
            (Self::Number { low, high, thousandths }, Value::Number(number)) => {
                let steps = number * 1000.0;
                (low..=high).contains(number) && (!thousandths || (steps - steps.round()).abs() < 1e-6)
            }
            (Self::Count, Value::Count(count)) => (1..=u64::from(u16::MAX)).contains(count),
            (Self::Flag, Value::Flag(_)) => true,
            _ => false,
        };
        if fine { Ok(()) } else { Err(format!("it takes {}, but {} came", self.expected(), value.toml())) }
    }

    /// A value from text that has no types of its own: of a variable.
    pub fn of_text(self, text: &str) -> Result<Value, String> {
        let wrong = || format!("it takes {}, but {text:?} came", self.expected());
        let value = match self {
            Self::Word { .. } | Self::Text | Self::Path => Value::Text(text.to_owned()),
            Self::Number { .. } => Value::Number(text.trim().parse().map_err(|_| wrong())?),
            Self::Count => Value::Count(text.trim().parse().map_err(|_| wrong())?),
            Self::Flag => Value::Flag(match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => true,
                "false" | "0" | "no" | "off" => false,
                _ => return Err(wrong()),
            }),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Whether it takes numbers with a fraction: `1` in a file is then a number, not a count.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Number { .. })
    }
}

/// A line of the table.
pub struct Setting {
    /// In `config.toml`; with `RAGSCOPE_` and in capitals the variable.
    pub name: &'static str,
    pub about: &'static str,
    pub kind: Kind,
    /// What holds where nobody says anything.
    pub built_in: &'static str,
}

fn theme(text: &str) -> Result<(), String> {
    text.parse::<ThemeChoice>().map(drop)
}

fn device(text: &str) -> Result<(), String> {
    text.parse::<DeviceChoice>().map(drop)
}

fn dtype(text: &str) -> Result<(), String> {
    text.parse::<NumberType>().map(drop)
}

fn borders(text: &str) -> Result<(), String> {
    text.parse::<Borders>().map(drop)
}

fn colour(text: &str) -> Result<(), String> {
    ColourDepth::named(text).map(drop)
}

fn scale(text: &str) -> Result<(), String> {
    text.parse::<Scale>().map(drop)
}

const SHARE: Kind = Kind::Number { low: 0.0, high: 1.0, thousandths: false };

/// Every setting.
pub static SETTINGS: &[Setting] = &[
    Setting {
        name: "model",
        about: "The model that reads: a .gguf file, a Hugging Face directory, or a name of `ragscope models list`",
        kind: Kind::Text,
        built_in: "SmolLM2-135M-Instruct from the cache",
    },
    Setting {
        name: "heads",
        about: "Folder of the heads; relative to this file",
        kind: Kind::Path,
        built_in: "those shipped for the default model",
    },
    Setting {
        name: "device",
        about: "Where the model computes: auto, cpu, cuda:N or metal",
        kind: Kind::Word { check: device, example: "\"auto\"" },
        built_in: "auto",
    },
    Setting {
        name: "dtype",
        about: "Numbers of weights, keys and values: auto, f32, bf16 or f16",
        kind: Kind::Word { check: dtype, example: "\"auto\"" },
        built_in: "auto",
    },
    Setting {
        name: "top_k",
        about: "Chunks retrieved per question, where no calibration says how many",
        kind: Kind::Count,
        built_in: "5",
    },
    Setting {
        name: "alpha",
        about: "Miscoverage level of the chunk certificate",
        kind: Kind::Number { low: 0.0, high: 1.0, thousandths: true },
        built_in: "0.1",
    },
    Setting {
        name: "token_threshold",
        about: "Smoothed score from which a token is flagged",
        kind: SHARE,
        built_in: "the head's own",
    },
    Setting {
        name: "rho",
        about: "Label persistence of the smoothing",
        kind: Kind::Number { low: 0.5, high: 0.9999, thousandths: false },
        built_in: "the head's own",
    },
    Setting {
        name: "factuality",
        about: "Factuality from which an answer is called consistent",
        kind: SHARE,
        built_in: "the head's own",
    },
    Setting {
        name: "theme",
        about: "Theme of the inspector: auto, dark, light, colour-blind (or colour-blind-dark, -light), mono",
        kind: Kind::Word { check: theme, example: "\"auto\"" },
        built_in: "auto",
    },
    Setting {
        name: "borders",
        about: "Lines and marks of the inspector: auto, unicode or ascii",
        kind: Kind::Word { check: borders, example: "\"auto\"" },
        built_in: "auto",
    },
    Setting {
        name: "colour",
        about: "Colours of the terminal: auto, true, 256, 16 or none",
        kind: Kind::Word { check: colour, example: "\"auto\"" },
        built_in: "auto",
    },
    Setting {
        name: "mouse",
        about: "Whether the inspector takes the mouse at the start",
        kind: Kind::Flag,
        built_in: "true",
    },
    Setting {
        name: "scale",
        about: "Colours of the attention at the start: linear or log",
        kind: Kind::Word { check: scale, example: "\"linear\"" },
        built_in: "linear",
    },
];
