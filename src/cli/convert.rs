//! `ragscope convert`: any data set as ragscope's own JSONL.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::data::Row;
use crate::data::formats::own_writer::{write_document, write_line};

use super::data_set::{DataArguments, Opened};
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
    let opened = arguments.data.open_rows()?;
    let out = &arguments.output;
    let wants_folder = out.is_dir() || out.as_os_str().to_string_lossy().ends_with('/');
    if out == Path::new("-") {
        return write_standard_output(&opened);
    }
    let force = arguments.force;
    if wants_folder {
        output::make_folder(out)?;
        write(&opened, &out.join("examples.jsonl"), force)?;
        if let Opened::Whole(dataset) = &opened
            && !dataset.documents.is_empty()
        {
            output::write_new_with(&out.join("documents.jsonl"), force, &|out| {
                dataset
                    .documents
                    .iter()
                    .try_for_each(|document| writeln!(out, "{}", write_document(document)))
            })?;
        }
    } else {
        write(&opened, out, force)?;
    }
    output::tell(&summary(&opened, wants_folder));
    Ok(())
}

fn write(opened: &Opened, path: &Path, force: bool) -> Outcome {
    output::write_new_with(path, force, &|out| write_examples(opened, out))
}

fn write_standard_output(opened: &Opened) -> Outcome {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write_examples(opened, &mut out).and_then(|()| out.flush()) {
        // Nobody reads any more (`| head`): a quiet end.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
        Err(error) => {
            return Err(Failure::input_message(format!("cannot write to standard output: {error}")));
        }
        Ok(()) => {}
    }
    output::tell(&summary(opened, false));
    Ok(())
}

/// One line an example, each written as it is read.
fn write_examples(opened: &Opened, out: &mut dyn Write) -> io::Result<()> {
    match opened {
        Opened::Whole(dataset) => {
            dataset.examples().try_for_each(|example| writeln!(out, "{}", write_line(example)))
        }
        Opened::Stream(stream) => {
            for row in stream.rows().map_err(io::Error::other)? {
                if let Row::Example(example) = row.map_err(io::Error::other)? {
                    writeln!(out, "{}", write_line(&example))?;
                }
            }
            Ok(())
        }
    }
}

fn summary(opened: &Opened, with_documents: bool) -> String {
    let (rows, bad, documents, notices) = match opened {
        Opened::Whole(dataset) => {
            (dataset.rows.len(), dataset.bad_rows().count(), dataset.documents.len(), &dataset.notices)
        }
        Opened::Stream(stream) => (stream.rows, stream.bad, 0, &stream.notices),
    };
    let examples = rows - bad;
    let notices: usize = notices.iter().map(|notice| notice.count).sum();
    let kept = match (documents, with_documents) {
        (0, _) => String::new(),
        (_, true) => format!(", {documents} documents"),
        (_, false) => format!("; its {documents} documents were not: name a folder, `-o OUT/`, to keep them"),
    };
    format!("{examples} examples written, {bad} records unusable, {notices} warnings{kept}")
}
