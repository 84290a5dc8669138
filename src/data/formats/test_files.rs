//! Files of tests: written to a folder of their own, opened, and gone.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::data::dataset::{BadRow, Dataset, OpenOptions};
use crate::data::error::DataError;
use crate::data::example::Example;

/// Opens a file `name` with `content`.
pub(crate) fn open(name: &str, content: &str) -> Dataset {
    open_bytes(name, content.as_bytes())
}

pub(crate) fn open_bytes(name: &str, content: &[u8]) -> Dataset {
    try_open(&[(name, content)], name, &OpenOptions::default()).unwrap()
}

/// Writes `files` into a folder and opens `path` of it; the path `""` is the folder.
pub(crate) fn try_open(
    files: &[(&str, &[u8])],
    path: &str,
    options: &OpenOptions,
) -> Result<Dataset, DataError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    Dataset::open(folder.path().join(path), options)
}

/// The message of a file that cannot be opened.
pub(crate) fn error(name: &str, content: &[u8], options: &OpenOptions) -> String {
    try_open(&[(name, content)], name, options).unwrap_err().to_string()
}

pub(crate) fn examples(data: &Dataset) -> Vec<&Example> {
    data.examples().collect()
}

pub(crate) fn bad(data: &Dataset) -> Vec<&BadRow> {
    data.bad_rows().collect()
}

pub(crate) fn notices(data: &Dataset) -> String {
    data.notices.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file or folder of the public data sets that lie beside the project, or in `RAGSCOPE_SHARED`.
/// Where there is none, says so; the test has nothing to check then.
pub(crate) fn public_data(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("RAGSCOPE_SHARED").map(PathBuf::from);
    let places = named.into_iter().chain([root.join("../shared"), root.join("../../shared")]);
    let found = places.map(|place| place.join("data").join(name)).find(|path| path.exists());
    if found.is_none() {
        eprintln!(
            "skipped: the public data set `{name}` does not lie beside the project (RAGSCOPE_SHARED names its folder)"
        );
    }
    found
}
