//! JSON as data sets really contain it.
//!
//! `serde_json` reads the JSON of the standard. Files written by pandas and Python hold `NaN`, halves
//! of surrogate pairs and ids longer than a double; here they are kept or counted, where a
//! conforming reader stops, rounds, or drops a repeated key in silence.

mod parser;

use std::fmt::Write as _;

pub(crate) use parser::parse;

use super::notice::Notices;

/// A JSON value. Numbers keep their digits, objects their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// As written.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Object),
}

/// The fields of an object, each name once.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Object(Vec<(String, Json)>);

/// What a reading tolerated, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tolerated {
    /// `NaN`, `Infinity`, `-Infinity`, read as null.
    pub(crate) not_finite: usize,
    /// Halves of surrogate pairs, read as U+FFFD.
    pub(crate) lone_surrogates: usize,
    /// Names that occur again in their object; the last value counts.
    pub(crate) repeated_names: usize,
    /// Control characters that should have been escaped, kept.
    pub(crate) raw_controls: usize,
}

impl Tolerated {
    pub(crate) fn tell(self, row: Option<usize>, notices: &mut Notices) {
        notices.add("NaN or Infinity, which is no JSON, was read as null", self.not_finite, row);
        notices.add("half of a surrogate pair was replaced by U+FFFD", self.lone_surrogates, row);
        notices.add(
            "a field name occurs twice in one record; its last value counts",
            self.repeated_names,
            row,
        );
        notices.add("a control character that should be escaped was kept", self.raw_controls, row);
    }
}

impl Json {
    fn weight(&self) -> u64 {
        32 + match self {
            Self::Null | Self::Bool(_) => 0,
            Self::Number(text) | Self::Text(text) => text.len() as u64,
            Self::List(items) => items.iter().map(Self::weight).sum(),
            Self::Object(object) => object.weight(),
        }
    }

    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Text as it is, a number by its digits, `true` and `false` by their names.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Number(text) => Some(text),
            Self::Bool(true) => Some("true"),
            Self::Bool(false) => Some("false"),
            Self::Null | Self::List(_) | Self::Object(_) => None,
        }
    }

    /// A whole number that is not negative; `7.0` counts, since pandas writes it for 7.
    pub(crate) fn offset(&self) -> Option<usize> {
        let Self::Number(digits) = self else { return None };
        digits.strip_suffix(".0").unwrap_or(digits).parse().ok()
    }

    /// The value as one line of standard JSON.
    pub(crate) fn write(&self) -> String {
        let mut out = String::new();
        self.write_to(&mut out);
        out
    }

    fn write_to(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "{value}");
            }
            Self::Number(digits) => out.push_str(digits),
            Self::Text(text) => write_text(text, out),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    item.write_to(out);
                }
                out.push(']');
            }
            Self::Object(object) => {
                out.push('{');
                for (at, (name, value)) in object.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    write_text(name, out);
                    out.push_str(": ");
                    value.write_to(out);
                }
                out.push('}');
            }
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    // A string always serialises.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

impl Object {
    /// Takes the fields as read; of a repeated name the last value stays, at the first place.
    pub(crate) fn new(fields: Vec<(String, Json)>) -> (Self, usize) {
        let mut first_by_name = std::collections::HashMap::with_capacity(fields.len());
        let repeated = fields
            .iter()
            .enumerate()
            .filter(|(at, (name, _))| *first_by_name.entry(name.as_str()).or_insert(*at) != *at)
            .count();
        if repeated == 0 {
            return (Self(fields), 0);
        }
        let mut kept: Vec<(String, Json)> = Vec::new();
        let mut place = std::collections::HashMap::new();
        for (name, value) in fields {
            let at = *place.entry(name.clone()).or_insert(kept.len());
            match kept.get_mut(at) {
                Some(earlier) => earlier.1 = value,
                None => kept.push((name, value)),
            }
        }
        (Self(kept), repeated)
    }

    /// Bytes that it takes in memory, roughly.
    pub(crate) fn weight(&self) -> u64 {
        self.0.iter().map(|(name, value)| 32 + name.len() as u64 + value.weight()).sum::<u64>() + 32
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, _)| field == name)
    }

    /// The value of `name`; an explicit null is as good as none.
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value).filter(|v| **v != Json::Null)
    }

    /// The value of the first of `names` that has one.
    pub(crate) fn first_of(&self, names: &[&str]) -> Option<&Json> {
        names.iter().find_map(|name| self.get(name))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Json::text)
    }

    pub(crate) fn scalar(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Json::scalar)
    }

    pub(crate) fn list(&self, name: &str) -> Option<&[Json]> {
        self.get(name).and_then(Json::list)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}
