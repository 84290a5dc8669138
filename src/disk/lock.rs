//! What one process does at a time: a lock on a file, which the system drops with the process, however it ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to rest before a lock is tried again.
const REST: Duration = Duration::from_millis(5);

/// Holds `file` until it is closed, however the process ends; `false` when another process holds it.
///
/// Where a file system knows no locks the file counts as held: everything works there as without locks.
///
/// # Errors
/// None today; the system may say something that no file system says yet.
pub fn hold(file: &File) -> io::Result<bool> {
    Ok(!matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// A lock file that is held as long as this lives.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    /// What is removed at the end.
    passing: Option<PathBuf>,
}

impl FileLock {
    /// Holds the lock file `path`, which stays; `None` when another process holds it.
    ///
    /// # Errors
    /// What the system says of a file that cannot be made.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        Ok(hold(&file)?.then_some(Self { file, passing: None }))
    }

    /// Holds the lock file `path` for a moment: waits while others hold it, and removes it afterwards.
    ///
    /// # Errors
    /// As [`FileLock::take`], and [`io::ErrorKind::WouldBlock`] when others hold it longer than `patience`.
    pub fn wait(path: &Path, patience: Duration) -> io::Result<Self> {
        let deadline = Instant::now() + patience;
        loop {
            let file = open(path)?;
            if hold(&file)? {
                if is_at(&file, path) {
                    return Ok(Self { file, passing: Some(path.to_owned()) });
                }
                // Whoever held it before has removed it: the file of this name is another one now.
                continue;
            }
            if Instant::now() >= deadline {
                let reason = format!("another process has held it for {} seconds", patience.as_secs());
                return Err(io::Error::new(io::ErrorKind::WouldBlock, reason));
            }
            std::thread::sleep(REST);
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Where the name cannot be compared with the file, the lock file stays.
        if cfg!(unix)
            && let Some(path) = &self.passing
        {
            let _ = fs::remove_file(path);
        }
        // Closing alone is not enough while a child that is just being started shares the file.
        let _ = self.file.unlock();
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}

/// Whether the name still means this file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(held), Ok(named)) = (file.metadata(), fs::metadata(path)) else { return false };
    (held.dev(), held.ino()) == (named.dev(), named.ino())
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_held_once_and_free_again_when_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("held");
        let first = FileLock::take(&path).unwrap().expect("nobody holds it");
        assert!(FileLock::take(&path).unwrap().is_none());
        let waited = FileLock::wait(&path, Duration::ZERO).unwrap_err();
        assert_eq!(waited.kind(), io::ErrorKind::WouldBlock);
        drop(first);
        assert!(FileLock::take(&path).unwrap().is_some());
        assert!(path.exists(), "a lock that is taken stays as a file");
    }

    #[test]
    fn many_that_wait_hold_it_one_after_the_other_and_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, count) = (folder.path().join("lock"), folder.path().join("count"));
        fs::write(&count, "0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let _held = FileLock::wait(&lock, Duration::from_secs(60)).unwrap();
                        let before: u32 = fs::read_to_string(&count).unwrap().parse().unwrap();
                        fs::write(&count, (before + 1).to_string()).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&count).unwrap(), "100");
        assert!(!lock.exists() || !cfg!(unix));
    }

    #[test]
    fn a_place_that_takes_no_lock_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(FileLock::take(&folder.path().join("no/such/folder")).is_err());
        assert!(FileLock::wait(&folder.path().join("no/such/folder"), Duration::ZERO).is_err());
    }
}
