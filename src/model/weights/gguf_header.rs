//! The header of a GGUF file: metadata and the list of tensors.
//!
//! Every length is compared with what is left of the file before anything is allocated for it.
//! Format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>, versions 2 and 3, little-endian.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use candle_core::quantized::gguf_file::Value;

use crate::model::DecoderError;

/// Arrays inside arrays deeper than this are refused: no writer makes them, and each level is a recursion.
const DEEPEST_ARRAY: usize = 8;
const MOST_DIMENSIONS: u32 = 4;
/// No model has more tensors: 256 experts in 61 layers make some fifty thousand.
const MOST_TENSORS: u64 = 1 << 18;
const MOST_METADATA: u64 = 1 << 16;
/// Items of all arrays together. Gemma's vocabulary with scores, types and merges has a million and a half.
const MOST_ITEMS: u64 = 8 << 20;
/// Bytes before the tensor data.
const LONGEST_HEADER: u64 = 512 << 20;

/// What a GGUF file says before its tensor data.
pub(crate) struct GgufHeader {
    pub metadata: HashMap<String, Value>,
    pub tensors: HashMap<String, GgufTensor>,
    /// Where tensor data starts, from the start of the file.
    pub data_offset: u64,
    pub file_length: u64,
}

/// Where a tensor lies and how it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GgufTensor {
    /// Rows first (the file stores the fastest dimension first).
    pub shape: Vec<usize>,
    /// The number GGML gives the storage type.
    pub kind: u32,
    /// From the start of the tensor data.
    pub offset: u64,
}

impl GgufHeader {
    pub(crate) fn read(path: &Path, file: &File) -> Result<Self, DecoderError> {
        let length =
            file.metadata().map_err(|source| DecoderError::Read { path: path.to_owned(), source })?.len();
        Cursor { input: BufReader::new(file), position: 0, length, items: 0 }
            .header()
            .map_err(|reason| DecoderError::Container { path: path.to_owned(), format: "GGUF", reason })
    }
}

struct Cursor<R> {
    input: R,
    position: u64,
    length: u64,
    /// Items of arrays read so far.
    items: u64,
}

impl<R: Read> Cursor<R> {
    fn header(mut self) -> Result<GgufHeader, String> {
        if &self.bytes::<4>("the magic number")? != b"GGUF" {
            return Err("it does not start with \"GGUF\"".to_owned());
        }
        let version = self.u32("the version")?;
        if !(2..=3).contains(&version) {
            return Err(format!("expected version 2 or 3, found {version}"));
        }
        let tensor_count = self.u64("the number of tensors")?;
        let metadata_count = self.u64("the number of metadata entries")?;
        for (what, count, most) in
            [("tensors", tensor_count, MOST_TENSORS), ("metadata entries", metadata_count, MOST_METADATA)]
        {
            if count > most {
                return Err(format!("it claims {count} {what}, expected at most {most}"));
            }
        }
        let mut metadata = HashMap::new();
        for i in 0..metadata_count {
            let key = self.string(&format!("the key of metadata entry {i}"))?;
            let kind = self.u32(&key)?;
            let value = self.value(kind, &key, 0)?;
            metadata.insert(key, value);
        }
        let mut tensors = HashMap::new();
        for i in 0..tensor_count {
            let name = self.string(&format!("the name of tensor {i}"))?;
            let tensor = self.tensor(&name)?;
            if tensors.insert(name.clone(), tensor).is_some() {
                return Err(format!("tensor {name:?} is listed twice"));
            }
        }
        let alignment = match metadata.get("general.alignment") {
            None => 32,
            Some(Value::U32(n)) if n.is_power_of_two() => u64::from(*n),
            Some(other) => {
                return Err(format!("general.alignment: expected a power of two, found {other:?}"));
            }
        };
        let data_offset = self.position.next_multiple_of(alignment);
        Ok(GgufHeader { metadata, tensors, data_offset, file_length: self.length })
    }

    fn tensor(&mut self, name: &str) -> Result<GgufTensor, String> {
        let dimensions = self.u32(name)?;
        if dimensions > MOST_DIMENSIONS {
            return Err(format!(
                "tensor {name:?} has {dimensions} dimensions, expected at most {MOST_DIMENSIONS}"
            ));
        }
        let mut shape = Vec::new();
        for _ in 0..dimensions {
            let size = self.u64(name)?;
            shape.push(usize::try_from(size).map_err(|_| format!("tensor {name:?} has a side of {size}"))?);
        }
        shape.reverse();
        Ok(GgufTensor { shape, kind: self.u32(name)?, offset: self.u64(name)? })
    }

    fn value(&mut self, kind: u32, key: &str, depth: usize) -> Result<Value, String> {
        Ok(match kind {
            0 => Value::U8(self.bytes::<1>(key)?[0]),
            1 => Value::I8(i8::from_le_bytes(self.bytes(key)?)),
            2 => Value::U16(u16::from_le_bytes(self.bytes(key)?)),
            3 => Value::I16(i16::from_le_bytes(self.bytes(key)?)),
            4 => Value::U32(self.u32(key)?),
            5 => Value::I32(i32::from_le_bytes(self.bytes(key)?)),
            6 => Value::F32(f32::from_le_bytes(self.bytes(key)?)),
            7 => Value::Bool(self.bytes::<1>(key)?[0] != 0),
            8 => Value::String(self.string(key)?),
            9 if depth < DEEPEST_ARRAY => {
                let kind = self.u32(key)?;
                let length = self.u64(key)?;
                // Every element takes at least one byte, so a length that passes is bounded by the file.
                self.available(length, key)?;
                self.items = self.items.saturating_add(length);
                if self.items > MOST_ITEMS {
                    return Err(format!("metadata {key:?}: more than {MOST_ITEMS} array items in all"));
                }
                let mut values = Vec::new();
                for _ in 0..length {
                    values.push(self.value(kind, key, depth + 1)?);
                }
                Value::Array(values)
            }
            9 => return Err(format!("metadata {key:?}: arrays nested deeper than {DEEPEST_ARRAY}")),
            10 => Value::U64(self.u64(key)?),
            11 => Value::I64(i64::from_le_bytes(self.bytes(key)?)),
            12 => Value::F64(f64::from_le_bytes(self.bytes(key)?)),
            other => return Err(format!("metadata {key:?}: unknown value type {other}")),
        })
    }

    fn string(&mut self, what: &str) -> Result<String, String> {
        let length = self.u64(what)?;
        self.available(length, what)?;
        let mut bytes = vec![0; length as usize];
        self.fill(&mut bytes, what)?;
        // Vocabularies hold pieces of characters; the tokenizer's own reader deals with them.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn u32(&mut self, what: &str) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.bytes(what)?))
    }

    fn u64(&mut self, what: &str) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.bytes(what)?))
    }

    fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8], what: &str) -> Result<(), String> {
        self.available(bytes.len() as u64, what)?;
        self.input.read_exact(bytes).map_err(|e| format!("{what:?}: {e}"))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn available(&self, length: u64, what: &str) -> Result<(), String> {
        let left = self.length.min(LONGEST_HEADER).saturating_sub(self.position);
        if length > left {
            return Err(format!("{what:?} claims {length} bytes or elements where {left} bytes are left"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<GgufHeader, String> {
        Cursor { input: bytes, position: 0, length: bytes.len() as u64, items: 0 }.header()
    }

    fn start(tensors: u64, metadata: u64) -> Vec<u8> {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(tensors.to_le_bytes());
        bytes.extend(metadata.to_le_bytes());
        bytes
    }

    fn text(bytes: &mut Vec<u8>, text: &str) {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }

    #[test]
    fn lying_lengths_are_refused_before_they_are_allocated() {
        assert!(read(b"GGUF").is_err_and(|e| e.contains("version")));
        assert!(read(b"GGML\x03\0\0\0").is_err());
        assert!(read(&start(u64::MAX, u64::MAX)).is_err());
        let mut key = start(0, 1);
        key.extend(u64::MAX.to_le_bytes());
        assert!(read(&key).is_err_and(|e| e.contains("claims")));
        let mut array = start(0, 1);
        text(&mut array, "tokenizer.ggml.tokens");
        array.extend([9, 0, 0, 0, 8, 0, 0, 0]);
        array.extend((1u64 << 60).to_le_bytes());
        assert!(read(&array).is_err_and(|e| e.contains("tokenizer.ggml.tokens")));
    }

    #[test]
    fn absurd_counts_are_refused_before_anything_is_kept_for_them() {
        assert!(read(&start(1 << 40, 0)).is_err_and(|e| e.contains("1099511627776 tensors")));
        assert!(read(&start(0, 1 << 20)).is_err_and(|e| e.contains("1048576 metadata entries")));
        // One byte an item in the file, tens of bytes in memory.
        let mut bytes = start(0, 1);
        text(&mut bytes, "wide");
        bytes.extend([9, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend((MOST_ITEMS + 1).to_le_bytes());
        bytes.resize(bytes.len() + MOST_ITEMS as usize + 1, 0);
        assert!(read(&bytes).is_err_and(|e| e.contains("wide") && e.contains("array items")));
    }

    #[test]
    fn nested_arrays_unknown_types_and_odd_alignments_are_refused() {
        let mut nested = start(0, 1);
        text(&mut nested, "deep");
        nested.extend([9, 0, 0, 0]);
        for _ in 0..1000 {
            nested.extend([9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        }
        assert!(read(&nested).is_err_and(|e| e.contains("nested")));
        let mut unknown = start(0, 1);
        text(&mut unknown, "odd");
        unknown.extend([99, 0, 0, 0, 0]);
        assert!(read(&unknown).is_err_and(|e| e.contains("odd") && e.contains("99")));
        let mut alignment = start(0, 1);
        text(&mut alignment, "general.alignment");
        alignment.extend([4, 0, 0, 0, 0, 0, 0, 0]);
        assert!(read(&alignment).is_err_and(|e| e.contains("power of two")));
    }

    #[test]
    fn a_tensor_listed_twice_or_with_many_dimensions_is_refused() {
        let mut twice = start(2, 0);
        for _ in 0..2 {
            text(&mut twice, "w");
            twice.extend([0; 16]);
        }
        assert!(read(&twice).is_err_and(|e| e.contains("twice")));
        let mut many = start(1, 0);
        text(&mut many, "w");
        many.extend([255; 40]);
        assert!(read(&many).is_err_and(|e| e.contains("dimensions")));
    }
}
