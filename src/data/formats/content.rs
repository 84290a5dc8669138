//! What a file holds below its layout: lines of JSON, one JSON document, or a table.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{BufRead, Read};

use crate::data::error::{DataError, shown};
use crate::data::json::{Json, Object, Tolerated, parse};
use crate::data::notice::Notices;
use crate::data::source_file::{Container, SourceFile, invalid_byte, without_compression};
use crate::data::{parquet_file, sqlite_file};

use super::jsonl::Records;

/// The container of a file.
#[derive(Debug)]
pub(crate) enum Content {
    /// One JSON value a line.
    Lines,
    /// One JSON value.
    Document(Json, Tolerated),
    /// Comma-separated values, or another delimiter.
    Table { delimiter: u8 },
    /// Rows of a container that is no text.
    Rows { kind: &'static str, rows: Vec<Result<Object, String>> },
}

/// One record, whatever the container.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SourceRow {
    pub(crate) row: usize,
    /// Line of the file, from 1, where there are lines.
    pub(crate) line: Option<usize>,
    pub(crate) fields: Result<Object, String>,
}

impl Content {
    /// Looks at the name and the first bytes of `file`, and no further than it must.
    pub(crate) fn sniff(file: &SourceFile) -> Result<Self, DataError> {
        match file.container {
            Container::Text => {}
            Container::Parquet => return Ok(Self::Rows { kind: "Parquet", rows: parquet_file::rows(file)? }),
            Container::Sqlite => {
                let rows = sqlite_file::rows(file)?.into_iter().map(Ok).collect();
                return Ok(Self::Rows { kind: "a table of SQLite", rows });
            }
        }
        let extension = extension(file);
        let first = file.bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace());
        match (extension.as_str(), first) {
            // Whole documents go by this name too: lists above all.
            ("jsonl" | "ndjson", Some(b'[')) => Self::document(file).or(Ok(Self::Lines)),
            ("jsonl" | "ndjson", Some(b'{')) => Self::lines_or_document(file).or(Ok(Self::Lines)),
            ("jsonl" | "ndjson", _) => Ok(Self::Lines),
            ("csv" | "tsv", first) if first != Some(b'[') => Ok(Self::table(file)),
            (_, Some(b'{')) => Self::lines_or_document(file),
            ("json", _) | (_, Some(b'[')) => Self::document(file),
            _ => Ok(Self::table(file)),
        }
    }

    fn document(file: &SourceFile) -> Result<Self, DataError> {
        let text = file.text()?;
        let (json, tolerated) = parse(text).map_err(|error| DataError::UnknownLayout {
            path: file.shown.clone(),
            expected: "JSON".to_owned(),
            found: format!("text that is none: {}", error.in_text(text)),
            next: "repair that place; one record a line belongs in a file named .jsonl".to_owned(),
        })?;
        Ok(Self::Document(of_data_frame(json), tolerated))
    }

    /// A file that begins with `{`: lines when its first line, or else its second, is a whole record.
    fn lines_or_document(file: &SourceFile) -> Result<Self, DataError> {
        let mut records = Records::new(file.bytes.as_slice(), file.shown.as_str());
        let mut whole = |what: fn(&Object) -> bool| {
            let record = records.next()?.ok()?;
            object(&record.content.ok()?).ok().map(|(fields, _)| what(&fields))
        };
        // A SQuAD file without line breaks is one line and no record.
        if let Some(is_record) = whole(|fields| fields.list("data").is_none()) {
            return if is_record { Ok(Self::Lines) } else { Self::document(file) };
        }
        match Self::document(file) {
            Err(_) if whole(|_| true).is_some() => Ok(Self::Lines),
            read => read,
        }
    }

    fn table(file: &SourceFile) -> Self {
        let header = file.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let count = |delimiter: u8| {
            let mut quoted = false;
            header
                .iter()
                .filter(|byte| {
                    quoted ^= **byte == b'"';
                    !quoted && **byte == delimiter
                })
                .count()
        };
        let mut delimiter = if extension(file) == "tsv" { b'\t' } else { b',' };
        for other in [b',', b'\t', b';'] {
            if count(other) > count(delimiter) {
                delimiter = other;
            }
        }
        Self::Table { delimiter }
    }

    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Lines => "JSON lines",
            Self::Document(Json::List(_), _) => "a JSON list",
            Self::Document(..) => "a JSON document",
            Self::Table { delimiter: b',' } => "comma-separated values",
            Self::Table { .. } => "separated values",
            Self::Rows { kind, .. } => kind,
        }
    }

    /// The first `most` records, with why the first unreadable one is unreadable.
    pub(crate) fn sample(
        &self,
        file: &SourceFile,
        most: usize,
    ) -> Result<(Vec<Cow<'_, Object>>, Option<String>), DataError> {
        let mut sample = Vec::new();
        let mut problem = None;
        let mut take = |fields: Result<Cow<'_, Object>, String>, line: Option<usize>| match fields {
            Ok(fields) => sample.push(Cow::Owned(fields.into_owned())),
            Err(reason) if problem.is_none() => {
                problem = Some(line.map_or(reason.clone(), |line| format!("line {line}: {reason}")));
            }
            Err(_) => {}
        };
        match self {
            Self::Lines => {
                for record in Records::new(file.bytes.as_slice(), file.shown.as_str()).take(most) {
                    let record = record?;
                    let fields =
                        record.content.and_then(|line| object(&line)).map(|(fields, _)| Cow::Owned(fields));
                    take(fields, Some(record.line));
                }
            }
            Self::Table { delimiter } => {
                let mut rows = table(file, *delimiter, &mut Notices::default())?;
                for _ in 0..most {
                    let Some(row) = rows.next(&mut Notices::default()) else { break };
                    let row = row?;
                    take(row.fields.map(Cow::Owned), row.line);
                }
            }
            Self::Rows { rows, .. } => {
                for row in rows.iter().take(most) {
                    take(row.clone().map(Cow::Owned), None);
                }
            }
            Self::Document(Json::Object(fields), _) => return Ok((vec![Cow::Borrowed(fields)], None)),
            Self::Document(Json::List(items), _) => {
                let objects = items.iter().take(most).filter_map(Json::object).map(Cow::Borrowed).collect();
                return Ok((objects, None));
            }
            Self::Document(other, _) => {
                problem = Some(format!("a JSON document that is {} alone", other.kind()));
            }
        }
        Ok((sample, problem))
    }

    /// Every record.
    pub(crate) fn rows(&self, file: &SourceFile, notices: &mut Notices) -> Result<Vec<SourceRow>, DataError> {
        match self {
            Self::Lines => lines(file, notices),
            Self::Table { delimiter } => {
                let mut rows = table(file, *delimiter, notices)?;
                std::iter::from_fn(|| rows.next(notices)).collect()
            }
            Self::Rows { rows, .. } => {
                let row = |(row, fields): (usize, &Result<Object, String>)| SourceRow {
                    row,
                    line: None,
                    fields: fields.clone(),
                };
                Ok(rows.iter().enumerate().map(row).collect())
            }
            Self::Document(json, tolerated) => {
                tolerated.tell(None, notices);
                let items = match json {
                    Json::List(items) => items.as_slice(),
                    one => std::slice::from_ref(one),
                };
                let row = |(row, item): (usize, &Json)| {
                    let fields = item.object().cloned();
                    let fields = fields.ok_or_else(|| format!("expected an object, found {}", item.kind()));
                    SourceRow { row, line: None, fields }
                };
                Ok(items.iter().enumerate().map(row).collect())
            }
        }
    }
}

fn extension(file: &SourceFile) -> String {
    let name =
        file.path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    without_compression(&name).rsplit_once('.').map_or(String::new(), |(_, extension)| extension.to_owned())
}

/// Records of a data frame that pandas wrote by columns, split, or as a table; anything else as it is.
fn of_data_frame(json: Json) -> Json {
    let Json::Object(frame) = &json else { return json };
    if let (Some(columns), Some(data)) = (frame.list("columns"), frame.list("data")) {
        let names: Option<Vec<&str>> = columns.iter().map(Json::scalar).collect();
        let rows = names.and_then(|names| {
            let row = |row: &Json| {
                let cells = row.list().filter(|cells| cells.len() == names.len())?;
                let fields = names.iter().map(|name| (*name).to_owned()).zip(cells.iter().cloned());
                Some(Json::Object(Object::new(fields.collect()).0))
            };
            data.iter().map(row).collect::<Option<Vec<Json>>>()
        });
        return rows.map_or(json, Json::List);
    }
    if frame.get("schema").and_then(Json::object).is_some_and(|schema| schema.has("fields"))
        && let Some(data) = frame.list("data")
    {
        return Json::List(data.to_vec());
    }
    by_columns(frame).map_or(json, Json::List)
}

/// Rows of `{"question": {"0": ...}, ...}`: every value an object with the same numbered places.
fn by_columns(frame: &Object) -> Option<Vec<Json>> {
    let columns: Vec<(&str, &Object)> =
        frame.iter().map(|(name, value)| Some((name, value.object()?))).collect::<Option<_>>()?;
    let (_, first) = columns.first()?;
    let places: Vec<&str> = first.names().collect();
    let numbered = !places.is_empty() && places.iter().all(|place| place.parse::<u64>().is_ok());
    let alike = columns.iter().all(|(_, column)| column.names().eq(places.iter().copied()));
    (numbered && alike).then(|| {
        let row = |place: &&str| {
            let cell = |(name, column): &(&str, &Object)| {
                Some(((*name).to_owned(), column.get(place).cloned().unwrap_or(Json::Null)))
            };
            Json::Object(Object::new(columns.iter().filter_map(cell).collect()).0)
        };
        places.iter().map(row).collect()
    })
}

/// Every line of a file as an object.
pub(crate) fn lines(file: &SourceFile, notices: &mut Notices) -> Result<Vec<SourceRow>, DataError> {
    let mut rows = RowReader::lines(file.bytes.as_slice(), &file.shown);
    std::iter::from_fn(|| rows.next(notices)).collect()
}

/// The records of lines or of a table, one after the other, from memory or from a disk.
pub(crate) enum RowReader<R> {
    Lines(Records<R>),
    Table { columns: Vec<String>, records: csv::ByteRecordsIntoIter<R>, row: usize },
    Parquet { rows: parquet_file::Rows, row: usize },
}

impl<R: BufRead> RowReader<R> {
    /// `name` stands in messages.
    pub(crate) fn lines(reader: R, name: &str) -> Self {
        Self::Lines(Records::new(reader, name))
    }

    /// Reads the footer.
    pub(crate) fn parquet(file: &SourceFile) -> Result<Self, DataError> {
        Ok(Self::Parquet { rows: parquet_file::Rows::open(file)?, row: 0 })
    }

    /// Reads the header.
    pub(crate) fn table(
        reader: R,
        delimiter: u8,
        name: &str,
        notices: &mut Notices,
    ) -> Result<Self, DataError> {
        let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(reader);
        let columns = columns(&mut reader, name, notices)?;
        Ok(Self::Table { columns, records: reader.into_byte_records(), row: 0 })
    }

    /// The next record, with what had to be tolerated in it told.
    pub(crate) fn next(&mut self, notices: &mut Notices) -> Option<Result<SourceRow, DataError>> {
        match self {
            Self::Lines(records) => {
                let record = match records.next()? {
                    Ok(record) => record,
                    Err(error) => return Some(Err(error)),
                };
                let fields = record.content.and_then(|line| object(&line)).map(|(fields, tolerated)| {
                    tolerated.tell(Some(record.row), notices);
                    fields
                });
                Some(Ok(SourceRow { row: record.row, line: Some(record.line), fields }))
            }
            Self::Parquet { rows, row } => {
                let number = *row;
                *row += 1;
                Some(rows.next()?.map(|fields| SourceRow { row: number, line: None, fields }))
            }
            Self::Table { columns, records, row } => {
                let number = *row;
                *row += 1;
                Some(Ok(match records.next()? {
                    Ok(record) => {
                        let line =
                            record.position().and_then(|position| usize::try_from(position.line()).ok());
                        SourceRow { row: number, line, fields: table_row(columns, &record) }
                    }
                    Err(error) => {
                        SourceRow { row: number, line: None, fields: Err(format!("not CSV: {error}")) }
                    }
                }))
            }
        }
    }
}

/// One line as an object, with what had to be tolerated.
pub(crate) fn object(line: &[u8]) -> Result<(Object, Tolerated), String> {
    let text = std::str::from_utf8(line)
        .map_err(|error| format!("expected UTF-8 text, found {} of the line", invalid_byte(line, error)))?;
    let (value, tolerated) = parse(text).map_err(|error| format!("not JSON: {}", error.in_line(text)))?;
    match value {
        Json::Object(fields) => Ok((fields, tolerated)),
        other => Err(format!("expected an object, found {}", other.kind())),
    }
}

fn table<'f>(
    file: &'f SourceFile,
    delimiter: u8,
    notices: &mut Notices,
) -> Result<RowReader<&'f [u8]>, DataError> {
    RowReader::table(file.bytes.as_slice(), delimiter, &file.shown, notices)
}

/// The names in the header of a table.
fn columns<R: Read>(
    reader: &mut csv::Reader<R>,
    file: &str,
    notices: &mut Notices,
) -> Result<Vec<String>, DataError> {
    let header = reader
        .byte_headers()
        .map_err(|error| DataError::Read { path: file.to_owned(), source: std::io::Error::other(error) })?;
    let mut columns: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for name in header {
        let name = std::str::from_utf8(name).map_err(|error| DataError::Encoding {
            path: file.to_owned(),
            found: format!("{} of a column name", invalid_byte(name, error)),
            next: "save the table as UTF-8".to_owned(),
        })?;
        let repeated = !seen.insert(name);
        notices.add("a column name occurs twice; the last such column counts", usize::from(repeated), None);
        columns.push(name.to_owned());
    }
    Ok(columns)
}

/// A row of a table as an object of text; a blank cell is there and blank.
fn table_row(columns: &[String], record: &csv::ByteRecord) -> Result<Object, String> {
    if record.len() != columns.len() {
        return Err(format!(
            "expected {} cells as in the header, found {}; is a quote or a delimiter missing?",
            columns.len(),
            record.len()
        ));
    }
    let cells: Result<Vec<(String, Json)>, String> = columns
        .iter()
        .zip(record)
        .map(|(name, cell)| match std::str::from_utf8(cell) {
            Ok(text) => Ok((name.clone(), Json::Text(text.to_owned()))),
            Err(error) => Err(format!(
                "column `{}`: expected UTF-8 text, found {} of the cell",
                shown(name),
                invalid_byte(cell, error)
            )),
        })
        .collect();
    Ok(Object::new(cells?).0)
}
