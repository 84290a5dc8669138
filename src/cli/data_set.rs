//! A data set named on the command line, with what the user says about its layout.

use std::path::PathBuf;

use clap::Args;

use crate::data::{Dataset, FieldMap, Format, OffsetUnit, OpenOptions};

use super::{Failure, Outcome, output};

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
    /// Opens it and says on standard error what was found.
    pub fn open(&self) -> Outcome<Dataset> {
        let dataset = Dataset::open(&self.data, &self.layout.options()?).map_err(Failure::input)?;
        for line in describe(&dataset) {
            output::tell(&line);
        }
        Ok(dataset)
    }
}

/// What was found, one line each: format, counts, notices.
#[must_use]
pub fn describe(dataset: &Dataset) -> Vec<String> {
    let bad = dataset.bad_rows().count();
    let mut lines = vec![format!(
        "{}: {} records{}, {} documents; read as {} because {} (override with --format)",
        dataset.name,
        dataset.rows.len(),
        if bad == 0 { String::new() } else { format!(" ({bad} unusable)") },
        dataset.documents.len(),
        dataset.format,
        dataset.because,
    )];
    lines.extend(dataset.notices.iter().map(|notice| format!("note: {notice}")));
    lines.extend(dataset.bad_rows().take(5).map(|bad| format!("note: {bad}")));
    if bad > 5 {
        lines.push(format!("note: {} more unusable records", bad - 5));
    }
    lines
}
