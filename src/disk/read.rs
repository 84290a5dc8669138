//! Reading a file that someone else wrote: never more of it than it may have.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Most bytes of a file of settings (`config.json`, an index, a calibration): real ones have kilobytes, the
/// index of the largest model some megabytes.
pub const LONGEST_SETTINGS: u64 = 64 << 20;

/// All bytes of `path`, which may be a pipe.
///
/// # Errors
/// What the system says, or that there are more than `most` bytes.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("expected at most {most} bytes, found more"),
        ));
    }
    Ok(bytes)
}

/// The same for a file that must be one: a pipe or a device in a folder that came from elsewhere would wait
/// for ever, or never end.
///
/// # Errors
/// As [`read_at_most`], or that it is no regular file.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "expected a regular file, found none"));
    }
    read_at_most(path, most)
}

/// [`read_regular`] as text.
///
/// # Errors
/// As [`read_regular`], or bytes that are no UTF-8.
pub fn read_regular_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_regular(path, most)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(ErrorKind::InvalidData, format!("expected UTF-8, found another byte at {at}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_refused_beyond_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "1234").unwrap();
        assert_eq!(read_at_most(&path, 4).unwrap(), b"1234");
        let error = read_at_most(&path, 3).unwrap_err();
        assert!(error.to_string().contains("at most 3 bytes"), "{error}");
        std::fs::write(&path, [b'a', 0xff]).unwrap();
        let error = read_regular_text(&path, 9).unwrap_err();
        assert!(error.to_string().contains("UTF-8") && error.to_string().ends_with('1'), "{error}");
        assert!(read_regular(folder.path(), 9).unwrap_err().to_string().contains("regular file"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_an_end_is_refused_instead_of_filling_the_memory() {
        assert!(read_at_most(Path::new("/dev/zero"), 1000).is_err());
        assert!(read_regular(Path::new("/dev/zero"), 1000).unwrap_err().to_string().contains("regular"));
    }
}
