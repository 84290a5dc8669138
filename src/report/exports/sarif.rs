//! SARIF 2.1.0, which code scanning of continuous integration shows beside a change.

use serde_json::{Value, json};

use crate::evidence::Status;
use crate::report::Report;
use crate::text::escaped_json;

/// One result for each flagged span (`warning`), and one for each record that could not be used (`error`).
///
/// `file` is the run of evidence, as a relative URI; a result points at the line of its record.
#[must_use]
pub fn sarif(report: &Report, file: &str) -> String {
    let mut results: Vec<Value> = Vec::new();
    for (line, example) in report.examples.iter().enumerate() {
        let location = json!([{ "physicalLocation": {
            "artifactLocation": { "uri": file },
            "region": { "startLine": line + 1 } } }]);
        for span in &example.spans {
            let text = span.text.as_deref().unwrap_or_default();
            let score = span.score.map_or_else(String::new, |score| format!(" (score {score:.3})"));
            results.push(json!({
                "ruleId": "unsupported-span",
                "level": "warning",
                "message": { "text": format!("record {}: no reference supports \"{text}\"{score}", example.id) },
                "locations": location,
                "partialFingerprints": { "record/span": format!("{}/{}-{}", example.id, span.start, span.end) },
            }));
        }
        if example.status == Status::Error {
            let reason = example.reason.as_deref().unwrap_or("no reason is on record");
            results.push(json!({
                "ruleId": "unusable-record",
                "level": "error",
                "message": { "text": format!("record {}: {reason}", example.id) },
                "locations": location,
            }));
        }
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "ragscope",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": [
                    { "id": "unsupported-span",
                      "shortDescription": { "text": "words of an answer that no reference supports" } },
                    { "id": "unusable-record",
                      "shortDescription": { "text": "a record that could not be inspected" } },
                ] } },
            "results": results,
            "properties": {
                "thresholds": report.thresholds,
                "provenance": report.provenance,
                "context": report.context,
            },
        }],
    });
    escaped_json(&serde_json::to_string_pretty(&log).unwrap_or_default()).into_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::exports::small_report::report;

    #[test]
    fn a_flagged_span_is_a_warning_at_the_line_of_its_record() {
        let log: Value = serde_json::from_str(&sarif(&report(), "run.jsonl")).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), 1);
        assert_eq!(
            (&results[0]["ruleId"], &results[0]["level"]),
            (&json!("unsupported-span"), &json!("warning"))
        );
        let place = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!(
            (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
            (&json!("run.jsonl"), &json!(1))
        );
        assert!(results[0]["message"]["text"].as_str().unwrap().contains("\"wrong\""));
    }
}
