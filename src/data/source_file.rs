//! A file on disk as plain bytes: hashed, decompressed, and refused where it is no text.

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::error::{DataError, shown_path};
use super::json::Object;
use crate::disk::read_at_most;
use crate::text::hexadecimal;

/// Most bytes that a file may unfold into.
const MOST_UNFOLDED: u64 = 8 << 30;
/// What any file may unfold into, and how many times its own bytes a larger one may: records of text shrink to a
/// tenth, made-up ones to a thousandth.
const ALWAYS_UNFOLDED: u64 = 256 << 20;
const MOST_TIMES: u64 = 300;

/// Most bytes that a file of `stored` bytes may unfold into.
fn most_unfolded(stored: u64) -> u64 {
    stored.saturating_mul(MOST_TIMES).clamp(ALWAYS_UNFOLDED, MOST_UNFOLDED)
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub(crate) path: PathBuf,
    /// The path, safe to print.
    pub(crate) shown: String,
    /// Decompressed, without a UTF-8 byte-order mark. Only its first ones where the container is no text.
    pub(crate) bytes: Vec<u8>,
    pub(crate) container: Container,
    /// Bytes of the file on disk.
    pub(crate) stored: u64,
    /// Records that are looked at where the container is no text; `None`: all.
    pub(crate) only: Option<usize>,
}

/// What the records of a container take in memory, counted while they are read: a file of kilobytes can hold
/// millions of them.
pub(crate) struct Unfolded {
    shown: String,
    stored: u64,
    bytes: u64,
}

impl Unfolded {
    pub(crate) fn of(file: &SourceFile) -> Self {
        Self { shown: file.shown.clone(), stored: file.stored, bytes: 0 }
    }

    /// Adds a record, or refuses the file.
    pub(crate) fn add(&mut self, record: &Object) -> Result<(), DataError> {
        self.bytes = self.bytes.saturating_add(record.weight());
        let most = most_unfolded(self.stored);
        if self.bytes <= most {
            return Ok(());
        }
        Err(too_much("records", self.stored, most, &self.shown))
    }
}

fn too_much(what: &str, stored: u64, most: u64, shown: &str) -> DataError {
    DataError::NotReadYet {
        path: shown.to_owned(),
        found: format!("{stored} bytes of {what} that unfold into more than {} MiB", most >> 20),
        next: "split it into smaller files, or write it as JSONL".to_owned(),
    }
}

/// What the first bytes of a file say it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Text,
    Parquet,
    Sqlite,
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const PARQUET: &[u8] = b"PAR1";
const SQLITE: &[u8] = b"SQLite format 3\0";

/// SHA-256 over the bytes of every file of a data set, as they lie on disk.
#[derive(Default)]
pub(crate) struct DataHash(Sha256);

impl DataHash {
    /// Takes in a whole file, a piece at a time.
    pub(crate) fn add_file(&mut self, path: &Path) -> std::io::Result<()> {
        let mut file = BufReader::with_capacity(1 << 18, fs::File::open(path)?);
        loop {
            let piece = file.fill_buf()?;
            if piece.is_empty() {
                return Ok(());
            }
            self.0.update(piece);
            let length = piece.len();
            file.consume(length);
        }
    }

    /// The first 16 hexadecimal digits.
    pub(crate) fn finish(self) -> String {
        hexadecimal(&self.0.finalize()[..8])
    }
}

impl SourceFile {
    /// Reads `path` whole; concatenated gzip members are unfolded, whatever the name says.
    pub(crate) fn open(path: &Path, hash: &mut DataHash) -> Result<Self, DataError> {
        let shown = shown_path(path);
        // A file is as long as it is; a pipe or a device need not end.
        let is_file = fs::metadata(path).is_ok_and(|about| about.is_file());
        let raw =
            read_at_most(path, if is_file { u64::MAX } else { LONGEST_STREAM }).map_err(
                |source| match source.kind() {
                    ErrorKind::NotFound => DataError::Missing { path: shown.clone() },
                    _ => DataError::Read { path: shown.clone(), source },
                },
            )?;
        hash.0.update(&raw);
        for (magic, container) in [(PARQUET, Container::Parquet), (SQLITE, Container::Sqlite)] {
            if raw.starts_with(magic) {
                // Its own reader opens the file: only the hash needed all of it here.
                let stored = raw.len() as u64;
                let bytes = magic.to_vec();
                return Ok(Self { path: path.to_owned(), shown, bytes, container, stored, only: None });
            }
        }
        let stored = raw.len() as u64;
        let mut bytes = if raw.starts_with(GZIP) {
            unfold(MultiGzDecoder::new(raw.as_slice()), "gzip", stored, &shown)?
        } else if raw.starts_with(ZSTD) {
            let decoder = zstd::stream::read::Decoder::new(raw.as_slice());
            let decoder = decoder.map_err(|source| DataError::Read { path: shown.clone(), source })?;
            unfold(decoder, "zstd", stored, &shown)?
        } else {
            raw
        };
        refuse_other_containers(&bytes, &shown)?;
        refuse_other_encodings(&bytes, &shown)?;
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(Self { path: path.to_owned(), shown, bytes, container: Container::Text, stored, only: None })
    }

    /// The beginning of a text file, with at least `lines` whole lines, or that many records of Parquet; `None` where
    /// that is all of the text or too much, or where it is neither. What [`Self::open`] refuses is refused.
    pub(crate) fn head(path: &Path, lines: usize) -> Result<Option<Self>, DataError> {
        let shown = shown_path(path);
        let read = |source| DataError::Read { path: shown.clone(), source };
        if begins_with(path, &[PARQUET]) {
            let stored = fs::metadata(path).map_err(read)?.len();
            let (path, bytes, only) = (path.to_owned(), PARQUET.to_vec(), Some(lines));
            return Ok(Some(Self { path, shown, bytes, container: Container::Parquet, stored, only }));
        }
        let mut reader = open_unfolded(path, &shown, None)?;
        let mut bytes = Vec::new();
        let mut whole_lines = 0;
        while whole_lines < lines {
            let before = bytes.len();
            let left = (LONGEST_HEAD - before.min(LONGEST_HEAD)) as u64;
            let taken = reader.by_ref().take(left).read_until(b'\n', &mut bytes).map_err(read)?;
            if taken == 0 || !bytes.ends_with(b"\n") {
                return Ok(None);
            }
            whole_lines += usize::from(!bytes[before..].trim_ascii().is_empty());
        }
        if bytes.starts_with(SQLITE) {
            return Ok(None);
        }
        refuse_other_containers(&bytes, &shown)?;
        refuse_other_encodings(&bytes, &shown)?;
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        let stored = bytes.len() as u64;
        let container = Container::Text;
        Ok(Some(Self { path: path.to_owned(), shown, bytes, container, stored, only: None }))
    }

    /// The content as text.
    pub(crate) fn text(&self) -> Result<&str, DataError> {
        std::str::from_utf8(&self.bytes).map_err(|error| DataError::Encoding {
            path: self.shown.clone(),
            found: invalid_byte(&self.bytes, error),
            next: "save the file as UTF-8".to_owned(),
        })
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.bytes.iter().all(u8::is_ascii_whitespace)
    }

    /// The file `name` in the same folder, plain or compressed.
    pub(crate) fn beside(&self, name: &str) -> Option<PathBuf> {
        find_in(self.path.parent().unwrap_or(Path::new("")), name)
    }
}

/// Whether the first bytes of a file are those of gzip, zstd or Parquet, which compresses within.
pub(crate) fn is_compressed(path: &Path) -> bool {
    begins_with(path, &[GZIP, ZSTD, PARQUET])
}

fn begins_with(path: &Path, magics: &[&[u8]]) -> bool {
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(4).read_to_end(&mut start));
    read.is_ok() && magics.iter().any(|magic| start.starts_with(magic))
}

/// Most bytes of what is no regular file, where it has to be read whole.
const LONGEST_STREAM: u64 = 4 << 30;

/// Most bytes that are looked at to recognise a layout.
const LONGEST_HEAD: usize = 32 << 20;

/// The bytes of a file, unfolded as they are read; those on disk go into `hash`.
pub(crate) fn open_unfolded(
    path: &Path,
    shown: &str,
    hash: Option<Rc<RefCell<DataHash>>>,
) -> Result<Box<dyn BufRead>, DataError> {
    let failed = |source: std::io::Error| match source.kind() {
        ErrorKind::NotFound => DataError::Missing { path: shown.to_owned() },
        _ => DataError::Read { path: shown.to_owned(), source },
    };
    let file = fs::File::open(path).map_err(failed)?;
    let mut raw = BufReader::with_capacity(1 << 18, Hashing { inner: file, hash });
    let start = raw.fill_buf().map_err(failed)?;
    let (gzip, zstd) = (start.starts_with(GZIP), start.starts_with(ZSTD));
    Ok(match (gzip, zstd) {
        (true, _) => Box::new(BufReader::new(MultiGzDecoder::new(raw))),
        (_, true) => {
            let decoder = zstd::stream::read::Decoder::with_buffer(raw).map_err(failed)?;
            Box::new(BufReader::new(decoder))
        }
        _ => Box::new(raw),
    })
}

/// A reader whose bytes are hashed on the way.
struct Hashing<R> {
    inner: R,
    hash: Option<Rc<RefCell<DataHash>>>,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.inner.read(buffer)?;
        if let Some(hash) = &self.hash {
            hash.borrow_mut().0.update(&buffer[..length]);
        }
        Ok(length)
    }
}

/// `name`, `name.gz` or `name.zst` in `folder`.
pub(crate) fn find_in(folder: &Path, name: &str) -> Option<PathBuf> {
    ["", ".gz", ".zst"]
        .iter()
        .map(|ending| folder.join(format!("{name}{ending}")))
        .find(|path| path.is_file())
}

/// A file name without the endings of compression.
pub(crate) fn without_compression(name: &str) -> &str {
    [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// Names the first byte that is no UTF-8.
pub(crate) fn invalid_byte(bytes: &[u8], error: std::str::Utf8Error) -> String {
    let at = error.valid_up_to();
    match bytes.get(at) {
        Some(byte) => format!("byte 0x{byte:02x} at byte {at}, which is no UTF-8"),
        None => format!("a cut character at byte {at}"),
    }
}

/// The mark that some editors put before UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

fn unfold(decoder: impl Read, name: &str, stored: u64, shown: &str) -> Result<Vec<u8>, DataError> {
    let read = |source| DataError::Read { path: shown.to_owned(), source };
    let most = most_unfolded(stored);
    let mut bytes = Vec::new();
    decoder.take(most + 1).read_to_end(&mut bytes).map_err(read)?;
    if bytes.len() as u64 > most {
        return Err(too_much(name, stored, most, shown));
    }
    Ok(bytes)
}

fn refuse_other_containers(bytes: &[u8], shown: &str) -> Result<(), DataError> {
    const KNOWN: [(&[u8], &str, &str); 8] = [
        (ZSTD, "zstd inside another compression", "unpack it once"),
        (b"BZh", "bzip2", "unpack it with `bunzip2`"),
        (&[0xfd, b'7', b'z', b'X', b'Z'], "xz", "unpack it with `unxz`"),
        (b"PAR1", "Parquet inside a compression", "unpack it once: Parquet compresses within"),
        (b"ARROW1", "Arrow IPC", "write it as JSONL first, in datasets `to_json(...)`"),
        (b"SQLite format 3", "SQLite inside a compression", "unpack it once"),
        (b"PK\x03\x04", "a ZIP archive or a workbook", "unpack it, or save the sheet as CSV"),
        (GZIP, "gzip inside a compression", "unpack it once with `gunzip`"),
    ];
    match KNOWN.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
        Some((_, found, next)) => Err(DataError::NotReadYet {
            path: shown.to_owned(),
            found: (*found).to_owned(),
            next: (*next).to_owned(),
        }),
        None => Ok(()),
    }
}

/// Refuses UTF-16 and UTF-32, marked or not: JSON and CSV begin with ASCII, so a zero among the
/// first bytes is half of a wider unit.
pub(crate) fn refuse_other_encodings(bytes: &[u8], shown: &str) -> Result<(), DataError> {
    let found = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        "a UTF-16 byte-order mark"
    } else if bytes.iter().take(4).any(|byte| *byte == 0) {
        "a zero byte among the first four, as in UTF-16"
    } else {
        return Ok(());
    };
    Err(DataError::Encoding {
        path: shown.to_owned(),
        found: found.to_owned(),
        next: "convert it with `iconv -f UTF-16 -t UTF-8`".to_owned(),
    })
}
