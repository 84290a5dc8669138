//! Data sets as users have them, turned into [`Example`]s with UTF-8 byte offsets.
//!
//! Every other unit of offsets is converted here, at the border.
//!
//! | file | holds |
//! |---|---|
//! | `dataset` | [`Dataset::open`]: a path becomes rows, documents, notices and a hash |
//! | `example` | the record that every importer fills |
//! | [`formats`] | one file per file format, and how they are told apart |
//! | `units`, `labels` | units of offsets, and how the unit of a file is proven |
//! | `field_map` | `--map` |
//! | [`corruption`], `pieces` | labelled answers made by exchanging pieces of grounded ones |
//! | `stream` | [`DatasetStream`]: files too large to be held, row by row |
//! | `splits` | grouped folds and halves |
//! | `json`, `source_file` | tolerant JSON; files as plain bytes |
//! | `parquet_file`, `sqlite_file` | containers that are no text |
//! | `notice`, `error` | what was tolerated, and what was not |

pub mod corruption;
mod dataset;
mod error;
mod example;
mod field_map;
pub mod formats;
mod json;
mod labels;
mod notice;
mod parquet_file;
mod pieces;
mod source_file;
mod splits;
mod sqlite_file;
mod stream;
mod units;

pub use dataset::{BadRow, Dataset, OpenOptions, Row};
pub use error::DataError;
pub use example::{Document, Example, GoldSpan, Passage};
pub use field_map::FieldMap;
pub use formats::Format;
pub use notice::{Notice, Notices};
pub use splits::{grouped_folds, grouped_split};
pub use stream::{DatasetStream, StreamedRows};
pub use units::{OffsetError, OffsetUnit};
