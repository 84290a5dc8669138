//! Findings in the forms that other tools read. Each is a pure function of a [`Report`](super::Report).
//!
//! | face | for |
//! |---|---|
//! | [`csv`], [`parquet`] | one row an example: spreadsheets, data lakes |
//! | [`jsonl`] | one JSON line an example, all that the JSON report says of it |
//! | [`openinference`] | annotations for Phoenix and other viewers of traces |
//! | [`lettuce_detect`] | predictions as `LettuceDetect` writes them |
//! | [`sarif`] | code scanning: one result a flagged span |

mod csv;
mod jsonl;
mod lettuce_detect;
mod openinference;
mod parquet;
mod row;
mod sarif;
#[cfg(test)]
mod small_report;

pub use csv::csv;
pub use jsonl::jsonl;
pub use lettuce_detect::lettuce_detect;
pub use openinference::openinference;
pub use parquet::parquet;
pub use sarif::sarif;
