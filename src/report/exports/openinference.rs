//! Annotations of traces, as Phoenix and other viewers of OpenTelemetry take them back.

use serde_json::json;

use crate::report::Report;
use crate::text::escaped_json;

/// One annotation a line for each scored example, joined to its trace by `trace_id` (the id of the record).
///
/// `score` is the answer score in [0, 1], higher = less supported; `label` is `flagged` or `clean`; spans are in
/// `metadata`, in code points.
#[must_use]
pub fn openinference(report: &Report) -> String {
    let mut lines = String::new();
    // What every record says alike; settings are left to the run.
    let provenance: serde_json::Map<String, serde_json::Value> = report
        .provenance
        .iter()
        .filter(|field| !field.name.starts_with("setting "))
        .filter_map(|field| match field.values.as_slice() {
            [(value, _)] => Some((field.name.clone(), json!(value))),
            _ => None,
        })
        .collect();
    for example in &report.examples {
        let (Some(flagged), Some(score)) = (example.flagged, example.answer_score) else { continue };
        let spans = example.spans.iter().map(|span| {
            json!({"start": span.code_points.map(|p| p[0]), "end": span.code_points.map(|p| p[1]),
                   "text": span.text, "score": span.score})
        });
        let spans: Vec<serde_json::Value> = spans.collect();
        let explanation = match spans.len() {
            0 => "no span reaches the threshold".to_owned(),
            1 => "1 span has no support in the references".to_owned(),
            many => format!("{many} spans have no support in the references"),
        };
        let annotation = json!({
            "trace_id": example.id,
            "annotation.name": "ragscope.unsupported",
            "annotation.annotator_kind": "CODE",
            "annotation.label": if flagged { "flagged" } else { "clean" },
            "annotation.score": score,
            "annotation.explanation": explanation,
            "annotation.metadata": {
                "spans": spans, "offset_unit": "codepoint", "detector": example.detector,
                "generated_by": report.context.generated_by, "token_threshold": report.thresholds.token,
                "rho": report.thresholds.rho, "run": report.context.run, "provenance": provenance,
            },
        });
        lines.push_str(&escaped_json(&annotation.to_string()));
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::exports::small_report::report;

    #[test]
    fn a_scored_example_is_one_annotation_and_one_without_scores_is_none() {
        let lines = openinference(&report());
        let lines: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0]["annotation.label"], "flagged");
        assert_eq!(lines[0]["trace_id"], "é1");
        assert_eq!(lines[0]["annotation.metadata"]["spans"][0]["start"], 2);
    }
}
