//! SHA-256 of files, streamed, and remembered as long as a file does not change.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

use super::cache::CacheDirectory;
use crate::disk::{FileAccess, read_regular_text, write_whole};
use crate::text::hexadecimal;

const BLOCK: usize = 1 << 20;

/// SHA-256 of everything `source` gives, lower-case hexadecimal, and how many bytes it gave.
pub fn sha256_of(mut source: impl Read) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut block = vec![0u8; BLOCK];
    let mut total = 0u64;
    loop {
        match source.read(&mut block) {
            Ok(0) => return Ok((hexadecimal(&hasher.finalize()), total)),
            Ok(read) => {
                hasher.update(&block[..read]);
                total += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// SHA-256 of a file, lower-case hexadecimal.
pub fn sha256_file(path: &Path) -> io::Result<String> {
    // A device or a pipe may have no end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok(sha256_of(File::open(path)?)?.0)
}

/// [`sha256_file`], remembered in the cache directory under the file's path, size and time of change.
///
/// A cache that cannot be read or written only costs the time to hash again.
pub fn remembered_sha256(path: &Path, cache: &CacheDirectory) -> io::Result<String> {
    let path = fs::canonicalize(path)?;
    let about = fs::metadata(&path)?;
    let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let Some(changed) = changed else { return sha256_file(&path) };
    let stamp = format!("{} {}", about.len(), changed.as_nanos());
    let (path_hash, _) = sha256_of(path.as_os_str().as_encoded_bytes())?;
    let note = cache.hashes().join(&path_hash[..32]);
    if let Some(known) = read_regular_text(&note, 4096).ok().and_then(|text| remembered(&text, &stamp)) {
        return Ok(known);
    }
    let hash = sha256_file(&path)?;
    if fs::create_dir_all(cache.hashes()).is_ok() {
        // Losing this write is harmless: a line that does not parse is not believed.
        let _ = write_whole(&note, format!("{stamp} {hash}\n").as_bytes(), FileAccess::Private);
    }
    Ok(hash)
}

fn remembered(line: &str, stamp: &str) -> Option<String> {
    let hash = line.strip_prefix(stamp)?.strip_prefix(' ')?.strip_suffix('\n')?;
    (hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| hash.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_hash_of_abc_is_the_one_of_the_standard() {
        assert_eq!(sha256_of(&b"abc"[..]).unwrap(), (ABC.to_owned(), 3));
    }

    #[test]
    fn a_remembered_hash_is_used_until_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::at(folder.path().join("cache"));
        let file = folder.path().join("weights");
        fs::write(&file, "abc").unwrap();
        assert_eq!(remembered_sha256(&file, &cache).unwrap(), ABC);
        let note = fs::read_dir(cache.hashes()).unwrap().next().unwrap().unwrap().path();
        let planted = fs::read_to_string(&note).unwrap().replace("ba7816bf", "00000000");
        fs::write(&note, planted).unwrap();
        assert!(remembered_sha256(&file, &cache).unwrap().starts_with("00000000"));
        fs::write(&file, "abcd").unwrap();
        assert_eq!(remembered_sha256(&file, &cache).unwrap(), sha256_file(&file).unwrap());
    }

    #[test]
    fn a_damaged_note_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::at(folder.path().join("cache"));
        let file = folder.path().join("weights");
        fs::write(&file, "abc").unwrap();
        remembered_sha256(&file, &cache).unwrap();
        let note = fs::read_dir(cache.hashes()).unwrap().next().unwrap().unwrap().path();
        let cut = fs::read_to_string(&note).unwrap();
        fs::write(&note, &cut[..cut.len() - 9]).unwrap();
        assert_eq!(remembered_sha256(&file, &cache).unwrap(), ABC);
    }
}
