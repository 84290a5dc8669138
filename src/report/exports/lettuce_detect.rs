//! Predictions as `LettuceDetect` writes them.

use serde_json::json;

use crate::report::Report;
use crate::text::escaped_json;

/// A JSON list with one object a scored example: `answer`, and `predictions` of `start`, `end` (code points), `text`,
/// `confidence` (the highest smoothed score inside).
#[must_use]
pub fn lettuce_detect(report: &Report) -> String {
    let scored = report.examples.iter().filter(|example| example.flagged.is_some());
    let one = |example: &crate::report::ExampleReport| {
        let predictions: Vec<serde_json::Value> = example
            .spans
            .iter()
            .filter_map(|span| {
                let [start, end] = span.code_points?;
                Some(json!({"start": start, "end": end, "text": span.text, "confidence": span.score}))
            })
            .collect();
        json!({
            "id": example.id,
            "question": example.question,
            "context": example.chunks.iter().map(|chunk| &chunk.text).collect::<Vec<_>>(),
            "answer": example.answer,
            "predictions": predictions,
        })
    };
    let all: Vec<serde_json::Value> = scored.map(one).collect();
    let text = serde_json::to_string_pretty(&all).unwrap_or_default();
    escaped_json(&text).into_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::exports::small_report::report;

    #[test]
    fn predictions_are_in_code_points_and_show_their_text() {
        let all: serde_json::Value = serde_json::from_str(&lettuce_detect(&report())).unwrap();
        assert_eq!(all.as_array().unwrap().len(), 1);
        let prediction = &all[0]["predictions"][0];
        let answer: Vec<char> = all[0]["answer"].as_str().unwrap().chars().collect();
        let range =
            prediction["start"].as_u64().unwrap() as usize..prediction["end"].as_u64().unwrap() as usize;
        assert_eq!(answer[range].iter().collect::<String>(), prediction["text"].as_str().unwrap());
    }
}
