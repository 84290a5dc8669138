//! Rows of a feature block that stay on disk and are read where they are wanted.
//!
//! Reads are positioned reads of whole runs of neighbouring rows; nothing is mapped and no file stays open,
//! so a store of thousands of files needs neither address space nor file descriptors.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use super::DetectError;

/// Neighbouring rows read at a time.
const RUN: usize = 256;

/// How the values of a block are kept on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Half precision, little endian: wide blocks.
    F16,
    /// Full precision, little endian: scalars.
    F32,
}

impl Precision {
    /// Bytes of one value.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
        }
    }

    /// Writes little-endian values. Values beyond the range of f16 (a few states of some models) are
    /// kept at its end.
    #[must_use]
    pub fn encode(self, values: &[f32]) -> Vec<u8> {
        match self {
            Self::F16 => {
                let limit = f16::MAX.to_f32();
                values.iter().flat_map(|v| f16::from_f32(v.clamp(-limit, limit)).to_le_bytes()).collect()
            }
            Self::F32 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }

    /// Reads little-endian values into `out`, as many as there are.
    fn decode(self, bytes: &[u8], out: &mut [f32]) {
        match self {
            Self::F16 => {
                let halves: Vec<f16> =
                    bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]])).collect();
                halves.convert_to_f32_slice(out);
            }
            Self::F32 => {
                for (value, b) in out.iter_mut().zip(bytes.chunks_exact(4)) {
                    *value = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
                }
            }
        }
    }
}

/// A stretch of rows in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSegment {
    /// The file.
    pub path: PathBuf,
    /// Where its first row begins, in bytes.
    pub offset: u64,
    /// Rows it holds.
    pub rows: usize,
}

/// One feature block on disk, [rows, width], its rows spread over files in order.
#[derive(Debug, Clone)]
pub struct StoredRows {
    segments: Vec<RowSegment>,
    /// Row after the last of each segment.
    ends: Vec<usize>,
    width: usize,
    precision: Precision,
}

impl StoredRows {
    /// Rows of `width` values each in these files; the files are trusted to hold them.
    #[must_use]
    pub fn new(mut segments: Vec<RowSegment>, width: usize, precision: Precision) -> Self {
        segments.retain(|segment| segment.rows > 0);
        let mut end = 0;
        let ends = segments.iter().map(|segment| {
            end += segment.rows;
            end
        });
        Self { ends: ends.collect(), segments, width, precision }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Values per row.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Fills each slice with its row; every row is below [`Self::rows`], every slice `width` long.
    pub(super) fn copy(&self, mut wanted: Vec<(usize, &mut [f32])>) -> Result<(), DetectError> {
        wanted.sort_unstable_by_key(|(row, _)| *row);
        let segment_of = |row: usize| self.ends.partition_point(|&end| end <= row);
        let groups: Vec<&mut [(usize, &mut [f32])]> =
            wanted.chunk_by_mut(|left, right| segment_of(left.0) == segment_of(right.0)).collect();
        groups.into_par_iter().try_for_each(|group| {
            let Some((first, _)) = group.first() else { return Ok(()) };
            let number = segment_of(*first);
            let Some(segment) = self.segments.get(number) else { return Ok(()) };
            let first_row = number.checked_sub(1).map_or(0, |before| self.ends[before]);
            self.copy_segment(segment, first_row, group)
                .map_err(|source| DetectError::Rows { path: segment.path.clone(), source })
        })
    }

    fn copy_segment(
        &self,
        segment: &RowSegment,
        first_row: usize,
        wanted: &mut [(usize, &mut [f32])],
    ) -> io::Result<()> {
        let file = File::open(&segment.path)?;
        let row_bytes = self.width * self.precision.bytes();
        let mut bytes = Vec::new();
        for neighbours in wanted.chunk_by_mut(|left, right| left.0 + 1 == right.0) {
            for run in neighbours.chunks_mut(RUN) {
                let Some((first, _)) = run.first() else { continue };
                let at = segment.offset + ((first - first_row) * row_bytes) as u64;
                bytes.resize(run.len() * row_bytes, 0);
                read_exact_at(&file, &mut bytes, at)?;
                for ((_, out), bytes) in run.iter_mut().zip(bytes.chunks_exact(row_bytes.max(1))) {
                    self.precision.decode(bytes, out);
                }
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        at += read as u64;
    }
    Ok(())
}

#[cfg(test)]
#[path = "stored_rows_tests.rs"]
mod tests;
