//! `ragscope corrupt`: labelled answers made from a data set of grounded ones.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::data::corruption::{Corruption, corrupt};
use crate::data::formats::own_writer::write_line;
use crate::metrics::Random;

use super::data_set::DataArguments;
use super::{Failure, Outcome, output};

/// Options of `ragscope corrupt`.
#[derive(Debug, Args)]
pub struct CorruptArguments {
    #[command(flatten)]
    data: DataArguments,
    /// The file for clean and corrupted copies, ragscope's own JSONL; `-`: standard output
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Seed of what is exchanged for what
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Most records to make copies of, in their order
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Replace what exists
    #[arg(long)]
    force: bool,
}

/// Makes the copies, writes them, and says on standard error what was exchanged and what was left out.
pub fn run(arguments: &CorruptArguments) -> Outcome {
    let dataset = arguments.data.open()?;
    let made = corrupt(&dataset, arguments.limit, |row| {
        let mut random = Random::for_task(arguments.seed, row);
        move |n| random.below(n)
    });
    if made.examples.is_empty() {
        return Err(Failure::input_message(format!(
            "{}: no record can be corrupted ({}); it takes answers or references of eight words or more with their \
             passages or source documents, and more than one such record",
            dataset.name,
            counts(&made.left_out)
        )));
    }
    let lines: String = made.examples.iter().map(|example| write_line(example) + "\n").collect();
    if arguments.output == Path::new("-") {
        output::print(&lines)?;
    } else {
        output::write_new(&arguments.output, lines.as_bytes(), arguments.force)?;
    }
    output::tell(&summary(&made));
    Ok(())
}

fn summary(made: &Corruption) -> String {
    let pairs = made.examples.len() / 2;
    format!(
        "{pairs} clean and {pairs} corrupted copies written; exchanged: {}; left out: {}",
        counts(&made.replaced),
        counts(&made.left_out)
    )
}

fn counts(counts: &std::collections::BTreeMap<&'static str, usize>) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}
