//! One example as one row of a table.

use serde_json::json;

use crate::evidence::Status;
use crate::report::ExampleReport;

/// A cell; `None` where there is no value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(Option<String>),
    Integer(Option<i64>),
    Number(Option<f64>),
    Flag(Option<bool>),
}

/// Names of the columns, in order.
pub(super) const COLUMNS: [&str; 18] = [
    "id",
    "row",
    "status",
    "reason",
    "question",
    "answer",
    "flagged",
    "flagged_absent",
    "answer_score",
    "flagged_spans",
    "flagged_tokens",
    "tokens",
    "factuality",
    "consistent",
    "trusted_chunks",
    "certified_chunks",
    "chunks",
    "spans",
];

/// The cells of an example, one for each of [`COLUMNS`]. `spans` is a JSON list with offsets in code points.
pub(super) fn cells(example: &ExampleReport) -> [Cell; COLUMNS.len()] {
    let count = |count: usize| Cell::Integer(i64::try_from(count).ok());
    let text = |text: &str| Cell::Text(Some(text.to_owned()));
    let status = match example.status {
        Status::Ok => "ok",
        Status::Partial => "partial",
        Status::Error => "error",
    };
    let scored = example.flagged.is_some();
    let of_scored = |number: usize| if scored { count(number) } else { Cell::Integer(None) };
    let flagged_tokens =
        example.spans.iter().filter_map(|span| span.token_range).map(|[start, end]| end - start);
    let spans: Vec<serde_json::Value> = example
        .spans
        .iter()
        .map(|span| {
            json!({
                "start": span.code_points.map(|points| points[0]),
                "end": span.code_points.map(|points| points[1]),
                "text": span.text,
                "score": span.score,
            })
        })
        .collect();
    let certified = example.chunks.iter().filter(|chunk| chunk.trusted.is_some()).count();
    let trusted = example.chunks.iter().filter(|chunk| chunk.trusted == Some(true)).count();
    [
        text(&example.id),
        count(example.row),
        text(status),
        Cell::Text(example.reason.clone()),
        text(&example.question),
        Cell::Text(example.answer.clone()),
        Cell::Flag(example.flagged),
        Cell::Text(example.flagged_absent.clone()),
        Cell::Number(example.answer_score),
        of_scored(example.spans.len()),
        of_scored(flagged_tokens.sum()),
        of_scored(example.tokens.as_ref().map_or(0, Vec::len)),
        Cell::Number(example.factuality),
        Cell::Flag(example.consistent),
        if certified > 0 { count(trusted) } else { Cell::Integer(None) },
        count(certified),
        count(example.chunks.len()),
        if scored { Cell::Text(Some(serde_json::Value::Array(spans).to_string())) } else { Cell::Text(None) },
    ]
}
