//! `SQLite` as records: the rows of the one table that holds traces, or of the only table there is.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::error::{DataError, shown_names};
use super::json::{Json, Object};
use super::source_file::{SourceFile, Unfolded};

/// Tables that observability tools keep their traces in, the most telling first.
const KNOWN: [&str; 4] = ["spans", "trulens_events", "trulens_records", "records"];

/// What `SQLite` advises for files from elsewhere.
const UNTRUSTED: &str = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;
    PRAGMA hard_heap_limit = 1073741824;";

/// The rows of the table, in the order of the table.
///
/// # Errors
/// When the file is no database, or has several tables of which none is known.
pub(crate) fn rows(file: &SourceFile) -> Result<Vec<Object>, DataError> {
    let read = |error: rusqlite::Error| DataError::Read {
        path: file.shown.clone(),
        source: std::io::Error::other(error),
    };
    // Nothing is ever written: not even the lock of a reader.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(&file.path, flags).map_err(read)?;
    // A schema is a program too: no functions with effects, pages checked, memory bounded.
    database.execute_batch(UNTRUSTED).map_err(read)?;
    let tables: Vec<String> = {
        let wanted =
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
        let mut statement = database.prepare(wanted).map_err(read)?;
        let names = statement.query_map([], |row| row.get(0)).map_err(read)?;
        names.collect::<Result<_, _>>().map_err(read)?
    };
    let known = KNOWN.iter().find(|name| tables.iter().any(|table| table == *name));
    let table = match (known, tables.as_slice()) {
        (Some(known), _) => (*known).to_owned(),
        (None, [only]) => only.clone(),
        _ => {
            return Err(DataError::UnknownLayout {
                path: file.shown.clone(),
                expected: format!("a table of {}, or one table alone", shown_names(KNOWN)),
                found: format!("the tables {}", shown_names(tables.iter().map(String::as_str))),
                next: "export the table that you want as CSV or JSONL".to_owned(),
            });
        }
    };
    let names = column_names(&database, &table).map_err(read)?;
    let quoted = table.replace('"', "\"\"");
    let mut statement = database.prepare(&format!("SELECT * FROM \"{quoted}\"")).map_err(read)?;
    if statement.column_count() != names.len() {
        let (expected, found) = (names.len(), statement.column_count());
        return Err(DataError::Read {
            path: file.shown.clone(),
            source: std::io::Error::other(format!("expected {expected} columns, found {found}")),
        });
    }
    let mut rows = statement.query([]).map_err(read)?;
    let mut records = Vec::new();
    let mut unfolded = Unfolded::of(file);
    while let Some(row) = rows.next().map_err(read)? {
        let mut fields = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            fields.push((name.clone(), value(row.get_ref(at).map_err(read)?)));
        }
        let record = Object::new(fields).0;
        unfolded.add(&record)?;
        records.push(record);
    }
    Ok(records)
}

/// Names of the columns that `SELECT *` gives, whatever their bytes: asking a statement for them ends in a panic
/// where they are no UTF-8.
fn column_names(database: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        database.prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE hidden <> 1 ORDER BY cid")?;
    let mut rows = statement.query([table])?;
    let mut names = Vec::new();
    while let Some(row) = rows.next()? {
        names.push(match row.get_ref(0)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        });
    }
    Ok(names)
}

fn value(value: ValueRef<'_>) -> Json {
    match value {
        ValueRef::Integer(number) => Json::Number(number.to_string()),
        ValueRef::Real(number) if number.is_finite() => Json::Number(number.to_string()),
        ValueRef::Null | ValueRef::Real(_) => Json::Null,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Json::Text(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::data::formats::test_files::examples;
    use crate::data::{Dataset, Format, OpenOptions};

    fn database(statements: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("phoenix.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch(statements).unwrap();
        (folder, path)
    }

    #[test]
    fn spans_of_a_database_are_read_as_spans_and_its_other_tables_are_not() {
        let (_folder, path) = database(
            "CREATE TABLE projects (id INTEGER); CREATE TABLE spans (id INTEGER, trace_rowid INTEGER, span_id TEXT,
                 parent_id TEXT, span_kind TEXT, attributes TEXT);
             INSERT INTO spans VALUES (1, 7, 's1', NULL, 'CHAIN', '{\"input\": {\"value\": \"q?\"}, \"output\": {\"value\": \"a\"}}');
             INSERT INTO spans VALUES (2, 7, 's2', 's1', 'RETRIEVER',
                 '{\"retrieval\": {\"documents\": [{\"document\": {\"content\": \"c\"}}]}}');",
        );
        let data = Dataset::open(&path, &OpenOptions::default()).unwrap();
        assert_eq!(data.format, Format::OpenInference);
        assert_eq!(examples(&data)[0].passages[0].text, "c");
    }

    #[test]
    fn a_table_that_computes_gigabytes_is_refused_before_they_are_there() {
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
             INSERT INTO spans (id) SELECT i FROM n;";
        let (_folder, path) = database(&format!(
            "CREATE TABLE spans (id INTEGER, attributes TEXT GENERATED ALWAYS AS (hex(zeroblob(100000)))); {numbers}"
        ));
        let error = Dataset::open(&path, &OpenOptions::default()).unwrap_err().to_string();
        assert!(error.contains("unfold into more than 256 MiB"), "{error}");
    }

    #[test]
    fn several_unknown_tables_are_named() {
        let (_folder, path) = database("CREATE TABLE a (x); CREATE TABLE b (y);");
        let error = Dataset::open(&path, &OpenOptions::default()).unwrap_err().to_string();
        assert!(error.contains("`a`, `b`") && error.contains("spans"), "{error}");
    }
}
