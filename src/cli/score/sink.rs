//! Where evidence lines go, new or continued.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::data::Row;
use crate::disk::hold;
use crate::evidence::{Evidence, Provenance, difference, parse_line, read_line, write_line};
use crate::text::{visible_line, visible_path};

use super::super::{Failure, Outcome, output};

/// How much time of work a machine that loses its power may cost.
const SYNC_EVERY: Duration = Duration::from_secs(2);

/// Where lines go. They are kept as they come: a run that is killed keeps what it has.
pub struct Sink {
    out: Out,
    line: Vec<u8>,
}

enum Out {
    Standard,
    /// Held by this process, and when it was last brought to the disk.
    File(File, Instant),
}

impl Sink {
    /// Begins. An existing file is left alone unless `force`.
    pub fn open(path: &Path, force: bool) -> Outcome<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self { out: Out::Standard, line: Vec::new() });
        }
        let mut options = OpenOptions::new();
        options.write(true);
        // What is replaced is emptied only once it is known that nobody else writes it.
        let opened = if force {
            options.create(true).truncate(false).open(path)
        } else {
            options.create_new(true).open(path)
        };
        match opened {
            Ok(file) => {
                let sink = Self::holding(path, file)?;
                if let Out::File(file, _) = &sink.out
                    && file.metadata().is_ok_and(|about| about.is_file())
                {
                    file.set_len(0).map_err(|error| unwritable(path, &error))?;
                }
                Ok(sink)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Failure::Usage(format!(
                "{} exists already; choose another name with --output, say --force to replace it, or --resume \
                 to continue it",
                path.display()
            ))),
            Err(error) => Err(unwritable(path, &error)),
        }
    }

    /// Continues a file: a torn last line is cut off, whole lines stay and are told as [`Done`]. Lines of
    /// another run are refused. A file that is not there yet is begun.
    pub fn resume(path: &Path, provenance: &Provenance) -> Outcome<(Self, Done)> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| unwritable(path, &error))?;
        let mut sink = Self::holding(path, file)?;
        let Out::File(file, _) = &mut sink.out else { return Ok((sink, Done::default())) };
        let (done, whole, torn) = Done::read(path, file, provenance)?;
        if torn > 0 {
            output::tell(&format!("note: {}: a torn last line of {torn} bytes is cut off", path.display()));
        }
        file.set_len(whole)
            .and_then(|()| io::Seek::seek(file, io::SeekFrom::Start(whole)))
            .map_err(|error| unwritable(path, &error))?;
        Ok((sink, done))
    }

    fn holding(path: &Path, file: File) -> Outcome<Self> {
        if hold(&file).map_err(|error| unwritable(path, &error))? {
            return Ok(Self { out: Out::File(file, Instant::now()), line: Vec::new() });
        }
        Err(Failure::input_message(format!(
            "{} is being written by another ragscope; wait for it, or choose another name with --output",
            path.display()
        )))
    }

    /// `false` when nobody reads any more (`| head`): a quiet end, not an error.
    pub fn write(&mut self, evidence: &Evidence) -> Outcome<bool> {
        let failed = |error: &io::Error| Failure::input_message(format!("cannot write evidence: {error}"));
        self.line.clear();
        write_line(evidence, &mut self.line).map_err(|error| failed(&error))?;
        let written = match &mut self.out {
            Out::Standard => {
                let mut out = io::stdout().lock();
                out.write_all(&self.line).and_then(|()| out.flush())
            }
            Out::File(file, synced) => file.write_all(&self.line).and_then(|()| {
                if synced.elapsed() < SYNC_EVERY {
                    return Ok(());
                }
                *synced = Instant::now();
                synced_data(file)
            }),
        };
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Brings what was written to the disk.
    pub fn finish(&self) -> Outcome {
        match &self.out {
            Out::Standard => Ok(()),
            Out::File(file, _) => synced_data(file)
                .map_err(|error| Failure::input_message(format!("cannot write evidence: {error}"))),
        }
    }
}

/// A pipe or a device has no disk to be brought to.
fn synced_data(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        other => other,
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::input_message(format!("cannot write {}: {error}", path.display()))
}

/// Records that a continued file holds already: the first ones of what is to be scored, in order.
#[derive(Debug, Default)]
pub struct Done {
    file: String,
    records: Vec<(usize, String)>,
    next: usize,
}

impl Done {
    /// What `file` holds, the length of its whole lines in bytes, and that of its torn end.
    fn read(path: &Path, file: &File, provenance: &Provenance) -> Outcome<(Self, u64, u64)> {
        let shown = visible_path(path);
        let mut reader = BufReader::new(file);
        let mut done = Self { file: shown.clone(), ..Self::default() };
        let (mut whole, mut line, mut bytes) = (0, 0, Vec::new());
        loop {
            bytes.clear();
            let length = read_line(&mut reader, &mut bytes).map_err(|error| unwritable(path, &error))?;
            if length == 0 || !bytes.ends_with(b"\n") {
                return Ok((done, whole, length as u64));
            }
            line += 1;
            let evidence = parse_line(String::from_utf8_lossy(&bytes).trim_end(), line).map_err(|error| {
                Failure::input_message(format!("{shown} cannot be continued: {error}; score to another file"))
            })?;
            if let Some(difference) = difference(&evidence.provenance, provenance) {
                return Err(Failure::input_message(format!(
                    "{shown} cannot be continued, line {line} is of another run: the {difference} now; score \
                     to another file with --output, or replace it with --force"
                )));
            }
            done.records.push((evidence.row, evidence.id));
            whole += length as u64;
        }
    }

    /// Whether the file holds this record already. Asked of every record to be scored, in order.
    pub fn holds(&mut self, row: &Row) -> Outcome<bool> {
        let Some((number, id)) = self.records.get(self.next) else { return Ok(false) };
        self.next += 1;
        let (wanted, wanted_id) = match row {
            Row::Example(example) => (example.row, Some(&example.id)),
            Row::Bad(bad) => (bad.row, bad.id.as_ref()),
        };
        if *number == wanted && wanted_id.is_none_or(|wanted| wanted == id) {
            return Ok(true);
        }
        Err(Failure::input_message(format!(
            "{} cannot be continued: its line {} is row {number}, id {}, where row {wanted}{} is expected; use \
             the data and the --shard that it was begun with",
            self.file,
            self.next,
            visible_line(id),
            wanted_id.map(|id| format!(", id {}", visible_line(id))).unwrap_or_default(),
        )))
    }

    /// After the last record: nothing of the file may be left over.
    pub fn finish(&self) -> Outcome {
        match self.records.len() - self.next {
            0 => Ok(()),
            left => Err(Failure::input_message(format!(
                "{} holds {left} records more than the data; it was begun with other data or another --shard",
                self.file
            ))),
        }
    }

    /// Records in the file.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.records.len()
    }
}
