//! The table of [`super::csv()`] as Parquet: typed columns, absent values null.

use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;

use crate::report::Report;

use super::row::{COLUMNS, Cell, cells};

/// One row an example, in one row group, compressed with zstd.
///
/// # Errors
/// When the writer of the format refuses, which no data should make it do.
pub fn parquet(report: &Report) -> Result<Vec<u8>, ParquetError> {
    let rows: Vec<[Cell; COLUMNS.len()]> = report.examples.iter().map(cells).collect();
    let kind = |column: usize| match rows.first().map(|row| &row[column]) {
        Some(Cell::Integer(_)) => "OPTIONAL INT64 {}",
        Some(Cell::Number(_)) => "OPTIONAL DOUBLE {}",
        Some(Cell::Flag(_)) => "OPTIONAL BOOLEAN {}",
        Some(Cell::Text(_)) | None => "OPTIONAL BINARY {} (UTF8)",
    };
    let fields = COLUMNS.iter().enumerate().map(|(at, name)| kind(at).replace("{}", name) + ";");
    let schema = format!("message findings {{ {} }}", fields.collect::<String>());
    let schema = Arc::new(parse_message_type(&schema)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(::parquet::basic::ZstdLevel::default()))
        .set_key_value_metadata(Some(vec![KeyValue::new("ragscope".to_owned(), statement(report))]))
        .set_created_by(format!("ragscope {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in 0..COLUMNS.len() {
        let Some(mut column_writer) = group.next_column()? else { break };
        let own = rows.iter().map(|row| &row[column]);
        match column_writer.untyped() {
            ColumnWriter::ByteArrayColumnWriter(out) => {
                let text = |cell: &Cell| match cell {
                    Cell::Text(text) => text.as_ref().map(|text| ByteArray::from(text.as_bytes().to_vec())),
                    _ => None,
                };
                let (values, levels) = present(own.map(text));
                out.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::Int64ColumnWriter(out) => {
                let integer = |cell: &Cell| if let Cell::Integer(value) = cell { *value } else { None };
                let (values, levels) = present(own.map(integer));
                out.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::DoubleColumnWriter(out) => {
                let number = |cell: &Cell| if let Cell::Number(value) = cell { *value } else { None };
                let (values, levels) = present(own.map(number));
                out.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::BoolColumnWriter(out) => {
                let flag = |cell: &Cell| if let Cell::Flag(value) = cell { *value } else { None };
                let (values, levels) = present(own.map(flag));
                out.write_batch(&values, Some(&levels), None)?;
            }
            // The schema above names no other type.
            _ => {}
        }
        column_writer.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(bytes)
}

/// What made the table, as JSON: thresholds, provenance, context. A reader finds it among the file's metadata.
fn statement(report: &Report) -> String {
    let statement = serde_json::json!({
        "thresholds": report.thresholds, "provenance": report.provenance, "context": report.context,
    });
    statement.to_string()
}

/// The values that are there, and for each row whether it has one.
fn present<T>(cells: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<i16>) {
    let mut values = Vec::new();
    let mut levels = Vec::new();
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    (values, levels)
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use crate::report::exports::small_report::report;

    fn json_of(row: &::parquet::record::Row) -> serde_json::Value {
        use ::parquet::record::Field;
        let value = |field: &Field| match field {
            Field::Null => serde_json::Value::Null,
            Field::Bool(flag) => (*flag).into(),
            Field::Long(number) => (*number).into(),
            Field::Double(number) => (*number).into(),
            other => other.to_string().trim_matches('"').into(),
        };
        row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
    }

    #[test]
    fn the_table_comes_back_with_its_types_and_its_absences() {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &parquet(&report()).unwrap()).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let stated = metadata.iter().find(|pair| pair.key == "ragscope").unwrap();
        assert!(stated.value.as_deref().unwrap().contains("\"thresholds\""));
        let rows: Vec<serde_json::Value> =
            reader.get_row_iter(None).unwrap().map(|row| json_of(&row.unwrap())).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0]["flagged"], &rows[0]["tokens"]), (&true.into(), &3.into()));
        assert_eq!((&rows[1]["flagged"], &rows[1]["answer_score"]), (&().into(), &().into()));
        assert_eq!(rows[0]["id"], "é1");
    }
}
