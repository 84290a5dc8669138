//! Where evidence lines go, new or continued.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use crate::data::Row;
use crate::evidence::{Evidence, Provenance, difference, parse_line, write_line};
use crate::text::{visible_line, visible_path};

use super::super::{Failure, Outcome, output};

/// Where lines go. They are kept as they come, each flushed: a run that is killed keeps what it has.
pub struct Sink {
    out: Box<dyn Write>,
}

impl Sink {
    /// Begins. An existing file is left alone unless `force`.
    pub fn open(path: &Path, force: bool) -> Outcome<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self { out: Box::new(io::stdout()) });
        }
        let mut options = std::fs::OpenOptions::new();
        options.write(true);
        let opened = if force {
            options.create(true).truncate(true).open(path)
        } else {
            options.create_new(true).open(path)
        };
        match opened {
            Ok(file) => Ok(Self { out: Box::new(file) }),
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
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| unwritable(path, &error))?;
        let (done, whole, torn) = Done::read(path, &file, provenance)?;
        if torn > 0 {
            output::tell(&format!("note: {}: a torn last line of {torn} bytes is cut off", path.display()));
        }
        let keep = |file: &mut File| {
            file.set_len(whole)?;
            io::Seek::seek(file, io::SeekFrom::Start(whole))
        };
        let mut file = file;
        keep(&mut file).map_err(|error| unwritable(path, &error))?;
        Ok((Self { out: Box::new(file) }, done))
    }

    /// `false` when nobody reads any more (`| head`): a quiet end, not an error.
    pub fn write(&mut self, evidence: &Evidence) -> Outcome<bool> {
        match write_line(evidence, &mut self.out).and_then(|()| self.out.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::input_message(format!("cannot write evidence: {error}"))),
        }
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
            let length = reader.read_until(b'\n', &mut bytes).map_err(|error| unwritable(path, &error))?;
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
