//! A file that one process may write at a time.

use std::fs::{File, TryLockError};
use std::io;

/// Holds `file` until it is closed, however the process ends; `false` when another process holds it.
///
/// Where a file system knows no locks the file counts as held: everything works there as without locks.
///
/// # Errors
/// None today; the system may say something that no file system says yet.
pub fn hold(file: &File) -> io::Result<bool> {
    Ok(!matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_held_once_and_free_again_when_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("held");
        let open = || File::options().create(true).truncate(false).write(true).open(&path).unwrap();
        let first = open();
        assert!(hold(&first).unwrap());
        assert!(!hold(&open()).unwrap());
        drop(first);
        assert!(hold(&open()).unwrap());
    }
}
