//! Records of JSON Lines, one after the other, in bounded memory.

use std::io::{BufRead, Read};

use crate::data::error::DataError;
use crate::data::source_file::{BYTE_ORDER_MARK, refuse_other_encodings};

/// Longest line that is read, in bytes.
pub const LONGEST_LINE: usize = 64 << 20;

/// One line that is not blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Number of the record from 0; blank lines do not count.
    pub row: usize,
    /// Number of the line from 1; blank lines count.
    pub line: usize,
    /// The line without its end, or why it was not read.
    pub content: Result<Vec<u8>, String>,
}

/// Iterates over the lines of a reader. A line ends at `\n`, or `\r\n`, and nowhere else: U+2028,
/// U+0085, vertical tab and form feed are part of the text. A UTF-8 byte-order mark before the first
/// line is dropped.
#[derive(Debug)]
pub struct Records<R> {
    reader: R,
    name: String,
    longest: usize,
    lines: usize,
    rows: usize,
    finished: bool,
}

impl<R: BufRead> Records<R> {
    /// Reads from `reader`; `name` stands in error messages.
    pub fn new(reader: R, name: impl Into<String>) -> Self {
        Self { reader, name: name.into(), longest: LONGEST_LINE, lines: 0, rows: 0, finished: false }
    }

    /// With another limit on the length of a line, in bytes.
    #[must_use]
    pub fn with_longest_line(self, longest: usize) -> Self {
        Self { longest, ..self }
    }

    /// The next line without `\n`, `None` at the end. The flag tells whether it was cut.
    fn line(&mut self) -> std::io::Result<Option<(Vec<u8>, bool)>> {
        let mut line = Vec::new();
        // Two more than allowed: one tells that there is more, one is the line's end.
        let limit = (self.longest as u64).saturating_add(2);
        let taken = self.reader.by_ref().take(limit).read_until(b'\n', &mut line)?;
        if taken == 0 {
            return Ok(None);
        }
        let ended = line.last() == Some(&b'\n');
        if ended {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        }
        let cut = line.len() > self.longest;
        if cut && !ended {
            self.skip_line()?;
        }
        Ok(Some((line, cut)))
    }

    fn skip_line(&mut self) -> std::io::Result<()> {
        loop {
            let buffer = self.reader.fill_buf()?;
            let length = buffer.len();
            if length == 0 {
                return Ok(());
            }
            if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                self.reader.consume(end + 1);
                return Ok(());
            }
            self.reader.consume(length);
        }
    }

    fn record(&mut self) -> Result<Option<Record>, DataError> {
        loop {
            let read = self.line().map_err(|source| DataError::Read { path: self.name.clone(), source })?;
            let Some((mut line, cut)) = read else { return Ok(None) };
            self.lines += 1;
            if self.lines == 1 {
                refuse_other_encodings(&line, &self.name)?;
                if line.starts_with(BYTE_ORDER_MARK) {
                    line.drain(..BYTE_ORDER_MARK.len());
                }
            }
            if line.iter().all(u8::is_ascii_whitespace) && !cut {
                continue;
            }
            let row = self.rows;
            self.rows += 1;
            let content = if cut {
                Err(format!(
                    "expected a record of at most {} bytes on one line, found a longer line; \
                     is a line end missing, or the file one JSON document?",
                    self.longest
                ))
            } else {
                Ok(line)
            };
            return Ok(Some(Record { row, line: self.lines, content }));
        }
    }
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = Result<Record, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let record = self.record().transpose();
        self.finished = !matches!(record, Some(Ok(_)));
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(bytes: &[u8]) -> Vec<Record> {
        Records::new(bytes, "test").map(Result::unwrap).collect()
    }

    fn texts(bytes: &[u8]) -> Vec<(usize, usize, String)> {
        let read = records(bytes).into_iter();
        read.map(|r| (r.row, r.line, String::from_utf8(r.content.unwrap()).unwrap())).collect()
    }

    #[test]
    fn only_a_line_feed_ends_a_record() {
        let bytes = "a\u{2028}b\u{2029}\u{85}c\u{b}d\u{c}e\rf\r\ng".as_bytes();
        let expected =
            [(0, 1, "a\u{2028}b\u{2029}\u{85}c\u{b}d\u{c}e\rf".to_owned()), (1, 2, "g".to_owned())];
        assert_eq!(texts(bytes), expected);
    }

    #[test]
    fn blank_lines_count_as_lines_and_not_as_records() {
        let bytes = b"\n{}\r\n \t\r\n\n[]\n\n";
        assert_eq!(texts(bytes), [(0, 2, "{}".to_owned()), (1, 5, "[]".to_owned())]);
    }

    #[test]
    fn a_byte_order_mark_is_dropped_once_and_another_encoding_is_refused() {
        assert_eq!(texts("\u{feff}a\n\u{feff}b".as_bytes())[1].2, "\u{feff}b");
        assert_eq!(texts("\u{feff}a\n".as_bytes())[0].2, "a");
        for bytes in [&b"\xff\xfe{\0}\0"[..], b"\xfe\xff\0{", b"{\0}\0"] {
            let mut read = Records::new(bytes, "notes.jsonl");
            let error = read.next().unwrap().unwrap_err().to_string();
            assert!(error.contains("notes.jsonl") && error.contains("UTF-16"), "{error}");
            assert!(read.next().is_none());
        }
    }

    #[test]
    fn a_line_beyond_the_limit_is_one_bad_record_and_the_next_one_is_read() {
        let bytes = [b"x".repeat(5000), b"\nshort\n".to_vec(), b"y".repeat(11)].concat();
        let reader = std::io::BufReader::with_capacity(16, &bytes[..]);
        let read: Vec<Record> =
            Records::new(reader, "test").with_longest_line(10).map(Result::unwrap).collect();
        assert!(read[0].content.as_ref().unwrap_err().contains("at most 10 bytes"));
        assert_eq!((read[1].row, read[1].line, read[1].content.as_deref()), (1, 2, Ok(&b"short"[..])));
        assert!(read[2].content.is_err());
        assert_eq!(read.len(), 3);
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_read_with_either_line_end() {
        for bytes in [&b"0123456789\nb"[..], b"0123456789\r\nb", b"0123456789"] {
            let first = Records::new(bytes, "test").with_longest_line(10).next().unwrap().unwrap();
            assert_eq!(first.content.unwrap(), b"0123456789");
        }
        assert!(records(b"").is_empty());
    }
}
