//! Files too large to be held: read once to be understood, and then row by row.
//!
//! The first pass sees what only the whole file tells: its hash, the unit of its labels, how many rows there
//! are and what is unusual in them. The second gives the rows that [`Dataset::open`](super::Dataset::open)
//! gives, one after the other. Between them nothing is kept but counts, and eight bytes for each id.

use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::BufRead;
use std::path::Path;
use std::rc::Rc;

use super::dataset::{BadRow, OpenOptions, REPEATED_ID, Row, name_of};
use super::error::DataError;
use super::example::Example;
use super::field_map::FieldMap;
use super::formats::{self, Content, DraftOf, Format, OneByOne, RowReader};
use super::labels::{DraftRow, LabelReading, LabelSurvey};
use super::notice::{Notice, Notices};
use super::source_file::{Container, DataHash, SourceFile, is_compressed, open_unfolded};

/// Files up to this size on disk are held: what follows is then one pass.
const HELD: u64 = 64 << 20;
/// Bytes that a compressed one may stand for: text of data sets unfolds into four to thirty times its size.
const UNFOLDS: u64 = 16;
/// Lines that are looked at to recognise a layout; as many as for a file that is held.
const LOOKED_AT: usize = 51;
/// Unusable rows that are kept to be shown.
const SHOWN_BAD: usize = 5;
/// Names of fields that are kept to be told; data that names fields by values has no end of them.
const MOST_NAMES: usize = 1000;

/// A data set whose rows are read when they are asked for.
pub struct DatasetStream {
    /// As of a [`Dataset`](super::Dataset), like what follows.
    pub name: String,
    pub format: Format,
    pub because: String,
    pub notices: Vec<Notice>,
    pub hash: String,
    /// Records in the file.
    pub rows: usize,
    /// Those that cannot be used.
    pub bad: usize,
    /// The first of them.
    pub first_bad: Vec<BadRow>,
    /// Whether a record brings passages along with scores: they may be calibrated on, for which all are needed.
    pub scored_passages: bool,
    /// The first usable record with passages, else the first usable one; none where none is.
    pub sample: Vec<Row>,
    /// Where it lies, and its beginning.
    head: SourceFile,
    rows_of: RowsOf,
    one_by_one: OneByOne,
    map: FieldMap,
    labels: LabelReading,
}

/// What is read row by row.
#[derive(Debug, Clone, Copy)]
enum RowsOf {
    Lines,
    Table { delimiter: u8 },
    Parquet,
}

impl DatasetStream {
    /// Opens `path` as a stream; `None` where it has to be opened whole: it is small, a folder or no regular file,
    /// or of a layout whose records are not examples one by one.
    ///
    /// # Errors
    /// As [`Dataset::open`](super::Dataset::open).
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Option<Self>, DataError> {
        Self::open_larger(path.as_ref(), options, HELD)
    }

    fn open_larger(path: &Path, options: &OpenOptions, held: u64) -> Result<Option<Self>, DataError> {
        let held = if is_compressed(path) { held / UNFOLDS } else { held };
        let is_large = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > held);
        if !is_large {
            return Ok(None);
        }
        let Some(mut head) = SourceFile::head(path, LOOKED_AT)? else { return Ok(None) };
        // The beginning of one JSON document is no JSON: that file is opened whole, and says what is wrong.
        let Ok(detected) = formats::detect(&head, options) else { return Ok(None) };
        let rows_of = match detected.content {
            Content::Lines => RowsOf::Lines,
            Content::Table { delimiter } => RowsOf::Table { delimiter },
            Content::Rows { .. } if head.container == Container::Parquet => RowsOf::Parquet,
            Content::Document(..) | Content::Rows { .. } => return Ok(None),
        };
        let Some(one_by_one) = formats::one_by_one(detected.format, &head) else { return Ok(None) };
        // It was looked at; what is read now comes from the disk.
        head.bytes = Vec::new();
        let mut stream = Self {
            name: name_of(path),
            format: detected.format,
            because: detected.because,
            notices: Vec::new(),
            hash: String::new(),
            rows: 0,
            bad: 0,
            first_bad: Vec::new(),
            scored_passages: false,
            sample: Vec::new(),
            head,
            rows_of,
            one_by_one,
            map: options.map.clone(),
            labels: LabelSurvey::default().reading(options.offset_unit, &mut Notices::default()),
        };
        stream.survey(options)?;
        Ok(Some(stream))
    }

    /// The first pass.
    fn survey(&mut self, options: &OpenOptions) -> Result<(), DataError> {
        let hash = Rc::new(RefCell::new(DataHash::default()));
        let mut notices = Notices::default();
        let mut drafting = Notices::default();
        let mut rows = self.reader(Some(Rc::clone(&hash)), &mut notices)?;
        let mut survey = LabelSurvey::default();
        let (mut names, mut sources) = (Names::default(), Vec::new());
        // Without labels every row is what it will be: it is counted at once.
        let (mut count, mut labelled) = (Count::default(), false);
        while let Some(row) = rows.next(&mut notices) {
            let row = row?;
            if let Ok(fields) = &row.fields {
                names.add(fields.names());
                self.map.find_sources(fields, &mut sources);
            }
            let draft = (self.one_by_one.draft)(&row, &self.map, &mut drafting);
            survey.look(&draft, options.offset_unit);
            labelled |= matches!(&draft, DraftRow::Draft(draft) if draft.labels.is_some());
            if !labelled {
                count.add(self.labels.row(draft));
            }
        }
        drop(rows);
        let names: Vec<&str> = names.in_order.iter().map(String::as_str).collect();
        if !self.map.is_empty() {
            self.map.check_found(&sources, &names)?;
        }
        (self.one_by_one.tell_kept_out)(&names, &self.map, &mut notices);
        notices.extend(drafting);
        self.labels = survey.reading(options.offset_unit, &mut notices);
        if labelled {
            count = Count::default();
            for row in self.rows()? {
                count.add(row?);
            }
        }
        notices.extend(count.notices);
        self.rows = count.rows;
        self.bad = count.bad;
        self.first_bad = count.first_bad;
        self.scored_passages = count.scored_passages;
        self.sample = count.with_passages.or(count.usable).map(Row::Example).into_iter().collect();
        self.notices = notices.into_vec();
        self.hash = Rc::try_unwrap(hash).map_or_else(|_| String::new(), |hash| hash.into_inner().finish());
        Ok(())
    }

    /// The rows, from the first one.
    ///
    /// # Errors
    /// The file cannot be opened any more.
    pub fn rows(&self) -> Result<StreamedRows, DataError> {
        Ok(StreamedRows {
            rows: self.reader(None, &mut Notices::default())?,
            draft: self.one_by_one.draft,
            map: self.map.clone(),
            labels: self.labels,
        })
    }

    fn reader(
        &self,
        hash: Option<Rc<RefCell<DataHash>>>,
        notices: &mut Notices,
    ) -> Result<RowReader<Box<dyn BufRead>>, DataError> {
        let head = &self.head;
        if matches!(self.rows_of, RowsOf::Parquet) {
            if let Some(hash) = hash {
                let read = |source| DataError::Read { path: head.shown.clone(), source };
                hash.borrow_mut().add_file(&head.path).map_err(read)?;
            }
            return RowReader::parquet(head);
        }
        let reader = open_unfolded(&head.path, &head.shown, hash)?;
        match self.rows_of {
            RowsOf::Table { delimiter } => RowReader::table(reader, delimiter, &head.shown, notices),
            RowsOf::Lines | RowsOf::Parquet => Ok(RowReader::lines(reader, &head.shown)),
        }
    }
}

/// Rows of a file, read one after the other.
pub struct StreamedRows {
    rows: RowReader<Box<dyn BufRead>>,
    draft: DraftOf,
    map: FieldMap,
    labels: LabelReading,
}

impl Iterator for StreamedRows {
    type Item = Result<Row, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        // What is tolerated was told in the first pass.
        let mut told = Notices::default();
        let row = self.rows.next(&mut told)?;
        Some(row.map(|row| self.labels.row((self.draft)(&row, &self.map, &mut told))))
    }
}

/// What is known of all rows.
#[derive(Default)]
struct Count {
    rows: usize,
    bad: usize,
    first_bad: Vec<BadRow>,
    scored_passages: bool,
    /// The first such records.
    usable: Option<Example>,
    with_passages: Option<Example>,
    notices: Notices,
    /// Hashes of the ids: a false alarm is less likely than a broken disk.
    ids: HashSet<u64>,
}

impl Count {
    fn add(&mut self, row: Row) {
        self.rows += 1;
        match row {
            Row::Example(example) => {
                self.scored_passages |= example.passages.iter().any(|passage| passage.score.is_some());
                let mut hasher = DefaultHasher::new();
                example.id.hash(&mut hasher);
                let repeated = !self.ids.insert(hasher.finish());
                self.notices.add(REPEATED_ID, usize::from(repeated), Some(example.row));
                if self.with_passages.is_none() && !example.passages.is_empty() {
                    self.with_passages = Some(example);
                } else if self.usable.is_none() {
                    self.usable = Some(example);
                }
            }
            Row::Bad(bad) => {
                self.bad += 1;
                if self.first_bad.len() < SHOWN_BAD {
                    self.first_bad.push(bad);
                }
            }
        }
    }
}

/// Names of fields in the order in which they first occur.
#[derive(Default)]
struct Names {
    in_order: Vec<String>,
    seen: HashSet<String>,
}

impl Names {
    fn add<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        for name in names {
            if !self.seen.contains(name) && self.in_order.len() < MOST_NAMES {
                self.seen.insert(name.to_owned());
                self.in_order.push(name.to_owned());
            }
        }
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
