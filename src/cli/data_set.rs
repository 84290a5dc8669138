//! A data set named on the command line, with what the user says about its layout.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::data::{BadRow, Dataset, DatasetStream, FieldMap, Format, Notice, OffsetUnit, OpenOptions};

use super::{Failure, Outcome, log, output};

/// Options of every command that reads a data set.
#[derive(Debug, Clone, Args)]
pub struct DataArguments {
    /// A data set: a file, or a folder of a layout of two files
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    #[command(flatten)]
    pub layout: LayoutArguments,
}

/// What the user says about the layout.
#[derive(Debug, Clone, Default, Args)]
pub struct LayoutArguments {
    /// Read it as this format instead of the detected one; an unknown name lists them all
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Where fields are found, for example question=q,contexts=context_*,answer=a
    #[arg(long, value_name = "FIELD=KEY,...")]
    pub map: Option<String>,
    /// Unit of label offsets: codepoint, byte or utf16
    #[arg(long, value_name = "UNIT")]
    pub offset_unit: Option<String>,
}

impl LayoutArguments {
    /// As the data room takes it.
    pub fn options(&self) -> Outcome<OpenOptions> {
        let usage = |error: crate::data::DataError| Failure::Usage(error.to_string());
        Ok(OpenOptions {
            format: self.format.as_deref().map(str::parse::<Format>).transpose().map_err(usage)?,
            map: self
                .map
                .as_deref()
                .map(str::parse::<FieldMap>)
                .transpose()
                .map_err(usage)?
                .unwrap_or_default(),
            offset_unit: self
                .offset_unit
                .as_deref()
                .map(str::parse::<OffsetUnit>)
                .transpose()
                .map_err(usage)?,
        })
    }
}

impl DataArguments {
    /// A further data set of a command, in a layout that is recognised.
    pub fn of(path: &Path) -> Self {
        Self { data: path.to_owned(), layout: LayoutArguments::default() }
    }

    /// Opens it row by row where it is too large to be held and can be read so.
    pub fn open_rows(&self) -> Outcome<Opened> {
        match DatasetStream::open(&self.data, &self.layout.options()?).map_err(Failure::input)? {
            None => Ok(Opened::Whole(self.open()?)),
            Some(stream) => {
                log::told(
                    log::Level::Info,
                    format!(
                        "opened {} row by row: {} records, {}, hash {}",
                        self.data.display(),
                        stream.rows,
                        stream.format,
                        stream.hash
                    ),
                );
                for line in described_stream(&stream) {
                    output::tell(&line);
                }
                Ok(Opened::Stream(stream))
            }
        }
    }

    /// Opens it and says on standard error what was found.
    pub fn open(&self) -> Outcome<Dataset> {
        let dataset = Dataset::open(&self.data, &self.layout.options()?).map_err(Failure::input)?;
        log::told(
            log::Level::Info,
            format!(
                "opened {}: {} records, {} documents, {}, hash {}",
                self.data.display(),
                dataset.rows.len(),
                dataset.documents.len(),
                dataset.format,
                dataset.hash
            ),
        );
        for line in describe(&dataset) {
            output::tell(&line);
        }
        Ok(dataset)
    }
}

/// A data set as it can be read.
pub enum Opened {
    Whole(Dataset),
    Stream(DatasetStream),
}

/// What was found, one line each: format, counts, notices.
#[must_use]
pub fn describe(dataset: &Dataset) -> Vec<String> {
    let bad = dataset.bad_rows().count();
    let counts = counts(dataset.rows.len(), bad, dataset.documents.len());
    let recognised = format!("read as {} because {}", dataset.format, dataset.because);
    let first = dataset.bad_rows().take(SHOWN_BAD);
    described(&format!("{}: {counts}; {recognised}", dataset.name), &dataset.notices, bad, first)
}

fn described_stream(stream: &DatasetStream) -> Vec<String> {
    let counts = counts(stream.rows, stream.bad, 0);
    let recognised = format!("read row by row as {} because {}", stream.format, stream.because);
    let first = stream.first_bad.iter().take(SHOWN_BAD);
    described(&format!("{}: {counts}; {recognised}", stream.name), &stream.notices, stream.bad, first)
}

/// Unusable records that are told one by one.
const SHOWN_BAD: usize = 5;

fn counts(rows: usize, bad: usize, documents: usize) -> String {
    let unusable = if bad == 0 { String::new() } else { format!(" ({bad} unusable)") };
    format!("{rows} records{unusable}, {documents} documents")
}

fn described<'b>(
    first: &str,
    notices: &[Notice],
    bad: usize,
    shown: impl Iterator<Item = &'b BadRow>,
) -> Vec<String> {
    let mut lines = vec![format!("{first} (override with --format)")];
    lines.extend(notices.iter().map(|notice| format!("note: {notice}")));
    lines.extend(shown.map(|bad| format!("note: {bad}")));
    if bad > SHOWN_BAD {
        lines.push(format!("note: {} more unusable records", bad - SHOWN_BAD));
    }
    lines
}
