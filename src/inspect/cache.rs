//! Evidence kept between runs, so that the second start is instant.
//!
//! One JSONL file per combination of data, model, heads, calibration, settings and version: whatever
//! changes a number changes the file's name, so a stale value is never shown.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::evidence::{Evidence, Provenance, parse_line, write_line};

/// The cache file of one run, open for appending.
#[derive(Debug)]
pub struct EvidenceCache {
    path: PathBuf,
    rows: HashMap<usize, Evidence>,
    writer: BufWriter<File>,
}

impl EvidenceCache {
    /// Opens (or begins) the cache of the run that `provenance` describes, in `folder`. Complete lines
    /// are read; a torn last line, left by a run that was killed, is cut off.
    pub fn open(folder: &Path, provenance: &Provenance) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.jsonl", key(provenance)?));
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let (rows, valid) = complete_lines(&text);
        if valid < text.len() {
            file.set_len(valid as u64)?;
            file.seek(SeekFrom::End(0))?;
        }
        Ok(Self { path, rows, writer: BufWriter::new(file) })
    }

    /// The cached evidence of a row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&Evidence> {
        self.rows.get(&row)
    }

    /// Appends one record and flushes it.
    pub fn put(&mut self, evidence: &Evidence) -> io::Result<()> {
        write_line(evidence, &mut self.writer)?;
        self.writer.flush()
    }

    /// Where it is kept.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Rows of the lines that parse, up to the first that does not, and the bytes they take.
fn complete_lines(text: &[u8]) -> (HashMap<usize, Evidence>, usize) {
    let mut rows = HashMap::new();
    let mut valid = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let Some(record) = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok()) else {
            break;
        };
        let Ok(evidence) = parse_line(record, 1) else { break };
        valid += line.len();
        rows.insert(evidence.row, evidence);
    }
    (rows, valid)
}

fn key(provenance: &Provenance) -> io::Result<String> {
    let json = serde_json::to_vec(provenance).map_err(io::Error::other)?;
    Ok(Sha256::digest(json).iter().take(12).map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::assemble::bad_row;

    #[test]
    fn what_was_put_is_there_again_and_a_torn_line_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let provenance = Provenance { tool: "ragscope test".to_owned(), ..Provenance::default() };
        let record = |row| bad_row(row, None, "no question", &provenance);
        let path = {
            let mut cache = EvidenceCache::open(folder.path(), &provenance).unwrap();
            cache.put(&record(0)).unwrap();
            cache.put(&record(1)).unwrap();
            cache.path().to_owned()
        };
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 10]).unwrap();
        let mut cache = EvidenceCache::open(folder.path(), &provenance).unwrap();
        assert_eq!(cache.get(0), Some(&record(0)));
        assert_eq!(cache.get(1), None);
        cache.put(&record(1)).unwrap();
        drop(cache);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn another_provenance_is_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let one = Provenance { model_hash: Some("a".to_owned()), ..Provenance::default() };
        let other = Provenance { model_hash: Some("b".to_owned()), ..Provenance::default() };
        let mut cache = EvidenceCache::open(folder.path(), &one).unwrap();
        cache.put(&bad_row(0, None, "r", &one)).unwrap();
        assert_eq!(EvidenceCache::open(folder.path(), &other).unwrap().get(0), None);
    }
}
