//! Writing a file: through a temporary one beside it, to the disk, then into place.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Who may read a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// What the umask allows: files that are handed on.
    Shared,
    /// Its owner: caches.
    Private,
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
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = allowing(access, &mut tempfile::Builder::new()).tempfile_in(folder)?;
    let mut buffered = BufWriter::new(&mut file);
    write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder);
    Ok(())
}

/// Brings a rename to the disk, where the system lets a folder be opened.
pub fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        // A file system that cannot do this keeps its own order.
        let _ = folder.sync_all();
    }
}

/// Temporary files are private by default.
#[cfg(unix)]
fn allowing<'b>(
    access: FileAccess,
    builder: &'b mut tempfile::Builder<'static, 'static>,
) -> &'b mut tempfile::Builder<'static, 'static> {
    use std::os::unix::fs::PermissionsExt;
    match access {
        FileAccess::Shared => builder.permissions(fs::Permissions::from_mode(0o666)),
        FileAccess::Private => builder,
    }
}

#[cfg(not(unix))]
fn allowing<'b>(
    _: FileAccess,
    builder: &'b mut tempfile::Builder<'static, 'static>,
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
