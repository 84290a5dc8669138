//! A light reader of GGUF metadata: names, tokenizer, chat template. Tensors are not touched.
//!
//! Counts and lengths in the file are claims, not facts: each is held against the bytes that are left
//! and against a limit before anything is allocated for it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::text_error::ModelTextError;

pub(super) const MAGIC: &[u8; 4] = b"GGUF";

/// No model has more; Gemma's 514,906 merges are the most seen.
const MAX_ARRAY: u64 = 4_000_000;
const MAX_ENTRIES: u64 = 65_536;
const MAX_KEY: u64 = 65_535;
/// One string: a chat template is the longest, some ten kilobytes.
const MAX_STRING: u64 = 16 << 20;
/// All metadata together: 262,144 tokens with their merges take 20 MB.
const MAX_METADATA: u64 = 512 << 20;
/// Arrays of arrays are allowed by the format and used by nobody.
const MAX_DEPTH: u32 = 4;

/// A value of the metadata. Integers of every width are one kind, floats another.
#[derive(Debug, Clone, PartialEq)]
pub enum GgufValue {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    /// An array of another kind, read past but not kept.
    OtherArray(u64),
}

/// The metadata of one GGUF file.
#[derive(Debug, Clone, Default)]
pub struct GgufMetadata {
    values: HashMap<String, GgufValue>,
}

impl GgufMetadata {
    /// Reads the metadata of the GGUF file (version 2 or 3, little-endian) at `path`.
    pub fn open(path: &Path) -> Result<Self, ModelTextError> {
        let io = |source| ModelTextError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        Self::read(BufReader::with_capacity(1 << 16, file), length)
    }

    /// Reads metadata from the start of a GGUF file of `length` bytes.
    pub fn read(source: impl Read, length: u64) -> Result<Self, ModelTextError> {
        let limit = length.min(MAX_METADATA);
        let mut reader = Reader { source, offset: 0, limit };
        let magic: [u8; 4] = reader.bytes()?;
        if &magic != MAGIC {
            return Err(reader.wrong(format!("it begins with {magic:02x?}, expected GGUF")));
        }
        let version = reader.u32()?;
        if !(2..=3).contains(&version) {
            let hint = if version.swap_bytes() == 3 { " (big-endian?)" } else { "" };
            return Err(reader.wrong(format!("version {version}{hint}, expected 2 or 3, little-endian")));
        }
        let _tensors = reader.u64()?;
        let entries = reader.count(MAX_ENTRIES, 13, "metadata entries")?;
        let mut values = HashMap::new();
        for _ in 0..entries {
            let key = reader.text(MAX_KEY)?;
            let kind = reader.u32()?;
            let value = reader.value(kind, 0)?;
            values.insert(key, value);
        }
        Ok(Self { values })
    }

    pub fn get(&self, field: &str) -> Option<&GgufValue> {
        self.values.get(field)
    }

    /// A text field; absent is `None`, another kind is an error.
    pub fn text(&self, field: &'static str) -> Result<Option<&str>, ModelTextError> {
        match self.values.get(field) {
            None => Ok(None),
            Some(GgufValue::Text(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_kind(field, other, "text")),
        }
    }

    /// A list of texts; absent is `None`, another kind is an error.
    pub fn texts(&self, field: &'static str) -> Result<Option<&[String]>, ModelTextError> {
        match self.values.get(field) {
            None => Ok(None),
            Some(GgufValue::Texts(texts)) => Ok(Some(texts)),
            Some(other) => Err(wrong_kind(field, other, "a list of texts")),
        }
    }

    /// A list of integers; absent is `None`, another kind is an error.
    pub fn integers(&self, field: &'static str) -> Result<Option<&[i64]>, ModelTextError> {
        match self.values.get(field) {
            None => Ok(None),
            Some(GgufValue::Integers(values)) => Ok(Some(values)),
            Some(other) => Err(wrong_kind(field, other, "a list of integers")),
        }
    }

    /// A list of floats; absent is `None`, another kind is an error.
    pub fn floats(&self, field: &'static str) -> Result<Option<&[f64]>, ModelTextError> {
        match self.values.get(field) {
            None => Ok(None),
            Some(GgufValue::Floats(values)) => Ok(Some(values)),
            Some(other) => Err(wrong_kind(field, other, "a list of floats")),
        }
    }

    /// A yes-or-no field; absent or of another kind is `None`.
    pub fn flag(&self, field: &str) -> Option<bool> {
        match self.values.get(field) {
            Some(GgufValue::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    /// An integer that is not negative, of whatever width; absent or of another kind is `None`.
    pub fn unsigned(&self, field: &str) -> Option<u64> {
        match self.values.get(field) {
            Some(GgufValue::Unsigned(value)) => Some(*value),
            Some(GgufValue::Signed(value)) => u64::try_from(*value).ok(),
            _ => None,
        }
    }
}

fn wrong_kind(field: &'static str, value: &GgufValue, expected: &str) -> ModelTextError {
    let found = match value {
        GgufValue::Unsigned(value) => format!("the number {value}"),
        GgufValue::Signed(value) => format!("the number {value}"),
        GgufValue::Float(value) => format!("the number {value}"),
        GgufValue::Bool(value) => format!("{value}"),
        GgufValue::Text(_) => "a text".to_owned(),
        GgufValue::Texts(texts) => format!("a list of {} texts", texts.len()),
        GgufValue::Integers(values) => format!("a list of {} integers", values.len()),
        GgufValue::Floats(values) => format!("a list of {} floats", values.len()),
        GgufValue::OtherArray(count) => format!("a list of {count} other values"),
    };
    ModelTextError::Field { field, found, expected: expected.to_owned() }
}

struct Reader<R> {
    source: R,
    offset: u64,
    limit: u64,
}

/// Bytes of one value of a scalar kind; 0 for text, arrays and unknown kinds.
fn width(kind: u32) -> u64 {
    match kind {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        4..=6 => 4,
        10..=12 => 8,
        _ => 0,
    }
}

const TEXT: u32 = 8;
const ARRAY: u32 = 9;

impl<R: Read> Reader<R> {
    fn wrong(&self, reason: String) -> ModelTextError {
        ModelTextError::Gguf { offset: self.offset, reason }
    }

    fn left(&self) -> u64 {
        self.limit.saturating_sub(self.offset)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], ModelTextError> {
        let mut bytes = [0u8; N];
        self.source.read_exact(&mut bytes).map_err(|error| self.wrong(cut_short(&error)))?;
        self.offset += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, ModelTextError> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> Result<u64, ModelTextError> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    /// A count of things that take at least `smallest` bytes each.
    fn count(&mut self, limit: u64, smallest: u64, what: &str) -> Result<u64, ModelTextError> {
        let count = self.u64()?;
        if count > limit {
            return Err(self.wrong(format!("it claims {count} {what}, more than {limit}")));
        }
        if count.saturating_mul(smallest) > self.left() {
            return Err(self.wrong(format!("it claims {count} {what}, {} bytes are left", self.left())));
        }
        Ok(count)
    }

    fn text(&mut self, limit: u64) -> Result<String, ModelTextError> {
        let length = self.count(limit, 1, "bytes of text")?;
        let mut bytes = vec![0u8; length as usize];
        self.source.read_exact(&mut bytes).map_err(|error| self.wrong(cut_short(&error)))?;
        let text = String::from_utf8(bytes).map_err(|_| self.wrong("a text is not UTF-8".to_owned()))?;
        self.offset += length;
        Ok(text)
    }

    fn value(&mut self, kind: u32, depth: u32) -> Result<GgufValue, ModelTextError> {
        Ok(match kind {
            0 => GgufValue::Unsigned(u64::from(self.bytes::<1>()?[0])),
            1 => GgufValue::Signed(i64::from(i8::from_le_bytes(self.bytes()?))),
            2 => GgufValue::Unsigned(u64::from(u16::from_le_bytes(self.bytes()?))),
            3 => GgufValue::Signed(i64::from(i16::from_le_bytes(self.bytes()?))),
            4 => GgufValue::Unsigned(u64::from(self.u32()?)),
            5 => GgufValue::Signed(i64::from(i32::from_le_bytes(self.bytes()?))),
            6 => GgufValue::Float(f64::from(f32::from_le_bytes(self.bytes()?))),
            7 => GgufValue::Bool(self.bytes::<1>()?[0] != 0),
            TEXT => GgufValue::Text(self.text(MAX_STRING)?),
            ARRAY => self.array(depth)?,
            10 => GgufValue::Unsigned(self.u64()?),
            11 => GgufValue::Signed(i64::from_le_bytes(self.bytes()?)),
            12 => GgufValue::Float(f64::from_le_bytes(self.bytes()?)),
            other => return Err(self.wrong(format!("value type {other} is unknown"))),
        })
    }

    fn array(&mut self, depth: u32) -> Result<GgufValue, ModelTextError> {
        if depth >= MAX_DEPTH {
            return Err(self.wrong(format!("arrays are nested deeper than {MAX_DEPTH}")));
        }
        let kind = self.u32()?;
        let smallest = match kind {
            TEXT => 8,
            ARRAY => 12,
            _ => width(kind),
        };
        if smallest == 0 {
            return Err(self.wrong(format!("array of the unknown value type {kind}")));
        }
        let count = self.count(MAX_ARRAY, smallest, "array items")?;
        match kind {
            TEXT => (0..count).map(|_| self.text(MAX_STRING)).collect::<Result<_, _>>().map(GgufValue::Texts),
            ARRAY => {
                for _ in 0..count {
                    self.array(depth + 1)?;
                }
                Ok(GgufValue::OtherArray(count))
            }
            0..=5 | 10 | 11 => {
                let mut integers = Vec::new();
                for _ in 0..count {
                    integers.push(match self.value(kind, depth)? {
                        GgufValue::Signed(value) => value,
                        // Larger than any id: saturates to a value that no check lets pass.
                        GgufValue::Unsigned(value) => i64::try_from(value).unwrap_or(i64::MAX),
                        _ => return Err(self.wrong("array of integers holds something else".to_owned())),
                    });
                }
                Ok(GgufValue::Integers(integers))
            }
            6 | 12 => {
                let mut floats = Vec::new();
                for _ in 0..count {
                    floats.push(match self.value(kind, depth)? {
                        GgufValue::Float(value) => value,
                        _ => return Err(self.wrong("array of floats holds something else".to_owned())),
                    });
                }
                Ok(GgufValue::Floats(floats))
            }
            _ => {
                self.skip(count * smallest)?;
                Ok(GgufValue::OtherArray(count))
            }
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<(), ModelTextError> {
        let copied = io::copy(&mut self.source.by_ref().take(bytes), &mut io::sink());
        match copied {
            Ok(read) if read == bytes => {
                self.offset += bytes;
                Ok(())
            }
            Ok(_) => Err(self.wrong("the file ends inside the metadata".to_owned())),
            Err(error) => Err(self.wrong(cut_short(&error))),
        }
    }
}

fn cut_short(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        "the file ends inside the metadata".to_owned()
    } else {
        error.to_string()
    }
}

#[cfg(test)]
#[path = "gguf_metadata_tests.rs"]
pub(in crate::model) mod tests;
