//! JSON compared value by value, each difference named by its path.

use serde_json::Value;

use super::Difference;

/// Compares two JSON texts; what is no JSON is compared as text.
pub(super) fn compare_text(place: &str, stated: &str, found: &str, out: &mut Vec<Difference>) {
    match (serde_json::from_str::<Value>(stated), serde_json::from_str::<Value>(found)) {
        (Ok(stated), Ok(found)) => compare(place, Some(&stated), Some(&found), out),
        _ if stated == found => {}
        _ => out.push(Difference::new(place, Some(stated), Some(found))),
    }
}

fn compare(place: &str, stated: Option<&Value>, found: Option<&Value>, out: &mut Vec<Difference>) {
    match (stated, found) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            for (name, value) in right {
                compare(&join(place, name), left.get(name), Some(value), out);
            }
            for (name, value) in left.iter().filter(|(name, _)| !right.contains_key(*name)) {
                compare(&join(place, name), Some(value), None, out);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for at in 0..left.len().max(right.len()) {
                let (one, other) = (left.get(at), right.get(at));
                let id = other.or(one).and_then(|value| value.get("id")).and_then(Value::as_str);
                let place = match id {
                    Some(id) => format!("{place}[{at}] (id {id})"),
                    None => format!("{place}[{at}]"),
                };
                compare(&place, one, other, out);
            }
        }
        (one, other) if one == other => {}
        (one, other) => {
            let text = |value: Option<&Value>| value.map(Value::to_string);
            out.push(Difference::new(place, text(one).as_deref(), text(other).as_deref()));
        }
    }
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(stated: &str, found: &str) -> Vec<String> {
        let mut out = Vec::new();
        compare_text("", stated, found, &mut out);
        out.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_difference_is_named_by_its_path_and_the_id_on_it() {
        let stated = r#"{"a":[{"id":"q1","spans":[[0,4]],"extra":1},{"id":"q2"}],"n":1}"#;
        let found = r#"{"a":[{"id":"q1","spans":[[0,5]],"gone":"x"}],"n":1.0}"#;
        assert_eq!(
            differences(stated, found),
            [
                "a[0] (id q1).spans[0][1]: the report says 4, the evidence gives 5",
                "a[0] (id q1).gone: the report says nothing, the evidence gives \"x\"",
                "a[0] (id q1).extra: the report says 1, the evidence gives nothing",
                "a[1] (id q2): the report says {\"id\":\"q2\"}, the evidence gives nothing",
                "n: the report says 1, the evidence gives 1.0",
            ]
        );
        assert!(differences(stated, stated).is_empty());
    }

    #[test]
    fn a_difference_is_one_short_line_that_acts_on_nothing() {
        let long = format!(r#"{{"a":"\u001b[2J{}"}}"#, "x".repeat(1000));
        let shown = differences(&long, r#"{"a":null}"#);
        assert!(shown[0].len() < 300 && shown[0].contains("characters]"), "{}", shown[0]);
        assert!(!shown[0].contains('\u{1b}'));
    }
}
