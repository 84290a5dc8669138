//! `ragscope schema`: JSON Schemas of what ragscope writes.

use clap::Args;

use crate::evidence::{Evidence, Thresholds};
use crate::report::{ExampleReport, Report};

use super::{Outcome, output};

/// Options of `ragscope schema`.
#[derive(Debug, Args)]
pub struct SchemaArguments {
    /// Which schema: evidence (one JSON line an example), report (`report --format json`), example (one line of
    /// `report --format jsonl`) or thresholds
    #[arg(value_parser = ["evidence", "report", "example", "thresholds"], default_value = "evidence")]
    what: String,
}

/// Prints the schema.
pub fn run(arguments: &SchemaArguments) -> Outcome {
    let schema = match arguments.what.as_str() {
        "thresholds" => schemars::schema_for!(Thresholds),
        "report" => schemars::schema_for!(Report),
        "example" => schemars::schema_for!(ExampleReport),
        _ => schemars::schema_for!(Evidence),
    };
    output::print_json(&schema)
}
