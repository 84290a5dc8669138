//! Files that come whole or not at all, and that are read within a limit.
//!
//! | file | holds |
//! |---|---|
//! | `write` | [`write_whole`], [`WholeFile`]: temporary file, fsync, rename |
//! | `read` | [`read_at_most`], [`read_regular`]: no file can fill the memory |
//! | `lock` | [`hold`], [`FileLock`]: one process writes to a file, the others wait or are told |
//!
//! Like `text` this room knows nobody and may be used by all.

mod lock;
mod read;
mod write;

pub use lock::{FileLock, hold};
pub use read::{LONGEST_SETTINGS, read_at_most, read_regular, read_regular_text};
pub use write::{FileAccess, UNFINISHED, WholeFile, sync_folder, write_whole, write_whole_with};
