//! `--map`: which field of a foreign record is which of ours.

use std::str::FromStr;

use super::error::{DataError, distinct, shown, shown_names};
use super::json::{Json, Object};

/// What a field of a record can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Id,
    Question,
    Answer,
    Contexts,
    Reference,
    SourceIds,
    Labels,
    Consistent,
    Group(String),
}

const TARGETS: &str = "question, contexts, answer, reference, id, source_ids, labels, consistent, group.NAME";

/// Fields by name: `question=query,contexts=context_*,answer=output,group.model=llm`.
///
/// A source is a field or column, a path of field names joined by dots, or a pattern with one `*`
/// that names several in the order of their numbers. A comma inside a name is written `\,`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldMap {
    entries: Vec<(Target, String)>,
}

impl FromStr for FieldMap {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let mut entries: Vec<(Target, String)> = Vec::new();
        for entry in split_entries(text) {
            let Some((target, source)) = entry.split_once('=') else {
                return Err(DataError::Map(format!(
                    "expected NAME=FIELD, found `{}`; names are {TARGETS}",
                    shown(&entry)
                )));
            };
            let (target, source) = (read_target(target.trim())?, source.trim());
            if source.is_empty() {
                return Err(DataError::Map(format!(
                    "expected a field after `{}`, found nothing",
                    shown(&entry)
                )));
            }
            let several = matches!(target, Target::Contexts | Target::Reference);
            if source.contains('*') && (!several || source.matches('*').count() > 1) {
                return Err(DataError::Map(format!(
                    "expected one `*` at most, and only for contexts and reference, found `{}`",
                    shown(&entry)
                )));
            }
            if !several && entries.iter().any(|(earlier, _)| *earlier == target) {
                return Err(DataError::Map(format!(
                    "`{}` names the same target a second time",
                    shown(&entry)
                )));
            }
            entries.push((target, source.to_owned()));
        }
        Ok(Self { entries })
    }
}

/// Splits at commas that no backslash precedes.
fn split_entries(text: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let open = entries.len() - 1;
        match c {
            '\\' if characters.peek() == Some(&',') => {
                characters.next();
                entries[open].push(',');
            }
            ',' => entries.push(String::new()),
            c => entries[open].push(c),
        }
    }
    entries.retain(|entry| !entry.trim().is_empty());
    entries
}

fn read_target(name: &str) -> Result<Target, DataError> {
    Ok(match name {
        "id" => Target::Id,
        "question" => Target::Question,
        "answer" => Target::Answer,
        "contexts" => Target::Contexts,
        "reference" | "references" => Target::Reference,
        "source_ids" => Target::SourceIds,
        "labels" => Target::Labels,
        "consistent" => Target::Consistent,
        _ => match name.strip_prefix("group.") {
            Some(group) if !group.is_empty() => Target::Group(group.to_owned()),
            _ => {
                return Err(DataError::Map(format!(
                    "unknown name `{}`; expected one of {TARGETS}",
                    shown(name)
                )));
            }
        },
    })
}

impl FieldMap {
    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The fields of one record that are `target`, with their names. `None`: the map does not name it.
    pub(crate) fn find<'a>(
        &'a self,
        target: &Target,
        fields: &'a Object,
    ) -> Option<Vec<(&'a str, &'a Json)>> {
        let sources = self.entries.iter().filter(|(named, _)| named == target);
        let found: Vec<Vec<(&str, &Json)>> = sources.map(|(_, source)| look_up(source, fields)).collect();
        if found.is_empty() { None } else { Some(found.concat()) }
    }

    /// The groups it names, with their fields in one record.
    pub(crate) fn groups<'a>(&'a self, fields: &'a Object) -> Vec<(&'a str, &'a Json)> {
        let group = |(target, source): &'a (Target, String)| match target {
            Target::Group(name) => look_up(source, fields).first().map(|(_, value)| (name.as_str(), *value)),
            _ => None,
        };
        self.entries.iter().filter_map(group).collect()
    }

    /// Whether `name` is read because of this map.
    pub(crate) fn uses(&self, name: &str) -> bool {
        self.entries.iter().any(|(_, source)| {
            source == name
                || star(source, name).is_some()
                || source.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
        })
    }

    /// Refuses sources that no record has.
    pub(crate) fn check(&self, records: &[&Object]) -> Result<(), DataError> {
        let mut found = vec![false; self.entries.len()];
        for fields in records {
            self.find_sources(fields, &mut found);
        }
        self.check_found(&found, &distinct(records.iter().flat_map(|fields| fields.names())))
    }

    /// Marks the sources that a record has, in the order of the map.
    pub(crate) fn find_sources(&self, fields: &Object, found: &mut Vec<bool>) {
        found.resize(self.entries.len(), false);
        for ((_, source), found) in self.entries.iter().zip(found) {
            *found = *found || exists(source, fields);
        }
    }

    /// Refuses sources that were not marked; `names` are all fields of all records.
    pub(crate) fn check_found(&self, found: &[bool], names: &[&str]) -> Result<(), DataError> {
        let missing = self.entries.iter().zip(found).find(|(_, found)| !**found);
        match missing {
            None => Ok(()),
            Some(((_, source), _)) => Err(DataError::Map(format!(
                "no record has a field `{}`; there are {}",
                shown(source),
                shown_names(names.iter().copied())
            ))),
        }
    }
}

/// What `*` in `pattern` stands for in `name`.
fn star<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    let (before, after) = pattern.split_once('*')?;
    name.strip_prefix(before)?.strip_suffix(after)
}

fn exists(source: &str, fields: &Object) -> bool {
    fields.has(source)
        || fields.names().any(|name| star(source, name).is_some())
        || path(source, fields).is_some()
}

/// The value at a path of names joined by dots.
fn path<'a>(source: &str, fields: &'a Object) -> Option<&'a Json> {
    let (first, rest) = source.split_once('.')?;
    let inner = fields.get(first)?.object()?;
    inner.get(rest).or_else(|| path(rest, inner))
}

fn look_up<'a>(source: &'a str, fields: &'a Object) -> Vec<(&'a str, &'a Json)> {
    if let Some(value) = fields.get(source).or_else(|| path(source, fields)) {
        return vec![(source, value)];
    }
    let matching = fields.names().filter_map(|name| Some((star(source, name)?, name)));
    let mut matching: Vec<(Option<u64>, &str)> =
        matching.map(|(star, name)| (star.parse().ok(), name)).collect();
    // context_10 comes after context_9; without numbers the order of the file stays.
    if matching.iter().all(|(number, _)| number.is_some()) {
        matching.sort_by_key(|(number, _)| *number);
    }
    matching.into_iter().filter_map(|(_, name)| Some((name, fields.get(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::json::parse;

    fn object(text: &str) -> Object {
        parse(text).unwrap().0.object().unwrap().clone()
    }

    fn error(map: &str) -> String {
        map.parse::<FieldMap>().unwrap_err().to_string()
    }

    #[test]
    fn a_pattern_names_fields_in_the_order_of_their_numbers() {
        let map: FieldMap = "question=q, contexts=context_*,group.model=meta.llm".parse().unwrap();
        let fields =
            object(r#"{"context_10":"c","context_9":"b","context_1":"a","q":"?","meta":{"llm":"m","x":1}}"#);
        let contexts = map.find(&Target::Contexts, &fields).unwrap();
        assert_eq!(contexts.iter().map(|(_, value)| value.text().unwrap()).collect::<String>(), "abc");
        assert_eq!(map.groups(&fields)[0], ("model", &Json::Text("m".to_owned())));
        assert_eq!(map.find(&Target::Answer, &fields), None);
        assert!(map.uses("context_7") && map.uses("meta") && !map.uses("context"));
    }

    #[test]
    fn a_comma_inside_a_field_name_is_escaped() {
        let map: FieldMap = r"question=which\, when,answer=a=b".parse().unwrap();
        let fields = object(r#"{"which, when":"q","a=b":"x"}"#);
        assert!(map.check(&[&fields]).is_ok());
    }

    #[test]
    fn unknown_names_and_fields_list_what_exists() {
        assert!(error("qustion=q").contains("unknown name `qustion`; expected one of question, contexts"));
        assert!(error("question").contains("expected NAME=FIELD, found `question`"));
        assert!(error("question=").contains("found nothing"));
        assert!(error("question=q*").contains("only for contexts"));
        assert!(error("question=a,question=b").contains("second time"));
        assert!(error("group.=x").contains("unknown name"));
        let map: FieldMap = "question=query".parse().unwrap();
        let told = map.check(&[&object(r#"{"prompt":"q","x\u001b":1}"#)]).unwrap_err().to_string();
        assert_eq!(told, "--map: no record has a field `query`; there are `prompt`, `x␛`");
    }
}
