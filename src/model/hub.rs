//! Getting a model from the Hugging Face hub, into the cache that its own tools use.
//!
//! The crate `hf-hub` does this too. Its release 1.0 would bring an asynchronous runtime, a second HTTP client
//! and the client of a chunk store, some two hundred packages, to fetch a handful of files one after the other;
//! the two requests below need none of them.
//!
//! Nothing half-written is ever taken for a model: a file is called `.incomplete` until its size and, where
//! the hub publishes one, its SHA-256 are right, and the ref that makes a snapshot visible is written last.
//! A download that broke off is resumed where it stopped.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;
use ureq::Agent;
use ureq::config::RedirectAuthHeaders;

use super::fetch::{FetchProgress, FetchStage};
use super::hash::sha256_file;
use super::hugging_face_cache::{Environment, Repository, caches};
use super::location::shown;
use crate::disk::{FileAccess, FileLock, sync_folder, write_whole};
use crate::text::{quoted, visible_line};

const ENDPOINT: &str = "https://huggingface.co";
const BLOCK: usize = 1 << 18;
/// The longest list of files that is read.
const LARGEST_LIST: u64 = 16 << 20;
const CONNECT: Duration = Duration::from_secs(30);
/// A server that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(60);

/// Why no model came from the hub.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error(
        "HF_HUB_OFFLINE is set, so nothing is downloaded: unset it, or bring the cache from another machine"
    )]
    Offline,
    #[error("{0:?} is no name on the hub: expected owner/name or owner/name@revision")]
    Name(String),
    #[error("no place for the hub's cache: set HF_HUB_CACHE or HF_HOME to a directory that can be written")]
    NoCache,
    #[error(
        "{endpoint} does not let us read {repository} (HTTP {status}): accept the owner's terms at \
         {endpoint}/{repository} and set HF_TOKEN to a token of that account{}",
        if *.with_token { "; the one that is set was refused" } else { "" }
    )]
    Refused { endpoint: String, repository: String, status: u16, with_token: bool },
    #[error("{endpoint} has no {repository} at revision {revision:?}; check the spelling")]
    Missing { endpoint: String, repository: String, revision: String },
    #[error("{url}: HTTP {status}; try again later, or set HF_ENDPOINT to a mirror")]
    Status { url: String, status: u16 },
    #[error(
        "{url} cannot be reached: {reason}; check the network, the proxy variables and HF_ENDPOINT. What has \
         come is kept: the same command goes on from there"
    )]
    Network { url: String, reason: String },
    #[error("{url}: the answer is not what a hub says: {reason}", reason = quoted(.reason))]
    Answer { url: String, reason: String },
    #[error("{repository} holds no {missing}: expected config.json, tokenizer.json and *.safetensors")]
    NoModel { repository: String, missing: &'static str },
    #[error(
        "{file} of {repository} came with {found}, expected {expected}; it was thrown away: try again, and \
         distrust the mirror if it stays so"
    )]
    Wrong { repository: String, file: String, found: String, expected: String },
    #[error("another download of {0} is at work; wait for it to end")]
    Busy(String),
    #[error("the download was cancelled; what has come is kept: the same command goes on from there")]
    Cancelled,
    #[error("{path}: {source}; the hub's cache can be moved with HF_HUB_CACHE", path = shown(.path))]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Where the hub is, who asks, and where its files go.
pub struct Hub {
    endpoint: String,
    token: Option<String>,
    cache: PathBuf,
    agent: Agent,
}

/// A file of a repository.
struct HubFile {
    name: String,
    size: u64,
    /// What it is called in `blobs`: its SHA-256 where that is published, else git's name for it.
    blob: String,
    sha256: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    sha: String,
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    #[serde(rename = "blobId")]
    blob_id: Option<String>,
    lfs: Option<LargeFile>,
}

#[derive(Deserialize)]
struct LargeFile {
    sha256: String,
    size: u64,
}

impl Hub {
    /// From `HF_ENDPOINT`, `HF_TOKEN`, `HF_HUB_OFFLINE` and the variables that name the cache.
    ///
    /// # Errors
    /// Offline is set, or there is no place for the cache.
    pub fn from_environment(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, HubError> {
        let text = |name: &str| {
            let value = variable(name)?.to_string_lossy().trim().to_owned();
            Some(value).filter(|value| !value.is_empty())
        };
        if is_offline(variable) {
            return Err(HubError::Offline);
        }
        let cache = caches(variable as Environment).into_iter().next().ok_or(HubError::NoCache)?;
        let endpoint = text("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Large files lie on other hosts, whose addresses are signed: the token is not for them.
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(SILENCE))
            .user_agent(concat!("ragscope/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            token: text("HF_TOKEN"),
            cache,
            agent: config.into(),
        })
    }

    /// Downloads what ragscope reads of `owner/name[@revision]`: configuration, tokenizer, template and
    /// safetensors. Returns the directory of the snapshot. Files that are there are not downloaded again.
    pub fn fetch(
        &self,
        given: &str,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<PathBuf, HubError> {
        let repository =
            Repository::parse(given).ok_or_else(|| HubError::Name(visible_line(given).into_owned()))?;
        let revision = repository.revision.clone().unwrap_or_else(|| "main".to_owned());
        let (commit, files) = self.files(&repository.name, &revision)?;
        let folder = self.cache.join(format!("models--{}", repository.name.replace('/', "--")));
        let blobs = folder.join("blobs");
        make(&blobs)?;
        let _lock = lock(&folder, &repository.name)?;
        let total = files.iter().fold(0u64, |sum, file| sum.saturating_add(file.size));
        let mut done = 0u64;
        for file in &files {
            let blob = blobs.join(&file.blob);
            let before = done;
            let mut tell = |stage, bytes: u64| {
                let bytes = before.saturating_add(bytes).min(total);
                progress(FetchProgress { stage, bytes, total });
            };
            if !fs::metadata(&blob).is_ok_and(|about| about.len() == file.size) {
                let url = format!("{}/{}/resolve/{commit}/{}", self.endpoint, repository.name, file.name);
                self.download(&repository.name, file, &url, &blob, cancel, &mut tell)?;
            }
            tell(FetchStage::Downloading, file.size);
            done = done.saturating_add(file.size);
        }
        let snapshot = folder.join("snapshots").join(&commit);
        make(&snapshot)?;
        for file in &files {
            link(&blobs, &file.blob, &snapshot.join(&file.name))?;
        }
        write_ref(&folder, &revision, &commit)?;
        progress(FetchProgress { stage: FetchStage::Done, bytes: total, total });
        Ok(snapshot)
    }

    /// The commit of a revision and its files that ragscope reads.
    fn files(&self, repository: &str, revision: &str) -> Result<(String, Vec<HubFile>), HubError> {
        let revision_in_url = revision.replace('/', "%2F");
        let url = format!("{}/api/models/{repository}/revision/{revision_in_url}?blobs=true", self.endpoint);
        let mut response = self.get(&url, None)?;
        match response.status().as_u16() {
            200 => {}
            status @ (401 | 403) => return Err(self.refused(repository, status)),
            404 => {
                return Err(HubError::Missing {
                    endpoint: self.endpoint.clone(),
                    repository: repository.to_owned(),
                    revision: revision.to_owned(),
                });
            }
            status => return Err(HubError::Status { url, status }),
        }
        let text = response.body_mut().with_config().limit(LARGEST_LIST).read_to_string();
        let text = text.map_err(|error| network(&url, &error))?;
        let wrong = |reason: String| HubError::Answer { url: url.clone(), reason };
        let answer: Answer = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        // Both become names of files.
        let is_hexadecimal =
            |text: &str| (8..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hexadecimal(&answer.sha) {
            return Err(wrong(format!("{:?} is no commit", answer.sha)));
        }
        let mut files = Vec::new();
        for one in answer.siblings.into_iter().filter(|one| is_read(&one.rfilename)) {
            let large = one.lfs;
            let size = large.as_ref().map(|large| large.size).or(one.size);
            let blob = large.as_ref().map(|large| large.sha256.clone()).or(one.blob_id);
            match (size, blob.filter(|blob| is_hexadecimal(blob))) {
                (Some(size), Some(blob)) => files.push(HubFile {
                    name: one.rfilename,
                    size,
                    blob: blob.to_lowercase(),
                    sha256: large.map(|large| large.sha256.to_lowercase()),
                }),
                _ => return Err(wrong(format!("{} without size or hash", one.rfilename))),
            }
        }
        for (missing, ending) in [
            ("config.json", "config.json"),
            ("tokenizer.json", "tokenizer.json"),
            ("*.safetensors", ".safetensors"),
        ] {
            if !files.iter().any(|file| file.name.ends_with(ending)) {
                return Err(HubError::NoModel { repository: repository.to_owned(), missing });
            }
        }
        Ok((answer.sha, files))
    }

    fn refused(&self, repository: &str, status: u16) -> HubError {
        HubError::Refused {
            endpoint: self.endpoint.clone(),
            repository: repository.to_owned(),
            status,
            with_token: self.token.is_some(),
        }
    }

    /// `from`: the first byte that is wanted.
    fn get(&self, url: &str, from: Option<u64>) -> Result<ureq::http::Response<ureq::Body>, HubError> {
        let mut request = self.agent.get(url);
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        if let Some(from) = from {
            request = request.header("Range", format!("bytes={from}-"));
        }
        request.call().map_err(|error| network(url, &error))
    }

    fn download(
        &self,
        repository: &str,
        file: &HubFile,
        url: &str,
        blob: &Path,
        cancel: &AtomicBool,
        tell: &mut dyn FnMut(FetchStage, u64),
    ) -> Result<(), HubError> {
        let part = blob.with_file_name(format!("{}.incomplete", file.blob));
        let io = |source| HubError::Io { path: part.clone(), source };
        let mut there = fs::metadata(&part).map_or(0, |about| about.len());
        if there > file.size {
            there = 0;
        }
        if there < file.size || file.size == 0 {
            let mut response = self.get(url, (there > 0).then_some(there))?;
            match response.status().as_u16() {
                206 => {}
                // The server does not resume.
                200 => there = 0,
                status @ (401 | 403) => return Err(self.refused(repository, status)),
                status => return Err(HubError::Status { url: url.to_owned(), status }),
            }
            let mut out = File::options().create(true).write(true).truncate(false).open(&part).map_err(io)?;
            out.set_len(there).map_err(io)?;
            io::Seek::seek(&mut out, io::SeekFrom::End(0)).map_err(io)?;
            // One byte too many is enough to know that it is wrong.
            let mut body = response.body_mut().as_reader().take(file.size + 1 - there);
            let mut block = vec![0u8; BLOCK];
            loop {
                if cancel.load(Ordering::Relaxed) {
                    return Err(HubError::Cancelled);
                }
                let read = match body.read(&mut block) {
                    Ok(0) => break,
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(network(url, &error)),
                };
                out.write_all(&block[..read]).map_err(io)?;
                there += read as u64;
                tell(FetchStage::Downloading, there);
            }
            out.sync_all().map_err(io)?;
        }
        let wrong = |found: String, expected: String| {
            // What is wrong must not be resumed.
            let _ = fs::remove_file(&part);
            let (repository, file) = (repository.to_owned(), file.name.clone());
            Err(HubError::Wrong { repository, file, found, expected })
        };
        if there < file.size {
            let reason = format!("the connection ended after {there} of {} bytes", file.size);
            return Err(HubError::Network { url: url.to_owned(), reason });
        }
        if there > file.size {
            return wrong("more bytes".to_owned(), format!("{} bytes", file.size));
        }
        if let Some(expected) = &file.sha256 {
            tell(FetchStage::Checking, file.size);
            let found = sha256_file(&part).map_err(io)?;
            if found != *expected {
                return wrong(format!("SHA-256 {found}"), expected.clone());
            }
        }
        fs::rename(&part, blob).map_err(io)?;
        sync_folder(blob.parent().unwrap_or(Path::new(".")));
        Ok(())
    }
}

/// Whether `HF_HUB_OFFLINE` says so.
pub(super) fn is_offline(variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    variable("HF_HUB_OFFLINE").is_some_and(|value| {
        ["1", "on", "yes", "true"].contains(&&*value.to_string_lossy().trim().to_lowercase())
    })
}

/// Files in the root of a repository that ragscope reads, and no second copy of the weights. A name is a plain
/// one: it becomes the name of a file here.
fn is_read(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.starts_with('.') || !name.chars().all(plain) {
        return false;
    }
    let ends = |ending: &str| name.strip_suffix(ending).is_some_and(|stem| !stem.is_empty());
    ends(".json") || ends(".jinja") || (name.starts_with("model") && ends(".safetensors"))
}

fn network(url: &str, error: &dyn std::fmt::Display) -> HubError {
    HubError::Network { url: url.to_owned(), reason: visible_line(&error.to_string()).into_owned() }
}

fn make(folder: &Path) -> Result<(), HubError> {
    fs::create_dir_all(folder).map_err(|source| HubError::Io { path: folder.to_owned(), source })
}

/// Held until it is dropped.
fn lock(folder: &Path, repository: &str) -> Result<FileLock, HubError> {
    let path = folder.join(".ragscope.lock");
    let io = |source| HubError::Io { path: path.clone(), source };
    FileLock::take(&path).map_err(io)?.ok_or_else(|| HubError::Busy(repository.to_owned()))
}

/// A snapshot's file: a link to the blob, or the blob itself once more where there are no links.
fn link(blobs: &Path, blob: &str, at: &Path) -> Result<(), HubError> {
    let io = |source| HubError::Io { path: at.to_owned(), source };
    if let Err(error) = fs::remove_file(at)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(io(error));
    }
    #[cfg(unix)]
    if std::os::unix::fs::symlink(Path::new("../../blobs").join(blob), at).is_ok() {
        return Ok(());
    }
    fs::hard_link(blobs.join(blob), at).or_else(|_| fs::copy(blobs.join(blob), at).map(drop)).map_err(io)
}

/// What the revision means, as one write. A commit needs no ref.
fn write_ref(folder: &Path, revision: &str, commit: &str) -> Result<(), HubError> {
    if revision == commit {
        return Ok(());
    }
    let path = folder.join("refs").join(revision);
    let io = |source| HubError::Io { path: path.clone(), source };
    let parent = path.parent().unwrap_or(folder);
    make(parent)?;
    write_whole(&path, commit.as_bytes(), FileAccess::Shared).map_err(io)
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
