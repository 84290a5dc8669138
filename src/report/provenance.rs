//! Where the evidence came from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::{Evidence, Provenance};

/// One fact about the making of the evidence, with every value that occurs among the records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProvenanceField {
    pub name: String,
    /// Each value with the number of records that carry it, in order of appearance. More than one value
    /// means that the records were not all made the same way.
    pub values: Vec<(String, usize)>,
    /// Records that do not say.
    pub unknown: usize,
}

type Fact = fn(&Provenance) -> Option<&str>;

const FACTS: [(&str, Fact); 7] = [
    ("tool", |p| (!p.tool.is_empty()).then_some(p.tool.as_str())),
    ("model", |p| p.model.as_deref()),
    ("model hash", |p| p.model_hash.as_deref()),
    ("detector heads hash", |p| p.head_hash.as_deref()),
    ("calibration hash", |p| p.calibration_hash.as_deref()),
    ("data", |p| p.data.as_deref()),
    ("data hash", |p| p.data_hash.as_deref()),
];

/// All facts of all records; the settings come after the fixed ones, by name.
pub fn provenance(evidence: &[Evidence]) -> Vec<ProvenanceField> {
    let mut fields: Vec<_> =
        FACTS.iter().map(|(name, fact)| field(name, evidence, |e| fact(&e.provenance))).collect();
    let mut settings: Vec<&String> = evidence.iter().flat_map(|e| e.provenance.settings.keys()).collect();
    settings.sort_unstable();
    settings.dedup();
    fields.extend(settings.into_iter().map(|name| {
        let value = |e: &'_ Evidence| -> Option<String> { e.provenance.settings.get(name).cloned() };
        collect(format!("setting {name}"), evidence.iter().map(value))
    }));
    fields
}

fn field<'a>(
    name: &str,
    evidence: &'a [Evidence],
    fact: impl Fn(&'a Evidence) -> Option<&'a str>,
) -> ProvenanceField {
    collect(name.to_string(), evidence.iter().map(|e| fact(e).map(str::to_string)))
}

fn collect(name: String, found: impl Iterator<Item = Option<String>>) -> ProvenanceField {
    let mut values: Vec<(String, usize)> = Vec::new();
    let mut unknown = 0;
    for value in found {
        let Some(value) = value else {
            unknown += 1;
            continue;
        };
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, records)) => *records += 1,
            None => values.push((value, 1)),
        }
    }
    ProvenanceField { name, values, unknown }
}
