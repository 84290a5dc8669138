//! Evidence kept between runs, so that the second start is instant.
//!
//! One JSONL file per combination of data, model, heads, calibration, settings and version: whatever
//! changes a number changes the file's name, so a stale value is never shown. One process writes a file; a
//! second one reads what is there and keeps nothing.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::disk::hold;
use crate::evidence::{Evidence, Provenance, parse_line, write_line};
use crate::text::hexadecimal;

/// The cache file of one run, open for appending.
#[derive(Debug)]
pub struct EvidenceCache {
    path: PathBuf,
    rows: HashMap<usize, Evidence>,
    /// `None` while another process writes the file.
    file: Option<File>,
    /// Bytes of whole lines.
    whole: u64,
}

impl EvidenceCache {
    /// Opens (or begins) the cache of the run that `provenance` describes, in `folder`. Whole lines
    /// are read; a torn last line, left by a run that was killed, is cut off.
    pub fn open(folder: &Path, provenance: &Provenance) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.jsonl", key(provenance)?));
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
        let mine = hold(&file)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let (rows, whole) = whole_lines(&text);
        // What is torn while another process writes is a line on its way.
        if mine && whole < text.len() {
            file.set_len(whole as u64)?;
        }
        Ok(Self { path, rows, file: mine.then_some(file), whole: whole as u64 })
    }

    /// Whether what is put is kept: not while another process writes the same cache.
    #[must_use]
    pub const fn keeps(&self) -> bool {
        self.file.is_some()
    }

    /// The cached evidence of a row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&Evidence> {
        self.rows.get(&row)
    }

    /// Appends one record and brings it to the disk. A record that could not be written whole is taken off
    /// again, so that the next one starts a line.
    pub fn put(&mut self, evidence: &Evidence) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut line = Vec::new();
        write_line(evidence, &mut line)?;
        let written = file.write_all(&line).and_then(|()| file.sync_data());
        if let Err(error) = written {
            // What cannot be cut off either is a torn line for the next start.
            let _ = file.set_len(self.whole).and_then(|()| file.seek(SeekFrom::End(0)));
            return Err(error);
        }
        self.whole += line.len() as u64;
        Ok(())
    }

    /// Where it is kept.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Rows of the whole lines, and the bytes of these. A whole line that does not parse loses no other.
fn whole_lines(text: &[u8]) -> (HashMap<usize, Evidence>, usize) {
    let mut rows = HashMap::new();
    let mut whole = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let Some(record) = line.strip_suffix(b"\n") else { break };
        whole += line.len();
        let parsed = std::str::from_utf8(record).ok().and_then(|record| parse_line(record, 1).ok());
        if let Some(evidence) = parsed {
            rows.insert(evidence.row, evidence);
        }
    }
    (rows, whole)
}

fn key(provenance: &Provenance) -> io::Result<String> {
    let json = serde_json::to_vec(provenance).map_err(io::Error::other)?;
    Ok(hexadecimal(&Sha256::digest(json)[..12]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::assemble::bad_row;

    fn provenance() -> Provenance {
        Provenance { tool: "ragscope test".to_owned(), ..Provenance::default() }
    }

    fn record(row: usize) -> Evidence {
        bad_row(row, None, "no question", &provenance())
    }

    #[test]
    fn what_was_put_is_there_again_and_a_torn_line_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let provenance = provenance();
        let path = {
            let mut cache = EvidenceCache::open(folder.path(), &provenance).unwrap();
            cache.put(&record(0)).unwrap();
            cache.put(&record(1)).unwrap();
            cache.path().to_owned()
        };
        let whole = std::fs::read(&path).unwrap();
        for cut in 1..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut cache = EvidenceCache::open(folder.path(), &provenance).unwrap();
            let kept = (0..2).filter(|row| cache.get(*row) == Some(&record(*row))).count();
            assert_eq!(kept, whole[..cut].split(|byte| *byte == b'\n').count() - 1, "cut at {cut}");
            for row in kept..2 {
                cache.put(&record(row)).unwrap();
            }
            drop(cache);
            assert_eq!(std::fs::read(&path).unwrap(), whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_damaged_line_loses_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = EvidenceCache::open(folder.path(), &provenance()).unwrap();
        for row in 0..3 {
            cache.put(&record(row)).unwrap();
        }
        let path = cache.path().to_owned();
        drop(cache);
        let mut bytes = std::fs::read(&path).unwrap();
        let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 5;
        bytes[second] = 0xff;
        std::fs::write(&path, &bytes).unwrap();
        let cache = EvidenceCache::open(folder.path(), &provenance()).unwrap();
        assert_eq!([0, 1, 2].map(|row| cache.get(row).is_some()), [true, false, true]);
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn a_second_process_reads_the_cache_and_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = EvidenceCache::open(folder.path(), &provenance()).unwrap();
        first.put(&record(0)).unwrap();
        // A line on its way.
        let mut torn = OpenOptions::new().append(true).open(first.path()).unwrap();
        torn.write_all(b"{\"half").unwrap();
        let before = std::fs::read(first.path()).unwrap();
        let mut second = EvidenceCache::open(folder.path(), &provenance()).unwrap();
        assert!(first.keeps() && !second.keeps());
        assert_eq!(second.get(0), Some(&record(0)));
        second.put(&record(1)).unwrap();
        assert_eq!(std::fs::read(first.path()).unwrap(), before);
        drop((first, torn));
        assert!(EvidenceCache::open(folder.path(), &provenance()).unwrap().keeps());
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
