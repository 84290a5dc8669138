//! A run of evidence read piece by piece, so that its first lines can be looked at while the rest comes.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::record::Evidence;
use super::store::{EvidenceError, parse_line, read_line};
use crate::text::{hexadecimal, visible_path};

/// Lines parsed side by side.
const RECORDS_AT_ONCE: usize = 256;

/// A file of evidence and how far it is read.
#[derive(Debug)]
pub struct RunFile {
    path: String,
    reader: BufReader<File>,
    /// Bytes of the file, and of these the ones that are read.
    length: u64,
    read: u64,
    line: usize,
    ended: bool,
    /// What ended the reading early; told once the lines before it are taken.
    failed: Option<EvidenceError>,
    torn: Option<String>,
    hash: Sha256,
    /// Whether the end of the file was reached.
    whole: bool,
}

impl RunFile {
    /// Opens a file; nothing of it is read yet.
    pub fn open(path: &Path) -> Result<Self, EvidenceError> {
        let unreadable = |source| EvidenceError::Read { path: visible_path(path), source };
        let file = File::open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let reader = BufReader::with_capacity(1 << 18, file);
        Ok(Self {
            path: visible_path(path),
            reader,
            length,
            read: 0,
            line: 0,
            ended: false,
            failed: None,
            torn: None,
            hash: Sha256::new(),
            whole: false,
        })
    }

    /// SHA-256 of the file's bytes in hexadecimal, once all of them are read.
    pub fn sha256(&self) -> Option<String> {
        self.whole.then(|| hexadecimal(&self.hash.clone().finalize()))
    }

    /// At most `most` further records, in order; none at the end. They are parsed side by side.
    ///
    /// # Errors
    /// A line that is no evidence, once all lines before it were given out; nothing follows it.
    pub fn next_records(&mut self, most: usize) -> Result<Vec<Evidence>, EvidenceError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let lines = self.lines(most)?;
        let parsed: Vec<_> = lines.par_iter().map(|(number, text)| parse_line(text, *number)).collect();
        let mut records = Vec::with_capacity(parsed.len());
        for (result, (number, text)) in parsed.into_iter().zip(&lines) {
            match result {
                Ok(record) => records.push(record),
                // A torn last line: the run was killed while it wrote.
                Err(EvidenceError::Line { .. }) if !text.ends_with('\n') && *number > 1 => {
                    self.torn =
                        Some(format!("line {number} is cut off and was left out: the run did not end"));
                }
                Err(error) if records.is_empty() => {
                    self.ended = true;
                    return Err(error);
                }
                Err(error) => {
                    self.ended = true;
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok(records)
    }

    /// Share of the file that is read, in [0, 1].
    pub fn share_read(&self) -> f64 {
        if self.ended || self.length == 0 { 1.0 } else { (self.read as f64 / self.length as f64).min(1.0) }
    }

    /// What was left out at the end, in plain words.
    pub fn torn(&self) -> Option<&str> {
        self.torn.as_deref()
    }

    /// Lines that are not blank, with their numbers from 1; the line feed stays on.
    fn lines(&mut self, most: usize) -> Result<Vec<(usize, String)>, EvidenceError> {
        let mut lines = Vec::new();
        let mut bytes = Vec::new();
        while lines.len() < most && !self.ended {
            bytes.clear();
            let count = match read_line(&mut self.reader, &mut bytes) {
                Ok(count) => count,
                Err(source) => {
                    self.ended = true;
                    return Err(EvidenceError::Read { path: self.path.clone(), source });
                }
            };
            if count == 0 {
                self.ended = true;
                self.whole = true;
                break;
            }
            self.hash.update(&bytes);
            self.read += count as u64;
            self.line += 1;
            let text = String::from_utf8_lossy(&bytes);
            if !text.trim().is_empty() {
                lines.push((self.line, text.into_owned()));
            }
        }
        Ok(lines)
    }
}

/// Reads a whole run. A torn last line (a run that was killed while writing) is left out and said.
pub fn read_run(path: &Path) -> Result<(Vec<Evidence>, Option<String>), EvidenceError> {
    let run = read_hashed_run(path)?;
    Ok((run.evidence, run.notice))
}

/// A run with the hash of its file.
#[derive(Debug)]
pub struct HashedRun {
    pub evidence: Vec<Evidence>,
    /// Says that a torn last line was left out.
    pub notice: Option<String>,
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub sha256: String,
}

/// [`read_run`], with the hash of what was read.
pub fn read_hashed_run(path: &Path) -> Result<HashedRun, EvidenceError> {
    let mut file = RunFile::open(path)?;
    let mut evidence = Vec::new();
    loop {
        let records = file.next_records(RECORDS_AT_ONCE)?;
        // Lines may be left where all of a piece was torn or blank.
        if records.is_empty() && file.ended {
            let sha256 = file.sha256().unwrap_or_default();
            return Ok(HashedRun { evidence, notice: file.torn, sha256 });
        }
        evidence.extend(records);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lines: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        std::fs::write(&path, lines).unwrap();
        (folder, path)
    }

    fn golden() -> String {
        include_str!("../../tests/golden/run.jsonl").to_owned()
    }

    fn ids(records: &[Evidence]) -> Vec<&str> {
        records.iter().map(|record| record.id.as_str()).collect()
    }

    #[test]
    fn pieces_of_any_size_are_the_whole_run_in_order() {
        let (_folder, path) = written(golden().as_bytes());
        let (whole, torn) = read_run(&path).unwrap();
        assert!(whole.len() > 4 && torn.is_none());
        for most in [1, 2, 100] {
            let mut file = RunFile::open(&path).unwrap();
            let mut pieces = Vec::new();
            loop {
                let records = file.next_records(most).unwrap();
                assert!(records.len() <= most);
                if records.is_empty() {
                    break;
                }
                pieces.extend(records);
            }
            assert_eq!(pieces, whole);
            assert_eq!(file.share_read(), 1.0);
        }
    }

    #[test]
    fn what_stands_before_a_broken_line_is_given_out_first_and_nothing_after_it() {
        let golden = golden();
        let lines: Vec<&str> = golden.lines().collect();
        let text = format!("{}\n\n{}\n{{\"schema\":7}}\n{}\n", lines[0], lines[1], lines[2]);
        let (_folder, path) = written(text.as_bytes());
        let mut file = RunFile::open(&path).unwrap();
        let (whole, _) = {
            let (_folder, path) = written(golden.as_bytes());
            read_run(&path).unwrap()
        };
        assert_eq!(ids(&file.next_records(100).unwrap()), ids(&whole[..2]));
        let error = file.next_records(100).unwrap_err().to_string();
        assert!(error.starts_with("line 4:") && error.contains("schema"), "{error}");
        assert!(file.next_records(100).unwrap().is_empty());
        assert!(read_run(&path).is_err());
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_said() {
        let golden = golden();
        let lines: Vec<&str> = golden.lines().collect();
        let (_folder, path) = written(format!("{}\n{}", lines[0], &lines[1][..40]).as_bytes());
        let (run, torn) = read_run(&path).unwrap();
        assert_eq!(run.len(), 1);
        assert!(torn.unwrap().contains("line 2 is cut off"));
        // A first line that is cut off is no run at all.
        let (_folder, path) = written(&lines[0].as_bytes()[..40]);
        assert!(read_run(&path).is_err());
    }

    #[test]
    fn the_hash_is_that_of_all_bytes_and_known_at_the_end_only() {
        let text = format!("\n{}\n  \n{}", golden(), "{\"torn");
        let (_folder, path) = written(text.as_bytes());
        let expected: String =
            Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(read_hashed_run(&path).unwrap().sha256, expected);
        let mut file = RunFile::open(&path).unwrap();
        file.next_records(1).unwrap();
        assert_eq!(file.sha256(), None);
    }

    #[test]
    fn what_is_no_record_is_told_by_what_it_is() {
        let told = |text: &str| parse_line(text, 3).unwrap_err().to_string();
        assert!(told("{").contains("no JSON"));
        assert!(told("[1]").contains("no \"schema\" field"));
        assert!(told("{\"schema\":\"ragscope-evidence/9\"}").contains("ragscope-evidence/9"));
        assert!(told("{\"schema\":\"ragscope-evidence/1\"}").contains("does not fit"));
    }
}
