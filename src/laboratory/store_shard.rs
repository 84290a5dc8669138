//! One shard of a feature store: a safetensors file that is written whole or not at all.
//!
//! Its metadata holds a checksum of every tensor, and a seal over names, shapes and checksums.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::EvaluationError;
use crate::disk::{FileAccess, UNFINISHED, write_whole_with};
use crate::text::hexadecimal;

/// A header beyond this is no header of ours.
const LARGEST_HEADER: u64 = 16 << 20;

/// A tensor to be written, row-major.
pub(super) struct Tensor {
    pub(super) name: String,
    /// `F32`, `F16` or `U8`.
    pub(super) kind: &'static str,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

/// Where a tensor lies in its file.
#[derive(Debug, Clone)]
pub(super) struct Place {
    name: String,
    pub(super) kind: String,
    pub(super) shape: Vec<usize>,
    /// From the start of the file.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    checksum: String,
}

/// A shard on disk whose header is sound; the tensors are checked when they are read.
#[derive(Debug, Clone)]
pub(super) struct Shard {
    pub(super) path: PathBuf,
    places: Vec<Place>,
}

impl Shard {
    /// Writes through a temporary file, to the disk, then into place.
    pub(super) fn write(folder: &Path, name: &str, mut tensors: Vec<Tensor>) -> Result<(), EvaluationError> {
        let path = folder.join(name);
        // Wide types first, so that every tensor is aligned.
        tensors.sort_by_key(|tensor| match tensor.kind {
            "F32" => 0,
            "F16" => 1,
            _ => 2,
        });
        let mut places = Vec::new();
        let mut header = Map::new();
        header.insert("__metadata__".to_owned(), Value::Null);
        let mut end = 0;
        for tensor in &tensors {
            let begin = end;
            end += tensor.bytes.len();
            let (kind, shape) = (tensor.kind, &tensor.shape);
            header.insert(
                tensor.name.clone(),
                json!({ "dtype": kind, "shape": shape, "data_offsets": [begin, end] }),
            );
            places.push(Place {
                name: tensor.name.clone(),
                kind: kind.to_owned(),
                shape: shape.clone(),
                offset: begin as u64,
                bytes: tensor.bytes.len() as u64,
                checksum: hexadecimal(&Sha256::digest(&tensor.bytes)[..8]),
            });
        }
        let mut metadata = Map::new();
        for place in &places {
            metadata.insert(format!("checksum:{}", place.name), Value::from(place.checksum.clone()));
        }
        metadata.insert("seal".to_owned(), Value::from(seal(&places)));
        header.insert("__metadata__".to_owned(), Value::Object(metadata));
        let mut text = Value::Object(header).to_string();
        while !text.len().is_multiple_of(8) {
            text.push(' ');
        }
        write_whole_with(&path, FileAccess::Private, &|out| {
            out.write_all(&(text.len() as u64).to_le_bytes())?;
            out.write_all(text.as_bytes())?;
            tensors.iter().try_for_each(|tensor| out.write_all(&tensor.bytes))
        })
        .map_err(EvaluationError::file("write", &path))
    }

    /// Reads the header of a shard and compares it with its seal and with the length of the file.
    pub(super) fn open(path: &Path) -> Result<Self, EvaluationError> {
        let damaged = |reason: &str| EvaluationError::damaged_shard(path, reason.to_owned());
        let read = EvaluationError::file("read", path);
        let mut file = File::open(path).map_err(EvaluationError::file("open", path))?;
        let length = file.metadata().map_err(read)?.len();
        let mut size = [0; 8];
        file.read_exact(&mut size).map_err(|_| damaged("it ends within its header"))?;
        let size = u64::from_le_bytes(size);
        if size > LARGEST_HEADER || size + 8 > length {
            return Err(damaged("it ends within its header"));
        }
        let mut text = vec![0; size as usize];
        file.read_exact(&mut text).map_err(EvaluationError::file("read", path))?;
        let header: Map<String, Value> =
            serde_json::from_slice(&text).map_err(|error| damaged(&format!("its header: {error}")))?;
        let metadata = header.get("__metadata__").ok_or_else(|| damaged("its header has no checksums"))?;
        let mut places = Vec::new();
        for (name, value) in header.iter().filter(|(name, _)| *name != "__metadata__") {
            places.push(
                place(name, value, metadata, size + 8)
                    .ok_or_else(|| damaged(&format!("its header describes no tensor under {name}")))?,
            );
        }
        let relative: Vec<Place> =
            places.iter().map(|p| Place { offset: p.offset - size - 8, ..p.clone() }).collect();
        if metadata.get("seal").and_then(Value::as_str) != Some(seal(&relative).as_str()) {
            return Err(damaged("its header does not match its checksum"));
        }
        let end = places.iter().map(|place| place.offset + place.bytes).max().unwrap_or(size + 8);
        if end != length {
            return Err(damaged(&format!("expected {end} bytes, found {length}")));
        }
        Ok(Self { path: path.to_owned(), places })
    }

    /// Where a tensor lies; it must have this type and shape.
    pub(super) fn place(&self, name: &str, kind: &str, shape: &[usize]) -> Result<&Place, EvaluationError> {
        let found = self.find(name)?;
        if found.kind != kind || found.shape != shape {
            let reason =
                format!("expected {name} as {kind} {shape:?}, found {} {:?}", found.kind, found.shape);
            return Err(EvaluationError::damaged_shard(&self.path, reason));
        }
        Ok(found)
    }

    pub(super) fn find(&self, name: &str) -> Result<&Place, EvaluationError> {
        let missing = || EvaluationError::damaged_shard(&self.path, format!("it has no tensor {name}"));
        self.places.iter().find(|place| place.name == name).ok_or_else(missing)
    }

    /// The bytes of a tensor, compared with its checksum.
    pub(super) fn read(&self, place: &Place) -> Result<Vec<u8>, EvaluationError> {
        let mut bytes = Vec::with_capacity(place.bytes as usize);
        self.pass(place, |part| bytes.extend_from_slice(part))?;
        Ok(bytes)
    }

    /// Compares a tensor with its checksum.
    pub(super) fn verify(&self, place: &Place) -> Result<(), EvaluationError> {
        self.pass(place, |_| ())
    }

    /// Compares every tensor with its checksum.
    pub(super) fn verify_all(&self) -> Result<(), EvaluationError> {
        self.places.iter().try_for_each(|place| self.verify(place))
    }

    fn pass(&self, place: &Place, mut each: impl FnMut(&[u8])) -> Result<(), EvaluationError> {
        let read = |error| EvaluationError::file("read", &self.path)(error);
        let mut file = File::open(&self.path).map_err(read)?;
        file.seek(SeekFrom::Start(place.offset)).map_err(read)?;
        let mut digest = Sha256::new();
        let mut buffer = vec![0; (1 << 20).min(place.bytes as usize)];
        let mut left = place.bytes as usize;
        while left > 0 {
            let part = left.min(buffer.len());
            file.read_exact(&mut buffer[..part]).map_err(read)?;
            digest.update(&buffer[..part]);
            each(&buffer[..part]);
            left -= part;
        }
        if hexadecimal(&digest.finalize()[..8]) != place.checksum {
            let reason = format!("{} does not match its checksum", place.name);
            return Err(EvaluationError::damaged_shard(&self.path, reason));
        }
        Ok(())
    }
}

fn seal(places: &[Place]) -> String {
    let mut digest = Sha256::new();
    for Place { name, kind, shape, offset, bytes, checksum } in places {
        digest.update(format!("{name}\n{kind}\n{shape:?}\n{offset}\n{bytes}\n{checksum}\n"));
    }
    hexadecimal(&digest.finalize()[..8])
}

fn place(name: &str, value: &Value, metadata: &Value, data: u64) -> Option<Place> {
    let shape = value.get("shape")?.as_array()?.iter().map(|n| n.as_u64().map(|n| n as usize));
    let (begin, end) =
        (value.get("data_offsets")?.get(0)?.as_u64()?, value["data_offsets"].get(1)?.as_u64()?);
    Some(Place {
        name: name.to_owned(),
        kind: value.get("dtype")?.as_str()?.to_owned(),
        shape: shape.collect::<Option<_>>()?,
        offset: data.checked_add(begin)?,
        bytes: end.checked_sub(begin)?,
        checksum: metadata.get(format!("checksum:{name}"))?.as_str()?.to_owned(),
    })
}

/// Number of a shard by its file name.
fn number(name: &str) -> Option<usize> {
    name.strip_prefix("shard-")?.strip_suffix(".safetensors")?.parse().ok()
}

pub(super) fn file_name(number: usize) -> String {
    format!("shard-{number:05}.safetensors")
}

/// The numbers of the shards in a folder, in order. What an interrupted run left unfinished is removed.
pub(super) fn numbers(folder: &Path) -> Result<Vec<usize>, EvaluationError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(EvaluationError::file("read", folder))? {
        let name = entry.map_err(EvaluationError::file("read", folder))?.file_name();
        let Some(name) = name.to_str() else { continue };
        found.extend(number(name));
        if name.starts_with(UNFINISHED) {
            let path = folder.join(name);
            fs::remove_file(&path).map_err(EvaluationError::file("remove", &path))?;
        }
    }
    found.sort_unstable();
    Ok(found)
}
