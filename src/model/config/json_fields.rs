//! Fields of a `config.json`, read with errors that name them.

use std::path::Path;

use serde_json::{Map, Value};

use super::{count, shown};
use crate::model::DecoderError;

/// An object of a configuration file.
pub(super) struct Fields<'a> {
    pub path: &'a Path,
    /// Where in the file the object lies, "" for the whole file.
    pub prefix: String,
    pub map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// The value; `null` counts as absent.
    pub fn present(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field).filter(|v| !v.is_null())
    }

    /// The object in a field; `null` counts as absent.
    pub fn object(&self, field: &str) -> Result<Option<Fields<'a>>, DecoderError> {
        match self.present(field) {
            None => Ok(None),
            Some(Value::Object(map)) => {
                Ok(Some(Fields { path: self.path, prefix: self.full_name(field), map }))
            }
            Some(_) => Err(self.wrong(field, "an object")),
        }
    }

    fn full_name(&self, field: &str) -> String {
        let dot = if self.prefix.is_empty() { "" } else { "." };
        format!("{}{dot}{field}", self.prefix)
    }

    pub fn wrong(&self, field: &str, expected: &str) -> DecoderError {
        DecoderError::Field {
            path: self.path.to_owned(),
            field: self.full_name(field),
            expected: expected.to_owned(),
            found: self.found(field),
        }
    }

    fn found(&self, field: &str) -> String {
        self.present(field).map_or_else(|| "nothing".to_owned(), |v| shown(&v.to_string()))
    }

    pub fn count(&self, field: &str) -> Result<usize, DecoderError> {
        count(self.path, field, self.present(field).and_then(Value::as_u64), &self.found(field))
    }

    pub fn positive(&self, field: &str) -> Result<f64, DecoderError> {
        let value = self.present(field).and_then(Value::as_f64).filter(|x| *x > 0.0);
        value.ok_or_else(|| self.wrong(field, "a positive number"))
    }

    /// A positive number, `None` where the field is absent.
    pub fn positive_or_absent(&self, field: &str) -> Result<Option<f64>, DecoderError> {
        self.present(field).map(|_| self.positive(field)).transpose()
    }

    /// Yes or no; absent is no.
    pub fn flag(&self, field: &str) -> Result<bool, DecoderError> {
        match self.present(field) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(field, "true or false")),
        }
    }

    /// The string value, which must be one of `known`; `absent` stands for a missing field where one may miss.
    pub fn one_of(
        &self,
        field: &str,
        absent: Option<&'static str>,
        known: &[&'static str],
    ) -> Result<&'static str, DecoderError> {
        let value = match self.present(field) {
            Some(value) => value.as_str(),
            None => absent,
        };
        let found = known.iter().find(|k| Some(**k) == value);
        found.copied().ok_or_else(|| self.wrong(field, &format!("one of {known:?}")))
    }
}
