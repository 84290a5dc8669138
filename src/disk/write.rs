//! Writing a file: through a temporary one beside it, to the disk, then into place.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What the name of a file that is not whole yet begins with: what a killed process leaves in a folder can be
/// told from everything else and be removed by whoever holds the folder.
pub const UNFINISHED: &str = ".ragscope-unfinished-";

/// Who may read a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// What the umask allows: files that are handed on.
    Shared,
    /// Its owner: caches.
    Private,
    /// Who could read the file that is replaced; [`FileAccess::Shared`] where there is none.
    AsBefore,
}

/// A file on its way: it has its name when it is finished, and is gone when it is not.
#[derive(Debug)]
pub struct WholeFile {
    file: tempfile::NamedTempFile,
    path: PathBuf,
}

impl WholeFile {
    /// Begins a file that is to be `path`, in the same folder.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(path: &Path, access: FileAccess) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED);
        let file = allow(&mut builder, access, path).tempfile_in(folder_of(path))?;
        // The umask takes from what a new file is given, and must not take from what the old one had.
        if access == FileAccess::AsBefore
            && let Ok(before) = fs::metadata(path)
        {
            file.as_file().set_permissions(before.permissions())?;
        }
        Ok(Self { file, path: path.to_owned() })
    }

    /// Brings it to the disk, then into its place.
    ///
    /// # Errors
    /// What the system says; what was at the place before stays then.
    pub fn finish(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(&self.path).map_err(|error| error.error)?;
        sync_folder(folder_of(&self.path));
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes `bytes` to `path`: whoever looks sees the old file or the new one, never a part, whenever the process
/// or the machine ends.
///
/// # Errors
/// What the system says; the old file stays then.
pub fn write_whole(path: &Path, bytes: &[u8], access: FileAccess) -> io::Result<()> {
    write_whole_with(path, access, &|out| out.write_all(bytes))
}

/// The same for what is written piece by piece.
///
/// A device or a pipe (`/dev/stdout`, `/dev/null`) is written to, not replaced.
///
/// # Errors
/// As [`write_whole`], or what `write` says.
pub fn write_whole_with(
    path: &Path,
    access: FileAccess,
    write: &dyn Fn(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
        write(&mut out)?;
        return out.flush();
    }
    let mut file = WholeFile::begin(path, access)?;
    let mut buffered = BufWriter::new(&mut file);
    write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    file.finish()
}

/// Brings a rename to the disk, where the system lets a folder be opened.
pub fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        // A file system that cannot do this keeps its own order.
        let _ = folder.sync_all();
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Temporary files are private by default.
#[cfg(unix)]
fn allow<'b>(
    builder: &'b mut tempfile::Builder<'static, 'static>,
    access: FileAccess,
    path: &Path,
) -> &'b mut tempfile::Builder<'static, 'static> {
    use std::os::unix::fs::PermissionsExt;
    let shared = match access {
        FileAccess::Shared => true,
        FileAccess::Private => false,
        // Not wider than the old file for a moment either.
        FileAccess::AsBefore => !path.exists(),
    };
    if shared { builder.permissions(fs::Permissions::from_mode(0o666)) } else { builder }
}

#[cfg(not(unix))]
fn allow<'b>(
    builder: &'b mut tempfile::Builder<'static, 'static>,
    _: FileAccess,
    _: &Path,
) -> &'b mut tempfile::Builder<'static, 'static> {
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_whole(&path, b"old", FileAccess::Private).unwrap();
        let failed = write_whole_with(&path, FileAccess::Shared, &|out| {
            out.write_all(b"half of the new")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write_whole(&path, b"new", FileAccess::Shared).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn a_file_that_is_not_finished_has_no_name_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut file = WholeFile::begin(&path, FileAccess::Shared).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        assert!(names(folder.path()).iter().all(|name| name.starts_with(UNFINISHED)));
        drop(file);
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_replaced_keeps_who_may_read_it_whatever_the_umask_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_whole(&path, b"old", FileAccess::Private).unwrap();
        for mode in [0o600, 0o640, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            write_whole(&path, b"new", FileAccess::AsBefore).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_written_to_and_never_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        // A link, so that a failure of this test replaces the link and not the device.
        let link = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        write_whole(&link, b"nowhere", FileAccess::Shared).unwrap();
        assert!(fs::metadata(&link).unwrap().file_type().is_char_device());
        let full = folder.path().join("full");
        std::os::unix::fs::symlink("/dev/full", &full).unwrap();
        let error = write_whole(&full, b"nowhere", FileAccess::Shared).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
