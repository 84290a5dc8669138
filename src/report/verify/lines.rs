//! A page or a Markdown report compared line by line.

use super::Difference;
use super::stated::{DATA_BEGINS, page_data};
use super::values::compare_text;

/// Lines that are looked ahead to find where two texts meet again.
const AHEAD: usize = 40;
/// Characters shown before the first one that differs.
const BEFORE: usize = 30;

/// Compares `report` with `made`, which is what it should be.
pub(super) fn compare(report: &str, made: &str, out: &mut Vec<Difference>) {
    let stated: Vec<&str> = report.lines().collect();
    let found: Vec<&str> = made.lines().collect();
    let (mut left, mut right) = (0, 0);
    let mut example = None;
    while left < stated.len() || right < found.len() {
        let (one, other) = (stated.get(left).copied(), found.get(right).copied());
        if let Some(number) = other.and_then(example_of) {
            example = Some(number);
        }
        if one == other {
            left += 1;
            right += 1;
            continue;
        }
        let place = place(left, example);
        match (one, other) {
            (Some(one), Some(other)) if one.starts_with(DATA_BEGINS) && other.starts_with(DATA_BEGINS) => {
                let data = |line| page_data(line).unwrap_or_default().to_owned();
                compare_text(&format!("{place}, data"), &data(one), &data(other), out);
                (left, right) = (left + 1, right + 1);
            }
            _ if stated.get(left + 1) == found.get(right + 1) => {
                let (one, other) = apart(one, other);
                out.push(Difference::new(&place, one, other));
                (left, right) = (left + 1, right + 1);
            }
            _ => {
                // A line more or less must not make all that follow differ.
                let added = other.and_then(|other| position(&stated, left, other));
                let lost = one.and_then(|one| position(&found, right, one));
                match (added, lost) {
                    (Some(lines), _) if lost.is_none_or(|lost| lines <= lost) => {
                        out.push(Difference::new(&place, one, None));
                        left += lines;
                    }
                    (_, Some(lines)) => {
                        out.push(Difference::new(&place, None, other));
                        right += lines;
                    }
                    _ => {
                        let (one, other) = apart(one, other);
                        out.push(Difference::new(&place, one, other));
                        (left, right) = (left + 1, right + 1);
                    }
                }
            }
        }
    }
    let endings = |text: &str| text.len() - text.lines().map(str::len).sum::<usize>();
    if out.is_empty() && report != made {
        let bytes = |text| format!("{} bytes at line ends", endings(text));
        out.push(Difference::new("line ends", Some(&bytes(report)), Some(&bytes(made))));
    }
}

fn position(lines: &[&str], from: usize, wanted: &str) -> Option<usize> {
    // Blank and closing lines occur everywhere: meeting at one says nothing.
    if wanted.len() < 8 {
        return None;
    }
    lines.iter().skip(from).take(AHEAD).position(|line| *line == wanted)
}

fn place(line: usize, example: Option<&str>) -> String {
    let line = line + 1;
    example.map_or_else(|| format!("line {line}"), |number| format!("line {line}, in example {number}"))
}

/// The number of the example that begins in this line.
fn example_of(line: &str) -> Option<&str> {
    let number =
        line.strip_prefix("<article id=\"e").and_then(|rest| rest.split('"').next()).or_else(|| {
            line.strip_prefix("## ").and_then(|rest| rest.split_once(". ")).map(|(number, _)| number)
        })?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
}

/// Both lines from a little before the first character that differs.
fn apart<'l>(one: Option<&'l str>, other: Option<&'l str>) -> (Option<&'l str>, Option<&'l str>) {
    let (Some(left), Some(right)) = (one, other) else { return (one, other) };
    let same = left.chars().zip(right.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(BEFORE);
    let tail = |text: &'l str| text.char_indices().nth(from).map_or("", |(at, _)| &text[at..]);
    (Some(tail(left)), Some(tail(right)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(report: &str, made: &str) -> Vec<String> {
        let mut out = Vec::new();
        compare(report, made, &mut out);
        out.iter().map(ToString::to_string).collect()
    }

    const MADE: &str =
        "# Title line\n\n## 1. q1\n\nOutcome: flagged.\n\nanother line here\n\n## 2. q2\n\nOutcome: clean.\n";

    #[test]
    fn a_changed_line_is_named_with_its_example_and_shown_from_where_it_differs() {
        let changed = MADE.replace("Outcome: flagged.", "Outcome: clean.");
        assert_eq!(
            differences(&changed, MADE),
            ["line 5, in example 1: the report says Outcome: clean., the evidence gives Outcome: flagged."]
        );
        assert!(differences(MADE, MADE).is_empty());
    }

    #[test]
    fn a_line_more_or_less_does_not_make_all_that_follows_differ() {
        let more = MADE.replace("another line here", "an inserted line\nanother line here");
        assert_eq!(
            differences(&more, MADE),
            ["line 7, in example 1: the report says an inserted line, the evidence gives nothing"]
        );
        let less = MADE.replace("another line here\n", "");
        assert!(differences(&less, MADE).len() <= 2, "{:?}", differences(&less, MADE));
    }

    #[test]
    fn other_line_ends_are_a_difference_too() {
        assert_eq!(differences(&MADE.replace('\n', "\r\n"), MADE).len(), 1);
    }
}
