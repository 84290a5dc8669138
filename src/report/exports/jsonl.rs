//! One JSON line an example.

use crate::report::Report;
use crate::text::escaped_json;

/// [`ExampleReport`](crate::report::ExampleReport)s, one a line, in order.
#[must_use]
pub fn jsonl(report: &Report) -> String {
    // Every map key is a string, so writing into memory cannot fail.
    let line = |example| serde_json::to_string(example).unwrap_or_default();
    report.examples.iter().map(|example| escaped_json(&line(example)).into_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ExampleReport;
    use crate::report::exports::small_report::report;

    #[test]
    fn every_line_is_one_example_of_the_report() {
        let report = report();
        let lines = jsonl(&report);
        let read: Vec<ExampleReport> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read, report.examples);
    }
}
