//! Spans of traces, whoever wrote them: attributes as one flat map, in whichever of the shapes they came.

use std::collections::BTreeMap;

use crate::data::json::{Json, Object, parse};

use super::cell;

/// Deepest nesting that is flattened.
const DEEPEST: usize = 16;

/// Attributes by dotted name: nested objects and lists are flattened, places of lists are numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Attributes(BTreeMap<String, Json>);

impl Attributes {
    /// The attributes of a span: those under `field` (an object, or the text of one), and columns that begin with
    /// `field.`.
    ///
    /// # Errors
    /// A text that looks like a printed object and does not read as one.
    pub(super) fn of(span: &Object, field: &str) -> Result<Self, String> {
        let mut attributes = Self::default();
        if let Some(value) = span.get(field) {
            let value = unprinted(field, value)?;
            if let Json::Object(fields) = &value {
                for (name, value) in fields.iter() {
                    attributes.flatten(name, value, 0)?;
                }
            }
        }
        let prefix = format!("{field}.");
        for (name, value) in span.iter() {
            if let Some(name) = name.strip_prefix(&prefix) {
                attributes.flatten(name, value, 0)?;
            }
        }
        Ok(attributes)
    }

    fn flatten(&mut self, name: &str, value: &Json, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("attribute `{name}`: nested too deep"));
        }
        match value {
            Json::Null => {}
            Json::Object(fields) => {
                for (inner, value) in fields.iter() {
                    self.flatten(&format!("{name}.{inner}"), value, depth + 1)?;
                }
            }
            Json::List(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.flatten(&format!("{name}.{place}"), item, depth + 1)?;
                }
            }
            Json::Text(_) if name.ends_with("documents") || name.ends_with("contexts") => {
                // A list of documents that went through a table or a database became text.
                let value = unprinted(name, value)?;
                if matches!(value, Json::Text(_)) {
                    self.0.insert(name.to_owned(), value);
                } else {
                    self.flatten(name, &value, depth + 1)?;
                }
            }
            other => {
                self.0.insert(name.to_owned(), other.clone());
            }
        }
        Ok(())
    }

    pub(super) fn scalar(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Json::scalar).filter(|text| !text.trim().is_empty())
    }

    pub(super) fn value(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The places of a list, in numeric order: 10 after 9.
    pub(super) fn places(&self, list: &str) -> Vec<usize> {
        let prefix = format!("{list}.");
        let mut places: Vec<usize> = self
            .0
            .range(prefix.clone()..)
            .take_while(|(name, _)| name.starts_with(&prefix))
            .filter_map(|(name, _)| name[prefix.len()..].split('.').next()?.parse().ok())
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The texts of a list.
    pub(super) fn texts(&self, list: &str) -> Vec<&str> {
        self.places(list).into_iter().filter_map(|place| self.scalar(&format!("{list}.{place}"))).collect()
    }
}

/// The value a text stands for, when it is JSON or Python's print of an object or list; else the value itself.
pub(super) fn unprinted(name: &str, value: &Json) -> Result<Json, String> {
    match value {
        Json::Text(text) if text.trim_start().starts_with(['{', '[']) => {
            if let Ok((json, _)) = parse(text.trim()) {
                return Ok(json);
            }
            cell::literal(text).map_err(|reason| format!("field `{name}`: {reason}"))
        }
        other => Ok(other.clone()),
    }
}

/// What a pipeline was asked or said, out of a text that may be JSON: the text itself, or the first of `names`.
pub(super) fn plain(text: &str, names: &[&str]) -> String {
    if text.trim_start().starts_with('{')
        && let Ok((Json::Object(fields), _)) = parse(text.trim())
        && let Some(value) = fields.first_of(names).and_then(Json::scalar)
    {
        return value.to_owned();
    }
    if text.trim_start().starts_with('"')
        && let Ok((Json::Text(inner), _)) = parse(text.trim())
    {
        return inner;
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str) -> Object {
        parse(text).unwrap().0.object().unwrap().clone()
    }

    #[test]
    fn flat_keys_nested_objects_columns_and_printed_lists_give_the_same_attributes() {
        let shapes = [
            r#"{"attributes": {"retrieval.documents.0.document.content": "c"}}"#,
            r#"{"attributes": {"retrieval": {"documents": [{"document": {"content": "c"}}]}}}"#,
            r#"{"attributes.retrieval.documents": [{"document.content": "c"}]}"#,
            r#"{"attributes.retrieval.documents": "[{'document.content': 'c', 'document.score': nan}]"}"#,
            r#"{"attributes": "{'retrieval.documents': [{'document': {'content': 'c'}}]}"}"#,
        ];
        for shape in shapes {
            let attributes = Attributes::of(&span(shape), "attributes").unwrap();
            assert_eq!(attributes.scalar("retrieval.documents.0.document.content"), Some("c"), "{shape}");
        }
    }

    #[test]
    fn places_are_ordered_as_numbers() {
        let keys: Vec<String> = (0..12).rev().map(|i| format!("\"a.d.{i}\": \"{i}\"")).collect();
        let attributes = Attributes::of(&span(&format!("{{{}}}", keys.join(","))), "a").unwrap();
        assert_eq!(attributes.texts("d"), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]);
    }

    #[test]
    fn a_text_that_is_json_gives_the_field_that_is_asked_for() {
        assert_eq!(plain(r#"{"query": "q?", "k": 3}"#, &["input", "query"]), "q?");
        assert_eq!(plain(r#""quoted""#, &[]), "quoted");
        assert_eq!(plain("{not json", &["query"]), "{not json");
    }
}
