//! `ragscope convert`: any data set as ragscope's own JSONL.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::data::Dataset;
use crate::data::formats::own_writer::{write_document, write_line};

use super::data_set::DataArguments;
use super::{Failure, Outcome, output};

/// Options of `ragscope convert`.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    #[command(flatten)]
    data: DataArguments,
    /// A file for the examples; a folder (or a name that ends in `/`) for examples and documents; `-`: standard output
    #[arg(long, short, value_name = "OUT", default_value = "-")]
    output: PathBuf,
    /// Replace what exists
    #[arg(long)]
    force: bool,
}

/// Reads, writes, and says on standard error what was read, what was left out, and what was written.
pub fn run(arguments: &ConvertArguments) -> Outcome {
    let dataset = arguments.data.open()?;
    let examples = lines(dataset.examples().map(write_line));
    let documents = lines(dataset.documents.iter().map(write_document));
    let out = &arguments.output;
    let wants_folder = out.is_dir() || out.as_os_str().to_string_lossy().ends_with('/');
    if out == Path::new("-") {
        output::print(&examples)?;
    } else if wants_folder {
        output::make_folder(out)?;
        output::write_new(&out.join("examples.jsonl"), examples.as_bytes(), arguments.force)?;
        if !documents.is_empty() {
            output::write_new(&out.join("documents.jsonl"), documents.as_bytes(), arguments.force)?;
        }
    } else {
        output::write_new(out, examples.as_bytes(), arguments.force)?;
    }
    output::tell(&summary(&dataset, wants_folder));
    Ok(())
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |all, line| all + &line + "\n")
}

fn summary(dataset: &Dataset, with_documents: bool) -> String {
    let (examples, bad) = (dataset.examples().count(), dataset.bad_rows().count());
    let notices: usize = dataset.notices.iter().map(|notice| notice.count).sum();
    let documents = dataset.documents.len();
    let kept = match (documents, with_documents) {
        (0, _) => String::new(),
        (_, true) => format!(", {documents} documents"),
        (_, false) => format!("; its {documents} documents were not: name a folder, `-o OUT/`, to keep them"),
    };
    format!("{examples} examples written, {bad} records unusable, {notices} warnings{kept}")
}
