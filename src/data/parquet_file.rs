//! Parquet as records: groups and lists become objects and lists.

use std::fs::File;
use std::io::BufReader;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;

use super::error::DataError;
use super::json::{Json, Object};
use super::source_file::{SourceFile, Unfolded};

/// Rows that cannot be read before the file is refused: it may claim as many as it likes.
const MOST_UNREADABLE: usize = 1000;

/// A file that can be read a bounded number of times: every page takes some bytes of it, and pages that claim
/// none would be read for ever.
struct Pages {
    file: File,
    length: u64,
    left: AtomicU64,
}

impl Pages {
    fn of(file: File) -> std::io::Result<Self> {
        let length = file.metadata()?.len();
        // A page is read twice, its header and its content; a footer some more times.
        let reads = length.saturating_mul(2).saturating_add(1024);
        Ok(Self { file, length, left: AtomicU64::new(reads) })
    }

    fn read(&self, start: u64, length: u64) -> Result<(), ParquetError> {
        let inside = start.checked_add(length).is_some_and(|end| end <= self.length);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        match (inside, taken) {
            (true, Ok(_)) => Ok(()),
            (false, _) => Err(ParquetError::General(format!(
                "expected bytes within the file of {}, found {length} at {start}",
                self.length
            ))),
            (true, Err(_)) => Err(ParquetError::General("expected an end, found ever more pages".to_owned())),
        }
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Pages {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        self.read(start, 0)?;
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.read(start, length as u64)?;
        self.file.get_bytes(start, length)
    }
}

/// The rows of a file, in order, a page of each column in memory at a time; a row that cannot be read is an error of
/// its own.
pub(crate) struct Rows {
    read: RowIter<'static>,
    shown: String,
    unfolded: Unfolded,
    unreadable: usize,
}

impl Rows {
    /// # Errors
    /// When the file cannot be opened or its footer does not read.
    pub(crate) fn open(file: &SourceFile) -> Result<Self, DataError> {
        let read = |source: std::io::Error| DataError::Read { path: file.shown.clone(), source };
        let pages = File::open(&file.path).and_then(Pages::of).map_err(read)?;
        let reader = SerializedFileReader::new(pages).map_err(|error| read(std::io::Error::other(error)))?;
        Ok(Self {
            read: RowIter::from_file_into(Box::new(reader)),
            shown: file.shown.clone(),
            unfolded: Unfolded::of(file),
            unreadable: 0,
        })
    }

    /// Refuses a file that claims too much.
    fn check(&mut self, record: &Result<Object, String>) -> Result<(), DataError> {
        let error = match record {
            Ok(record) => return self.unfolded.add(record),
            Err(error) => error,
        };
        self.unreadable += 1;
        if self.unreadable <= MOST_UNREADABLE {
            return Ok(());
        }
        let damaged = format!("more than {MOST_UNREADABLE} rows cannot be read, the last one: {error}");
        Err(DataError::Read { path: self.shown.clone(), source: std::io::Error::other(damaged) })
    }
}

impl Iterator for Rows {
    type Item = Result<Result<Object, String>, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.read.next()?;
        let record = row.map_err(|error| format!("not a row of Parquet: {error}")).map(|row| {
            let columns = row.get_column_iter();
            Object::new(columns.map(|(name, field)| (name.clone(), value(field))).collect()).0
        });
        Some(self.check(&record).map(|()| record))
    }
}

/// The rows of a file that are wanted.
///
/// # Errors
/// As of [`Rows`].
pub(crate) fn rows(file: &SourceFile) -> Result<Vec<Result<Object, String>>, DataError> {
    Rows::open(file)?.take(file.only.unwrap_or(usize::MAX)).collect()
}

fn value(field: &Field) -> Json {
    let number = |digits: String| Json::Number(digits);
    let finite =
        |value: f64, digits: String| if value.is_finite() { Json::Number(digits) } else { Json::Null };
    match field {
        Field::Null => Json::Null,
        Field::Bool(value) => Json::Bool(*value),
        Field::Byte(value) => number(value.to_string()),
        Field::Short(value) => number(value.to_string()),
        Field::Int(value) => number(value.to_string()),
        Field::Long(value) => number(value.to_string()),
        Field::UByte(value) => number(value.to_string()),
        Field::UShort(value) => number(value.to_string()),
        Field::UInt(value) => number(value.to_string()),
        Field::ULong(value) => number(value.to_string()),
        Field::Float(value) => finite(f64::from(*value), value.to_string()),
        Field::Double(value) => finite(*value, value.to_string()),
        Field::Str(text) => Json::Text(text.clone()),
        Field::Bytes(bytes) => Json::Text(String::from_utf8_lossy(bytes.data()).into_owned()),
        Field::Group(row) => {
            let fields = row.get_column_iter().map(|(name, field)| (name.clone(), value(field)));
            Json::Object(Object::new(fields.collect()).0)
        }
        Field::ListInternal(list) => Json::List(list.elements().iter().map(value).collect()),
        Field::MapInternal(map) => {
            let name = |key: &Field| value(key).scalar().unwrap_or_default().to_owned();
            Json::Object(
                Object::new(map.entries().iter().map(|(key, field)| (name(key), value(field))).collect()).0,
            )
        }
        // Dates, times and decimals are no text of an example; they are kept as they are shown.
        other => Json::Text(other.to_string()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use crate::data::formats::test_files::{examples, open_bytes};

    /// A Parquet file with `id`, `question`, `answer` and a list `contexts`, one row for each triple of texts.
    pub(crate) fn file(rows: &[(&str, &str, &[&str])]) -> Vec<u8> {
        let schema = "message rows { REQUIRED BINARY question (UTF8); REQUIRED BINARY answer (UTF8);
            REQUIRED GROUP contexts (LIST) { REPEATED GROUP list { REQUIRED BINARY element (UTF8); } } }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::default())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        let columns: [Vec<ByteArray>; 2] =
            [rows.iter().map(|row| text(row.0)).collect(), rows.iter().map(|row| text(row.1)).collect()];
        for column in columns {
            let mut values = group.next_column().unwrap().unwrap();
            values.typed::<ByteArrayType>().write_batch(&column, None, None).unwrap();
            values.close().unwrap();
        }
        let mut column = group.next_column().unwrap().unwrap();
        let items: Vec<ByteArray> = rows.iter().flat_map(|row| row.2).map(|item| text(item)).collect();
        let repetition: Vec<i16> =
            rows.iter().flat_map(|row| (0..row.2.len()).map(|place| i16::from(place > 0))).collect();
        let definition = vec![1; items.len()];
        column.typed::<ByteArrayType>().write_batch(&items, Some(&definition), Some(&repetition)).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        bytes
    }

    #[test]
    fn rows_of_parquet_are_records_with_real_lists() {
        let data =
            open_bytes("rows.parquet", &file(&[("q1?", "a1", &["c1", "it's"]), ("q2?", "a2", &["c3"])]));
        let examples = examples(&data);
        assert_eq!(examples.len(), 2);
        assert_eq!(examples[0].passages[1].text, "it's");
        assert_eq!((examples[1].question.as_str(), examples[1].answer.as_deref()), ("q2?", Some("a2")));
        assert!(data.because.contains("Parquet"), "{}", data.because);
    }
}
