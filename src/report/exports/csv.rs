//! A table for spreadsheets. No cell can start a formula.

use crate::report::Report;

use super::row::{COLUMNS, Cell, cells};

/// One header line and one row an example, RFC 4180. An absent value is an empty cell.
///
/// A text that a spreadsheet would take for a formula (it begins with `=`, `+`, `-`, `@`, a tab or a carriage
/// return) gets an apostrophe before it, as spreadsheets themselves mark text.
#[must_use]
pub fn csv(report: &Report) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    // Writing into memory cannot fail, and every row has as many cells as the header.
    let _ = writer.write_record(COLUMNS);
    for example in &report.examples {
        let _ = writer.write_record(cells(example).iter().map(shown));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.as_deref().map(formula_safe).unwrap_or_default(),
        Cell::Integer(number) => number.map(|number| number.to_string()).unwrap_or_default(),
        Cell::Number(number) => number.map(|number| number.to_string()).unwrap_or_default(),
        Cell::Flag(flag) => flag.map(|flag| flag.to_string()).unwrap_or_default(),
    }
}

fn formula_safe(text: &str) -> String {
    let starts_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']);
    if starts_formula { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::exports::small_report::{report, report_of};

    #[test]
    fn a_cell_never_starts_a_formula_and_line_breaks_stay_inside_their_cell() {
        for attack in ["=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\t=1", "\r=1", "＝1"] {
            let text = csv(&report_of(attack, "an answer"));
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let row = reader.records().next().unwrap().unwrap();
            assert_eq!(row[4], format!("'{attack}"));
        }
        let text = csv(&report_of("two\nlines, \"quoted\"", "an answer"));
        let row = ::csv::Reader::from_reader(text.as_bytes()).records().next().unwrap().unwrap();
        assert_eq!(&row[4], "two\nlines, \"quoted\"");
    }

    #[test]
    fn what_is_absent_is_an_empty_cell_with_its_reason_beside_it() {
        let text = csv(&report());
        let rows: Vec<::csv::StringRecord> =
            ::csv::Reader::from_reader(text.as_bytes()).records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0][6], &rows[0][9], &rows[0][11]), ("true", "1", "3"));
        assert_eq!((&rows[1][6], &rows[1][7]), ("", "the record has no answer"));
        let spans: serde_json::Value = serde_json::from_str(&rows[0][17]).unwrap();
        assert_eq!((spans[0]["start"].as_u64(), spans[0]["text"].as_str()), (Some(2), Some("wrong")));
    }
}
