//! `ragscope schema`: the JSON Schema of evidence records.

use clap::Args;

use crate::evidence::{Evidence, Thresholds};

use super::{Outcome, output};

/// Options of `ragscope schema`.
#[derive(Debug, Args)]
pub struct SchemaArguments {
    /// Which schema: that of evidence records (one JSON line an example) or of thresholds
    #[arg(value_parser = ["evidence", "thresholds"], default_value = "evidence")]
    what: String,
}

/// Prints the schema.
pub fn run(arguments: &SchemaArguments) -> Outcome {
    let schema = match arguments.what.as_str() {
        "thresholds" => schemars::schema_for!(Thresholds),
        _ => schemars::schema_for!(Evidence),
    };
    output::print_json(&schema)
}
