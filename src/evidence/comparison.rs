//! Whether two lines may stand in one run: the same tool, data, model, heads, calibration and settings.

use super::record::Provenance;

/// Settings that name what happened to one record, not to the run.
const OF_ONE_RECORD: [&str; 3] = ["generated_by", "generated_from", "generation"];

/// The first difference that keeps lines of `left` and `right` apart, in words that follow "the";
/// `None` where they belong to one run. How an answer was generated is compared only where both were.
#[must_use]
pub fn difference(left: &Provenance, right: &Provenance) -> Option<String> {
    let shown = |value: Option<&str>| match value {
        Some(value) => format!("{value:?}"),
        None => "nothing".to_owned(),
    };
    let text = |field: &Option<String>| field.clone();
    let fields = [
        ("tool version", Some(left.tool.clone()), Some(right.tool.clone())),
        ("data hash", text(&left.data_hash), text(&right.data_hash)),
        ("data name", text(&left.data), text(&right.data)),
        ("model hash", text(&left.model_hash), text(&right.model_hash)),
        ("model name", text(&left.model), text(&right.model)),
        ("head hash", text(&left.head_hash), text(&right.head_hash)),
        ("calibration hash", text(&left.calibration_hash), text(&right.calibration_hash)),
    ];
    for (name, one, other) in fields {
        if one != other {
            return Some(format!("{name} is {} and {}", shown(one.as_deref()), shown(other.as_deref())));
        }
    }
    let mut names: Vec<&String> = left.settings.keys().chain(right.settings.keys()).collect();
    names.sort();
    names.dedup();
    names.into_iter().find_map(|name| {
        let (one, other) = (left.settings.get(name), right.settings.get(name));
        let of_one_record = OF_ONE_RECORD.contains(&name.as_str());
        let apart = if of_one_record {
            name != "generated_from" && one.is_some() && other.is_some() && one != other
        } else {
            one != other
        };
        apart.then(|| {
            let (one, other) = (one.map(String::as_str), other.map(String::as_str));
            format!("setting {name:?} is {} and {}", shown(one), shown(other))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named_with_both_values() {
        let one = Provenance { model_hash: Some("aa".to_owned()), ..Provenance::default() };
        assert_eq!(difference(&one, &one), None);
        let other = Provenance { model_hash: None, ..one.clone() };
        assert_eq!(difference(&one, &other).as_deref(), Some("model hash is \"aa\" and nothing"));
    }

    #[test]
    fn settings_of_one_record_do_not_keep_lines_apart_but_another_generation_does() {
        let with = |name: &str, value: &str| Provenance {
            settings: [(name.to_owned(), value.to_owned())].into(),
            ..Provenance::default()
        };
        assert_eq!(difference(&with("generation", "greedy"), &Provenance::default()), None);
        assert_eq!(difference(&with("generated_from", "a"), &with("generated_from", "b")), None);
        assert!(difference(&with("generation", "greedy"), &with("generation", "sampled")).is_some());
        assert!(difference(&with("top_k", "5"), &Provenance::default()).is_some());
    }
}
